//! Why an id replays nothing: the first of its cuts that does not happen, and what there is instead.

use crate::tried::Tried;
use phelsuma_drive::lab::{Cut, Fault, LabConfig, Path, Points, Subject, Sweep};
use phelsuma_nand::sim::ProgramFault;

/// More operations than any recovery has.
const OPERATIONS_MAX: u32 = 1 << 20;

/// What is wrong with `path`, which is no branch of the experiment.
pub(crate) fn no_such_branch(config: &LabConfig<Tried>, path: &Path) -> String {
    let missing = (1..=path.0.len()).find_map(|cuts| path.0.get(..cuts).filter(|begin| !happens(config, begin)));
    let Some((cut, before)) = missing.and_then(|begin| begin.split_last()) else {
        return format!("no branch {path} in this experiment");
    };
    let is_defect = |cut: &Cut| Fault::defects().any(|defect| defect.name() == cut.fault);
    if path.0.iter().any(is_defect) {
        return format!(
            "no branch {path}: the defect comes first in an id, and the cut is at one of the few operations after it \
             (another workload, seed, FTL, geometry or number of writes has other branches)"
        );
    }
    let among = match before {
        [] => "the workload".to_string(),
        _ => format!("the recovery from {}", Path(before.to_vec())),
    };
    let Cut { operation, fault, .. } = *cut;
    if config.ftl.has_battery() {
        return announced_only(config, path, operation, fault);
    }
    // This fault is one of programs and of erases.
    let any = ProgramFault::NotStarted.name();
    let instead = |operation, fault| [before, &[Cut { operation, fault, beside: 0 }]].concat();
    let why = if !happens(config, &instead(operation, any)) {
        let operations = match before {
            [] => operations_of(config),
            _ => first_without(|operation| happens(config, &instead(operation, any))),
        };
        format!("{among} has {operations} programs and erases, counted from 0")
    } else if !happens(config, &instead(operation, fault)) {
        let (is, other) = if of_programs(fault) { ("an erase", "programs") } else { ("a program", "erases") };
        let right = |f: &&Fault| matches!(f, Fault::Program(_)) == (is == "a program");
        let right: Vec<&str> = Fault::all().iter().filter(right).map(|f| f.name()).collect();
        format!(
            "operation {operation} of {among} is {is}, and {fault} is a fault of {other}; use one of {}",
            right.join(", ")
        )
    } else {
        format!(
            "operation {operation} of {among} has fewer choices for the operations in flight beside it than {}",
            cut.beside
        )
    };
    format!("no branch {path}: {why} (another workload, seed, FTL, geometry or number of writes has other branches)")
}

/// Why, where a battery lets requests finish: there are no other cuts than after requests.
fn announced_only(config: &LabConfig<Tried>, path: &Path, operation: u32, fault: &str) -> String {
    let (name, announced) = (config.ftl.name(), Fault::Announced.name());
    if fault != announced {
        return format!("no branch {path}: {name} has a battery; use {operation}.{announced}");
    }
    let requests = operations_of(config);
    format!(
        "no branch {path}: the workload has {requests} requests, counted from 0, and the power is cut only after a \
         request (another workload, seed, geometry or number of writes has other branches)"
    )
}

/// What there is to cut in the workload: programs and erases, or requests where there is a battery.
fn operations_of(config: &LabConfig<Tried>) -> u32 {
    Sweep::new(&LabConfig { points: Points::Some(0), ..config.clone() }).run().map_or(0, |report| report.operations)
}

fn of_programs(fault: &str) -> bool {
    ProgramFault::ALL.iter().any(|f| f.name() == fault)
}

/// Whether all of these cuts happen.
fn happens(config: &LabConfig<Tried>, cuts: &[Cut]) -> bool {
    let points = Points::Replay(Path(cuts.to_vec()));
    Sweep::new(&LabConfig { points, ..config.clone() }).run().is_ok()
}

/// The least number for which it does not hold, where it holds for all smaller ones.
fn first_without(holds: impl Fn(u32) -> bool) -> u32 {
    let mut above = 1;
    while above < OPERATIONS_MAX && holds(above - 1) {
        above *= 2;
    }
    let (mut least, mut most) = (above / 2, above - 1);
    while least < most {
        let between = least.midpoint(most);
        if holds(between) {
            least = between + 1;
        } else {
            most = between;
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::first_without;

    #[test]
    fn the_number_of_operations_is_found_by_asking_for_few() {
        for n in 0..200 {
            assert_eq!(first_without(|k| k < n), n);
        }
    }
}
