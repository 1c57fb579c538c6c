//! Tables of area: how good the estimates are, and what every scheme costs.

mod errors;
mod schemes;
mod synthesis;

use crate::Figure;

/// What there is, and what draws it.
pub(super) const FIGURES: &[Figure] = &[
    Figure {
        name: "area/errors",
        shows: "How far estimates are from memories that CACTI computed",
        draw: |_| errors::errors(),
    },
    Figure {
        name: "area/schemes",
        shows: "What each scheme adds to the machine, and the counts that papers give of theirs",
        draw: |_| schemes::schemes(),
    },
    Figure {
        name: "area/synthesis",
        shows: "Parts mapped to gates, beside what is estimated of them",
        draw: |_| synthesis::synthesis(),
    },
];
