//! Wrong usage and input of all kinds: exit code 2, one line, no panic.

use crate::common::{file, refused_with, skipped, tiny_trace, words};

const RUN: &str = "run --ftl page --workload uniform --capacity 64MiB";
const DFTL: &str = "run --ftl dftl --workload uniform --capacity 64MiB";
const GECKOFTL: &str = "run --ftl geckoftl --workload uniform --capacity 64MiB";
const CRASH: &str = "crash --ftl page --writes 20";

/// A command line, and what its refusal must mention.
const WRONG: &[(&str, &str)] = &[
    ("", "subcommand"),
    ("fly", "fly"),
    ("trace", "subcommand"),
    ("trace fly", "fly"),
    ("list extra", "extra"),
    ("run", "--ftl"),
    ("run --ftl page", "--workload"),
    ("run --workload uniform", "--ftl"),
    ("run --ftl nonsense --workload uniform", "known are page, fifo"),
    ("run --ftl page --workload nonsense", "nonsense"),
    ("run --ftl page --workload zipf:", "zipf"),
    ("run --ftl page --workload zipf:-1", "zipf"),
    ("run --ftl page --workload zipf:nan", "zipf"),
    ("run --ftl page --workload hotcold:80", "hotcold"),
    ("run --ftl page --workload hotcold:0/0", "hotcold"),
    ("run --ftl page --workload mixed:read=200:uniform", "mixed"),
    ("run --ftl page --workload mixed:pages=0:uniform", "mixed"),
    ("run --ftl page --workload mixed:pages=99999999:uniform --capacity 64MiB", "mixed"),
    ("run --ftl page --workload uniform --trace x", "--trace"),
    ("run --ftl page --workload uniform --format csv", "--format"),
    ("run --ftl page --workload uniform --time-unit us", "--time-unit"),
    ("run --ftl page --workload uniform --loops 2", "--loops"),
    ("run --ftl page --workload uniform --fold wrap", "--fold"),
    ("run --ftl page --workload uniform --open-loop", "--open-loop"),
    ("run --ftl page --workload media:mov --open-loop", "media:mov has no timestamps"),
    ("run --ftl page --workload media:mov --capacity 64MiB --passes 9", "media:mov ends after"),
    ("run --ftl page --workload mixed:read=30:desktop", "cannot be mixed"),
    ("run --ftl page --trace x --warmup 1", "--warmup"),
    ("steady", "--ftl"),
    ("steady --ftl nonsense", "known are page, fifo"),
    ("steady --ftl page --test nonsense", "write-saturation"),
    ("steady --ftl page --round 0", "a share of the logical capacity"),
    ("steady --ftl page --round 5m", "such as 60s"),
    ("steady --ftl page --rounds 0", "--rounds"),
    ("steady --ftl page --queue-depth 0", "--queue-depth"),
    ("steady --ftl page --workload uniform", "--workload"),
    ("steady --ftl oracle --capacity 64MiB", "is an oracle"),
    ("steady --ftl page --cache 1KiB --capacity 64MiB", "cache"),
    ("steady --ftl page --capacity 1MiB", "must be from"),
    ("steady --ftl page --timing 970pro --pages-per-block 4 --capacity 64MiB", "larger than a block"),
    ("steady --ftl page --capacity 64MiB --svg /dev/null/x", "/dev/null/x"),
    ("timing check 970pro --ratio 2", "between 0 and 1"),
    ("timing check 970pro --ratio 0.8 --pages-per-block 4", "larger than a block"),
    ("timing check 970pro --pages-per-block 4", "--ratio"),
    ("run --ftl page --workload uniform --set victim=midas", "needs placement=midas"),
    ("run --ftl midas --workload uniform --set midas.groups=9", "from 1 to 8"),
    ("run --ftl sepbit --workload uniform --set oracle.windows=4", "only the placement part oracle"),
    ("run --ftl static-quota --workload uniform --set quota.classes=0", "from 1 to 32"),
    ("create /nowhere/x.img --size 64MiB --ftl oracle", "it is an oracle"),
    ("create /nowhere/x.img --size 64MiB --ftl static-quota", "it is an oracle"),
    ("create /nowhere/x.img --size 64MiB --ftl page --set placement=oracle", "it is an oracle"),
    ("serve --memory 64MiB --ftl oracle", "it is an oracle"),
    ("serve --memory 64MiB --ftl page --set placement=static-quota", "it is an oracle"),
    ("run --ftl page --trace x --passes 1", "--passes"),
    ("run --ftl page --trace x --loops 0", "--loops"),
    ("run --ftl page --trace x --loops 18446744073709551615", "--loops"),
    ("run --ftl page --trace x --format nonsense", "csv, columns, disksim"),
    ("run --ftl page --trace x --time-unit years", "s, ms, us"),
    ("run --ftl page --trace x --open-loop --queue-depth 2", "--queue-depth"),
    ("run --ftl page --trace /nonexistent/file", "/nonexistent/file"),
    ("run --ftl page --trace /dev/null", "regular file"),
    ("run --ftl page --trace .", "directory"),
    ("run --ftl page --trace -", "standard input"),
    ("compare --ftl page,fifo --trace -", "standard input"),
    ("RUN --ratio nan", "between 0 and 1"),
    ("RUN --ratio inf", "between 0 and 1"),
    ("RUN --ratio 0", "between 0 and 1"),
    ("RUN --ratio 1", "between 0 and 1"),
    ("RUN --ratio -1", "between 0 and 1"),
    ("RUN --ratio 1.5", "between 0 and 1"),
    ("RUN --ratio x", "between 0 and 1"),
    ("RUN --ratio 0.999999", "63.996 MiB of logical pages (16383) do not fit 64 MiB"),
    ("RUN --ratio 0.999", "63.93 MiB of logical pages"),
    ("run --ftl page --workload uniform --ratio 0.999", "3.996 GiB of logical pages (1047527) do not fit 4 GiB"),
    ("RUN --ratio 1e-9", "not one logical page"),
    ("RUN --page 0", "512"),
    ("RUN --page 4095", "512"),
    ("RUN --page 1MiB", "512"),
    ("RUN --page 8GiB", "512"),
    ("RUN --page 4kilo", "KiB"),
    ("RUN --pages-per-block 0", "pages per block"),
    ("RUN --pages-per-block 3", "pages per block"),
    ("RUN --pages-per-block 4294967295", "pages per block"),
    ("RUN --pages-per-block -1", "a whole number from 0 to 4294967295 would be right"),
    ("RUN --channels 0", "channels"),
    ("RUN --channels 257", "channels"),
    ("RUN --channels 256", "must be from 256"),
    ("RUN --dies 0", "dies"),
    ("RUN --dies 64 --channels 4", "must be from 256"),
    ("run --ftl page --workload uniform --capacity 0", "0 blocks"),
    ("run --ftl page --workload uniform --capacity 1", "0 blocks"),
    ("run --ftl page --workload uniform --capacity 1MiB", "1 MiB of flash are 2 blocks of 512 KiB"),
    ("run --ftl page --workload uniform --capacity 4MiB", "at least "),
    ("run --ftl page --workload uniform --capacity 16MiB", "11.20 MiB of logical pages"),
    ("run --ftl page --workload uniform --capacity -5", "'-5' is no size: 4096, 4KiB"),
    ("run --ftl page --workload uniform --capacity 1.5", "whole"),
    ("run --ftl page --workload uniform --capacity 1XiB", "GiB"),
    ("run --ftl page --workload uniform --capacity 99999999999TiB", "too large"),
    ("run --ftl page --workload uniform --capacity 16000000TiB", "blocks"),
    ("RUN --fill half", "sequential"),
    ("RUN --warmup -1", "capacities"),
    ("RUN --warmup nan", "capacities"),
    ("RUN --passes inf", "capacities"),
    ("RUN --passes 1e300", "capacities"),
    ("RUN --queue-depth 0", "--queue-depth"),
    ("RUN --queue-depth 99999999999", "--queue-depth"),
    ("RUN --timing nonsense", "known are gecko, last"),
    ("RUN --seed -1", "a whole number would be right"),
    ("RUN --seed x", "'x' for '--seed <SEED>': a whole number would be right"),
    ("RUN --seed 18446744073709551616", "a smaller number would be right"),
    ("RUN --interval 0", "'--interval <N>': a whole number from 1 would be right\n"),
    ("RUN --set victim", "KEY=VALUE"),
    ("RUN --set =", "known are mapping"),
    ("RUN --set nonsense=1", "known are mapping"),
    ("RUN --set victim=nonsense", "greedy"),
    ("RUN --set victim.d=5", "d-choices"),
    ("RUN --set victim.sample=64", "only the victim part sampled has it"),
    ("RUN --set victim=sampled --set victim.sample=3", "0 for the default, or 16 blocks or more"),
    ("RUN --set victim=sampled --set victim.looks=0", "from 1 to 64"),
    (
        "RUN --set victim=sampled --set victim.sample=129",
        "'victim.sample' cannot be '129': the drive has 128 blocks and a sample of it no more",
    ),
    ("crash --ftl page --set victim=sampled --set victim.sample=65", "the drive has 64 blocks"),
    ("RUN --set mapping.cache=64", "only the mapping part paged has a cache"),
    ("RUN --set mapping.on-miss=lazy", "only the mapping part paged misses"),
    ("RUN --set mapping=paged --set mapping.cache=3", "0 for the default, or 16 entries or more"),
    ("RUN --set mapping=paged --set mapping.cache=99999999999", "whole number of entries"),
    ("RUN --set gecko.size-ratio=4", "only the validity part gecko"),
    ("RUN --set validity=gecko --set gecko.size-ratio=1", "from 2 to 64"),
    ("RUN --set validity=gecko --set gecko.partitions=9000", "from 0 to 8192"),
    ("RUN --set validity=gecko --set gecko.merge=three-way", "multi-way or two-way"),
    ("RUN --set validity=nonsense", "ram-bitmap, flash-bitmap, page-validity-log, gecko or mu-tree"),
    ("RUN --set metadata=nonsense", "collected or left"),
    ("RUN --set power=nonsense", "scan, battery, gecko-rec, synchronize, fast or nothing"),
    ("RUN --set power=battery", "'power' cannot be 'battery': battery needs mapping=paged"),
    ("RUN --set power=scan --set validity=gecko", "'power' cannot be 'scan': scan needs validity=ram-bitmap"),
    ("DFTL --set power=scan", "scan needs mapping=ram-table"),
    ("GECKOFTL --set power=battery", "battery needs validity=ram-bitmap"),
    ("crash --ftl dftl --set power=scan", "scan needs mapping=ram-table"),
    (
        "RUN --set mapping=paged --cut-at-end",
        "page does not survive power cuts: power=nothing; power=battery or power=synchronize",
    ),
    ("RUN --set victim=fifo --set victim=greedy", "'victim' is set more than once"),
    ("GECKOFTL --set gecko.size-ratio=4 --set gecko.size_ratio=8", "is set more than once"),
    ("GECKOFTL --set gecko.partitions=129", "a block has 128 pages and cannot have more parts"),
    ("GECKOFTL --pages-per-block 1024 --set gecko.partitions=1024", "use fewer parts"),
    ("crash --ftl page --set validity=gecko --blocks 4096 --set gecko.partitions=32", "power=nothing"),
    ("GECKOFTL --pages-per-block 64 --set gecko.partitions=128", "a block has 64 pages"),
    ("crash --ftl dftl --set validity=gecko --set power=nothing --set gecko.partitions=33", "a block has 32 pages"),
    ("RUN --cache 4KiB", "have no cache of mapping entries"),
    ("compare --ftl page,fifo --workload uniform --cache 4KiB", "have no cache of mapping entries"),
    ("DFTL --cache 100", "--cache 100 B is 12 entries of 8 bytes: it can be 0 for the default, or 16 entries (128 B)"),
    ("DFTL --cache 1", "--cache 1 B is 0 entries of 8 bytes: it can be 0 for the default, or 16 entries (128 B)"),
    ("DFTL --cache 7", "--cache 7 B is 0 entries"),
    ("crash --ftl dftl --cache 7", "--cache 7 B is 0 entries"),
    ("DFTL --cache 1TiB", "below 2^32"),
    ("DFTL --cache 4KiB --set mapping.cache=64", "--cache and --set mapping.cache are the same"),
    ("crash --ftl dftl --cache 4KiB --set mapping.cache=64", "--cache and --set mapping.cache are the same"),
    (
        "DFTL --cache 1MiB",
        "a cache of 131072 mapping entries and 11468 logical pages: a cache of at most as many entries",
    ),
    ("GECKOFTL --set mapping.cache=11469", "(91744 bytes) would be right"),
    ("crash --ftl dftl --cache 1MiB", "and 1228 logical pages"),
    ("DFTL --cache many", "no size"),
    ("run --ftl geckoftl --workload uniform --capacity 1GiB --cache 1MiB", "1024 for stale pages not identified yet"),
    ("GECKOFTL --cut-at-end --set power=nothing", "power=gecko-rec would be right for its parts"),
    (
        "compare --ftl page,geckoftl --workload uniform --capacity 64MiB --cut-at-end --set power=nothing",
        "does not survive power cuts: power=nothing",
    ),
    ("compare --ftl page,nonsense --workload uniform", "known are page"),
    ("compare --ftl page,page --workload uniform", "twice"),
    ("compare --ftl , --workload uniform", ""),
    ("compare --ftl page,fifo --workload uniform --jobs 0", "--jobs"),
    ("compare --ftl page,fifo --trace /nonexistent/file", "/nonexistent/file"),
    ("compare --ftl page,fifo --workload uniform --ratio 0.99999 --capacity 64MiB", ""),
    ("compare --ftl page,dftl --workload uniform --set power=battery", "phelsuma: page: 'power' cannot be 'battery'"),
    ("crash --ftl dftl,page --set power=battery", "phelsuma: page: 'power' cannot be 'battery'"),
    ("compare --ftl page,nonsense --workload uniform --seed 2", "phelsuma: unknown FTL 'nonsense'"),
    // A parameter that some have is set for those; one that none has is not.
    ("compare --ftl page,dftl --workload uniform --set gecko.merge=two-way", "only the validity part gecko has it"),
    ("crash --ftl page,dftl --set gecko.merge=two-way", "only the validity part gecko has it"),
    ("compare --ftl page,geckoftl --workload uniform --set gecko.merge=three-way", "geckoftl: 'gecko.merge' cannot be"),
    ("compare --ftl page,geckoftl --workload uniform --set gecko.size=2", "known are mapping"),
    ("crash", "--ftl"),
    ("crash --ftl nonsense", "known are page"),
    ("CRASH --writes 0", "--writes"),
    ("CRASH --cuts 0", "--cuts"),
    ("CRASH --cuts 3 --every-op", "--every-op"),
    ("CRASH --faults nonsense", "torn-seen"),
    ("CRASH --faults ,", "torn-seen"),
    ("CRASH --depth 2 --replay 1.torn-seen", "--depth"),
    ("CRASH --nested --depth 4", "depth 4: must be from 1 to 3"),
    ("CRASH --nested --depth 1", "--nested cuts the recoveries as well and --depth 1 does not"),
    ("CRASH --depth 0", "depth 0: must be from 1 to 3"),
    ("CRASH --replay nonsense", "replay id"),
    ("CRASH --replay 1.nonsense", "torn-seen"),
    ("CRASH --replay 99999999.torn-seen", "the workload has 2332 programs and erases"),
    ("CRASH --replay 2332.torn-seen", "the workload has 2332 programs and erases"),
    ("CRASH --replay 3.partial-mixed", "is a program, and partial-mixed is a fault of erases"),
    ("CRASH --replay 30.torn-seen.99", "fewer choices"),
    ("CRASH --replay 30.torn-seen/2.torn-seen", "the recovery from 30.torn-seen has 2 programs"),
    ("CRASH --replay 4294967296.torn-seen", "replay id"),
    ("CRASH --replay 3.torn-seen/99999999.torn-seen", "the recovery from 3.torn-seen has"),
    ("crash --ftl page,fifo --replay 99999999.torn-seen", "page: no branch"),
    ("CRASH --replay 1.unstable/1.unstable/1.unstable/1.unstable", "depth 4: must be from 1 to 3"),
    (
        "CRASH --workload nonsense",
        "unknown workload 'nonsense'; known are mixed, reads, trims, hot, slow, restarts, flushes, large, skewed, wiped, closes, all",
    ),
    ("CRASH --workload mixed,nonsense", "unknown workload 'nonsense'"),
    ("CRASH --workload hot,hot", "workload 'hot' is given twice"),
    ("CRASH --workload all,reads", "workload 'reads' is given twice"),
    ("CRASH --workload all --replay 30.torn-seen", "give one --workload"),
    ("CRASH --workload hot --replay 99999999.torn-seen", "another workload, seed, FTL"),
    ("CRASH --blocks 0", "blocks"),
    ("CRASH --blocks 4", "720KiB (at least 45 blocks) would be right"),
    ("CRASH --blocks 18446744073709551615", "blocks"),
    ("CRASH --pages-per-block 0", "pages per block"),
    ("CRASH --page 0", "512"),
    ("CRASH --ratio 1", "between 0 and 1"),
    ("CRASH --ratio 0.99", ", or more --blocks"),
    ("CRASH --ratio 1e-9", "not one logical page"),
    (
        "soak --ftl geckoftl --cycles 1 --blocks 16",
        "geckoftl has too little room for logical pages on 16 blocks of 4 pages",
    ),
    ("soak --ftl geckoftl --cycles 1 --ratio 1e-9", "not one logical page"),
    ("CRASH --channels 128", "must be from 128"),
    ("CRASH --threads 0", "--threads"),
    ("CRASH --cache 4KiB", "have no cache of mapping entries"),
    ("CRASH --faults announced", "it has no battery"),
    ("crash --ftl dftl --cache 100", "--cache 100 B is 12 entries"),
    ("crash --ftl dftl --set mapping.cache=3", "16 entries or more"),
    ("crash --ftl dftl --faults torn-seen", "none of these faults meets dftl: it has a battery"),
    ("crash --ftl page,dftl --writes 20 --faults torn-seen", "none of these faults meets dftl: it has a battery"),
    ("crash --ftl dftl --writes 20 --replay 5.torn-seen", "dftl has a battery; use 5.announced"),
    ("crash --ftl dftl --writes 20 --replay 99999999.announced", "the power is cut only after a request"),
    ("crash --ftl geckoftl --set power=nothing", "geckoftl does not survive power cuts"),
    ("crash --ftl page,geckoftl --writes 20 --set power=nothing", "does not survive power cuts"),
    ("RUN --set power=gecko-rec", "gecko-rec needs mapping=paged"),
    ("DFTL --set power=gecko-rec", "gecko-rec needs validity=gecko"),
    ("crash --ftl geckoftl --set power=scan", "'power' cannot be 'scan': scan needs mapping=ram-table"),
    ("CRASH --set nonsense=1", "known are mapping"),
    ("limits", "--ratio"),
    ("limits --ratio nan", "between 0 and 1"),
    ("limits --ratio 0", "between 0 and 1"),
    ("limits --ratio 1", "between 0 and 1"),
    ("limits --ratio -1", "between 0 and 1"),
    ("limits --ratio 1.5", "between 0 and 1"),
    ("limits --ratio 0.99999999999", "too close"),
    ("limits --ratio 0.7 --pages-per-block 0", "pages per block"),
    ("limits --ratio 0.7 --pages-per-block 4294967295", "pages per block"),
    ("limits --ratio 0.7 --hot 80", "80/20"),
    ("limits --ratio 0.7 --hot 20/80", "colder"),
    ("limits --ratio 0.7 --hot nan/nan", ""),
    ("limits --ratio 0.7 --gecko 0", "--gecko 0 B, in blocks of 512 KiB, at ratio 0.7: blocks = 0 is out of range"),
    ("limits --ratio 0.7 --gecko 4KiB", "blocks = 0 is out of range: use at least 2"),
    ("limits --ratio 0.7 --gecko 1023KiB", "blocks = 1 is out of range: use at least 2"),
    ("limits --ratio 0.7 --gecko 1MiB", "--gecko 1 MiB, in blocks of 512 KiB, at ratio 0.7: spare blocks = 0.6 is out"),
    ("limits --ratio 0.999999 --gecko 1GiB", "the ratio must leave at least one, to which live pages are moved"),
    ("limits --ratio 1e-9 --gecko 1GiB", "logical pages = 0 is out of range: the ratio must leave at least one"),
    ("limits --ratio 0.7 --gecko 16000000TiB", "a mapping entry of four bytes names one of at most 2^32"),
    ("limits --ratio 0.7 --gecko 1GiB --page 0", "a page of 0 bytes: must be a power of two from 512"),
    ("limits --ratio 0.7 --gecko 1GiB --page 4095", "a page of 4095 bytes: must be a power of two from 512"),
    (
        "limits --ratio 0.7 --gecko 1GiB --partitions 3",
        "--partitions 3: it must divide the pages per block, and they are 128",
    ),
    ("limits --ratio 0.7 --gecko 1GiB --partitions 256", "--partitions 256: it must divide"),
    ("limits --ratio 0.7 --gecko 1GiB --page 512 --pages-per-block 8192 --partitions 1", "at least one entry"),
    ("limits --ratio 0.7 --gecko 1GiB --cache 0", "--cache 0 B is 0 entries of 8 bytes"),
    (
        "limits --ratio 0.7 --gecko 1GiB --cache 4MiB",
        "--cache 4 MiB is 524,288 entries of 8 bytes: with 183,500 logical",
    ),
    ("limits --ratio 0.7 --cache 4MiB", "--gecko"),
    ("trace info", "FILE"),
    ("trace info /nonexistent/file", "/nonexistent/file"),
    ("trace info .", "directory"),
    ("trace info x --workload uniform", "--workload"),
    ("trace info --workload uniform", "--pages"),
    ("trace info --workload uniform --pages 0", "1 or more would be right"),
    ("trace info --workload desktop --pages 8191", "8192 would be right"),
    ("trace info --workload uniform --pages 10 --writes 0", "--writes"),
    ("trace info --workload uniform --pages 10 --format csv", "is an option of traces"),
    ("trace info x --pages 10", "--pages"),
    ("trace info --pages 10", "--workload"),
    ("trace info /dev/null", "empty"),
    ("trace info -", ""),
    ("trace convert a b", "--to"),
    ("trace convert a b --to nonsense", "nonsense is not a trace format; use one of csv, disksim, fio3, msr"),
    ("trace convert a b --to blktrace", "blktrace can be read but not written; use one of csv, disksim, fio3, msr"),
    ("trace convert /nonexistent/file b --to csv", "/nonexistent/file"),
    (
        "trace convert a b --to fio3 --to-time-unit ms",
        "--to-time-unit: times in fio3 are always whole microseconds; disk",
    ),
    ("trace convert a b --to csv --to-time-unit s", "--to-time-unit: times in csv are always microseconds"),
    ("trace convert a b --to msr --to-time-unit ns", "--to-time-unit: times in msr are always tenths"),
    ("trace convert a b --to disksim --to-time-unit years", "s, ms, us, 100ns (filetime), ns or ps would be right"),
    ("trace generate --workload uniform --requests 5 -o -", "--pages"),
    ("trace generate --workload uniform --requests 0 --pages 10 -o -", "0 requests"),
    ("trace generate --workload uniform --requests 5 --pages 0 -o -", "pages"),
    ("trace generate --workload uniform --requests 5 --pages 18446744073709551615 -o -", "2^63"),
    ("trace generate --workload desktop --pages 8192 -o -", "desktop never ends, a number of requests would be right"),
    ("trace generate --workload media:mov --pages 1024 --requests 99999 -o /dev/null", "ends after"),
    ("trace generate --workload media:mov --pages 1023 -o -", "1024 would be right"),
    ("trace generate --workload nonsense --requests 5 --pages 10 -o -", "nonsense"),
    ("trace generate --workload mixed:pages=9-11:uniform --requests 5 --pages 10 -o -", "mixed"),
    ("trace generate --workload uniform --requests 5 --pages 10 --page 3 -o -", "power of two"),
    ("trace generate --workload uniform --requests 5 --pages 10 -o .", "directory"),
    (
        "trace generate --workload uniform --requests 5 --pages 10 -o /nonexistent/folder/file",
        "there is no folder /nonexistent/folder",
    ),
    ("trace convert a /nonexistent/folder/file --to csv", "there is no folder /nonexistent/folder"),
    ("trace generate --workload uniform --requests 5 --pages 10 -o - --json", "--json"),
];

#[test]
fn wrong_usage_is_refused_in_one_line() {
    for (line, mention) in WRONG {
        let line = line.replace("GECKOFTL", GECKOFTL).replace("DFTL", DFTL).replace("RUN", RUN).replace("CRASH", CRASH);
        // A repeated option would be refused for being repeated.
        let mut args = words(&line);
        if let Some(first) = args.iter().position(|a| a == "--writes")
            && args.iter().filter(|a| *a == "--writes").count() > 1
        {
            args.drain(first..first + 2);
        }
        let said = refused_with(2, &args);
        assert!(said.contains(mention), "{line}: {said}");
    }
}

#[test]
fn files_that_are_no_traces_are_refused_in_one_line() {
    let mut noise: Vec<u8> = Vec::new();
    let mut state = 1u64;
    for _ in 0..20_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        noise.push((state >> 56) as u8);
    }
    let head = b"time_us,device,op,offset_bytes,size_bytes\n";
    let files = [
        file("empty", b""),
        file("noise", &noise),
        file("noise.gz", &noise),
        file("noise.zst", &noise),
        file("blank", b"\n\n\n"),
        file("prose", b"It was a dark\nand stormy night.\n"),
        file("header", head),
        file("cut", &[head.as_slice(), b"0,0,write,0,4096\n1,0,wri"].concat()),
        file("garbled", &[head.as_slice(), b"0,0,write,0,4096\n1,0,write,\x1b[31mx,4096\n"].concat()),
        file("line\nbreak", b"\x00\xff\x00"),
    ];
    for path in files {
        let path = path.to_string_lossy().into_owned();
        for head in ["trace info", "run --ftl page --trace", "compare --ftl page,fifo --trace"] {
            let mut args = words(head);
            args.push(path.clone());
            refused_with(2, &args);
        }
        let out = file("untouched", b"before").to_string_lossy().into_owned();
        let mut args = words("trace convert --to csv");
        args.extend([path, out.clone()]);
        refused_with(2, &args);
        assert_eq!(std::fs::read(out).unwrap(), b"before", "a trace that fails leaves what was there");
    }
}

#[test]
fn a_drive_larger_than_the_memory_is_refused_with_the_number() {
    // 2^32 pages less a few: the most there can be, 56 GiB of memory.
    let args = words("run --ftl page --workload uniform --capacity 16383GiB --page 4KiB");
    let memory: u64 = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| text.lines().next()?.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or(u64::MAX);
    if memory / (1 << 20) >= 55 {
        skipped("this machine has the memory");
        return;
    }
    let said = refused_with(2, &args);
    assert!(said.contains("55.997 GiB") || said.contains("55.99 GiB") || said.contains("56 GiB"), "{said}");
}

#[test]
fn a_trace_that_does_not_fit_is_refused() {
    let path = tiny_trace("does-not-fit.csv");
    let line = format!("run --ftl page --trace {} --capacity 64MiB --page 64KiB --pages-per-block 128", path.display());
    let said = refused_with(2, &words(&line));
    assert!(said.contains("blocks") || said.contains("fit"), "{said}");
}
