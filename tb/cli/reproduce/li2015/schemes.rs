//! The schemes of figures 8 to 10: the paper's own, and those that it compares it with. Profiled-BYPASS has
//! the threshold that is best on average, PDP the distance that is best for each application.

use super::super::Desk;
use super::{App, KERNELS, Kind, apps, mean_of, measured};
use crate::reproduce::Halt;
use crate::reproduce::runs::Clocked;

/// Protecting distances tried.
const DISTANCES: [u32; 12] = [4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 255];
/// Thresholds of the profile tried.
const THRESHOLDS: [u32; 7] = [1, 2, 3, 4, 6, 8, 16];

/// What decides which loads go past the L1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Plain,
    Ball,
    Profiled,
    Mrpb,
    Pdp,
    Decoupled,
    Dueling,
}

impl Scheme {
    pub(super) const ALL: [Self; 7] =
        [Self::Plain, Self::Ball, Self::Profiled, Self::Mrpb, Self::Pdp, Self::Decoupled, Self::Dueling];

    /// As the paper's figures call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plain => "BL",
            Self::Ball => "BALL",
            Self::Profiled => "Profiled",
            Self::Mrpb => "MRPB",
            Self::Pdp => "PDP-best",
            Self::Decoupled => "Decoupled",
            Self::Dueling => "dueling",
        }
    }
}

/// What applications count under each scheme.
pub(super) struct Schemes {
    pub(super) apps: Vec<&'static App>,
    /// By application, then in the order of [`Scheme::ALL`].
    runs: Vec<Vec<Clocked>>,
    threshold: u32,
    /// The best for each application.
    pub(super) distances: Vec<u32>,
}

impl Schemes {
    pub(super) fn measure(desk: &Desk, kinds: &[Kind]) -> Result<Self, Halt> {
        let apps = apps(kinds);
        let designs = ["bypass-all", "mrpb-all", "decoupled", "decoupled-dueling"];
        let mut machines = vec![(vec![], vec![])];
        machines.extend(designs.map(|design| (vec![design], vec![])));
        let fixed = measured(desk, &apps, &machines)?;
        let threshold = best_threshold(desk)?;
        let set = format!("l1.profiled.threshold={threshold}");
        let profiled = measured(desk, &apps, &[(vec!["profiled"], vec![set.as_str()])])?;
        let sets = DISTANCES.map(|distance| format!("l1.protecting_distance={distance}"));
        let machines: Vec<_> = sets.iter().map(|set| (vec!["pdp"], vec![set.as_str()])).collect();
        let protected = measured(desk, &apps, &machines)?;
        let best: Vec<_> = protected.iter().map(|runs| fastest(runs.iter().map(ipc))).collect();
        let runs = fixed.into_iter().zip(profiled).zip(protected).zip(&best).map(|(((fixed, profiled), pdp), best)| {
            let [plain, ball, mrpb, decoupled, dueling] = [0, 1, 2, 3, 4].map(|at| fixed[at].clone());
            vec![plain, ball, profiled[0].clone(), mrpb, pdp[*best].clone(), decoupled, dueling]
        });
        let distances = best.iter().map(|at| DISTANCES[*at]).collect();
        Ok(Self { runs: runs.collect(), apps, threshold, distances })
    }

    /// A number of each application under a scheme.
    pub(super) fn values(&self, scheme: Scheme, of: impl Fn(&Clocked) -> f64) -> Vec<f64> {
        self.runs.iter().map(|runs| of(&runs[scheme as usize])).collect()
    }

    /// IPC of each application under a scheme, in parts of the baseline's.
    pub(super) fn relative(&self, scheme: Scheme) -> Vec<f64> {
        let plain = self.values(Scheme::Plain, ipc);
        self.values(scheme, ipc).into_iter().zip(plain).map(|(ipc, plain)| ipc / plain).collect()
    }

    /// A number of one application.
    pub(super) fn of(&self, app: &str, values: &[f64]) -> f64 {
        self.apps.iter().position(|known| known.name == app).map_or(f64::NAN, |at| values[at])
    }

    /// What the schemes are here.
    pub(super) fn text(&self) -> String {
        let tried: Vec<_> = self.apps.iter().zip(&self.distances).map(|(app, d)| format!("{} {d}", app.name)).collect();
        format!(
            "*BL*: the plain L1 of `fermi` with `li2015-clocks`. *BALL*: `bypass-all`. *MRPB*: `mrpb-all`. *Profiled*: `profiled` with a threshold\n\
             of {}, which is best of {THRESHOLDS:?} on the geometric mean of the unfriendly. *PDP-best*: `pdp` with the distance of\n\
             {DISTANCES:?} that is best for the application: {}.\n\
             *Decoupled*: `decoupled`, a threshold of 2 in every SM. *Dueling*: `decoupled-dueling`. {KERNELS}",
            self.threshold,
            tried.join(", "),
        )
    }
}

pub(super) fn ipc(run: &Clocked) -> f64 {
    run.counters.ipc()
}

/// The first of the highest.
fn fastest(ipcs: impl Iterator<Item = f64>) -> usize {
    let better = |best: (usize, f64), next: (usize, f64)| if next.1 > best.1 { next } else { best };
    ipcs.enumerate().reduce(better).map_or(0, |(at, _)| at)
}

/// The threshold of the profile with the best mean over the unfriendly applications.
fn best_threshold(desk: &Desk) -> Result<u32, Halt> {
    let apps = apps(&[Kind::Unfriendly]);
    let sets = THRESHOLDS.map(|threshold| format!("l1.profiled.threshold={threshold}"));
    let machines: Vec<_> = sets.iter().map(|set| (vec!["profiled"], vec![set.as_str()])).collect();
    let done = measured(desk, &apps, &machines)?;
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

    #[test]
    fn the_schemes_are_numbered_in_their_order() {
        assert!(Scheme::ALL.iter().enumerate().all(|(at, scheme)| *scheme as usize == at));
    }
}
