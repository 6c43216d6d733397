//! What each subcommand prints, for people and as JSON.

use crate::common::{json, phelsuma, prints, skipped, tiny_trace, words};
use std::process::{Command, Stdio};

const SMALL: &str = "--workload hotcold:80/20 --capacity 64MiB --pages-per-block 32";

#[test]
fn list_names_everything() {
    let list = json("list --json");
    for what in ["ftls", "parameters", "workloads", "trace_formats", "timings", "crash_workloads", "faults"] {
        assert!(!list[what].as_array().unwrap().is_empty(), "{what}");
    }
    let text = prints("list");
    for name in ["pl-greedy", "victim.d", "zipf:THETA", "blkparse", "gecko", "restarts", "torn-seen"] {
        assert!(text.contains(name), "{name}");
    }
    assert!(!text.contains('\u{1b}'), "no colour in a pipe");
    // What has to be typed is in one piece, everywhere.
    let times = |name: &str| text.split([' ', '\n']).filter(|word| *word == name).count();
    // A store is a parameter's value, the same with what it is, and what a recovery needs.
    for (name, tables) in
        [("page-validity-log", 3), ("mu-ftl-pvb", 2), ("hotcold:WRITES/SPACE", 1), ("unstable-once", 1)]
    {
        assert_eq!(times(name), tables, "{name}: {text}");
    }
}

#[test]
fn help_goes_to_standard_output() {
    for line in ["--help", "run --help", "crash --help", "trace generate --help", "--version"] {
        assert!(!prints(line).is_empty());
    }
}

#[test]
fn a_run_is_summed_up() {
    let run = json(&format!("run --ftl page {SMALL} --json --interval 1000 --cut-at-end"));
    assert_eq!(run["schema"], "phelsuma.run/1");
    assert!(run["write_amplification"]["total"].as_f64().unwrap() > 1.0);
    assert!(!run["series"].as_array().unwrap().is_empty());
    assert!(run["recovery"]["simulated_us"].as_f64().unwrap() > 0.0);
    let text = prints(&format!("run --ftl page {SMALL} --interval 4000 --cut-at-end"));
    for part in ["drive: 64 MiB", "write amplification: ", "erases: ", "RAM", "simulated time", "recovery step"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let other = json(&format!("run --ftl page {SMALL} --json --set victim=d-choices --set victim.d=3"));
    assert_eq!(other["composition"]["victim"], "d-choices(d=3)");
}

#[test]
fn a_drive_with_a_link_says_where_the_time_went() {
    let drive = "--workload mixed:read=50:uniform --capacity 64MiB --ratio 0.5";
    let text = prints(&format!(
        "run --ftl page {drive} --timing 970pro --channels 2 --dies 1 --queue-depth 8 --interval 4000"
    ));
    for part in ["where the time went", "the link moving pages", "waiting in the drive", "requests", " p99.9 "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!prints(&format!("run --ftl page {drive}")).contains("where the time went"));
    // Rates that are small have decimals.
    let slow = prints("run --ftl page --workload mixed:pages=512-512:sequential --capacity 64MiB --passes 0.2");
    let rates = slow.lines().find(|line| line.starts_with("throughput: ")).unwrap();
    let (_, requests) = rates.split_once("read, ").unwrap();
    assert!(requests.split_once(' ').unwrap().0.contains('.'), "{rates}");
}

#[test]
fn a_steady_state_test_is_printed_and_drawn() {
    let drive = "--capacity 64MiB --ratio 0.5 --timing 970pro --channels 2 --dies 1 --pages-per-block 64";
    let test = format!("steady --ftl page {drive} --queue-depth 8");
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("steady-plots");
    let _ = std::fs::remove_dir_all(&folder);
    let text = prints(&format!("{test} --test iops --round 0.2 --svg {}", folder.display()));
    for part in
        ["test of IOPS", "steady in rounds", "in the window", "R/W 65/35", "4 KiB", "the specification takes 60 s"]
    {
        assert!(text.replace('\n', " ").contains(part), "{part}: {text}");
    }
    let text = prints(&format!("{test} --test throughput --rounds 2 --svg {}", folder.display()));
    assert!(text.contains("not steady: 2 rounds are fewer than the 5 of a window"), "{text}");
    let text = prints(&format!("{test} --test write-saturation --svg {}", folder.display()));
    assert!(text.contains("capacities written") && !text.contains("steady in"), "{text}");
    let mut drawn: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    drawn.sort();
    assert_eq!(drawn, ["iops.svg", "throughput-128KiB.svg", "throughput-1MiB.svg", "write-saturation.svg"]);
    let of = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert!(of("iops.svg").contains("class=\"window\"") && of("iops.svg").ends_with("</svg>\n"));
    assert!(!of("write-saturation.svg").contains("class=\"window\""));
}

/// What `timing check --ratio` calculates is what a drive of one die does. On many dies a collection keeps one at work
/// while others wait, so a drive is below it.
#[test]
fn sustained_random_writes_are_near_what_a_drive_does() {
    for (timing, dies, expected) in [
        ("970pro", "--channels 1 --dies 1", 0.95..1.05),
        ("slc", "--channels 1 --dies 1", 0.95..1.05),
        ("970pro", "--channels 2 --dies 2", 0.5..1.0),
    ] {
        let drive = format!("--capacity 128MiB --ratio 0.7 {dies} --timing {timing} --pages-per-block 64");
        let run = json(&format!("run --ftl page --workload uniform --queue-depth 128 {drive} --json"));
        let ratio = run["geometry"]["effective_ratio"].as_f64().unwrap();
        let check = json(&format!("timing check {timing} {dies} --ratio {ratio} --pages-per-block 64 --json"));
        let [does, at_most] = [&run["throughput"], &check["sustained"]]
            .map(|of| of.get("requests_per_second").or(of.get("random_writes_per_second")).unwrap().as_f64().unwrap());
        let share = does / at_most;
        assert!(expected.contains(&share), "{timing}: {does} of {at_most}, {share}");
    }
}

#[test]
fn what_is_kept_on_flash_is_shown_in_columns_of_its_own() {
    let drive = "--workload uniform --capacity 128MiB --cache 4KiB";
    let text = prints(&format!("compare --ftl page,dftl,geckoftl {drive}"));
    assert!(text.contains("trans-") && text.contains("valid-"), "{text}");
    assert!(text.replace('\n', " ").contains("of RAM as papers count it"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 98), "{text}");
    let all = json(&format!("compare --ftl page,dftl,geckoftl {drive} --json"));
    let of = |ftl: &str| all.as_array().unwrap().iter().find(|r| r["ftl"] == ftl).unwrap().clone();
    let counter = |ftl: &str, name: &str| of(ftl)["counters"][name].as_u64().unwrap();
    assert_eq!(counter("dftl", "cache_entries"), 512);
    assert!(counter("geckoftl", "gecko_merges") > 0 && counter("geckoftl", "gecko_queries") > 0);
    assert!(of("geckoftl")["write_amplification"]["validity"].as_f64().unwrap() > 0.0);
    assert!(of("dftl")["write_amplification"]["validity"].as_f64().unwrap() == 0.0);
    let papers = |ftl: &str, name: &str| of(ftl)["ram_bytes"]["papers"][name].as_u64().unwrap();
    assert_eq!(papers("dftl", "mapping.cache"), 4096);
    assert!(papers("geckoftl", "total") < papers("page", "total"));
}

#[test]
fn an_ftl_with_a_battery_is_cut_after_requests() {
    let report = json("crash --ftl dftl --writes 200 --json");
    assert_eq!(report[0]["faults"], serde_json::json!(["announced"]));
    assert!(report[0]["cut_points"].as_u64().unwrap() > 0);
    for what in ["lost", "corrupt", "stuck", "panics"] {
        assert_eq!(report[0][what], 0, "{what}");
    }
    assert!(prints("crash --ftl page,dftl --writes 20").contains("dftl"));
    assert_eq!(prints("crash --ftl dftl --writes 20 --replay 5.announced"), "dftl: 5.announced holds\n");
    let run = json("run --ftl dftl --workload uniform --capacity 64MiB --cut-at-end --json");
    assert!(run["recovery"]["simulated_us"].as_f64().unwrap() > 0.0);
    assert!(run["recovery"]["battery_programs"].as_u64().unwrap() > 0);
    assert!(prints("run --ftl dftl --workload uniform --capacity 64MiB --cut-at-end").contains("on battery"));
}

#[test]
fn a_comparison_is_sorted_and_explained() {
    let all = json(&format!("compare --ftl fifo,page,d-choices,pl-greedy {SMALL} --json"));
    let wa = |r: &serde_json::Value| r["write_amplification"]["total"].as_f64().unwrap();
    let was: Vec<f64> = all.as_array().unwrap().iter().map(wa).collect();
    assert_eq!(was.len(), 4);
    assert!(was.is_sorted(), "{was:?}");
    let text = prints(&format!("compare --ftl fifo,page,d-choices,pl-greedy {SMALL} --jobs 2"));
    let (why, _) = text.split_once('─').unwrap();
    let why = why.replace('\n', " ");
    assert!(why.starts_with("pl-greedy leads: ") && why.contains("because collection moved"), "{why}");
    assert!(why.ends_with("raise --warmup. "), "{why}");
    let text = prints(&format!("compare --ftl fifo,pl-greedy {SMALL} --warmup 20 --passes 10"));
    assert!(text.contains("pl-greedy wins: ") && !text.contains("raise"), "{text}");
    assert!(!text.contains("translation"), "columns of zeros are left out");
    // Blocks looked at for a victim, where that tells policies apart.
    assert!(text.contains("examined"), "{text}");
    let text = prints(&format!("compare --ftl page,pl-greedy {SMALL}"));
    assert!(!text.contains("examined"), "{text}");
}

#[test]
fn what_is_printed_fits_a_window() {
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap();
    let text = prints("list");
    // Tables of text take 100 columns, and the few more that names in one piece need: six columns of them, for parts of FTLs.
    assert!(widest(&text) <= 120, "{}", widest(&text));
    // Of everything the longest: names, counts, latencies with deep queues.
    let of = format!("compare --ftl page,d-choices,pl-greedy {SMALL} --queue-depth 65536");
    let (text, wide) = (prints(&of), prints(&format!("{of} --wide")));
    assert!(widest(&text) <= 98 && widest(&wide) > 98, "{text}{wide}");
    assert!(text.contains("- --wide also shows examined mean/max") && !wide.contains("--wide"), "{text}{wide}");
    assert!(text.contains("no controller") && !text.contains("examined\n"), "{text}");
    assert!(text.lines().all(|line| line == line.trim_end()), "{text}");
    let text = prints(&format!("run --ftl page {SMALL} --interval 4000 --cut-at-end"));
    assert!(widest(&text) <= 120, "{text}");
}

#[test]
fn what_sets_a_result_apart_is_remarked() {
    let trims = b"time_us,device,op,offset_bytes,size_bytes\n0,0,write,0,4096\n1,0,trim,0,512\n2,0,trim,81920,4096\n";
    let trims = crate::common::file("remarks.csv", trims);
    for (command, ftl) in [("run", "page"), ("compare", "page,fifo")] {
        // Lines of an item are indented.
        let one_line = |text: String| words(&text).join(" ");
        let text = one_line(prints(&format!("{command} --ftl {ftl} --trace {}", trims.display())));
        let dropped = "dropped of 3 requests of the trace: 1 that trim no whole page, 1 that trim only pages never read or written";
        assert!(text.contains(dropped) && text.contains("256 MiB"), "{text}");
        assert!(text.contains("(chosen here, --capacity gives another)"), "{text}");
        assert!(!text.contains("small drive"), "{text}");
        let wrapped = prints(&format!("{command} --ftl {ftl} --fold wrap --trace {} --fill none", trims.display()));
        assert!(wrapped.replace('\n', " ").contains("4 GiB"), "{wrapped}");
        let small = prints(&format!("{command} --ftl {ftl} --workload uniform --capacity 26MiB --ratio 0.55"));
        assert!(small.contains("small drive: its figures are a large drive's at ratio 0."), "{small}");
        assert!(!small.contains("chosen here"), "{small}");
    }
    let text = prints(&format!("run --ftl page {SMALL}"));
    let reads = text.lines().find(|line| line.contains("│ read ")).unwrap();
    assert_eq!(reads.matches(" - ").count(), 5, "no request, no latency: {reads}");
}

#[test]
fn what_a_format_cannot_express_can_be_left_out() {
    let path = tiny_trace("unwritable.csv");
    let out = crate::common::file("unwritable.msr", b"");
    let convert = |more: &str| format!("trace convert {} {} --to msr{more}", path.display(), out.display());
    let said = crate::common::refused_with(2, &words(&convert("")));
    assert!(said.contains("--drop-unwritable"), "{said}");
    assert!(prints(&convert(" --drop-unwritable")).contains("left out: 2"));
}

#[test]
fn a_trace_is_compressed_if_its_name_says_so() {
    let path = |name: &str| std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("compressed.{name}"));
    let (plain, gz, zst) = (path("csv"), path("csv.gz"), path("csv.zst"));
    let generate = |out: &std::path::Path| {
        prints(&format!("trace generate --workload uniform --requests 500 --pages 100 -o {}", out.display()));
        std::fs::read(out).unwrap()
    };
    assert!(generate(&plain).starts_with(b"time_us,"));
    assert!(generate(&gz).starts_with(&[0x1f, 0x8b]));
    assert!(generate(&zst).starts_with(&[0x28, 0xb5, 0x2f, 0xfd]));
    let convert = |from: &std::path::Path, to: &std::path::Path| {
        prints(&format!("trace convert {} {} --to csv", from.display(), to.display()));
        std::fs::read(to).unwrap()
    };
    let (zst_again, plain_again) = (path("again.zst"), path("again.csv"));
    assert!(convert(&gz, &zst_again).starts_with(&[0x28, 0xb5, 0x2f, 0xfd]));
    // Nothing is lost on the way.
    assert_eq!(convert(&zst_again, &plain_again), std::fs::read(&plain).unwrap());
}

#[test]
fn a_trace_is_not_written_under_a_name_that_promises_what_it_is_not() {
    let path = |name: &str| std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("promised.{name}"));
    let plain = path("csv");
    prints(&format!("trace generate --workload uniform --requests 10 --pages 100 -o {}", plain.display()));
    for name in ["csv.xz", "zip", "tar.gz"] {
        let out = path(name);
        let convert = format!("trace convert {} {} --to csv", plain.display(), out.display());
        let said = crate::common::refused_with(2, &words(&convert));
        assert!(said.ends_with("are not written; .gz, .zst or none of both would be right\n"), "{said}");
        assert!(!out.exists());
    }
}

#[test]
fn what_was_set_is_shown() {
    let set = "--set mapping=paged --set mapping.cache=64";
    let here = "page here has mapping paged(lazy, cache=64) instead of ram-table, power nothing instead of scan\n";
    let text = prints(&format!("run --ftl page {SMALL} {set}"));
    assert!(text.contains(here), "{text}");
    assert!(text.starts_with("page: paged(lazy, cache=64), ram-bitmap, greedy, one-stream, metadata collected, power"));
    let text = prints(&format!("compare --ftl page,geckoftl {SMALL} --set metadata=left"));
    assert!(
        text.contains("* page here has metadata left instead of collected\n") && text.contains(" page* "),
        "{text}"
    );
    assert!(!text.contains("geckoftl*"), "what is set to what it was is no change: {text}");
    let text = prints("crash --ftl page --writes 20 --cuts 3 --set victim=fifo");
    assert!(text.contains("page here has victim fifo instead of greedy\n"), "{text}");
    let last = json(&format!("run --ftl page {SMALL} {set} --json"));
    assert_eq!(last["composition"]["power"], "nothing", "what the parts cannot do is not recorded");
}

#[test]
fn a_parameter_is_set_for_those_that_have_it_and_the_others_are_named() {
    let set = "--set gecko.size-ratio=4 --set victim=d-choices --set victim.d=3";
    let line = format!("compare --ftl page,geckoftl,dftl {SMALL} --warmup 0 {set}");
    let text = prints(&line).replace('\n', " ");
    assert!(text.contains("gecko.size-ratio is not set for page, dftl: only the validity part gecko has it"), "{text}");
    assert!(
        text.contains("geckoftl here has validity gecko(T=4, multi-way) instead of gecko(T=2, multi-way), victim"),
        "{text}"
    );
    assert!(!text.contains("victim.d is not set"), "{text}");
    // Beside JSON it goes to stderr.
    let out = phelsuma(&words(&format!("{line} --json")));
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(said.contains("phelsuma: gecko.size-ratio is not set for page, dftl: "), "{said}");
    let all: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let of = |ftl: &str| all.as_array().unwrap().iter().find(|r| r["ftl"] == ftl).unwrap().clone();
    assert_eq!(of("geckoftl")["composition"]["validity"], "gecko(T=4, multi-way)");
    assert_eq!(of("page")["composition"]["victim"], "d-choices(d=3)");
    let text = prints("crash --ftl page,dftl --writes 20 --cuts 3 --set mapping.dirty-limit=50");
    assert!(text.contains("mapping.dirty-limit is not set for page: only the mapping part paged has it\n"), "{text}");
    // Alone, an FTL is asked for what it has not.
    let said = crate::common::refused_with(2, &words(&format!("run --ftl page {SMALL} --set gecko.size-ratio=4")));
    assert!(said.contains("only the validity part gecko has it"), "{said}");
}

#[test]
fn a_drive_that_was_never_full_is_not_called_steady() {
    let line = format!("run --ftl page {SMALL} --fill none --warmup 0 --passes 0.5");
    let run = json(&format!("{line} --json"));
    assert!(run["steady"].is_null() && run["drift"].is_null());
    assert!(prints(&line).replace('\n', " ").contains("(steadiness unknown: nothing was collected)"));
}

#[test]
fn a_crash_table_says_where_the_cuts_were() {
    let text = prints("crash --ftl page,dftl --writes 20 --cuts 9 --nested").replace('\n', " ");
    assert!(text.contains("page: cut at 9 of 2,332 programs and erases, "), "{text}");
    assert!(text.contains("before the workload, while the drive is filled and overwritten"), "{text}");
    assert!(
        text.contains("the battery lets requests finish before a cut; recoveries with a battery are not cut"),
        "{text}"
    );
}

#[test]
fn an_extreme_ratio_is_remarked() {
    let text = prints(
        "run --ftl page --workload uniform --capacity 512MiB --pages-per-block 16 --ratio 0.97 --warmup 0 --passes 0.01",
    );
    assert!(text.contains("extreme ratio: "), "{text}");
}

#[test]
fn depth_nests_by_itself() {
    let found = json("crash --ftl page --writes 20 --cuts 3 --depth 2 --json");
    assert_eq!((&found[0]["depth"], &found[0]["lost"]), (&2.into(), &0.into()));
    assert!(found[0]["nested_cuts"].as_u64().unwrap() > 0);
}

#[test]
fn a_comparison_gives_what_each_run_gives() {
    let mut alone = json(&format!("run --ftl fifo {SMALL} --json"));
    let mut both = json(&format!("compare --ftl page,fifo {SMALL} --json"));
    let fifo = both.as_array_mut().unwrap().iter_mut().find(|r| r["ftl"] == "fifo").unwrap();
    for result in [&mut alone, &mut *fifo] {
        result.as_object_mut().unwrap().remove("machine");
    }
    // What it came to beside the other is there as well.
    assert!(fifo.as_object_mut().unwrap().remove("comparison").is_some());
    assert_eq!(alone, *fifo);
}

#[test]
fn a_tiny_trace_is_compared_honestly() {
    let path = tiny_trace("compared.csv");
    let all = json(&format!("compare --ftl page,fifo --trace {} --json", path.display()));
    for result in all.as_array().unwrap() {
        let host = &result["host"];
        assert_eq!(host["requests"], 6);
        assert_eq!(host["write_pages"], 4);
        assert_eq!(host["read_pages"], 1);
        assert_eq!(host["trim_pages"], 1);
        assert_eq!(host["partial_pages"], 1);
    }
    let text = prints(&format!("compare --ftl page,fifo --trace {}", path.display())).replace('\n', " ");
    assert!(text.contains("Tie at write amplification 1.25") && text.contains("nothing was collected"), "{text}");

    let reads = crate::common::file("reads.csv", b"time_us,device,op,offset_bytes,size_bytes\n0,0,read,0,4096\n");
    let text = prints(&format!("compare --ftl page,fifo --trace {}", reads.display()));
    assert!(!text.contains("write\nmean") && text.contains("read"), "no column for what did not occur: {text}");
    assert!(text.contains("writes nothing"), "{text}");
}

#[test]
fn an_open_loop_and_deeper_queues_run() {
    let path = tiny_trace("open.csv");
    for more in ["--open-loop", "--queue-depth 8", "--loops 3", "--fold wrap --capacity 64MiB", "--fill none"] {
        let run = json(&format!("run --ftl page --trace {} --json {more}", path.display()));
        assert_eq!(run["host"]["requests"], 6, "{more}");
    }
}

#[test]
fn a_crash_experiment_is_reported() {
    let found = json("crash --ftl page,fifo --writes 250 --cuts 12 --nested --json");
    let found = found.as_array().unwrap();
    assert_eq!(found.len(), 2);
    for report in found {
        assert_eq!(report["schema"], "phelsuma.crash/1");
        assert!(report["cuts"].as_u64().unwrap() > 0 && report["nested_cuts"].as_u64().unwrap() > 0);
        assert_eq!(report["lost"], 0);
    }
    let text = prints("crash --ftl page --writes 40 --every-op --faults torn-seen,unstable");
    assert!(text.contains("worst recovery ms"), "{text}");
}

#[test]
fn workloads_of_a_crash_experiment_are_counted_each_and_together() {
    let line = "crash --ftl page,geckoftl --workload all --writes 20 --cuts 2 --faults torn-seen,not-started";
    for report in json(&format!("{line} --json")).as_array().unwrap() {
        let workloads = report["workloads"].as_array().unwrap();
        let names: Vec<&str> = workloads.iter().map(|w| w["workload"].as_str().unwrap()).collect();
        let all =
            ["mixed", "reads", "trims", "hot", "slow", "restarts", "flushes", "large", "skewed", "wiped", "closes"];
        assert_eq!(names, all);
        assert!(report["workload"].is_null());
        for key in ["writes", "restarts", "operations", "cut_points", "cuts", "covered_by_equality", "lost"] {
            let each: u64 = workloads.iter().map(|w| w[key].as_u64().unwrap()).sum();
            assert_eq!(report[key].as_u64().unwrap(), each, "{key}");
        }
        let worst = workloads.iter().map(|w| w["worst_recovery_us"].as_f64().unwrap()).fold(0.0, f64::max);
        assert_eq!(report["worst_recovery_us"].as_f64().unwrap(), worst);
        assert!(report["restarts"].as_u64().unwrap() > 0);
    }
    let text = prints(line);
    let rows = text.lines().filter(|line| line.contains(" trims ") || line.contains("all of them")).count();
    assert_eq!(rows, 4, "{text}");
    assert!(text.replace('\n', " ").contains("the workload itself cuts the power"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    let one = json("crash --ftl page --workload slow --writes 20 --cuts 2 --json");
    assert_eq!(one[0]["workload"], "slow");
    assert!(prints("crash --ftl page --workload slow --writes 20 --cuts 2").contains("20 writes of workload slow"));
}

#[test]
fn a_branch_of_another_workload_is_replayed_with_its_name() {
    let text = prints("crash --ftl page --workload restarts --writes 60 --replay 2500.torn-seen");
    assert_eq!(text, "page, restarts: 2500.torn-seen holds\n");
    let text = prints("crash --ftl page --workload restarts --writes 60 --replay uncut");
    assert_eq!(text, "page, restarts: uncut holds\n");
}

#[test]
fn a_branch_is_replayed_alone() {
    let text = prints("crash --ftl page --writes 60 --replay 30.torn-seen");
    assert_eq!(text, "page: 30.torn-seen holds\n");
    let report = json("crash --ftl page --writes 60 --replay 30.torn-seen --json");
    assert_eq!(report[0]["cuts"], 1);
}

#[test]
fn limits_are_computed() {
    let limits = json("limits --ratio 0.7 --pages-per-block 64 --hot 80/20 --json");
    assert_eq!(limits["schema"], "phelsuma.limits/1");
    assert!(limits["uniform"]["greedy"].as_f64().unwrap() > 1.0);
    assert!(prints("limits --ratio 0.7 --hot 80/20").contains("80/20: mixed, greedy"));
    let gecko = |more: &str| json(&format!("limits --ratio 0.7 --gecko {more} --json"))["gecko"].clone();
    assert_eq!(gecko("2TiB")["cache_entries"], 1 << 19);
    // A cache that nobody gave is no larger than the table, and parts that nobody gave divide the block.
    assert_eq!(gecko("64MiB")["cache_entries"], 11468);
    assert_eq!(gecko("1GiB --pages-per-block 33")["drive"]["partitions"], 3);
}

#[test]
fn traces_are_described_converted_and_generated() {
    // A folder that no other test writes to at the same time.
    let dir = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("converted");
    std::fs::create_dir_all(&dir).unwrap();
    let (made, turned) = (dir.join("made.csv"), dir.join("turned.txt"));
    let (made, turned) = (made.display(), turned.display());
    let said = json(&format!("trace generate --workload zipf:0.9 --requests 500 --pages 1000 -o {made} --json"));
    assert_eq!(said["requests"], 500);
    let info = json(&format!("trace info {made} --json"));
    assert_eq!((&info["requests"], &info["writes"], &info["format"]), (&500.into(), &500.into(), &"csv".into()));
    let said = json(&format!("trace convert {made} {turned} --to disksim --json"));
    assert_eq!((&said["requests"], &said["dropped"]), (&500.into(), &0.into()));
    let turned_info = json(&format!("trace info {turned} --format disksim --time-unit ns --json"));
    assert_eq!(info["written_bytes"], turned_info["written_bytes"]);
    assert_eq!(info["duration_ns"], turned_info["duration_ns"]);
    assert!(prints(&format!("trace info {made}")).contains("500 requests"));
    // Once to itself: the file is read before it is replaced.
    prints(&format!("trace convert {made} {made} --to csv"));
    assert_eq!(json(&format!("trace info {made} --json"))["requests"], 500);
    // To a pipe the trace and nothing else.
    let text = prints("trace generate --workload uniform --requests 3 --pages 10 --interval-us 5 -o -");
    assert_eq!(text.lines().count(), 4, "{text}");
    let left: Vec<_> = std::fs::read_dir(&dir).unwrap().flatten().map(|f| f.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains(".partial")), "{left:?}");
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let lines = ["list", "limits --ratio 0.7", "trace generate --workload uniform --requests 500000 --pages 10 -o -"];
    for line in lines {
        let mut child = Command::new(env!("CARGO_BIN_EXE_phelsuma"))
            .args(words(line))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let out = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&out.stderr), "", "{line}");
        assert_eq!(out.status.code(), Some(0), "{line}");
    }
}

#[test]
fn a_full_disk_is_a_failure() {
    if !std::path::Path::new("/dev/full").exists() {
        skipped("no /dev/full");
        return;
    }
    let out = phelsuma(&words("trace generate --workload uniform --requests 5000 --pages 10 -o /dev/full"));
    assert_eq!(out.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&out.stderr).lines().count(), 1);
}

#[test]
fn an_oracle_is_called_one_and_wins_nothing() {
    let shape = "--workload hotcold:90/10 --capacity 64MiB --pages-per-block 32";
    let text = prints(&format!("compare --ftl page,pl-greedy,oracle,static-quota {shape}"));
    assert!(text.contains(" oracle (oracle) ") && text.contains(" static-quota (oracle) "), "{text}");
    assert!(text.contains("which no real FTL has"), "{text}");
    assert!(!text.contains("oracle wins") && !text.contains("quota wins"), "{text}");
    let text = prints(&format!("compare --ftl page,oracle {shape}"));
    assert!(text.contains("page alone: nothing to compare it with but oracles."), "{text}");
    assert!(prints(&format!("run --ftl oracle {shape}")).contains("oracle (oracle)"));

    let text = prints(&format!("search --ftl page --set placement=oracle,static-quota,host-gc {shape}"));
    let row = |of: &str| text.lines().find(|line| line.contains(of)).unwrap_or_default().contains("(oracle)");
    assert!(row(" oracle ") && row(" static-quota ") && !row(" host-gc "), "{text}");
    assert!(text.contains("least write amplification") && text.contains("with --set placement=host-gc"), "{text}");
    assert!(!text.contains("with --set placement=oracle") && text.contains("wins nothing"), "{text}");
    let text = prints("soak --ftl oracle --cycles 1");
    assert!(text.contains("oracle (oracle)") && text.contains("wins nothing"), "{text}");
}

#[test]
fn a_soak_that_is_told_to_stop_says_how_far_it_is_and_goes_on_from_there() {
    let folder = std::env::temp_dir().join(format!("phelsuma-soak-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let state = folder.join("state.json");
    let soak = |cycles: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_phelsuma"));
        command.args(words(&format!("soak --ftl page --cycles {cycles} --json --state")).iter()).arg(&state);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command
    };
    let cycles_of = |out: &std::process::Output| {
        let printed: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!(printed[0]["ftl"], "page");
        assert_eq!(printed[0]["builds"].as_array().unwrap().len(), 1);
        printed[0]["cycles"].as_u64().unwrap()
    };
    let running = soak("1000000000").spawn().unwrap();
    // It has written its state once: it runs, and whoever else would write it waits.
    let begun = std::time::Instant::now();
    while !state.exists() {
        assert!(begun.elapsed().as_secs() < 60);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let other = soak("1000000000").output().unwrap();
    let error = String::from_utf8_lossy(&other.stderr).into_owned();
    assert_eq!((other.status.code(), error.contains("another soak is writing it")), (Some(2), true), "{error}");

    let pid = running.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let out = running.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!((out.status.code(), error.contains("the same command continues")), (Some(1), true), "{error}");
    let cycles = cycles_of(&out);
    assert!(cycles > 0);
    let out = soak(&(cycles + 100).to_string()).output().unwrap();
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(cycles_of(&out) >= cycles + 100);

    let text = std::fs::read_to_string(&state).unwrap();
    std::fs::write(&state, text.replace("phelsuma.soak/1", "phelsuma.soak/9")).unwrap();
    let out = soak("1").output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("'phelsuma.soak/1' would be right"));
    std::fs::remove_dir_all(&folder).unwrap();
}
