//! A plot of rounds as SVG, for light and dark schemes: the tracked value, its window, and what the rule allows.

use super::text::{named, unit};
use crate::table::number;
use phelsuma_drive::steady::{Part, RANGE_MAX, SteadyResult};
use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 360.0;
/// Room for labels: left, right, top, bottom.
const ROOM: [f64; 4] = [84.0, 24.0, 48.0, 52.0];
/// Steps of the axes, about.
const STEPS: f64 = 5.0;

const STYLE: &str = "text{font:13px sans-serif;fill:#222}.page{fill:#fff}.axis{stroke:#888;fill:none}\
.grid{stroke:#ddd}.line{stroke:#1f6feb;fill:none;stroke-width:2}.dot{fill:#1f6feb}.window{fill:#1f6feb;opacity:.12}\
.mean{stroke:#c2410c;stroke-width:2}.bound{stroke:#c2410c;stroke-dasharray:5 4}\
@media(prefers-color-scheme:dark){text{fill:#ddd}.page{fill:#161b22}.grid{stroke:#333}}";

/// The plot of a part.
pub(super) fn of(result: &SteadyResult, part: &Part) -> String {
    let saturates = part.steady.is_none();
    let points: Vec<(f64, f64)> = part
        .rounds
        .iter()
        .map(|round| (if saturates { round.capacities_written } else { f64::from(round.round) }, round.tracked))
        .collect();
    let x_max = points.iter().map(|(x, _)| *x).fold(1.0, f64::max);
    let bound = part.window.map_or(0.0, |window| window.mean * (1.0 + RANGE_MAX / 2.0));
    let y_max = points.iter().map(|(_, y)| *y).fold(bound, f64::max).max(f64::MIN_POSITIVE) * 1.05;
    let x_at = |x: f64| ROOM[0] + x / x_max * (WIDTH - ROOM[0] - ROOM[1]);
    let y_at = |y: f64| HEIGHT - ROOM[3] - y / y_max * (HEIGHT - ROOM[2] - ROOM[3]);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
         height=\"{HEIGHT}\" role=\"img\">\n<style>{STYLE}</style>\n<rect class=\"page\" width=\"{WIDTH}\" \
         height=\"{HEIGHT}\"/>\n"
    );
    // Writing to a string cannot fail.
    let mut put = |line: String| {
        let _ = writeln!(svg, "{line}");
    };
    let label = |x: f64, y: f64, anchor: &str, text: &str| {
        format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escaped(text))
    };
    let line = |class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)| {
        format!("<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>")
    };
    let title = format!("{}, {}: {} of {}", result.ftl, result.timing, unit(part), named(&part.tracked));
    put(format!("<title>{}</title>", escaped(&title)));
    put(label(ROOM[0], 24.0, "start", &title));
    for y in ticks(y_max) {
        put(line("grid", (ROOM[0], y_at(y)), (WIDTH - ROOM[1], y_at(y))));
        put(label(ROOM[0] - 8.0, y_at(y) + 4.0, "end", &number(y)));
    }
    for x in ticks(x_max).filter(|x| saturates || x.fract() == 0.0) {
        put(label(x_at(x), HEIGHT - ROOM[3] + 20.0, "middle", &format!("{x}")));
    }
    let (left, bottom) = (ROOM[0], HEIGHT - ROOM[3]);
    put(format!("<path class=\"axis\" d=\"M{left} {} V{bottom} H{}\"/>", ROOM[2], WIDTH - ROOM[1]));
    let axis = if saturates { "logical capacities written since the purge" } else { "round" };
    put(label((left + WIDTH - ROOM[1]) / 2.0, HEIGHT - 12.0, "middle", axis));
    if let Some(window) = &part.window {
        let (from, to) = (x_at(f64::from(window.first_round)), x_at(f64::from(window.last_round)));
        put(format!(
            "<rect class=\"window\" x=\"{from:.1}\" y=\"{}\" width=\"{:.1}\" height=\"{}\"/>",
            ROOM[2],
            to - from,
            bottom - ROOM[2]
        ));
        for side in [-1.0, 1.0] {
            let y = y_at(window.mean * (1.0 + side * RANGE_MAX / 2.0));
            put(line("bound", (from, y), (to, y)));
        }
        let ends = [-0.5, 0.5].map(|side| y_at(window.mean * (1.0 + side * window.slope)));
        put(line("mean", (from, ends[0]), (to, ends[1])));
    }
    let path: Vec<String> = points.iter().map(|(x, y)| format!("{:.1},{:.1}", x_at(*x), y_at(*y))).collect();
    put(format!("<polyline class=\"line\" points=\"{}\"/>", path.join(" ")));
    if points.len() <= 60 {
        for (x, y) in &points {
            put(format!("<circle class=\"dot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"/>", x_at(*x), y_at(*y)));
        }
    }
    svg + "</svg>\n"
}

/// Round numbers from 0 to at most `max`.
fn ticks(max: f64) -> impl Iterator<Item = f64> {
    let rough = max / STEPS;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * power).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(power);
    (0..=(max / step) as u32).map(move |n| f64::from(n) * step)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_an_axis_are_round() {
        assert_eq!(ticks(25.0).collect::<Vec<_>>(), [0.0, 5.0, 10.0, 15.0, 20.0, 25.0]);
        assert_eq!(ticks(1_900.0).collect::<Vec<_>>(), [0.0, 500.0, 1_000.0, 1_500.0]);
        assert!((2..=11).contains(&ticks(f64::MIN_POSITIVE).count()), "the smallest axis has too many steps, or none");
    }

    #[test]
    fn a_name_is_no_markup() {
        assert_eq!(escaped("a<b>&c"), "a&lt;b&gt;&amp;c");
    }
}
