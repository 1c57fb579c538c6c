//! anssari2012 Table 4.1: the simulated system. Our values are read from the configuration of the machine.

use miette::Report;
use rtl::machine::MachineConfig;
use rtl::tracker::{SharerList, TrackerConfig};

use super::SIZES;
use crate::FigureError;
use crate::page::Page;
use crate::runs::resolve_config;
use crate::table::row;

const KB: u64 = 1024;

fn machine(design: &str, sets: &[&str]) -> Result<MachineConfig, Report> {
    Ok(resolve_config("hybrid", &[design], sets)?.config)
}

/// Returns the number of L1s that an entry of the sharing tracker can record as sharers of a line.
fn sharers(config: &MachineConfig) -> u32 {
    let TrackerConfig { sharers, .. } = &config.tracker;
    match sharers {
        SharerList::All => config.tracker.sms_per_tracker(config.num_sms),
        SharerList::Last => 1,
    }
}

fn l2_bytes(config: &MachineConfig) -> u64 {
    u64::from(config.num_partitions) * bytes(config.l2.sets, config.l2.ways, config.l2.line_bytes)
}

fn bytes(sets: u32, ways: u32, line_bytes: u32) -> u64 {
    u64::from(sets) * u64::from(ways) * u64::from(line_bytes)
}

/// Returns the L2 capacity of the machine, in KB, for each L2 size of the thesis.
fn l2_sizes(machine: &MachineConfig) -> Result<String, Report> {
    let of_set = u64::from(machine.num_partitions) * bytes(1, machine.l2.ways, machine.l2.line_bytes);
    let size = |kb: u32| {
        let sets = format!("l2.sets={}", u64::from(kb) * KB / of_set);
        Ok((l2_bytes(&self::machine("tracker", &[&sets])?) / KB).to_string())
    };
    Ok(SIZES.into_iter().map(size).collect::<Result<Vec<_>, Report>>()?.join(", "))
}

/// Returns the entries of Table 4.1: name, our value, and published value.
fn found(machine: &MachineConfig) -> Result<[(&'static str, String, &'static str); 15], Report> {
    let last = self::machine("tracker-last", &[])?;
    let MachineConfig { num_sms, num_partitions, sm, l1, tracker, l2, .. } = machine;
    let banks = num_partitions.to_string();
    Ok([
        ("compute units", num_sms.to_string(), "16"),
        ("warp size", sm.warp_lanes.to_string(), "32"),
        ("maximum warps of a compute unit", sm.warps.to_string(), "64"),
        ("registers", format!("{}K", u64::from(sm.registers) / KB), "64K"),
        ("L1: KB", (bytes(l1.sets, l1.ways, l1.line_bytes) / KB).to_string(), "64"),
        ("L1: bytes per line", l1.line_bytes.to_string(), "128"),
        ("L1: ways", l1.ways.to_string(), "4"),
        ("tracker: sets", (tracker.sets * num_partitions).to_string(), "1024"),
        ("tracker: ways", tracker.ways.to_string(), "8"),
        ("tracker: banks", banks.clone(), "8"),
        ("tracker: sharers per line", format!("{}, {}", sharers(&last), sharers(machine)), "1, 16"),
        ("L2: KB", l2_sizes(machine)?, "128, 256, 512, 1024"),
        ("L2: bytes per line", l2.line_bytes.to_string(), "32"),
        ("L2: ways", l2.ways.to_string(), "8"),
        ("L2: banks", banks, "8"),
    ])
}

pub(in super::super) fn table41() -> Result<Page, FigureError> {
    let machine = machine("tracker", &[])?;
    let found = found(&machine)?;
    let about = format!(
        "Values from the configuration of `hybrid` with the design `tracker`, with `tracker-last` for one sharer, and\n\
         with `--set l2.sets=N` for each L2 size. An L1 has one bank: its tags are looked up once per cycle.\n\n\
         These values are configured, so that nothing is judged. A test compares them with the thesis.\n\n\
         One field differs from the thesis: a compute unit of `hybrid` has {} KB of shared memory instead of 16 KB,\n\
         because some kernels of the suite do not fit into 16 KB. The untimed machine has the same size. In both,\n\
         shared memory is separate from the caches.",
        u64::from(machine.sm.shared.bytes) / KB
    );
    let mut page = Page::new("anssari2012/table4.1", false, "anssari2012, Table 4.1: the simulated system");
    page.text(&about);
    let cells = found.map(|(what, ours, published)| row(what, [ours, published.to_owned()]));
    page.numbers(&["field", "ours", "published"], cells.to_vec(), 1)?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_hybrid_is_the_system_of_the_table() {
        for (what, ours, published) in found(&machine("tracker", &[]).unwrap()).unwrap() {
            assert_eq!(ours, published, "{what}");
        }
    }
}
