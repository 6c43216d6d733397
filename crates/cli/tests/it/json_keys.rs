//! `docs/JSON.md` names every key that the command prints, and no other; and every counter and structure in RAM.
//!
//! Not tested: units and meanings.

use crate::common::{json, tiny_trace};
use phelsuma_drive::lab::{Failed, FailureKind, SoakFound};
use phelsuma_serve::device::options::{Backing, Options};
use phelsuma_serve::device::{Host, Served};
use serde_json::Value;
use std::collections::BTreeSet;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/JSON.md");

/// Objects whose keys are names of things, and what the document writes for those.
const NAMED: [(&str, &str); 10] = [
    ("flash", "PURPOSE"),
    ("ram_bytes.papers", "STRUCTURE"),
    ("ram_bytes.all", "STRUCTURE"),
    ("counters", "NAME"),
    ("skipped", "REASON"),
    ("input.left_out", "NAME"),
    ("results[].settings", "KEY"),
    ("claims[].runs", "RUN"),
    ("figures", "FIGURE"),
    ("figures.FIGURE", "RUN"),
];

/// The keys of leaves, with what is null apart.
fn keys(value: &Value, at: &str, found: &mut BTreeSet<String>, nulls: &mut BTreeSet<String>) {
    match value {
        Value::Null => _ = nulls.insert(at.to_string()),
        Value::Array(entries) => entries.iter().for_each(|entry| keys(entry, &format!("{at}[]"), found, nulls)),
        Value::Object(object) => {
            for (key, value) in object {
                let named = NAMED.iter().find(|(of, _)| *of == at && key != "total");
                let key = named.map_or(key.as_str(), |(_, name)| name);
                let dot = if at.is_empty() { "" } else { "." };
                keys(value, &format!("{at}{dot}{key}"), found, nulls);
            }
        }
        _ => _ = found.insert(at.to_string()),
    }
}

/// `a.{b,c}` is `a.b` and `a.c`.
fn expanded(key: &str) -> Vec<String> {
    let Some((before, rest)) = key.split_once('{') else { return vec![key.to_string()] };
    let (choices, after) = rest.split_once('}').unwrap();
    let ends = expanded(after);
    choices.split(',').flat_map(|choice| ends.iter().map(move |end| format!("{before}{choice}{end}"))).collect()
}

fn documented(schema: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(DOCUMENT).unwrap();
    let section = text.split("\n## ").find(|s| s.starts_with(&format!("`{schema}`"))).expect(schema);
    // Tables under headings of their own name things, not keys.
    let section = section.split("\n### ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let mut found = BTreeSet::new();
    for key in rows.flat_map(|(key, _)| expanded(key)) {
        assert!(found.insert(key.clone()), "{schema}: {key} is there twice");
    }
    found
}

fn check(schema: &str, printed: &[Value]) {
    let documented = documented(schema);
    let (mut found, mut nulls) = (BTreeSet::new(), BTreeSet::new());
    printed.iter().for_each(|value| keys(value, "", &mut found, &mut nulls));
    // An object that is null in one result is there in another, or the key itself is a leaf.
    let leaves: Vec<String> =
        nulls.into_iter().filter(|null| !found.iter().any(|key| key.starts_with(&format!("{null}.")))).collect();
    found.extend(leaves);
    let missing: Vec<_> = found.difference(&documented).collect();
    assert!(missing.is_empty(), "{schema}: printed and not in docs/JSON.md: {missing:?}");
    let gone: Vec<_> = documented.difference(&found).collect();
    assert!(gone.is_empty(), "{schema}: in docs/JSON.md and not printed: {gone:?}");
}

#[test]
fn every_key_is_in_the_document_and_every_key_in_the_document_is_printed() {
    let trace = tiny_trace("keys.csv");
    let trace = trace.display();
    // A comment and a step back, so that the reader has something to report.
    let commented =
        b"# made up\ntime_us,device,op,offset_bytes,size_bytes\n0,0,read,0,512\n2,0,write,0,512\n1,0,write,0,512\n";
    let commented = crate::common::file("keys-info.csv", commented);
    let commented = commented.display();
    let shape = "--capacity 64MiB --pages-per-block 32";
    let run =
        json(&format!("run --ftl page --workload mixed:read=20:uniform {shape} --interval 4000 --cut-at-end --json"));
    let observed = json(&format!("run --ftl mu-ftl --workload uniform {shape} --distributions --json"));
    let of_trace = json(&format!("run --ftl page --trace {commented} --json"));
    let paged = json(&format!("run --ftl dftl --set wear=levelling --workload uniform {shape} --json"));
    let cut = json(&format!(
        "run --ftl dftl-timeout --set slc=cache --write-cache 64KiB --workload uniform {shape} --cut-at-end --json"
    ));
    let open = json(&format!("run --ftl page --trace {trace} --open-loop --json"));
    let compared = json(&format!("compare --ftl page,fifo --workload uniform {shape} --passes 0.3 --json"));
    let of_drive =
        "--workload mixed:read=20:uniform --capacity 64MiB --timing 970pro --channels 2 --dies 1 --interval 4000";
    let of_drive = json(&format!("run --ftl page {of_drive} --json"));
    check("phelsuma.run/1", &[run.clone(), of_trace, paged, observed, cut, open, of_drive, compared[0].clone()]);
    // A result that is compared has the keys of a run, and one more.
    for result in compared.as_array().unwrap() {
        let all = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let of_run: Vec<String> = all(result).into_iter().filter(|key| key != "comparison").collect();
        assert_eq!(of_run, all(&run));
        assert!(result["comparison"].is_object());
    }

    // And so are those of each combination that is searched.
    let mut searched = json(&format!("search --ftl page --workload uniform {shape} --set victim=greedy,fifo --json"));
    for found in searched["results"].as_array_mut().unwrap() {
        let all = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(all(&found["run"]), all(&run));
        found["run"] = "a phelsuma.run/1".into();
    }
    check("phelsuma.search/1", &[searched]);

    // No FTL here fails, so the one failure is made up.
    let mut crash = json("crash --ftl page --writes 10 --cuts 2 --json");
    let failed = Failed {
        workload: "mixed",
        seed: 1,
        id: "1.torn-seen".parse().unwrap(),
        kind: FailureKind::Lost,
        message: "page 7".into(),
        script: vec!["write 7".into()],
    };
    for key in ["failures", "failures_not_promised"] {
        crash[0]["workloads"][0][key] = serde_json::to_value([&failed]).unwrap();
        crash[0][key] = serde_json::to_value([&failed]).unwrap();
    }
    check(
        "phelsuma.crash/1",
        &[
            crash,
            json("crash --ftl dftl --workload hot,slow --writes 10 --cuts 2 --json"),
            json("crash --ftl dftl-timeout --workload hot,slow --writes 10 --cuts 2 --json"),
        ],
    );

    let mut soak = json("soak --ftl page,dftl --cycles 1 --threads 1 --json");
    let (kind, message, script) = ("lost".into(), "page 7".into(), vec!["trim 1".into()]);
    let found = SoakFound { life: 1, cycle: 2, kind, message, script, promised: true };
    soak[0]["found"] = serde_json::to_value([found]).unwrap();
    soak[0]["lives_not_promised"] = serde_json::to_value([7]).unwrap();
    check("phelsuma.soak/1", &[soak]);

    check(
        "phelsuma.limits/1",
        &[json("limits --ratio 0.7 --hot 80/20 --json"), json("limits --ratio 0.7 --gecko 2TiB --json")],
    );
    check("phelsuma.trace-info/1", &[json(&format!("trace info {commented} --json"))]);
    let out = crate::common::file("keys-out.csv", b"");
    let handles = b"time_us,device,op,offset_bytes,size_bytes,handle\n0,0,write,0,512,1\n";
    let handles = crate::common::file("keys-handles.csv", handles);
    let out = out.display();
    let written = json(&format!("trace convert {commented} {out} --to csv --json"));
    let dropped = json(&format!("trace convert {} {out} --to msr --drop-unwritable --json", handles.display()));
    check("phelsuma.trace-written/1", &[written, dropped]);
    check("phelsuma.trace-list/1", &[json("trace get --json")]);
    check("phelsuma.list/1", &[json("list --json")]);
    check("phelsuma.timing/1", &[json("timing check 970pro --ratio 0.8 --json")]);
    let steady = "steady --ftl page --set wear=levelling --capacity 64MiB --pages-per-block 32 --json";
    check(
        "phelsuma.steady/1",
        &[
            json(&format!("{steady} --test latency --timing 970pro --channels 2 --dies 1 --rounds 5 --round 0.01")),
            json(&format!("{steady} --test write-saturation --round 1s")),
            json(&format!("{steady} --test throughput --rounds 1 --round 0.01")),
        ],
    );
    images();
    served();
    claims();
}

fn images() {
    let made = |name: &str, of: &str| {
        let path = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_file(&path);
        (json(&format!("create {} {of} --page 512 --pages-per-block 8 --json", path.display())), path)
    };
    let (created, page) = made("keys-page.img", "--size 256KiB --ftl page --set wear=levelling");
    check("phelsuma.create/1", &[created]);
    let mut printed = json(&format!("inspect {} --json", page.display()));
    // A drive just made has no runs, and they are made up.
    printed["gecko_runs"] = serde_json::json!([
        { "level": 0, "pages": 1, "entries": 1, "first_flush": 1, "last_flush": 1 }
    ]);
    check("phelsuma.inspect/1", &[printed]);
    let closed = json(&format!("check {} --json", page.display()));
    // Nothing is wrong with it, so what would be is made up.
    let mut open = closed.clone();
    open["rolled_back"] = serde_json::json!({ "kept": 1, "undone": 1, "torn_records": 1 });
    open["findings"] = serde_json::json!(["made up"]);
    check("phelsuma.check/1", &[closed, open]);
}

/// Nobody else has anything to do with a drive that this test serves itself.
struct Alone;

impl Host for Alone {
    fn log(&self, _: &str) {}
    fn drop_connections(&self) {}
    fn exit(&self, _: u8) {}
}

fn served() {
    let of = |ftl: &str| {
        let mut options = Options::default();
        for word in
            ["memory=4194304", "ratio=0.5", "page=512", "pages-per-block=8", "write-cache=65536", &format!("ftl={ftl}")]
        {
            let (key, value) = word.split_once('=').unwrap();
            options.set(key, value).unwrap();
        }
        let Some(Backing::Memory(memory)) = &options.backing else { panic!("a drive in memory") };
        let served = Served::open(memory.drive().unwrap(), &options.serving, Box::new(Alone)).unwrap();
        let connection = served.connect();
        for _ in 0..3 {
            (0..served.size_bytes())
                .step_by(512)
                .for_each(|at| served.write(&connection, at, &[1; 512], false).unwrap());
        }
        phelsuma_page::state_json(&served)
    };
    check("phelsuma.served/1", &[of("page"), of("geckoftl")]);
}

/// A paper of this test's own.
const CLAIMS: &str = r#"
title = "T"
runs.page = "run --ftl page --workload uniform --capacity 64MiB --warmup 0 --passes 0.1"
runs.none = "run --ftl none --workload uniform --capacity 64MiB"
claims = [
    { id = "a", at = "1", says = "s", measure = "page.seed", operator = "about", value = 2, tolerance = 0.1, why_not = "w" },
    { id = "b", at = "1", says = "s", measure = "page.seed", operator = "between", value = 1, most = 2 },
]
figures = [{ id = "f", at = "1", runs = ["page", "none"], columns = [["seed", "run.seed"]] }]
"#;

fn claims() {
    let papers = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("keys-papers");
    let _ = std::fs::remove_dir_all(&papers);
    std::fs::create_dir_all(papers.join("tiny")).unwrap();
    std::fs::write(papers.join("tiny/claims.toml"), CLAIMS).unwrap();
    let line = |what: &str| format!("claims {what} tiny --papers {} --json", papers.display());
    check("phelsuma.claims/1", &[json(&line("run"))]);
    check("phelsuma.claims-list/1", &[json(&line("list"))]);
    crate::common::make_older(&papers, "tiny", "page");
    std::fs::write(papers.join("tiny/claims.toml"), CLAIMS.replace("value = 2", "value = 1")).unwrap();
    let checked = crate::common::phelsuma(&crate::common::words(&line("check"))).stdout;
    check("phelsuma.claims-check/1", &[serde_json::from_slice(&checked).unwrap()]);
}

/// The names in the first column of the table under a heading.
fn table_under(heading: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(DOCUMENT).unwrap();
    let section = text.split("\n### ").find(|s| s.starts_with(heading)).expect(heading);
    let section = section.split("\n## ").next().unwrap();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once(" |"));
    cells.flat_map(|(cell, _)| cell.split(", ").map(|name| name.replace('`', "")).collect::<Vec<_>>()).collect()
}

#[test]
fn every_counter_and_structure_is_in_the_document_and_no_other() {
    let changed = [
        "dftl --set validity=flash-bitmap",
        "page --set wear=levelling",
        "page --set slc=cache --write-cache 64KiB",
        "page --set placement=handles",
        "page --set victim=sampled",
        "last++ --set last.wear=swap",
        "dual-greedy --set placement.on-random=greedy",
        "geckoftl --set power.block-log=on --ratio 0.6",
        "geckoftl --set mapping.log=20 --ratio 0.6",
        "geckoftl --set placement=dual-greedy --set placement.unknown=fetch",
    ];
    let presets = phelsuma_ftl::PRESETS.iter().map(|preset| preset.name);
    let runs = presets.chain(changed);
    let (mut counters, mut structures) = (BTreeSet::new(), BTreeSet::new());
    for ftl in runs {
        let ratio = if ftl == "phelsuma" { "--ratio 0.5" } else { "" };
        let run = json(&format!("run --ftl {ftl} --workload uniform --capacity 64MiB {ratio} --json"));
        let names = |of: &Value| of.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        counters.extend(names(&run["counters"]));
        structures.extend(names(&run["ram_bytes"]["papers"]).into_iter().filter(|name| name != "total"));
        let all = names(&run["ram_bytes"]["all"]);
        assert!(all.iter().all(|name| {
            name.starts_with("index.") || name.starts_with("buffer.") || name == "total" || structures.contains(name)
        }));
    }
    assert_eq!(counters, table_under("Counters"));
    let documented = table_under("Structures in RAM");
    let covers = |row: &str, name: &str| match row.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == row,
    };
    for name in &structures {
        assert!(documented.iter().any(|row| covers(row, name)), "{name} is not in the document");
    }
    for row in &documented {
        assert!(structures.iter().any(|name| covers(row, name)), "{row} is no structure");
    }
}
