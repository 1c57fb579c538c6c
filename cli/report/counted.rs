//! Writes the counters of a run as HTML: by load, by stall reason, by latency class, and by component of the
//! machine.

use ::area::Node;
use maud::{Markup, html};
use papers::measured::BlockEnergy;
use rtl::kernel::Counted;
use rtl::l1::loads::LoadStats;
use rtl::l1::stats::L1Stats;
use rtl::sm::StallReason;
use warpsieve::run::{LoadCounters, RunReport, Totals, ratio};
use warpsieve::summary::reasons;

use super::super::dictionary::stages;
use super::super::explain::changes::{class_name, meaning};
use super::super::explain::sources::Sources;
use super::super::output::format_thousands;
use super::html::{bar, percent, spark, table, text};

/// Returns a table of the load instructions, each with its line in the source file.
pub fn loads(report: &RunReport, sources: &Sources, at: &str) -> Markup {
    if report.loads.is_empty() {
        return html! { p { "No load of a PTX kernel reached a cache." } };
    }
    let mut loads: Vec<_> = report.loads.iter().collect();
    loads.sort_by_key(|load| (&load.kernel, load.line, load.column, load.pc));
    let origins: Vec<_> = loads.iter().map(|load| sources.origin(&load.kernel, load.line)).collect();
    let has_origins = origins.iter().any(Option::is_some);
    let mut head = vec!["load", "PTX"];
    head.extend(has_origins.then_some("source"));
    let first = head.len();
    head.extend(["accesses", "hits %", "pending %", "misses", "bypasses", "mean latency", "latencies"]);
    let row = |(load, origin): (&&LoadCounters, &Option<String>)| {
        let LoadCounters { kernel, line, stats, .. } = load;
        let LoadStats { accesses, hits, hit_pending, misses, bypasses, answers, latency, ref latencies } = *stats;
        let mut cells = vec![text(format!("{kernel}, line {line}"))];
        cells.push(html! { code { (sources.line(kernel, *line).unwrap_or_default()) } });
        cells.extend(has_origins.then(|| html! { code { (origin.as_deref().unwrap_or_default()) } }));
        let rate = |part| text(percent(ratio(part, accesses)));
        cells.extend([text(format_thousands(accesses)), rate(hits), rate(hit_pending)]);
        cells.extend([misses, bypasses].map(|count| text(format_thousands(count))));
        cells.extend([text(format!("{:.1}", ratio(latency, answers))), spark(latencies)]);
        cells
    };
    let rows: Vec<_> = loads.iter().zip(&origins).map(row).collect();
    html! {
        p.quiet {
            "Accesses count lines. Latencies are per warp, in core cycles from the LSU to the last byte. The bars are \
             their histogram, as under Latencies."
            @if !has_origins { " The PTX names no source lines: compilers write them with " code { "-lineinfo" } " or " code { "-gline-tables-only" } "." }
        }
        (table(&format!("{at}load"), &head, &(first..first + 6), &rows))
    }
}

/// Returns a table of the schedulers' issue slots: slots with an issued instruction, and empty slots by stall
/// reason.
pub fn stalls(report: &RunReport, at: &str) -> Markup {
    let mut shares = report.counters.scheduler_shares();
    shares.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let row = |(reason, share): &(StallReason, f64)| {
        let means = meaning(&format!("stalls.{}", reason.name())).unwrap_or("The scheduler issued an instruction.");
        vec![text(reason.name()), text(percent(*share)), bar(*share), text(means)]
    };
    let rows: Vec<_> = shares.iter().filter(|(_, share)| *share > 0.0).map(row).collect();
    table(&format!("{at}stall"), &["reason", "% of all slots", "", ""], &(1..2), &rows)
}

/// Returns a table of the reservation fails of caches, by reason.
pub fn refusals(report: &RunReport, at: &str) -> Markup {
    let totals = report.counters.totals();
    let l1 = |units: &L1Stats| reasons(units.refusals());
    let caches = [
        ("L1D", "l1.reservation_fails", l1(&totals.l1)),
        ("constants", "const_cache.reservation_fails", l1(&totals.const_cache)),
        ("texels", "texture_cache.reservation_fails", l1(&totals.texture_cache)),
        ("L2", "l2.stalls", reasons(totals.l2.refusals())),
    ];
    let most = caches.iter().flat_map(|(.., reasons)| reasons).map(|(_, cycles)| *cycles).max().unwrap_or(0);
    let row = |cache: &str, group: &str, (reason, cycles): &(&str, u64)| {
        let means = meaning(&format!("{group}.{reason}")).unwrap_or_default();
        vec![text(cache), text(reason), text(format_thousands(*cycles)), bar(ratio(*cycles, most)), text(means)]
    };
    let rows: Vec<_> =
        caches.iter().flat_map(|(cache, group, reasons)| reasons.iter().map(move |r| row(cache, group, r))).collect();
    if rows.is_empty() {
        return html! { p { "No access of a cache stalled." } };
    }
    html! {
        p.quiet { "Cycles in which the oldest access of a cache stalled, summed over all caches of its kind." }
        (table(&format!("{at}refusal"), &["cache", "reason", "cycles", "", ""], &(2..3), &rows))
    }
}

/// Returns the latency histograms of loads, of the stages that loads pass through, and of DRAM reads.
pub fn latencies(report: &RunReport, at: &str) -> Markup {
    let loads = LoadStats::total(report.loads.iter().map(|load| &load.stats));
    let Totals { stages: stays, dram, .. } = report.counters.totals();
    let about = "Warp loads by latency in core cycles, from the LSU to the last byte";
    let mut histograms = vec![("loads", about, loads.latencies.to_vec())];
    for ((name, stays), (_, counter)) in stays.named_stays().into_iter().zip(stages()) {
        histograms.push((name, counter.meaning, stays.latencies.to_vec()));
    }
    histograms.push(("reads", "DRAM reads by latency in cycles of the DRAM clock", dram.read_latencies.to_vec()));
    html! {
        @for (name, about, classes) in &histograms {
            h4 { (about) }
            @if classes.iter().all(|count| *count == 0) { p { "There were none." } }
            @else { (histogram(&format!("{at}latency-{name}"), classes)) }
        }
    }
}

fn histogram(id: &str, classes: &[u64]) -> Markup {
    let all: u64 = classes.iter().sum();
    let row = |(class, &count): (usize, &u64)| {
        let share = ratio(count, all);
        vec![text(class_name(class, classes.len())), text(format_thousands(count)), text(percent(share)), bar(share)]
    };
    let rows: Vec<_> = classes.iter().enumerate().filter(|(_, count)| **count > 0).map(row).collect();
    table(id, &["cycles", "number", "%", ""], &(1..3), &rows)
}

/// Returns a table of the energy of a run, by component. The first row is the whole machine.
pub fn energy(parts: &[BlockEnergy], node: Node, at: &str) -> Markup {
    let Some(whole) = parts.first() else { return html! { p { "The run has no counts of its structures." } } };
    let pj = |part: &BlockEnergy| part.dynamic_pj + part.leakage_pj;
    let row = |part: &BlockEnergy| {
        let BlockEnergy { block, dynamic_pj, leakage_pj } = part;
        let share = if pj(whole) > 0.0 { pj(part) / pj(whole) } else { 0.0 };
        let name = match block.rsplit_once('.') {
            Some((_, inside)) => format!("    {inside}"),
            None if block.is_empty() => "all".to_owned(),
            None => format!("  {block}"),
        };
        let micro = |pj: f64| text(format!("{:.3}", pj / 1e6));
        vec![text(name), micro(pj(part)), micro(*dynamic_pj), micro(*leakage_pj), text(percent(share)), bar(share)]
    };
    let rows: Vec<_> = parts.iter().map(row).collect();
    html! {
        p.quiet { "At " (node.nm()) " nm, an estimate: differences are more reliable than totals." }
        div.tree { (table(&format!("{at}component"), &["component", "uJ", "dynamic", "leakage", "%", ""], &(1..5), &rows)) }
    }
}
