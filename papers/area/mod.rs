//! Results pages about area: accuracy of the area estimates, and area of every scheme.

mod errors;
mod schemes;
mod synthesis;

use crate::Figure;

/// List of the figures about area.
pub(super) const FIGURES: &[Figure] = &[
    Figure {
        name: "area/errors",
        description: "Errors of the area estimates, compared with memories that CACTI computed",
        draw: |_| errors::errors(),
    },
    Figure {
        name: "area/schemes",
        description: "Structures that each scheme adds to the machine, and the counts that the papers give",
        draw: |_| schemes::schemes(),
    },
    Figure {
        name: "area/synthesis",
        description: "Components mapped to gates, compared with their estimates",
        draw: |_| synthesis::synthesis(),
    },
];
