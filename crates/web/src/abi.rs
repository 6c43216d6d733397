//! What a page calls: functions over the module's memory.
//!
//! The page asks for room, writes a line of JSON there, calls, and reads the answer: a line of JSON, and bytes where
//! the call has some. All of them stand where they are until the next call.

// Symbols that have to keep their names. Nothing here touches a pointer.
#![allow(unsafe_code)]

use crate::call::{Answer, call};
use crate::engine::Engine;
use std::cell::RefCell;

#[derive(Default)]
struct Module {
    engine: Option<Engine>,
    asked: Vec<u8>,
    answer: Answer,
}

thread_local! {
    static MODULE: RefCell<Module> = RefCell::default();
}

fn with<T>(what: impl FnOnce(&mut Module) -> T) -> T {
    MODULE.with_borrow_mut(what)
}

/// Room for a question of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn phelsuma_room(bytes: usize) -> *mut u8 {
    with(|module| {
        module.asked.clear();
        module.asked.resize(bytes, 0);
        module.asked.as_mut_ptr()
    })
}

/// Answers the question that stands there.
#[unsafe(no_mangle)]
pub extern "C" fn phelsuma_call() {
    with(|module| module.answer = call(&mut module.engine, &String::from_utf8_lossy(&module.asked)));
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
