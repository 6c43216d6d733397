//! Frames of lz4, one after the other to the end of the stream.
//!
//! The library stops at the end of a frame, and takes the end of the stream for one wherever a block may begin. Here a
//! frame has its end mark or is cut short.

use std::io::{self, Cursor, Read, copy, sink};

use lz4_flex::frame::FrameDecoder;

use super::stream::{Stream, read_up_to};

/// The bytes of all frames. After an error it is at its end.
pub(super) struct Frames(State);

enum State {
    Between(Stream),
    Within(Box<FrameDecoder<Watched>>),
    Ended,
}

impl Frames {
    pub(super) fn new(stream: Stream) -> Self {
        Frames(State::Between(stream))
    }
}

impl Read for Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match std::mem::replace(&mut self.0, State::Ended) {
                State::Ended => return Ok(0),
                State::Between(mut stream) => {
                    let magic = read_up_to(&mut stream, 4)?;
                    match magic.as_slice() {
                        [] => return Ok(0),
                        [_] | [_, _] | [_, _, _] => return Err(io::ErrorKind::UnexpectedEof.into()),
                        [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
                            skip(&mut stream)?;
                            self.0 = State::Between(stream);
                        }
                        _ => {
                            let watched = Watched { magic: Cursor::new(magic), stream, ended: false };
                            self.0 = State::Within(Box::new(FrameDecoder::new(watched)));
                        }
                    }
                }
                State::Within(mut frame) => {
                    let read = frame.read(buffer)?;
                    if read > 0 {
                        self.0 = State::Within(frame);
                        return Ok(read);
                    }
                    let watched = frame.into_inner();
                    if watched.ended {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    self.0 = State::Between(watched.stream);
                }
            }
        }
    }
}

/// Passes over what is left of a skippable frame after its first four bytes.
fn skip(stream: &mut Stream) -> io::Result<()> {
    let mut size = [0; 4];
    stream.read_exact(&mut size)?;
    let size = u64::from(u32::from_le_bytes(size));
    if copy(&mut stream.by_ref().take(size), &mut sink())? < size {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

/// A frame with its first four bytes put back, of which is known whether more was asked for than there is.
struct Watched {
    magic: Cursor<Vec<u8>>,
    stream: Stream,
    ended: bool,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let put_back = self.magic.read(buffer)?;
        if put_back > 0 || buffer.is_empty() {
            return Ok(put_back);
        }
        loop {
            match self.stream.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) => {
                    self.ended = true;
                    return Ok(0);
                }
                other => return other,
            }
        }
    }
}
