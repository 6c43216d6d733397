//! The observer hook: everything a chip does can be listened to.

use crate::{Block, Page, Purpose, Spare, Time};

/// The operation, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// A page was read.
    Read(Page),
    /// A spare area was read.
    ReadSpare(Page),
    /// A page was programmed.
    Program(Page),
    /// A block was erased.
    Erase(Block),
}

/// One flash operation, completed in simulated time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// What and where.
    pub action: Action,
    /// Why.
    pub purpose: Purpose,
    /// When the die or the channel took it up.
    pub start: Time,
    /// When it had completed.
    pub done: Time,
}

/// A listener to flash operations, in the order of the calls.
pub trait Observer: Send {
    /// An operation was done.
    fn observe(&mut self, event: &Event);

    /// Right after [`observe`](Self::observe) of a program that has not failed: the page's spare area.
    fn programmed(&mut self, _page: Page, _spare: &Spare, _purpose: Purpose) {}
}
