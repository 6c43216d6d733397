//! Written and read back: equal requests, for every format that can be written.

use std::io::{Cursor, Write};
use std::path::Path;

use phelsuma_trace::convert::{WRITABLE, WriteOptions, Writer, convert};
use phelsuma_trace::{Compressed, Compression, Format, Op, OpenOptions, Request, TimeUnit, TraceError, reader_from};
use proptest::prelude::*;

fn write(requests: &[Request], format: Format, options: &WriteOptions) -> Result<Vec<u8>, TraceError> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, format, options)?;
    for request in requests {
        writer.write(request)?;
    }
    assert_eq!(writer.finish()?.requests, requests.len() as u64);
    Ok(bytes)
}

fn read(bytes: Vec<u8>, format: Option<Format>, time_unit: Option<TimeUnit>) -> Vec<Request> {
    let options = OpenOptions { format, time_unit, ..OpenOptions::default() };
    reader_from(Cursor::new(bytes), "t", &options).unwrap().map(|request| request.unwrap()).collect()
}

/// From the earliest request on, which need not be the first.
fn from_earliest() -> WriteOptions {
    WriteOptions { begin_ns: Some(0), ..WriteOptions::default() }
}

/// Requests at multiples of `tick_ns`, in units of `unit` bytes, in any order; the earliest at time 0.
fn requests(ops: &'static [Op], tick_ns: u64, unit: u64, devices: u32) -> impl Strategy<Value = Vec<Request>> {
    let request = (0..1u64 << 40, 0..devices, prop::sample::select(ops), 0..1u64 << 40, 1..=(1u64 << 30) / unit);
    prop::collection::vec(request, 1..60).prop_map(move |fields| {
        let mut requests: Vec<Request> = fields
            .into_iter()
            .map(|(time, device, op, offset, size)| {
                let flush = op == Op::Flush;
                Request {
                    time_ns: time * tick_ns,
                    device,
                    op,
                    offset_bytes: if flush { 0 } else { offset * unit },
                    size_bytes: if flush { 0 } else { size * unit },
                    handle: 0,
                }
            })
            .collect();
        let earliest = requests.iter().map(|request| request.time_ns).min().unwrap_or(0);
        requests.iter_mut().for_each(|request| request.time_ns -= earliest);
        requests
    })
}

const DATA: &[Op] = &[Op::Read, Op::Write];
const ALL: &[Op] = &[Op::Read, Op::Write, Op::Trim, Op::Flush];

proptest! {
    #[test]
    fn own_csv_is_exact(requests in requests(ALL, 1, 1, 70_000)) {
        let bytes = write(&requests, Format::Csv, &from_earliest()).unwrap();
        prop_assert_eq!(read(bytes, None, None), requests);
    }

    #[test]
    fn disksim_in_nanoseconds_is_exact_and_is_detected(requests in requests(DATA, 1, 512, 70_000)) {
        let bytes = write(&requests, Format::DiskSim, &from_earliest()).unwrap();
        prop_assert_eq!(read(bytes, None, None), requests);
    }

    #[test]
    fn disksim_in_any_unit_is_exact_and_is_detected(requests in requests(DATA, 1000, 512, 70_000)) {
        for unit in [TimeUnit::S, TimeUnit::Ms, TimeUnit::Us, TimeUnit::HundredNs] {
            let options = WriteOptions { time_unit: Some(unit), ..from_earliest() };
            let bytes = write(&requests, Format::DiskSim, &options).unwrap();
            prop_assert_eq!(read(bytes.clone(), None, None), requests.clone());
            prop_assert_eq!(read(bytes, Some(Format::DiskSim), Some(unit)), requests.clone());
        }
    }

    /// In sectors, these are addresses and sizes that whole sectors in bytes have.
    #[test]
    fn disksim_of_large_aligned_requests_is_detected(requests in requests(DATA, 1, 256 * 1024, 3)) {
        let options = WriteOptions { time_unit: Some(TimeUnit::Ms), ..from_earliest() };
        let bytes = write(&requests, Format::DiskSim, &options).unwrap();
        prop_assert_eq!(read(bytes, None, None), requests);
    }

    #[test]
    fn fio_is_exact_to_the_microsecond(requests in requests(ALL, 1000, 1, 5)) {
        // Devices are numbered anew, in order of appearance.
        let mut order: Vec<u32> = Vec::new();
        let renumbered: Vec<Request> = requests
            .iter()
            .map(|request| {
                let known = order.iter().position(|&device| device == request.device);
                let device = known.unwrap_or_else(|| { order.push(request.device); order.len() - 1 });
                Request { device: device as u32, ..*request }
            })
            .collect();
        let bytes = write(&requests, Format::FioV3, &from_earliest()).unwrap();
        prop_assert_eq!(read(bytes, None, None), renumbered);
    }

    #[test]
    fn msr_is_exact_to_a_tenth_of_a_microsecond(requests in requests(DATA, 100, 1, 65_536)) {
        let bytes = write(&requests, Format::Msr, &from_earliest()).unwrap();
        prop_assert_eq!(crate::samples::since_earliest(read(bytes, None, None)), requests);
    }
}

#[test]
fn a_time_unit_is_refused_where_the_format_has_its_own() {
    let options = WriteOptions { time_unit: Some(TimeUnit::Us), ..WriteOptions::default() };
    for &format in WRITABLE {
        let refused = write(&[], format, &options).err().map(|error| error.to_string());
        match format {
            Format::DiskSim => assert_eq!(refused, None),
            _ => assert!(refused.unwrap().starts_with(&format!("times in {format} are always "))),
        }
        assert!(write(&[], format, &WriteOptions::default()).is_ok());
    }
}

#[test]
fn what_is_compressed_for_its_name_is_read_as_it_was() {
    let requests: Vec<Request> = (0..10_000)
        .map(|n| Request {
            time_ns: n * 1000,
            device: 0,
            op: Op::Write,
            offset_bytes: n % 97 * 4096,
            size_bytes: 4096,
            handle: 0,
        })
        .collect();
    let plain = write(&requests, Format::Csv, &WriteOptions::default()).unwrap();
    let compressed = |name: &str| {
        let mut bytes = Vec::new();
        let mut out = Compressed::new(&mut bytes, Compression::of(Path::new(name)).unwrap()).unwrap();
        out.write_all(&plain).unwrap();
        out.finish().unwrap();
        bytes
    };
    for (name, magic) in [("a.csv.gz", &b"\x1f\x8b"[..]), ("a.GZ", b"\x1f\x8b"), ("a.zst", b"\x28\xb5\x2f\xfd")] {
        let bytes = compressed(name);
        assert!(bytes.starts_with(magic) && bytes.len() < plain.len() / 2, "{name}");
        assert_eq!(compressed(name), bytes, "{name}: the same bytes from the same bytes");
        assert_eq!(read(bytes.clone(), None, None), requests, "{name}");
        // An end that is missing is noticed.
        let cut = reader_from(Cursor::new(bytes[..bytes.len() - 1].to_vec()), "t", &OpenOptions::default());
        assert!(cut.is_err() || cut.unwrap().any(|request| request.is_err()), "{name}");
    }
    for name in ["a.csv", "gz", ".gz", "a.gz.csv"] {
        assert_eq!(compressed(name), plain, "{name}");
    }
}

#[test]
fn every_sample_converts_to_own_csv_and_back() {
    for sample in crate::samples::all() {
        let mut reader = reader_from(Cursor::new(sample.bytes.clone()), "t", &OpenOptions::default()).unwrap();
        let mut bytes = Vec::new();
        let begin_ns = reader_from(Cursor::new(sample.bytes), "t", &OpenOptions::default()).map(|mut trace| {
            trace.by_ref().for_each(drop);
            Some(trace.earliest_ns())
        });
        let options = WriteOptions { begin_ns: begin_ns.unwrap(), ..WriteOptions::default() };
        let written = convert(&mut reader, &mut bytes, Format::Csv, &options).unwrap();
        assert_eq!(written.requests, sample.requests.len() as u64);
        assert_eq!(read(bytes, None, None), sample.requests, "{}", sample.format);
    }
}

#[test]
fn what_a_format_cannot_express_is_refused_or_counted() {
    let trim = crate::samples::request(0, 0, Op::Trim, 0, 4096);
    let odd = crate::samples::request(0, 0, Op::Write, 100, 512);
    let plain = crate::samples::request(0, 0, Op::Write, 0, 512);
    let error = write(&[plain, trim], Format::DiskSim, &WriteOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "request 2: disksim has no trim; csv or fio3 would be right");
    let error = write(&[odd], Format::DiskSim, &WriteOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "request 1: 512 bytes at 100 are no whole sectors; csv would be right");
    let error = write(&[trim], Format::Msr, &WriteOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "request 1: msr has no trim; csv or fio3 would be right");

    let options = WriteOptions { drop_unwritable: true, ..WriteOptions::default() };
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, Format::DiskSim, &options).unwrap();
    for request in [plain, trim, odd] {
        writer.write(&request).unwrap();
    }
    let written = writer.finish().unwrap();
    assert_eq!((written.requests, written.dropped), (1, 2));
}

#[test]
fn formats_that_cannot_be_written_are_refused() {
    for &format in Format::all() {
        let result = Writer::new(Vec::new(), format, &WriteOptions::default());
        assert_eq!(result.is_ok(), WRITABLE.contains(&format), "{format}");
        if let Err(error) = result {
            let expected = format!("{format} cannot be written; one of csv, disksim, fio3, msr would be right");
            assert_eq!(error.to_string(), expected);
        }
    }
}

#[test]
fn times_are_written_without_needless_zeros() {
    let requests = [0, 1_500, 2_000, 3_001].map(|time| crate::samples::request(time, 0, Op::Read, 0, 512));
    let text = String::from_utf8(write(&requests, Format::Csv, &WriteOptions::default()).unwrap()).unwrap();
    assert_eq!(
        text,
        "time_us,device,op,offset_bytes,size_bytes\n0,0,read,0,512\n1.5,0,read,0,512\n2,0,read,0,512\n3.001,0,read,0,512\n"
    );
}
