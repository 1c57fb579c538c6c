//! What becomes of a design from one machine to the other, by rule.

/// From this gain on a design pays.
pub(super) const PAYS: f64 = 0.01;
/// It survives with this part of its gain.
pub(super) const KEPT: f64 = 0.5;

/// What becomes of a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It pays on both, and keeps its gain.
    Survives,
    /// It pays on both, and loses most of its gain.
    Shrinks,
    /// It pays on the old machine, and makes no difference on the new one.
    Gone,
    /// It pays on the old machine, and costs on the new one.
    Costs,
    /// It pays on the new machine only.
    Comes,
    /// It pays on neither.
    Never,
}

impl Verdict {
    /// From the speed-ups on the old and on the new machine.
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
            Self::Comes => "pays here only",
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
        assert_eq!(names(1.06), ["survives", "pays here only"]);
        assert_eq!(names(1.04), ["shrinks", "pays here only"]);
        assert_eq!(names(1.005), ["is gone", "pays on neither"]);
        assert_eq!(names(0.98), ["costs now", "pays on neither"]);
    }
}
