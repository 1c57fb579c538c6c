//! `warpsieve soak`.

use std::time::{Duration, Instant};

use miette::{Report, miette};

use super::Exit;
use super::args::SoakArguments;
use super::output::{self, columns, grouped};
use papers::progress::progress_line;
use tb::kit::coverage::collected;
use tb::soak::{Begun, Limits, Soak, Tally, soaks};
use warpsieve::config::suggestion;
use warpsieve::crash;
use warpsieve::kernels::kernels_folder;

pub(super) fn soak(arguments: &SoakArguments) -> Result<Exit, Report> {
    let SoakArguments { name, list, count, seconds, seed, coverage } = arguments;
    let name = match name {
        Some(name) if !list => name,
        _ => {
            let rows: Vec<_> = soaks().iter().map(|soak| vec![soak.name.to_owned(), soak.about.to_owned()]).collect();
            output::print(&columns(&["NAME", "WHAT IS VARIED AND CHECKED"], &rows))?;
            return Ok(Exit::Done);
        }
    };
    let Some(soak) = soaks().iter().find(|soak| soak.name == name) else {
        let names: Vec<_> = soaks().iter().map(|soak| soak.name).collect();
        return Err(miette!(help = suggestion(name, "soaks", &names), "there is no soak `{name}`"));
    };
    let limits = Limits { count: *count, time: seconds.map(Duration::from_secs) };
    if !coverage {
        return run(soak, *seed, limits);
    }
    let crosses = soak.crosses();
    if crosses.is_empty() {
        let tell = soaks().iter().filter(|soak| !soak.crosses().is_empty());
        let tell: Vec<_> = tell.map(|soak| format!("`{}`", soak.name)).collect();
        return Err(miette!("soak `{name}` cannot tell what its cases meet; those that can are {}", tell.join(", ")));
    }
    let (ended, coverage) = collected(crosses, || run(soak, *seed, limits));
    let exit = ended?;
    output::print(&coverage.table())?;
    Ok(exit)
}

fn run(soak: &Soak, seed: u64, limits: Limits) -> Result<Exit, Report> {
    let kernels = kernels_folder()?;
    let started = Instant::now();
    let bar = progress_line(false, None, "{msg} [{elapsed}]");
    let mut last = None;
    let ended = crash::caught(|| {
        soak.run(&kernels, seed, limits, &mut |begun| {
            bar.set_message(format!("{}, now seed {}", told(soak, &begun.tally), begun.seed));
            bar.tick();
            last = Some(begun);
        })
    });
    bar.finish_and_clear();
    match (ended.and_then(|tally| tally), last) {
        (Ok(tally), _) => {
            let seconds = started.elapsed().as_secs_f64();
            let rate = grouped((tally.runs as f64 / seconds.max(1e-3)) as u64);
            let what = told(soak, &tally);
            output::print(&format!("{what}, from seed {seed}, in {seconds:.0} s, {rate} runs/s: all passed\n"))?;
            Ok(Exit::Done)
        }
        (Err(wrong), Some(Begun { seed, reproduce, tally })) => {
            let passed = told(soak, &tally);
            output::complain(&format!("{passed} passed; seed {seed} failed: {wrong}\nTo see it again:\n{reproduce}"));
            Ok(Exit::CheckFailed)
        }
        (Err(wrong), None) => Err(miette!("{wrong}")),
    }
}

/// What was done; a soak of readers has no cycles, one of parts no instructions.
fn told(soak: &Soak, tally: &Tally) -> String {
    let Tally { cases, runs, cycles, warp_instructions } = *tally;
    let mut text = format!("soak {}: {} cases, {} runs", soak.name, grouped(cases), grouped(runs));
    if cycles > 0 {
        text.push_str(&format!(", {} cycles", grouped(cycles)));
    }
    if warp_instructions > 0 {
        text.push_str(&format!(", {} warp instructions", grouped(warp_instructions)));
    }
    text
}
