//! A page that shows a drive at work while it is served, and the same for programs.
//!
//! Programs get JSON, a map of the drive's blocks, and the text format of Prometheus. `docs/reference/page.md` has the
//! paths.
//!
//! There are two threads, whatever the number of clients. One looks at the drive (`looker`), and the other answers
//! (`http`) from the latest look. Answering never takes the drive's lock. Looking is done only while there are
//! requests, so many times a second at the most.

mod answers;
mod blocks;
mod http;
mod looker;
mod map;
mod metrics;
mod state;

pub use state::{SCHEMA, state_json};

use answers::Answers;
use looker::Looker;
use phelsuma_serve::device::Served;
use std::borrow::Borrow;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use tokio::sync::oneshot;

/// A page that cannot be visited yet: its address is taken, and nothing runs.
pub struct Page {
    listener: TcpListener,
    address: SocketAddr,
}

impl Page {
    /// Takes an address; port 0 is any that is free.
    ///
    /// # Errors
    /// The system's message: the port is in use, or there is no such address.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Shows `served` from now on. To be called where threads stay: after a process has forked.
    ///
    /// # Errors
    /// The system's error: there is no thread to be had.
    pub fn start<S>(self, served: S) -> io::Result<Running>
    where
        S: Borrow<Served> + Clone + Send + Sync + 'static,
    {
        let looker = Arc::new(Looker::default());
        let about = state::About::of(served.borrow());
        let live = served.clone();
        let answers =
            Answers::new(Arc::clone(&looker), about, self.address, move || Borrow::<Served>::borrow(&live).state());
        // What can fail is done here, where its error is reported.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (stop, stopped) = oneshot::channel();
        let seeing = Arc::clone(&looker);
        let look = Builder::new().name("page look".into()).spawn(move || seeing.look(served.borrow()))?;
        let listener = self.listener;
        let serve = Builder::new().name("page".into()).spawn(move || {
            runtime.block_on(http::serve(listener, Arc::new(answers), stopped));
        });
        let serve = serve.inspect_err(|_| looker.stop())?;
        Ok(Running { looker, stop, threads: [look, serve] })
    }
}

/// A page that can be looked at. It runs until it is stopped.
pub struct Running {
    looker: Arc<Looker>,
    stop: oneshot::Sender<()>,
    threads: [JoinHandle<()>; 2],
}

impl Running {
    /// Ends it; clients that are being answered are dropped.
    pub fn stop(self) {
        self.looker.stop();
        let _ = self.stop.send(());
        for thread in self.threads {
            // A thread that has panicked has said so.
            let _ = thread.join();
        }
    }
}
