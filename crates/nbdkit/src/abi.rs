//! nbdkit's interface for plugins, version 2 (`nbdkit-plugin.h`), as far as it is used.
//!
//! It is the structure that describes the plugin, and functions that turn C's arguments into those of
//! [`server`](crate::server).
//!
//! This is the one place of the workspace that holds `unsafe`: a C interface has no other way in. It relies only on
//! nbdkit's documentation (`nbdkit-plugin(3)`). A handle comes from `open` and lives until `close`. A buffer has
//! `count` bytes for the length of the call. Strings end with a zero byte. Nothing unwinds out of here: a panic in an
//! `extern "C"` function ends the process, and those of an FTL are caught below.

#![allow(unsafe_code)]

use crate::server::{self, Told};
use phelsuma_serve::device::{Connection, DeviceError, Extent, Served, Zeroes};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

const API_VERSION: c_int = 2;
/// One request at a time on a connection.
const THREAD_MODEL_SERIALIZE_REQUESTS: c_int = 2;
/// Any number of requests at a time.
const THREAD_MODEL_PARALLEL: c_int = 3;

const FLAG_MAY_TRIM: u32 = 1;
const FLAG_FUA: u32 = 2;
const FLAG_REQ_ONE: u32 = 4;
const FLAG_FAST_ZERO: u32 = 8;

const FUA_NATIVE: c_int = 2;

const EXTENT_HOLE: u32 = 1;
const EXTENT_ZERO: u32 = 2;

/// The largest request that is advertised, in bytes: what clients assume where nothing is said.
const REQUEST_MAX: u32 = 32 << 20;
/// Below this a client gains nothing by smaller requests, in bytes.
const PREFERRED_MIN: u32 = 4096;

type Handle = *mut c_void;
type Can = extern "C" fn(Handle) -> c_int;

/// `struct nbdkit_plugin`. nbdkit goes by the size in its first field, so later versions only add to it.
#[repr(C)]
struct Plugin {
    struct_size: u64,
    api_version: c_int,
    thread_model_most: c_int,
    name: *const c_char,
    longname: *const c_char,
    version: *const c_char,
    description: *const c_char,
    load: *const c_void,
    unload: *const c_void,
    config: extern "C" fn(*const c_char, *const c_char) -> c_int,
    config_complete: extern "C" fn() -> c_int,
    config_help: *const c_char,
    open: extern "C" fn(c_int) -> Handle,
    close: extern "C" fn(Handle),
    get_size: extern "C" fn(Handle) -> i64,
    can_write: Can,
    can_flush: Can,
    is_rotational: Can,
    can_trim: Can,
    of_version_1: [*const c_void; 5],
    errno_is_preserved: c_int,
    dump_plugin: *const c_void,
    can_zero: Can,
    can_fua: Can,
    pread: extern "C" fn(Handle, *mut c_void, u32, u64, u32) -> c_int,
    pwrite: extern "C" fn(Handle, *const c_void, u32, u64, u32) -> c_int,
    flush: extern "C" fn(Handle, u32) -> c_int,
    trim: extern "C" fn(Handle, u32, u64, u32) -> c_int,
    zero: extern "C" fn(Handle, u32, u64, u32) -> c_int,
    magic_config_key: *const c_char,
    can_multi_conn: Can,
    can_extents: Can,
    extents: extern "C" fn(Handle, u32, u64, u32, *mut c_void) -> c_int,
    can_cache: *const c_void,
    cache: *const c_void,
    thread_model: extern "C" fn() -> c_int,
    can_fast_zero: Can,
    preconnect: *const c_void,
    get_ready: extern "C" fn() -> c_int,
    after_fork: extern "C" fn() -> c_int,
    list_exports: *const c_void,
    default_export: *const c_void,
    export_description: *const c_void,
    cleanup: extern "C" fn(),
    block_size: extern "C" fn(Handle, *mut u32, *mut u32, *mut u32) -> c_int,
}

unsafe extern "C" {
    fn nbdkit_error(format: *const c_char, ...);
    fn nbdkit_set_error(errno: c_int);
    fn nbdkit_add_extent(extents: *mut c_void, offset: u64, length: u64, kind: u32) -> c_int;
    fn _exit(code: c_int) -> !;
}

/// Ends the process, whatever other threads do and without anything that is registered for its end.
pub(crate) fn exit(code: u8) -> ! {
    // SAFETY: ends the process and touches nothing.
    unsafe { _exit(code.into()) }
}

/// What nbdkit calls first.
#[unsafe(no_mangle)]
extern "C" fn plugin_init() -> *mut Plugin {
    let plugin = Plugin {
        struct_size: size_of::<Plugin>() as u64,
        api_version: API_VERSION,
        thread_model_most: THREAD_MODEL_PARALLEL,
        name: c"phelsuma".as_ptr(),
        longname: c"phelsuma: a flash drive behind a flash translation layer".as_ptr(),
        version: concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast(),
        description: null(),
        load: null(),
        unload: null(),
        config,
        config_complete,
        config_help: c"image=FILE, or memory=BYTES ftl=NAME; `phelsuma serve` passes these and more".as_ptr(),
        open,
        close,
        get_size,
        can_write: yes,
        can_flush: yes,
        is_rotational: no,
        can_trim: yes,
        of_version_1: [null(); 5],
        errno_is_preserved: 0,
        dump_plugin: null(),
        can_zero: yes,
        can_fua,
        pread,
        pwrite,
        flush,
        trim,
        zero,
        magic_config_key: null(),
        can_multi_conn: yes,
        can_extents: yes,
        extents,
        can_cache: null(),
        cache: null(),
        thread_model,
        can_fast_zero: yes,
        preconnect: null(),
        get_ready,
        after_fork,
        list_exports: null(),
        default_export: null(),
        export_description: null(),
        cleanup,
        block_size,
    };
    // nbdkit keeps it as long as the plugin is loaded.
    Box::into_raw(Box::new(plugin))
}

/// An answer to nbdkit: 0, or -1 with the reason.
fn told(result: Told) -> c_int {
    let Err(what) = result else { return 0 };
    let line = CString::new(what.replace('\0', "")).unwrap_or_default();
    // SAFETY: the format takes one string, and both end with a zero byte.
    unsafe { nbdkit_error(c"%s".as_ptr(), line.as_ptr()) };
    -1
}

/// An answer to a client: 0, or -1 with an errno. What went wrong has been logged.
fn answered(result: Result<(), DeviceError>) -> c_int {
    let Err(error) = result else { return 0 };
    // SAFETY: takes a number.
    unsafe { nbdkit_set_error(error.errno()) };
    -1
}

/// The connection behind a handle.
fn connection<'a>(handle: Handle) -> &'a Connection {
    // SAFETY: every handle is what `open` has returned, and is not closed before the calls with it are over.
    unsafe { &*handle.cast::<Connection>() }
}

extern "C" fn yes(_: Handle) -> c_int {
    1
}

extern "C" fn no(_: Handle) -> c_int {
    0
}

extern "C" fn can_fua(_: Handle) -> c_int {
    FUA_NATIVE
}

extern "C" fn config(key: *const c_char, value: *const c_char) -> c_int {
    // SAFETY: both are strings that end with a zero byte.
    let (key, value) = unsafe { (CStr::from_ptr(key), CStr::from_ptr(value)) };
    told(match (key.to_str(), value.to_str()) {
        (Ok(key), Ok(value)) => server::config(key, value),
        _ => Err("parameters must be UTF-8".into()),
    })
}

extern "C" fn config_complete() -> c_int {
    told(server::config_complete())
}

/// Connections have threads of their own, and our own lock brings their requests in order. It is not slower than to
/// have nbdkit do it (`docs/PERFORMANCE.md`).
///
/// With several threads on one connection, nbdkit 1.32 does not survive a client who goes away in the middle of a
/// request, as a killed one does. One thread finds that out and takes the socket away while another is about to answer.
/// Then an assertion ends the server (`raw_send_socket`, `sock >= 0`). So there is one thread, unless requests wait for
/// simulated flash: there, those of a connection have to wait side by side.
extern "C" fn thread_model() -> c_int {
    if server::requests_wait() { THREAD_MODEL_PARALLEL } else { THREAD_MODEL_SERIALIZE_REQUESTS }
}

extern "C" fn get_ready() -> c_int {
    told(server::get_ready())
}

extern "C" fn after_fork() -> c_int {
    told(server::after_fork())
}

extern "C" fn cleanup() {
    server::cleanup();
}

extern "C" fn open(_readonly: c_int) -> Handle {
    match server::connect() {
        Some(connection) => Box::into_raw(Box::new(connection)).cast(),
        None => null_mut(),
    }
}

extern "C" fn close(handle: Handle) {
    // SAFETY: `open` made it with `Box::into_raw`, and it is closed once.
    drop(unsafe { Box::from_raw(handle.cast::<Connection>()) });
    server::disconnect();
}

extern "C" fn get_size(_: Handle) -> i64 {
    server::served().and_then(|served| i64::try_from(served.size_bytes()).ok()).unwrap_or(-1)
}

extern "C" fn block_size(_: Handle, least: *mut u32, preferred: *mut u32, most: *mut u32) -> c_int {
    let page = server::served().map_or(PREFERRED_MIN, |served| served.page_bytes());
    // SAFETY: three places to write to.
    unsafe {
        *least = 1;
        *preferred = page.max(PREFERRED_MIN);
        *most = REQUEST_MAX;
    }
    0
}

extern "C" fn pread(handle: Handle, buffer: *mut c_void, count: u32, offset: u64, _: u32) -> c_int {
    // SAFETY: a buffer of `count` bytes, for this call alone. nbdkit has initialized it.
    let buffer = unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), count as usize) };
    answered(server::request(|served| served.read(connection(handle), offset, buffer)))
}

extern "C" fn pwrite(handle: Handle, buffer: *const c_void, count: u32, offset: u64, flags: u32) -> c_int {
    // SAFETY: as in `pread`; there is no write to it meanwhile.
    let buffer = unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), count as usize) };
    answered(server::request(|served| served.write(connection(handle), offset, buffer, flags & FLAG_FUA != 0)))
}

extern "C" fn flush(handle: Handle, _: u32) -> c_int {
    answered(server::request(|served| served.flush(connection(handle))))
}

extern "C" fn trim(handle: Handle, count: u32, offset: u64, flags: u32) -> c_int {
    answered(server::request(|served| served.trim(connection(handle), offset, count.into(), flags & FLAG_FUA != 0)))
}

extern "C" fn zero(handle: Handle, count: u32, offset: u64, flags: u32) -> c_int {
    let is = |flag: u32| flags & flag != 0;
    let how = Zeroes { may_trim: is(FLAG_MAY_TRIM), fast: is(FLAG_FAST_ZERO), fua: is(FLAG_FUA) };
    answered(server::request(|served| served.write_zeroes(connection(handle), offset, count.into(), how)))
}

/// The answer may end before the range does: a client asks for the rest.
extern "C" fn extents(handle: Handle, count: u32, offset: u64, flags: u32, extents: *mut c_void) -> c_int {
    let only_first = flags & FLAG_REQ_ONE != 0;
    let mut taken = 0;
    let mut found = |extent: Extent| {
        let kind = if extent.is_mapped { 0 } else { EXTENT_HOLE | EXTENT_ZERO };
        if taken == 0 {
            // SAFETY: nbdkit's own list, for this call alone.
            taken = unsafe { nbdkit_add_extent(extents, extent.offset, extent.length, kind) };
        }
    };
    let of = |served: &Served| served.extents(connection(handle), offset, count.into(), only_first, &mut found);
    match answered(server::request(of)) {
        0 => taken,
        failed => failed,
    }
}
