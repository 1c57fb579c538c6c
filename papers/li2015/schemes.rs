//! Schemes of li2015 Figures 8 to 10: the paper's own scheme, and the schemes with which it is compared. For
//! Profiled-BYPASS, the profile threshold is the one that is best on average. For PDP, the protecting
//! distance is the one that is best for each application.

use std::collections::BTreeMap;

use super::{App, KERNELS, Kind, apps, mean_of, measure, relative_sheet};
use crate::runs::RunResult;
use crate::table::Table;
use crate::{FigureError, Session, index_of};
use rtl::l1::stats::L1Stats;
use warpsieve::run::ratio;

/// Protecting distances of PDP that the search for the best one tries first.
const DISTANCES: [u32; 12] = [4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 255];
/// Maximum protecting distance: the largest value of the counter of a line.
const MAX_DISTANCE: u32 = 255;
/// Profile thresholds that are tried for Profiled-BYPASS.
pub(super) const THRESHOLDS: [u32; 7] = [1, 2, 3, 4, 6, 8, 16];

/// Text that explains why SM dueling gains less than the better of its two designs.
pub(super) const COLD: &str = "dueling decides once per launch, in the first interval in which both leaders have \
    enough loads, and compares two cold L1s";

/// Setting for the second interpretation of "reference count", in which the first request for a line is
/// counted, too. With a threshold of 2, a line is then inserted at its second request.
pub(super) const FIRST_COUNTS: &str = "l1.decoupled.rc_init=1";

/// Scheme that decides which loads bypass the L1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Plain,
    Ball,
    Profiled,
    Mrpb,
    Pdp,
    Decoupled,
    Second,
    Dueling,
}

impl Scheme {
    pub(super) const ALL: [Self; 8] =
        [Self::Plain, Self::Ball, Self::Profiled, Self::Mrpb, Self::Pdp, Self::Decoupled, Self::Second, Self::Dueling];

    /// Returns the name of the scheme in the paper's figures.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plain => "BL",
            Self::Ball => "BALL",
            Self::Profiled => "Profiled",
            Self::Mrpb => "MRPB",
            Self::Pdp => "PDP-best",
            Self::Decoupled => "Decoupled",
            Self::Second => "second request",
            Self::Dueling => "dueling",
        }
    }
}

/// Results of the applications with each scheme.
pub(super) struct Schemes {
    pub(super) apps: Vec<&'static App>,
    /// Runs of each application with each scheme, in the order of [`Scheme::ALL`].
    runs: Vec<Vec<RunResult>>,
    threshold: u32,
    /// Best protecting distance of PDP for each application.
    pub(super) distances: Vec<u32>,
    /// For each application, its runs with PDP, indexed by protecting distance.
    tried: Vec<BTreeMap<u32, RunResult>>,
    /// Quality of the search for the best distance: IPC at the distance that the search finds, divided by the
    /// IPC at the best of all distances. The value is the minimum over all applications at their small
    /// problem sizes.
    found: f64,
}

impl Schemes {
    pub(super) fn measure(session: &Session, kinds: &[Kind]) -> Result<Self, FigureError> {
        let apps = apps(kinds);
        let machines = [
            (vec![], vec![]),
            (vec!["bypass-all"], vec![]),
            (vec!["mrpb-all"], vec![]),
            (vec!["decoupled"], vec![]),
            (vec!["decoupled"], vec![FIRST_COUNTS]),
            (vec!["decoupled-dueling"], vec![]),
        ];
        let fixed = measure(session, &apps, &machines)?;
        let threshold = best_threshold(session)?;
        let set = format!("l1.bypass.threshold={threshold}");
        let profiled = measure(session, &apps, &[(vec!["profiled"], vec![set.as_str()])])?;
        let tried = search(session, &apps)?;
        let distances: Vec<_> = tried.iter().map(|tried| best_distance(&ipcs(tried))).collect();
        let runs = fixed.into_iter().zip(profiled).zip(&tried).zip(&distances);
        let runs = runs.map(|(((fixed, profiled), tried), distance)| {
            let [plain, ball, mrpb, decoupled, second, dueling] = [0, 1, 2, 3, 4, 5].map(|at| fixed[at].clone());
            vec![plain, ball, profiled[0].clone(), mrpb, tried[distance].clone(), decoupled, second, dueling]
        });
        Ok(Self { runs: runs.collect(), found: share_found(session, &apps)?, apps, threshold, distances, tried })
    }

    /// Returns a metric of each application when it runs with the given scheme.
    pub(super) fn values(&self, scheme: Scheme, of: impl Fn(&RunResult) -> f64) -> Vec<f64> {
        self.runs.iter().map(|runs| of(&runs[scheme as usize])).collect()
    }

    /// Returns the IPC of each application with the given scheme, relative to the baseline.
    pub(super) fn relative(&self, scheme: Scheme) -> Vec<f64> {
        let plain = self.values(Scheme::Plain, ipc);
        self.values(scheme, ipc).into_iter().zip(plain).map(|(ipc, plain)| ipc / plain).collect()
    }

    /// Returns the value of the application `app`. `values` has one value per application.
    pub(super) fn of(&self, app: &str, values: &[f64]) -> f64 {
        values[index_of(&self.apps, app)]
    }

    /// Creates the table of the IPC of each application with each scheme, relative to the baseline.
    pub(super) fn table(&self, kind: Kind) -> Table {
        let columns = Scheme::ALL[1..].iter().map(|scheme| (scheme.name(), self.relative(*scheme)));
        relative_sheet(kind, &self.apps, columns)
    }

    /// Returns the lowest IPC with PDP relative to the baseline, and the application and protecting distance
    /// for which it occurs. `choose` selects one of the tried distances for each application.
    pub(super) fn worst_protected(
        &self,
        choose: impl Fn(&BTreeMap<u32, RunResult>) -> u32,
    ) -> Option<(f64, &'static str, u32)> {
        let plain = self.values(Scheme::Plain, ipc);
        let one = |((app, tried), plain): ((&&'static App, &BTreeMap<u32, RunResult>), f64)| {
            let distance = choose(tried);
            tried.get(&distance).map(|run| (ipc(run) / plain, app.name, distance))
        };
        let all = self.apps.iter().zip(&self.tried).zip(plain).filter_map(one);
        all.min_by(|this, other| this.0.total_cmp(&other.0))
    }

    /// Returns the text about the schemes for the results page.
    pub(super) fn text(&self) -> String {
        let tried: Vec<_> = self.apps.iter().zip(&self.distances).map(|(app, d)| format!("{} {d}", app.name)).collect();
        format!(
            "*BL*: the plain L1 of `fermi` with `li2015-clocks`. *BALL*: `bypass-all`. *MRPB*: `mrpb-all`.\n\
             *Profiled*: `profiled` with a threshold of {}. Of {THRESHOLDS:?}, this threshold gives the highest\n\
             geometric mean over the unfriendly applications. *PDP-best*: `pdp` with the best distance for each\n\
             application. The search tries {DISTANCES:?}, then bisects between the best distance and its neighbors.\n\
             It finds {}. At the small sizes, where all distances from 1 to {MAX_DISTANCE} were tried, this search\n\
             reaches at least {:.1} % of the best IPC of each application. *Decoupled*: `decoupled` with a threshold\n\
             of 2 in every SM. A line is inserted at its third request, which is the second one that finds its tag.\n\
             *Second request*: the same design, but the first request counts too (`{FIRST_COUNTS}`). *Dueling*:\n\
             `decoupled-dueling`.\n\
             {KERNELS}",
            self.threshold,
            tried.join(", "),
            100.0 * self.found,
        )
    }
}

/// Returns the sum of a counter over all L1s.
pub(super) fn of_l1s(run: &RunResult, count: fn(&L1Stats) -> u64) -> u64 {
    run.counters.l1.iter().map(count).sum()
}

/// Returns the L1 hits of loads and stores, in percent of all loads and stores. As in Figure 5, loads that
/// bypass the L1 are included in all loads.
pub(super) fn all_hits(run: &RunResult) -> f64 {
    let all = of_l1s(run, |unit| unit.accesses + unit.store_hits + unit.store_misses);
    100.0 * ratio(of_l1s(run, |unit| unit.hits + unit.store_hits), all)
}

/// Returns the L1 hits of loads in percent of all loads, which include the loads that bypass the L1.
pub(super) fn hits(run: &RunResult) -> f64 {
    100.0 * ratio(of_l1s(run, |unit| unit.hits), of_l1s(run, |unit| unit.accesses))
}

/// Returns the L1 hits of loads, including hits on lines in flight, in percent of the loads that do not
/// bypass the L1.
pub(super) fn hits_through(run: &RunResult) -> f64 {
    let through = of_l1s(run, |unit| unit.accesses - unit.bypasses);
    100.0 * ratio(of_l1s(run, |unit| unit.hits + unit.hit_pending), through)
}

pub(super) fn ipc(run: &RunResult) -> f64 {
    run.counters.ipc()
}

/// Runs each application with PDP at each protecting distance that is given for it.
fn measure_protected(
    session: &Session,
    apps: &[&App],
    wanted: &[Vec<u32>],
) -> Result<Vec<BTreeMap<u32, RunResult>>, FigureError> {
    let point =
        |app: &App, distance: &u32| app.point(session, &["pdp"], &[format!("l1.bypass.distance={distance}").as_str()]);
    let asked = || apps.iter().zip(wanted);
    let points: Vec<_> = asked().flat_map(|(app, wanted)| wanted.iter().map(|distance| point(app, distance))).collect();
    let mut done = session.runner.run_clocked(&points)?.into_iter();
    Ok(asked().map(|(_, wanted)| wanted.iter().copied().zip(&mut done).collect()).collect())
}

/// Runs each application with PDP at all protecting distances that the search for the best one tries.
fn search(session: &Session, apps: &[&App]) -> Result<Vec<BTreeMap<u32, RunResult>>, FigureError> {
    let mut tried = vec![BTreeMap::new(); apps.len()];
    let mut wanted = vec![DISTANCES.to_vec(); apps.len()];
    while wanted.iter().any(|wanted| !wanted.is_empty()) {
        for (tried, more) in tried.iter_mut().zip(measure_protected(session, apps, &wanted)?) {
            tried.extend(more);
        }
        wanted = tried.iter().map(|tried| halfway(&ipcs(tried))).collect();
    }
    Ok(tried)
}

/// Returns how close the search comes to the best possible IPC, as a fraction of it: the minimum over all
/// applications at their small problem sizes.
fn share_found(session: &Session, apps: &[&App]) -> Result<f64, FigureError> {
    let small: Vec<_> = apps.iter().map(|app| App { size: "small", ..**app }).collect();
    let small: Vec<_> = small.iter().collect();
    let all = measure_protected(session, &small, &vec![(1..=MAX_DISTANCE).collect(); small.len()])?;
    let best = |tried: &BTreeMap<u32, RunResult>| tried.values().map(ipc).fold(0.0, f64::max);
    let shares =
        search(session, &small)?.iter().zip(&all).map(|(found, all)| best(found) / best(all)).collect::<Vec<_>>();
    Ok(shares.into_iter().fold(1.0, f64::min))
}

fn ipcs(tried: &BTreeMap<u32, RunResult>) -> BTreeMap<u32, f64> {
    tried.iter().map(|(distance, run)| (*distance, ipc(run))).collect()
}

/// Returns the protecting distance with the highest value (an IPC or a hit rate) in `tried`. If several
/// distances have the highest value, returns the shortest of them.
fn best_distance(tried: &BTreeMap<u32, f64>) -> u32 {
    let at = fastest(tried.values().copied());
    tried.keys().nth(at).copied().unwrap_or(MAX_DISTANCE)
}

/// Returns the protecting distance with the highest hit rate. If several distances have the highest hit rate,
/// returns the shortest of them.
pub(super) fn most_hits(tried: &BTreeMap<u32, RunResult>) -> u32 {
    best_distance(&tried.iter().map(|(distance, run)| (*distance, hits(run))).collect())
}

/// Returns the distance in [`DISTANCES`] with the highest mean IPC over the L1-unfriendly applications.
pub(super) fn common_distance(session: &Session) -> Result<u32, FigureError> {
    let apps = apps(&[Kind::Unfriendly]);
    let done = measure_protected(session, &apps, &vec![DISTANCES.to_vec(); apps.len()])?;
    let mean = |distance: &u32| {
        let ipcs: Vec<_> = done.iter().map(|tried| ipc(&tried[distance])).collect();
        mean_of(Kind::Unfriendly, &apps, &ipcs)
    };
    Ok(DISTANCES[fastest(DISTANCES.iter().map(mean))])
}

/// Returns the protecting distances to try next: halfway between the best tried distance and the next lower
/// and next higher tried distances. Distances that have been tried already are left out.
fn halfway(tried: &BTreeMap<u32, f64>) -> Vec<u32> {
    let best = best_distance(tried);
    let below = tried.range(..best).next_back().map_or(0, |(distance, _)| *distance);
    let above = tried.range(best + 1..).next().map_or(MAX_DISTANCE + 1, |(distance, _)| *distance);
    [below.midpoint(best), best.midpoint(above)]
        .into_iter()
        .filter(|next| *next > 0 && !tried.contains_key(next))
        .collect()
}

/// Returns the index of the highest value. If several values are the highest, returns the index of the first.
fn fastest(ipcs: impl Iterator<Item = f64>) -> usize {
    let better = |best: (usize, f64), next: (usize, f64)| if next.1 > best.1 { next } else { best };
    ipcs.enumerate().reduce(better).map_or(0, |(at, _)| at)
}

/// Returns the profile threshold with the highest mean IPC over the L1-unfriendly applications.
fn best_threshold(session: &Session) -> Result<u32, FigureError> {
    let apps = apps(&[Kind::Unfriendly]);
    let sets = THRESHOLDS.map(|threshold| format!("l1.bypass.threshold={threshold}"));
    let machines: Vec<_> = sets.iter().map(|set| (vec!["profiled"], vec![set.as_str()])).collect();
    let done = measure(session, &apps, &machines)?;
    let mean = |at: usize| {
        let ipcs: Vec<_> = done.iter().map(|runs| ipc(&runs[at])).collect();
        mean_of(Kind::Unfriendly, &apps, &ipcs)
    };
    Ok(THRESHOLDS[fastest((0..THRESHOLDS.len()).map(mean))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equals_the_first_is_the_fastest() {
        assert_eq!(fastest([1.0, 3.0, 3.0, 2.0].into_iter()), 1);
    }

    /// Searches for the best protecting distance. Returns the distance that the search finds, and the number
    /// of distances that it tries. `ipc` returns the IPC with a given distance.
    fn search(ipc: impl Fn(u32) -> f64) -> (u32, usize) {
        let mut tried = BTreeMap::new();
        let mut wanted = DISTANCES.to_vec();
        while !wanted.is_empty() {
            tried.extend(wanted.into_iter().map(|distance| (distance, ipc(distance))));
            wanted = halfway(&tried);
        }
        (best_distance(&tried), tried.len())
    }

    #[test]
    fn a_single_peak_is_found_wherever_it_is() {
        for peak in 1..=MAX_DISTANCE {
            let (found, tried) = search(|distance| -f64::from(distance.abs_diff(peak)));
            assert!(found == peak && tried <= 28, "{peak}: {found} after {tried}");
        }
    }

    #[test]
    fn where_no_distance_matters_the_shortest_is_taken() {
        assert_eq!(search(|_| 1.0).0, 1);
    }

    #[test]
    fn the_schemes_are_numbered_in_their_order() {
        assert!(Scheme::ALL.iter().enumerate().all(|(at, scheme)| *scheme as usize == at));
    }
}
