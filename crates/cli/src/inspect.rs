//! `phelsuma inspect`: the content of an image file. It works on a view, and changes nothing.

use crate::create::image_failure;
use crate::errors::{Failure, Outcome};
use crate::table::number;
use crate::{output, table};
use phelsuma_nand::{Kind, Nand};
use phelsuma_options::{count, memory, size};
use phelsuma_serve::image::{Census, ImageNand};
use serde_json::{Value, json};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Options of `inspect`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The image file
    image: PathBuf,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    let wrong = |error| image_failure(&args.image, &error);
    let mut nand = ImageNand::view(&args.image).map_err(wrong)?;
    memory::affordable(nand.geometry())?;
    let census = nand.census().map_err(|error| Failure::Failed(format!("{}: {error}", args.image.display())))?;
    // Where it cannot be told how much of the file is holes, it is taken to have none.
    let disk_bytes = std::fs::metadata(&args.image).map_or(nand.file_bytes(), |meta| meta.blocks() * 512);
    match args.json {
        true => output::json(&as_json(args, &nand, &census, disk_bytes)),
        false => output::print(&as_text(args, &nand, &census, disk_bytes)),
    }
}

fn name_of(kind: Option<Kind>) -> &'static str {
    match kind {
        None => "several",
        Some(Kind::User) => "user",
        Some(Kind::Tombstone) => "tombstone",
        Some(Kind::Anchor) => "anchor",
        Some(Kind::Translation) => "translation",
        Some(Kind::Bitmap) => "bitmap",
        Some(Kind::Gecko) => "gecko",
        Some(Kind::ValidityLog) => "validity-log",
        Some(Kind::Map) => "map",
        Some(Kind::Summary) => "summary",
        Some(Kind::Tree) => "tree",
        Some(Kind::BlockLog) => "block-log",
        Some(Kind::MappingLog) => "mapping-log",
    }
}

fn as_json(args: &Args, nand: &ImageNand, census: &Census, disk_bytes: u64) -> Value {
    let (g, config) = (nand.geometry(), nand.config());
    let [mapping, validity, victim, placement] = config.composition.names();
    let [metadata, power, collection] = config.composition.other_names();
    let blocks = census
        .blocks
        .iter()
        .map(|of| json!({ "kind": name_of(of.kind), "blocks": of.blocks, "full": of.full, "pages": of.pages }));
    let runs = census.gecko_runs.iter().map(|run| {
        json!({
            "level": run.level, "pages": run.pages, "entries": run.entries,
            "first_flush": run.flushes.0, "last_flush": run.flushes.1,
        })
    });
    json!({
        "schema": "phelsuma.inspect/1",
        "image": args.image.display().to_string(),
        "ftl": config.name,
        "composition": {
            "mapping": mapping, "validity": validity, "victim": victim, "placement": placement,
            "metadata": metadata, "power": power, "collection": collection,
            "wear": config.composition.name_of_wear(),
        },
        "seed": config.seed,
        "geometry": {
            "capacity_bytes": g.capacity_bytes(),
            "logical_bytes": u64::from(config.logical_pages) * u64::from(g.page_bytes()),
            "page_bytes": g.page_bytes(),
            "pages_per_block": g.pages_per_block(),
            "blocks": g.blocks(),
            "channels": g.channels(),
            "dies": g.dies_per_channel(),
        },
        "spare_slots": nand.spare_slots(),
        "file_bytes": nand.file_bytes(),
        "disk_bytes": disk_bytes,
        "opened": nand.session() - 1,
        "closed": nand.rolled_back().is_none(),
        "blocks": blocks.collect::<Vec<Value>>(),
        "blank_blocks": census.blank_blocks,
        "bad_blocks": census.bad_blocks,
        "torn_blocks": census.torn_blocks,
        "unreadable_pages": census.unreadable_pages,
        "erases": {
            "total": census.wear.total, "min": census.wear.min, "max": census.wear.max,
            "mean": census.wear.mean, "stddev": census.wear.stddev,
        },
        "gecko_runs": runs.collect::<Vec<Value>>(),
    })
}

fn as_text(args: &Args, nand: &ImageNand, census: &Census, disk_bytes: u64) -> String {
    let (g, config) = (nand.geometry(), nand.config());
    let [mapping, validity, victim, placement] = config.composition.names();
    let [metadata, power, collection] = config.composition.other_names();
    let logical = u64::from(config.logical_pages) * u64::from(g.page_bytes());
    let mut text = format!(
        "{}: {}: {mapping}, {validity}, {victim}, {placement}, metadata {metadata}, power {power}, collection {collection}; seed {}\n",
        args.image.display(),
        config.name,
        config.seed
    );
    text += &format!(
        "{} for the host on {} of flash: {} blocks of {} pages of {}; channels: {}, dies on each: {}\n",
        size::show(logical),
        size::show(g.capacity_bytes()),
        count(g.blocks().into()),
        g.pages_per_block(),
        size::show(g.page_bytes().into()),
        g.channels(),
        g.dies_per_channel()
    );
    let closed = if nand.rolled_back().is_none() { "closed cleanly" } else { "not closed cleanly" };
    text += &format!(
        "file: {} long, {} on disk; {} spare slots; opened {}, {closed}\n",
        size::show(nand.file_bytes()),
        size::show(disk_bytes),
        nand.spare_slots(),
        if nand.session() == 2 { "once".to_string() } else { format!("{} times", nand.session() - 1) }
    );
    let mut blocks = table::numbers(&["blocks of", "blocks", "full", "pages", "filled, %"]);
    for of in &census.blocks {
        let room = u64::from(of.blocks) * u64::from(g.pages_per_block());
        let filled = 100.0 * of.pages as f64 / room as f64;
        let counts = [count(of.blocks.into()), count(of.full.into()), count(of.pages)];
        let [all, full, pages] = counts;
        blocks.add_row([name_of(of.kind).to_string(), all, full, pages, number(filled)]);
    }
    let none = String::new;
    blocks.add_row(["nothing".to_string(), count(census.blank_blocks.into()), none(), none(), none()]);
    text += &format!("{blocks}\n");
    let odd = [
        (u64::from(census.bad_blocks), "bad blocks"),
        (u64::from(census.torn_blocks), "blocks with a torn erase"),
        (census.unreadable_pages, "unreadable pages"),
    ];
    let odd: Vec<String> = odd.iter().map(|(n, what)| format!("{what}: {}", count(*n))).collect();
    text += &format!("{}\n", odd.join(", "));
    let w = &census.wear;
    text += &format!(
        "erases: {}; per block {} to {}, mean {:.2}, standard deviation {:.2}\n",
        count(w.total),
        w.min,
        w.max,
        w.mean,
        w.stddev
    );
    if !census.gecko_runs.is_empty() {
        let mut runs = table::numbers(&["Gecko run of level", "pages", "entries", "first flush", "last flush"]);
        for run in &census.gecko_runs {
            let (first, last) = run.flushes;
            let counts = [count(run.pages.into()), count(run.entries), count(first), count(last)];
            let [pages, entries, first, last] = counts;
            runs.add_row([run.level.to_string(), pages, entries, first, last]);
        }
        text += &format!("{runs}\n");
    }
    text
}
