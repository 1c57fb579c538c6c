//! Area tables: accuracy of the estimates, and cost of every scheme.

mod errors;
mod schemes;
mod synthesis;

use crate::Figure;

/// Figures about area.
pub(super) const FIGURES: &[Figure] = &[
    Figure {
        name: "area/errors",
        description: "How far estimates are from memories that CACTI computed",
        draw: |_| errors::errors(),
    },
    Figure {
        name: "area/schemes",
        description: "What each scheme adds to the machine, and the counts that papers give of theirs",
        draw: |_| schemes::schemes(),
    },
    Figure {
        name: "area/synthesis",
        description: "Parts mapped to gates, beside what is estimated of them",
        draw: |_| synthesis::synthesis(),
    },
];
