//! `docs/reference/parameters.md`: every part and parameter, as each states itself.

use phelsuma_ftl::{Parameter, parameters};
use std::fmt::Write;
use std::path::Path;

const HEAD: &str = "# Parts and parameters

Generated from what parts state of themselves: `make parameters` writes it, and a test holds it to the code. `phelsuma list`
prints the same, policies of your own included.

`--set PART=NAME` puts a part in, with its defaults. `--set PARAMETER=VALUE` changes one of its parameters. The order of
settings does not matter, and `_` may be written for `-`. A part that needs others is refused without them. If nothing is
said of `power`, a drive whose parts rule out its recovery scheme falls back to `power=nothing`.
";

#[test]
fn every_part_and_parameter_is_in_the_reference() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/parameters.md");
    let text = reference();
    if std::env::var_os("PHELSUMA_UPDATE_PARAMETERS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    let documented = std::fs::read_to_string(&path).unwrap_or_default();
    let first = text.lines().zip(documented.lines()).find(|(now, then)| now != then);
    assert!(text == documented, "docs/reference/parameters.md is another one (make parameters writes it): {first:#?}");
}

fn reference() -> String {
    let all = parameters();
    let mut text = HEAD.to_string();
    // A part stands before its parameters.
    for part in all.chunk_by(|_, next| next.name.contains('.')) {
        section(&mut text, part);
    }
    text
}

fn section(text: &mut String, part: &[Parameter]) {
    let [head, parameters @ ..] = part else { return };
    write!(text, "\n## `{}`: {}\n\n| `--set` | what it is | needs |\n| --- | --- | --- |\n", head.name, head.about)
        .unwrap();
    for (word, about, needs) in &head.words {
        writeln!(text, "| `{}={word}` | {about} | {} |", head.name, needs.join("; ")).unwrap();
    }
    if parameters.is_empty() {
        return;
    }
    text.push_str("\n| `--set` | what it is | range | default | of |\n| --- | --- | --- | --- | --- |\n");
    for Parameter { name, about, range, default, of, .. } in parameters {
        let (range, of) = (range.replace(" | ", ", "), of.join(", "));
        writeln!(text, "| `{name}` | {about} | {range} | {default} | {of} |").unwrap();
    }
    let words = parameters.iter().flat_map(|of| of.words.iter().map(|(word, about, _)| (of.name, *word, *about)));
    let mut said = words.filter(|(.., about)| !about.is_empty()).peekable();
    if said.peek().is_some() {
        text.push('\n');
    }
    said.for_each(|(name, word, about)| writeln!(text, "- `{name}={word}`: {about}").unwrap());
}
