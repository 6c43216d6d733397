//! Reading a workload's specification.

use super::mixed::{Mix, RequestSize};
use super::{Cache, DeletionOrder, Lsm, Media, MediaKind, Workload, WorkloadError, files};

const DRIVE_WRITES_MAX: f64 = 999.0;
const THETA_MAX: f64 = 10.0;
const PAGES_MAX: u32 = 1 << 20;
const BYTES_MAX: u64 = 1 << 30;
const ROUNDS_MAX: u32 = 1_000_000;

pub(super) fn parse(spec: &str) -> Result<Workload, WorkloadError> {
    let parsed = match spec.strip_prefix("shifting") {
        Some(rest) if rest.is_empty() || rest.starts_with(':') => shifting(rest),
        _ => lasting(spec),
    };
    parsed.map_err(|what| WorkloadError { spec: shorten(spec), what })
}

fn lasting(spec: &str) -> Result<Workload, String> {
    match spec.strip_prefix("mixed") {
        Some(rest) if rest.is_empty() || rest.starts_with(':') => mixed(rest),
        _ => plain(spec),
    }
}

fn shifting(rest: &str) -> Result<Workload, String> {
    let parts = rest.strip_prefix(':').and_then(|rest| rest.split_once(':'));
    let drive_writes = parts.and_then(|(drive_writes, _)| number(drive_writes));
    let (Some((_, inner)), Some(drive_writes)) =
        (parts, drive_writes.filter(|&drive_writes| drive_writes > 0.0 && drive_writes <= DRIVE_WRITES_MAX))
    else {
        return Err(format!(
            "drive writes above 0 and at most {DRIVE_WRITES_MAX}, and an inner workload are needed, as in \
             shifting:2:hotcold:80/20"
        ));
    };
    let inner = lasting(inner)?;
    let addresses = if let Workload::Mixed { inner, .. } = &inner { inner } else { &inner };
    match addresses {
        // Each shift would begin with the first page again.
        Workload::Sequential
        | Workload::Media(_)
        | Workload::Desktop { .. }
        | Workload::Cache(_)
        | Workload::Lsm(_) => {
            Err(format!("{inner} cannot shift; uniform, zipf, hotcold, or mixed of these would be right inside"))
        }
        _ => Ok(Workload::Shifting { drive_writes, inner: Box::new(inner) }),
    }
}

fn plain(spec: &str) -> Result<Workload, String> {
    let (name, argument) = match spec.split_once(':') {
        Some((name, argument)) => (name, Some(argument)),
        None => (spec, None),
    };
    match (name, argument) {
        ("uniform", None) => Ok(Workload::Uniform),
        ("sequential", None) => Ok(Workload::Sequential),
        ("uniform" | "sequential", Some(_)) => Err(format!("{name} takes nothing after it, `{name}` would be right")),
        ("zipf", argument) => {
            let theta = argument.and_then(number).filter(|&theta| theta > 0.0 && theta <= THETA_MAX);
            let theta = theta
                .ok_or_else(|| format!("an exponent above 0 and at most {THETA_MAX} is needed, as in zipf:0.99"))?;
            Ok(Workload::Zipf { theta })
        }
        ("hotcold", argument) => {
            let parts = argument.and_then(|argument| argument.split_once('/'));
            let share = |text| number(text).filter(|&percent| percent > 0.0 && percent <= 100.0);
            match parts.map(|(writes, space)| (share(writes), share(space).filter(|&percent| percent < 100.0))) {
                Some((Some(writes_percent), Some(space_percent))) => {
                    Ok(Workload::HotCold { writes_percent, space_percent })
                }
                _ => Err("a percent of writes above 0 and at most 100, and one of space above 0 and below 100, are \
                         needed, as in hotcold:80/20"
                    .to_owned()),
            }
        }
        ("media", argument) => media(argument),
        ("desktop", None) => Ok(Workload::Desktop { trim: false }),
        ("desktop", Some("trim")) => Ok(Workload::Desktop { trim: true }),
        ("desktop", Some(_)) => Err("`desktop` or `desktop:trim` would be right".to_owned()),
        ("cache", argument) => cache(argument),
        ("lsm", argument) => lsm(argument),
        ("mixed", _) => {
            Err("a mix of a mix cannot be; uniform, sequential, zipf or hotcold would be right inside".to_owned())
        }
        ("shifting", _) => Err("what shifts cannot shift itself, nor be mixed; uniform, zipf or hotcold would \
                                be right inside"
            .to_owned()),
        _ => Err("it is unknown; uniform, sequential, zipf:0.99, hotcold:80/20, mixed:read=30:uniform, \
                  shifting:2:zipf:0.99, media:mov, desktop, cache or lsm would be right"
            .to_owned()),
    }
}

fn media(argument: Option<&str>) -> Result<Workload, String> {
    let mut parts = argument.unwrap_or_default().split(',');
    let kind = parts.next().and_then(MediaKind::named);
    let kind = kind.ok_or("pic, mp3 or mov is needed, as in media:mov")?;
    let mut media = Media { kind, trim: false, rounds: files::ROUNDS, delete: DeletionOrder::Random };
    let mut seen: Vec<&str> = Vec::new();
    for option in parts {
        let (key, value) = option.split_once('=').map_or((option, None), |(key, value)| (key, Some(value)));
        if seen.contains(&key) {
            return Err(format!("`{}` says again what was said before", shorten(option)));
        }
        let rounds = |value: &str| digits(value).and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= ROUNDS_MAX);
        match (key, value) {
            ("trim", None) => media.trim = true,
            ("rounds", Some(value)) => {
                let wrong = || format!("`{}` cannot be; 0 to {ROUNDS_MAX} rounds would be right", shorten(option));
                media.rounds = rounds(value).ok_or_else(wrong)?;
            }
            ("delete", Some(value)) => {
                let order = DeletionOrder::ALL.into_iter().find(|order| order.name() == value);
                let wrong = || format!("`{}` cannot be; random, oldest or folders would be right", shorten(option));
                media.delete = order.ok_or_else(wrong)?;
            }
            _ => {
                return Err(format!(
                    "`{}` is no option; trim, rounds=N or delete=ORDER would be right",
                    shorten(option)
                ));
            }
        }
        seen.push(key);
    }
    Ok(Workload::Media(media))
}

/// Each option of a list once: `NAME` or `NAME=VALUE`.
fn each_option<'a>(
    argument: Option<&'a str>,
    mut take: impl FnMut(&'a str, Option<&'a str>, &'a str) -> Result<(), String>,
) -> Result<(), String> {
    let mut seen = Vec::new();
    for option in argument.into_iter().flat_map(|options| options.split(',')) {
        let (key, value) = option.split_once('=').map_or((option, None), |(key, value)| (key, Some(value)));
        if seen.contains(&key) {
            return Err(format!("`{}` says again what was said before", shorten(option)));
        }
        take(key, value, option)?;
        seen.push(key);
    }
    Ok(())
}

fn cache(argument: Option<&str>) -> Result<Workload, String> {
    let mut cache = Cache::default();
    each_option(argument, |key, value, option| {
        let wrong = |right: &str| format!("`{}` cannot be; {right} would be right", shorten(option));
        match (key, value) {
            ("small", Some(value)) => {
                let percent = number(value).filter(|percent| *percent > 0.0 && *percent < 100.0);
                cache.space_percent = percent.ok_or_else(|| wrong("a percent above 0 and below 100"))?;
            }
            ("writes", Some(value)) => cache.writes_percent = percent(option, value)?,
            ("region", Some(value)) => {
                let bytes = byte_count(value).filter(|bytes| (1..=BYTES_MAX).contains(bytes));
                cache.region_bytes = bytes
                    .filter(|bytes| bytes.is_multiple_of(4096))
                    .ok_or_else(|| wrong("a multiple of 4KiB up to 1GiB, as in region=16MiB,"))?;
            }
            ("zipf", Some(value)) => {
                let theta = number(value).filter(|&theta| theta > 0.0 && theta <= THETA_MAX);
                let right = format!("an exponent above 0 and at most {THETA_MAX}");
                cache.theta = Some(theta.ok_or_else(|| wrong(&right))?);
            }
            ("trim", None) => cache.trim = true,
            _ => {
                let option = shorten(option);
                return Err(format!(
                    "`{option}` is no option; small=P, writes=P, region=SIZE, zipf=THETA or trim would be right"
                ));
            }
        }
        Ok(())
    })?;
    Ok(Workload::Cache(cache))
}

fn lsm(argument: Option<&str>) -> Result<Workload, String> {
    let mut lsm = Lsm::default();
    each_option(argument, |key, value, option| {
        match (key, value) {
            ("full", Some(value)) => {
                let percent = number(value).filter(|percent| (1.0..=Lsm::FULL_MAX).contains(percent));
                let wrong =
                    || format!("`{}` cannot be; 1 to {} percent would be right", shorten(option), Lsm::FULL_MAX);
                lsm.full_percent = percent.ok_or_else(wrong)?;
            }
            ("no-trim", None) => lsm.trim = false,
            _ => return Err(format!("`{}` is no option; full=P or no-trim would be right", shorten(option))),
        }
        Ok(())
    })?;
    Ok(Workload::Lsm(lsm))
}

fn mixed(rest: &str) -> Result<Workload, String> {
    let parts = rest.strip_prefix(':').and_then(|rest| rest.split_once(':'));
    let Some((options, inner)) = parts else {
        return Err(
            "options and an inner workload are needed, as in mixed:read=30,trim=5,pages=1-8:zipf:0.99".to_owned()
        );
    };
    let inner = plain(inner)?;
    if matches!(inner, Workload::Media(_) | Workload::Desktop { .. } | Workload::Cache(_) | Workload::Lsm(_)) {
        return Err(format!("{inner} cannot be mixed; uniform, sequential, zipf or hotcold would be right inside"));
    }
    let inner = Box::new(inner);
    let mut mix = Mix::default();
    let mut seen: Vec<&str> = Vec::new();
    for option in options.split(',') {
        let Some((key, value)) = option.split_once('=') else {
            return Err(format!(
                "`{}` is no option; read=P, trim=P, flush=P, pages=A-B or bytes=A-B would be right",
                shorten(option)
            ));
        };
        let kind = if key == "bytes" { "pages" } else { key };
        if seen.contains(&kind) {
            return Err(format!("`{}` says again what was said before", shorten(option)));
        }
        match key {
            "read" => mix.read_percent = percent(option, value)?,
            "trim" => mix.trim_percent = percent(option, value)?,
            "flush" => mix.flush_percent = percent(option, value)?,
            "pages" => mix.size = pages(value)?,
            "bytes" => mix.size = bytes(value)?,
            _ => {
                return Err(format!(
                    "`{}` is no option; read, trim, flush, pages or bytes would be right",
                    shorten(key)
                ));
            }
        }
        seen.push(kind);
    }
    let total = mix.read_percent + mix.trim_percent + mix.flush_percent;
    // In binary, decimal fractions may add up to a little over their sum.
    if total > 100.0 + 1e-9 {
        return Err(format!("reads, trims and flushes are {total} percent together, 100 at most would be right"));
    }
    if mix.flush_percent >= 100.0 {
        return Err("flushes alone ask nothing of a drive, below 100 percent would be right".to_owned());
    }
    if let RequestSize::Bytes { .. } = mix.size
        && mix.trim_percent >= 100.0
    {
        return Err("trims alone with sizes in bytes may never cover a page, pages=A-B would be right".to_owned());
    }
    Ok(Workload::Mixed { mix, inner })
}

fn percent(option: &str, value: &str) -> Result<f64, String> {
    let percent = number(value).filter(|percent| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| format!("`{}` is no percentage, 0 to 100 would be right", shorten(option)))
}

fn pages(value: &str) -> Result<RequestSize, String> {
    let wrong = || {
        format!(
            "`pages={}` cannot be; 1 to {PAGES_MAX} pages, as in pages=4 or pages=1-8, would be right",
            shorten(value)
        )
    };
    let (low, high) = range(value);
    let read = |text: &str| {
        digits(text).and_then(|pages| u32::try_from(pages).ok()).filter(|pages| (1..=PAGES_MAX).contains(pages))
    };
    match (read(low), read(high)) {
        (Some(low), Some(high)) if low <= high => Ok(RequestSize::Pages { low, high }),
        _ => Err(wrong()),
    }
}

fn bytes(value: &str) -> Result<RequestSize, String> {
    let wrong = || {
        format!(
            "`bytes={}` cannot be; multiples of 512 up to 1GiB, as in bytes=512-64KiB, would be right",
            shorten(value)
        )
    };
    let (low, high) = range(value);
    let read = |text| byte_count(text).filter(|&bytes| bytes > 0 && bytes <= BYTES_MAX && bytes.is_multiple_of(512));
    match (read(low), read(high)) {
        (Some(low), Some(high)) if low <= high => Ok(RequestSize::Bytes { low, high }),
        _ => Err(wrong()),
    }
}

fn range(value: &str) -> (&str, &str) {
    value.split_once('-').unwrap_or((value, value))
}

/// A plain number of bytes, or one with KiB, MiB, GiB (powers of 1024) or KB, MB, GB (of 1000).
fn byte_count(text: &str) -> Option<u64> {
    let units =
        [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("KB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000)];
    let (count, unit) =
        units.iter().find_map(|&(name, unit)| text.strip_suffix(name).map(|count| (count, unit))).unwrap_or((text, 1));
    digits(count)?.checked_mul(unit)
}

fn digits(text: &str) -> Option<u64> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

/// A plain decimal number: up to three digits, perhaps a point and up to fifteen more. A number read so
/// prints so, too.
fn number(text: &str) -> Option<f64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let plain = |digits: &str, most| digits.len() <= most && digits.bytes().all(|byte| byte.is_ascii_digit());
    if plain(whole, 3) && plain(fraction, 15) { text.parse().ok() } else { None }
}

fn shorten(text: &str) -> String {
    crate::error::excerpt(text.as_bytes())
}
