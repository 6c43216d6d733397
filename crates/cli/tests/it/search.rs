//! `phelsuma search`: the grid, the order, and that each combination gives what `run` gives.

use crate::common::{json, prints, refused_with, tiny_trace, words};
use serde_json::Value;

const SMALL: &str = "--workload hotcold:80/20 --capacity 64MiB --pages-per-block 32 --warmup 0.5";

fn figures(search: &Value, of: impl Fn(&Value) -> f64) -> Vec<f64> {
    search["results"].as_array().unwrap().iter().map(|found| of(&found["run"])).collect()
}

fn without_machine(run: &Value) -> Value {
    let mut run = run.clone();
    run.as_object_mut().unwrap().remove("machine");
    run
}

#[test]
fn every_combination_gives_what_a_run_gives_and_the_least_comes_first() {
    let search = json(&format!(
        "search --ftl dac {SMALL} --set dac.regions=2..4 --set dac.thresholds=25,100/50 --set dac.page-times=ram --json"
    ));
    assert_eq!((&search["schema"], &search["ftl"]), (&"phelsuma.search/1".into(), &"dac".into()));
    assert_eq!((&search["by"], &search["combinations"]), (&"write-amplification".into(), &6.into()));
    let wa = figures(&search, |run| run["write_amplification"]["total"].as_f64().unwrap());
    assert!(wa.len() == 6 && wa.is_sorted() && wa[0] < wa[5], "{wa:?}");
    let mut seen: Vec<String> = Vec::new();
    for found in search["results"].as_array().unwrap() {
        let value = |key: &str| found["settings"][key].as_str().unwrap().to_string();
        let (regions, thresholds) = (value("dac.regions"), value("dac.thresholds"));
        assert_eq!(value("dac.page-times"), "ram");
        let alone = json(&format!(
            "run --ftl dac {SMALL} --set dac.regions={regions} --set dac.thresholds={thresholds} --json"
        ));
        assert_eq!(without_machine(&found["run"]), without_machine(&alone));
        seen.push(format!("{regions} {thresholds}"));
    }
    seen.sort_unstable();
    assert_eq!(seen, ["2 100/50", "2 25", "3 100/50", "3 25", "4 100/50", "4 25"]);
}

#[test]
fn the_least_of_what_is_asked_for_comes_first_whatever_the_number_of_jobs() {
    // Reading spare areas leaves erases as they are, nearly; what is sorted by is what the option says.
    let line = format!("search --ftl page {SMALL} --set victim=fifo,greedy,d-choices --by erases --json");
    let search = json(&line);
    assert_eq!(search["by"], "erases");
    let erases = figures(&search, |run| run["erases"]["total"].as_f64().unwrap());
    assert!(erases.is_sorted() && erases[0] < erases[2], "{erases:?}");
    assert_eq!(search["results"][2]["settings"]["victim"], "fifo");
    let of = |search: &Value| -> Vec<Value> {
        search["results"].as_array().unwrap().iter().map(|found| without_machine(&found["run"])).collect()
    };
    for jobs in [1, 3] {
        assert_eq!(of(&json(&format!("{line} --jobs {jobs}"))), of(&search));
    }
}

#[test]
fn what_a_combination_lacks_the_part_for_is_left_out_and_nothing_is_run_twice() {
    let search = json(&format!("search --ftl page {SMALL} --set victim=greedy,d-choices --set victim.d=2,10 --json"));
    let mut settings: Vec<String> =
        search["results"].as_array().unwrap().iter().map(|found| found["settings"].to_string()).collect();
    settings.sort_unstable();
    let right = [
        r#"{"victim":"d-choices","victim.d":"10"}"#,
        r#"{"victim":"d-choices","victim.d":"2"}"#,
        r#"{"victim":"greedy"}"#,
    ];
    assert_eq!(settings, right);
    let text = prints(&format!("search --ftl page {SMALL} --set victim=greedy,d-choices --set victim.d=2,10"));
    assert!(text.contains(" greedy            -  "), "{text}");
}

#[test]
fn a_table_shows_the_best_and_says_what_is_best_and_worst() {
    let line = format!("search --ftl page {SMALL} --set victim=d-choices --set victim.d=2..10:4");
    let text = prints(&line);
    assert!(
        text.starts_with("page with 3 combinations of settings: hotcold:80/20 on 64 MiB of flash at ratio 0.7000: "),
        "{text}"
    );
    assert!(text.contains(" victim     victim.d      WA  erases"), "{text}");
    // The last line is broken where it is long.
    let last =
        text.split_once("least ").map(|(_, last)| format!("least {}", last.trim_end().replace('\n', " "))).unwrap();
    assert!(last.starts_with("least write amplification: 2."), "{text}");
    assert!(last.contains("with --set victim=d-choices --set victim.d=10; most: "), "{text}");
    assert!(last.ends_with("--set victim=d-choices --set victim.d=2"), "{text}");
    let row = |text: &str, d: &str| text.lines().any(|l| l.split_whitespace().take(2).eq(["d-choices", d]));
    assert!(["2", "6", "10"].iter().all(|d| row(&text, d)));
    let text = prints(&format!("{line} --top 1"));
    assert!(row(&text, "10") && !row(&text, "6") && text.ends_with("; --top 3 shows all\n"), "{text}");
}

#[test]
fn a_trace_can_be_searched_on() {
    let path = tiny_trace("searched.csv");
    let search = json(&format!("search --ftl page --trace {} --set victim=greedy,fifo --json", path.display()));
    assert_eq!(search["results"][0]["run"]["host"]["write_pages"], 4);
    // Of equals the one that comes first in the grid.
    assert_eq!(search["results"][0]["settings"]["victim"], "greedy");
}

#[test]
fn what_is_asked_wrongly_is_one_line() {
    let on = "--workload uniform --capacity 64MiB";
    for (line, says) in [
        ("search".to_string(), "--ftl"),
        (format!("search {on} --set victim=greedy,fifo"), "--ftl"),
        ("search --ftl page --set victim=greedy,fifo".to_string(), "--workload"),
        (format!("search --ftl page {on}"), "there is nothing to choose from; use --set KEY=VALUE,VALUE"),
        (format!("search --ftl page {on} --set victim=fifo"), "there is nothing to choose from"),
        (format!("search --ftl page {on} --set victim=fifo,"), "--set victim: a value is missing"),
        (format!("search --ftl page {on} --set victim=fifo,fifo"), "the value 'fifo' is given twice"),
        (format!("search --ftl page {on} --set victim"), "KEY=VALUE"),
        (format!("search --ftl page {on} --set nonsense=1,2"), "known are mapping"),
        (format!("search --ftl page {on} --set victim=greedy,nonsense"), "'victim' cannot be 'nonsense'"),
        (format!("search --ftl page {on} --set dac.regions=2,3"), "only the placement part dac has it"),
        (format!("search --ftl dac {on} --set dac.regions=2..9"), "from 2 to 8"),
        (format!("search --ftl dac {on} --set dac.regions=5..2"), "'5..2' is an empty range; use 2..5"),
        (format!("search --ftl dac {on} --set dac.regions=2..x"), "FROM..TO or FROM..TO:STEP in whole numbers"),
        (
            format!("search --ftl dac {on} --set dac.regions=2..8 --set dac.thresholds=1..1000"),
            "a grid of 7,000 combinations; at most 4,096 are tried: use fewer values, or several searches",
        ),
        (format!("search --ftl dac {on} --set dac.regions=2,3 --set dac.regions=4"), "dac.regions"),
        (format!("search --ftl nonsense {on} --set victim=greedy,fifo"), "known are page"),
        (format!("search --ftl page,fifo {on} --set victim=greedy,fifo"), "unknown FTL 'page,fifo'"),
        (
            format!("search --ftl page {on} --set victim=greedy,fifo --by wear"),
            "possible values: write-amplification, erases",
        ),
        (format!("search --ftl page {on} --set victim=greedy,fifo --top 0"), "from 1"),
        (format!("search --ftl page {on} --set victim=greedy,fifo --jobs 0"), "from 1 to 1024"),
        (format!("search --ftl page {on} --set victim=greedy,fifo --cache 4KiB"), "have no cache of mapping entries"),
        (format!("search --ftl page {on} --set placement=one-stream,host-gc --ratio 0.999"), "63.93 MiB"),
        ("search --ftl page --trace /nonexistent/file --set victim=greedy,fifo".to_string(), "/nonexistent/file"),
        // One of the combinations has too little room, and it is named.
        (format!("search --ftl page {on} --set placement=one-stream,dac --ratio 0.83"), "--set placement=dac: "),
    ] {
        let error = refused_with(2, &words(&line));
        assert!(error.contains(says), "{line}: {error}");
    }
}
