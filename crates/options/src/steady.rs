//! A steady-state test: the drive and the FTL as a run has them, and what is tested.

use crate::drive_args::DriveArgs;
use crate::failure::Outcome;
use crate::shape_args::ShapeArgs;
use crate::size;
use crate::timing::{TimingArg, timing};
use crate::write_cache_args::WriteCacheArgs;
use clap::{Args, ValueEnum};
use phelsuma_drive::steady::{Length, ROUNDS_MAX, SteadyConfig, Test};

/// Requests in progress where it is not said: enough to keep all dies of a drive at work.
const QUEUE_DEPTH: u32 = 32;

/// Options of a steady-state test.
#[derive(Args, Clone, Debug)]
pub struct SteadyArgs {
    /// The FTL (see `phelsuma list`)
    #[arg(long, value_name = "NAME")]
    ftl: String,
    /// What is tested
    #[arg(long, value_enum, default_value = "iops")]
    test: TestArg,
    /// How long each load of a round goes on: a share of the logical capacity, or simulated seconds such as 60s. The
    /// specification takes 60s
    #[arg(long, value_name = "SHARE|SECONDS", default_value = "0.05", value_parser = length)]
    round: Length,
    /// Rounds after which a drive that is not steady is given up
    #[arg(long, value_name = "N", default_value_t = ROUNDS_MAX, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Physical bytes [default: 4GiB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    capacity: Option<u64>,
    #[command(flatten)]
    shape: ShapeArgs,
    /// Requests in progress at all times; a latency test has 1
    #[arg(long, value_name = "N", default_value_t = QUEUE_DEPTH, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    queue_depth: u32,
    /// How long operations take: a name (see `phelsuma list`), or a .toml file of constants
    #[arg(long, value_name = "NAME|FILE", default_value = "gecko", value_parser = timing)]
    timing: TimingArg,
    #[command(flatten)]
    cache: WriteCacheArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TestArg {
    /// Random requests: block sizes by shares of reads
    Iops,
    /// Sequential reads and writes of 128 KiB and 1 MiB
    Throughput,
    /// Random requests of small blocks, one at a time
    Latency,
    /// Random writes to a blank drive, four times its capacity
    WriteSaturation,
}

impl SteadyArgs {
    /// The test that is asked for.
    ///
    /// # Errors
    /// An FTL or a drive that cannot be.
    pub fn config(&self) -> Outcome<SteadyConfig> {
        let (shape, timing) = (self.shape.clone(), self.timing.clone());
        let drive = DriveArgs::of_drive(self.capacity, shape, timing, self.cache, self.queue_depth);
        let mut configs = [drive.config(&self.ftl)?];
        drive.settle(&mut configs)?;
        let [drive] = configs;
        let test = match self.test {
            TestArg::Iops => Test::Iops,
            TestArg::Throughput => Test::Throughput,
            TestArg::Latency => Test::Latency,
            TestArg::WriteSaturation => Test::WriteSaturation,
        };
        Ok(SteadyConfig { drive, test, length: self.round, rounds_max: self.rounds })
    }

    /// What is said of a capacity that nobody gave.
    pub fn chosen(&self) -> &'static str {
        if self.capacity.is_some() { "" } else { " (chosen here, --capacity gives another)" }
    }
}

/// How long a load goes on.
fn length(text: &str) -> Result<Length, String> {
    let (number, seconds) = match text.strip_suffix('s') {
        Some(number) => (number, true),
        None => (text, false),
    };
    match (number.parse::<f64>(), seconds) {
        (Ok(share), false) if (0.001..=100.0).contains(&share) => Ok(Length::Capacities(share)),
        (Ok(seconds), true) if (1e-6..=1e6).contains(&seconds) => Ok(Length::Seconds(seconds)),
        _ => Err(
            "a share of the logical capacity from 0.001 to 100, or simulated seconds with an s such as 60s, would be \
                  right"
                .to_string(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_a_share_or_seconds() {
        assert_eq!(length("0.05"), Ok(Length::Capacities(0.05)));
        assert_eq!(length("60s"), Ok(Length::Seconds(60.0)));
        for wrong in ["", "s", "0", "-1", "nan", "1e9", "0s", "infs", "5m"] {
            assert!(length(wrong).is_err(), "{wrong}");
        }
    }
}
