//! The fewest parts of a case that still show its failure: parts are left out by halves, then by quarters, then one by
//! one.

/// Leaves out as many of `parts` as can be, as long as the rest `shows` it.
pub(crate) fn fewest<T: Clone>(parts: &mut Vec<T>, mut shows: impl FnMut(&[T]) -> bool) {
    let mut at_a_time = parts.len().div_ceil(2);
    while at_a_time > 0 && !parts.is_empty() {
        let mut first = 0;
        while first < parts.len() {
            let mut fewer = parts.clone();
            fewer.drain(first..(first + at_a_time).min(parts.len()));
            if shows(&fewer) {
                *parts = fewer;
            } else {
                first += at_a_time;
            }
        }
        at_a_time /= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_stays_and_nothing_else_does() {
        let mut parts: Vec<u32> = (0..100).collect();
        let mut trials = 0;
        fewest(&mut parts, |parts| {
            trials += 1;
            [3, 64, 65].iter().all(|needed| parts.contains(needed))
        });
        assert_eq!(parts, [3, 64, 65]);
        assert!(trials < 60, "{trials} trials");
    }
}
