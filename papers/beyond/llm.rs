//! The designs of the five papers on kernels of LLM inference. The results are separate for decode, most of
//! whose kernels read their data only once, and prefill, whose products and attention read tiles again.

use std::path::{Path, PathBuf};

use compiler::characterise::BypassTrafficModel;
use compiler::solve::Method;
use miette::Report;

use super::replacement::PolicyRun;
use super::{MEANS, NOTED, PAYS, geometric, in_words, join_names};
use crate::chart::Chart;
use crate::page::{Page, comma_separated};
use crate::runs::{Point, RunFailure, resolve_config};
use crate::table::Table;
use crate::xie2013::chosen;
use crate::{FigureError, SECTORS, Session};
use warpsieve::config::ResolvedMachine;
use warpsieve::optimize::{Clocked, Optimization, Subject};
use warpsieve::run::{RunOptions, open, ratio};

/// Machines: `fermi`, a GPU of the years in which the papers appeared, and `volta`, a V100.
const MACHINES: [&str; 2] = ["fermi", "volta"];

/// Phase of LLM inference, and the kernels that it runs.
struct Phase {
    name: &'static str,
    /// Description of the work in this phase, for use within a sentence.
    about: &'static str,
    kernels: &'static [Kernel],
}

/// Kernel of a phase. It runs in its main problem size.
struct Kernel {
    name: &'static str,
    /// True for a kernel of `kernels/tensor`, which needs tensor pipes.
    is_tensor: bool,
}

const fn kernel(name: &'static str) -> Kernel {
    Kernel { name, is_tensor: false }
}

const fn tensor(name: &'static str) -> Kernel {
    Kernel { name, is_tensor: true }
}

/// `rmsnorm`, `rope` and `moe` occur in both phases of inference. They are only listed for prefill, because
/// our kernels process the many tokens of a prompt.
const PHASES: [Phase; 2] = [
    Phase {
        name: "decode",
        about: "the next token of each sequence: weights are streams, and so is the KV cache, except for what \
                several heads or sequences share; `softmax` reads a row three times, `topk` once per result",
        kernels: &[
            kernel("attention_decode"),
            kernel("gemv"),
            kernel("kv_gather"),
            kernel("quantized_gemv"),
            kernel("softmax"),
            kernel("splitk"),
            kernel("topk"),
        ],
    },
    Phase {
        name: "prefill",
        about: "all tokens of a prompt at once: attention and `gemm` read tiles again, `moe` reads each row twice, \
                the tokens of `rmsnorm` share weights, and the heads of `rope` share a row of a table",
        kernels: &[
            kernel("attention_prefill"),
            tensor("flash"),
            tensor("gemm"),
            kernel("moe"),
            kernel("rmsnorm"),
            kernel("rope"),
        ],
    },
];

/// Design of a paper.
struct Scheme {
    name: &'static str,
    /// Name of the paper; empty for the plain machine.
    paper: &'static str,
    designs: &'static [&'static str],
    /// True if the scheme changes only the L1, so that it can do nothing for a kernel whose L1 evicts no lines.
    is_in_l1: bool,
    /// True if the compiler of xie2013 selects the cache operators of loads.
    is_compiled: bool,
}

const fn scheme(name: &'static str, paper: &'static str, designs: &'static [&'static str]) -> Scheme {
    Scheme { name, paper, designs, is_in_l1: true, is_compiled: false }
}

/// Scheme outside the L1.
const fn beyond_l1(name: &'static str, paper: &'static str, designs: &'static [&'static str]) -> Scheme {
    Scheme { is_in_l1: false, ..scheme(name, paper, designs) }
}

/// The plain machine, and the designs of the papers.
const SCHEMES: [Scheme; 7] = [
    scheme("plain", "", &[]),
    scheme("decoupled-dueling", "li2015", &["decoupled-dueling"]),
    Scheme { is_compiled: true, ..scheme("compiler", "xie2013", &[]) },
    beyond_l1("frc", "candel2018", &["frc"]),
    beyond_l1("tracker", "anssari2012", &["tracker"]),
    scheme("streaming", "khairy2015", &["streaming"]),
    scheme("dwt-pric", "khairy2015", &["dwt-pric"]),
];

impl Kernel {
    fn path(&self, session: &Session) -> PathBuf {
        if !self.is_tensor {
            return session.launch(self.name, "launch");
        }
        let file = session.kernels.join("tensor").join(format!("{}.toml", self.name));
        if session.is_quick { file.join("small") } else { file }
    }

    /// Returns the designs of a scheme on a machine, for this kernel. If the kernel uses tensor pipes, they
    /// include a design that adds tensor pipes to `fermi`; `volta` has them anyway.
    fn designs(&self, machine: &str, scheme: &Scheme) -> Vec<&'static str> {
        let pipes = (self.is_tensor && machine == MACHINES[0]).then_some("tensor");
        pipes.into_iter().chain(scheme.designs.iter().copied()).collect()
    }

    fn point(&self, session: &Session, machine: &str, scheme: &Scheme) -> Point {
        Point::new(&self.path(session), machine, &self.designs(machine, scheme), &[SECTORS])
    }
}

impl Scheme {
    /// Returns the name of the scheme, followed by that of its paper in parentheses.
    fn shown(&self) -> String {
        if self.paper.is_empty() { self.name.to_owned() } else { format!("{} ({})", self.name, self.paper) }
    }

    /// Returns the number of lines that an L1 of the machine looks up per cycle with this scheme.
    fn lookups(&self, machine: &str) -> Result<u32, Report> {
        Ok(resolve_config(machine, self.designs, &[SECTORS])?.config.l1.lookups)
    }
}

/// Results by machine, phase, scheme and kernel.
struct LlmResults(Vec<Vec<Vec<Vec<PolicyRun>>>>);

impl LlmResults {
    /// Returns the cycles of each kernel, relative to the plain machine.
    fn relative(&self, machine: usize, phase: usize, scheme: usize) -> Vec<f64> {
        let schemes = &self.0[machine][phase];
        let pairs = schemes[0].iter().zip(&schemes[scheme]);
        pairs.map(|(plain, run)| ratio(run.cycles, plain.cycles.max(1))).collect()
    }

    /// Returns the index and the relative cycles of each kernel that can show an effect of the scheme: for a
    /// scheme in the L1, only kernels whose L1 evicts lines on the plain machine.
    fn judged(&self, machine: usize, phase: usize, scheme: usize) -> Vec<(usize, f64)> {
        let all = self.relative(machine, phase, scheme).into_iter().enumerate();
        let plain = &self.0[machine][phase][0];
        all.filter(|(kernel, _)| !SCHEMES[scheme].is_in_l1 || plain[*kernel].l1.evictions > 0).collect()
    }
}

pub(super) fn llm(session: &Session) -> Result<Page, FigureError> {
    let (mut plain, mut compiled) = (Vec::new(), Vec::new());
    for machine in MACHINES {
        for phase in &PHASES {
            for scheme in &SCHEMES {
                let points = phase.kernels.iter().map(|kernel| kernel.point(session, machine, scheme));
                if scheme.is_compiled { &mut compiled } else { &mut plain }.extend(points);
            }
        }
    }
    let options = RunOptions::default();
    let mut plain =
        session.runner.run_reports("replaced", &plain, &options, &|report| Ok(PolicyRun::of(&report)))?.into_iter();
    let mut compiled = session.runner.measure("llm-compiled", &compiled, &run_compiled)?.into_iter();
    let mut next = |scheme: &Scheme, phase: &Phase| -> Vec<PolicyRun> {
        if scheme.is_compiled { &mut compiled } else { &mut plain }.take(phase.kernels.len()).collect()
    };
    let found = MACHINES.map(|_| {
        let phase = |phase: &Phase| SCHEMES.iter().map(|scheme| next(scheme, phase)).collect();
        PHASES.iter().map(phase).collect()
    });
    Ok(draw(session.is_quick, &LlmResults(found.into()))?)
}

/// Runs a launch file in which only the loads that the heuristic of xie2013 selects are cached in the L1.
fn run_compiled(launch: &Path, machine: &ResolvedMachine) -> Result<PolicyRun, RunFailure> {
    let config = &machine.config;
    let subject = Subject::new(open(launch, None)?, config)?;
    let optimised = Optimization::new(&subject, subject.characterise(&|| ()), BypassTrafficModel::Uniform);
    let cached = chosen(&optimised, Method::Heuristic, launch)?;
    Ok(PolicyRun::of(&Clocked { subject: &subject, launch, config }.run(&cached)?))
}

fn draw(is_quick: bool, found: &LlmResults) -> Result<Page, Report> {
    let mut page = Page::new("beyond/llm", is_quick, "Designs of the papers on kernels of LLM inference");
    let phases = PHASES.map(|phase| {
        let names: Vec<_> = phase.kernels.iter().map(|kernel| kernel.name).collect();
        format!("*{}*: {} ({})", phase.name, phase.about, join_names(&names))
    });
    let schemes: Vec<_> = SCHEMES[1..].iter().map(Scheme::shown).collect();
    page.text(&format!(
        "The papers evaluate their designs on scientific kernels. This page runs kernels of LLM inference in their {}\n\
         on `fermi` and on `volta`, with {}. Phases:\n\
         - {}\n\n\
         `compiler` selects the loads that the L1 caches by the heuristic of `warpsieve optimize`. `flash` and `gemm`\n\
         need tensor pipes: on `fermi`, all their runs have the design `tensor`. In all runs, a load that bypasses the L1\n\
         fetches only the 32-byte sectors that it accesses (`{SECTORS}`), as on the pages of li2015 and khairy2015.\n\
         Even on the plain machine, all loads of `flash` and those of A and B in `gemm` bypass the L1 (`.cg`).{}\n\
         A kernel whose L1 evicts no line cannot show what a design of the L1 saves, so the conclusions leave it out\n\
         of these designs. {}\n\
         The L1s of `volta` hold 10 MB, and sizes with more data take too long for this page.\n\
         No paper has results for these kernels, so this page contains no comparison with one.\n\
         {MEANS}",
        if is_quick { "size `small`" } else { "main size" },
        join_names(&schemes),
        phases.join("\n- "),
        lookups()?,
        without_evictions(found)
    ));
    for (machine, name) in MACHINES.iter().enumerate() {
        for (at, phase) in PHASES.iter().enumerate() {
            let names = || phase.kernels.iter().map(|kernel| [kernel.name]);
            let columns = (1..SCHEMES.len()).map(|scheme| (SCHEMES[scheme].name, found.relative(machine, at, scheme)));
            let table =
                Table::new(["kernel"], names()).columns(3, columns).below(["geometric mean"], |_| true, geometric);
            let heading =
                format!("## {} on `{name}`\nCycles relative to the plain machine: less is faster.", phase.title());
            table.show(&mut page, &heading)?;
            let chart = Chart::relative(&format!("Cycles of {} on {name}", phase.name), "relative cycles");
            table.chart(&mut page, &format!("-{}-{name}", phase.name), chart.logarithmic(), table.all());
            hit_rates(&mut page, phase, &found.0[machine][at]);
        }
    }
    page.text(&format!(
        "## Conclusions\n{}",
        PHASES.iter().enumerate().map(|(at, _)| verdict(found, at)).collect::<String>()
    ));
    page.csv = numbers(found)?;
    Ok(page)
}

impl Phase {
    /// Returns the name of the phase with a capital letter, to begin a heading.
    fn title(&self) -> String {
        let (first, rest) = self.name.split_at(1);
        first.to_uppercase() + rest
    }
}

/// Returns a sentence about the schemes with which an L1 looks up fewer lines per cycle. It is empty if there
/// are no such schemes.
fn lookups() -> Result<String, Report> {
    let mut text = String::new();
    for machine in MACHINES {
        let plain = SCHEMES[0].lookups(machine)?;
        let mut fewer = Vec::new();
        for scheme in &SCHEMES[1..] {
            let lookups = scheme.lookups(machine)?;
            if lookups < plain {
                fewer.push(format!("{} ({lookups})", scheme.name));
            }
        }
        if !fewer.is_empty() {
            text.push_str(&format!(
                "\nAn L1 of `{machine}` looks up {plain} lines per cycle, fewer with {}.",
                join_names(&fewer)
            ));
        }
    }
    Ok(text)
}

/// Returns a sentence about the kernels whose L1 evicts no line on the plain machines.
fn without_evictions(found: &LlmResults) -> String {
    let on = MACHINES.iter().zip(&found.0).map(|(machine, phases)| {
        let runs = phases.iter().flat_map(|schemes| &schemes[0]);
        let kernels = PHASES.iter().flat_map(|phase| phase.kernels).zip(runs);
        let names: Vec<_> = kernels.filter(|(_, run)| run.l1.evictions == 0).map(|(kernel, _)| kernel.name).collect();
        format!("on `{machine}`, {}", join_names(&names))
    });
    format!("Such kernels are: {}.", on.collect::<Vec<_>>().join("; "))
}

/// Adds tables of the hit rates in L1 and L2 to the page, by kernel and scheme.
fn hit_rates(page: &mut Page, phase: &Phase, runs: &[Vec<PolicyRun>]) {
    let counts = |run: &PolicyRun, cache: &str| if cache == "L1" { run.l1.hits() } else { run.l2.hits() };
    for cache in ["L1", "L2"] {
        page.text(&format!(
            "Loads that find their line in the {cache} or in flight to it, in percent, and the cycles of the plain\n\
             machine. A load that bypasses the cache counts as one that does not find its line."
        ));
        let head = ["kernel", "cycles"].into_iter().chain(SCHEMES.iter().map(|scheme| scheme.name)).collect::<Vec<_>>();
        let rows = phase.kernels.iter().enumerate().map(|(at, kernel)| {
            let hits =
                runs.iter().map(|runs| counts(&runs[at], cache).map_or("-".to_owned(), |hits| format!("{hits:.1}")));
            [kernel.name.to_owned(), runs[0][at].cycles.to_string()].into_iter().chain(hits).collect()
        });
        page.table(&head, rows.collect(), 1);
    }
}

/// Returns the conclusion about a phase in one line: on each machine, the design with the fewest cycles, one that
/// takes more cycles than the plain machine, and the number of kernels that gain.
fn verdict(found: &LlmResults, phase: usize) -> String {
    let on = MACHINES.iter().enumerate().map(|(machine, name)| verdict_on(found, phase, machine, name));
    format!("- {}: {}.\n", PHASES[phase].title(), on.collect::<Vec<_>>().join("; "))
}

fn verdict_on(found: &LlmResults, phase: usize, machine: usize, name: &str) -> String {
    let all: Vec<_> = (1..SCHEMES.len())
        .map(|scheme| (SCHEMES[scheme].name, found.judged(machine, phase, scheme)))
        .filter(|(_, relative)| !relative.is_empty())
        .collect();
    let mean = |one: &(&str, Vec<(usize, f64)>)| geometric(&ratios(&one.1));
    let by_mean = |one: &&(&str, Vec<_>), other: &&(&str, Vec<_>)| mean(one).total_cmp(&mean(other));
    let (Some(best), Some(worst)) = (all.iter().min_by(by_mean), all.iter().max_by(by_mean)) else {
        return format!("on `{name}`, no kernel can show an effect");
    };
    let shown = |one: &(&str, Vec<_>)| format!("{:.3}", mean(one));
    let lead = match (shown(best) == shown(worst), mean(best) <= (1.0 + PAYS).recip()) {
        (true, _) if shown(best) == "1.000" => "no design changes the cycles".to_owned(),
        (true, _) => format!("all designs take as many cycles: {} of the plain machine's", shown(best)),
        (_, true) => {
            format!("`{}` takes the fewest cycles: {} of the plain machine's", best.0, in_words(&ratios(&best.1)))
        }
        (_, false) => format!(
            "`{}` comes nearest to a gain of {:.0} %: {} of the plain machine's cycles",
            best.0,
            100.0 * PAYS,
            in_words(&ratios(&best.1))
        ),
    };
    let most = match shown(best) != shown(worst) && mean(worst) >= 1.0005 {
        true => format!("; `{}` takes the most: {}", worst.0, in_words(&ratios(&worst.1))),
        false => String::new(),
    };
    let kernels = PHASES[phase].kernels.len();
    let gains = |kernel: usize| {
        let mut of_kernel = all.iter().flat_map(|(_, relative)| relative).filter(|(at, _)| *at == kernel);
        of_kernel.any(|(_, relative)| *relative <= (1.0 + NOTED).recip())
    };
    let gaining = (0..kernels).filter(|&kernel| gains(kernel)).count();
    let gain = 100.0 * NOTED;
    format!("on `{name}`, {lead}{most}; {gaining} of {kernels} kernels gain {gain:.0} % or more with their best design")
}

/// Returns the ratios of pairs of kernel and ratio.
fn ratios(relative: &[(usize, f64)]) -> Vec<f64> {
    relative.iter().map(|(_, ratio)| *ratio).collect()
}

/// Formats all measurements as CSV, one row per machine, phase, scheme and kernel.
fn numbers(found: &LlmResults) -> Result<String, Report> {
    let head = [
        "machine",
        "phase",
        "scheme",
        "kernel",
        "cycles",
        "l1_loads",
        "l1_found",
        "l2_loads",
        "l2_found",
        "dram_bytes",
    ];
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (machine, phases) in MACHINES.iter().zip(&found.0) {
        for (phase, schemes) in PHASES.iter().zip(phases) {
            for (scheme, runs) in SCHEMES.iter().zip(schemes) {
                for (kernel, run) in phase.kernels.iter().zip(runs) {
                    let names = [machine, phase.name, scheme.name, kernel.name].map(str::to_owned);
                    let PolicyRun { cycles, dram_bytes, l1, l2 } = *run;
                    let counts = [cycles, l1.loads, l1.found, l2.loads, l2.found, dram_bytes].map(|n| n.to_string());
                    rows.push(names.into_iter().chain(counts).collect());
                }
            }
        }
    }
    comma_separated(&head, &rows)
}

#[cfg(test)]
mod tests {
    use super::super::replacement::CacheCounts;
    use super::*;

    fn results(cycles: impl Fn(usize, usize, usize, usize) -> u64) -> LlmResults {
        let counts = CacheCounts { loads: 8, found: 2, evictions: 1 };
        let run = |cycles| PolicyRun { cycles, dram_bytes: 64, l1: counts, l2: CacheCounts::default() };
        let mut found = Vec::new();
        for machine in 0..MACHINES.len() {
            let phase = |phase: usize| {
                let kernels = 0..PHASES[phase].kernels.len();
                let scheme =
                    |scheme| kernels.clone().map(|kernel| run(cycles(machine, phase, scheme, kernel))).collect();
                (0..SCHEMES.len()).map(scheme).collect()
            };
            found.push((0..PHASES.len()).map(phase).collect());
        }
        LlmResults(found)
    }

    #[test]
    fn the_conclusion_names_the_fastest_design_of_each_phase_and_machine() {
        // On `fermi`, the FRC halves the cycles of decode and doubles those of prefill. All other runs take
        // equally many cycles.
        let found = results(|machine, phase, scheme, _| match (machine, phase, SCHEMES[scheme].name) {
            (0, 0, "frc") => 50,
            (0, 1, "frc") => 200,
            _ => 100,
        });
        let page = draw(false, &found).unwrap();
        let text = &page.markdown;
        let line = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap().to_owned();
        let decode = line("- Decode:");
        assert!(decode.contains("on `fermi`, `frc` takes the fewest cycles: 0.500 (0.500 to 0.500)"), "{decode}");
        assert!(decode.contains("7 of 7 kernels gain 5 % or more"), "{decode}");
        assert!(decode.contains("; on `volta`, no design changes the cycles; 0 of 7 kernels"), "{decode}");
        assert!(!decode.contains("takes the most"), "{decode}");
        let prefill = line("- Prefill:");
        assert!(prefill.contains("`frc` takes the most: 2.000") && prefill.contains("0 of 6 kernels"), "{prefill}");
        assert_eq!(page.csv.lines().count(), 1 + MACHINES.len() * SCHEMES.len() * (7 + 6));
        // These results have an L1 hit rate of 25 %, and no L2 hit rate, because they contain no loads that
        // reached the L2.
        assert!(text.contains("25.0") && text.contains(" - |"), "{text}");
    }

    #[test]
    fn every_scheme_composes_with_every_machine_and_kernel() {
        for machine in MACHINES {
            for kernel in PHASES.iter().flat_map(|phase| phase.kernels) {
                for scheme in &SCHEMES {
                    resolve_config(machine, &kernel.designs(machine, scheme), &[SECTORS]).unwrap();
                }
            }
        }
    }
}
