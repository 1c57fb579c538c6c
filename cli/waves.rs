//! `warpsieve waves`: follows requests, lines, instructions and warps through a waveform, and draws
//! candel2018 Figure 2.

use std::fs;
use std::path::Path;

use miette::{IntoDiagnostic, Report, WrapErr};

use super::args::{FollowArguments, WavesArguments, WavesCommand};
use super::files::Files;
use super::{Exit, interrupt, output};
use papers::candel2018::replacements;
use warpsieve::crash;
use warpsieve::readers::{Life, Readback, Sighting, Subject, follow, sightings};

pub(super) fn waves(arguments: &WavesArguments) -> Result<Exit, Report> {
    match &arguments.command {
        WavesCommand::Follow(arguments) => interrupt::run_interruptible(
            || print_life(arguments),
            || output::print_error("interrupted: the analysis needs the whole waveform"),
        )?,
        WavesCommand::Figure2 { folder } => interrupt::run_interruptible(
            || write_figure2(folder),
            || output::print_error("interrupted: files that are not listed as written are missing"),
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
        output::print_written(false, replacements::waveform(frc_entries, &path).into_diagnostic()?)?;
    }
    Ok(Exit::Done)
}

fn print_life(arguments: &FollowArguments) -> Result<Exit, Report> {
    let FollowArguments { file, request, line, pc, warp, sm, core_mhz } = arguments;
    let subject = line.map(Subject::Line).or(pc.map(Subject::Pc)).or(warp.map(Subject::Warp));
    let read = crash::catch_panic(|| -> Result<String, Report> {
        let wave = Readback::of(file).into_diagnostic()?;
        match (subject, request) {
            (Some(subject), _) => {
                Ok(format_sightings(&sightings(wave, subject, *sm).into_diagnostic()?, subject, *core_mhz))
            }
            (None, request) => {
                // The argument parser requires a line, an instruction, a warp or a request as the subject.
                // The code above handles the first three, so the subject is a request.
                let request = request.unwrap_or_default();
                Ok(table(&follow(wave, request, *sm).into_diagnostic()?, request, *core_mhz))
            }
        }
    });
    interrupt::finish(read, |text| {
        output::print(&text)?;
        Ok(Exit::Done)
    })
}

/// Converts a time in the waveform to core cycles. In the waveform, core cycle `n` begins after `n` clock
/// periods, rounded to a picosecond.
fn cycles(picoseconds: u64, core_mhz: u64) -> String {
    format!("{:.1}", picoseconds as f64 * core_mhz as f64 / 1e6)
}

/// Returns how long a request stayed at one port or queue, in core cycles; `to` is `None` if it was still
/// there when the waveform ended.
fn length(from: u64, to: Option<u64>, core_mhz: u64) -> String {
    to.map_or_else(|| "end of dump".to_owned(), |to| cycles(to - from, core_mhz))
}

/// Returns a table of the ports, queues and stages at which a line, instruction or warp was seen. Each row
/// gives one of these places, with the start and length of the stay in core cycles.
fn format_sightings(sightings: &[Sighting], subject: Subject, core_mhz: u64) -> String {
    let row = |Sighting { path, from, to, besides }: &Sighting| {
        let said: Vec<String> = besides.iter().map(|(name, value)| format!("{name} {value}")).collect();
        vec![cycles(*from, core_mhz), length(*from, *to, core_mhz), path.clone(), said.join(", ")]
    };
    let rows: Vec<Vec<String>> = sightings.iter().map(row).collect();
    format!("{subject}\n{}", output::columns(&["cycle", "cycles", "at", ""], &rows))
}

/// Returns a table of the ports and queues through which a request passed. Each row gives the time, in core
/// cycles, that the request spent at one port or queue.
fn table(life: &Life, request: u64, core_mhz: u64) -> String {
    let rows: Vec<Vec<String>> = life
        .stays
        .iter()
        .map(|stay| {
            let length = length(stay.from, stay.to, core_mhz);
            let doubt = if stay.is_certain { "" } else { "(matched by number only)" };
            vec![cycles(stay.from, core_mhz), length, stay.path.clone(), doubt.to_owned()]
        })
        .collect();
    format!("request {request} of SM {}\n{}", life.sm, output::columns(&["cycle", "cycles", "at", ""], &rows))
}
