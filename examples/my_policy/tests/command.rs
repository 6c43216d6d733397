//! The whole command with policies that its crate knows nothing of.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

/// The command. Phelsuma's own workspace builds it as an example, for which cargo has no name: it lies beside its tests.
fn command() -> PathBuf {
    let example = || std::env::current_exe().unwrap().parent().unwrap().join("../examples/my-policy");
    option_env!("CARGO_BIN_EXE_my-policy").map_or_else(example, PathBuf::from)
}

fn ran(words: &str) -> Output {
    let command = command();
    let ran = Command::new(&command).args(words.split_whitespace()).output();
    ran.unwrap_or_else(|error| {
        panic!("{} (cargo test builds it, unless told what to build): {error}", command.display())
    })
}

fn text(words: &str) -> String {
    let output = ran(words);
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(words: &str) -> Value {
    serde_json::from_str(&text(&format!("{words} --json"))).unwrap()
}

const SMALL: &str = "--capacity 32MiB --pages-per-block 32 --workload zipf:0.9 --warmup 1 --passes 1";

#[test]
fn it_runs_and_shows_in_the_result_the_ledger_and_the_counters() {
    let result =
        json(&format!("run --ftl page --set victim=lfs --set lfs.oldest=50 --set placement=write-count {SMALL}"));
    assert_eq!(result["composition"]["victim"], "lfs(oldest=50)");
    assert_eq!(result["composition"]["placement"], "write-count(hot=2)");
    let ram = &result["ram_bytes"]["papers"];
    assert_eq!(ram["victim.closed_at"], 8 * 256);
    assert_eq!(ram["placement.write_counts"], result["geometry"]["logical_bytes"].as_u64().unwrap() / 4096);
    assert!(result["counters"]["write_count_hot_pages"].as_u64().unwrap() > 0);
    assert_eq!(result["counters"]["policy_answers_replaced"], Value::Null);
}

#[test]
fn it_is_compared_with_others() {
    let table = text(&format!("compare --ftl page,mine,dual-greedy {SMALL}"));
    assert!(table.contains("mine"), "{table}");
    let results = json(&format!("compare --ftl page,mine {SMALL}"));
    let of = |ftl: &str| {
        let results = results.as_array().unwrap();
        let result = results.iter().find(|result| result["ftl"] == ftl).unwrap();
        result["write_amplification"]["total"].as_f64().unwrap()
    };
    assert!(of("mine") < of("page"), "{} and {}", of("mine"), of("page"));
}

#[test]
fn it_is_listed() {
    let list = json("list");
    let has = |of: &str, name: &str| list[of].as_array().unwrap().iter().any(|entry| entry["name"] == name);
    assert!(has("ftls", "mine") && has("parameters", "lfs.oldest") && has("parameters", "write-count.hot"));
    assert!(text("list").contains("write-count.hot"));
}

#[test]
fn the_laboratory_cuts_its_power() {
    for faults in ["", "--nested --cuts 2"] {
        let swept = json(&format!("crash --ftl mine --writes 300 --seed 1 {faults}"));
        let swept = &swept[0];
        for wrong in ["lost", "corrupt", "stuck", "panics"] {
            assert_eq!(swept[wrong], 0, "{wrong} {faults}");
        }
        assert!(swept["cuts"].as_u64().unwrap() > 0);
    }
}

#[test]
fn an_image_keeps_its_names() {
    let image = std::env::temp_dir().join(format!("my-policy-{}.img", std::process::id()));
    let path = image.display();
    text(&format!("create {path} --ftl mine --size 32MiB --set write-count.hot=3"));
    assert!(text(&format!("check {path}")).contains("mine"));
    std::fs::remove_file(image).unwrap();
}

#[test]
fn what_is_wrong_is_said_in_a_line() {
    for (words, said) in [
        ("run --ftl page --set victim=lsf", "greedy, fifo"),
        ("run --ftl page --set victim=lfs --set lfs.oldest=0", "it can be a whole number from 1 to 1000000"),
        ("run --ftl page --set lfs.oldest=5", "only the victim part lfs has it"),
        ("run --ftl mime", "'mine' is most like it"),
    ] {
        let output = ran(&format!("{words} {SMALL}"));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(said) && stderr.lines().count() == 1, "{stderr}");
    }
}
