//! Rule that classifies how the gain of a design changes from an old machine to a new one.

/// Minimum relative gain at which a design is regarded as faster than the baseline.
pub(super) const PAYS: f64 = 0.01;
/// Minimum fraction of a design's gain on the old machine that must remain on the new machine for the class
/// [`Verdict::Survives`].
pub(super) const KEPT: f64 = 0.5;

/// Class of a design by its gains on the old and on the new machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Faster than the baseline on both machines; the gain on the new machine is at least [`KEPT`] times the
    /// gain on the old machine.
    Survives,
    /// Faster than the baseline on both machines; the gain on the new machine is less than [`KEPT`] times the
    /// gain on the old machine.
    Shrinks,
    /// Faster than the baseline on the old machine, but equally fast on the new machine.
    Gone,
    /// Faster than the baseline on the old machine, but slower on the new machine.
    Costs,
    /// Faster than the baseline only on the new machine.
    Comes,
    /// Faster than the baseline on neither machine.
    Never,
}

impl Verdict {
    /// Classifies a design by its speedup on the old machine and its speedup on the new machine.
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
