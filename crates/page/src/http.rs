//! The server: one thread, so many connections and no more, each of which is one request and has so long for it.

use crate::answers::Answers;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};

/// Connections at a time; others wait in the machine's own queue.
const CONNECTIONS_MAX: usize = 32;
/// Bytes of a request, and headers in it.
const REQUEST_BYTES_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 64;
/// A client that has sent no request until then gets no answer.
const ASK_MAX: Duration = Duration::from_secs(5);
/// Who has not got the answer until then does not get the rest.
const CONNECTION_MAX: Duration = Duration::from_secs(20);
/// When no connection can be had, the next is tried after.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers until `stopped`.
pub(crate) async fn serve(listener: TcpListener, answers: Arc<Answers>, stopped: oneshot::Receiver<()>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    tokio::spawn(accept(listener, answers));
    // The remaining connections go with the runtime. The owner of the other end may be gone: that is a stop, too.
    let _ = stopped.await;
}

async fn accept(listener: tokio::net::TcpListener, answers: Arc<Answers>) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let answers = Arc::clone(&answers);
                tokio::spawn(async move {
                    let _slot = slot;
                    let _ = tokio::time::timeout(CONNECTION_MAX, connection(stream, &answers)).await;
                });
            }
            // No descriptor is left, say: it is not for want of asking.
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// One request and its answer. A body is not read, and for a request that is no HTTP hyper has an answer.
async fn connection(stream: TcpStream, answers: &Answers) {
    let service = service_fn(async |request| Ok::<_, Infallible>(answers.answer(&request).await));
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(ASK_MAX)
        .max_buf_size(REQUEST_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
