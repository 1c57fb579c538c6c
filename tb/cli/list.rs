//! `warpsieve list`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::PossibleValue;
use miette::{IntoDiagnostic, Report, WrapErr, miette};
use serde::Serialize;

use super::args::{Figure, Format, ListArguments, What};
use super::output::columns;
use super::{Exit, blocks, output};
use crate::config::{About, Slot, designs, machines};

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
    /// The launch file of the main size.
    launch: String,
    /// Launch files of other sizes.
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
        What::Machines => {
            let entries = machine_entries()?;
            let cells = |e: &MachineEntry| vec![e.name.clone(), e.description.clone(), e.source.clone()];
            printed(format, &["NAME", "DESCRIPTION", "SOURCE"], &entries, cells)?
        }
        What::Designs => {
            let entries = design_entries()?;
            let cells = |e: &DesignEntry| {
                let slot = e.slot.unwrap_or("-").to_owned();
                vec![e.name.clone(), slot, e.description.clone(), e.source.clone()]
            };
            printed(format, &["NAME", "SLOT", "DESCRIPTION", "SOURCE"], &entries, cells)?
        }
        What::Kernels => {
            let entries = kernel_entries(&kernels_folder()?)?;
            let cells = |e: &KernelEntry| vec![e.name.clone(), e.launch.clone(), e.others.join(" "), e.title.clone()];
            printed(format, &["NAME", "LAUNCH FILE", "OTHER SIZES", "TITLE"], &entries, cells)?
        }
        What::Blocks => {
            let cells = |e: &blocks::Hardware| {
                let name = if e.kind == "part" { format!("  {}", e.name) } else { e.name.clone() };
                vec![name, e.path.to_owned(), e.purpose.clone()]
            };
            printed(format, &["BLOCK", "FILE", "PURPOSE"], &blocks::hardware(), cells)?
        }
        What::Figures => {
            let cells = |e: &FigureEntry| vec![e.name.clone(), e.shows.clone()];
            printed(format, &["FIGURE", "SHOWS"], &figure_entries(), cells)?
        }
    };
    output::print(&text)?;
    Ok(Exit::Done)
}

fn printed<T: Serialize>(
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

/// All but the one that stands for every other.
fn figure_entries() -> Vec<FigureEntry> {
    let figures = Figure::value_variants().iter().filter(|figure| **figure != Figure::All);
    let entry = |value: PossibleValue| FigureEntry {
        name: value.get_name().to_owned(),
        shows: value.get_help().map(ToString::to_string).unwrap_or_default(),
    };
    figures.filter_map(Figure::to_possible_value).map(entry).collect()
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

/// The folder `kernels` here or in a folder above, as a path relative to here.
pub(super) fn kernels_folder() -> Result<PathBuf, Report> {
    let here = std::env::current_dir().into_diagnostic().wrap_err("the current folder cannot be found")?;
    let mut relative = PathBuf::new();
    for _ in here.ancestors() {
        let folder = relative.join("kernels");
        if folder.is_dir() {
            return Ok(folder);
        }
        relative.push("..");
    }
    Err(miette!("there is no folder `kernels` here or above: kernels come with the source tree"))
}

fn kernel_entries(folder: &Path) -> Result<Vec<KernelEntry>, Report> {
    let mut entries = Vec::new();
    for kernel in sorted(folder)? {
        let launch = kernel.join("launch.toml");
        if !launch.is_file() {
            continue;
        }
        let others = sorted(&kernel)?.into_iter().filter(|path| path.extension().is_some_and(|e| e == "toml"));
        let others = others.filter(|path| *path != launch).map(|path| name_of(&path));
        entries.push(KernelEntry {
            name: name_of(&kernel),
            others: others.collect(),
            title: title_of(&launch),
            launch: launch.display().to_string(),
        });
    }
    Ok(entries)
}

pub(super) fn sorted(folder: &Path) -> Result<Vec<PathBuf>, Report> {
    let context = || format!("folder {} cannot be read", folder.display());
    let entries = fs::read_dir(folder).into_diagnostic().wrap_err_with(context)?;
    let mut paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    if let Ok(paths) = &mut paths {
        paths.sort_unstable();
    }
    paths.into_diagnostic().wrap_err_with(context)
}

pub(super) fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The title that a launch file states; a broken file is refused when it is run, not when listed.
fn title_of(launch: &Path) -> String {
    let text = fs::read_to_string(launch).unwrap_or_default();
    let table: toml::Table = text.parse().unwrap_or_default();
    table.get("title").and_then(|title| title.as_str()).unwrap_or_default().to_owned()
}
