//! Archives and compressed files that are not read: named, with the command that reads them.

use std::io;

use super::said::refused;
use super::way::{Step, Way};

/// First bytes, what has them, and the command that prints what is inside.
const UNREAD: [(&[u8], &str, &str); 10] = [
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x -so"),
    (b"Rar!\x1a\x07", "a rar archive", "unrar p -inul"),
    (b"MSCF\0\0\0\0", "a cab archive", "cabextract -p"),
    (b"LRZI", "compressed by lrzip", "lrzcat"),
    (b"LZIP", "compressed by lzip", "lzip -dc"),
    (b"\x89LZO\0\r\n\x1a\n", "compressed by lzop", "lzop -dc"),
    (b"\x02\x21\x4c\x18", "compressed by lz4 in its legacy format", "lz4 -dc"),
    (b"\xff\x06\0\0sNaPpY", "a snappy stream", "snzip -dc"),
    (b"\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff", "an lzma stream", "xz -dc"),
    (b"\x5d\0\0\0\x04\xff\xff\xff\xff\xff\xff\xff\xff", "an lzma stream", "xz -dc"),
];

/// What is said of a file that begins so and to which `way` leads, if it is one of those.
pub(super) fn refusal(head: &[u8], way: &Way) -> Option<io::Error> {
    if is_zip(head) {
        if cfg!(not(feature = "archives")) {
            return Some(not_built_but("zip", &way.then(Step::Zip("MEMBER".into()))));
        }
        return Some(refused(
            "the zip archive comes through a pipe or out of another file, and its directory is at its end; \
             as a file of its own it is read"
                .into(),
        ));
    }
    if cfg!(not(feature = "archives")) && head.get(257..262) == Some(b"ustar") {
        return Some(not_built_but("tar", &way.then(Step::Tar("MEMBER".into()))));
    }
    let (what, command) = match head {
        // The bits of its codes, 9 to 16, and a flag that is always set.
        [0x1f, 0x9d, 0x89..=0x90, ..] => ("compressed by compress", "gzip -dc"),
        _ => UNREAD.iter().find(|(begin, ..)| head.starts_with(begin)).map(|&(_, what, command)| (what, command))?,
    };
    let commands = way.then(Step::Filter(command)).commands();
    Some(refused(format!("is {what}, which is not read; {commands} reads it")))
}

fn not_built_but(kind: &str, way: &Way) -> io::Error {
    refused(format!("{kind} is not part of this build; {} reads a member", way.commands()))
}

/// A zip archive: a member, or the end of one without any.
pub(super) fn is_zip(head: &[u8]) -> bool {
    matches!(head, [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] | [b'P', b'K', 7, 8, ..])
}
