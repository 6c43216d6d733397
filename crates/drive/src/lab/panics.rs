//! A panic of an FTL in a branch is a finding, and not news for the terminal.

use super::failure::{Failure, FailureKind};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// How many branches this thread is in.
    static BRANCHES: Cell<u32> = const { Cell::new(0) };
}

/// From now on panics in branches are not printed.
pub(crate) fn quiet_in_branches() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if BRANCHES.with(Cell::get) == 0 {
                before(info);
            }
        }));
    });
}

/// Runs a branch; a panic becomes a failure.
pub(crate) fn in_branch(run: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    BRANCHES.with(|b| b.set(b.get() + 1));
    let outcome = catch_unwind(AssertUnwindSafe(run));
    BRANCHES.with(|b| b.set(b.get() - 1));
    outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default();
        Err(Failure { kind: FailureKind::Panic, message: format!("panic: {text}") })
    })
}
