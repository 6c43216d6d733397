//! A mark from a script: it is recorded when this returns.

use crate::error::{Outcome, TortureError};
use crate::recorder::MARK_BYTES_MAX;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Sends a mark to the socket that `PHELSUMA_MARK_SOCKET` names.
///
/// # Errors
/// There is none, or it does not answer.
pub fn mark(socket: Option<&Path>, text: &str) -> Outcome {
    let Some(socket) = socket else {
        let text = "PHELSUMA_MARK_SOCKET is not set: a mark is made by a workload of `phelsuma torture`";
        return Err(TortureError::Input(text.to_string()));
    };
    if text.contains('\n') {
        return Err(TortureError::Input("a mark has one line".to_string()));
    }
    if text.len() > MARK_BYTES_MAX {
        return Err(TortureError::Input(format!("a mark has at most {MARK_BYTES_MAX} bytes")));
    }
    let about = |error: std::io::Error| TortureError::about(&socket.display().to_string(), error);
    let mut stream = UnixStream::connect(socket).map_err(about)?;
    stream.write_all(format!("{text}\n").as_bytes()).map_err(about)?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).map_err(about)?;
    match answer.as_str() {
        "ok\n" => Ok(()),
        refused if !refused.is_empty() => Err(TortureError::Input(refused.trim_end().to_string())),
        _ => Err(TortureError::Input(format!("{} does not take marks any more", socket.display()))),
    }
}
