//! What of the sources is code, and a hash of it.
//!
//! A stored run is good as long as the code that it came of stays. Every module is read as the compiler's tokens and
//! cut into items. This is left out, as it cannot change a figure:
//!
//! - comments, documentation, and how lines are broken ([`written`]);
//! - items under `#[cfg(test)]` or `#[test]`: modules, in files of their own as well, and single methods;
//! - visibility, and attributes that the compiler's warnings alone look at;
//! - debug assertions: a release build has none;
//! - the order of items in a module, and of methods in an `impl`;
//! - whether a module is `name.rs`, `name/mod.rs` or in braces.
//!
//! `tests`, `benches`, `Cargo.toml` and crates from elsewhere are not read. All else counts: a constant, an operator, a
//! string, the name of a private function, and the module that an item stands in. Only a compiler can tell whether an
//! item that moved still means the same. If a hash took what moved for the same, it could call a run good that is not.
//! The other error costs a run.

mod written;

use proc_macro2::{Delimiter, LexError, TokenStream, TokenTree};
use sha2::{Digest, Sha256};
use written::{attribute, is, is_any, visibility_len, written};

/// The crates whose code decides the result of a run: `options`, which reads its command, and all that stands under it.
pub(crate) const SIMULATION: [&str; 6] = ["drive", "ftl", "nand", "options", "state", "trace"];

/// The items of all modules that were added.
#[derive(Default)]
pub(crate) struct Code {
    items: Vec<String>,
}

impl Code {
    /// Adds a module, such as `nand::sim::columns`; those in it that are in files of their own.
    ///
    /// # Errors
    /// It is no Rust.
    pub(crate) fn add(&mut self, module: &str, text: &str) -> Result<Vec<String>, LexError> {
        let mut elsewhere = Vec::new();
        self.add_items(module, "", text.parse()?, &mut elsewhere);
        Ok(elsewhere)
    }

    /// The first 16 hexadecimal digits of a SHA-256 of all items.
    pub(crate) fn hash(mut self) -> String {
        self.items.sort_unstable();
        let mut hash = Sha256::new();
        for item in &self.items {
            hash.update(item);
            hash.update([0]);
        }
        hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Items of a module, or those of an `impl` with its head before each.
    fn add_items(&mut self, module: &str, head: &str, tokens: TokenStream, elsewhere: &mut Vec<String>) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut rest = tokens.as_slice();
        while !rest.is_empty() {
            let (attributes, behind) = rest.split_at(attributes_len(rest));
            let (item, behind) = behind.split_at(item_len(behind));
            rest = behind;
            if is_of_tests(attributes) {
                continue;
            }
            let (before, body) = match item.split_last() {
                Some((TokenTree::Group(group), before)) if group.delimiter() == Delimiter::Brace => {
                    (before, Some(group))
                }
                Some((end, before)) if is(end, ";") => (before, None),
                _ => (item, None),
            };
            let says = |item: &[TokenTree]| format!("{module} {head}{}{}", written(attributes), written(item));
            match (&item[visibility_len(item)..], body) {
                ([word, name, ..], body) if is(word, "mod") => {
                    let inner = format!("{module}::{name}");
                    self.items.push(says(before));
                    match body {
                        Some(body) => self.add_items(&inner, "", body.stream(), elsewhere),
                        None => elsewhere.push(inner),
                    }
                }
                ([word, ..], Some(body)) if is(word, "impl") => {
                    let head = written(attributes) + &written(before);
                    self.items.push(says(before));
                    self.add_items(module, &head, body.stream(), elsewhere);
                }
                _ => self.items.push(says(item)),
            }
        }
    }
}

/// How many tokens of attributes an item begins with.
fn attributes_len(tokens: &[TokenTree]) -> usize {
    let mut len = 0;
    while let Some((_, more)) = attribute(&tokens[len..]) {
        len += more;
    }
    len
}

/// An item ends with its braces; with a semicolon where it has none, and where they are a value's or a list's.
fn item_len(tokens: &[TokenTree]) -> usize {
    let to_semicolon = match &tokens[visibility_len(tokens)..] {
        [word, next, ..] if is(word, "const") => !is_any(next, &["async", "extern", "fn", "unsafe"]),
        [word, ..] => is_any(word, &["static", "type", "use"]),
        [] => false,
    };
    let is_body = |token: &TokenTree| matches!(token, TokenTree::Group(g) if g.delimiter() == Delimiter::Brace);
    let end = tokens.iter().position(|token| is(token, ";") || !to_semicolon && is_body(token));
    end.map_or(tokens.len(), |end| end + 1)
}

fn is_of_tests(mut attributes: &[TokenTree]) -> bool {
    while let Some((group, len)) = attribute(attributes) {
        let text = group.stream().to_string().replace(' ', "");
        if text == "test" || text == "cfg(test)" || text.starts_with("cfg(all(test,") {
            return true;
        }
        attributes = &attributes[len..];
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    const MODULE: &str = r#"
        //! A file.
        use crate::flash::Page;
        mod inner;

        /// How many.
        pub(crate) const MOST: [u32; 2] = [8, 16];

        impl Pool {
            /// Takes one.
            fn take(&mut self, from: u32, at_least: u32) -> Result<(u32,), Error> {
                match self.pages.get(from) {
                    Some(page) if page.free & self.mask > at_least || self.full => Ok((page.free,)),
                    Some(_) => return Err(Error::new("few /* pages */")),
                    None => self.pages.iter().map(|page| page.free + 1).max().ok_or(Error::none()),
                }
            }
        }

        fn last(block: Block) -> u32 { block.0 << 1 }
    "#;

    fn hash(text: &str) -> String {
        let mut code = Code::default();
        code.add("ftl::pool", text).unwrap();
        code.hash()
    }

    fn with(changes: &[(&str, &str)]) -> String {
        changes.iter().fold(MODULE.to_string(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replacen(from, to, 1)
        })
    }

    #[test]
    fn a_polished_comment_a_broken_line_and_a_test_leave_the_hash_as_it_is() {
        for changes in [
            // Comments and documentation.
            &[("//! A file.", "//! A file of free pages.\n//! It is small.")][..],
            &[("/// How many.", "// How many.")],
            &[("/// Takes one.", "/* Takes /* only */ one: \" */ #[doc = \"Takes one.\"]")],
            &[("at_least: u32)", "at_least: u32 /* pages */)")],
            // Lines.
            &[("from: u32, at_least: u32)", "\n from: u32,\n at_least: u32,\n)")],
            &[("(block: Block)", "(\n block: Block,\n)"), ("{ block.0 << 1 }", "{\n\n    block.0\n << 1\n }")],
            &[("[8, 16]", "[\n 8,\n 16,\n]")],
            &[("=> Ok((page.free,)),", "=> {\n Ok((page.free,))\n }")],
            &[(
                "=> return Err(Error::new(\"few /* pages */\")),",
                "=> {\n return Err(Error::new(\"few /* pages */\"));\n }",
            )],
            &[("|page| page.free + 1)", "|page| {\n page.free + 1\n })")],
            &[("Result<(u32,), Error>", "Result<\n (u32,),\n Error,\n >")],
            // Its visibility, and attributes for the compiler's warnings.
            &[("pub(crate) const", "const"), ("fn last", "#[must_use]\n pub fn last")],
            &[("fn last", "#[allow(dead_code)]\n #[expect(clippy::all, reason = \"\")] fn last")],
            // Tests.
            &[("mod inner;", "mod inner;\n #[cfg(test)]\n mod tests;")],
            &[(
                "mod inner;",
                "mod inner;\n #[cfg(test)]\n mod tests { use super::*; #[test] fn f() { assert!('\"' != 'a'); } }",
            )],
            &[("mod inner;", "mod inner;\n #[cfg(all(test, feature = \"std\"))]\n use a::{b, c};")],
            &[("/// Takes one.", "#[cfg(test)]\n pub(super) fn free(&self) -> u32 { self.free }\n")],
            &[("{ block.0", "{ debug_assert!(block.0 < 1 << 31, \"{block:?}\"); block.0")],
            // Order.
            &[("use crate::flash::Page;\n        mod inner;", "mod inner; use crate::flash::Page;")],
        ] {
            assert_eq!(hash(&with(changes)), hash(MODULE), "{changes:?}");
        }
    }

    #[test]
    fn a_constant_an_operator_a_name_and_a_string_change_the_hash() {
        let hashes: Vec<String> = [
            ("", ""),
            ("[8, 16]", "[8, 17]"),
            ("[8, 16]", "[16, 8]"),
            ("page.free & self.mask", "page.free && self.mask"),
            ("page.free & self.mask", "page.free & &self.mask"),
            ("> at_least", ">= at_least"),
            ("|| self.full", "| self.full"),
            ("block.0 << 1", "block.0 < 1"),
            ("few /* pages */", "few pages"),
            ("few /* pages */", "few  /* pages */"),
            ("page.free + 1", "page.free + 1; 0"),
            ("page.free + 1", "{ page.free + 1 } - 1"),
            ("(u32,), Error", "(u32), Error"),
            ("Ok((page.free,))", "Ok((page.free))"),
            ("crate::flash::Page", "crate::drive::Page"),
            ("mod inner;", "mod other;"),
            ("mod inner;", "#[cfg(feature = \"std\")] mod inner;"),
            ("mod inner;", "#[cfg(not(test))] mod inner;"),
            ("fn last", "#[inline] fn last"),
            ("fn last", "fn first"),
            ("impl Pool", "impl Other"),
            ("{ block.0", "{ assert!(block.0 < 1 << 31); block.0"),
        ]
        .map(|change| hash(&with(&[change])))
        .into();
        assert_eq!(hashes.iter().collect::<BTreeSet<_>>().len(), hashes.len(), "{hashes:?}");
    }

    #[test]
    fn quotes_of_every_kind_end_where_the_compiler_ends_them() {
        let text = r###"fn f<'a>(x: &'a str) -> (char, &'static str) { ('"', r#" // "quoted" "#) } // "x"
            fn g() -> u8 { b'\'' } /* ' */ fn h() -> &'static str { "\" /*" } // */"###;
        let items = |text: &str| {
            let mut code = Code::default();
            code.add("", text).unwrap();
            code.items
        };
        assert_eq!(items(text).len(), 3);
        assert_ne!(items(text), items(&text.replace("// \"quoted\"", "\"quoted\"")));
        assert!(Code::default().add("", "fn f() { \" }").is_err());
    }

    #[test]
    fn a_module_in_braces_is_one_in_a_file() {
        let mut code = Code::default();
        assert_eq!(
            code.add("nand", "mod sim; #[cfg(test)] mod tests; mod cut { mod deep; fn f() {} }").unwrap(),
            ["nand::sim", "nand::cut::deep"]
        );
        let mut of_files = Code::default();
        assert_eq!(of_files.add("nand", "mod sim; mod cut;").unwrap(), ["nand::sim", "nand::cut"]);
        of_files.add("nand::cut", "mod deep; fn f() {}").unwrap();
        assert_eq!(code.hash(), of_files.hash());
    }

    #[test]
    fn the_code_of_a_run_is_all_that_its_command_is_read_and_done_with() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let (mut known, mut to_read) = (BTreeSet::new(), vec!["options".to_string()]);
        while let Some(name) = to_read.pop() {
            let text = std::fs::read_to_string(crates.join(&name).join("Cargo.toml")).unwrap();
            let manifest: toml::Table = text.parse().unwrap();
            let names = manifest["dependencies"].as_table().unwrap().keys();
            to_read.extend(names.filter_map(|name| name.strip_prefix("phelsuma-")).map(str::to_string));
            known.insert(name);
        }
        assert_eq!(known.into_iter().collect::<Vec<_>>(), SIMULATION);
    }
}
