//! `phelsuma limits`: what the analytic models say about one ratio and block size.

use crate::drive_args::ratio;
use crate::errors::Outcome;
use crate::output::{self, WithSchema};
use crate::table;
use phelsuma_limits::{HotCold, Limits};

/// Options of `limits`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Logical over usable physical pages: without reserve and open blocks. `run` prints it as the effective ratio of its
    /// drive, which is greater than the --ratio that it was given
    #[arg(long, value_parser = ratio)]
    ratio: f64,
    /// Pages of a block
    #[arg(long, value_name = "N", default_value_t = 128)]
    pages_per_block: u32,
    /// Percent of the writes that go to percent of the space, such as 80/20
    #[arg(long, value_name = "WRITES/SPACE", value_parser = hot)]
    hot: Option<HotCold>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

fn hot(text: &str) -> Result<HotCold, String> {
    text.parse::<HotCold>().map_err(|error| error.to_string())
}

/// Runs it.
pub(crate) fn main(args: &Args) -> Outcome {
    let limits = Limits::compute(args.ratio, args.pages_per_block, args.hot)?;
    if args.json {
        return output::json(&WithSchema { schema: "phelsuma.limits/1", value: limits });
    }
    output::print(&as_text(&limits))
}

fn as_text(limits: &Limits) -> String {
    let mut rows: Vec<(String, Option<f64>)> = Vec::new();
    let mut add = |name: &str, wa: f64| rows.push((name.to_string(), Some(wa)));
    let uniform = &limits.uniform;
    add("uniform: greedy", uniform.greedy);
    add("uniform: greedy, Desnoyers' closed form", uniform.desnoyers);
    add("uniform: emptiest of 10 random blocks", uniform.d_choices_10);
    add("uniform: emptier of 2 random blocks", uniform.d_choices_2);
    add("uniform: FIFO or LRU, large blocks", uniform.lru);
    add("uniform: a random block", uniform.random);
    if let Some(hot) = &limits.hot {
        let class = hot.class;
        add(&format!("{class}: separated, best fixed quota"), hot.best_quota.write_amplification);
        add(&format!("{class}: best quota, closed form for small spare"), hot.best_quota_small_spare);
        add(&format!("{class}: separated, one greedy collector"), hot.separated_global_greedy);
        if let Some(mixed) = hot.mixed_greedy {
            add(&format!("{class}: mixed, greedy"), mixed);
        }
        add(&format!("{class}: mixed, FIFO or LRU, large blocks"), hot.mixed_lru);
    }
    for zipf in &limits.zipf {
        add(&format!("zipf {}: best split, large blocks", zipf.exponent), zipf.best_split);
        add(&format!("zipf {}: mixed, FIFO or LRU, large blocks", zipf.exponent), zipf.mixed_lru);
    }
    let mut table = table::numbers(&["writes and collector", "WA"]);
    for (name, wa) in rows {
        table.add_row([name, wa.map_or_else(String::new, |wa| format!("{wa:.4}"))]);
    }
    let Limits { ratio, pages_per_block, .. } = limits;
    format!(
        "Write amplification at ratio {ratio} of logical to usable physical pages, {pages_per_block} pages per block\n{table}\n"
    )
}
