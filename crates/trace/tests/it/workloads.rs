//! Workloads are distributed as they say. Every bound here is five standard deviations or more wide for
//! the right distribution, and the seeds are fixed.

use phelsuma_trace::workload::{GenerateOptions, generate};
use phelsuma_trace::{Op, OpenOptions, PageRequest, Source, Workload, reader_from};

fn draw(spec: &str, pages: u64, seed: u64, count: usize) -> Vec<PageRequest> {
    let mut source = Workload::parse(spec).unwrap().source(pages, 4096, seed);
    (0..count).map(|_| source.next_request().unwrap().expect("a workload never ends")).collect()
}

fn counts(requests: &[PageRequest], pages: u64) -> Vec<u64> {
    let mut counts = vec![0; pages as usize];
    for request in requests {
        counts[request.first as usize] += 1;
    }
    counts
}

/// Asserts that counts fit expected ones by chi-square, to six standard deviations of that statistic on
/// both sides: an evenness that is too good is wrong as well.
fn assert_fits(observed: &[u64], expected: &[f64]) {
    assert_eq!(observed.len(), expected.len());
    assert!(expected.iter().all(|&count| count >= 5.0), "merge small classes first");
    let pairs = observed.iter().zip(expected);
    let statistic: f64 = pairs.map(|(&seen, &right)| (seen as f64 - right).powi(2) / right).sum();
    let freedom = (observed.len() - 1) as f64;
    let bound = 6.0 * (2.0 * freedom).sqrt();
    assert!((statistic - freedom).abs() < bound, "chi-square {statistic} of {freedom} degrees of freedom");
}

/// Probabilities of Zipf's law, most popular first.
fn zipf_probabilities(pages: u64, theta: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=pages).map(|rank| (rank as f64).powf(-theta)).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

/// Observed counts, sorted like the popularity they should have, in classes of at least 50 expected.
fn in_classes(mut observed: Vec<u64>, probabilities: &[f64], draws: usize) -> (Vec<u64>, Vec<f64>) {
    observed.sort_unstable_by(|a, b| b.cmp(a));
    let (mut seen, mut right) = (vec![0], vec![0.0]);
    for (count, probability) in observed.into_iter().zip(probabilities) {
        if *right.last().unwrap() >= 50.0 {
            seen.push(0);
            right.push(0.0);
        }
        *seen.last_mut().unwrap() += count;
        *right.last_mut().unwrap() += probability * draws as f64;
    }
    (seen, right)
}

#[test]
fn uniform_asks_every_page_equally() {
    let requests = draw("uniform", 1000, 1, 1_000_000);
    assert_fits(&counts(&requests, 1000), &[1000.0; 1000]);
    assert!(requests.iter().all(|request| request.op == Op::Write && request.pages == 1));
}

#[test]
fn uniform_has_no_memory() {
    let requests = draw("uniform", 30, 2, 900_000);
    let mut pairs = vec![0; 900];
    for pair in requests.chunks_exact(2) {
        pairs[(pair[0].first * 30 + pair[1].first) as usize] += 1;
    }
    assert_fits(&pairs, &[500.0; 900]);
}

#[test]
fn sequential_goes_round() {
    let requests = draw("sequential", 7, 1, 20);
    assert!(requests.iter().zip(0..).all(|(request, at)| request.first == at % 7));
}

#[test]
fn zipf_has_exactly_its_probabilities_below_at_and_above_one() {
    // Sorting the counts would bias the tail, so only ranks whose order cannot be mistaken are distinguished: a
    // thousand draws to the least popular of 30 pages.
    for theta in [0.1, 0.5, 0.99, 1.0, 1.01, 1.2, 2.0] {
        let pages = if theta > 1.5 { 8 } else { 12 };
        let probabilities = zipf_probabilities(pages, theta);
        let draws = 4_000_000;
        let requests = draw(&format!("zipf:{theta}"), pages, 3, draws);
        let (seen, right) = in_classes(counts(&requests, pages), &probabilities, draws);
        assert_eq!(seen.len(), pages as usize);
        assert_fits(&seen, &right);
    }
}

#[test]
fn zipf_over_many_pages_has_the_right_head_and_tail() {
    let (pages, draws) = (1 << 20, 1_000_000);
    for theta in [0.8, 1.0, 1.3] {
        let probabilities = zipf_probabilities(pages, theta);
        let mut observed = counts(&draw(&format!("zipf:{theta}"), pages, 5, draws), pages);
        observed.sort_unstable_by(|a, b| b.cmp(a));
        // The most popular pages are far enough apart for sorting to find them.
        for (rank, (&seen, probability)) in observed.iter().zip(&probabilities).take(3).enumerate() {
            let right = probability * draws as f64;
            assert!((seen as f64 - right).abs() < 6.0 * right.sqrt(), "theta {theta}, rank {rank}: {seen} of {right}");
        }
        // How many different pages there are in all weighs the tail: sum of 1 - (1 - p)^n.
        let asked = observed.iter().filter(|&&count| count > 0).count() as f64;
        let right: f64 = probabilities.iter().map(|p| 1.0 - (-p * draws as f64).exp()).sum();
        assert!((asked - right).abs() < 6.0 * right.sqrt(), "theta {theta}: {asked} pages of {right}");
    }
}

#[test]
fn zipf_does_not_make_neighbours_popular() {
    let pages = 1 << 16;
    let observed = counts(&draw("zipf:0.99", pages, 7, 1_000_000), pages);
    let mut order: Vec<u64> = (0..pages).collect();
    order.sort_unstable_by_key(|&page| std::cmp::Reverse(observed[page as usize]));
    let near = order[..200].windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 64).count();
    assert!(near < 8, "{near} of 199 popular pages lie beside the next popular one");
    let lower_half = order[..200].iter().filter(|&&page| page < pages / 2).count();
    assert!((65..135).contains(&lower_half), "{lower_half} of 200 popular pages in the lower half");
}

#[test]
fn hotcold_sends_its_share_to_its_share() {
    let (pages, draws) = (1000, 2_000_000);
    let mut observed = counts(&draw("hotcold:80/20", pages, 1, draws), pages);
    observed.sort_unstable_by(|a, b| b.cmp(a));
    let hot: u64 = observed[..200].iter().sum();
    let right = 0.8 * draws as f64;
    assert!((hot as f64 - right).abs() < 5.0 * (right * 0.2).sqrt(), "{hot}");
    // A hot page gets 8,000 and a cold one 500: no page in between.
    assert!(observed[199] > 7000 && observed[200] < 700, "{} {}", observed[199], observed[200]);
    assert_fits(&observed[..200], &[hot as f64 / 200.0; 200]);
    assert_fits(&observed[200..], &[(draws as u64 - hot) as f64 / 800.0; 800]);
}

#[test]
fn hot_pages_are_scattered() {
    let observed = counts(&draw("hotcold:90/10", 10_000, 4, 1_000_000), 10_000);
    let hot: Vec<usize> = (0..10_000).filter(|&page| observed[page] > 400).collect();
    assert_eq!(hot.len(), 1000);
    let adjacent = hot.windows(2).filter(|pair| pair[1] - pair[0] == 1).count();
    assert!((50..160).contains(&adjacent), "{adjacent} adjacent hot pages where about 100 are expected");
}

#[test]
fn a_mix_has_its_shares_and_sizes() {
    let draws = 1_000_000;
    let requests = draw("mixed:read=30,trim=5,flush=1,pages=1-8:uniform", 100_000, 1, draws);
    let share = |op| requests.iter().filter(|request| request.op == op).count() as u64;
    let observed = [share(Op::Read), share(Op::Trim), share(Op::Flush), share(Op::Write)];
    assert_fits(&observed, &[300_000.0, 50_000.0, 10_000.0, 640_000.0]);
    let mut sizes = [0; 8];
    for request in requests.iter().filter(|request| request.op != Op::Flush) {
        sizes[request.pages as usize - 1] += 1;
    }
    assert_fits(&sizes, &[(draws as u64 - observed[2]) as f64 / 8.0; 8]);
    assert!(requests.iter().all(|request| request.first + u64::from(request.pages) <= 100_000));
    assert!(requests.iter().all(|request| (request.pages == 0) == (request.op == Op::Flush)));
}

#[test]
fn a_sequential_mix_continues_where_it_ended() {
    let requests = draw("mixed:pages=3:sequential", 10, 1, 5);
    let firsts: Vec<u64> = requests.iter().map(|request| request.first).collect();
    assert_eq!(firsts, [0, 3, 6, 0, 3]);
}

#[test]
fn sizes_in_bytes_cover_pages_in_part() {
    let requests = draw("mixed:trim=20,bytes=512-12KiB:uniform", 1000, 1, 200_000);
    let partial = |wanted: fn(&PageRequest) -> bool| requests.iter().filter(|request| wanted(request)).count();
    assert!(partial(|request| request.partial_first) > 100_000);
    assert!(partial(|request| request.partial_last) > 50_000);
    assert!(requests.iter().any(|request| !request.partial_first && !request.partial_last && request.op == Op::Write));
    for request in &requests {
        assert!(request.pages >= 1 && request.pages <= 4, "{request:?}");
        assert!(!(request.pages == 1 && request.partial_last), "one page only sets partial_first: {request:?}");
        assert!(request.op != Op::Trim || !(request.partial_first || request.partial_last), "{request:?}");
    }
    let whole = draw("mixed:bytes=4096:uniform", 1000, 1, 80_000);
    let aligned = whole.iter().filter(|request| request.pages == 1 && !request.partial_first).count();
    assert!((9_500..10_500).contains(&aligned), "one sector of eight begins a page: {aligned} of 80,000");
}

#[test]
fn other_pages_are_popular_after_each_shift() {
    let (pages, every) = (1000, 20_000);
    let hot = |requests: &[PageRequest]| {
        let observed = counts(requests, pages);
        (0..pages).filter(|&page| observed[page as usize] > 40).collect::<Vec<_>>()
    };
    let requests = draw("shifting:20:hotcold:90/10", pages, 1, 3 * every);
    assert_eq!(requests[..every], draw("hotcold:90/10", pages, 1, every));
    let hot: Vec<Vec<u64>> = requests.chunks(every).map(hot).collect();
    for (before, after) in [(0, 1), (1, 2), (0, 2)] {
        let both = hot[after].iter().filter(|page| hot[before].contains(page)).count();
        // Each has 100 of 1,000, and by chance 10 of them are those of another.
        assert!(hot[after].len() == 100 && (1..25).contains(&both), "{both} pages stay popular");
    }
    // Reads shift nothing.
    let mixed = draw("shifting:2:mixed:read=50,pages=1:hotcold:90/10", pages, 1, 4_100);
    let alone = draw("mixed:read=50,pages=1:hotcold:90/10", pages, 1, 4_100);
    let same = mixed.iter().zip(&alone).take_while(|(a, b)| a == b).collect::<Vec<_>>();
    let writes = same.iter().filter(|(a, _)| a.op == Op::Write).count();
    assert!((2_000..2_010).contains(&writes), "{writes} written before the shift");
}

#[test]
fn the_same_seed_asks_the_same_and_another_does_not() {
    for spec in ["uniform", "zipf:0.9", "hotcold:80/20", "mixed:read=50,pages=1-4:zipf:1.2", "shifting:0.1:zipf:0.9"] {
        assert_eq!(draw(spec, 5000, 9, 1000), draw(spec, 5000, 9, 1000));
        assert_ne!(draw(spec, 5000, 9, 1000), draw(spec, 5000, 10, 1000));
    }
}

#[test]
fn the_first_requests_of_every_workload_stay_as_they_are() {
    let first = |spec| draw(spec, 1_000_000, 1, 4).iter().map(|request| request.first).collect::<Vec<_>>();
    assert_eq!(first("uniform"), GOLDEN[0]);
    assert_eq!(first("zipf:0.99"), GOLDEN[1]);
    assert_eq!(first("zipf:1"), GOLDEN[2]);
    assert_eq!(first("hotcold:80/20"), GOLDEN[3]);
    assert_eq!(first("mixed:read=30,pages=1-8:uniform"), GOLDEN[4]);
}

const GOLDEN: [[u64; 4]; 5] = [
    [811612, 747104, 100150, 746216],
    [29804, 324970, 496636, 324970],
    [761457, 384152, 440836, 384152],
    [843266, 649519, 422539, 52130],
    [100150, 590478, 96601, 343501],
];

#[test]
fn specifications_print_as_they_parse() {
    for spec in [
        "uniform",
        "sequential",
        "zipf:0.99",
        "zipf:1",
        "hotcold:80/20",
        "hotcold:99.5/0.5",
        "mixed:read=30,trim=5,pages=1-8:zipf:0.99",
        "mixed:flush=0.5,bytes=512-65536:hotcold:80/20",
        "mixed:pages=4:sequential",
        "shifting:2:hotcold:80/20",
        "shifting:0.5:mixed:read=30,pages=1:zipf:1",
    ] {
        assert_eq!(Workload::parse(spec).unwrap().to_string(), spec);
    }
    assert_eq!(
        Workload::parse("mixed:bytes=4KiB-1MiB:uniform").unwrap().to_string(),
        "mixed:bytes=4096-1048576:uniform"
    );
}

#[test]
fn wrong_specifications_say_what_would_be_right() {
    for (spec, hint) in [
        ("", "would be right"),
        ("random", "uniform, sequential, zipf:0.99"),
        ("uniform:3", "`uniform` would be right"),
        ("zipf", "as in zipf:0.99"),
        ("zipf:0", "above 0 and at most 10"),
        ("zipf:-1", "above 0 and at most 10"),
        ("zipf:nan", "above 0 and at most 10"),
        ("zipf:1e1", "above 0 and at most 10"),
        ("hotcold:80", "as in hotcold:80/20"),
        ("hotcold:100.1/20", "at most 100"),
        ("hotcold:80/100", "below 100"),
        ("hotcold:80/0", "above 0"),
        ("mixed", "as in mixed:read=30"),
        ("mixed:read=30", "as in mixed:read=30"),
        ("mixed:read:uniform", "`read` is no option"),
        ("mixed:reads=3:uniform", "`reads` is no option"),
        ("mixed:read=101:uniform", "0 to 100 would be right"),
        ("mixed:read=60,trim=50:uniform", "110 percent together"),
        ("mixed:read=1,read=2:uniform", "says again"),
        ("mixed:pages=1,bytes=512:uniform", "says again"),
        ("mixed:pages=0:uniform", "1 to 1048576 pages"),
        ("mixed:pages=8-1:uniform", "1 to 1048576 pages"),
        ("mixed:bytes=100:uniform", "multiples of 512"),
        ("mixed:flush=100:uniform", "below 100 percent"),
        ("mixed:trim=100,bytes=512:uniform", "pages=A-B would be right"),
        ("mixed:read=30:mixed:read=3:uniform", "a mix of a mix cannot be"),
        ("shifting", "as in shifting:2:hotcold:80/20"),
        ("shifting:hotcold:80/20", "drive writes above 0"),
        ("shifting:0:uniform", "drive writes above 0"),
        ("shifting:2:random", "it is unknown"),
        ("shifting:1000:uniform", "at most 999"),
        ("shifting:2:desktop", "desktop cannot shift"),
        ("shifting:2:mixed:read=3:sequential", "cannot shift"),
        ("shifting:2:shifting:2:uniform", "cannot shift itself"),
        ("mixed:read=3:shifting:2:uniform", "nor be mixed"),
    ] {
        let error = Workload::parse(spec).unwrap_err().to_string();
        assert!(error.starts_with("workload `") && error.contains(hint), "{spec}: {error}");
    }
}

#[test]
fn a_drive_that_is_too_small_is_an_error_at_the_first_request() {
    for (spec, pages) in
        [("uniform", 0), ("hotcold:80/20", 1), ("mixed:pages=1-8:uniform", 7), ("mixed:bytes=4096:uniform", 1)]
    {
        let mut source = Workload::parse(spec).unwrap().source(pages, 4096, 1);
        let error = source.next_request().unwrap_err().to_string();
        assert!(error.starts_with(&format!("workload `{spec}`: ")), "{error}");
    }
    for spec in ["uniform", "sequential", "zipf:1", "mixed:pages=1:zipf:3"] {
        assert!(draw(spec, 1, 1, 100).iter().all(|request| request.first == 0));
    }
}

#[test]
fn a_drive_as_large_as_addresses_go_has_workloads() {
    for spec in ["uniform", "sequential", "zipf:0.5", "zipf:1.5", "hotcold:80/20", "mixed:pages=1-8:zipf:1"] {
        let pages = 1 << 51;
        assert!(draw(spec, pages, 1, 1000).iter().all(|request| request.first + u64::from(request.pages) <= pages));
    }
}

#[test]
fn generated_traces_hold_what_the_workload_asks() {
    let workload = Workload::parse("mixed:read=30,trim=5,flush=2,pages=1-8:zipf:0.99").unwrap();
    let options = GenerateOptions {
        requests: Some(1000),
        logical_pages: 5000,
        page_bytes: 8192,
        seed: 3,
        interval_ns: Some(1_500),
    };
    let mut bytes = Vec::new();
    assert_eq!(generate(&workload, &options, &mut bytes).unwrap().requests, 1000);
    let read: Vec<_> = reader_from(std::io::Cursor::new(bytes), "t", &OpenOptions::default())
        .unwrap()
        .map(|request| request.unwrap())
        .collect();
    let mut source = workload.source(5000, 8192, 3);
    assert_eq!(read.len(), 1000);
    for (request, number) in read.iter().zip(0u64..) {
        let asked = source.next_request().unwrap().unwrap();
        assert_eq!((request.op, request.time_ns, request.device), (asked.op, number * 1500, 0));
        let pages = (request.offset_bytes / 8192, request.size_bytes / 8192);
        assert_eq!(pages, (asked.first, u64::from(asked.pages)));
    }
}

#[test]
fn generating_nothing_or_beyond_the_address_space_is_refused() {
    let options =
        GenerateOptions { requests: Some(1), logical_pages: 10, page_bytes: 4096, seed: 1, interval_ns: Some(1) };
    let error = |options| generate(&Workload::Uniform, &options, Vec::new()).unwrap_err().to_string();
    assert_eq!(
        error(GenerateOptions { requests: Some(0), ..options }),
        "a trace of 0 requests cannot be, 1 or more would be right"
    );
    assert!(error(GenerateOptions { logical_pages: u64::MAX, ..options }).contains("over 2^63 bytes"));
    assert!(error(GenerateOptions { page_bytes: 1000, ..options }).contains("a power of two from 512 to 1048576"));
}
