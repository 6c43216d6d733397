//! Every FTL is driven, stepped back, and cut.

use crate::{Page, presets, small, trace};
use serde_json::{Value, json};

#[test]
fn every_preset_writes_and_is_what_it_was_when_it_is_stepped_back() {
    for ftl in presets() {
        let mut page = Page::open(small(&ftl));
        page.run(1_500);
        let then = page.digest();
        page.run(2_000);
        let later = page.digest();
        assert_ne!(then, later, "{ftl}");
        let step = &then["step"];
        page.ask(&json!({ "do": "go", "step": step }));
        assert_eq!(page.digest(), then, "{ftl}");
        page.ask(&json!({ "do": "go", "step": later["step"] }));
        assert_eq!(page.digest(), later, "{ftl}");
    }
}

#[test]
fn as_many_pages_are_live_as_the_host_has_written() {
    for ftl in presets() {
        let mut page = Page::open(small(&ftl));
        page.run(1_000);
        let (drive, cells) =
            page.answer(&json!({ "do": "open", "settings": small(&ftl), "filled": true, "fit": true }));
        let live = |cells: &[u8]| cells[..96 * 16].iter().filter(|cell| **cell == 1).count() as u64;
        let logical = drive["drive"]["logical_pages"].as_u64().unwrap();
        assert_eq!(live(&cells), logical, "{ftl}");
        page.run(1_000);
        let (_, cells) = page.answer(&json!({ "do": "look" }));
        assert_eq!(live(&cells), logical, "{ftl}");
        page.ask(&json!({ "do": "act", "act": "trim", "first": 8, "pages": 10 }));
        let (_, cells) = page.answer(&json!({ "do": "look" }));
        assert_eq!(live(&cells), logical - 10, "{ftl}");
        let place = page.ask(&json!({ "do": "page", "page": 3 }));
        assert_eq!(place["copies"][0]["live"], true, "{ftl}: {place}");
        assert_eq!(page.ask(&json!({ "do": "page", "page": 9 }))["holds"], false, "{ftl}");
    }
}

/// Each fault, where a program or an erase meets it; then the drive goes on.
fn cut_everywhere(ftl: &str) -> u32 {
    let mut cuts = 0;
    let mut page = Page::open(small(ftl));
    let faults = page.ask(&json!({ "do": "list" }))["faults"].as_array().unwrap().clone();
    assert_eq!(faults.len(), 13);
    for fault in &faults {
        let moments: &[&str] = if fault["of"] == "erase" { &["erase"] } else { &["host", "moved", "metadata", "any"] };
        for moment in moments {
            let arm = json!({ "do": "act", "act": "arm", "moment": moment, "skip": 3, "fault": fault["name"] });
            page.ask(&arm);
            let state = page.run(3_000);
            if state["is_on"] == true {
                // Such a moment does not come.
                page.act("disarm");
                continue;
            }
            cuts += 1;
            assert_eq!(state["met"][0]["fault"], fault["name"], "{ftl} {moment}");
            let nested =
                json!({ "do": "act", "act": "recover-until", "moment": "any", "skip": 1, "fault": "torn-seen" });
            page.ask(&nested);
            let state = page.act("recover");
            assert_eq!(state["wrong"], Value::Null, "{ftl} {fault} {moment}");
            assert!(state["recovered"]["checked"].as_u64() > Some(0), "{state}");
            assert_eq!(page.ask(&json!({ "do": "examine" }))["finding"], Value::Null, "{ftl} {fault} {moment}");
            page.run(200);
        }
    }
    cuts
}

#[test]
fn a_cut_at_each_fault_recovers_and_the_drive_goes_on() {
    // Without metadata on flash, with some, and with blocks that are merged.
    for (ftl, least) in [("page", 29), ("geckoftl", 37), ("last++", 29), ("ftl-mm:fast", 29), ("phelsuma", 37)] {
        let cuts = cut_everywhere(ftl);
        assert!(cuts >= least, "{ftl}: {cuts}");
    }
}

#[test]
fn a_battery_is_told() {
    let mut page = Page::open(small("dftl"));
    page.run(500);
    let (refused, _) = page.answer(&json!({ "do": "act", "act": "arm", "moment": "any", "fault": "torn-seen" }));
    assert!(refused["error"].as_str().unwrap().contains("battery"), "{refused}");
    assert_eq!(page.act("pull")["is_on"], false);
    assert_eq!(page.ask(&json!({ "do": "run", "steps": 5 }))["done"], 0, "without power nothing goes on");
    let state = page.act("recover");
    assert_eq!((&state["wrong"], &state["recovered"]["battery_saved"]), (&Value::Null, &json!(true)));
    page.run(500);
}

#[test]
fn a_cut_is_part_of_the_history() {
    let mut page = Page::open(small("geckoftl"));
    page.run(700);
    page.ask(&json!({ "do": "act", "act": "arm", "moment": "moved", "skip": 2, "fault": "torn-unseen" }));
    let cut = page.run(5_000)["step"].as_u64().unwrap();
    page.act("recover");
    page.ask(&json!({ "do": "act", "act": "workload", "workload": "uniform" }));
    page.run(900);
    let then = page.digest();
    let fill = page.ask(&json!({ "do": "look" }))["state"]["fill"].as_u64().unwrap();
    for step in [0, fill, cut - 1, cut, cut + 1, cut + 2, cut + 300] {
        page.ask(&json!({ "do": "go", "step": step }));
        assert_eq!(page.digest()["step"], step.max(fill));
    }
    // Before the power comes on there is a next step, though the power is off.
    let state = page.ask(&json!({ "do": "go", "step": cut }))["state"].clone();
    assert_eq!((&state["is_on"], &state["goes_on"]), (&json!(false), &json!(true)));
    assert_eq!(page.run(5)["is_on"], true);
    page.ask(&json!({ "do": "go", "step": then["step"] }));
    assert_eq!(page.digest(), then);
    // Something else is done there: what came behind it is gone.
    page.ask(&json!({ "do": "go", "step": cut - 5 }));
    let state = page.ask(&json!({ "do": "act", "act": "disarm" }))["state"].clone();
    assert_eq!(state["furthest"], cut - 4);
}

#[test]
fn history_and_counts_begin_where_the_drive_is_filled() {
    for ftl in ["page", "dftl", "oracle"] {
        let mut page = Page::default();
        page.ask(&json!({ "do": "open", "settings": small(ftl), "fit": true }));
        let (refused, _) = page.answer(&json!({ "do": "act", "act": "pull" }));
        assert!(refused["error"].as_str().unwrap().contains("not filled"), "{refused}");
        // One run ends the fill and goes on behind it.
        let state = page.run(3_000);
        let mut other = Page::open(small(ftl));
        let fresh = other.ask(&json!({ "do": "look" }))["state"].clone();
        let fill = fresh["fill"].as_u64().unwrap();
        assert_eq!((&fresh["cached"], &fresh["asked"]["written"]), (&json!([0, 0]), &json!(0)), "{ftl}");
        assert_eq!(other.run(3_000 - fill), state, "{ftl}");
        let first = other.ask(&json!({ "do": "go", "step": fill - 1 }))["state"].clone();
        assert_eq!(first["step"], fill, "{ftl}");
        assert_eq!(other.act("disarm")["asked"], fresh["asked"], "{ftl}");
        assert_eq!(other.run(3_000 - fill)["flash"], state["flash"], "{ftl}");
        let cached = state["cached"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum::<u64>();
        assert_eq!(cached > 0, ftl == "dftl", "{ftl}");
    }
}

#[test]
fn the_next_collection_is_found_and_not_passed() {
    for ftl in ["page", "fast"] {
        let mut page = Page::open(small(ftl));
        let mut collections = 0;
        for _ in 0..5 {
            assert_eq!(page.ask(&json!({ "do": "seek", "steps": 5_000 }))["found"], true);
            let (answer, bytes) = page.answer(&json!({ "do": "step" }));
            assert_eq!(bytes.len() as u64, answer["operations"].as_u64().unwrap() * 20);
            // The purpose is the second byte of each operation: collection or merge.
            collections += u32::from(bytes.chunks(20).any(|operation| [1, 5].contains(&operation[1])));
        }
        assert_eq!(collections, 5, "{ftl}");
    }
}

#[test]
fn what_cannot_be_is_said_in_a_line() {
    let mut page = Page::default();
    let mut refused = |question: Value| page.answer(&question).0["error"].as_str().unwrap_or_default().to_string();
    assert!(refused(json!({ "do": "look" })).contains("no drive"));
    assert!(refused(json!({ "do": "fly" })).contains("unknown variant"));
    for (settings, about) in [
        (json!({ "ftl": "pag" }), "pag"),
        (json!({ "blocks": 4, "pages_per_block": 4 }), "16 pages of flash are too few for page at any ratio"),
        (json!({ "ratio": 1.5 }), "ratio"),
        (json!({ "ratio": 0.99 }), "do not fit"),
        (json!({ "blocks": 1 << 16 }), "can be shown"),
        (json!({ "blocks": 1 << 20 }), "blocks: 1048576; a whole number from 4 to 65536"),
        (json!({ "seed": 1.5 }), "seed: 1.5; a whole number from 0 to"),
        (json!({ "cache": -1 }), "cache: -1; a whole number from 0 to 1048576"),
        (json!({ "channels": null }), "channels: no number;"),
        (json!({ "ratio": null }), "logical / physical: no number;"),
        (json!({ "pages_per_block": 33 }), "power of two"),
        (json!({ "workload": "zipf:x" }), "exponent"),
        (json!({ "workload": "lab:x" }), "unknown workload"),
        (json!({ "set": ["victim"] }), "victim=fifo"),
        (json!({ "set": ["victim=nobody"] }), "victim"),
    ] {
        let fit = settings.get("ratio").is_none();
        let error = refused(json!({ "do": "open", "settings": settings, "fit": fit }));
        assert!(error.contains(about), "{settings}: {error}");
    }
    let mut page = Page::open(small("page"));
    for question in [
        json!({ "do": "act", "act": "trim", "first": 900, "pages": 4_000_000_000u32 }),
        json!({ "do": "act", "act": "arm", "moment": "any", "fault": "torn-seen", "skip": -1 }),
        json!({ "do": "act", "act": "arm", "moment": "never", "fault": "torn-seen" }),
        json!({ "do": "act", "act": "arm", "moment": "erase", "fault": "torn-seen" }),
        json!({ "do": "act", "act": "recover" }),
        json!({ "do": "block", "block": 96 }),
        json!({ "do": "page", "page": 1_000_000 }),
    ] {
        let error = page.answer(&question).0["error"].as_str().unwrap().to_string();
        assert!(!error.contains(['{', '"']), "{question}: {error}");
    }
    page.run(10);
}

#[test]
fn every_preset_serves_a_trace_and_is_what_it_was_when_it_is_stepped_back() {
    for ftl in presets() {
        let mut page = Page::default();
        let (told, _) = page.answer_with(&json!({ "do": "trace", "name": "a.csv" }), trace().as_bytes());
        assert_eq!(told["error"], Value::Null);
        let mut settings = small(&ftl);
        settings["workload"] = json!("trace:a.csv");
        let (opened, _) = page.answer(&json!({ "do": "open", "settings": settings, "filled": true, "fit": true }));
        if ftl == "static-quota" {
            assert!(opened["error"].as_str().unwrap().contains("a trace has no classes"), "{opened}");
            continue;
        }
        page.run(900);
        let then = page.digest();
        page.run(1_500);
        page.ask(&json!({ "do": "go", "step": then["step"] }));
        assert_eq!(page.digest(), then, "{ftl}");
        assert_eq!(page.run(100_000)["ended"], true, "{ftl}");
        page.ask(&json!({ "do": "act", "act": "workload", "workload": "trace:a.csv" }));
        assert_eq!(page.run(100)["ended"], false, "{ftl}: once more");
    }
}

#[test]
fn a_trace_that_is_wrong_is_refused_with_its_line_and_changes_nothing() {
    let mut page = Page::default();
    page.drop_trace("good.csv", trace().as_bytes(), small("page"));
    let heading = "time_us,device,op,offset_bytes,size_bytes";
    let mut many = String::from(heading);
    // Each is read as 1,024 requests.
    (0..300).for_each(|n| many += &format!("\n{n},0,write,0,{}", 1u64 << 40));
    let mut noise: Vec<u8> = (0..4_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    noise[0] = 1;
    for (text, about) in [
        (format!("{heading}\n0,0,write,0,4096\n1,0,fly,0,4096\n").into_bytes(), "bad.csv:3: the op is fly"),
        (format!("{heading}\n0,0,write,0,4096\n1,0,write\n").into_bytes(), "bad.csv:3: "),
        (format!("{heading}\n0,0,write,x,4096\n").into_bytes(), "bad.csv:2: "),
        (heading.as_bytes().to_vec(), "no usable csv request"),
        (Vec::new(), "is empty"),
        (b"hello world\nmore\n".to_vec(), "such as time_us,op,offset_bytes,size_bytes"),
        (b"a,b,c\nw,8,16\nr,9,24\n".to_vec(), "such as time_us,op,offset_bytes,size_bytes"),
        (noise, "bad.csv: "),
        (vec![b' '; (2 << 20) + 1], "over 2 MiB"),
        (many.into_bytes(), "262144"),
    ] {
        let shown = String::from_utf8_lossy(&text[..text.len().min(120)]).to_string();
        let (told, _) = page.answer_with(&json!({ "do": "trace", "name": "bad.csv" }), &text);
        assert!(told["error"].as_str().is_some_and(|error| error.contains(about)), "{shown}: {told}");
        let error = told["error"].to_string();
        assert!(!error.contains("--") && !error.contains("phelsuma list"), "an option that no page has: {error}");
    }
    let mut settings = small("page");
    settings["workload"] = json!("trace:bad.csv");
    let (told, _) = page.answer(&json!({ "do": "open", "settings": settings }));
    assert!(told["error"].as_str().unwrap().contains("bad.csv is not here"), "{told}");
    page.run(10);
    settings["workload"] = json!("trace:good.csv");
    page.ask(&json!({ "do": "open", "settings": settings, "filled": true }));
}

#[test]
fn a_trace_is_read_in_other_formats_and_in_utf_16() {
    let read = |text: &[u8]| {
        let (told, _) = Page::default().answer_with(&json!({ "do": "trace", "name": "a" }), text);
        (told["format"].as_str().map(String::from), told["requests"].as_u64())
    };
    let plain = b"time_us,op,address_bytes,size_bytes\n0,write,0,4096\n5,write,8192,4096\n9,read,0,512\n";
    assert_eq!(read(plain), (Some("columns".into()), Some(3)));
    let wide: Vec<u8> = trace().encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(read(&wide), (Some("csv".into()), Some(4_008)));
    let blktrace = b"  8,0    0        1     0.000000000  1234  Q   W 2048 + 8 [dd]\n";
    assert_eq!(read(blktrace), (Some("blkparse".into()), Some(1)));
}

#[test]
fn log_blocks_are_seen_by_the_writes_that_they_take() {
    for (ftl, has_partitions) in [("last++", true), ("fast", false)] {
        let opened = Page::default().ask(&json!({ "do": "open", "settings": small(ftl), "fit": true }));
        assert_eq!(opened["drive"]["has_partitions"], has_partitions);
    }
    let logs = |ftl: &str| {
        let mut settings = small(ftl);
        (settings["blocks"], settings["workload"]) = (json!(256), json!("mixed:pages=1-16:zipf:1.2"));
        let mut page = Page::open(settings);
        let state = page.run(3_000);
        let (_, cells) = page.answer(&json!({ "do": "look" }));
        let mut logs = [0u64; 4];
        cells[256 * 16..].chunks(8).for_each(|block| logs[usize::from(block[0] >> 4)] += 1);
        (logs, state)
    };
    let ([_, cold, hot, sequential], state) = logs("last++");
    assert_eq!(state["counters"]["last_hot_log_blocks"], hot);
    assert!(cold > 0 && hot > 0 && sequential > 0, "{cold} {hot} {sequential}");
    let ([_, log, hot, sequential], _) = logs("fast");
    assert!(log > 0 && hot + sequential == 0, "{log}");
    assert_eq!(logs("page").0, [256, 0, 0, 0]);
}

#[test]
fn an_oracle_whose_host_never_writes_is_filled_and_serves_reads() {
    let mut settings = small("oracle");
    for workload in ["mixed:read=100:uniform", "mixed:read=99.999,trim=0.001:uniform"] {
        settings["workload"] = json!(workload);
        let mut page = Page::open(settings.clone());
        let state = page.run(2_000);
        assert_eq!(state["asked"]["written"], 0, "{workload}");
        // Another host writes, and is foreseen.
        page.ask(&json!({ "do": "act", "act": "workload", "workload": "zipf:0.9" }));
        assert_eq!(page.run(2_000)["asked"]["written"], 2_000);
    }
}

#[test]
fn drives_of_one_host_are_level_whatever_befalls_one_of_them() {
    // An oracle's drive is filled page by page.
    let mut pages: Vec<Page> = ["geckoftl", "page", "oracle"].map(|ftl| Page::open(small(ftl))).into();
    let host = |page: &mut Page| {
        let state = page.ask(&json!({ "do": "look" }))["state"].clone();
        state["host"].as_u64().unwrap() - state["fill"].as_u64().unwrap()
    };
    let workload = |page: &mut Page, workload: &str| {
        page.ask(&json!({ "do": "act", "act": "workload", "workload": workload }));
    };
    pages[0].ask(&json!({ "do": "act", "act": "arm", "moment": "moved", "skip": 2, "fault": "torn-seen" }));
    pages[0].run(5_000);
    let cut = host(&mut pages[0]);
    for page in &mut pages {
        let fill = page.ask(&json!({ "do": "look" }))["state"]["fill"].as_u64().unwrap();
        page.ask(&json!({ "do": "level", "host": fill + cut }));
        assert_eq!(host(page), cut);
        // Without power the host goes on as soon as it can.
        workload(page, "uniform");
    }
    pages[0].act("recover");
    for page in &mut pages {
        page.run(700);
        workload(page, "sequential");
        page.run(300);
        assert_eq!(host(page), cut + 1_002);
    }
    let digests: Vec<Value> = pages.iter_mut().map(Page::digest).collect();
    for done in [0, 5, cut - 1, cut, cut + 1, cut + 702, cut + 1_002] {
        for page in &mut pages {
            let fill = page.ask(&json!({ "do": "look" }))["state"]["fill"].as_u64().unwrap();
            page.ask(&json!({ "do": "level", "host": fill + done }));
            assert_eq!(host(page), done);
        }
    }
    assert_eq!(pages.iter_mut().map(Page::digest).collect::<Vec<Value>>(), digests);
    // What is done in the past of one is to be forgotten by the others.
    let fill = pages[1].ask(&json!({ "do": "look" }))["state"]["fill"].as_u64().unwrap();
    pages[1].ask(&json!({ "do": "level", "host": fill + cut + 100 }));
    let state = pages[1].ask(&json!({ "do": "forget" }))["state"].clone();
    assert_eq!(state["furthest"], state["step"]);
    pages[1].run(900);
    assert_eq!(pages[1].ask(&json!({ "do": "look" }))["state"]["workload"], "uniform");
}

#[test]
fn a_block_and_a_place_in_it_are_of_one_moment() {
    let mut page = Page::open(small("page"));
    page.run(700);
    let (told, cells) = page.answer(&json!({ "do": "block", "block": 3, "index": 5 }));
    let key = told["pages"][5]["key"].as_u64().unwrap();
    let place = page.ask(&json!({ "do": "page", "page": key }));
    assert_eq!((&told["place"]["copies"], &told["drive"]["step"]), (&place["copies"], &place["step"]));
    assert_eq!(told["pages"][5]["cell"], cells[3 * 16 + 5]);
    assert_eq!(told["drive"]["step"], page.digest()["step"]);
    assert_eq!(page.ask(&json!({ "do": "block", "block": 3 }))["place"], Value::Null);
}
