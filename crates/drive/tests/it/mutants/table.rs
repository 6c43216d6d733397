//! `docs/MUTANTS.md`.

use super::experiments::{ELSEWHERE, UNNOTICED};
use super::trap::{Caught, Trap};
use phelsuma_ftl::Barrier;
use std::collections::HashSet;
use std::fmt;

/// The document, of all that was caught.
pub(crate) struct Table<'a>(pub(crate) &'a [(Barrier, Trap, Option<Caught>)]);

const INTRODUCTION: &str = "\
# Mutants

The crash laboratory is itself tried: FTLs are built that each forget one rule, at each spot where the code keeps it, and
an experiment must catch each, and must find nothing on the FTL that forgets none. `make mutants` does that with
`--cfg phelsuma_mutants`, which `make test` builds with as well; a release with it does not compile. **This document is
generated** (`make mutants-table`), and a test fails where it is not what the experiments give.

A *sweep* is named by its workload; the power is cut at operations spread over it, with each fault, and a cut counts for
each fault tried. In a *soak* drives live through random cuts, and it counts how many there were until the mutant was
caught. *Percent* are logical pages, in a sweep of all pages, in a soak of as many as fit. What comes last replays the
finding: the id of a branch (`uncut`: the workload alone showed it), or a life and the cycle in it. What is caught as *panic* an
assertion of the FTL's own has caught: tests have them, releases have not.
";

impl fmt::Display for Table<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: HashSet<Barrier> = self.0.iter().map(|(barrier, ..)| *barrier).collect();
        writeln!(out, "{INTRODUCTION}\n## Caught by the laboratory: {} mutants\n", names.len())?;
        writeln!(out, "| mutant: the rule that is forgotten | FTL | experiment | caught as | cuts | first |")?;
        writeln!(out, "| --- | --- | --- | --- | --: | --- |")?;
        let mut last = None;
        for (barrier, trap, caught) in self.0 {
            match last == Some(*barrier) {
                true => write!(out, "| same")?,
                false => write!(out, "| `{barrier:?}`: {}", barrier.rule())?,
            }
            last = Some(*barrier);
            write!(out, " | {} | {trap}", trap.ftl())?;
            match caught {
                None => writeln!(out, " | **not caught** | | |")?,
                Some(Caught { kinds, cuts, id, .. }) => {
                    let kinds: Vec<String> = kinds
                        .iter()
                        .map(|(kind, count)| if *count == 1 { kind.clone() } else { format!("{kind} {count}") })
                        .collect();
                    writeln!(out, " | {} | {cuts} | {id} |", kinds.join(", "))?;
                }
            }
        }
        writeln!(out, "\n## Caught by other tests\n\n`make mutants` runs these as well.\n")?;
        writeln!(out, "| mutant: the rule that is forgotten | test |\n| --- | --- |")?;
        for (barrier, test) in ELSEWHERE {
            writeln!(out, "| `{barrier:?}`: {} | `{test}` |", barrier.rule())?;
        }
        writeln!(out, "\n## Not noticed\n\nFindings about the harness, or rules that others stand in for.\n")?;
        writeln!(out, "| mutant: the rule that is forgotten | why, as far as is known |\n| --- | --- |")?;
        for (barrier, why) in UNNOTICED {
            writeln!(out, "| `{barrier:?}`: {} | {why} |", barrier.rule())?;
        }
        Ok(())
    }
}
