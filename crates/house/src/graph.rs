//! Circles: files of which each leads to each other one.

use crate::modules::Reference;

/// The circles of files numbered below `files`, largest first; each in the order of its numbers.
pub(crate) fn circles(files: usize, references: &[Reference]) -> Vec<Vec<usize>> {
    let reached: Vec<Vec<bool>> = (0..files).map(|from| reached_from(from, files, references)).collect();
    let is_both_ways = |one: usize, other: usize| reached[one][other] && reached[other][one];
    let circle_of = |file| (0..files).filter(|other| is_both_ways(file, *other)).collect::<Vec<usize>>();
    let mut circles: Vec<Vec<usize>> = (0..files).map(circle_of).filter(|circle| circle.len() > 1).collect();
    circles.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    circles.dedup();
    circles
}

fn reached_from(from: usize, files: usize, references: &[Reference]) -> Vec<bool> {
    let mut reached = vec![false; files];
    let mut left = vec![from];
    while let Some(file) = left.pop() {
        for (_, to) in references.iter().filter(|(at, _)| *at == file) {
            if !std::mem::replace(&mut reached[*to], true) {
                left.push(*to);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_what_leads_back() {
        let references = [(0, 1), (1, 2), (2, 1), (3, 3), (2, 4), (4, 5), (5, 6), (6, 4)];
        assert_eq!(circles(7, &references), [vec![4, 5, 6], vec![1, 2]]);
    }
}
