#![allow(missing_docs)]
use phelsuma_drive::lab::*;
use phelsuma_ftl::*;
use phelsuma_nand::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let name = &a[1];
    let writes: u32 = a[2].parse().unwrap();
    let depth: u32 = a[3].parse().unwrap();
    let (ch, dies): (u32, u32) = (a[4].parse().unwrap(), a[5].parse().unwrap());
    let geometry = Geometry::new(512, 32, 64, ch, dies).unwrap();
    let ratio = if ch * dies > 1 { 0.4 } else { 0.6 };
    let logical = (geometry.pages() as f64 * ratio) as u32;
    let points = match a.get(6).map(|s| s.as_str()) {
        None | Some("every") => Points::Every,
        Some(s) => s.parse().map(Points::Some).unwrap_or_else(|_| Points::Replay(s.parse().unwrap())),
    };
    let t = std::time::Instant::now();
    let mut ftl = Config::new(name, Preset::named(name).unwrap().composition, logical, 1);
    #[cfg(feature = "mutants")]
    if let Some(n) = a.get(7) {
        ftl.forgets = Some(Barrier::ALL[n.parse::<usize>().unwrap()]);
        println!("forgets {:?}", ftl.forgets);
    }
    let _ = &mut ftl;
    let r = sweep(
        &LabConfig {
            geometry,
            timing: Timing::preset("gecko").unwrap(),
            ftl,
            writes,
            points,
            faults: Fault::all(),
            depth,
            seed: 1,
            threads: 2,
        },
        |_| {},
    )
    .unwrap();
    println!("{}", serde_json::to_string_pretty(&r).unwrap());
    println!("{:?}", t.elapsed());
}
