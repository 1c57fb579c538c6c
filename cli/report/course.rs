//! Draws charts of how a run develops over its core cycles.

use maud::{Markup, html};
use papers::curve::Curve;
use warpsieve::config::ResolvedMachine;
use warpsieve::run::{Interval, RunReport, ratio};

use super::super::output::{format_count, format_thousands};
use super::html;

/// Returns `part` in percent of `whole`, or `None` if `whole` is 0.
fn part(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * ratio(part, whole))
}

/// Chart over time, as a tuple: title, unit of the vertical axis, lowest value at which this axis may end,
/// and a function that returns the value in an interval.
type TimelinePlot<'a> = (&'a str, &'a str, f64, Box<dyn Fn(&Interval) -> Option<f64> + 'a>);

/// Returns the charts of values over the core cycles of the run.
pub fn body(resolved: &ResolvedMachine, report: &RunReport) -> Markup {
    let RunReport { history, counters, .. } = report;
    let clock = &resolved.config.clock;
    let slots = f64::from(resolved.config.num_sms * resolved.config.sm.warps);
    let channels = counters.dram.len() as f64;
    let bus = |interval: &Interval| {
        let cycles = interval.cycles as f64 * f64::from(clock.dram_khz) / f64::from(clock.core_khz);
        // A DRAM burst is counted entirely in the interval in which it begins, so the busy cycles may exceed
        // the length of the interval.
        Some((100.0 * interval.bus_busy_cycles as f64 / (cycles * channels)).min(100.0))
    };
    let charts: [TimelinePlot<'_>; 5] = [
        ("Thread instructions per cycle", "IPC", 0.0, Box::new(|i| Some(ratio(i.thread_instructions, i.cycles)))),
        ("Running warps", "warps", slots, Box::new(|i| Some(ratio(i.running_warps, i.looks)))),
        ("L1D hit rate", "%", 100.0, Box::new(|i| part(i.l1_hits, i.l1_accesses))),
        ("L2 hit rate", "%", 100.0, Box::new(|i| part(i.l2_hits, i.l2_accesses))),
        ("Utilization of the DRAM data buses", "%", 100.0, Box::new(bus)),
    ];
    let curve = |(title, unit, top, value): &TimelinePlot<'_>| {
        let step =
            |interval: &Interval| (interval.from as f64, (interval.from + interval.cycles) as f64, value(interval));
        let steps = history.iter().map(step).collect();
        let text = |text: &str| text.to_owned();
        Curve { title: text(title), unit: text(unit), across: text("core cycles"), steps, top: *top }.svg()
    };
    let longest = history.iter().map(|interval| interval.cycles).max().unwrap_or(0);
    let intervals = format_count(history.len() as u64, "interval", "intervals");
    html! {
        p.quiet { (intervals) " of " (format_thousands(longest)) " core cycles at most, over all units. Gaps \
             are intervals without accesses. The last stores reach memory after the end of the kernels." }
        @for chart in &charts { (html::chart(&curve(chart))) }
    }
}
