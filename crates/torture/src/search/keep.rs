//! Images of failing states.

use crate::destination;
use crate::error::{Outcome, TortureError};
use crate::model::Cursor;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Longer names of states are abbreviated: a file's name has at most 255 bytes.
const NAME_BYTES_MAX: usize = 120;

/// Writes an image of the state that a cursor is at, and says where.
pub(super) fn keep(cursor: &Cursor<'_>, size: u64, folder: &Path, id: &str) -> Outcome<String> {
    let path = folder.join(file_name(id));
    let write = || {
        match fs::create_dir(folder) {
            // Another worker may make it at the same time.
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        destination::replace(&path, |file| {
            file.set_len(size)?;
            cursor.each(|offset, bytes| file.write_all_at(bytes, offset))
        })
    };
    let path = path.display().to_string();
    write().map_err(|error: io::Error| TortureError::about(&path, error))?;
    Ok(path)
}

/// Two states have two names.
fn file_name(id: &str) -> String {
    let name = id.replace(':', ".");
    match name.get(..NAME_BYTES_MAX) {
        Some(first) if name.len() > NAME_BYTES_MAX => {
            format!("{first}#{:016x}.img", xxhash_rust::xxh3::xxh3_64(id.as_bytes()))
        }
        _ => format!("{name}.img"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_that_begin_alike_differ() {
        assert_eq!(file_name("57-41:0_7"), "57-41.0_7.img");
        let long = |end| file_name(&format!("57-{}{end}", "41,".repeat(100)));
        assert!(long("58") != long("59") && long("58").len() < 160);
    }
}
