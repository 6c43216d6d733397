//! One source file: its production code as tokens and as items.
//!
//! Production code is without comments and without what is compiled for tests alone.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use std::collections::BTreeSet;

/// A source file.
pub(crate) struct Source {
    /// Its path from the workspace's folder on, with `/` between the parts.
    pub(crate) path: String,
    /// Lines, those of comments and tests included.
    pub(crate) lines: usize,
    /// Lines of tests.
    pub(crate) test_lines: usize,
    /// Lines that hold production code.
    pub(crate) code_lines: usize,
    /// Production code, and the line of each token.
    pub(crate) tokens: Vec<(Token, usize)>,
    /// The same as items.
    pub(crate) items: Vec<syn::Item>,
}

/// A token of production code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Token {
    /// An identifier or keyword.
    Word(String),
    /// A string, character or number as it is written.
    Literal(String),
    /// A sign, a bracket among them.
    Sign(char),
}

impl Source {
    /// Reads a file's text.
    ///
    /// # Errors
    /// One line: it is not Rust.
    pub(crate) fn parse(path: &str, text: &str) -> Result<Self, String> {
        let all: TokenStream = text.parse().map_err(|error| format!("{path}: {error}"))?;
        let mut test_lines = BTreeSet::new();
        let production = without_tests(all, &mut test_lines);
        let file: syn::File = syn::parse2(production.clone()).map_err(|error| format!("{path}: {error}"))?;
        let mut code_lines = BTreeSet::new();
        lines_of(production.clone(), &mut code_lines);
        Ok(Self {
            path: path.to_string(),
            lines: text.lines().count(),
            test_lines: test_lines.len(),
            code_lines: code_lines.len(),
            tokens: flat(production),
            items: file.items,
        })
    }
}

/// Without comments, and without what `cfg(test)` stands before: whose lines are `skipped`.
fn without_tests(tokens: TokenStream, skipped: &mut BTreeSet<usize>) -> TokenStream {
    let mut rest = tokens.into_iter().peekable();
    let mut kept = Vec::new();
    while let Some(token) = rest.next() {
        if !matches!(&token, TokenTree::Punct(sign) if sign.as_char() == '#') {
            kept.push(match token {
                TokenTree::Group(group) => TokenTree::Group(inside(&group, skipped)),
                other => other,
            });
            continue;
        }
        let inner = rest.next_if(|next| matches!(next, TokenTree::Punct(sign) if sign.as_char() == '!'));
        match rest.next() {
            Some(TokenTree::Group(attribute)) if is_documentation(&attribute) => {}
            Some(TokenTree::Group(attribute)) if is_for_tests(&attribute) => {
                let from = attribute.span_open().start().line;
                skipped.extend(from..=skip(&mut rest).max(from));
            }
            after => kept.extend([Some(token), inner, after].into_iter().flatten()),
        }
    }
    kept.into_iter().collect()
}

fn inside(group: &Group, skipped: &mut BTreeSet<usize>) -> Group {
    let mut kept = Group::new(group.delimiter(), without_tests(group.stream(), skipped));
    kept.set_span(group.span());
    kept
}

fn is_documentation(attribute: &Group) -> bool {
    matches!(attribute.stream().into_iter().next(), Some(TokenTree::Ident(name)) if name == "doc")
}

fn is_for_tests(attribute: &Group) -> bool {
    let tokens = flat(attribute.stream());
    let is = |token: &(Token, usize), word: &str| token.0 == Token::Word(word.to_string());
    let has = |word: &str| tokens.iter().any(|token| is(token, word));
    tokens.first().is_some_and(|first| is(first, "cfg")) && has("test") && !has("not")
}

/// Where something ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// With a comma: a field, an arm.
    Comma,
    /// With a semicolon: an import, a statement.
    Semicolon,
    /// With its body, or with a semicolon where it has none.
    Body,
}

/// Skips an item, a statement, a field or an arm, with the attributes before it. The line where it ends.
fn skip(rest: &mut std::iter::Peekable<proc_macro2::token_stream::IntoIter>) -> usize {
    let mut end = End::Comma;
    let mut angles = 0;
    let mut line = 0;
    while let Some(token) = rest.next() {
        line = token.span().end().line;
        match &token {
            TokenTree::Ident(word) => end = end_of(&word.to_string(), end),
            TokenTree::Punct(sign) => match sign.as_char() {
                ';' => break,
                '<' => angles += 1,
                '>' => angles -= 1,
                ',' if end == End::Comma && angles <= 0 => break,
                _ => {}
            },
            TokenTree::Group(group)
                if end == End::Body
                    && group.delimiter() == Delimiter::Brace
                    && !matches!(rest.peek(), Some(TokenTree::Ident(word)) if word == "else") =>
            {
                break;
            }
            _ => {}
        }
    }
    line
}

/// The first keyword says it, but for functions that are `const`.
fn end_of(word: &str, before: End) -> End {
    match (word, before) {
        ("fn", _) => End::Body,
        ("mod" | "impl" | "struct" | "enum" | "trait" | "if" | "for" | "while" | "match", End::Comma) => End::Body,
        ("use" | "const" | "static" | "type" | "let", End::Comma) => End::Semicolon,
        _ => before,
    }
}

/// The tokens one after another, each with its line; the content of brackets stands between its brackets.
pub(crate) fn flat(tokens: TokenStream) -> Vec<(Token, usize)> {
    let mut all = Vec::new();
    push_flat(tokens, &mut all);
    all
}

fn push_flat(tokens: TokenStream, all: &mut Vec<(Token, usize)>) {
    for token in tokens {
        let line = token.span().start().line;
        match token {
            TokenTree::Ident(word) => all.push((Token::Word(word.to_string()), line)),
            TokenTree::Literal(literal) => all.push((Token::Literal(literal.to_string()), line)),
            TokenTree::Punct(sign) => all.push((Token::Sign(sign.as_char()), line)),
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ('(', ')'),
                    Delimiter::Brace => ('{', '}'),
                    Delimiter::Bracket | Delimiter::None => ('[', ']'),
                };
                all.push((Token::Sign(open), line));
                push_flat(group.stream(), all);
                all.push((Token::Sign(close), group.span_close().end().line));
            }
        }
    }
}

/// The paths in production code, single words included, each with its line.
pub(crate) fn paths(tokens: &[(Token, usize)]) -> Vec<(Vec<String>, usize)> {
    let mut all = Vec::new();
    let mut rest = tokens;
    while let [(token, line), after @ ..] = rest {
        rest = after;
        let Token::Word(first) = token else { continue };
        let mut path = vec![first.clone()];
        while let [(Token::Sign(':'), _), (Token::Sign(':'), _), (Token::Word(next), _), after @ ..] = rest {
            path.push(next.clone());
            rest = after;
        }
        all.push((path, *line));
    }
    all
}

fn lines_of(tokens: TokenStream, lines: &mut BTreeSet<usize>) {
    for token in tokens {
        if let TokenTree::Group(group) = &token {
            lines.extend([group.span_open().start().line, group.span_close().end().line]);
            lines_of(group.stream(), lines);
        } else {
            lines.extend(token.span().start().line..=token.span().end().line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_tests_are_no_production_code() {
        let text = "
//! What it is.

/// A thing.
struct Thing {
    a: u32, // as it is
    #[cfg(test)]
    seen: Vec<(u8, u8)>,
}
#[cfg(test)]
use a::{b, c};
#[cfg(all(test, unix))]
#[inline]
const fn only<A, B>() -> A {
    let a = if b() { c } else { d };
}
fn kept() {
    #[cfg(test)]
    let a = if b() { c } else { d };
    #[cfg(test)]
    if b() {
        c();
    } else {
        d();
    }
}
#[cfg(not(test))]
const KEPT: u32 = 1;
#[cfg(test)]
mod tests;
";
        let source = Source::parse("a.rs", text).unwrap();
        let words: Vec<String> = paths(&source.tokens).into_iter().flat_map(|(path, _)| path).collect();
        let expected = ["struct", "Thing", "a", "u32", "fn", "kept", "cfg", "not", "test", "const", "KEPT", "u32"];
        assert_eq!(words, expected);
        assert_eq!((source.code_lines, source.test_lines, source.lines), (7, 19, 30));
    }
}
