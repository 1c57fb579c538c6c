//! Pareto fronts of the papers' designs and their combinations: speedup against energy, and speedup against
//! area.

use ::area::Technology;
use miette::IntoDiagnostic;

use super::{
    MACHINE, MEANS, PAYS, Parts, by_design, format_range, geometric, in_words, join_names, kernels_shown, name,
    numbers, parts, speedups,
};
use crate::counted::{NODE, RunMetrics};
use crate::judge::{geometric_mean, leave_one_out};
use crate::page::{Drawing, Page};
use crate::scatter::{Dot, Scatter};
use crate::structures::block;
use crate::{FigureError, Session};

/// Unmodified machine, designs of the papers, and combinations of designs that do not change the same units
/// of the machine.
const DESIGNS: [Parts; 16] = [
    &[],
    &["pric"],
    &["streaming"],
    &["dwt-cs"],
    &["dwt-pric"],
    &["decoupled"],
    &["decoupled-dueling"],
    &["mrpb"],
    &["ccws"],
    &["pdp"],
    &["frc-64"],
    &["tracker"],
    &["tracker", "hybrid-policy"],
    &["pric", "decoupled-dueling"],
    &["dwt-pric", "frc-64"],
    &["decoupled-dueling", "frc-64"],
];

/// Maximum cost, relative to the unmodified machine, up to which a design is drawn although it is not on the
/// Pareto front.
const FAR: f64 = 1.1;

/// Combination of designs, with its speedup and energy for each kernel relative to the unmodified machine.
struct RatedDesign {
    parts: Parts,
    speedups: Vec<f64>,
    energy: Vec<f64>,
    dynamic: Vec<f64>,
    /// Area of the whole machine in mm2.
    mm2: f64,
}

impl RatedDesign {
    fn speedup(&self) -> f64 {
        geometric(&self.speedups)
    }

    fn energy(&self) -> f64 {
        geometric(&self.energy)
    }
}

pub(super) fn pareto(session: &Session) -> Result<Page, FigureError> {
    let kernels = session.suite()?;
    let runs = by_design(session, &DESIGNS, &kernels)?;
    let technology = Technology::built_in().into_diagnostic()?;
    let areas = session.map_parallel(&DESIGNS, |parts| Ok(block(technology, MACHINE, parts, &[])?.um2 / 1e6))?;
    let rated = DESIGNS.iter().zip(&runs).zip(areas).map(|((design, of), mm2)| RatedDesign {
        parts: design,
        speedups: speedups(of, &runs[0]),
        energy: parts(of, &runs[0], RunMetrics::pj),
        dynamic: parts(of, &runs[0], |one| one.dynamic_pj),
        mm2,
    });
    let mut page = draw(session.is_quick, kernels.len(), &rated.collect::<Vec<_>>());
    page.csv = numbers(&DESIGNS, &kernels, &runs)?;
    Ok(page)
}

/// Returns a flag for each pair of speedup and cost: true if the pair is on the Pareto front. A pair is not
/// on the front if another pair is at least as good in both values and better in at least one.
fn front(of: &[(f64, f64)]) -> Vec<bool> {
    let beats = |other: &(f64, f64), one: &(f64, f64)| other.0 >= one.0 && other.1 <= one.1 && other != one;
    of.iter().map(|one| !of.iter().any(|other| beats(other, one))).collect()
}

/// Rounds a value to the decimal places that the table shows, so that differences that the table does not
/// show cannot affect the Pareto front.
fn as_shown(value: f64, places: i32) -> f64 {
    let scale = 10_f64.powi(places);
    (value * scale).round() / scale
}

fn draw(is_quick: bool, kernels: usize, rated: &[RatedDesign]) -> Page {
    let mut page = Page::new("beyond/pareto", is_quick, "Speed, energy and area of the papers' designs");
    page.text(&format!(
        "Designs of the papers, and combinations of designs that act in different places, over {}.\n\
         Speed-up and energy are relative to the baseline, the machine without a design.\n\
         {MEANS}\n\
         Energy and area are at {} nm ([method](../../area.md#energy-of-a-run)). Total energy includes the leakage of everything that is modeled,\n\
         which is lower in a shorter run; dynamic energy includes only the events. Area is that of the structures of the whole machine. A design is\n\
         on a *front* unless another design is at least as good in both metrics and better in one, to the decimal places that the table shows.",
        kernels_shown(is_quick, kernels),
        NODE.nm()
    ));
    let fronted = |of: fn(&RatedDesign) -> f64, places| {
        let numbers = rated.iter().map(|one| (as_shown(one.speedup(), 3), as_shown(of(one), places)));
        front(&numbers.collect::<Vec<_>>())
    };
    let (by_energy, by_area) = (fronted(RatedDesign::energy, 3), fronted(|one| one.mm2, 2));
    let head = [
        "design",
        "speed-up",
        "leave-one-out",
        "energy",
        "leave-one-out",
        "dynamic energy",
        "leave-one-out",
        "mm2",
        "on the front of",
    ];
    let rows = rated.iter().zip(by_energy.iter().zip(&by_area)).map(|(one, (energy, area))| {
        let means = [&one.speedups, &one.energy, &one.dynamic].map(|of| format_range(of, 3, geometric_mean));
        let fronts = [(energy, "energy"), (area, "area")].into_iter().filter(|(is_on, _)| **is_on);
        let fronts = fronts.map(|(_, front)| front).collect::<Vec<_>>().join(", ");
        let numbers = means.into_iter().flatten().chain([format!("{:.2}", one.mm2), fronts]);
        [name(one.parts)].into_iter().chain(numbers).collect()
    });
    page.table(&head, rows.collect(), 1);
    for (suffix, what, up, is_on, of) in [
        (
            "",
            "energy",
            "total energy, relative to the baseline",
            &by_energy,
            RatedDesign::energy as fn(&RatedDesign) -> f64,
        ),
        ("-area", "area", "mm2 of the machine", &by_area, |one| one.mm2),
    ] {
        drawing(&mut page, rated, (suffix, what, up), is_on, of);
    }
    page.text(&format!("## Conclusions\n{}", findings(rated, &by_energy, &by_area)));
    page
}

/// Draws each design at its speedup and cost. Designs with a very high cost are omitted, because with them,
/// all other designs would be drawn too close together.
fn drawing(
    page: &mut Page,
    rated: &[RatedDesign],
    (suffix, what, up): (&str, &str, &str),
    is_on: &[bool],
    of: fn(&RatedDesign) -> f64,
) {
    let (drawn, far): (Vec<_>, Vec<_>) =
        rated.iter().zip(is_on).partition(|(one, is_on)| **is_on || of(one) <= FAR * of(&rated[0]));
    let dot = |(one, is_on): (&RatedDesign, &bool)| Dot {
        name: name(one.parts),
        at: (one.speedup(), of(one)),
        is_on_line: *is_on,
    };
    let title = format!("Speed-up and {what}: the line joins the front");
    let dots = drawn.into_iter().map(dot).collect();
    let scatter = Scatter { title, across: "speed-up, geometric mean".to_owned(), up: up.to_owned(), dots };
    page.drawing(suffix, Drawing::Scatter(scatter));
    if !far.is_empty() {
        let far: Vec<_> = far.into_iter().map(|(one, _)| name(one.parts)).collect();
        page.text(&format!(
            "Not drawn, at over {:.0} % more {what} than the baseline: {}.",
            100.0 * (FAR - 1.0),
            join_names(&far)
        ));
    }
}

fn findings(rated: &[RatedDesign], by_energy: &[bool], by_area: &[bool]) -> String {
    let on = |front: &[bool]| {
        let names = rated.iter().zip(front).filter(|(_, is_on)| **is_on).map(|(one, _)| name(one.parts));
        join_names(&names.collect::<Vec<_>>())
    };
    let mut text = format!(
        "On the front of speed-up and energy: {}. On the front of speed-up and area: {}.\n",
        on(by_energy),
        on(by_area)
    );
    if let Some(fastest) = rated.iter().max_by(|one, other| one.speedup().total_cmp(&other.speedup())) {
        text.push_str(&format!(
            "The fastest is `{}` with a speed-up of {}, at {} of the energy of the baseline.\n",
            name(fastest.parts),
            in_words(&fastest.speedups),
            in_words(&fastest.energy)
        ));
    }
    let pays: Vec<_> = rated.iter().filter(|one| one.speedup() >= 1.0 + PAYS).collect();
    let hangs =
        |one: &&&RatedDesign| leave_one_out(&one.speedups, geometric_mean).is_some_and(|(low, _)| low < 1.0 + PAYS);
    let hanging: Vec<_> = pays.iter().filter(hangs).map(|one| name(one.parts)).collect();
    let percent = 100.0 * PAYS;
    text.push_str(&match (pays.len(), hanging.len()) {
        (0, _) => format!("No design gains {percent:.0} % or more.\n"),
        (pays, 0) => format!("All {pays} designs that gain {percent:.0} % or more do so whichever kernel is left out.\n"),
        (pays, count) => {
            format!(
                "{pays} designs gain {percent:.0} % or more; without one certain kernel, {count} of them would not: {}.\n",
                join_names(&hanging)
            )
        }
    });
    let together: Vec<_> = rated.iter().filter(|one| one.parts.len() > 1).collect();
    let is_alone = |one: &RatedDesign, of: &RatedDesign| one.parts.len() == 1 && of.parts.contains(&one.parts[0]);
    let best_part =
        |of: &RatedDesign| rated.iter().filter(|one| is_alone(one, of)).map(RatedDesign::speedup).fold(1.0, f64::max);
    let is_better = |one: &&&RatedDesign| one.speedup() >= (1.0 + PAYS) * best_part(one);
    let better: Vec<_> = together.iter().filter(is_better).map(|one| name(one.parts)).collect();
    text.push_str(&format!(
        "Of {} combinations, these are faster by {percent:.0} % or more than each of their designs alone: {}.",
        together.len(),
        join_names(&better)
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::resolve_config;

    #[test]
    fn a_design_is_on_the_front_unless_another_is_as_good_in_both_and_better_in_one() {
        let of = [(1.0, 5.0), (1.2, 6.0), (1.1, 6.0), (1.2, 7.0), (1.0, 5.0), (0.9, 4.0)];
        assert_eq!(front(&of), [true, true, false, false, true, true]);
    }

    #[test]
    fn designs_that_differ_by_less_than_the_table_shows_are_alike() {
        assert_eq!([1.00049, 0.99951, 567.526].map(|value| as_shown(value, 2)), [1.0, 1.0, 567.53]);
        assert_ne!(as_shown(1.0006, 3), as_shown(1.0, 3));
    }

    #[test]
    fn all_that_is_compared_composes() {
        for parts in DESIGNS {
            resolve_config(MACHINE, parts, &[]).unwrap_or_else(|why| panic!("{}: {why:?}", name(parts)));
        }
    }

    #[test]
    fn the_findings_follow_from_the_numbers() {
        let rated = |parts, speedups: [f64; 3], energy: f64, mm2| RatedDesign {
            parts,
            speedups: speedups.into(),
            energy: vec![energy; 3],
            dynamic: vec![1.0; 3],
            mm2,
        };
        let all = [
            rated(&[], [1.0; 3], 1.0, 10.0),
            rated(&["pric"], [1.0, 1.0, 8.0], 0.5, 10.0),
            rated(&["tracker"], [1.1; 3], 1.2, 11.0),
            rated(&["pric", "decoupled-dueling"], [1.0, 1.0, 27.0], 0.6, 12.0),
        ];
        let page = draw(false, 3, &all);
        for text in [
            "On the front of speed-up and energy: `pric` and `pric + decoupled-dueling`.",
            "On the front of speed-up and area: `pric` and `pric + decoupled-dueling`.",
            "The fastest is `pric + decoupled-dueling` with a speed-up of 3.000 (1.000 to 5.196), at 0.600 (0.600 to 0.600) of the energy of the baseline.",
            "3 designs gain 1 % or more; without one certain kernel, 2 of them would not: `pric` and `pric + decoupled-dueling`.",
            "Of 1 combinations, these are faster by 1 % or more than each of their designs alone: `pric + decoupled-dueling`.",
        ] {
            assert!(page.markdown.contains(text), "no {text}: {}", page.markdown);
        }
        assert_eq!(page.charts.len(), 2);
        assert!(page.markdown.contains("Not drawn, at over 10 % more energy than the baseline: `tracker`."));
    }
}
