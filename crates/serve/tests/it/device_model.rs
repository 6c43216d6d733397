//! Random requests of any offset and length against a plain array of bytes, with power cuts between and within them.

use crate::common::{Model, PAGE, device, drive, mapped, pattern};
use phelsuma_nand::Time;
use phelsuma_nand::sim::{EraseFault, ProgramFault};
use phelsuma_serve::device::{Cut, Device, DeviceError, MemoryDrive, MemoryFlash, Off, Open};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Read {
        offset: usize,
        length: usize,
    },
    Extents {
        offset: usize,
        length: usize,
        only_first: bool,
    },
    Write {
        offset: usize,
        length: usize,
        salt: u8,
        fua: bool,
    },
    Trim {
        offset: usize,
        length: usize,
        fua: bool,
    },
    Zero {
        offset: usize,
        length: usize,
        may_trim: bool,
        fua: bool,
    },
    Flush,
    Background,
    /// Closed and opened again.
    Close,
    /// The power fails between two requests.
    CutNow,
    /// The power fails after so many operations from now.
    CutAfter {
        operations: u64,
        program: usize,
        erase: usize,
    },
}

const SIZE: usize = 1000 * PAGE;

fn range() -> impl Strategy<Value = (usize, usize)> {
    let length = prop_oneof![4 => 0..3 * PAGE, 2 => 0..40 * PAGE, 1 => (0..40usize).prop_map(|pages| pages * PAGE)];
    let offset = prop_oneof![3 => 0..SIZE, 2 => (0..1000usize).prop_map(|page| page * PAGE), 1 => 0..8 * PAGE];
    (offset, length).prop_map(|(offset, length)| (offset, length.min(SIZE - offset)))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => range().prop_map(|(offset, length)| Step::Read { offset, length }),
        2 => (range(), any::<bool>()).prop_map(|((offset, length), only_first)| Step::Extents { offset, length, only_first }),
        8 => (range(), any::<u8>(), any::<bool>())
            .prop_map(|((offset, length), salt, fua)| Step::Write { offset, length, salt, fua }),
        2 => (range(), any::<bool>()).prop_map(|((offset, length), fua)| Step::Trim { offset, length, fua }),
        2 => (range(), any::<bool>(), any::<bool>())
            .prop_map(|((offset, length), may_trim, fua)| Step::Zero { offset, length, may_trim, fua }),
        1 => Just(Step::Flush),
        1 => Just(Step::Background),
    ]
}

fn step_with_cuts() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => step(),
        1 => Just(Step::Close),
        1 => Just(Step::CutNow),
        2 => (0..200u64, 0..ProgramFault::ALL.len(), 0..EraseFault::ALL.len())
            .prop_map(|(operations, program, erase)| Step::CutAfter { operations, program, erase }),
    ]
}

/// A read of all there is, on flash that it may make the FTL write to. So no cut is planned any more.
fn whole(device: &mut Device<MemoryFlash>) -> Vec<u8> {
    device.stay_on();
    let mut found = vec![0xaa; SIZE];
    device.read(0, &mut found, Time::ZERO).unwrap();
    found
}

fn reopened(drive: &MemoryDrive, device: Device<MemoryFlash>) -> Device<MemoryFlash> {
    Device::new(drive.power_on(device.into_flash()).unwrap())
}

fn asked(device: &mut Device<MemoryFlash>, model: &mut Model, step: &Step) -> Result<(), DeviceError> {
    let at = Time::ZERO;
    match *step {
        Step::Read { offset, length } => {
            let mut found = vec![0xaa; length];
            device.read(offset as u64, &mut found, at)?;
            assert!(found == model.bytes[offset..offset + length], "{step:?} gives something else");
        }
        Step::Extents { offset, length, only_first } => {
            let (mut next, mut last) = (offset, None);
            device.extents(offset as u64, length as u64, only_first, at, &mut |extent| {
                assert_eq!(extent.offset as usize, next, "{step:?}: extents follow one another");
                assert_ne!(last.replace(extent.is_mapped), Some(extent.is_mapped), "{step:?}: two that are one");
                next += extent.length as usize;
                for page in extent.offset as usize / PAGE..next.div_ceil(PAGE) {
                    assert_eq!(model.mapped.contains(&page), extent.is_mapped, "{step:?}: page {page}");
                }
            })?;
            assert!(next == offset + length || only_first && next > offset && last.is_some(), "{step:?}: until {next}");
        }
        Step::Write { offset, length, salt, fua } => {
            let data = pattern(salt, offset, length);
            model.write(offset, &data);
            device.write(offset as u64, &data, fua, at)?;
        }
        Step::Trim { offset, length, fua } => {
            model.trim(offset, length);
            device.trim(offset as u64, length as u64, fua, at)?;
            // A trim that came to nothing makes nothing durable that was not.
            if fua && length > 0 {
                model.flush();
            }
        }
        Step::Zero { offset, length, may_trim, fua } => {
            model.zero(offset, length, may_trim);
            device.write_zeroes(offset as u64, length as u64, may_trim, false, fua, at)?;
            if fua && may_trim && length > 0 {
                model.flush();
            }
        }
        Step::Flush => {
            device.flush(at)?;
            model.flush();
        }
        Step::Background => _ = device.background(at)?,
        Step::Close | Step::CutNow | Step::CutAfter { .. } => unreachable!("done by who asks"),
    }
    Ok(())
}

fn live(ftl: &str, steps: &[Step]) {
    let drive = drive(ftl);
    let mut device = device(&drive);
    let mut model = Model::new(device.size_bytes());
    // So that there is something to collect.
    for salt in 0..2 {
        let data = pattern(salt, 0, SIZE);
        device.write(0, &data, false, Time::ZERO).unwrap();
        model.write(0, &data);
    }
    for step in steps {
        let mut unsure = None;
        match *step {
            Step::Close => match device.close(Time::ZERO) {
                Ok(()) => model.flush(),
                // Closing can meet a cut as well.
                Err(DeviceError::Off(Off::Cut(None))) => {}
                Err(error) => panic!("closing: {error}"),
            },
            Step::CutNow => device.cut_now(Time::ZERO),
            Step::CutAfter { operations, program, erase } => {
                let (program, erase) = (ProgramFault::ALL[program], EraseFault::ALL[erase]);
                device.cut_after(operations, Cut { operation: 0, program, erase, seed: operations });
            }
            _ => {
                let mut done = model.clone();
                match asked(&mut device, &mut done, step) {
                    Ok(()) => model = done,
                    Err(DeviceError::Off(Off::Cut(None))) => unsure = Some(done),
                    Err(error) => panic!("{step:?}: {error}"),
                }
            }
        }
        if device.off().is_some() {
            assert!(matches!(device.read(0, &mut [0], Time::ZERO), Err(DeviceError::Off(_))), "there is no power");
            device = reopened(&drive, device);
            let found = whole(&mut device);
            let mapped = mapped(&mut device);
            if let Err(what) = model.recovered(&found, mapped, unsure.as_ref()) {
                panic!("{ftl}, after {step:?}: {what}");
            }
        }
    }
    assert!(whole(&mut device) == model.bytes, "{ftl}: at the end");
    assert!(mapped(&mut device) == model.mapped, "{ftl}: at the end, other pages are mapped");
}

fn cases() -> ProptestConfig {
    let cases = if std::env::var_os("PHELSUMA_THOROUGH").is_some() { 2000 } else { 60 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn any_range_reads_as_it_was_written(
        ftl in prop::sample::select(vec!["page", "geckoftl", "dftl"]),
        steps in prop::collection::vec(step(), 1..120),
    ) {
        live(ftl, &steps);
    }

    #[test]
    fn what_was_acknowledged_is_there_after_every_cut(
        ftl in prop::sample::select(vec!["page", "geckoftl", "dftl"]),
        steps in prop::collection::vec(step_with_cuts(), 1..120),
    ) {
        live(ftl, &steps);
    }
}
