//! `warpsieve waves`.

use std::fs;
use std::path::Path;

use miette::{IntoDiagnostic, Report, WrapErr, miette};

use super::args::{FollowArguments, WavesArguments, WavesCommand};
use super::files::Files;
use super::{Exit, interrupt, output};
use tb::l2::figure2;
use warpsieve::crash;
use warpsieve::readers::{Life, follow};

pub(super) fn waves(arguments: &WavesArguments) -> Result<Exit, Report> {
    let asked = interrupt::listen()?;
    match &arguments.command {
        WavesCommand::Follow(arguments) => interrupt::guarded(
            &asked,
            || print_life(arguments),
            || output::complain("interrupted: nothing is said of the request before the waveform is read to its end"),
        )?,
        WavesCommand::Figure2 { folder } => interrupt::guarded(
            &asked,
            || write_figure2(folder),
            || output::complain("interrupted: a file that is not listed as written is missing"),
        )?,
    }
}

fn write_figure2(folder: &Path) -> Result<Exit, Report> {
    fs::create_dir_all(folder).into_diagnostic().wrap_err_with(|| output::no_folder(folder))?;
    let flows = [("conventional.vcd", 0), ("frc.vcd", 2)].map(|(name, frc_entries)| (folder.join(name), frc_entries));
    let mut files = Files::default();
    flows.iter().for_each(|(path, _)| files.writes_wave("a waveform", path));
    files.check()?;
    for (path, frc_entries) in flows {
        output::wrote(false, figure2::waveform(frc_entries, &path).into_diagnostic()?)?;
    }
    Ok(Exit::Done)
}

fn print_life(arguments: &FollowArguments) -> Result<Exit, Report> {
    let FollowArguments { file, request, sm, core_mhz } = arguments;
    // The library that reads dumps asserts what a damaged file does not hold to.
    let life = match crash::caught(|| follow(file, *request, *sm)) {
        Ok(life) => life.into_diagnostic()?,
        Err(_) => return Err(miette!("{}: cannot be read: it is damaged", file.display())),
    };
    output::print(&table(&life, *request, *core_mhz))?;
    Ok(Exit::Done)
}

/// A line for each stay, in core cycles.
fn table(life: &Life, request: u64, core_mhz: u64) -> String {
    // Cycle n stands at n periods, rounded to a picosecond.
    let cycles = |picoseconds: u64| picoseconds as f64 * core_mhz as f64 / 1e6;
    let shown = |picoseconds: u64| format!("{:.1}", cycles(picoseconds));
    let rows: Vec<Vec<String>> = life
        .stays
        .iter()
        .map(|stay| {
            let length = stay.to.map_or_else(|| "end of dump".to_owned(), |to| shown(to - stay.from));
            let doubt = if stay.is_certain { "" } else { "(by its number alone)" };
            vec![shown(stay.from), length, stay.path.clone(), doubt.to_owned()]
        })
        .collect();
    format!("request {request} of SM {}\n{}", life.sm, output::columns(&["cycle", "cycles", "at", ""], &rows))
}
