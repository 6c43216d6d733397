//! The modules of a crate, what each defines and imports, and to which file a name leads.
//!
//! A name is followed through imports, re-exports and globs as the compiler does. A method's or a field's is not: that
//! needs types, and no name of a file is written there.

use crate::source::{Source, flat, paths};
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::Visit;

/// A crate.
pub(crate) struct Crate {
    /// Its files.
    pub(crate) files: Vec<Source>,
    modules: Vec<Module>,
}

struct Module {
    file: usize,
    /// The outermost module is its own.
    parent: usize,
    root: usize,
    children: BTreeMap<String, usize>,
    /// Its own definitions.
    defined: BTreeMap<String, Kind>,
    uses: Vec<Use>,
    /// The paths in its content besides imports and modules.
    paths: Vec<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It may stand before `::`.
    Type,
    Other,
}

/// One name of a `use`.
struct Use {
    /// Its name here; none of a glob.
    name: Option<String>,
    path: Vec<String>,
    is_public: bool,
}

/// Where a name leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    Module(usize),
    /// Something that a module's file defines, and whether it is a type.
    Item(usize, bool),
}

/// The text of a file, if there is one at this path.
pub(crate) type Texts<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Look-ups on the way to a name: an import may lead back to itself.
type Seen = Vec<(usize, String, bool)>;

/// The file at one end of a reference, and at the other.
pub(crate) type Reference = (usize, usize);

impl Crate {
    /// Reads a crate in `folder` from its roots there on, `lib.rs` and `main.rs`, one or both.
    ///
    /// # Errors
    /// One line: which file cannot be read, or is not Rust.
    pub(crate) fn read(texts: Texts<'_>, folder: &str) -> Result<Self, String> {
        let mut this = Self { files: Vec::new(), modules: Vec::new() };
        for path in ["lib", "main"].map(|root| format!("{folder}/{root}.rs")) {
            if let Some(text) = texts(&path) {
                this.add_file(texts, Source::parse(&path, &text)?, folder, None)?;
            }
        }
        if this.files.is_empty() { Err(format!("{folder}: no root of a crate is there")) } else { Ok(this) }
    }

    /// Adds a file, with the modules below it, whose files are in `folder`.
    fn add_file(
        &mut self,
        texts: Texts<'_>,
        mut source: Source,
        folder: &str,
        parent: Option<usize>,
    ) -> Result<usize, String> {
        let items = std::mem::take(&mut source.items);
        self.files.push(source);
        let module = self.add_module(self.files.len() - 1, parent);
        self.add_items(texts, &items, folder, module)?;
        if let Some(source) = self.files.get_mut(self.modules[module].file) {
            source.items = items;
        }
        Ok(module)
    }

    fn add_module(&mut self, file: usize, parent: Option<usize>) -> usize {
        let here = self.modules.len();
        self.modules.push(Module {
            file,
            parent: parent.unwrap_or(here),
            root: parent.map_or(here, |parent| self.modules[parent].root),
            children: BTreeMap::new(),
            defined: BTreeMap::new(),
            uses: Vec::new(),
            paths: Vec::new(),
        });
        here
    }

    fn add_items(&mut self, texts: Texts<'_>, items: &[syn::Item], folder: &str, module: usize) -> Result<(), String> {
        for item in items {
            match item {
                syn::Item::Use(item) => {
                    let is_public = !matches!(item.vis, syn::Visibility::Inherited);
                    leaves(&item.tree, &[], is_public, &mut self.modules[module].uses);
                    continue;
                }
                syn::Item::Mod(item) => {
                    let name = item.ident.to_string();
                    let below = format!("{folder}/{name}");
                    let child = match &item.content {
                        Some((_, items)) => {
                            let child = self.add_module(self.modules[module].file, Some(module));
                            self.add_items(texts, items, &below, child)?;
                            child
                        }
                        None => {
                            let places = [format!("{below}.rs"), format!("{below}/mod.rs")];
                            let found = places.iter().find_map(|path| Some((path, texts(path)?)));
                            let (path, text) = found.ok_or_else(|| format!("{below}.rs: it is not there"))?;
                            self.add_file(texts, Source::parse(path, &text)?, &below, Some(module))?
                        }
                    };
                    self.modules[module].children.insert(name, child);
                    continue;
                }
                _ => {}
            }
            if let Some((name, kind)) = definition(item) {
                self.modules[module].defined.insert(name, kind);
            }
            let mut inner = InnerUses(Vec::new());
            inner.visit_item(item);
            self.modules[module].uses.append(&mut inner.0);
            let found = paths(&flat(item.to_token_stream()));
            self.modules[module].paths.extend(found.into_iter().map(|(path, _)| path));
        }
        Ok(())
    }

    /// All references between files. A re-export is none, but where its name is used in the same file as well.
    pub(crate) fn references(&self) -> Vec<Reference> {
        self.find_references(false)
    }

    /// The same with re-exports.
    pub(crate) fn references_and_reexports(&self) -> Vec<Reference> {
        self.find_references(true)
    }

    fn find_references(&self, with_reexports: bool) -> Vec<Reference> {
        let mut found = BTreeSet::new();
        for (here, module) in self.modules.iter().enumerate() {
            let words: BTreeSet<&String> = module.paths.iter().filter_map(|path| path.first()).collect();
            let imports = module.uses.iter().filter(|import| {
                with_reexports || !import.is_public || import.name.as_ref().is_some_and(|name| words.contains(name))
            });
            let imported = imports.filter_map(|import| self.follow(here, &import.path));
            let named = module.paths.iter().filter_map(|path| match &path[..] {
                // A name that is defined here does not come through a glob.
                [name] if module.defined.contains_key(name) => None,
                [name] if module.uses.iter().any(|import| import.name.as_ref() == Some(name)) => None,
                [name] => self.through_globs(here, name, &mut Vec::new()),
                _ => self.follow(here, path),
            });
            let files = imported.chain(named).filter_map(|target| match target {
                Target::Item(file, _) if file != module.file => Some((module.file, file)),
                _ => None,
            });
            found.extend(files);
        }
        found.into_iter().collect()
    }

    /// What the files below `folder` import of another crate, or name of it: file, and name; `*` for the crate itself,
    /// which gives all of it.
    pub(crate) fn taken_from(&self, other: &str, folder: &str) -> Vec<(&str, String)> {
        let mut found = Vec::new();
        for module in &self.modules {
            let path = self.files[module.file].path.as_str();
            if path.starts_with(folder) {
                let all = module.uses.iter().map(|import| &import.path).chain(&module.paths);
                let taken = all.filter(|path| path.first().is_some_and(|first| first == other));
                found.extend(taken.map(|taken| (path, taken.get(1).map_or("*", String::as_str).to_string())));
            }
        }
        found
    }

    /// Where a path leads, as far as it leads anywhere in this crate.
    fn follow(&self, from: usize, path: &[String]) -> Option<Target> {
        self.follow_on(from, path, &mut Vec::new())
    }

    fn follow_on(&self, from: usize, path: &[String], seen: &mut Seen) -> Option<Target> {
        let (first, mut rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => Target::Module(self.modules[from].root),
            "self" => Target::Module(from),
            "super" => Target::Module(self.modules[from].parent),
            name => self.named(from, name, !rest.is_empty(), seen)?,
        };
        while let (Target::Module(module), Some((next, after))) = (at, rest.split_first()) {
            at = match next.as_str() {
                "super" => Target::Module(self.modules[module].parent),
                name => self.named(module, name, !after.is_empty(), seen)?,
            };
            rest = after;
        }
        Some(at)
    }

    /// A module's meaning of `name`: where `goes_on`, something that may stand before `::`.
    fn named(&self, module: usize, name: &str, goes_on: bool, seen: &mut Seen) -> Option<Target> {
        let asked = (module, name.to_string(), goes_on);
        if seen.contains(&asked) {
            return None;
        }
        seen.push(asked);
        let here = &self.modules[module];
        let item = here.defined.get(name).map(|kind| Target::Item(here.file, *kind == Kind::Type));
        let child = here.children.get(name).map(|child| Target::Module(*child));
        let imported = || {
            let imports = here.uses.iter().filter(|import| import.name.as_deref() == Some(name));
            imports.rev().find_map(|import| self.follow_on(module, &import.path, &mut seen.clone()))
        };
        let found = if goes_on {
            child.or_else(imported).or(item).filter(|target| !matches!(target, Target::Item(_, false)))
        } else {
            item.or_else(imported).or(child)
        };
        found.or_else(|| self.through_globs(module, name, &mut seen.clone()))
    }

    fn through_globs(&self, module: usize, name: &str, seen: &mut Seen) -> Option<Target> {
        let globs = self.modules[module].uses.iter().filter(|import| import.name.is_none());
        globs.into_iter().find_map(|glob| match self.follow_on(module, &glob.path, &mut seen.clone())? {
            Target::Module(other) => self.named(other, name, false, seen),
            Target::Item(..) => None,
        })
    }
}

/// Imports inside functions.
struct InnerUses(Vec<Use>);

impl<'ast> Visit<'ast> for InnerUses {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        leaves(&item.tree, &[], false, &mut self.0);
    }
}

fn definition(item: &syn::Item) -> Option<(String, Kind)> {
    let (ident, kind) = match item {
        syn::Item::Struct(item) => (&item.ident, Kind::Type),
        syn::Item::Enum(item) => (&item.ident, Kind::Type),
        syn::Item::Union(item) => (&item.ident, Kind::Type),
        syn::Item::Trait(item) => (&item.ident, Kind::Type),
        syn::Item::Type(item) => (&item.ident, Kind::Type),
        syn::Item::Fn(item) => (&item.sig.ident, Kind::Other),
        syn::Item::Const(item) => (&item.ident, Kind::Other),
        syn::Item::Static(item) => (&item.ident, Kind::Other),
        syn::Item::Macro(item) => (item.ident.as_ref()?, Kind::Other),
        _ => return None,
    };
    Some((ident.to_string(), kind))
}

/// The names that a `use` brings.
fn leaves(tree: &syn::UseTree, before: &[String], is_public: bool, uses: &mut Vec<Use>) {
    let joined = |last: String| before.iter().cloned().chain([last]).collect::<Vec<_>>();
    let mut push = |name: Option<String>, path: Vec<String>| uses.push(Use { name, path, is_public });
    match tree {
        syn::UseTree::Path(path) => leaves(&path.tree, &joined(path.ident.to_string()), is_public, uses),
        syn::UseTree::Name(name) if name.ident == "self" => push(before.last().cloned(), before.to_vec()),
        syn::UseTree::Name(name) => push(Some(name.ident.to_string()), joined(name.ident.to_string())),
        syn::UseTree::Rename(name) => push(Some(name.rename.to_string()), joined(name.ident.to_string())),
        syn::UseTree::Glob(_) => push(None, before.to_vec()),
        syn::UseTree::Group(group) => {
            for tree in &group.items {
                leaves(tree, before, is_public, uses);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [(&str, &str); 6] = [
        ("src/lib.rs", "mod a; mod b; mod c; pub use a::Thing; pub use b::open;"),
        ("src/a/mod.rs", "mod inner; pub(crate) use inner::*; use crate::c::Third; fn f(_: Third) {}"),
        ("src/a/inner.rs", "pub(crate) struct Thing; pub(crate) struct Third; pub(crate) const MOST: u32 = 3;"),
        (
            "src/b.rs",
            "use super::a; pub fn open() { a::Thing; crate::Thing; inner::g(); } mod inner { use super::super::c; fn g() { c::h() } }",
        ),
        (
            "src/c.rs",
            "use other::Far; use other::*; use other as near; pub struct Third; pub fn h() -> u32 { use crate::a::MOST as MANY; MANY } #[cfg(test)] mod tests { use crate::b; }",
        ),
        ("src/main.rs", "fn main() {}"),
    ];

    fn read() -> Crate {
        let text = |path: &str| FILES.iter().find(|(name, _)| *name == path).map(|(_, text)| text.to_string());
        Crate::read(&text, "src").unwrap()
    }

    fn named(all: &Crate, references: Vec<Reference>) -> Vec<(&str, &str)> {
        let path = |file: usize| all.files[file].path.as_str();
        references.into_iter().map(|(from, to)| (path(from), path(to))).collect()
    }

    #[test]
    fn names_lead_to_the_file_that_defines_them() {
        let all = read();
        let mut found = named(&all, all.references());
        found.sort_unstable();
        let expected = [
            ("src/a/mod.rs", "src/c.rs"),
            ("src/b.rs", "src/a/inner.rs"),
            ("src/b.rs", "src/c.rs"),
            ("src/c.rs", "src/a/inner.rs"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_crate_that_is_taken_as_a_whole_is_noticed() {
        let all = read();
        let taken: Vec<String> = all.taken_from("other", "src/").into_iter().map(|(_, name)| name).collect();
        assert_eq!(taken, ["Far", "*", "*"]);
    }

    #[test]
    fn a_reexport_is_a_reference_only_where_that_is_asked_for() {
        let all = read();
        let found = named(&all, all.references_and_reexports());
        assert!(found.contains(&("src/lib.rs", "src/a/inner.rs")) && found.contains(&("src/lib.rs", "src/b.rs")));
    }
}
