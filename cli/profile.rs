//! `warpsieve profile`: counts the accesses and hits of each load instruction on caches without timing.

use std::sync::{Mutex, PoisonError};

use miette::{IntoDiagnostic, Report};
use serde::Serialize;

use super::args::{Format, ProfileArguments};
use super::output::{columns, format_count, format_thousands};
use super::{Exit, interrupt, output};
use golden::untimed::{Load, Profile};
use warpsieve::config::ResolvedMachine;
use warpsieve::crash;
use warpsieve::run::{KernelProfile, L2, l2, profile_into, ratio};

pub(super) fn profile(arguments: &ProfileArguments) -> Result<Exit, Report> {
    let resolved = ResolvedMachine::new(&arguments.machine.request())?;
    let ptx = arguments.ptx.as_deref();
    let kernels = Mutex::default();
    let work = || crash::catch_panic(|| profile_into(&kernels, &arguments.launch, ptx, &resolved.config));
    let ran = interrupt::run_interruptible(work, || {
        let done = kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(report) = print(&done, arguments.format) {
            output::print_report(&report);
        }
        let launches: usize = done.iter().map(|kernel| kernel.launches.len()).sum();
        let launches = format_count(launches as u64, "launch", "launches");
        output::print_error(&format!("interrupted after {launches}; the later launches are missing"));
    })?;
    interrupt::finish(ran, |()| {
        print(&kernels.into_inner().unwrap_or_else(PoisonError::into_inner), arguments.format)?;
        Ok(Exit::Done)
    })
}

fn print(kernels: &[KernelProfile], format: Format) -> Result<(), Report> {
    let text = match format {
        Format::Table => kernels.iter().map(table).collect::<Vec<_>>().join("\n"),
        Format::Json => {
            let entries: Vec<_> = kernels.iter().map(Entry::new).collect();
            serde_json::to_string_pretty(&entries).into_diagnostic()? + "\n"
        }
    };
    output::print(&text)
}

const HEAD: [&str; 9] = ["pc", "line", "warps", "lanes", "lines", "per warp", "max", "L1 hit %", "L2 hit %"];

/// Returns the table of a kernel, with one row per load.
fn table(kernel: &KernelProfile) -> String {
    let all = kernel.all();
    let row = |pc: String, line: String, load: &Load| {
        let mut cells = vec![pc, line];
        cells.extend([load.warps, load.lanes, load.transactions].map(format_thousands));
        cells.push(format!("{:.1}", ratio(load.transactions, load.warps)));
        cells.push(load.most.to_string());
        cells.extend(
            [(load.l1_hits, load.transactions), (load.l2_hits, load.l2_reads())].map(|(hits, all)| percent(hits, all)),
        );
        cells
    };
    let line = |pc: u32| kernel.lines.get(pc as usize).map_or(String::new(), u32::to_string);
    let mut rows: Vec<_> = all.loads.iter().map(|(pc, load)| row(pc.to_string(), line(*pc), load)).collect();
    rows.push(row("all".to_owned(), String::new(), &all.all_loads()));
    let stores = all.stores;
    let launches = format_count(kernel.launches.len() as u64, "launch", "launches");
    format!(
        "{} of {}, {launches}, {}\n{}stores: {}, {}, {}\n\
         L2, loads and stores: {} % hits, {}\n",
        kernel.name,
        kernel.file,
        format_count(all.warp_instructions, "warp instruction", "warp instructions"),
        columns(&HEAD, &rows),
        format_count(stores.warps, "warp", "warps"),
        format_count(stores.transactions, "line", "lines"),
        format_count(stores.l1_evictions, "L1 eviction", "L1 evictions"),
        percent(l2(&all).hits, l2(&all).accesses),
        format_count(all.write_backs, "write-back", "write-backs"),
    )
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.1}", 100.0 * ratio(part, whole)) }
}

#[derive(Serialize)]
struct Entry<'a> {
    kernel: &'a str,
    file: &'a str,
    all: LaunchCounts,
    launches: Vec<LaunchCounts>,
}

/// Counts of one kernel launch, or their sum over all launches of a kernel.
#[derive(Serialize)]
struct LaunchCounts {
    warp_instructions: u64,
    loads: Vec<Row>,
    stores: Stores,
    l2: L2,
    write_backs: u64,
}

/// Counts of one load instruction in the program.
#[derive(Serialize)]
struct Row {
    pc: u32,
    line: Option<u32>,
    warps: u64,
    lanes: u64,
    transactions: u64,
    most: u64,
    l1_hits: u64,
    bypasses: u64,
    l2_reads: u64,
    l2_hits: u64,
}

#[derive(Serialize)]
struct Stores {
    warps: u64,
    transactions: u64,
    l1_evictions: u64,
    l2_hits: u64,
}

impl<'a> Entry<'a> {
    fn new(kernel: &'a KernelProfile) -> Self {
        let count = |profile: &Profile| LaunchCounts::new(profile, &kernel.lines);
        Self {
            kernel: &kernel.name,
            file: &kernel.file,
            all: count(&kernel.all()),
            launches: kernel.launches.iter().map(count).collect(),
        }
    }
}

impl LaunchCounts {
    fn new(profile: &Profile, lines: &[u32]) -> Self {
        let golden::untimed::Stores { warps, transactions, l1_evictions, l2_hits } = profile.stores;
        let row = |(&pc, load): (&u32, &Load)| {
            let l2_reads = load.l2_reads();
            let Load { warps, lanes, transactions, most, l1_hits, bypasses, bypassed_sectors: _, l2_hits } = *load;
            let line = lines.get(pc as usize).copied();
            Row { pc, line, warps, lanes, transactions, most, l1_hits, bypasses, l2_reads, l2_hits }
        };
        Self {
            warp_instructions: profile.warp_instructions,
            loads: profile.loads.iter().map(row).collect(),
            stores: Stores { warps, transactions, l1_evictions, l2_hits },
            l2: l2(profile),
            write_backs: profile.write_backs,
        }
    }
}
