//! `--set` and `--cache`: changes of FTLs, of each as far as it has the parts.

use crate::count::count;
use crate::failure::{Failure, Outcome};
use crate::size;
use phelsuma_ftl::{Composition, ConfigError, ENTRY_BYTES};

/// A parameter and its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// The parameter.
    pub key: String,
    /// Its value.
    pub value: String,
}

/// KEY=VALUE.
///
/// # Errors
/// It is none.
pub fn setting(text: &str) -> Result<Setting, String> {
    match text.split_once('=') {
        Some((key, value)) => Ok(Setting { key: key.trim().to_string(), value: value.trim().to_string() }),
        None => Err("KEY=VALUE would be right, such as victim=fifo".to_string()),
    }
}

/// Changes an FTL's parts as `--set` and `--cache` say, and tells which parameters it lacks the part for.
///
/// # Errors
/// A parameter that there is not, or a value that cannot be.
pub fn set_parts(composition: &mut Composition, settings: &[Setting], cache: Option<u64>) -> Outcome<Vec<ConfigError>> {
    if cache.is_some() && settings.iter().any(|s| s.key.replace('_', "-") == "mapping.cache") {
        return Err(Failure::Input(
            "--cache and --set mapping.cache are the same, in bytes and in entries; one of them would be right".into(),
        ));
    }
    let settings: Vec<(&str, &str)> = settings.iter().map(|s| (s.key.as_str(), s.value.as_str())).collect();
    let lacking = composition.set_what_is_there(&settings)?;
    match cache {
        Some(bytes) if composition.has_cache() => set_cache(composition, bytes)?,
        _ => {}
    }
    Ok(lacking)
}

/// Gives a demand-paged mapping a cache of so many bytes.
///
/// # Errors
/// A size that cannot be.
pub fn set_cache(composition: &mut Composition, bytes: u64) -> Outcome {
    let entries = bytes / ENTRY_BYTES;
    let wrong = || {
        Failure::Input(format!(
            "--cache {} is {} entries of {ENTRY_BYTES} bytes: it can be 0 for the default, or 16 entries (128 B) or more, \
             below 2^32",
            size::show(bytes),
            count(entries)
        ))
    };
    // Less than an entry is not the default.
    if bytes > 0 && entries == 0 {
        return Err(wrong());
    }
    composition.set("mapping.cache", &entries.to_string()).map_err(|error| match error {
        ConfigError::BadValue { .. } => wrong(),
        error => error.into(),
    })
}

/// A cache that was asked for, and no FTL among these has one.
///
/// # Errors
/// That is so.
pub fn check_cache_is_used<'c>(cache: Option<u64>, mut compositions: impl Iterator<Item = &'c Composition>) -> Outcome {
    match cache {
        Some(_) if !compositions.any(|c| c.has_cache()) => Err(Failure::Input(
            "--cache: the FTLs here have no cache of mapping entries; dftl has one, and mu-ftl's is of pages of its tree (--set \
             mapping.read-pages=N, mapping.write-pages=N)"
                .into(),
        )),
        _ => Ok(()),
    }
}

/// A remark for each parameter that some of these FTLs lack, each given with what it lacks.
///
/// # Errors
/// A parameter that all of them lack.
pub fn remarks<'f>(ftls: impl Iterator<Item = (&'f str, &'f [ConfigError])> + Clone) -> Outcome<Vec<String>> {
    let mut remarks: Vec<String> = Vec::new();
    let mut told: Vec<&str> = Vec::new();
    for error in ftls.clone().flat_map(|(_, lacking)| lacking) {
        let ConfigError::NoSuchPart { name, only, .. } = error else { return Err(error.clone().into()) };
        if told.contains(&name.as_str()) {
            continue;
        }
        told.push(name);
        let lacks = |lacking: &[ConfigError]| {
            lacking.iter().any(|error| matches!(error, ConfigError::NoSuchPart { name: other, .. } if other == name))
        };
        if ftls.clone().all(|(_, lacking)| lacks(lacking)) {
            return Err(error.clone().into());
        }
        let without: Vec<&str> = ftls.clone().filter(|(_, lacking)| lacks(lacking)).map(|(ftl, _)| ftl).collect();
        remarks.push(format!("{name} is not set for {}: {only}", without.join(", ")));
    }
    Ok(remarks)
}
