//! A drive in an image file, and what serves it: the flash as a file, the drive as bytes.

pub mod device;
pub mod image;
