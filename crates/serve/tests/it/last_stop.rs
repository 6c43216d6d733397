//! How a drive in an image stopped last: what a kill costs a drive whose battery does not hear of it is said, and nothing
//! of the kind where it costs nothing.

use crate::common::PAGE;
use phelsuma_ftl::{Config, Preset};
use phelsuma_nand::{Geometry, Time};
use phelsuma_serve::device::{Host, ImageDrive, Served, Serving};
use phelsuma_serve::image::{BATTERY_SAVED_NOTHING, CreateOptions, Durability, ImageFile, ImageNand, LastStop};
use std::path::{Path, PathBuf};

struct Alone;

impl Host for Alone {
    fn log(&self, _: &str) {}
    fn drop_connections(&self) {}
    fn exit(&self, _: u8) {}
}

fn made(ftl: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("last-stop-{ftl}.img"));
    let _ = std::fs::remove_file(&path);
    let mut composition = Preset::named(ftl).unwrap().composition;
    if composition.has_cache() {
        composition.set("mapping.cache", "64").unwrap();
    }
    let geometry = Geometry::new(PAGE as u32, 32, 128, 1, 1).unwrap();
    let config = Config::new(ftl, composition, 1000, 1);
    let mut nand = ImageNand::create(&path, &geometry, &config, &CreateOptions::default()).unwrap();
    let (mut ftl, _) = nand.format().unwrap();
    ftl.close(&mut nand, Time::ZERO).unwrap();
    ImageFile::sync_with_name(&path).unwrap();
    nand.close().unwrap();
    path
}

fn served(path: &Path) -> Served {
    let drive = ImageDrive { path: path.to_path_buf(), durability: Durability::Process };
    Served::open(drive, &Serving::default(), Box::new(Alone)).unwrap()
}

/// As a recovery on a view tells, which changes nothing.
fn last_stop(path: &Path) -> LastStop {
    let mut nand = ImageNand::view(path).unwrap();
    let (_, report) = nand.recover().unwrap();
    LastStop::of(&nand, &report)
}

fn written(served: &Served) {
    let connection = served.connect();
    served.write(&connection, 0, &[7; 20 * PAGE], true).unwrap();
    served.flush(&connection).unwrap();
}

#[test]
fn a_battery_that_did_not_hear_of_the_last_stop_has_lost_data_and_that_is_said() {
    for ftl in ["dftl", "mu-ftl-pvb"] {
        let path = made(ftl);
        assert_eq!(last_stop(&path), LastStop::InGoodOrder, "{ftl}");
        // Killed before anything was written: there was nothing to lose.
        drop(served(&path));
        assert_eq!(last_stop(&path).name(), "unclean", "{ftl}");

        let drive = served(&path);
        assert!(!drive.about().contains("lost"), "{}", drive.about());
        written(&drive);
        drop(drive);
        let stop = last_stop(&path);
        assert_eq!(stop.name(), "not-saved-by-battery", "{ftl}");
        assert!(matches!(stop, LastStop::Unsaved(back) if back.programs >= 20), "{ftl}: {stop:?}");
        let drive = served(&path);
        assert!(drive.about().contains(BATTERY_SAVED_NOTHING), "{}", drive.about());

        written(&drive);
        assert!(drive.close());
        drop(drive);
        assert_eq!(last_stop(&path), LastStop::InGoodOrder, "{ftl}");
    }
}

#[test]
fn a_battery_that_was_told_of_the_cut_has_lost_nothing() {
    for ftl in ["dftl", "mu-ftl-pvb"] {
        let path = made(ftl);
        let drive = served(&path);
        written(&drive);
        drive.cut(None, false);
        drop(drive);
        assert_eq!(last_stop(&path).name(), "saved-by-battery", "{ftl}");
        let drive = served(&path);
        assert!(drive.about().contains("with what its battery saved"), "{}", drive.about());
        // Killed before anything was written: what was saved still holds.
        drop(drive);
        assert_eq!(last_stop(&path).name(), "saved-by-battery", "{ftl}");
        let drive = served(&path);
        let mut found = [0; 20 * PAGE];
        drive.read(&drive.connect(), 0, &mut found).unwrap();
        assert!(found == [7; 20 * PAGE], "{ftl}: what the battery saved is gone");
    }
}

#[test]
fn without_a_battery_a_kill_costs_nothing_and_a_drive_says_how_it_came_up_last() {
    let path = made("geckoftl");
    let drive = served(&path);
    assert!(drive.about().ends_with("was closed cleanly"), "{}", drive.about());
    written(&drive);
    drive.cut(None, true);
    // It is back.
    let about = drive.about();
    assert!(
        about.contains("recovered after a power cut or a kill (") && about.ends_with("none rolled back)"),
        "{about}"
    );
    assert_eq!(drive.look().about, about);
    written(&drive);
    drop(drive);
    assert!(matches!(last_stop(&path), LastStop::Unclean(back) if back.programs >= 20));
}
