//! Questions that the papers leave open. There are no published answers to compare with, so these results
//! pages contain no comparisons with papers. Each page ends with conclusions from its own runs.

mod dram;
mod frc;
mod llm;
mod pareto;
mod prefetch;
mod replacement;
mod sectors;
mod strides;
mod victim;

use std::path::PathBuf;

use crate::counted::{RunMetrics, parts, run_metrics, speedups};
use crate::judge::{geometric_mean, leave_one_out};
use crate::page::comma_separated;
use crate::runs::Point;
use crate::{Figure, FigureError, Session};
use miette::Report;

/// List of the figures about open questions.
pub(super) const FIGURES: &[Figure] = &[
    Figure {
        name: "beyond/pareto",
        description: "Designs and combinations of several: speed-up, energy and area, and the Pareto front",
        draw: pareto::pareto,
    },
    Figure {
        name: "beyond/frc",
        description: "Speed-up by an FRC, by MSHRs of the L1s, end of an eviction and width of the DRAM bus",
        draw: frc::frc,
    },
    Figure {
        name: "beyond/prefetch",
        description: "Next-line, stride, many-thread-aware and stream prefetchers of the L1: speed-up, bytes, and what became of the prefetches",
        draw: prefetch::prefetch,
    },
    Figure {
        name: "beyond/replacement",
        description: "Replacement policies of the L1 and of the L2: speed-up over LRU, hit rates, and the best policy for each kernel",
        draw: replacement::replacement,
    },
    Figure {
        name: "beyond/dram",
        description: "Arbitration policies of the DRAM: speed-up over FR-FCFS, row hits, and fairness among SMs",
        draw: dram::dram,
    },
    Figure {
        name: "beyond/sectors",
        description: "Sectors instead of whole lines, in the L1, in the L2 and in both",
        draw: sectors::sectors,
    },
    Figure {
        name: "beyond/strides",
        description: "Speed-up by schemes, by padded rows, and by schemes on padded rows",
        draw: strides::strides,
    },
    Figure {
        name: "beyond/victim",
        description: "Victim cache against next-line prefetching for irregular kernels, on fermi and volta",
        draw: victim::victim,
    },
    Figure {
        name: "beyond/llm",
        description: "Designs of the papers on kernels of LLM inference: relative cycles and hits, decode and prefill apart",
        draw: llm::llm,
    },
];

/// Machine on which all these results are measured, except the results for the FRC, the victim cache and LLM
/// inference.
const MACHINE: &str = "fermi";

/// Names of the designs that are combined; empty for the unmodified machine.
type Parts = &'static [&'static str];

/// Minimum relative gain at which a mean over kernels is regarded as a gain.
const PAYS: f64 = 0.01;
/// Minimum relative gain or loss at which a kernel is regarded as faster or slower.
const NOTED: f64 = 0.05;

const MEANS: &str =
    "Means of ratios are geometric, each followed by the lowest and the highest mean with one kernel left out.";

/// Returns the name that pages use for a combination of designs.
fn name(parts: &[&str]) -> String {
    if parts.is_empty() { "baseline".to_owned() } else { parts.join(" + ") }
}

/// Joins names to a list for use in a sentence.
fn join_names<T: AsRef<str>>(names: &[T]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{}`", name.as_ref())).collect();
    match quoted.split_last() {
        None => "none".to_owned(),
        Some((one, [])) => one.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// Returns a phrase that names the problem size of the runs.
fn size_shown(is_quick: bool) -> &'static str {
    if is_quick { "size `small`, whose runs are short and fill few SMs," } else { "main size" }
}

/// Returns a phrase that describes the kernels of the runs.
fn kernels_shown(is_quick: bool, kernels: usize) -> String {
    format!("the {kernels} kernels of the suite in their {} on `{MACHINE}`", size_shown(is_quick))
}

/// Runs each kernel on the machine with each combination of designs.
fn by_design(
    session: &Session,
    designs: &[Parts],
    kernels: &[(String, PathBuf)],
) -> Result<Vec<Vec<RunMetrics>>, FigureError> {
    let point = |parts: Parts| kernels.iter().map(move |(_, path)| Point::new(path, MACHINE, parts, &[]));
    let points: Vec<_> = designs.iter().flat_map(|parts| point(parts)).collect();
    Ok(run_metrics(session, &points)?.chunks(kernels.len().max(1)).map(<[_]>::to_vec).collect())
}

/// Formats all measurements as CSV, one row per combination of designs and kernel.
fn numbers(designs: &[Parts], kernels: &[(String, PathBuf)], runs: &[Vec<RunMetrics>]) -> Result<String, Report> {
    let head = [&["design", "kernel"][..], &RunMetrics::HEAD].concat();
    let rows = designs.iter().zip(runs).flat_map(|(parts, runs)| {
        kernels
            .iter()
            .zip(runs)
            .map(|((kernel, _), one)| [name(parts), kernel.clone()].into_iter().chain(one.cells()).collect())
    });
    comma_separated(&head, &rows.collect::<Vec<_>>())
}

/// Returns the geometric mean of the values, or NaN if it is undefined.
fn geometric(values: &[f64]) -> f64 {
    geometric_mean(values).unwrap_or(f64::NAN)
}

/// Formats a mean and its leave-one-out range: the lowest and the highest mean that result when one of the
/// values is left out.
fn format_range<T: Clone>(of: &[T], places: usize, mean: impl Fn(&[T]) -> Option<f64>) -> [String; 2] {
    let text = |value: f64| format!("{value:.places$}");
    let range = leave_one_out(of, &mean).map(|(low, high)| format!("{} to {}", text(low), text(high)));
    [mean(of).map(text), range].map(|text| text.unwrap_or_else(|| "-".to_owned()))
}

/// Formats, for use in a sentence, the geometric mean of ratios and its leave-one-out range: the lowest and
/// the highest mean that result when one ratio is left out.
fn in_words(ratios: &[f64]) -> String {
    let [mean, range] = format_range(ratios, 3, geometric_mean);
    format!("{mean} ({range})")
}

/// Returns two numbers of kernels: those that are faster by at least [`NOTED`], and those that are slower by
/// at least [`NOTED`].
fn gain_and_lose(speedups: &[f64]) -> [String; 2] {
    let gain = speedups.iter().filter(|speedup| **speedup >= 1.0 + NOTED).count();
    let lose = speedups.iter().filter(|speedup| **speedup <= (1.0 + NOTED).recip()).count();
    [gain, lose].map(|count| count.to_string())
}

/// Heads of the columns that [`speed_and_bytes`] fills.
const SPEED_AND_BYTES: [&str; 6] = ["speed-up", LEAVE_ONE_OUT, "gain 5 %", "lose 5 %", "DRAM bytes", LEAVE_ONE_OUT];
/// Head of the column to the right of a mean; it contains the leave-one-out range of the mean.
const LEAVE_ONE_OUT: &str = "leave-one-out";

/// Formats three results: the mean speedup, the numbers of kernels that are clearly faster and clearly
/// slower, and the mean of the relative DRAM bytes. The means are geometric, and each is followed by its
/// leave-one-out range.
fn speed_and_bytes(speedups: &[f64], bytes: &[f64]) -> impl Iterator<Item = String> + use<> {
    let speed = format_range(speedups, 3, geometric_mean).into_iter().chain(gain_and_lose(speedups));
    speed.chain(format_range(bytes, 3, geometric_mean))
}

/// Returns the kernel with the highest value and the kernel with the lowest value, each with its value.
fn extremes<'a>(kernels: &'a [(String, PathBuf)], values: &[f64]) -> Option<[(&'a str, f64); 2]> {
    let named = || kernels.iter().map(|(kernel, _)| kernel.as_str()).zip(values.iter().copied());
    let most = named().max_by(|one, other| one.1.total_cmp(&other.1))?;
    Some([most, named().min_by(|one, other| one.1.total_cmp(&other.1))?])
}
