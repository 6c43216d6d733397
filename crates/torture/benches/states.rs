//! States a minute and core: SQLite on an ext4 of 64 MiB, and a raw drive with a check that is a compiled program.
//!
//! It measures the whole: making the drive, mounting it, and the user's own commands. It needs root, Python and `cmp`.

use clap::Parser;
use phelsuma_torture::args::TortureArgs;
use phelsuma_torture::torture;
use std::path::Path;
use std::sync::atomic::AtomicBool;

#[derive(Parser)]
struct Words {
    #[command(flatten)]
    args: TortureArgs,
}

fn main() {
    let sqlite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/torture/sqlite").display().to_string();
    let workload = format!("{sqlite}/workload wal full");
    let check = format!("{sqlite}/check durable");
    let raw = "dd if=/dev/urandom of=$PHELSUMA_DEVICE bs=4096 count=200 oflag=sync conv=notrunc 2>/dev/null";
    for (name, aim, words) in [
        (
            "SQLite on ext4",
            200,
            ["--size", "64MiB", "--fs", "ext4", "--workload", &workload, "--check", &check, "--states", "300"]
                .as_slice(),
        ),
        (
            "a raw drive",
            5_000,
            [
                "--size",
                "1MiB",
                "--workload",
                raw,
                "--check",
                "exec cmp -s -n 512 $PHELSUMA_DEVICE /dev/zero || exit 0",
                "--states",
                "2000",
            ]
            .as_slice(),
        ),
    ] {
        let words = ["states", "--jobs", "1"].iter().chain(words);
        let done = Words::try_parse_from(words).map_err(|error| error.to_string()).and_then(|words| {
            let (config, files) = words.args.asked().map_err(|error| error.to_string())?;
            torture(&config, &files, &AtomicBool::new(false), &|_| {}).map_err(|error| error.to_string())
        });
        match done {
            Ok(report) => {
                let a_minute = report.states as f64 * 60.0 / report.seconds.max(0.001);
                println!("{name}: {a_minute:.0} states a minute and core (aim: {aim})");
            }
            Err(error) => println!("{name}: {error}"),
        }
    }
}
