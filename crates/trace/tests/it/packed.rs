//! Traces in other compression than gzip and zstd, and in archives: read, or refused with what to do.

use std::io::{Cursor, Read, Write};
use std::path::PathBuf;

use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
use phelsuma_trace::{Compression, OpenOptions, Request, TraceError, TraceFile};

use crate::samples::{error_of, read_as, since_earliest};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap()
}

fn plain() -> Vec<u8> {
    bytes("compressed-otherwise/plain.csv")
}

fn read_file(path: &std::path::Path) -> Result<Vec<Request>, TraceError> {
    TraceFile::open(path, &OpenOptions::default())?.collect::<Result<_, _>>().map(since_earliest)
}

/// The error of a file that is opened by its path, without the folder that it is in.
fn error_of_file(name: &str) -> String {
    let error = read_file(&path(name)).expect_err(name).to_string();
    let folder = format!("{}/", path("").display()).replace("//", "/");
    error.replace(&folder, "")
}

/// A file of these bytes that a test may open.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("packed-{name}"));
    std::fs::write(&path, bytes).unwrap();
    path
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bz2(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    bzip2::read::BzEncoder::new(bytes, bzip2::Compression::fast()).read_to_end(&mut packed).unwrap();
    packed
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let info = FrameInfo::new()
        .block_size(BlockSize::Max64KB)
        .block_mode(BlockMode::Linked)
        .block_checksums(true)
        .content_checksum(true);
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A tar archive of files.
fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        archive.append_data(&mut header, name, *bytes).unwrap();
    }
    archive.into_inner().unwrap()
}

/// A zip archive of files that are deflated.
fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut bytes);
    for (name, bytes) in files {
        let file = archive.new_file(*name).compression_method(rawzip::CompressionMethod::DEFLATE);
        let (mut entry, config) = file.start().unwrap();
        let encoder = flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::fast());
        let mut writer = config.wrap(encoder);
        writer.write_all(bytes).unwrap();
        let (encoder, descriptor) = writer.finish().unwrap();
        encoder.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    bytes
}

/// A plain trace of at least so many bytes.
fn long_trace(bytes_min: usize) -> Vec<u8> {
    let mut text = String::from("time_us,device,op,offset_bytes,size_bytes\n");
    for at in 0u64.. {
        if text.len() >= bytes_min {
            break;
        }
        text.push_str(&format!("{at},0,write,{},4096\n", at * 7919 % 1_000_003 * 4096));
    }
    text.into_bytes()
}

#[test]
fn archives_that_were_joined_are_not_read_in_part() {
    let plain = plain();
    let (one, other) = (tar(&[("a.csv", &plain)]), tar(&[("b c.csv", &plain)]));
    let joined = [&one[..], &other].concat();
    let said = "the tar archive has more than one file (a.csv, b c.csv); `tar --ignore-zeros -xOf F a.csv | ";
    for bytes in [joined.clone(), gz(&joined), [gz(&one), gz(&other)].concat()] {
        assert!(error_of(&bytes, None).contains(said), "{}", error_of(&bytes, None));
    }
    // The first one may have nothing in it.
    let empty = tar(&[("nothing", b"")]);
    assert_eq!(read_as(&[&empty[..], &one].concat(), None).unwrap(), read_as(&plain, None).unwrap());
    assert_eq!(
        read_as(&[&one[..], &empty, &[0; 10_240]].concat(), None).unwrap().len(),
        read_as(&one, None).unwrap().len()
    );
    let behind = error_of(&[&one[..], &plain].concat(), None);
    assert!(
        behind.contains("has bytes behind its end that are no archive") && behind.contains(" F a.csv | "),
        "{behind}"
    );
    let (one, other) = (zip(&[("a.csv", &plain)]), zip(&[("b.csv", &plain)]));
    for (name, bytes) in [("joined.zip", [&one[..], &other].concat()), ("behind.zip", [&one[..], &plain].concat())] {
        let said = read_file(&file(name, &bytes)).unwrap_err().to_string();
        assert!(
            said.contains("the zip archive is damaged") || said.contains("that were joined are read one by one"),
            "{said}"
        );
    }
    assert!(read_file(&file("one.zip", &one)).is_ok());
}

#[test]
fn a_trace_is_the_same_plain_and_packed_in_any_way() {
    let expected = read_as(&plain(), None).unwrap();
    assert_eq!(expected.len(), 50);
    for name in ["a.csv.xz", "a.csv.bz2", "a.csv.lz4", "a.tar.gz", "a.zip"] {
        let name = format!("compressed-otherwise/{name}");
        assert_eq!(read_file(&path(&name)).unwrap(), expected, "{name}");
        if !name.ends_with("zip") {
            assert_eq!(read_as(&bytes(&name), None).unwrap(), expected, "{name} through a pipe");
        }
    }
    for name in [
        "blocks.xz",
        "filters.xz",
        "no-check.xz",
        "two-streams.xz",
        "linked.lz4",
        "no-crc.lz4",
        "two-frames.lz4",
        "bzip2.zip",
        "mac.zip",
        "stored.zip",
        "streamed.zip",
        "long-gnu.tar.gz",
        "long-pax.tar.gz",
        "v7.tar.gz",
        "nested.tar.bz2",
    ] {
        assert_eq!(read_file(&path(&format!("packed/{name}"))).unwrap(), expected, "{name}");
    }
}

#[test]
fn every_format_is_read_packed() {
    for sample in crate::samples::all() {
        let archive = tar(&[("trace", &sample.bytes)]);
        for packed in [bz2(&sample.bytes), lz4(&sample.bytes), archive.clone(), bz2(&archive), lz4(&archive)] {
            assert_eq!(read_as(&packed, None).unwrap(), sample.requests, "{}", sample.format);
            assert_eq!(read_as(&packed, Some(sample.format)).unwrap(), sample.requests, "{}", sample.format);
        }
        let path = file(&format!("{}.zip", sample.format), &zip(&[("trace", &sample.bytes)]));
        assert_eq!(read_file(&path).unwrap(), sample.requests, "{}", sample.format);
    }
}

#[test]
fn members_and_frames_are_read_to_the_last() {
    let trace = long_trace(300_000);
    let (front, back) = trace.split_at(200_001);
    let expected = read_as(&trace, None).unwrap();
    let skippable = [0x5f, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 7, 7];
    for (kind, packed) in [
        ("bzip2", [bz2(front), bz2(b""), bz2(back)].concat()),
        ("lz4", [lz4(front), lz4(b""), lz4(back)].concat()),
        ("lz4 with skippable frames", [&skippable[..], &lz4(front), &skippable, &lz4(back), &skippable].concat()),
        ("zstd", [zstd::encode_all(front, 1).unwrap(), zstd::encode_all(back, 1).unwrap()].concat()),
        ("gzip", [gz(front), gz(back)].concat()),
        ("xz", bytes("packed/two-streams.xz")),
    ] {
        let read = read_as(&packed, None).unwrap();
        assert_eq!(read.len(), if kind == "xz" { 50 } else { expected.len() }, "{kind}");
    }
}

#[test]
fn what_is_cut_short_anywhere_is_refused() {
    let trace = plain();
    let archive = tar(&[("a.csv", &trace)]);
    // One block of zeros is end enough.
    let archive_end = archive.len() - 512;
    for (kind, packed, end) in [
        ("the xz stream", bytes("compressed-otherwise/a.csv.xz"), 0),
        ("the xz stream", bytes("packed/blocks.xz"), 0),
        ("the bzip2 stream", bz2(&trace), 0),
        ("the lz4 stream", lz4(&trace), 0),
        ("the lz4 stream", bytes("packed/no-crc.lz4"), 0),
        ("the gzip stream", gz(&archive), 0),
        ("the tar archive", archive, archive_end),
    ] {
        let end = if end == 0 { packed.len() } else { end };
        for cut in (1..end).step_by(11).chain(end - 20..end) {
            assert!(read_as(&packed[..cut], None).is_err(), "{kind} cut at {cut}");
        }
        let error = error_of(&packed[..end - 3], None);
        assert!(error.starts_with("t: ") && error.contains(&format!("{kind} is cut short")), "{error}");
        assert!(error_of(&packed[..end / 2], None).contains(&format!("{kind} is cut short")));
    }
    let zip = zip(&[("a.csv", &trace)]);
    for cut in (4..zip.len()).step_by(29) {
        let error = read_file(&file("cut.zip", &zip[..cut])).unwrap_err().to_string();
        assert!(error.contains("packed-cut.zip: ") && error.contains("the zip archive is cut short"), "{error}");
    }
}

#[test]
fn frames_of_lz4_that_end_between_two_blocks_are_cut_short() {
    let mut encoder = FrameEncoder::with_frame_info(FrameInfo::new().block_size(BlockSize::Max64KB), Vec::new());
    encoder.write_all(&long_trace(200_000)).unwrap();
    encoder.flush().unwrap();
    let without_end_mark = encoder.get_ref().clone();
    assert!(error_of(&without_end_mark, None).contains("the lz4 stream is cut short"));
    assert!(read_as(&encoder.finish().unwrap(), None).is_ok());
}

#[test]
fn what_is_damaged_is_refused_or_was_of_no_concern() {
    let trace = plain();
    let expected = read_as(&trace, None).unwrap();
    for packed in [
        bytes("compressed-otherwise/a.csv.xz"),
        bytes("packed/filters.xz"),
        bz2(&trace),
        lz4(&trace),
        bytes("compressed-otherwise/a.tar.gz"),
        bytes("compressed-otherwise/a.zip"),
    ] {
        for at in (0..packed.len()).step_by(7) {
            let mut damaged = packed.clone();
            damaged[at] ^= 1 << (at / 7 % 8);
            let is_zip = damaged.starts_with(b"PK");
            let read = if is_zip { read_file(&file("damaged", &damaged)) } else { read_as(&damaged, None) };
            assert!(read.is_err() || read.unwrap() == expected, "byte {at} of {:?}…", &packed[..4]);
        }
    }
    let mut damaged = bytes("compressed-otherwise/a.csv.xz");
    damaged[200] ^= 0xff;
    assert!(error_of(&damaged, None).contains("the xz stream is damaged ("));
    let mut damaged = tar(&[("a.csv", &trace)]);
    damaged[3] ^= 0x10;
    assert!(error_of(&damaged, None).contains("the tar archive is damaged (the checksum of a header is wrong)"));
    let mut damaged = bytes("packed/stored.zip");
    damaged[100] ^= 1;
    let error = read_file(&file("damaged.zip", &damaged)).unwrap_err().to_string();
    assert!(error.contains("the zip archive is damaged (the checksum of its file is wrong)"), "{error}");
}

#[test]
fn what_follows_a_stream_and_is_none_is_refused() {
    for (kind, mut packed) in
        [("xz", bytes("compressed-otherwise/a.csv.xz")), ("bzip2", bz2(&plain())), ("lz4", lz4(&plain()))]
    {
        packed.extend(b"what is this?");
        assert!(error_of(&packed, None).contains(&format!("the {kind} stream is ")), "{kind}");
    }
}

#[test]
fn an_archive_of_several_files_says_how_to_read_one() {
    assert_eq!(
        error_of_file("packed/several.tar.xz"),
        format!(
            "packed/several.tar.xz: the tar archive has more than one file (m 1.csv, m 2.csv, m 3.csv, m 4.csv, \
             m 5.csv, …); `tar -xOf {} 'm 1.csv' | phelsuma trace convert - OUT.csv.zst --to csv` reads one of them",
            "packed/several.tar.xz"
        )
    );
    let error = error_of_file("packed/several.zip");
    assert!(error.starts_with("packed/several.zip: the zip archive has more than one file (m 1.csv, "), "{error}");
    assert!(error.ends_with("'m 1.csv' | phelsuma trace convert - OUT.csv.zst --to csv` reads one of them"), "{error}");
    let two = tar(&[("README", b"What this is."), ("b/a.csv", &plain())]);
    assert_eq!(
        error_of(&lz4(&two), None),
        "t: the tar archive has more than one file (README, b/a.csv); `lz4 -dc F | tar -xOf - b/a.csv | phelsuma trace \
         convert - OUT.csv.zst --to csv` reads one of them"
    );
}

#[test]
fn a_second_file_behind_a_large_one_is_found_at_its_end() {
    let large = long_trace(5 << 20);
    let alone = tar(&[("large.csv", &large)]);
    let requests = read_as(&alone, None).unwrap().len();
    assert!(requests > 100_000);
    let error = error_of(&tar(&[("large.csv", &large), ("small.csv", b"1")]), None);
    assert!(error.contains("more than one file (large.csv, small.csv); `tar -xOf F large.csv | "), "{error}");
    assert!(error_of(&alone[..alone.len() - 1024], None).contains("the tar archive is cut short"));
    assert!(error_of(&alone[..5 << 20], None).contains("the tar archive is cut short"));
}

#[test]
fn an_archive_of_any_size_is_read_to_its_end() {
    // Around the size of the beginning that is searched for more files.
    for size in [(4 << 20) - 2048, (4 << 20) - 1024, (4 << 20) - 512, 4 << 20] {
        let mut trace = long_trace(size - 600);
        let requests = trace.iter().filter(|byte| **byte == b'\n').count() - 1;
        trace.resize(size, b'\n');
        assert_eq!(read_as(&tar(&[("a.csv", &trace)]), None).unwrap().len(), requests);
    }
    // What precedes damage is read.
    let trace = plain();
    let mut damaged = tar(&[("a.csv", &trace), ("b.csv", &trace)]);
    damaged[512 + 2048] ^= 1;
    let mut reader = phelsuma_trace::reader_from(Cursor::new(damaged), "t", &OpenOptions::default()).unwrap();
    assert_eq!(reader.by_ref().take_while(Result::is_ok).count(), 50);
}

#[test]
fn what_holds_no_trace_is_passed_over() {
    let trace = plain();
    let files: [(&str, &[u8]); 4] =
        [("._a.csv", b"attributes"), (".DS_Store", b"folders"), ("empty", b""), ("a.csv", &trace)];
    assert_eq!(read_as(&tar(&files), None).unwrap().len(), 50);
    assert_eq!(read_file(&file("passed.zip", &zip(&files))).unwrap().len(), 50);
    let none = "archive has no file with anything in it, one trace would be right";
    assert_eq!(error_of(&tar(&files[..3]), None), format!("t: the tar {none}"));
    assert!(read_file(&file("none.zip", &zip(&files[..3]))).unwrap_err().to_string().ends_with(none));
    assert!(read_file(&file("empty.zip", &zip(&[]))).unwrap_err().to_string().ends_with(none));
}

#[test]
fn layers_are_bounded() {
    let trace = plain();
    assert_eq!(read_as(&gz(&tar(&[("a.csv.bz2", &bz2(&trace))])), None).unwrap().len(), 50);
    let in_zip = zip(&[("a.tar", &gz(&tar(&[("a.csv.lz4", &lz4(&trace))])))]);
    assert_eq!(read_file(&file("layers.zip", &in_zip)).unwrap().len(), 50);
    let four = gz(&gz(&gz(&gz(&trace))));
    assert_eq!(read_as(&four, None).unwrap().len(), 50);
    let error = error_of(&gz(&four), None);
    assert!(error.starts_with("t: is packed more than 4 times over; `gzip -dc F | gzip -dc | "), "{error}");
}

#[test]
fn a_zip_archive_that_is_no_file_is_refused() {
    let archive = bytes("compressed-otherwise/a.zip");
    for through in [archive.clone(), gz(&archive), tar(&[("a.zip", &archive)])] {
        let error = error_of(&through, None);
        assert!(error.starts_with("t: the zip archive comes through a pipe or out of another file"), "{error}");
    }
}

#[test]
fn what_is_not_read_is_named_with_what_reads_it() {
    for (begin, what, command) in [
        (&b"7z\xbc\xaf\x27\x1c\0\x04"[..], "a 7z archive", "7z x -so F"),
        (b"Rar!\x1a\x07\x01\0", "a rar archive", "unrar p -inul F"),
        (b"LRZI\0\x06", "compressed by lrzip", "lrzcat F"),
        (b"\x1f\x9d\x90\x61", "compressed by compress", "gzip -dc F"),
        (b"\xff\x06\0\0sNaPpY\x01", "a snappy stream", "snzip -dc F"),
        (b"LZIP\x01", "compressed by lzip", "lzip -dc F"),
        (b"\x89LZO\0\r\n\x1a\n\x10", "compressed by lzop", "lzop -dc F"),
        (&bytes("packed/legacy.lz4"), "compressed by lz4 in its legacy format", "lz4 -dc F"),
    ] {
        let expected = format!(
            "t: is {what}, which is not read; `{command} | phelsuma trace convert - OUT.csv.zst --to csv` reads it"
        );
        assert_eq!(error_of(begin, None), expected);
    }
    let error = error_of(&gz(b"LRZI\0\x06"), None);
    assert!(error.contains("`gzip -dc F | lrzcat | phelsuma "), "{error}");
}

#[test]
fn members_that_are_not_read_say_what_reads_them() {
    let error = error_of_file("packed/encrypted.zip");
    let command = "`7z x -so packed/encrypted.zip plain.csv | phelsuma trace convert - OUT.csv.zst --to csv`";
    assert_eq!(
        error,
        format!("packed/encrypted.zip: the zip archive is encrypted; {command} asks for its password and reads it")
    );
    assert!(error_of_file("packed/lzma.zip").contains("is compressed by method 14; `7z x -so packed/lzma.zip "));
    for name in ["packed/sparse-gnu.tar.gz", "packed/sparse-pax.tar.gz"] {
        let error = error_of_file(name);
        assert!(
            error.contains("the tar archive holds ") && error.contains(" with holes; `tar -xOf packed/"),
            "{error}"
        );
    }
}

#[test]
fn memory_is_bounded_by_what_a_stream_may_ask_for() {
    // A dictionary of 256 MiB, and the checksum of the block's header that says so.
    let mut packed = bytes("compressed-otherwise/a.csv.xz");
    let block = 12..12 + (usize::from(packed[12]) + 1) * 4;
    let at = packed[block.clone()].windows(2).position(|filter| filter == [0x21, 1]).unwrap();
    let mut with_dictionary = |log: u8| {
        packed[block.start + at + 2] = (log - 12) * 2;
        let mut crc = flate2::Crc::new();
        crc.update(&packed[block.start..block.end - 4]);
        packed[block.end - 4..block.end].copy_from_slice(&crc.sum().to_le_bytes());
        packed.clone()
    };
    assert_eq!(read_as(&with_dictionary(27), None).unwrap().len(), 50);
    let error = error_of(&with_dictionary(28), None);
    let command = "`xz -dc F | phelsuma trace convert - OUT.csv.zst --to csv`";
    assert_eq!(error, format!("t: the xz stream takes more memory than may be given to it; {command} reads it"));
    // A window of 256 MiB.
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(28).unwrap();
    encoder.write_all(&plain()).unwrap();
    let error = error_of(&encoder.finish().unwrap(), None);
    assert!(error.contains("the zstd stream takes more memory than may be given to it; `zstd -dc "), "{error}");
    // Names and what is passed over are bounded as well.
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::GNULongName);
    header.set_size(1 << 40);
    header.set_cksum();
    assert!(error_of(header.as_bytes(), None).contains("a file's name or attributes are over 1 MiB"));
    header.set_entry_type(tar::EntryType::Directory);
    header.set_cksum();
    assert!(error_of(header.as_bytes(), None).contains("the tar archive has more than 256 MiB beside its file"));
}

#[test]
fn what_is_only_read_is_not_written() {
    let of = |name: &str| Compression::of(std::path::Path::new(name)).map_err(|error| error.to_string());
    for name in
        ["a.csv.xz", "a.csv.BZ2", "a.lz4", "a.zip", "a.tar", "a.tar.gz", "a.tar.zst", "a.tgz", "a.7z", "a.csv.Z"]
    {
        let expected =
            format!("{name}: files of this ending are not written; .gz, .zst or none of both would be right");
        assert_eq!(of(name).unwrap_err(), expected);
    }
    for name in ["a.csv", "a.xz.csv", "xz", "-", "a.log"] {
        assert_eq!(of(name), Ok(Compression::None), "{name}");
    }
    assert_eq!(of("tar.gz"), Ok(Compression::Gzip));
}

#[test]
fn beginnings_of_kinds_without_more_are_one_line() {
    for begin in [
        &b"\xfd7zXZ\0"[..],
        b"\x04\x22\x4d\x18",
        b"BZh91AY&SY",
        b"BZh9",
        b"PK\x03\x04",
        b"\x50\x2a\x4d\x18",
        b"\x50\x2a\x4d\x18\x02\0\0\0\0\0\x04\x22\x4d\x18",
    ] {
        let path = file("begin", begin);
        assert!(!read_file(&path).unwrap_err().to_string().contains('\n'));
        let stream = phelsuma_trace::reader_from(Cursor::new(begin.to_vec()), "t", &OpenOptions::default());
        assert!(stream.is_err(), "{begin:?}");
    }
}

#[test]
fn lines_taken_out_of_a_tar_archive_are_read_as_before() {
    let line = |at: u32| format!("{at}000 4 syslogd {at} 8 W 6 0 531e779d{at}\n");
    let lines: String = (100..400).map(line).collect();
    let whole = tar(&[("a.blkparse", lines.repeat(9).as_bytes())]);
    let taken = [&whole[..512], lines.as_bytes(), &[0; 1024]].concat();
    let mut reader = phelsuma_trace::reader_from(Cursor::new(taken), "t", &OpenOptions::default()).unwrap();
    assert_eq!(reader.by_ref().map(Result::unwrap).count(), 299, "the first line is glued to the header");
    assert_eq!(reader.skipped().count(phelsuma_trace::SkipReason::ArchiveLeftover), 2);
}
