//! What a page calls: functions over the module's memory.
//!
//! The page asks for room, writes a line of JSON there, calls, and reads the answer: a line of JSON, and bytes where
//! the call has some. Bytes of a question stand behind the end of its line. All of them stand where they are until the next call.

// Symbols that have to keep their names. Nothing here touches a pointer.
#![allow(unsafe_code)]

use crate::call::{Answer, Opened, call};
use std::cell::RefCell;
use std::sync::{Mutex, Once, PoisonError};

#[derive(Default)]
struct Module {
    opened: Opened,
    asked: Vec<u8>,
    answer: Answer,
}

thread_local! {
    static MODULE: RefCell<Module> = RefCell::default();
}

/// What a panic said. The call that panicked never returns, so it stands apart from the module.
static PANIC: Mutex<String> = Mutex::new(String::new());
static HOOK: Once = Once::new();

fn panic_said() -> std::sync::MutexGuard<'static, String> {
    PANIC.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where what a panic said is.
#[unsafe(no_mangle)]
pub extern "C" fn phelsuma_panic() -> *const u8 {
    panic_said().as_ptr()
}

/// How long it is; nothing where there was none.
#[unsafe(no_mangle)]
pub extern "C" fn phelsuma_panic_bytes() -> usize {
    panic_said().len()
}

fn with<T>(what: impl FnOnce(&mut Module) -> T) -> T {
    MODULE.with_borrow_mut(what)
}

/// Room for a question of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn phelsuma_room(bytes: usize) -> *mut u8 {
    HOOK.call_once(|| std::panic::set_hook(Box::new(|panic| *panic_said() = panic.to_string())));
    with(|module| {
        module.asked.clear();
        module.asked.resize(bytes, 0);
        module.asked.as_mut_ptr()
    })
}

/// Answers the question that stands there.
#[unsafe(no_mangle)]
pub extern "C" fn phelsuma_call() {
    with(|module| {
        let end = module.asked.iter().position(|byte| *byte == b'\n').unwrap_or(module.asked.len());
        let (question, bytes) = module.asked.split_at(end);
        let bytes = bytes.get(1..).unwrap_or_default();
        module.answer = call(&mut module.opened, &String::from_utf8_lossy(question), bytes);
    });
}

/// Where the answer's line is.
#[unsafe(no_mangle)]
pub extern "C" fn phelsuma_line() -> *const u8 {
    with(|module| module.answer.line.as_ptr())
}

/// How long it is.
#[unsafe(no_mangle)]
pub extern "C" fn phelsuma_line_bytes() -> usize {
    with(|module| module.answer.line.len())
}

/// Where the answer's bytes are.
#[unsafe(no_mangle)]
pub extern "C" fn phelsuma_bytes() -> *const u8 {
    with(|module| module.answer.bytes.as_ptr())
}

/// How many there are.
#[unsafe(no_mangle)]
pub extern "C" fn phelsuma_bytes_count() -> usize {
    with(|module| module.answer.bytes.len())
}
