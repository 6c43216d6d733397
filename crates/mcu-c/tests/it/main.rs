//! The C interface, called as C calls it.

#![allow(unsafe_code)]

mod chip;
mod misuse;
mod use_case;
