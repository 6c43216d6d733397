//! Words into options.

use crate::failure::{Outcome, usage};
use std::ffi::OsString;

/// The same command line, in which a negative number is a value: what is wrong with it is said by the option.
pub fn with_negatives(command: clap::Command) -> clap::Command {
    let takes = |arg: &clap::Arg| !arg.is_positional() && arg.get_action().takes_values();
    command
        .mut_args(|arg| if takes(&arg) { arg.allow_negative_numbers(true) } else { arg })
        .mut_subcommands(with_negatives)
}

/// The options that these words are, without the name of a command in front of them.
///
/// # Errors
/// What the command would say of them.
pub fn parsed<A: clap::Args>(words: impl IntoIterator<Item = OsString>) -> Outcome<A> {
    let command = A::augment_args(clap::Command::new("phelsuma").no_binary_name(true).disable_help_flag(true));
    let matches = with_negatives(command).try_get_matches_from(words).map_err(|error| usage(&error))?;
    A::from_arg_matches(&matches).map_err(|error| usage(&error))
}
