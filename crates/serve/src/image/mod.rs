//! The flash as a file that outlives the process.
