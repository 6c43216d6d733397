//! Runs from a saved drive give what uninterrupted ones give, and files that are no such drive are refused.

use phelsuma_drive::{Fill, Input, Machine, RunConfig, RunError, RunResult, Saving, run, run_saving};
use phelsuma_ftl::PRESETS;
use std::path::{Path, PathBuf};

const BUILD: &str = "this build";

fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("phelsuma-saved-{}-{name}", std::process::id()))
}

fn config(ftl: &str) -> RunConfig {
    let mut config = RunConfig::new(ftl, Input::Workload("zipf:0.9".parse().unwrap())).unwrap();
    config.shape.capacity_bytes = Some(if ftl == "phelsuma" { 64 << 20 } else { 16 << 20 });
    config.shape.pages_per_block = 32;
    config.shape.ratio = 0.5;
    config.fill = Fill::Random;
    config.warmup = 1.5;
    config.passes = 0.5;
    config.interval = Some(500);
    config
}

/// But for the machine's times.
fn text(mut result: RunResult) -> String {
    result.machine = Machine::default();
    serde_json::to_string(&result).unwrap()
}

fn saving<'a>(from: Option<&'a Path>, to: Option<&'a Path>) -> Saving<'a> {
    Saving { build: BUILD, from, to }
}

fn assert_goes_on(config: &RunConfig, path: &Path) {
    let uninterrupted = text(run_saving(config, &saving(None, Some(path)), &|_| true).unwrap());
    let resumed = text(run_saving(config, &saving(Some(path), None), &|_| true).unwrap());
    assert_eq!(resumed, uninterrupted, "{}", config.ftl);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn each_preset_goes_on_from_a_file_as_if_nothing_had_happened() {
    for preset in PRESETS {
        let mut config = config(preset.name);
        config.cut_at_end = config.composition.why_not_survivable().is_none();
        assert_goes_on(&config, &file(preset.name));
    }
}

/// Of a hash table with other removals behind it, too.
#[test]
fn log_blocks_have_the_same_ram_after_a_file() {
    for ftl in ["bast", "fast", "ftl-mm:bast", "ftl-mm:fast"] {
        let mut config = config(ftl);
        config.shape.capacity_bytes = Some(64 << 20);
        config.shape.channels = 2;
        assert_goes_on(&config, &file(&format!("log-{}", ftl.replace(':', "-"))));
    }
}

/// A counter's value at the moment at which the drive is saved.
fn counter_when_saved(config: &RunConfig, name: &str) -> u64 {
    let mut until_then = config.clone();
    until_then.warmup -= until_then.passes;
    until_then.cut_at_end = false;
    run(&until_then, &|_| true).unwrap().counters[name]
}

#[test]
fn work_that_was_begun_goes_on() {
    // Runs of more pages than are merged at once.
    let mut gecko = config("geckoftl");
    gecko.shape.page_bytes = 512;
    let warmups = (0..100).map(|hundredths| 1.5 + f64::from(hundredths) / 100.0);
    let is_merging =
        |warmup: &f64| counter_when_saved(&RunConfig { warmup: *warmup, ..gecko.clone() }, "gecko_merging") > 0;
    gecko.warmup = warmups.clone().find(is_merging).unwrap();
    assert_goes_on(&gecko, &file("merges"));
    // Log blocks that are merged while the host is idle, which it always is for no time at all.
    let mut last = config("last++");
    last.composition.set_all(&[("last.idle", "0"), ("last.background", "aggressive")]).unwrap();
    last.shape.channels = 2;
    last.cut_at_end = true;
    assert!(counter_when_saved(&last, "last_background_merges") > 0);
    for warmup in warmups.take(5) {
        assert_goes_on(&RunConfig { warmup, ..last.clone() }, &file("background"));
    }
}

#[test]
fn what_is_no_saved_drive_of_this_kind_is_refused_and_says_why() {
    let (path, other) = (file("whole"), file("other"));
    let config = config("geckoftl");
    let uninterrupted = text(run(&config, &|_| true).unwrap());
    assert_eq!(text(run_saving(&config, &saving(None, Some(&path)), &|_| true).unwrap()), uninterrupted);
    assert_eq!(text(run_saving(&config, &saving(Some(&path), None), &|_| true).unwrap()), uninterrupted);
    let refused = |config: &RunConfig, build: &str, path: &Path| {
        let saving = Saving { build, from: Some(path), to: None };
        match run_saving(config, &saving, &|_| true) {
            Err(RunError::Input(why)) => why,
            other => panic!("{other:?}"),
        }
    };
    let mut seed = config.clone();
    seed.seed = 2;
    assert!(refused(&seed, BUILD, &path).contains("seed is 1 there, and 2 here"));
    let mut cache = config.clone();
    cache.composition.set("mapping.cache", "64").unwrap();
    assert!(refused(&cache, BUILD, &path).contains("of another drive: mapping"));
    assert!(refused(&config, "that build", &path).contains("another build"));
    let whole = std::fs::read(&path).unwrap();
    for cut in [0, 5, 11, 12, 40, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&other, &whole[..cut]).unwrap();
        refused(&config, BUILD, &other);
    }
    let state = |file: &[u8]| zstd::decode_all(&file[12..]);
    let of_whole = state(&whole).unwrap();
    for at in (0..whole.len()).step_by(whole.len() / 60) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        std::fs::write(&other, &damaged).unwrap();
        // A compressor may choose between bits that mean the same. Such a flip is no damage.
        if at >= 12 && state(&damaged).is_ok_and(|bytes| bytes == of_whole) {
            assert_eq!(text(run_saving(&config, &saving(Some(&other), None), &|_| true).unwrap()), uninterrupted);
        } else {
            refused(&config, BUILD, &other);
        }
    }
    std::fs::write(&other, [whole.as_slice(), b"more"].concat()).unwrap();
    assert!(refused(&config, BUILD, &other).contains("goes on"));
    for path in [path, other] {
        std::fs::remove_file(path).unwrap();
    }
}

/// What `--save` leaves behind under another name while the file is not whole.
fn unfinished(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}.part", path.display()))
}

#[test]
fn where_no_file_can_be_saved_is_known_before_the_drive_is_filled() {
    let directory = file("directory");
    std::fs::create_dir(&directory).unwrap();
    let link = file("link");
    std::os::unix::fs::symlink("/dev/null", &link).unwrap();
    let nowhere = directory.join("none/here");
    for (path, expected) in
        [(&directory, "it is a directory"), (&link, "it is there, and no file"), (&nowhere, "No such file")]
    {
        match run_saving(&config("geckoftl"), &saving(None, Some(path)), &|_| panic!("the drive is filled")) {
            Err(RunError::Input(why)) => assert!(why.contains(expected), "{why}"),
            other => panic!("{other:?}"),
        }
        assert!(!unfinished(path).exists(), "{}", path.display());
    }
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
    std::fs::remove_file(link).unwrap();
    std::fs::remove_dir(directory).unwrap();
}

#[test]
fn a_run_that_ends_before_its_drive_is_saved_leaves_no_file() {
    let path = file("unfinished");
    let mut nothing_counted = config("geckoftl");
    nothing_counted.passes = 0.0;
    match run_saving(&nothing_counted, &saving(None, Some(&path)), &|_| panic!("the drive is filled")) {
        Err(RunError::Input(why)) => assert!(why.contains("at least one page must be counted"), "{why}"),
        other => panic!("{other:?}"),
    }
    let mut long = config("geckoftl");
    long.warmup = 1e6;
    let stopped = run_saving(&long, &saving(None, Some(&path)), &|progress| progress.phase != "warm-up");
    assert!(matches!(stopped, Err(RunError::Stopped)), "{stopped:?}");
    assert!(!unfinished(&path).exists() && !path.exists());
}
