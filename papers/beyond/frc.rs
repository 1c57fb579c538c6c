//! Gain of a Fetch and Replacement Cache (FRC, candel2018) next to the L2. It depends on three parameters:
//! the number of L1 MSHR entries, the cycle in which the way of an evicted line becomes free, and the width
//! of the DRAM buses.

use super::{NOTED, PAYS, format_range, gain_and_lose, geometric, in_words, join_names};
use crate::candel2018::{APPS, BASELINE, FRC_64, L2S, MACHINE};
use crate::chart::{Chart, Series};
use crate::judge::{geometric_mean, mean};
use crate::page::Page;
use crate::runs::{Point, RunResult, resolve_config};
use crate::table::Table;
use crate::{FigureError, Session};
use warpsieve::run::Counters;

/// Numbers of MSHR entries per L1 that are compared.
const ENTRIES: [u32; 3] = [8, 16, 64];
/// Indices of the two compared L2 configurations: without and with an FRC (Fetch and Replacement Cache).
const PAIR: [usize; 2] = [BASELINE, FRC_64];

/// Parameters of the machine under which the gain of the FRC is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Setting {
    entries: u32,
    /// True if the way of a victim becomes free when the memory acknowledges the writeback. False if the way
    /// becomes free as soon as the memory accepts the data.
    is_acknowledged: bool,
    bus_bits: u32,
    /// Number of bursts per DRAM row. The row size in bytes is the same for every bus width, so a wider bus
    /// needs fewer bursts.
    columns: u32,
}

impl Setting {
    fn all() -> Result<Vec<Self>, FigureError> {
        let dram = resolve_config(MACHINE, &[], &[])?.config.dram;
        let buses = [1, 2].map(|times| (times * dram.bus_bits, dram.columns / times));
        let of_bus = |(bus_bits, columns)| {
            [true, false].into_iter().flat_map(move |is_acknowledged| {
                ENTRIES.map(|entries| Self { entries, is_acknowledged, bus_bits, columns })
            })
        };
        Ok(buses.into_iter().flat_map(of_bus).collect())
    }

    fn sets(&self) -> [String; 4] {
        let Self { entries, is_acknowledged, bus_bits, columns } = self;
        [
            format!("l1.mshr_entries={entries}"),
            format!("l2.flow.acknowledged={is_acknowledged}"),
            format!("dram.bus_bits={bus_bits}"),
            format!("dram.columns={columns}"),
        ]
    }

    fn eviction(&self) -> &'static str {
        if self.is_acknowledged { "acknowledged" } else { "handed over" }
    }

    fn name(&self) -> String {
        format!("{}, {}, {} bits", self.entries, self.eviction(), self.bus_bits)
    }
}

/// Results of all applications with one setting of the parameters.
struct SettingResults {
    setting: Setting,
    /// For each application, operations per cycle (OPC) with the FRC divided by OPC without the FRC.
    gains: Vec<f64>,
    /// Bus use without an FRC: percentage of the time with pending DRAM requests in which the data buses
    /// transfer data.
    busy: f64,
    /// Average delay of an L2 miss without and with the FRC, in cycles.
    delays: [f64; 2],
}

impl SettingResults {
    /// Computes the results. `runs` has two runs for each application: without and with the FRC.
    fn of(setting: Setting, runs: &[[&RunResult; 2]]) -> Self {
        let average = |l2: usize, of: fn(&Counters) -> f64| {
            let values: Vec<_> = runs.iter().map(|pair| of(&pair[l2].counters)).collect();
            mean(&values).unwrap_or(f64::NAN)
        };
        Self {
            setting,
            gains: runs.iter().map(|[without, with]| with.counters.opc() / without.counters.opc()).collect(),
            busy: 100.0 * average(0, Counters::dram_bus_use),
            delays: [0, 1].map(|l2| average(l2, Counters::miss_delay)),
        }
    }
}

pub(super) fn frc(session: &Session) -> Result<Page, FigureError> {
    let settings = Setting::all()?;
    let variants: Vec<_> = settings.iter().flat_map(|setting| PAIR.map(|l2| (setting, l2))).collect();
    let done = session.runner.table(&APPS, &variants, |(_, kernel, size), (setting, l2)| {
        let sets = setting.sets();
        let sets = sets.each_ref().map(String::as_str);
        Point::new(&session.launch(kernel, size), MACHINE, L2S[*l2].1, &sets)
    })?;
    let measured = settings.iter().enumerate().map(|(at, setting)| {
        let pairs: Vec<_> = done.iter().map(|runs| [0, 1].map(|l2| &runs[PAIR.len() * at + l2])).collect();
        SettingResults::of(*setting, &pairs)
    });
    draw(session.is_quick, &measured.collect::<Vec<_>>())
}

fn draw(is_quick: bool, measured: &[SettingResults]) -> Result<Page, FigureError> {
    let mut page = Page::new("beyond/frc", is_quick, "Gain of an FRC");
    let which = if is_quick {
        "their size `small`, whose data stay in the L2, so that an FRC has no effect. Only the page\nof the usual sizes shows gains"
    } else {
        "the sizes of the pages of candel2018, whose data are\nseveral times as large as the L2"
    };
    page.text(&format!(
        "Operations per cycle (OPC) of `{MACHINE}` with an FRC of 64 lines per bank (candel2018), relative to the machine without an FRC and\n\
         with the same L1s and the same DRAM, for {} applications of candel2018 with {which}.\n\
         *MSHRs*: MSHR entries per L1; Multi2Sim has 16. *Eviction*: the way of a line that is written back becomes free when the memory has\n\
         acknowledged the write, as in Multi2Sim (*acknowledged*), or when the memory accepts the data (*handed over*). *Bus*: bits of the bus of\n\
         each DRAM channel, as many as in the machine and twice as many; rows keep their size in bytes.",
        APPS.len()
    ));
    page.text(&format!(
        "## By setting\n\
         *Gain*: geometric mean of the applications, then the lowest and the highest mean with one of them left out, and the number of applications\n\
         that gain or lose {0:.0} % or more. *Bus busy*: share of the time with pending DRAM requests in which the buses are busy, without an FRC, as a\n\
         mean of the applications. *Delay*: mean cycles for which a miss is delayed in the L2, without and with the FRC.",
        100.0 * NOTED
    ));
    let head = [
        "MSHRs",
        "eviction",
        "bus",
        "gain",
        "leave-one-out",
        "gain 5 %",
        "lose 5 %",
        "bus busy %",
        "delay without",
        "with",
    ];
    let rows = measured.iter().map(|one| {
        let SettingResults { setting, gains, busy, delays: [without, with] } = one;
        let setting = [setting.entries.to_string(), setting.eviction().to_owned(), setting.bus_bits.to_string()];
        let last = [busy, without, with].map(|value| format!("{value:.1}"));
        let gains = format_range(gains, 3, geometric_mean).into_iter().chain(gain_and_lose(gains));
        setting.into_iter().chain(gains).chain(last).collect()
    });
    page.table(&head, rows.collect(), 3);
    chart(&mut page, measured);
    let table = Table::new(["application"], APPS.iter().map(|(name, ..)| [*name]));
    let table = table.columns(3, measured.iter().map(|one| (one.setting.name(), one.gains.clone())));
    let table = table.below(["geometric mean"], |_| true, geometric);
    table.table(&mut page, "## By application")?;
    page.text(&format!("## Conclusions\n{}", findings(measured)));
    Ok(page)
}

/// Draws a bar chart. There is one group of bars for each combination of a bus width and a time at which a
/// victim's way becomes free. Within a group, there is one bar for each number of MSHR entries.
fn chart(page: &mut Page, measured: &[SettingResults]) {
    let groups = measured.chunks(ENTRIES.len());
    let name = |of: &[SettingResults]| format!("{}, {} bits", of[0].setting.eviction(), of[0].setting.bus_bits);
    let series = ENTRIES.iter().enumerate().map(|(at, entries)| {
        Series::new(&format!("{entries} MSHRs"), groups.clone().map(|group| geometric(&group[at].gains)))
    });
    let series = series.collect();
    let chart = Chart::relative("FRC of 64 lines per bank", "OPC, relative to no FRC");
    page.chart("", &Chart { groups: groups.map(name).collect(), series, ..chart });
}

fn findings(measured: &[SettingResults]) -> String {
    let over = |is: &dyn Fn(&Setting) -> bool| {
        let of = measured.iter().filter(|one| is(&one.setting)).map(|one| geometric(&one.gains));
        geometric(&of.collect::<Vec<_>>())
    };
    let mut buses: Vec<_> = measured.iter().map(|one| one.setting.bus_bits).collect();
    buses.sort_unstable();
    buses.dedup();
    let by_entries = ENTRIES.map(|entries| (format!("{entries} MSHRs"), over(&|one| one.entries == entries)));
    let by_eviction = [true, false].map(|is| {
        let what = if is { "acknowledged evictions" } else { "evictions handed over" };
        (what.to_owned(), over(&|one| one.is_acknowledged == is))
    });
    let by_bus = buses.iter().map(|&bits| (format!("{bits} bits"), over(&|one| one.bus_bits == bits)));
    let factors: [(&str, Vec<(String, f64)>); 3] = [
        ("the MSHRs of the L1s", by_entries.into()),
        ("how an eviction ends", by_eviction.into()),
        ("the width of the bus", by_bus.collect()),
    ];
    let spread = |of: &[(String, f64)]| {
        let values = || of.iter().map(|(_, value)| *value);
        values().fold(f64::NEG_INFINITY, f64::max) - values().fold(f64::INFINITY, f64::min)
    };
    let decides = factors.iter().max_by(|(_, one), (_, other)| spread(one).total_cmp(&spread(other)));
    let shown = factors.iter().map(|(_, values)| {
        let values: Vec<_> = values.iter().map(|(what, value)| format!("{value:.3} with {what}")).collect();
        values.join(", ")
    });
    let mut text =
        format!("Averaged over the other settings, the gain of an FRC is {}.\n", shown.collect::<Vec<_>>().join("; "));
    if let Some((what, values)) = decides.filter(|(_, values)| spread(values) >= PAYS) {
        text.push_str(&format!("It depends most on {what}, by {:.1} percentage points.\n", 100.0 * spread(values)));
    }
    let gain = |one: &SettingResults| geometric(&one.gains);
    let best = measured.iter().max_by(|one, other| gain(one).total_cmp(&gain(other)));
    match best.filter(|best| gain(best) >= 1.0 + PAYS) {
        None => text.push_str(&format!("An FRC gains {:.0} % or more under no setting.", 100.0 * PAYS)),
        Some(best) => {
            let most: Vec<_> = APPS.iter().zip(&best.gains).filter(|(_, gain)| **gain >= 1.0 + NOTED).collect();
            let most: Vec<_> = most.into_iter().map(|((name, ..), _)| *name).collect();
            let Setting { entries, bus_bits, .. } = best.setting;
            text.push_str(&format!(
                "It is highest with {entries} MSHRs, evictions {} and {bus_bits} bits: {}. With this setting, these applications gain {:.0} % or more: {}.",
                best.setting.eviction(),
                in_words(&best.gains),
                100.0 * NOTED,
                join_names(&most)
            ));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_taken_once_and_a_wider_bus_keeps_the_bytes_of_a_row() {
        let all = Setting::all().unwrap();
        assert_eq!(all.len(), ENTRIES.len() * 2 * 2);
        assert!(all.iter().enumerate().all(|(at, one)| !all[..at].contains(one)), "{all:?}");
        let row_bits = |one: &Setting| one.bus_bits * one.columns;
        assert!(all.iter().all(|one| row_bits(one) == row_bits(&all[0])), "{all:?}");
        for setting in &all {
            let sets = setting.sets();
            let sets = sets.each_ref().map(String::as_str);
            PAIR.iter().for_each(|l2| drop(resolve_config(MACHINE, L2S[*l2].1, &sets).unwrap()));
        }
    }

    #[test]
    fn the_findings_name_what_decides_and_where_most_is_gained() {
        let of = |setting: Setting| {
            let gain = if setting.is_acknowledged { 1.2 } else { 1.0 } * if setting.entries == 8 { 1.05 } else { 1.0 };
            let mut gains = vec![1.0; APPS.len()];
            gains[0] = f64::powi(gain, APPS.len() as i32);
            SettingResults { setting, gains, busy: 0.0, delays: [0.0; 2] }
        };
        let measured: Vec<_> = Setting::all().unwrap().into_iter().map(of).collect();
        let findings = findings(&measured);
        for text in [
            "1.150 with 8 MSHRs, 1.095 with 16 MSHRs, 1.095 with 64 MSHRs",
            "1.220 with acknowledged evictions, 1.016 with evictions handed over",
            "It depends most on how an eviction ends, by 20.3 percentage points.",
            "8 MSHRs, evictions acknowledged and 64 bits: 1.260 (1.000 to 1.285)",
            "these applications gain 5 % or more: `BinomialOption`.",
        ] {
            assert!(findings.contains(text), "no {text}: {findings}");
        }
    }
}
