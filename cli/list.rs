//! `warpsieve list`: lists machines, designs, kernels, blocks, figures, counters and stall reasons.

use std::path::Path;

use miette::{IntoDiagnostic, Report};
use serde::Serialize;

use super::args::{Format, ListArguments, ListCategory};
use super::output::columns;
use super::{Exit, blocks, dictionary, output};
use warpsieve::config::{About, Slot, designs, machines};
use warpsieve::kernels::{kernels_folder, list_folder, name_of, sizes};
use warpsieve::launch::LaunchFile;

#[derive(Serialize)]
struct MachineEntry {
    name: String,
    description: String,
    source: String,
}

#[derive(Serialize)]
struct DesignEntry {
    name: String,
    slot: Option<&'static str>,
    description: String,
    source: String,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct KernelEntry {
    name: String,
    /// Launch file of the kernel's main problem size.
    launch: String,
    /// Names of the kernel's other problem sizes.
    others: Vec<String>,
    title: String,
}

#[derive(Serialize)]
struct FigureEntry {
    name: String,
    shows: String,
}

pub(super) fn list(arguments: &ListArguments) -> Result<Exit, Report> {
    let format = arguments.format;
    let text = match arguments.what {
        ListCategory::Machines => {
            let entries = machine_entries()?;
            let cells = |e: &MachineEntry| vec![e.name.clone(), e.description.clone(), e.source.clone()];
            print_entries(format, &["NAME", "DESCRIPTION", "SOURCE"], &entries, cells)?
        }
        ListCategory::Designs => {
            let entries = design_entries()?;
            let cells = |e: &DesignEntry| {
                let slot = e.slot.unwrap_or("-").to_owned();
                vec![e.name.clone(), slot, e.description.clone(), e.source.clone()]
            };
            print_entries(format, &["NAME", "SLOT", "DESCRIPTION", "SOURCE"], &entries, cells)?
        }
        ListCategory::Kernels => {
            let entries = kernel_entries(&kernels_folder()?)?;
            let cells = |e: &KernelEntry| vec![e.name.clone(), e.launch.clone(), e.others.join(" "), e.title.clone()];
            print_entries(format, &["NAME", "LAUNCH FILE", "OTHER SIZES", "TITLE"], &entries, cells)?
        }
        ListCategory::Blocks => {
            let cells =
                |e: &blocks::Hardware| vec!["  ".repeat(e.depth) + &e.name, e.path.to_owned(), e.purpose.clone()];
            print_entries(format, &["BLOCK", "FILE", "PURPOSE"], &blocks::hardware(), cells)?
        }
        ListCategory::Counters => {
            let cells = |e: &dictionary::Counter| vec![e.key.clone(), e.unit.to_owned(), dictionary::sentence(e)];
            print_entries(format, &["KEY", "UNIT", "MEANING"], dictionary::counters(), cells)?
        }
        ListCategory::Stalls => {
            let cells = |e: &dictionary::Stall| [e.unit, e.reason, e.meaning, &e.counted].map(str::to_owned).to_vec();
            print_entries(format, &["UNIT", "REASON", "MEANING", "COUNTER"], dictionary::stalls(), cells)?
        }
        ListCategory::Figures => {
            let cells = |e: &FigureEntry| vec![e.name.clone(), e.shows.clone()];
            print_entries(format, &["FIGURE", "SHOWS"], &figure_entries(), cells)?
        }
    };
    output::print(&text)?;
    Ok(Exit::Done)
}

fn print_entries<T: Serialize>(
    format: Format,
    head: &[&str],
    entries: &[T],
    cells: impl Fn(&T) -> Vec<String>,
) -> Result<String, Report> {
    match format {
        Format::Table => Ok(columns(head, &entries.iter().map(cells).collect::<Vec<_>>())),
        Format::Json => serde_json::to_string_pretty(entries).into_diagnostic().map(|text| text + "\n"),
    }
}

/// Returns an entry for each figure and each paper. The name `all`, which selects every figure, is left out.
fn figure_entries() -> Vec<FigureEntry> {
    let names = papers::names().into_iter().filter(|(name, _)| *name != papers::ALL);
    names.map(|(name, shows)| FigureEntry { name: name.to_owned(), shows }).collect()
}

fn machine_entries() -> Result<Vec<MachineEntry>, Report> {
    let about = machines().iter().map(About::of);
    let entry = |about: About| MachineEntry { name: about.name, description: about.description, source: about.source };
    Ok(about.map(|about| about.map(entry)).collect::<Result<_, _>>()?)
}

fn design_entries() -> Result<Vec<DesignEntry>, Report> {
    let about = designs().iter().map(About::of);
    let entry = |about: About| DesignEntry {
        name: about.name,
        slot: about.slot.map(Slot::name),
        description: about.description,
        source: about.source,
    };
    Ok(about.map(|about| about.map(entry)).collect::<Result<_, _>>()?)
}

fn kernel_entries(folder: &Path) -> Result<Vec<KernelEntry>, Report> {
    let mut entries = Vec::new();
    for kernel in list_folder(folder)? {
        let launch = kernel.join("launch.toml");
        if !launch.is_file() {
            continue;
        }
        let others = sizes(&kernel)?.into_iter().filter(|(_, path)| *path != launch).map(|(size, _)| size);
        entries.push(KernelEntry {
            name: name_of(&kernel),
            others: others.collect(),
            title: title_of(&launch),
            launch: launch.display().to_string(),
        });
    }
    Ok(entries)
}

/// Returns the title in a launch file. An error in the file is reported when the file is run, not when it is
/// listed.
fn title_of(launch: &Path) -> String {
    let table = LaunchFile::expand(launch).unwrap_or_default();
    table.get("title").and_then(|title| title.as_str()).unwrap_or_default().to_owned()
}
