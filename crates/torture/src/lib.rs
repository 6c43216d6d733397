//! Every state that a power cut may leave of a drive that any program wrote to: recorded, made again and checked.

pub mod model;
