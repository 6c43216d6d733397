//! What `compare` says of its results: verdicts that are true, caveats that can be followed, options that work.

use crate::common::{file, json, prints, refused_with, words};
use std::fmt::Write as _;

const SMALL: &str = "--capacity 64MiB --pages-per-block 32";

/// A trace of so many writes of a page, each at random among so many pages; `reads` pages are read first, in large pieces.
fn trace(name: &str, reads: u64, writes: u64, pages: u64, apart_us: u64) -> String {
    let mut text = "time_us,device,op,offset_bytes,size_bytes\n".to_string();
    for first in (0..reads).step_by(256) {
        writeln!(text, "0,0,read,{},{}", first * 4096, (reads - first).min(256) * 4096).unwrap();
    }
    let mut random = 1_u64;
    for n in 0..writes {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        writeln!(text, "{},0,write,{},4096", n * apart_us, (random >> 33) % pages * 4096).unwrap();
    }
    file(name, text.as_bytes()).display().to_string()
}

/// The items of the list below the table, each in one line.
fn items(text: &str) -> Vec<String> {
    let list = text.rsplit_once('─').unwrap().1.trim().replace("\n  ", " ");
    list.lines().map(|line| line.trim_start_matches(['-', '*', ' ']).to_string()).collect()
}

const BOTH: &str = " differ in victim and placement";

fn both_differ(text: &str) -> Option<String> {
    items(text).into_iter().find(|item| item.contains(BOTH))
}

fn item(text: &str, begin: &str) -> Option<String> {
    items(text).into_iter().find(|item| item.starts_with(begin))
}

/// The verdict in one line.
fn verdict(text: &str) -> String {
    text.split_once('─').unwrap().0.trim().replace('\n', " ")
}

/// The options that a line names, as they are typed.
fn options(line: &str, which: &[&str]) -> String {
    let words: Vec<&str> = line.split([' ', ';', ':']).filter(|word| !word.is_empty()).collect();
    let mut found = String::new();
    for two in words.windows(2).filter(|two| which.contains(&two[0])) {
        write!(found, " {} {}", two[0], two[1].trim_end_matches([',', '.'])).unwrap();
    }
    assert!(!found.is_empty(), "{line}");
    found
}

#[test]
fn ftls_of_which_two_parts_differ_are_told_how_to_compare_one() {
    let of = |ftls: &str, more: &str| {
        prints(&format!("compare --ftl {ftls} --workload zipf:0.9 {SMALL} --warmup 0 --passes 0.6{more}"))
    };
    let text = of("page,cost-benefit,fifo", "");
    let line = both_differ(&text).expect(&text);
    // fifo has the placement of page, and another victim.
    assert!(line.starts_with("page, cost-benefit differ in") && line.ends_with(" compares victims"), "{line}");
    let again = of("page,cost-benefit,fifo", &options(&line, &["--set"]));
    assert_eq!(both_differ(&again), None, "{again}");
    for one in ["page,fifo", "page,pl-greedy", "pl-greedy,cost-benefit", "page,last++", "page,geckoftl"] {
        assert_eq!(both_differ(&of(one, "")), None, "{one}");
    }
    // Where two parts differ, neither is credited with the difference.
    let two = verdict(&of("fifo,cost-benefit", ""));
    assert!(!two.contains("because collection") || two.contains("victim and placement both differ"), "{two}");
}

#[test]
fn a_trace_that_ran_once_is_told_of_loops_and_one_that_has_settled_is_not() {
    let trace = trace("unsettled.csv", 0, 30_000, 9_000, 0);
    let of = |loops| {
        prints(&format!(
            "compare --ftl page,fifo --trace {trace} --capacity 48MiB --ratio 0.8 --pages-per-block 16{loops}"
        ))
    };
    let text = of("");
    let line = item(&text, "not steady").expect(&text);
    assert!(line.contains("from half to half); try --loops 4"), "{line}");
    assert_eq!(item(&of(" --loops 12"), "not steady"), None, "{}", of(" --loops 12"));
    assert!(!text.contains("as traces need not be"), "{text}");
}

#[test]
fn a_replay_that_writes_little_of_the_drive_is_called_short() {
    let trace = trace("short.csv", 9_000, 1_000, 9_000, 0);
    let text = prints(&format!(
        "compare --ftl page,fifo --trace {trace} --capacity 48MiB --ratio 0.8 --pages-per-block 16 --loops 8"
    ));
    let line = item(&text, "short: ").expect(&text);
    assert!(line.contains("0.10 of the drive") && line.ends_with("; take a longer trace"), "{line}");
    assert!(!text.contains("not steady"), "{text}");
    let said = verdict(&text);
    assert!(!said.contains(" wins: "), "{said}");
    // A workload that is counted for long enough is not.
    let text = prints(&format!("compare --ftl page,fifo --workload uniform {SMALL} --passes 0.1"));
    assert!(item(&text, "short: ").unwrap().ends_with("; take --passes 1"), "{text}");
    assert_eq!(item(&prints(&format!("compare --ftl page,fifo --workload uniform {SMALL}")), "short: "), None);
}

#[test]
fn a_tie_on_a_drive_with_room_names_one_without() {
    let trace = trace("roomy.csv", 0, 10_000, 9_000, 0);
    let text = verdict(&prints(&format!("compare --ftl page,fifo --trace {trace} --pages-per-block 16")));
    assert!(text.starts_with("Tie at write amplification 1.000"), "{text}");
    assert!(text.contains("the trace touches ") && text.contains("MiB of 256 MiB of flash; --capacity"), "{text}");
    let advice = options(&text, &["--capacity", "--ratio", "--loops"]);
    let text = prints(&format!("compare --ftl page,fifo --trace {trace} --pages-per-block 16{advice}"));
    assert!(!verdict(&text).starts_with("Tie"), "{text}");
}

#[test]
fn a_small_drive_names_the_ratios_that_it_is_like_and_what_helps() {
    let trace = trace("small-drive.csv", 0, 30_000, 9_000, 0);
    let of = |input: &str, more: &str| prints(&format!("compare --ftl page,geckoftl {input} --ratio 0.8{more}"));
    let traced = format!("--trace {trace} --capacity 96MiB --cache 1KiB");
    let line = item(&of(&traced, ""), "small drive: ").unwrap();
    assert!(line.contains("in effect at ratio 0.8") && line.contains(" (page) to 0.9"), "{line}");
    assert!(line.contains(" (geckoftl); --pages-per-block "), "{line}");
    let again = of(&traced, &options(&line, &["--pages-per-block"]));
    assert_eq!(item(&again, "small drive: "), None, "{again}");
    let line = item(&of("--workload uniform --capacity 96MiB --passes 0.5 --warmup 0", ""), "small drive: ").unwrap();
    let again = of("--workload uniform --passes 0.5 --warmup 0", &options(&line, &["--capacity"]));
    assert_eq!(item(&again, "small drive: "), None, "{again}");
}

#[test]
fn requests_that_arrive_too_fast_are_said_to() {
    let of = |name: &str, apart_us: u64, how: &str| {
        let trace = trace(name, 0, 20_000, 9_000, apart_us);
        prints(&format!("compare --ftl page,fifo --trace {trace} --capacity 48MiB --pages-per-block 16 {how}"))
    };
    let text = of("fast.csv", 100, "--open-loop");
    let line = item(&text, "overloaded: ").expect(&text);
    assert!(line.contains("outrun page, fifo, ") || line.contains("outrun fifo, page, "), "{line}");
    assert_eq!(item(&of("slow.csv", 20_000, "--open-loop"), "overloaded"), None);
    assert_eq!(item(&of("fast.csv", 100, "--queue-depth 4"), "overloaded"), None);
}

#[test]
fn a_drive_too_small_for_a_trace_is_answered_with_one_that_holds_it() {
    let trace = trace("too-large.csv", 9_200, 100, 9_200, 0);
    let of = |ftls: &str, shape: &str| format!("compare --ftl {ftls} --trace {trace} --ratio 0.9 {shape}");
    for ftls in ["page,fifo", "page,geckoftl", "dac,page"] {
        for capacity in ["32MiB", "40MiB", "41MiB", "64MiB"] {
            let said = refused_with(2, &words(&of(ftls, &format!("--capacity {capacity}"))));
            let (first, other) = said.split_once(", or ").expect(&said);
            let large = &first[first.rfind("--capacity").unwrap()..];
            for advice in [options(large, &["--capacity"]), options(other, &["--capacity", "--pages-per-block"])] {
                prints(&of(ftls, &advice));
            }
        }
    }
    // One FTL alone as well.
    let said = refused_with(2, &words(&format!("run --ftl page --trace {trace} --ratio 0.9 --capacity 40MiB")));
    assert!(said.contains(" would hold the trace at ratio 0.9"), "{said}");
}

#[test]
fn json_has_the_verdict_and_the_caveats_of_the_text() {
    let line = format!(
        "compare --ftl page,cost-benefit --workload zipf:0.9 {SMALL} --warmup 0 --passes 0.4 --set wear=levelling"
    );
    let (text, all) = (prints(&line), json(&format!("{line} --json")));
    for result in all.as_array().unwrap() {
        let comparison = &result["comparison"];
        assert_eq!(comparison["verdict"].as_str().unwrap(), verdict(&text));
        let outcome = comparison["outcome"].as_str().unwrap();
        assert!(["wins", "leads", "tie"].contains(&outcome), "{outcome}");
        let of =
            |key| comparison["caveats"].as_array().unwrap().iter().map(move |caveat| caveat[key].as_str().unwrap());
        let texts: Vec<&str> = of("text").collect();
        // The input and the unit of latencies come before them, columns that are left out after them.
        assert!(items(&text)[2..].join("\n").starts_with(&texts.join("\n")), "{text}{texts:?}");
        for kind in ["parts_differ", "short", "changed"] {
            assert!(of("kind").any(|of| of == kind), "{kind} {texts:?}");
        }
    }
}

#[test]
fn a_caveat_is_one_line() {
    let trace = trace("one-line.csv", 0, 30_000, 9_000, 100);
    for more in ["", "--loops 2", "--open-loop"] {
        let text = prints(&format!(
            "compare --ftl page,geckoftl,cost-benefit --trace {trace} --capacity 96MiB --ratio 0.8 {more}"
        ));
        for begin in ["page, ", "short", "not steady", "small drive"] {
            if let Some(line) = item(&text, begin) {
                assert!(line.chars().count() + 2 <= 98, "{} {line}", line.chars().count());
            }
        }
        assert!(text.lines().all(|line| line.chars().count() <= 98), "{text}");
    }
}

#[test]
fn a_part_is_no_ftl_and_an_ftl_has_it() {
    let said = refused_with(2, &words("compare --ftl greedy,fifo --workload uniform"));
    assert!(said.contains("unknown FTL 'greedy'; greedy is a victim, FTL 'page' has it, and"), "{said}");
}
