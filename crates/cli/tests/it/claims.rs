//! `phelsuma claims` on a paper of this test's own: verdicts, runs that are stored and used again, findings of a check.
//!
//! Not tested: what real papers state, but that stored verdicts of those here stand.

use crate::common::{phelsuma, prints, refused_with, words};
use phelsuma_claims::{Store, StoredRun};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const TINY: &str = r#"
title = "A paper of this test's own"

[words]
drive = { quick = "--workload uniform --capacity 64MiB", large = "--workload uniform --capacity 80MiB", full = "--workload uniform --capacity 96MiB" }

[runs]
page = "run --ftl page {drive} --warmup 0.2 --passes 0.2"
unknown = "run --ftl nonsense {drive}"
formula = "limits --ratio 0.7 --gecko 2TiB --json"
only_full = { full = "run --ftl fifo {drive}" }

[runs.sized]
command = "run --ftl page --workload uniform --capacity {n}MiB --warmup 0 --passes 0.2 --interval 1000"
each.n = ["64", "80"]

[values]
programs = "page.flash.host.programs + page.flash.gc.programs"

[[claims]]
id = "all-programs"
at = "section 1"
says = "Host and collection write everything"
measure = "programs / (page.write_amplification.total * page.host.write_pages)"
operator = "about"
value = 1
tolerance = 0.001

[[claims]]
id = "no-amplification"
at = "section 1"
says = "Nothing is written twice"
measure = "page.write_amplification.total"
operator = "<"
value = 1
why_not.quick = "Collection moves pages."

[[claims]]
id = "of-the-unknown"
at = "section 2"
says = "An FTL that is not here does well"
measure = "unknown.write_amplification.total"
operator = "<="
value = 2

[[claims]]
id = "no-such-number"
at = "section 2"
says = "The drive has wings"
measure = "page.wings"
operator = "="
value = 2

[[claims]]
id = "bitmap"
at = "section 2"
says = "64 MB"
measure = "formula.gecko.ram.bitmap_bytes / 2^20"
operator = "="
value = 64
unit = "MiB"

[[claims]]
id = "at-full-scale"
at = "section 3"
says = "Only large drives tell"
measure = "only_full.write_amplification.total"
operator = "between"
value = 1
most = 9

[[figures]]
id = "points"
at = "figure 1"
runs = ["sized_64", "sized_80", "unknown"]
points = true
columns = [["pages", "point.write_pages"], ["blocks", "run.geometry.blocks"]]
"#;

/// A folder of papers with the tiny one in it.
fn papers(name: &str, claims: &str) -> PathBuf {
    let papers = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&papers);
    fs::create_dir_all(papers.join("tiny")).unwrap();
    fs::write(papers.join("tiny/claims.toml"), claims).unwrap();
    papers
}

fn claims(what: &str, papers: &Path, more: &str) -> String {
    format!("claims {what} tiny --papers {} {more}", papers.display())
}

fn verdicts(found: &Value) -> Vec<(String, String)> {
    let text = |of: &Value| of.as_str().unwrap().to_string();
    let all = found["claims"].as_array().unwrap();
    all.iter().map(|claim| (text(&claim["id"]), text(&claim["verdict"]))).collect()
}

fn store(papers: &Path) -> Store {
    Store::open(papers, "tiny").unwrap()
}

fn runs(papers: &Path) -> usize {
    store(papers).runs().unwrap().iter().count()
}

#[test]
fn verdicts_are_computed_stored_and_checked() {
    let papers = papers("claims-verdicts", TINY);
    let found: Value = serde_json::from_str(&prints(&claims("run", &papers, "--json"))).unwrap();
    let of: Vec<(String, String)> = verdicts(&found);
    let right = [
        ("all-programs", "holds"),
        ("no-amplification", "does not hold here"),
        ("of-the-unknown", "cannot be run here"),
        ("no-such-number", "cannot be run here"),
        ("bitmap", "holds"),
        ("at-full-scale", "cannot be run here"),
    ];
    assert_eq!(of, right.map(|(id, verdict)| (id.to_string(), verdict.to_string())));
    let why = |n: usize| found["claims"][n]["why"].as_str().unwrap();
    assert_eq!(why(1), "Collection moves pages.");
    assert_eq!(why(2), "unknown FTL 'nonsense'");
    assert!(
        why(3).starts_with("page: the result has no number 'wings'; it has backlog_seconds, channels, composition"),
        "{}",
        why(3)
    );
    assert_eq!(why(5), "there is nothing to run at the quick scale");
    // What was run, what was computed, and what is no number at all.
    let kinds: Vec<Option<&str>> = (0..6).map(|n| found["claims"][n]["kind"].as_str()).collect();
    assert_eq!(kinds, [Some("measured"), Some("measured"), None, None, Some("formula"), None]);
    // What was printed is what is stored.
    let stored = fs::read_to_string(papers.join("tiny/results-quick.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&stored).unwrap(), found);
    assert_eq!(runs(&papers), 3);

    let figure = fs::read_to_string(papers.join("tiny/figures-quick/points.csv")).unwrap();
    let lines: Vec<&str> = figure.lines().collect();
    assert_eq!(lines[..3], ["run,pages,blocks", "sized_64,1000,128", "sized_64,2000,128"]);
    assert!(lines.last().unwrap().starts_with("sized_80,"));

    // Nothing is run twice: what is stored is taken, whatever it says.
    let key = found["claims"][0]["runs"]["page"]["key"].as_str().unwrap();
    let run = store(&papers).runs().unwrap().get(key).unwrap().clone();
    assert!(run.result.get("machine").is_none());
    let mut lie = run.clone();
    lie.result["write_amplification"]["total"] = 0.5.into();
    lie.result["steady"] = false.into();
    store(&papers).write_run(&lie).unwrap();
    let told = prints(&claims("run", &papers, "--only no-amplification"));
    assert!(told.contains("not steady, 1 of 1 runs: page"), "{told}");
    assert!(told.contains("1 claims: 1 hold, 0 do not hold here, 0 cannot be run here"), "{told}");
    // The others are as they were, and what one of them stands on is not what it was.
    let bad = phelsuma(&words(&claims("check", &papers, "")));
    assert_eq!(bad.status.code(), Some(1));
    let said = String::from_utf8(bad.stdout).unwrap();
    assert!(said.contains("all-programs: stored as 'holds', but it is 'does not hold here'"), "{said}");
    store(&papers).write_run(&run).unwrap();
    prints(&claims("run", &papers, ""));
    let checked = prints(&claims("check", &papers, ""));
    assert_eq!(checked.lines().count(), 1);
    assert!(checked.contains("cannot be run here; 1 of them are formulas, 0 constants"), "{checked}");
}

#[test]
fn a_check_says_which_claims_stand_on_runs_of_other_sources() {
    let papers = papers("claims-sources", TINY);
    prints(&claims("run", &papers, ""));
    crate::common::make_older(&papers, "tiny", "page");
    let told = prints(&claims("check", &papers, ""));
    let of_it = ["all-programs", "no-amplification", "no-such-number"];
    let says = format!("; 1 of 1 runs are of other sources than this program's, for {}\n", of_it.join(", "));
    assert!(told.ends_with(&says), "{told}");
    let told: Value = serde_json::from_str(&prints(&claims("check", &papers, "--json"))).unwrap();
    assert_eq!(
        (told["runs_of_other_sources"].as_u64(), &told["claims_of_other_sources"]),
        (Some(1), &of_it[..].into())
    );
}

#[test]
fn a_check_notices_what_has_changed() {
    let papers = papers("claims-check", TINY);
    let document = papers.join("tiny/claims.toml");
    let error = refused_with(2, &words(&claims("check", &papers, "")));
    assert!(error.contains("results-quick.json: there is no such file yet; `phelsuma claims run tiny"), "{error}");
    prints(&claims("run", &papers, "--only no-amplification,bitmap"));
    assert_eq!(runs(&papers), 1);
    let problems = || -> Vec<String> {
        let out = phelsuma(&words(&claims("check", &papers, "--json")));
        assert_eq!(out.status.code(), Some(1));
        let said: Value = serde_json::from_slice(&out.stdout).unwrap();
        let problems = said["problems"].as_array().unwrap().iter();
        problems.map(|p| format!("{}: {}", p["id"].as_str().unwrap(), p["what"].as_str().unwrap())).collect()
    };
    assert_eq!(problems().len(), 4);
    assert!(problems().contains(&"all-programs: it has no verdict yet".to_string()));
    prints(&claims("run", &papers, ""));
    prints(&claims("check", &papers, ""));
    for (from, to, says) in [
        // What the paper says, and how it is measured.
        ("value = 64\n", "value = 65\n", "bitmap: stored as 'holds', but it is 'does not hold here'"),
        ("/ 2^20", "/ 2^20 * 1", ""),
        ("measure = \"page.write_amplification.total\"", "measure = \"2 * page.write_amplification.total\"", "no-amp"),
        (
            "id = \"bitmap\"",
            "kind = \"constant\"\nid = \"bitmap\"",
            "bitmap: stored as 'formula', but it is 'constant'",
        ),
        // Which run it stands on.
        ("--warmup 0.2", "--warmup 0.3", "all-programs: its run page has another command now; run the claim again"),
        ("id = \"bitmap\"", "id = \"bits\"", "bits: it has no verdict yet"),
        (
            "Collection moves pages.",
            "{{page.write_amplification.total; 1}} a page.",
            "no-amplification: its reason has changed, or the numbers in it",
        ),
        // Excuses that nobody needs, or can know.
        (
            "value = 64\n",
            "value = 64\nwhy_not.quick = \"\"\n",
            "bitmap: why_not.quick says why it does not hold, but it holds",
        ),
        (
            "id = \"bitmap\"",
            "why_not.quick = \"\"\nid = \"bits\"",
            "bits: why_not.quick says why it does not hold, but it has no verdict",
        ),
    ] {
        assert!(TINY.contains(from));
        fs::write(&document, TINY.replace(from, to)).unwrap();
        match says {
            "" => _ = prints(&claims("check", &papers, "")),
            says => assert!(problems().iter().any(|problem| problem.starts_with(says)), "{to}: {:?}", problems()),
        }
    }
    // A run that is gone.
    fs::write(&document, TINY).unwrap();
    fs::remove_file(papers.join("tiny/runs.jsonl.zst")).unwrap();
    assert!(problems().contains(&"all-programs: its run page is not stored".to_string()));
    // What no result names can be thrown away.
    prints(&claims("run", &papers, ""));
    fs::write(&document, TINY.replace("--warmup 0.2", "--warmup 0.3")).unwrap();
    prints(&claims("run", &papers, ""));
    assert_eq!(runs(&papers), 4);
    prints(&claims("run", &papers, "--prune"));
    prints(&claims("check", &papers, ""));
    assert_eq!(runs(&papers), 3);
}

#[test]
fn a_run_that_was_done_before_an_interrupt_is_not_lost() {
    let claim = |id: &str, run: &str| {
        format!(
            "[[claims]]\nid = \"{id}\"\nat = \"1\"\nsays = \"\"\nmeasure = \"{run}.write_amplification.total\"\noperator = \"<\"\nvalue = 9\n"
        )
    };
    let long = "run --ftl page --workload uniform --capacity 64MiB --passes 1000000";
    let short = "run --ftl page --workload uniform --capacity 64MiB --warmup 0 --passes 0.1";
    let text = format!(
        "title = \"A\"\n[runs]\na = \"{short}\"\nb = \"{long}\"\n{}{}",
        claim("short", "a"),
        claim("long", "b")
    );
    let papers = papers("claims-interrupt", &text);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_phelsuma"));
    let mut running = command.args(words(&claims("run", &papers, "--jobs 2"))).spawn().unwrap();
    while !papers.join("tiny/runs.jsonl.zst").exists() {
        assert!(running.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(10));
    }
    running.kill().unwrap();
    running.wait().unwrap();
    let stored = store(&papers).runs().unwrap();
    assert_eq!(stored.iter().map(|run| run.command.as_str()).collect::<Vec<_>>(), [short]);
}

#[test]
fn runs_that_several_store_at_a_time_are_all_there_and_others_do_not_prune_them() {
    let papers = papers("claims-together", TINY);
    let before = store(&papers).runs().unwrap();
    let run = |n: u32| StoredRun::new(&format!("run {n}"), json!({"n": n}));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = store(&papers);
            scope.spawn(move || (0..8).for_each(|n| _ = store.write_run(&run(8 * thread + n)).unwrap()));
        }
    });
    let stored = store(&papers).runs().unwrap();
    assert!((0..32).all(|n| stored.get(&run(n).key()).is_some_and(|stored| stored.result["n"] == n)));
    // No result names them, but whoever stored them may still be at work.
    assert_eq!(store(&papers).prune(&before).unwrap(), 0);
    assert_eq!(store(&papers).prune(&stored).unwrap(), 32);
    assert_eq!(runs(&papers), 0);
}

#[test]
fn what_is_in_a_trace_is_stored_and_reasons_take_their_numbers_from_it() {
    let trace = crate::common::tiny_trace("claims-trace.csv");
    let asked = format!("trace info {}", trace.display());
    let claim = r#"
[[claims]]
id = "written-once"
at = "section 1"
says = "Nothing is written twice"
measure = "asked.overwrite_ratio"
operator = "="
value = 1
why_not = "{{asked.pages_written; 0}} pages are written, {{1 - asked.unique_pages_written / asked.pages_written; %}} again."
"#;
    let papers = papers("claims-trace", &format!("title = \"A\"\n[runs]\nasked = \"{asked}\"\n{claim}"));
    let found: Value = serde_json::from_str(&prints(&claims("run", &papers, "--json"))).unwrap();
    let claim = &found["claims"][0];
    assert_eq!((claim["measured"].as_f64(), claim["kind"].as_str()), (Some(4.0 / 3.0), Some("measured")));
    assert_eq!(claim["why"], "4 pages are written, 25 % again.");
    // The trace need not be there for a check.
    fs::remove_file(trace).unwrap();
    prints(&claims("check", &papers, ""));
}

#[test]
fn a_list_says_what_the_paper_says_and_how_it_is_tried() {
    let papers = papers("claims-list", TINY);
    let text = prints(&claims("list", &papers, ""));
    assert!(text.starts_with("A paper of this test's own\n") && text.contains("1 to 9"), "{text}");
    let list: Value = serde_json::from_str(&prints(&claims("list", &papers, "--json"))).unwrap();
    let last = &list["claims"][5]["commands"];
    assert_eq!(last["quick"].as_array().unwrap().len(), 0);
    assert_eq!(last["full"][0], "run --ftl fifo --workload uniform --capacity 96MiB");
    // What has no command for the large scale has the full one's there, with the words of the large one.
    assert_eq!(last["large"][0], "run --ftl fifo --workload uniform --capacity 80MiB");
    // Those that are asked for, in full; every command in one line.
    let page = "    phelsuma run --ftl page --workload uniform --capacity 64MiB --warmup 0.2 --passes 0.2\n";
    let one = prints(&claims("list", &papers, "--only all-programs"));
    for part in [
        "all-programs: 1 ± 0.1 %\nHost and collection write everything (section 1)\nat the quick scale\n",
        "  measured as programs / (page.write_amplification.total * page.host.write_pages)\n",
        "  programs = page.flash.host.programs + page.flash.gc.programs\n  page:\n",
        page,
        "    phelsuma run --ftl page --workload uniform --capacity 96MiB --warmup 0.2 --passes 0.2\n",
    ] {
        assert!(one.contains(part), "{part}: {one}");
    }
    assert!(!one.contains("nothing is written twice") && !one.contains("bitmap"), "{one}");
    let same = prints(&claims("list", &papers, "--only bitmap"));
    assert!(same.contains("at every scale\n") && same.matches("phelsuma limits").count() == 1, "{same}");
    let all = prints(&claims("list", &papers, "--commands"));
    assert_eq!(all.matches(page).count(), 3, "{all}");
    assert!(all.contains("only_full: nothing to run\n"), "{all}");
    let list: Value = serde_json::from_str(&prints(&claims("list", &papers, "--json --only bitmap"))).unwrap();
    assert_eq!((list["claims"].as_array().unwrap().len(), list["figures"].as_array().unwrap().len()), (1, 0));
    let figure = prints(&claims("list", &papers, "--only points"));
    let sized = "  sized_80:\n    phelsuma run --ftl page --workload uniform --capacity 80MiB --warmup 0 --passes 0.2 --interval 1000\n";
    for part in ["\npoints\nfigure 1\n  pages = point.write_pages\n", "at the full scale\n", sized] {
        assert!(figure.contains(part), "{part}: {figure}");
    }
    assert!(!figure.contains("bitmap"), "{figure}");
    let list: Value = serde_json::from_str(&prints(&claims("list", &papers, "--json"))).unwrap();
    assert_eq!(list["figures"][0]["commands"]["quick"].as_array().unwrap().len(), 3);
}

#[test]
fn a_figure_is_run_without_the_claims() {
    let papers = papers("claims-figure", TINY);
    let told = prints(&claims("run", &papers, "--only points"));
    let csv = papers.join("tiny/figures-quick/points.csv");
    let (of_two, of_none) = told.split_once('\n').unwrap();
    assert_eq!(of_two, format!("points: 2 runs, in {} (figure 1)", csv.display()));
    assert!(of_none.starts_with("no line for unknown: unknown FTL 'nonsense'"), "{of_none}");
    assert_eq!(runs(&papers), 2);
    assert!(fs::read_to_string(&csv).unwrap().lines().count() > 3);
    let found: Value = serde_json::from_str(&prints(&claims("run", &papers, "--only points,bitmap --json"))).unwrap();
    assert_eq!(verdicts(&found), [("bitmap".to_string(), "holds".to_string())]);
    let of_it = found["figures"]["points"].as_object().unwrap();
    assert_eq!(of_it.keys().collect::<Vec<_>>(), ["sized_64", "sized_80", "unknown"]);
    assert!(of_it["unknown"]["why"].as_str().unwrap().contains("nonsense") && of_it["sized_64"].get("why").is_none());
}

#[test]
fn a_figure_that_is_not_asked_for_keeps_what_its_columns_compare_with() {
    let columns = r#"columns = [["pages", "point.write_pages"], ["as_page", "run.host.write_pages / page.host.write_pages"], ["bitmap", "formula.gecko.ram.bitmap_bytes"]]"#;
    let compared =
        TINY.replace(r#"columns = [["pages", "point.write_pages"], ["blocks", "run.geometry.blocks"]]"#, columns);
    let papers = papers("claims-compared", &compared);
    prints(&claims("run", &papers, "--only points"));
    // The run that the columns name was made as well.
    assert_eq!(runs(&papers), 3);
    let csv = || fs::read_to_string(papers.join("tiny/figures-quick/points.csv")).unwrap();
    let whole = csv();
    assert!(
        whole.lines().all(|line| line.split(',').count() == 4 && !line.contains(",,") && !line.ends_with(',')),
        "{whole}"
    );
    prints(&claims("run", &papers, "--only bitmap"));
    assert_eq!(csv(), whole);
}

#[test]
fn without_the_public_traces_a_claim_says_where_they_are_to_be_had() {
    let claim = r#"
title = "A"
[runs]
replayed = "run --ftl page --capacity 64MiB --trace $PHELSUMA_TRACES/some.trace"
[[claims]]
id = "small"
at = "section 1"
says = "Little is written twice"
measure = "replayed.write_amplification.total"
operator = "<"
value = 2
"#;
    let papers = papers("claims-no-traces", claim);
    let of = |folder: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_phelsuma"));
        let out = command
            .args(words(&claims("run", &papers, "--json")))
            .env("PHELSUMA_TRACES", folder)
            .env("XDG_DATA_HOME", "/nonexistent")
            .output()
            .unwrap();
        let found: Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!(found["claims"][0]["verdict"], "cannot be run here");
        found["claims"][0]["why"].as_str().unwrap().to_string()
    };
    let why = of("/nonexistent");
    assert!(why.contains("there is no folder /nonexistent; fetch them with `phelsuma trace get --all`"), "{why}");
    let why = of(papers.to_str().unwrap());
    assert!(why.contains("$PHELSUMA_TRACES/some.trace: cannot be opened"), "{why}");
    // Without the variable, the folder that `trace get` fetches into.
    let why = of("");
    assert!(why.contains("there is no folder /nonexistent/phelsuma/traces; fetch them"), "{why}");
}

#[test]
fn what_is_wrong_with_the_files_is_one_line() {
    let papers = papers("claims-wrong", TINY);
    let document = papers.join("tiny/claims.toml");
    for (from, to, says) in [
        ("title = ", "title = = ", "line 2"),
        ("title = ", "titel = ", "titel"),
        ("operator = \"<\"", "operator = \"less\"", "less"),
        ("id = \"bitmap\"", "id = \"all-programs\"", "claim 'all-programs' is there twice"),
        ("id = \"bitmap\"", "id = \"bitmap\"\nkind = \"guessed\"", "guessed"),
        ("tolerance = 0.001\n", "", "'about' needs a tolerance"),
        ("most = 9\n", "", "'between' needs a most"),
        ("unit = \"MiB\"\n", "tolerance = 0.1\n", "tolerance goes with 'about'"),
        ("2^20", "2^", "ends too early"),
        ("page.wings", "bird.wings", "claim 'no-such-number': 'bird.wings' is no value"),
        ("\"page.flash.host.programs", "\"programs + page.flash.host.programs", "stands for itself"),
        ("{drive} --warmup", "{car} --warmup", "no word is called 'car'"),
        ("{drive} --warmup", "{drive --warmup", "is not closed"),
        ("\"--workload uniform --capacity 64MiB\"", "\"{drive}\"", "words that stand for each other"),
        ("runs = [\"sized_64\"", "runs = [\"sized_65\"", "no run is called 'sized_65'"),
        ("id = \"points\"", "id = \"../points\"", "figure '../points'"),
        ("id = \"points\"", "id = \"bitmap\"", "figure 'bitmap' is there twice, or is a claim's name"),
        ("programs = \"page", "page = \"page", "is a run's name"),
    ] {
        assert!(TINY.contains(from), "{from}");
        fs::write(&document, TINY.replacen(from, to, 1)).unwrap();
        for what in ["list", "run", "check"] {
            let error = refused_with(2, &words(&claims(what, &papers, "")));
            assert!(error.contains("claims.toml: ") && error.contains(says), "{to}: {error}");
        }
    }
    fs::write(&document, TINY).unwrap();
    let stored = papers.join("tiny/results-quick.json");
    for (content, says) in [("{", "EOF"), ("{}", "missing field"), ("\u{0}", "expected value")] {
        fs::write(&stored, content).unwrap();
        for what in ["run", "check"] {
            let error = refused_with(2, &words(&claims(what, &papers, "")));
            assert!(error.contains("results-quick.json: ") && error.contains(says), "{error}");
        }
    }
    fs::remove_file(&stored).unwrap();
    let stored = papers.join("tiny/runs.jsonl.zst");
    fs::write(&stored, "no runs").unwrap();
    let error = refused_with(2, &words(&claims("run", &papers, "")));
    assert!(error.contains("runs.jsonl.zst: "), "{error}");
    fs::remove_file(&stored).unwrap();
    let at = papers.display();
    for (line, says) in [
        (
            claims("run", &papers, "--only bitmap,nonsense"),
            "unknown claim or figure 'nonsense'; known are all-programs, ",
        ),
        (claims("list", &papers, "--only bitmap,nonsense"), "at-full-scale, points"),
        (claims("run", &papers, "--scale huge"), "quick"),
        (claims("run", &papers, "--jobs 0"), "a whole number from 1 to 1024 would be right"),
        (format!("claims list huge --papers {at}"), "unknown paper 'huge'; known are tiny"),
        (format!("claims list ../tiny --papers {at}"), "unknown paper '../tiny'; known are tiny"),
        (
            "claims list tiny --papers /nonexistent".to_string(),
            "there is no folder /nonexistent; --papers says where papers are",
        ),
        ("claims".to_string(), "subcommand"),
        ("claims run".to_string(), "PAPER"),
    ] {
        let error = refused_with(2, &words(&line));
        assert!(error.contains(says), "{line}: {error}");
    }
}

#[test]
fn stored_verdicts_of_the_papers_here_stand() {
    let papers = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers");
    for folder in fs::read_dir(papers).unwrap().map(|entry| entry.unwrap().path()) {
        let paper = folder.file_name().unwrap().to_str().unwrap();
        for scale in ["quick", "full"] {
            prints(&format!("claims check {paper} --papers {papers} --scale {scale}"));
        }
    }
}

/// A run is found by its command. A trace that was recorded anew keeps its name, and runs of the one before are not its.
#[test]
fn stored_runs_are_of_the_traces_that_are_here() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut requests = BTreeMap::new();
    for folder in fs::read_dir(root.join("papers")).unwrap().map(|entry| entry.unwrap().path()) {
        let runs =
            Store::open(&root.join("papers"), folder.file_name().unwrap().to_str().unwrap()).unwrap().runs().unwrap();
        for run in runs.iter() {
            let path = run.result["input"]["files"][0]["file"].as_str().unwrap_or_default();
            assert!(!path.starts_with('/'), "{path} is a path of one machine");
            let Some(file) = run.command.split(' ').find(|word| word.starts_with("traces/")) else { continue };
            // A run's input, or what `trace info` found.
            let (input, requests_of) = match &run.result["input"]["records"] {
                Value::Null => (&run.result, "requests"),
                _ => (&run.result["input"], "records"),
            };
            let here = requests.entry(file.to_string()).or_insert_with(|| {
                let found = prints(&format!("trace info {} --json", root.join(file).display()));
                let found: Value = serde_json::from_str(&found).unwrap();
                (found["requests"].clone(), found["duration_ns"].clone())
            });
            let ran = (input[requests_of].clone(), input["duration_ns"].clone());
            assert_eq!((&ran.0, &ran.1), (&here.0, &here.1), "{file} is another trace than that of '{}'", run.command);
        }
    }
    assert!(!requests.is_empty(), "no run of a trace is stored");
}
