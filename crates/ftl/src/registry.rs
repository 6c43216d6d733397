//! The registry: policies and named FTLs of other crates, by name, which a `main` hands to the command.
//!
//! A part that was chosen is a value and needs no name, so firmware needs no registry. Names are looked up where a
//! person wrote them, on a command line or in an image. The list of them is made once, before the first is looked up.

use crate::config::{ConfigError, parameters};
use crate::policy::registered::{Brought, bring, placements, victims};
use crate::policy::{PlacementSpec, VictimSpec};
use crate::presets::{PRESETS, Preset, bring_presets};
use crate::spec::{PARAM_NUMBERS_MAX, Param, Spec};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use thiserror::Error;

/// Policies and presets besides those of this crate.
///
/// ```
/// use phelsuma_ftl::policy::{Choice, Victim, VictimSpec, View};
/// use phelsuma_ftl::{Composition, PageParts, Preset, Registry};
/// use phelsuma_nand::state::Preserve;
///
/// #[derive(Clone, Copy, Preserve)]
/// struct First;
///
/// impl Victim for First {
///     fn choose(&mut self, view: &View<'_>) -> Option<Choice> {
///         let (block, _) = view.candidates().find(|(_, live)| *live < view.pages_per_block())?;
///         Some(Choice::new(block, view.blocks()))
///     }
/// }
///
/// static FIRST: VictimSpec = VictimSpec::new("first", "the first with a stale page", |_| Box::new(First));
///
/// const PRESET: Preset = Preset {
///     name: "page-first",
///     about: "as page, collecting the first block with a stale page",
///     composition: Composition::PageMapped(PageParts { victim: FIRST.chosen(), ..PageParts::PAGE }),
/// };
///
/// Registry::new().victim(&FIRST).preset(PRESET).install()?;
/// let mut page = Preset::named("page")?.composition;
/// page.set("victim", "first")?;
/// assert_eq!(page, Preset::named("page-first")?.composition);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct Registry {
    brought: Brought,
    presets: Vec<Preset>,
}

/// Why policies and presets cannot be known by name.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RegistryError {
    /// Something else has the name.
    #[error("{what} '{name}' is there already; another name would be right")]
    Taken {
        /// The kind of thing that it is of: a part or a preset.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A statement that cannot be.
    #[error("{what} '{name}': {right}")]
    Wrong {
        /// The kind of thing that it is of.
        what: &'static str,
        /// Its name.
        name: String,
        /// What would be right.
        right: String,
    },
    /// Names were looked up before, or another registry was installed.
    #[error("names were looked up before: a registry is installed once, as the first thing that is done")]
    InUse,
}

impl Registry {
    /// Nothing besides what this crate has.
    pub fn new() -> Self {
        Self::default()
    }

    /// And this victim part.
    #[must_use]
    pub fn victim(mut self, spec: &'static VictimSpec) -> Self {
        self.brought.victims.push(spec);
        self
    }

    /// And this placement part.
    #[must_use]
    pub fn placement(mut self, spec: &'static PlacementSpec) -> Self {
        self.brought.placements.push(spec);
        self
    }

    /// And this named FTL.
    #[must_use]
    pub fn preset(mut self, preset: Preset) -> Self {
        self.presets.push(preset);
        self
    }

    /// From now on all of it is known by name, in the whole process.
    ///
    /// # Errors
    /// [`RegistryError`]: a name that something else has, or that names were looked up before.
    pub fn install(self) -> Result<(), RegistryError> {
        if !(bring(self.brought) && bring_presets(self.presets)) {
            return Err(RegistryError::InUse);
        }
        let victims: Vec<&Spec> = victims().map(|part| &part.spec).collect();
        let placements: Vec<&Spec> = placements().map(|part| &part.spec).collect();
        check("the victim part", &victims)?;
        check("the placement part", &placements)?;
        let listed: Vec<&str> = parameters().iter().map(|parameter| parameter.name).collect();
        if let Some(name) = twice(&listed) {
            return Err(RegistryError::Taken { what: "the parameter", name: name.to_string() });
        }
        let presets: Vec<&str> = Preset::all().map(|preset| preset.name).collect();
        if let Some(name) = twice(&presets) {
            return Err(RegistryError::Taken { what: "the FTL", name: name.to_string() });
        }
        // Its parts can be set by name, as an image has them.
        for preset in Preset::all().skip(PRESETS.len()) {
            let wrong = |error: ConfigError| RegistryError::Wrong {
                what: "the FTL",
                name: preset.name.to_string(),
                right: error.to_string(),
            };
            let mut composition = preset.composition;
            let settings = composition.settings();
            let settings: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
            composition.set_all(&settings).map_err(wrong)?;
        }
        Ok(())
    }
}

/// Looks at the parts of a family.
fn check(what: &'static str, specs: &[&Spec]) -> Result<(), RegistryError> {
    let names: Vec<&str> = specs.iter().map(|spec| spec.name).collect();
    if let Some(name) = twice(&names) {
        return Err(RegistryError::Taken { what, name: name.to_string() });
    }
    for (n, spec) in specs.iter().enumerate() {
        let wrong = |right: String| RegistryError::Wrong { what, name: spec.name.to_string(), right };
        why_wrong(spec).map_or(Ok(()), |right| Err(wrong(right)))?;
        for param in spec.params {
            let mut others = specs.iter().take(n).flat_map(|other| other.params);
            if others.any(|other| other.name == param.name && other != param) {
                return Err(RegistryError::Taken { what: "the parameter", name: param.name.to_string() });
            }
        }
    }
    Ok(())
}

/// Why a statement cannot be: what would be right.
fn why_wrong(spec: &Spec) -> Option<String> {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-+".contains(c))
    };
    if !is_name(spec.name) {
        return Some("a name of small letters, digits and '-' would be right".into());
    }
    let width: usize = spec.params.iter().map(Param::width).sum();
    if width > PARAM_NUMBERS_MAX {
        return Some(format!("parameters of {width} numbers; {PARAM_NUMBERS_MAX} or fewer would be right"));
    }
    let mut params = spec.params.iter().enumerate();
    params.find_map(|(n, param)| {
        let name = param.name;
        if !name.split_once('.').is_some_and(|(of, name)| is_name(of) && is_name(name)) {
            return Some(format!("its parameter '{name}'; a name such as {}.depth would be right", spec.name));
        }
        if spec.params.iter().take(n).any(|other| other.name == name) {
            return Some(format!("its parameter '{name}' is there twice"));
        }
        (!param.takes(param.default)).then(|| format!("the default of its parameter '{name}' is no value of it"))
    })
}

/// The first name that is there twice.
fn twice<'n>(names: &[&'n str]) -> Option<&'n str> {
    names.iter().enumerate().find(|(n, name)| names[..*n].contains(name)).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Choice, Victim, View};
    use alloc::boxed::Box;

    #[derive(Clone, Copy, phelsuma_nand::state::Preserve)]
    struct Nothing;

    impl Victim for Nothing {
        fn choose(&mut self, _view: &View<'_>) -> Option<Choice> {
            None
        }
    }

    const fn victim(name: &'static str, params: &'static [Param]) -> VictimSpec {
        VictimSpec::new(name, "nothing", |_| Box::new(Nothing)).params(params)
    }

    fn refused(spec: &VictimSpec) -> String {
        let all: Vec<&Spec> = victims().map(|part| &part.spec).chain([&spec.spec]).collect();
        check("the victim part", &all).map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn every_part_of_this_crate_states_what_can_be() {
        let victims: Vec<&Spec> = victims().map(|part| &part.spec).collect();
        let placements: Vec<&Spec> = placements().map(|part| &part.spec).collect();
        assert_eq!(check("the victim part", &victims).and(check("the placement part", &placements)), Ok(()));
    }

    #[test]
    fn a_statement_that_cannot_be_is_refused() {
        const OTHER_D: Param = Param::number("victim.d", 1, 5, 2, "another");
        const DEFAULT: Param = Param::number("mine.depth", 1, 5, 9, "its default is none of its values");
        const LONG: Param = Param::list("mine.all", 13, 1, 5, 2, "too many");
        const DEPTH: Param = Param::number("mine.depth", 1, 5, 2, "depth");
        const NO_PARTS: Param = Param::number("depth", 1, 5, 2, "depth");
        const NO_WORDS: Param = Param::words("mine.words", &[], "none");
        assert_eq!(refused(&victim("mine", &[DEPTH])), "");
        assert!(refused(&victim("greedy", &[])).contains("'greedy' is there already"));
        assert!(refused(&victim("mine", &[OTHER_D])).contains("the parameter 'victim.d' is there already"));
        for (name, params) in [
            ("Mine", &[][..]),
            ("", &[][..]),
            ("my policy", &[][..]),
            ("mine", &[DEFAULT][..]),
            ("mine", &[LONG][..]),
            ("mine", &[NO_PARTS][..]),
            ("mine", &[NO_WORDS][..]),
            ("mine", &[DEFAULT, DEFAULT][..]),
        ] {
            let said = refused(&victim(name, params));
            assert!(said.starts_with("the victim part"), "{name}: {said}");
        }
    }
}
