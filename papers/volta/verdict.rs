//! Rule that classifies how a design's gain changes from the old machine to the new one.

/// Minimum relative gain at which a design pays.
pub(super) const PAYS: f64 = 0.01;
/// Minimum fraction of its gain that a design must keep to survive.
pub(super) const KEPT: f64 = 0.5;

/// Class of a design, by its gains on both machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Pays on both machines, and keeps at least [`KEPT`] of its gain.
    Survives,
    /// Pays on both machines, but keeps less than [`KEPT`] of its gain.
    Shrinks,
    /// Pays on the old machine, but makes no difference on the new one.
    Gone,
    /// Pays on the old machine, but costs performance on the new one.
    Costs,
    /// Pays on the new machine only.
    Comes,
    /// Pays on neither machine.
    Never,
}

impl Verdict {
    /// Classifies a design by its speedups on the old and on the new machine.
    pub fn of(old: f64, new: f64) -> Self {
        let [old, new] = [old - 1.0, new - 1.0];
        match (old >= PAYS, new >= PAYS) {
            (true, true) if new >= KEPT * old => Self::Survives,
            (true, true) => Self::Shrinks,
            (true, false) if new > -PAYS => Self::Gone,
            (true, false) => Self::Costs,
            (false, true) => Self::Comes,
            (false, false) => Self::Never,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Survives => "survives",
            Self::Shrinks => "shrinks",
            Self::Gone => "is gone",
            Self::Costs => "costs now",
            Self::Comes => "pays on volta only",
            Self::Never => "pays on neither",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_design_is_judged_by_what_it_gains_on_both_machines() {
        let names = |new| [1.1, 1.0].map(|old| Verdict::of(old, new).name());
        assert_eq!(names(1.06), ["survives", "pays on volta only"]);
        assert_eq!(names(1.04), ["shrinks", "pays on volta only"]);
        assert_eq!(names(1.005), ["is gone", "pays on neither"]);
        assert_eq!(names(0.98), ["costs now", "pays on neither"]);
    }
}
