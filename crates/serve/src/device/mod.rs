//! The drive as bytes: reads, writes, trims and flushes of any address and length.
