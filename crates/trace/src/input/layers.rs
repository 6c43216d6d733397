//! The layers around a trace, compression and archives: taken off one after the other until what comes is neither.

use std::io;

use super::decompress::{self, Kind};
use super::said::refused;
use super::stream::{Stream, peek};
#[cfg(feature = "archives")]
use super::tar;
use super::unread;
use super::way::{Step, Way};

/// How many layers a trace may be packed in. A compressed member of a compressed archive has three.
const LAYERS_MAX: usize = 4;

/// How much of a stream tells what it is: a header of tar.
const HEAD_BYTES: usize = 512;

/// What is inside all layers. `way` leads to the stream.
pub(super) fn unpack(mut stream: Stream, mut way: Way) -> io::Result<Stream> {
    let mut decoders = 0;
    while way.layers() <= LAYERS_MAX {
        let (head, whole) = peek(stream, HEAD_BYTES)?;
        if let Some(kind) = Kind::of(&head) {
            way = way.then(Step::Filter(kind.filter()));
            stream = decompress::decoder(kind, whole, decoders, &way)?;
            decoders += 1;
            continue;
        }
        #[cfg(feature = "archives")]
        if tar::begins(&head) {
            match tar::member(whole, &way)? {
                (member, Some(inner)) => (stream, way) = (member, inner),
                (whole, None) => return Ok(whole),
            }
            continue;
        }
        return match unread::refusal(&head, &way) {
            Some(error) => Err(error),
            None => Ok(whole),
        };
    }
    Err(refused(format!("is packed more than {LAYERS_MAX} times over; {} takes off some of it", way.commands())))
}
