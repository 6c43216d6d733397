//! Tokens in one line, the same for all ways to break it that `rustfmt` has.
//!
//! Blanks go, but for one between two signs: `a && b` is not `a & &b`. What `rustfmt` adds to a line that it breaks
//! goes too: the comma behind the last of several, braces around what an arm or a closure gives, a semicolon behind a
//! lone `return`.

use proc_macro2::{Delimiter, Group, Punct, Spacing, TokenTree};

/// Attributes that only readers and the compiler's warnings look at.
const QUIET: [&str; 7] = ["allow", "deny", "doc", "expect", "forbid", "must_use", "warn"];

/// Words that may stand before a tuple. Any other one before parentheses is called, or names a type with fields.
const BEFORE_TUPLES: [&str; 11] =
    ["as", "break", "for", "if", "in", "let", "match", "move", "return", "where", "while"];

/// Tokens in one line.
pub(super) fn written(tokens: &[TokenTree]) -> String {
    let mut text = String::new();
    write(tokens, &mut text);
    text
}

fn write(tokens: &[TokenTree], text: &mut String) {
    let mut at = 0;
    while let [token, behind @ ..] = &tokens[at..] {
        let idle = idle_len(&tokens[at..]);
        match token {
            _ if idle > 0 => {}
            TokenTree::Group(group) => write_group(group, &tokens[..at], behind, text),
            TokenTree::Punct(punct) if is_begun(punct, behind) => text.push(punct.as_char()),
            token => *text += &format!("{token} "),
        }
        at += idle.max(1);
    }
}

/// Whether an operator of two signs begins: `a && b` is not `a & &b`.
fn is_begun(punct: &Punct, behind: &[TokenTree]) -> bool {
    let is_end = matches!(punct.as_char(), '>' | '?') || behind.first().is_none_or(|next| is_any(next, &[",", ";"]));
    punct.spacing() == Spacing::Joint && !is_end
}

/// How many tokens from here on change no figure.
fn idle_len(tokens: &[TokenTree]) -> usize {
    match tokens {
        _ if attribute(tokens).is_some_and(|(group, _)| starts_with_any(group, &QUIET)) => {
            attribute(tokens).map_or(0, |(_, len)| len)
        }
        [TokenTree::Ident(name), mark, TokenTree::Group(_), end, ..]
            if name.to_string().starts_with("debug_assert") && is(mark, "!") && is(end, ";") =>
        {
            4
        }
        // Of the content of `<>`.
        [comma, end, ..] if is(comma, ",") && is(end, ">") => 1,
        _ => visibility_len(tokens),
    }
}

fn write_group(group: &Group, before: &[TokenTree], behind: &[TokenTree], text: &mut String) {
    let all: Vec<TokenTree> = group.stream().into_iter().collect();
    let without_end = match all.as_slice() {
        [inner @ .., end] if is(end, ",") => inner,
        // Nothing comes behind it.
        [first, .., end] if is(end, ";") && is_any(first, &["break", "continue", "return"]) => &all[..all.len() - 1],
        all => all,
    };
    let has = |sign: &str| without_end.iter().any(|token| is(token, sign));
    match group.delimiter() {
        // Braces that come and go with the length of a line.
        Delimiter::Brace if gives(before, behind) && !all.is_empty() && !has(";") => {
            write(without_end, text);
            let goes_on = behind.first().is_some_and(|next| !is_any(next, &[",", ";"]));
            *text += if goes_on { ", " } else { "" };
        }
        Delimiter::Brace => write_between("{}", without_end, text),
        Delimiter::Bracket => write_between("[]", without_end, text),
        // The comma of a tuple of one makes it a tuple.
        Delimiter::Parenthesis if !has(",") && !is_called(before) => write_between("()", &all, text),
        Delimiter::Parenthesis => write_between("()", without_end, text),
        Delimiter::None => write(&all, text),
    }
}

fn write_between(ends: &str, inner: &[TokenTree], text: &mut String) {
    let (open, close) = ends.split_at(1);
    *text += open;
    write(inner, text);
    *text += close;
}

/// Whether the content of these braces is the whole value of an arm or a closure.
fn gives(before: &[TokenTree], behind: &[TokenTree]) -> bool {
    match before {
        [.., tail, end] if is(tail, "=") && is(end, ">") => true,
        [.., end] if is(end, "|") => behind.first().is_none_or(|next| is_any(next, &[",", ";"])),
        _ => false,
    }
}

/// Whether the content of the parentheses behind this is an argument, or a field of something with a name.
fn is_called(before: &[TokenTree]) -> bool {
    match before {
        // A type's arguments end here, and no arrow.
        [.., tail, end] if is(end, ">") => !is_any(tail, &["-", "="]),
        [.., TokenTree::Ident(name)] => BEFORE_TUPLES.iter().all(|word| name != word),
        [.., TokenTree::Group(group)] => group.delimiter() != Delimiter::Brace,
        [.., last] => is(last, "!"),
        [] => false,
    }
}

pub(super) fn is(token: &TokenTree, text: &str) -> bool {
    match token {
        TokenTree::Ident(ident) => ident == text,
        TokenTree::Punct(punct) => text.chars().eq([punct.as_char()]),
        TokenTree::Group(_) | TokenTree::Literal(_) => false,
    }
}

pub(super) fn is_any(token: &TokenTree, texts: &[&str]) -> bool {
    texts.iter().any(|text| is(token, text))
}

fn starts_with_any(group: &Group, words: &[&str]) -> bool {
    let first = group.stream().into_iter().next();
    first.is_some_and(|first| is_any(&first, words))
}

/// `#[…]` or `#![…]`: the content of its brackets, and how many tokens it is.
pub(super) fn attribute(tokens: &[TokenTree]) -> Option<(&Group, usize)> {
    match tokens {
        [hash, TokenTree::Group(group), ..] if is(hash, "#") => Some((group, 2)),
        [hash, mark, TokenTree::Group(group), ..] if is(hash, "#") && is(mark, "!") => Some((group, 3)),
        _ => None,
    }
}

/// How many tokens `pub` and its restriction are.
pub(super) fn visibility_len(tokens: &[TokenTree]) -> usize {
    match tokens {
        [word, TokenTree::Group(group), ..]
            if is(word, "pub") && starts_with_any(group, &["crate", "in", "self", "super"]) =>
        {
            2
        }
        [word, ..] if is(word, "pub") => 1,
        _ => 0,
    }
}
