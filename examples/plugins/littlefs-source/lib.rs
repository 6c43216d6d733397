//! Nothing: a package has to have a target.
