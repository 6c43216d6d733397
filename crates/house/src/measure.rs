//! The counts that the house is measured by.

use crate::house::House;
use crate::modules::Crate;
use crate::source::{Source, Token, flat, paths};
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use syn::spanned::Spanned;
use syn::visit::Visit;

/// A victim policy with a parameter, as an example of any: its name, its type's, its file's.
const VICTIM: [&str; 3] = ["d-choices", "DChoices", "d_choices"];

/// Rust files that name that victim, its own and the presets not counted.
pub(crate) fn files_of_a_victim(house: &House) -> usize {
    let is_named = |source: &&Source| {
        !source.path.ends_with("d_choices.rs")
            && source.tokens.iter().any(|(token, _)| match token {
                Token::Word(word) => VICTIM[1..].contains(&word.as_str()),
                Token::Literal(text) => has_word(text, VICTIM[0]),
                Token::Sign(_) => false,
            })
    };
    with_victims(house).filter(is_named).count()
}

/// Literals with that victim's name.
pub(crate) fn literals_of_a_victim(house: &House) -> usize {
    let is_literal = |(token, _): &&(Token, usize)| matches!(token, Token::Literal(text) if has_word(text, VICTIM[0]));
    found(with_victims(house).map(|source| source.tokens.iter().filter(is_literal).count()).sum())
}

/// Where a victim may be named. A preset, and an analytic model, of the same name are other things.
fn with_victims(house: &House) -> impl Iterator<Item = &Source> {
    let crates = house.crates.iter().filter(|(name, _)| *name != "limits" && *name != "house");
    crates.flat_map(|(_, all)| &all.files).filter(|source| !source.path.ends_with("/presets.rs"))
}

/// A missing thing counts as too much: it has another name now, and the count is to follow.
fn found(count: usize) -> usize {
    if count == 0 { usize::MAX } else { count }
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '-').any(|other| other == word)
}

/// Lines, without those of tests, of what parts are called, which parameters they have, and how an image names them.
pub(crate) fn lines_of_config(house: &House) -> usize {
    let folders = ["crates/ftl/src/config/", "crates/ftl/src/spec/", "crates/serve/src/image/parts"];
    let all = house.crates.values().flat_map(|all| &all.files);
    let counted = all.filter(|source| folders.iter().any(|folder| source.path.starts_with(folder)));
    counted.map(|source| source.lines - source.test_lines).sum()
}

/// The fields of a struct of `ftl`.
pub(crate) fn fields_of(house: &House, name: &str) -> usize {
    let items = house.ftl().files.iter().flat_map(|source| &source.items);
    let fields = items.filter_map(|item| match item {
        syn::Item::Struct(item) if item.ident == name => Some(item.fields.len()),
        _ => None,
    });
    found(fields.max().unwrap_or(0))
}

/// Lines that name a variant of a mapping or a validity, outside the folder of either.
pub(crate) fn variants_outside(house: &House) -> usize {
    let outside = |source: &Source, of: [&str; 2], folder: &str| {
        let is_variant = |path: &[String]| matches!(path, [.., name, variant] if of.contains(&name.as_str()) && variant.starts_with(char::is_uppercase));
        let lines: BTreeSet<usize> =
            paths(&source.tokens).into_iter().filter(|(path, _)| is_variant(path)).map(|(_, line)| line).collect();
        if source.path.contains(folder) { 0 } else { lines.len() }
    };
    let files = house.ftl().files.iter();
    let mappings = |source: &Source| outside(source, ["Mapping", "AnyMapping"], "/mapping/");
    let stores = |source: &Source| outside(source, ["Validity", "AnyValidity"], "/validity/");
    files.map(|source| mappings(source) + stores(source)).sum()
}

/// Functions that take an FTL, its flash and a recovery's steps as three things.
pub(crate) fn functions_with_trio(house: &House) -> usize {
    let has = |function: &&Function, names: &[&str]| {
        function.inputs.iter().any(|(token, _)| matches!(token, Token::Word(word) if names.contains(&word.as_str())))
    };
    let all: Vec<Function> = house.ftl().files.iter().flat_map(functions).collect();
    let trios = all.iter().filter(|function| has(function, &["nand"]) && has(function, &["Steps"]));
    trios.filter(|function| has(function, &["ftl", "PageMapped", "LogBlock", "Superblocks"])).count()
}

/// Calls in the write of a page that are of a scheme: how the drive survives a power cut, or when dirty entries are
/// written.
pub(crate) fn hooks_of_a_write(house: &House) -> usize {
    let is_in = |function: &&Function, file: &str| function.file.ends_with(file);
    let all: Vec<Function> = house.ftl().files.iter().flat_map(functions).collect();
    let hooks: Vec<&str> = all.iter().filter(|f| is_in(f, "/page_mapped/hooks.rs")).map(|f| f.name.as_str()).collect();
    let is_hook = |tokens: &[(Token, usize)]| match tokens {
        [(Token::Word(owner), _), (Token::Sign('.'), _), (Token::Word(name), _), (Token::Sign('('), _)] => {
            owner == "durability" || hooks.contains(&name.as_str())
        }
        _ => false,
    };
    let writes = all.iter().filter(|f| f.name == "write_pages" && is_in(f, "/page_mapped/requests.rs"));
    found(writes.map(|f| f.body.windows(4).filter(|tokens| is_hook(tokens)).count()).sum())
}

/// Functions of `ftl` that hand a page of flash to a host.
pub(crate) fn host_reads(house: &House) -> usize {
    let hands = |function: &Function| {
        let is_data = |(path, _): &(Vec<String>, usize)| path.ends_with(&["HostPage".to_string(), "Data".to_string()]);
        paths(&function.body).iter().any(is_data)
    };
    found(house.ftl().files.iter().flat_map(functions).filter(hands).count())
}

/// Files of `ftl` that scan maps.
pub(crate) fn map_scans(house: &House) -> usize {
    found(house.ftl().files.iter().filter(|source| source.path.ends_with("/map_scan.rs")).count())
}

/// Structs of `ftl` that hold a queue of blocks.
pub(crate) fn free_pools(house: &House) -> usize {
    let is_pool = |field: &syn::Field| {
        let words: Vec<String> =
            paths(&flat(field.ty.to_token_stream())).into_iter().flat_map(|(path, _)| path).collect();
        words.ends_with(&["VecDeque".to_owned(), "Block".to_owned()])
    };
    // A policy's queue is of blocks that are written.
    let files = house.ftl().files.iter().filter(|source| !source.path.contains("/policy/"));
    let items = files.flat_map(|source| &source.items);
    found(items.filter(|item| matches!(item, syn::Item::Struct(item) if item.fields.iter().any(is_pool))).count())
}

/// Code lines of `ftl` for each assertion in them.
pub(crate) fn lines_per_assertion(house: &House) -> usize {
    let files = &house.ftl().files;
    let lines: usize = files.iter().map(|source| source.code_lines).sum();
    let is_assertion = |word: &str| word.strip_prefix("debug_").unwrap_or(word).starts_with("assert");
    let assertions: usize = files
        .iter()
        .map(|source| {
            let pairs = source.tokens.windows(2);
            pairs
                .filter(|pair| matches!(pair, [(Token::Word(word), _), (Token::Sign('!'), _)] if is_assertion(word)))
                .count()
        })
        .sum();
    lines.div_ceil(assertions.max(1))
}

/// The longest file of `ftl`, in lines.
pub(crate) fn longest_file(house: &House) -> (usize, String) {
    let files = house.ftl().files.iter().map(|source| (source.lines, source.path.clone()));
    files.max().unwrap_or_default()
}

/// The longest function of `ftl`, in lines.
pub(crate) fn longest_function(house: &House) -> (usize, String) {
    let of = |source: &Source| {
        functions(source).into_iter().map(|f| (f.lines, format!("{} in {}", f.name, source.path))).max()
    };
    house.ftl().files.iter().filter_map(of).max().unwrap_or_default()
}

/// The names of types that `ftl` gives to more than one, with their files. Private ones are their file's own.
pub(crate) fn names_given_twice(ftl: &Crate) -> Vec<(String, Vec<String>)> {
    let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in &ftl.files {
        for item in &source.items {
            let (vis, ident) = match item {
                syn::Item::Struct(item) => (&item.vis, &item.ident),
                syn::Item::Enum(item) => (&item.vis, &item.ident),
                syn::Item::Trait(item) => (&item.vis, &item.ident),
                syn::Item::Type(item) => (&item.vis, &item.ident),
                _ => continue,
            };
            if !matches!(vis, syn::Visibility::Inherited) {
                named.entry(ident.to_string()).or_default().push(source.path.clone());
            }
        }
    }
    named.into_iter().filter(|(_, files)| files.len() > 1).collect()
}

/// A function with a body.
struct Function {
    file: String,
    name: String,
    lines: usize,
    inputs: Vec<(Token, usize)>,
    body: Vec<(Token, usize)>,
}

fn functions(source: &Source) -> Vec<Function> {
    let mut found = Functions { file: &source.path, all: Vec::new() };
    source.items.iter().for_each(|item| found.visit_item(item));
    found.all
}

struct Functions<'a> {
    file: &'a str,
    all: Vec<Function>,
}

impl Functions<'_> {
    fn add(&mut self, signature: &syn::Signature, body: &syn::Block) {
        self.all.push(Function {
            file: self.file.to_string(),
            name: signature.ident.to_string(),
            lines: body.brace_token.span.close().end().line + 1 - signature.span().start().line,
            inputs: flat(signature.inputs.to_token_stream()),
            body: flat(body.to_token_stream()),
        });
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add(&item.sig, &item.block);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.sig, &item.block);
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.add(&item.sig, body);
        }
        syn::visit::visit_trait_item_fn(self, item);
    }
}
