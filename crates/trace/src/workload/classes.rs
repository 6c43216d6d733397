//! Which pages of a workload are written equally often: the future that a drive can be given.

use super::address::{HotCold, Zipf};
use super::{Workload, WorkloadError};

/// The class, of `classes` in all, of the page that is written `rank`-th most often of `pages`, from 0 on. The last
/// class has half of the pages, the one before it half of the rest, and so on. The first has the rest.
#[must_use]
pub fn class_of_rank(rank: u64, pages: u64, classes: u8) -> u8 {
    let mut class = classes.saturating_sub(1);
    let mut begin = pages / 2;
    while class > 0 && rank < begin {
        class -= 1;
        begin /= 2;
    }
    class
}

impl Workload {
    /// The class of each of `logical_pages` pages, of at most `classes`, those written most often being of class 0. The
    /// hot and the cold pages of `hotcold` are two classes, those of `zipf` are divided by [`class_of_rank`], and those
    /// of `uniform` and `sequential` are one. None for workloads of files and of
    /// programs, whose definition does not say it, and of `shifting`, whose classes do not last.
    ///
    /// # Errors
    /// The workload cannot run on such a drive.
    pub fn classes(&self, logical_pages: u64, classes: u8, seed: u64) -> Result<Option<Vec<u8>>, WorkloadError> {
        let mut of_pages = vec![0; usize::try_from(logical_pages).unwrap_or(usize::MAX)];
        let mut set = |page: u64, class: u8| {
            if let Some(of_page) = usize::try_from(page).ok().and_then(|page| of_pages.get_mut(page)) {
                *of_page = class;
            }
        };
        match self {
            Workload::Uniform | Workload::Sequential => {}
            Workload::Zipf { theta } => {
                let place = Zipf::new(logical_pages.max(1), *theta, seed).by_rank();
                (0..logical_pages).for_each(|rank| set(place.at(rank), class_of_rank(rank, logical_pages, classes)));
            }
            Workload::HotCold { writes_percent, space_percent } => {
                let hot_cold = HotCold::new(logical_pages, *writes_percent, *space_percent, seed);
                let impossible = |what| WorkloadError { spec: self.to_string(), what };
                let (place, hot) = hot_cold.map_err(impossible)?.by_heat();
                let cold = u8::from(classes > 1);
                (hot..logical_pages).for_each(|index| set(place.at(index), cold));
            }
            Workload::Mixed { inner, .. } => return inner.classes(logical_pages, classes, seed),
            Workload::Shifting { .. }
            | Workload::Media(_)
            | Workload::Desktop { .. }
            | Workload::Cache(_)
            | Workload::Lsm(_) => return Ok(None),
        }
        Ok(Some(of_pages))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source as _;

    #[test]
    fn each_class_has_half_of_what_the_next_one_has() {
        let classes: Vec<u8> = (0..16).map(|rank| class_of_rank(rank, 16, 4)).collect();
        assert_eq!(classes, [0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3]);
        assert_eq!((class_of_rank(0, 16, 1), class_of_rank(15, 16, 1), class_of_rank(0, 1, 8)), (0, 0, 7));
    }

    #[test]
    fn the_classes_are_those_that_the_writes_go_to() {
        for (spec, of_writes, of_space) in
            [("hotcold:80/20", 0.8, 0.2), ("mixed:read=20:hotcold:90/10", 0.9, 0.1), ("uniform", 1.0, 1.0)]
        {
            let workload = Workload::parse(spec).unwrap();
            let classes = workload.classes(10_000, 2, 7).unwrap().unwrap();
            let hot = classes.iter().filter(|class| **class == 0).count() as f64 / 10_000.0;
            assert!((hot - of_space).abs() < 1e-9, "{spec}: {hot}");
            let mut source = workload.source(10_000, 4096, 7);
            let drawn: Vec<u64> = (0..20_000).map(|_| source.next_request().unwrap().unwrap().first).collect();
            let hot = drawn.iter().filter(|page| classes[**page as usize] == 0).count() as f64 / 20_000.0;
            assert!((hot - of_writes).abs() < 0.02, "{spec}: {hot}");
        }
        let zipf = Workload::parse("zipf:1.0").unwrap();
        let classes = zipf.classes(1 << 14, 8, 3).unwrap().unwrap();
        let sizes: Vec<usize> = (0..8).map(|class| classes.iter().filter(|of| **of == class).count()).collect();
        assert_eq!(sizes, [128, 128, 256, 512, 1024, 2048, 4096, 8192]);
        let mut source = zipf.source(1 << 14, 4096, 3);
        let mut writes = [0u32; 8];
        (0..40_000).for_each(|_| writes[classes[source.next_request().unwrap().unwrap().first as usize] as usize] += 1);
        // The 128 most popular of 16,384: H(128) / H(16,384), 5.43 of 10.28.
        assert!((f64::from(writes[0]) / 40_000.0 - 0.528).abs() < 0.02, "{writes:?}");
        assert!(Workload::parse("hotcold:80/20").unwrap().classes(1, 2, 1).is_err());
        for spec in ["desktop", "cache", "lsm", "shifting:2:hotcold:80/20"] {
            assert_eq!(Workload::parse(spec).unwrap().classes(1 << 14, 2, 1), Ok(None));
        }
    }
}
