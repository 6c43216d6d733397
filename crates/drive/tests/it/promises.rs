//! The table of promises in docs/TESTING.md is what the code says (`Subject::promise`). With `PHELSUMA_UPDATE_PROMISES`
//! set it is written anew.

use phelsuma_drive::lab::{Fault, Promise, Subject};
use phelsuma_ftl::{Config, PRESETS};
use std::fmt::Write;
use std::path::Path;

const BEGIN: &str = "<!-- promises: generated -->\n";
const END: &str = "<!-- end of promises -->\n";

fn table() -> String {
    let ftls: Vec<Config> =
        PRESETS.iter().map(|preset| Config::new(preset.name, preset.composition, 1_000, 1)).collect();
    let mut faults: Vec<Fault> = Vec::new();
    for fault in Fault::every() {
        // Those of programs and of erases that are called the same are promised together.
        if !faults.iter().any(|other| other.name() == fault.name()) {
            faults.push(fault);
        }
    }
    let mut why: Vec<String> = Vec::new();
    let mut number = |reason: String| {
        let known = why.iter().position(|other| *other == reason);
        1 + known.unwrap_or_else(|| {
            why.push(reason);
            why.len() - 1
        })
    };
    let mut text = String::from("| fault |");
    ftls.iter().for_each(|ftl| _ = write!(text, " {} |", ftl.name));
    text += "\n| --- |";
    ftls.iter().for_each(|_| text += " --- |");
    text.push('\n');
    for fault in faults {
        _ = write!(text, "| `{}` |", fault.name());
        for ftl in &ftls {
            let promise = match ftl.why_not_survivable() {
                Some(reason) => format!("no ({})", number(reason)),
                // No battery announces it.
                None if fault == Fault::Announced && !ftl.has_battery() => "-".to_string(),
                None => match ftl.promise(fault) {
                    Promise::Kept => "kept".to_string(),
                    Promise::Flushed => "flushed".to_string(),
                    Promise::Detected => "detected".to_string(),
                    Promise::Nothing(reason) => format!("no ({})", number(reason.to_string())),
                },
            };
            _ = write!(text, " {promise} |");
        }
        text.push('\n');
    }
    text.push('\n');
    (1..).zip(&why).for_each(|(number, reason)| _ = writeln!(text, "{number}. Not promised: {reason}."));
    text
}

#[test]
fn the_documentation_promises_what_the_code_does() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/TESTING.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (documented, after) = rest.split_once(END).unwrap();
    let table = table();
    if std::env::var_os("PHELSUMA_UPDATE_PROMISES").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert!(
            documented == table,
            "docs/TESTING.md promises something else: PHELSUMA_UPDATE_PROMISES=1 writes it anew"
        );
    }
}

#[test]
fn the_long_sweeps_go_over_every_ftl_that_survives_power_cuts() {
    let makefile = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Makefile")).unwrap();
    let list = |name: &str| {
        let is_it = |line: &&str| line.split_once(":=").is_some_and(|(before, _)| before.trim() == name);
        let (_, ftls) = makefile.lines().find(is_it).and_then(|line| line.split_once(":=")).unwrap();
        ftls.trim().split(',').map(str::to_string).collect::<Vec<_>>()
    };
    let mut listed: Vec<String> = ["FTLS", "MM", "PAGED", "MU", "OURS", "BATTERY"].into_iter().flat_map(list).collect();
    // No drive is made of an oracle.
    let real = PRESETS.iter().filter(|preset| preset.composition.knowledge().is_none());
    let mut survive: Vec<String> =
        real.filter(|preset| preset.composition.survives_power_cuts()).map(|preset| preset.name.to_string()).collect();
    listed.sort_unstable();
    survive.sort_unstable();
    assert_eq!(listed, survive);
}
