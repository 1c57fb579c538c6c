//! Area of the SystemVerilog modules in `hdl` after mapping to standard cells. It is compared with the
//! estimated area, which is computed from the structures that each hardware block lists.

use ::area::{Node, Technology};
use hdl::{Block, Size, Survey, Synthesis, blocks};
use miette::{IntoDiagnostic, Report, miette};
use rayon::prelude::*;

use crate::FigureError;
use crate::judge::{Class, ComparisonRow};
use crate::page::{Page, comma_separated};
use crate::runs::resolve_config;

const HEAD: [&str; 8] = [
    "component",
    "flip-flops",
    "bits described",
    "gates",
    "um2",
    "logic um2",
    "um2 estimated",
    "estimated / synthesized",
];

/// Maximum estimated area, in um2, of a module to be synthesized. Yosys maps modules of this size within
/// minutes.
const MAX_UM2: f64 = 150_000.0;

/// Maximum relative difference between the estimated and the synthesized area of a module.
const NEAR: f64 = 0.2;

pub(super) fn synthesis() -> Result<Page, FigureError> {
    let technology = Technology::built_in().into_diagnostic()?;
    let is_large = |block: &Block| block.estimate(Size::Synthesised, technology).um2() > MAX_UM2;
    let (large, all): (Vec<_>, Vec<_>) = blocks().into_iter().partition(|block| is_large(block));
    let synthesised = all.par_iter().map(|block| block.synthesise(Size::Synthesised, technology));
    let synthesised: Vec<_> = synthesised.collect::<Result<_, _>>()?;
    let mut page = Page::new("area/synthesis", false, "Components as gates");
    page.text(&format!(
        "Each component of `hdl`, mapped by Yosys and ABC to the cells that `area` uses ({} nm), compared with the estimate from the\n\
         structures that the component lists. Components with sets are synthesized with one set: in a machine, a memory holds the\n\
         others. *Gates* are all cells except flip-flops. The multiplexer that holds the value of a register is part of the flip-flop\n\
         in the estimate, and part of the logic in the gates. `warpsieve hdl synth BLOCK` shows cells and pieces of one component.",
        Node::N45.nm(),
    ));
    let rows: Vec<_> = all.iter().zip(&synthesised).map(|(block, parts)| row(block, parts)).collect();
    page.table(&HEAD, rows.clone(), 1);
    if !large.is_empty() {
        let large: Vec<_> = large.iter().map(|block| format!("`{}`", block.path())).collect();
        page.text(&format!(
            "Left out, because Yosys takes too long for an estimate above {MAX_UM2:.0} um2: {}.",
            large.join(", ")
        ));
    }
    page.text("Parameters are those of [the list](../../hdl.md), except for these:");
    let parameters = all.iter().zip(&synthesised).filter_map(|(block, synthesis)| {
        let (listed, _) = block.shape(Size::Fermi);
        let others = synthesis.parameters.iter().filter(|parameter| !listed.contains(parameter));
        let others: Vec<_> = others.map(|(name, value)| format!("{name}={value}")).collect();
        (!others.is_empty()).then(|| vec![block.path(), others.join(" ")])
    });
    page.table(&["component", "parameters"], parameters.collect(), 2);
    modules(&mut page)?;
    let mut judged = vec![flip_flops(&all, &synthesised)];
    judged.extend(all.iter().zip(&synthesised).map(|(block, synthesis)| near(block, synthesis)));
    judged.extend(compare_published(technology)?);
    page.add_rows(judged);
    let names = ["component", "flip_flops", "described", "gates", "um2", "logic_um2", "estimated_um2", "ratio"];
    page.csv = comma_separated(&names, &rows)?;
    Ok(page)
}

/// Adds a table of all modules with their simulators, longest paths, memories and checked parameters.
fn modules(page: &mut Page) -> Result<(), FigureError> {
    page.text(
        "## Modules\n\n\
         All modules of `rtl/hdl/`. *Levels* are the gates with at most two inputs on the longest path of the module mapped for few\n\
         levels, with the parameters of the tables above; `warpsieve hdl synth BLOCK` names its ends. *Memories* are the modules that a\n\
         technology replaces. *Checked parameters* are refused at elaboration if their values make no sense.",
    );
    let row = |block: &Block| -> Result<Vec<String>, Report> {
        let Survey { simulators, memories, checked_parameters } = block.survey()?;
        let levels = if block.has_known_paths()? {
            let longest = block.longest_paths(Size::Synthesised)?;
            let most = longest.iter().max_by_key(|(_, path)| path.levels);
            most.map_or(String::new(), |(kind, path)| format!("{}, {kind}", path.levels))
        } else {
            "left out".to_owned()
        };
        let list = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        Ok(vec![block.path(), simulators.join(", "), levels, list(&memories), list(&checked_parameters)])
    };
    let rows = blocks().par_iter().map(|block| row(block)).collect::<Result<Vec<_>, _>>()?;
    page.table(&["module", "agrees in", "levels, from and to", "memories", "checked parameters"], rows, 5);
    Ok(())
}

fn row(block: &Block, synthesis: &Synthesis) -> Vec<String> {
    let Synthesis { parameters: _, cells, synthesised, estimated, pieces: _ } = synthesis;
    let gates: u64 = cells.iter().filter(|(name, _)| !Technology::is_flip_flop(name)).map(|(_, count)| count).sum();
    vec![
        block.path(),
        synthesised.flip_flops.to_string(),
        estimated.flip_flops.to_string(),
        gates.to_string(),
        format!("{:.0}", synthesised.um2()),
        format!("{:.0}", synthesised.logic_um2),
        format!("{:.0}", estimated.um2()),
        format!("{:.2}", estimated.um2() / synthesised.um2()),
    ]
}

/// Compares the number of flip-flops after synthesis with the number of flip-flops that the hardware blocks
/// list.
fn flip_flops(all: &[&Block], synthesised: &[Synthesis]) -> ComparisonRow {
    let parts = all.iter().zip(synthesised);
    let others: Vec<_> = parts
        .filter(|(_, synthesis)| synthesis.synthesised.flip_flops != synthesis.estimated.flip_flops)
        .map(|(block, synthesis)| {
            let (gates, described) = (synthesis.synthesised.flip_flops, synthesis.estimated.flip_flops);
            format!("{} {gates} of {described}", block.path())
        })
        .collect();
    let same = all.len() - others.len();
    let ours = format!("{same} of {}", all.len());
    ComparisonRow::claim(
        Class::Exact,
        "components with one flip-flop per described bit",
        &ours,
        "all",
        others.is_empty(),
    )
    .mark_no_evidence(&format!(
        "both numbers are ours; synthesis removes the flip-flops of bits that never change with these parameters: {}",
        others.join(", ")
    ))
}

/// Compares the estimated area of a module with its area after synthesis.
fn near(block: &Block, synthesis: &Synthesis) -> ComparisonRow {
    let ratio = synthesis.estimated.um2() / synthesis.synthesised.um2();
    let row = ComparisonRow::claim(
        Class::Factor,
        &format!("{}: um2 estimated / um2 synthesized", block.path()),
        &format!("{ratio:.2}"),
        &format!("{:.1} to {:.1}", 1.0 - NEAR, 1.0 + NEAR),
        (ratio - 1.0).abs() <= NEAR,
    );
    row.mark_no_evidence(match block.path().starts_with("index/") {
        true => "the trees of several index bits share gates, which the estimate counts for each tree",
        false => "both numbers are ours; no paper states them",
    })
}

/// Compares numbers of flip-flops and logic inputs that the papers state with those of the synthesized
/// modules.
fn compare_published(technology: &Technology) -> Result<Vec<ComparisonRow>, Report> {
    let named = |path: &str| {
        let found = blocks().into_iter().find(|block| block.path() == path);
        found.ok_or_else(|| miette!("there is no component {path}"))
    };
    let flip_flops = |path: &str, parameters: &[(&str, u32)]| named(path)?.flip_flops(parameters, technology);
    // The modules are synthesized with a single set, so that only one set is made of flip-flops. In the
    // machine, a memory holds all sets.
    let set = ("SETS", 1);
    let sets = u64::from(resolve_config("fermi", &[], &[])?.config.l1.sets);
    let decoupled = flip_flops("l1/decoupled", &[set])? - 1;
    let tags = flip_flops("l1/tags", &[set])?;
    let fan_ins = named("index/i_poly")?.fan_ins(&[("ADDR_BITS", 27)], "line", ("index", 5))?;
    let fan_ins: Vec<_> = fan_ins.iter().map(ToString::to_string).collect();
    // Two FRCs with two entries each are compared, one with lines of 128 bytes and one with lines of 64
    // bytes. They differ by 2 x 64 bytes, which is the data of one 128-byte line.
    let [half, whole] = [64, 128].map(|bytes| flip_flops("l2/frc", &[("WAYS", 2), ("LINE_BYTES", bytes)]));
    let line = whole? - half?;
    let [mask, last] = [0, 1].map(|last| flip_flops("tracker/sharer_table", &[set, ("LAST", last)]));
    let hybrid = resolve_config("hybrid", &["tracker"], &[])?.config;
    let sets_of_hybrid = u64::from(hybrid.num_partitions * hybrid.tracker.sets);
    Ok(vec![
        ComparisonRow::exact(
            "flip-flops that decoupled tags add to an SM (li2015 section 6.5)",
            sets * (decoupled - tags),
            5984,
        ),
        ComparisonRow::exact(
            "inputs of each index bit of PRIC (khairy2015 section 4.3)",
            fan_ins.join(", "),
            "10, 10, 10, 9, 9",
        ),
        ComparisonRow::exact("flip-flops of the 64 lines of an FRC (candel2018 section 5.1)", 64 * line, 65_536),
        ComparisonRow::exact(
            "flip-flops of the sharer masks of `hybrid`'s tracker (anssari2012 Table 4.1)",
            sets_of_hybrid * (mask? - last?),
            131_072,
        ),
    ])
}
