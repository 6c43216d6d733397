//! Text as bytes of UTF-8 without a mark in front: Windows and spreadsheets write byte-order marks, and UTF-16.

use std::io::{self, BufRead};

/// So many bytes are looked at.
pub(crate) const HEAD_BYTES: usize = 64;

/// The mark in front of UTF-8.
pub(crate) const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// The stream, whose first [`HEAD_BYTES`] are `head`, as UTF-8 without a mark. What is no text stays as it is.
pub(crate) fn decoded(head: &[u8], mut stream: Box<dyn BufRead + Send>) -> io::Result<Box<dyn BufRead + Send>> {
    if head.starts_with(UTF8_MARK) {
        io::copy(&mut io::Read::take(&mut stream, UTF8_MARK.len() as u64), &mut io::sink())?;
        return Ok(stream);
    }
    match utf16_of(head) {
        Some(order) => streamed(order, stream),
        None => Ok(stream),
    }
}

/// Which byte of two comes first.
#[derive(Clone, Copy)]
enum Order {
    Little,
    Big,
}

#[cfg(not(target_family = "wasm"))]
fn streamed(order: Order, stream: Box<dyn BufRead + Send>) -> io::Result<Box<dyn BufRead + Send>> {
    let encoding = match order {
        Order::Little => encoding_rs::UTF_16LE,
        Order::Big => encoding_rs::UTF_16BE,
    };
    let mut builder = encoding_rs_io::DecodeReaderBytesBuilder::new();
    Ok(Box::new(io::BufReader::new(builder.encoding(Some(encoding)).bom_override(true).build(stream))))
}

/// In a browser files are small. The decoder of streams has tables of every encoding, which would be loaded with the page.
#[cfg(target_family = "wasm")]
fn streamed(order: Order, stream: Box<dyn BufRead + Send>) -> io::Result<Box<dyn BufRead + Send>> {
    Ok(Box::new(io::Cursor::new(at_once(order, stream)?)))
}

#[cfg(any(test, target_family = "wasm"))]
fn at_once(order: Order, mut stream: impl io::Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    let (pairs, _) = bytes.as_chunks::<2>();
    let unit = |pair: &[u8; 2]| match order {
        Order::Little => u16::from_le_bytes(*pair),
        Order::Big => u16::from_be_bytes(*pair),
    };
    let units: Vec<u16> = pairs.iter().map(unit).filter(|unit| *unit != 0xfeff).collect();
    Ok(String::from_utf16_lossy(&units))
}

/// Which UTF-16 it is, by its mark or by its zeros.
fn utf16_of(head: &[u8]) -> Option<Order> {
    if head.starts_with(b"\xff\xfe") {
        return Some(Order::Little);
    }
    if head.starts_with(b"\xfe\xff") {
        return Some(Order::Big);
    }
    let text = |byte: u8| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    let (pairs, _) = head.as_chunks::<2>();
    let all = |low: usize| {
        pairs.len() >= 8
            && pairs.iter().all(|&[first, second]| {
                let (byte, zero) = if low == 0 { (first, second) } else { (second, first) };
                text(byte) && zero == 0
            })
    };
    if all(0) {
        Some(Order::Little)
    } else if all(1) {
        Some(Order::Big)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Cursor, Read};

    fn read(bytes: &[u8]) -> Vec<u8> {
        let head = bytes.get(..HEAD_BYTES.min(bytes.len())).unwrap();
        let mut out = Vec::new();
        decoded(head, Box::new(Cursor::new(bytes.to_vec()))).unwrap().read_to_end(&mut out).unwrap();
        out
    }

    #[test]
    fn marks_go_and_utf16_becomes_utf8() {
        let text = "Timestamp,Hostname,Größe\r\n1,2,3\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [
            [b"\xef\xbb\xbf", text.as_bytes()].concat(),
            [b"\xff\xfe", little.as_slice()].concat(),
            [b"\xfe\xff", big.as_slice()].concat(),
            text.as_bytes().to_vec(),
        ] {
            assert_eq!(read(&bytes), text.as_bytes(), "{bytes:?}");
        }
        let ascii: Vec<u8> = "0 0 4096 8 1\n1 0 4096 8 1\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(at_once(Order::Little, &*little).unwrap(), text);
        assert_eq!(at_once(Order::Big, &*big).unwrap(), text);
        assert_eq!(read(&ascii), b"0 0 4096 8 1\n1 0 4096 8 1\n", "without a mark");
    }

    #[test]
    fn what_is_no_text_stays_as_it_is() {
        for bytes in [&[1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0, 9, 0][..], b"a\0", b"\xff", b""] {
            assert_eq!(read(bytes), bytes);
        }
    }
}
