//! Block traces and synthetic workloads.
