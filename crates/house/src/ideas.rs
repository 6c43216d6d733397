//! `docs/reference/ideas.md`: every source file, with the first sentence of its documentation.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

const HEAD: &str = "# Idea → file

Which file holds which idea. Each line is the first sentence of a file. `make ideas` writes this list, and a test holds it
to the sources. Folders are in the order of their paths. In a folder the module itself comes first. Files of tests are
left out.
";

/// Sentences by folder and file. The file of the folder's own module sorts first.
type Ideas = BTreeMap<String, BTreeMap<(bool, String), String>>;

#[test]
fn the_first_sentence_of_each_file_is_in_the_reference() {
    let path = Path::new(ROOT).join("docs/reference/ideas.md");
    let text = reference();
    if std::env::var_os("PHELSUMA_UPDATE_IDEAS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let documented = fs::read_to_string(&path).unwrap_or_default();
    let first = text.lines().zip(documented.lines()).find(|(now, then)| now != then);
    assert!(text == documented, "docs/reference/ideas.md is another one (make ideas writes it): {first:#?}");
}

#[test]
fn a_sentence_ends_where_another_one_begins() {
    let of = |text| first_sentence(text).unwrap();
    assert_eq!(
        of("//! FAST (Lee et al. 2007): log\n//! blocks. They are shared.\n"),
        "FAST (Lee et al. 2007): log blocks."
    );
    assert_eq!(of("//! `a. B` and [`Nand`](crate::Nand). It has [`Op`].\n"), "`a. B` and `Nand`.");
    assert_eq!(of("#![no_std]\n//! An idea\n//!\n//! More.\nfn f() {}\n"), "An idea");
    assert_eq!(first_sentence("fn f() {}\n"), None);
}

fn reference() -> String {
    let mut ideas = Ideas::new();
    for folder in fs::read_dir(Path::new(ROOT).join("crates")).unwrap() {
        let name = folder.unwrap().file_name().into_string().unwrap();
        add(&mut ideas, &format!("crates/{name}/src"));
    }
    let mut text = HEAD.to_string();
    for (folder, files) in &ideas {
        text += &format!("\n## `{folder}`\n\n");
        for ((_, file), sentence) in files {
            text += &format!("- `{file}`: {sentence}\n");
        }
    }
    text
}

/// Adds the files of a folder and of those below it.
fn add(ideas: &mut Ideas, folder: &str) {
    for entry in fs::read_dir(Path::new(ROOT).join(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = format!("{folder}/{name}");
        if entry.file_type().unwrap().is_dir() {
            if name != "tests" {
                add(ideas, &path);
            }
        } else if name.ends_with(".rs") && name != "tests.rs" {
            let text = fs::read_to_string(Path::new(ROOT).join(&path)).unwrap();
            let sentence = first_sentence(&text).unwrap_or_else(|| panic!("{path} has no documentation"));
            let is_root = ["lib.rs", "main.rs", "mod.rs"].contains(&name.as_str());
            ideas.entry(folder.to_string()).or_default().insert((!is_root, name), sentence);
        }
    }
}

/// The first sentence of a file's documentation, at the most its first paragraph.
fn first_sentence(text: &str) -> Option<String> {
    let documentation = text.lines().skip_while(|line| !line.starts_with("//!"));
    let lines = documentation.map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let paragraph: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let mut sentence = without_links(&paragraph.join(" "));
    sentence.truncate(end_of_sentence(&sentence));
    if sentence.is_empty() { None } else { Some(sentence) }
}

/// Names instead of links that only rustdoc can follow.
fn without_links(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("[`") {
        let Some((name, after)) = link.split_once("`]") else { break };
        kept += &format!("{before}`{name}`");
        rest = after.strip_prefix('(').and_then(|target| target.split_once(')')).map_or(after, |(_, after)| after);
    }
    kept + rest
}

/// A full stop outside code ends it, unless a small letter or a digit follows, as in "et al. 2007".
fn end_of_sentence(text: &str) -> usize {
    let mut is_code = false;
    for (at, sign) in text.char_indices() {
        is_code ^= sign == '`';
        let next = text[at + sign.len_utf8()..].strip_prefix(' ').and_then(|rest| rest.chars().next());
        if sign == '.' && !is_code && next.is_some_and(|next| !next.is_lowercase() && !next.is_numeric()) {
            return at + 1;
        }
    }
    text.len()
}
