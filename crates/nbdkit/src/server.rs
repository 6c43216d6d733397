//! The plugin's answers to nbdkit's calls: parameters, opening, threads, requests, the end.

use crate::abi;
use crate::connections::{Address, drop_all};
use phelsuma_page::{Page, Running};
use phelsuma_serve::device::options::{Backing, Options};
use phelsuma_serve::device::{Connection, DeviceError, Host, ImageDrive, Off, OpenError, Recorder, Served, control};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::{Handle, Signals};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// The answer to nbdkit: done, or why not.
pub(crate) type Told = Result<(), String>;

/// How long requests in progress are waited for at the end. Clients that stay are dropped then.
const DRAIN_MAX: Duration = Duration::from_secs(5);
const DRAIN_STEP: Duration = Duration::from_millis(50);

/// The signals that end a server.
const ENDS: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// Exit code for a request that cannot be.
const EXIT_INPUT: u8 = 2;

static OPTIONS: Mutex<Option<Options>> = Mutex::new(None);
static SERVED: OnceLock<Served> = OnceLock::new();
/// Standard output as it was: nbdkit puts another in its place before the first client can connect.
static STDOUT: OnceLock<File> = OnceLock::new();
/// Clients that are connected.
static CLIENTS: AtomicU32 = AtomicU32::new(0);
/// The signal that ends the server, 0 before it comes.
static SIGNAL: OnceLock<Arc<AtomicUsize>> = OnceLock::new();
/// How many clients were connected when it came; unset where the server had ended before that was counted, without any.
static CLIENTS_AT_END: OnceLock<u32> = OnceLock::new();
static SIGNALS: Mutex<Option<Handle>> = Mutex::new(None);
/// Where the page will be, before there are threads; then the page.
static PAGE: Mutex<Option<Page>> = Mutex::new(None);
static RUNNING: Mutex<Option<Running>> = Mutex::new(None);
static THREADS: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

fn with_options<T>(work: impl FnOnce(&mut Options) -> T) -> T {
    work(OPTIONS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

/// A line for the operator of the server. Where stderr is closed it is dropped.
fn log(line: &str) {
    let _ = writeln!(std::io::stderr(), "phelsuma: {line}");
}

/// The drive, once it is open.
pub(crate) fn served() -> Option<&'static Served> {
    SERVED.get()
}

/// A client connects; none where the drive is not open.
pub(crate) fn connect() -> Option<Connection> {
    let connection = served()?.connect();
    CLIENTS.fetch_add(1, Ordering::Relaxed);
    Some(connection)
}

/// A client has gone.
pub(crate) fn disconnect() {
    CLIENTS.fetch_sub(1, Ordering::Relaxed);
}

/// A request of a client.
pub(crate) fn request(work: impl FnOnce(&Served) -> Result<(), DeviceError>) -> Result<(), DeviceError> {
    served().map_or(Err(DeviceError::Off(Off::Closed)), work)
}

/// A parameter.
pub(crate) fn config(key: &str, value: &str) -> Told {
    with_options(|options| options.set(key, value))
}

/// All parameters are there.
pub(crate) fn config_complete() -> Told {
    match with_options(|options| options.backing.is_some()) {
        true => Ok(()),
        false => Err("no drive is given; use image=FILE or memory=BYTES".into()),
    }
}

/// Whether requests take as long as on the flash.
pub(crate) fn requests_wait() -> bool {
    with_options(|options| options.serving.realtime.is_some())
}

/// The plugin's services for the drive.
struct Plugin {
    socket: Option<PathBuf>,
    port: Option<u16>,
    control: Option<PathBuf>,
}

impl Plugin {
    fn of(options: &Options) -> Self {
        let port = options.uri.as_deref().and_then(port_of);
        Self { socket: options.socket.clone(), port, control: options.control.clone() }
    }
}

impl Host for Plugin {
    fn log(&self, line: &str) {
        log(line);
    }

    fn drop_connections(&self) {
        if let Some(path) = &self.socket {
            drop_all(&Address::Unix(path));
        }
        if let Some(port) = self.port {
            drop_all(&Address::Port(port));
        }
    }

    fn exit(&self, code: u8) {
        remove([&self.socket, &self.control]);
        abi::exit(code);
    }
}

fn remove(sockets: [&Option<PathBuf>; 2]) {
    for path in sockets.into_iter().flatten() {
        let _ = std::fs::remove_file(path);
    }
}

/// Opens the drive. An error ends the process here, with its own exit code.
pub(crate) fn get_ready() -> Told {
    // A file that may not grow any further is an error of a write, as on a full disk. It must not end the process.
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map_err(|error| error.to_string())?;
    let options = with_options(|options| options.clone());
    if let Ok(stdout) = std::io::stdout().as_fd().try_clone_to_owned() {
        let _ = STDOUT.set(stdout.into());
    }
    if let Some(address) = options.http {
        // Before anything else is opened: a port in use is no reason to touch the drive.
        match Page::bind(address) {
            Ok(page) => *PAGE.lock().unwrap_or_else(PoisonError::into_inner) = Some(page),
            Err(error) => {
                log(&format!("--http {address}: {error}"));
                abi::exit(EXIT_INPUT);
            }
        }
    }
    match open(&options) {
        Ok(served) => SERVED.set(served).map_err(|_| "the drive is open already".into()),
        Err(error) => {
            log(&error.to_string());
            abi::exit(match error {
                OpenError::Input(_) => EXIT_INPUT,
                OpenError::Failed(_) => phelsuma_serve::device::EXIT_FAILED,
            });
        }
    }
}

fn open(options: &Options) -> Result<Served, OpenError> {
    let plugin = Box::new(Plugin::of(options));
    match &options.backing {
        Some(Backing::Memory(memory)) => Served::open(memory.drive()?, &options.serving, plugin),
        Some(Backing::Image(_)) if options.serving.realtime.is_some() => {
            Err(OpenError::Input("realtime= is for a drive in memory; leave it out for an image".into()))
        }
        Some(Backing::Image(path)) => {
            let drive = ImageDrive { path: path.clone(), durability: options.durability };
            Served::open(drive, &options.serving, plugin)
        }
        None => Err(OpenError::Input("no drive is given; use image=FILE or memory=BYTES".into())),
    }
}

/// The port in `nbd://ADDRESS:PORT`.
fn port_of(uri: &str) -> Option<u16> {
    uri.strip_prefix("nbd://").or_else(|| uri.strip_prefix("nbds://"))?.rsplit_once(':')?.1.parse().ok()
}

/// Clients may connect from now on: starts what runs beside their requests, and says so.
pub(crate) fn after_fork() -> Told {
    let Some(served) = served() else { return Err("the drive is not open".into()) };
    let options = with_options(|options| options.clone());
    if let Some(path) = &options.record {
        match Recorder::create(path, log) {
            Ok(recorder) => served.record(recorder),
            Err(error) => {
                log(&error.to_string());
                remove([&options.socket, &None]);
                abi::exit(EXIT_INPUT);
            }
        }
    }
    if let Some(path) = &options.control {
        let listener = UnixListener::bind(path).map_err(|error| format!("{}: {error}", path.display()))?;
        start("control", move || control::listen(&listener, served))?;
    }
    // nbdkit's own handler is called as well.
    let signal = SIGNAL.get_or_init(Arc::default);
    for which in ENDS {
        signal_hook::flag::register_usize(which, Arc::clone(signal), which as usize)
            .map_err(|error| error.to_string())?;
    }
    let mut signals = Signals::new(ENDS).map_err(|error| error.to_string())?;
    *SIGNALS.lock().unwrap_or_else(PoisonError::into_inner) = Some(signals.handle());
    let plugin = Plugin::of(&options);
    start("end", move || {
        if signals.forever().next().is_some() {
            let _ = CLIENTS_AT_END.set(CLIENTS.load(Ordering::Relaxed));
            drain(served, &plugin);
        }
    })?;
    start("idle", move || served.work_while_idle(options.idle))?;
    let page = PAGE.lock().unwrap_or_else(PoisonError::into_inner).take();
    let url = page.as_ref().map(Page::url);
    if let Some(page) = page {
        let running = page.start(served).map_err(|error| format!("the page of --http cannot be served: {error}"))?;
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
    }
    if let (Some(uri), Some(mut stdout)) = (&options.uri, STDOUT.get()) {
        // Where stdout is closed, the line is not wanted.
        let _ = stdout.write_all(ready(served, uri, url.as_deref(), &options).as_bytes());
    }
    Ok(())
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Told {
    let thread = Builder::new().name(name.into()).spawn(work).map_err(|error| error.to_string())?;
    THREADS.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
    Ok(())
}

/// nbdkit is to end. It takes no more requests, but waits for clients to go. Those that do not are dropped once their
/// requests are answered.
fn drain(served: &Served, plugin: &Plugin) {
    let begun = Instant::now();
    while served.in_progress() > 0 && begun.elapsed() < DRAIN_MAX {
        std::thread::sleep(DRAIN_STEP);
    }
    // For answers that are on their way, and again for clients that were just coming in.
    while !served.is_closed() && begun.elapsed() < 2 * DRAIN_MAX {
        std::thread::sleep(DRAIN_STEP);
        plugin.drop_connections();
    }
}

/// The served drive, and how to connect.
fn ready(served: &Served, uri: &str, url: Option<&str>, options: &Options) -> String {
    let mut text = format!("{}\n{uri}\n", served.about());
    for (what, command) in [
        ("look", format!("nbdinfo '{uri}'")),
        ("use", format!("qemu-img convert -n -O raw disk.img '{uri}', or nbdfuse DIR '{uri}' for a file")),
        ("load", format!("fio --name=x --ioengine=nbd --uri='{uri}' --rw=randwrite --bs=4k --iodepth=32 --size=64m")),
    ] {
        text += &format!("  {what:<5} {command}\n");
    }
    if let Some(path) = &options.control {
        text += &format!("  plug  phelsuma plug {} cut\n", shown(path));
    }
    if let Some(url) = url {
        text += &format!("  page  {url}\n");
    }
    text
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// No client is connected any more, or nbdkit waits for them no longer: closes the drive.
pub(crate) fn cleanup() {
    let Some(served) = served() else { return };
    let options = with_options(|options| options.clone());
    if let Some(page) = RUNNING.lock().unwrap_or_else(PoisonError::into_inner).take() {
        page.stop();
    }
    let done = served.close();
    if let Some(path) = &options.control {
        control::wake(path);
    }
    if let Some(signals) = SIGNALS.lock().unwrap_or_else(PoisonError::into_inner).take() {
        signals.close();
    }
    for thread in THREADS.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let _ = thread.join();
    }
    remove([&options.socket, &options.control]);
    if !done {
        abi::exit(phelsuma_serve::device::EXIT_FAILED);
    }
    let signal = SIGNAL.get().map_or(0, |signal| signal.load(Ordering::Relaxed));
    if let Some(name) = signal_hook::low_level::signal_name(signal as i32) {
        let clients = match CLIENTS_AT_END.get() {
            None | Some(0) => "no client was connected".to_string(),
            Some(1) => "1 client was connected".to_string(),
            Some(clients) => format!("{clients} clients were connected"),
        };
        log(&format!("stopped by {name}, closed cleanly; {clients}"));
    }
}
