//! The library as the README shows it: the lines between the marks below are there to the letter.

// README begins
use phelsuma_drive::{Input, RunConfig, run};
use phelsuma_trace::Workload;

fn recovery_us(cache_entries: &str) -> Result<f64, Box<dyn std::error::Error>> {
    let mut config = RunConfig::new("geckoftl", Input::Workload(Workload::parse("zipf:0.99")?))?;
    config.composition.set("mapping.cache", cache_entries)?;
    config.shape.capacity_bytes = Some(128 << 20);
    config.cut_at_end = true; // the power fails, and a fresh FTL recovers
    let result = run(&config, &|_| true)?;
    Ok(result.recovery.ok_or("no recovery")?.simulated_us)
}
// README ends

#[test]
fn the_library_is_used_as_the_readme_shows_it() {
    let here = include_str!("readme.rs");
    let (_, rest) = here.split_once("// README begins\n").unwrap();
    let (shown, _) = rest.split_once("// README ends\n").unwrap();
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    assert!(std::fs::read_to_string(readme).unwrap().contains(shown), "README.md has other lines than\n{shown}");
    assert!(recovery_us("512").unwrap() > 0.0);
}
