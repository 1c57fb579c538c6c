//! # How far interpolation is off
//! Every point of CACTI's grid is left out in turn and estimated from the points beside it, and those
//! between the points of the grid are estimated from it.

use crate::data::Technology;
use crate::memory::{Node, Ports};
use crate::sram::{Place, UM2, Values};

/// A figure of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Area.
    Area,
    /// Leakage.
    Leakage,
    /// Energy of a read.
    Read,
    /// Energy of a write.
    Write,
}

impl Metric {
    /// Every metric.
    pub const ALL: [Self; 4] = [Self::Area, Self::Leakage, Self::Read, Self::Write];

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Area => "area",
            Self::Leakage => "leakage",
            Self::Read => "read energy",
            Self::Write => "write energy",
        }
    }
}

/// Relative errors of some estimates, as parts of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Errors(Vec<f64>);

impl Errors {
    /// How many estimates.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The error that a part of the estimates does not exceed: 0.5 for the median, 1 for the worst.
    #[must_use]
    pub fn quantile(&self, part: f64) -> f64 {
        let rank = (part * self.0.len() as f64).ceil() as usize;
        self.0.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
    }
}

impl FromIterator<f64> for Errors {
    fn from_iter<I: IntoIterator<Item = f64>>(errors: I) -> Self {
        let mut errors: Vec<_> = errors.into_iter().collect();
        errors.sort_by(f64::total_cmp);
        Self(errors)
    }
}

impl Technology {
    /// Points of the grid estimated from their neighbours: the mean along words, along width, or of both
    /// where a point has neighbours on both sides in both. Corners have none and are not counted.
    #[must_use]
    pub fn left_out(&self, metric: Metric, node: Option<Node>) -> Errors {
        let tables = self.sram.tables.iter().filter(|table| node.is_none_or(|node| table.node == node));
        let errors = tables.flat_map(|table| {
            table.corrections.iter().filter_map(move |(&(words, width), at)| {
                let value =
                    |words, width| table.corrections.get(&(words, width)).map(|at: &Values| at[metric as usize]);
                let along_words = (|| Some(value(words.checked_sub(1)?, width)? + value(words + 1, width)?))();
                let along_width = (|| Some(value(words, width.checked_sub(1)?)? + value(words, width + 1)?))();
                let sums: Vec<_> = [along_words, along_width].into_iter().flatten().collect();
                let mean = sums.iter().sum::<f64>() / (2 * sums.len()) as f64;
                (!sums.is_empty()).then(|| ((mean - at[metric as usize]).exp() - 1.0).abs())
            })
        });
        errors.collect()
    }

    /// Memories between the points of the grid, which CACTI computed for this comparison.
    #[must_use]
    pub fn between(&self, metric: Metric) -> Errors {
        let error = |(place, values): (&Place, &Values)| {
            let (ln, _) = self.sram.ln(place);
            (ln[metric as usize].exp() / values[metric as usize] - 1.0).abs()
        };
        self.sram.between.iter().map(|point| error((&point.place, &point.values))).collect()
    }

    /// CAMs that CACTI computed, by the forms fitted to them; read energy is that of a search.
    #[must_use]
    pub fn cams(&self, metric: Metric) -> Errors {
        let mut errors = Vec::new();
        for table in &self.cam.table {
            for [entries, bits, searches, mm2, mw, search, write] in &table.points {
                let ports = Ports { shared: 0, reads: *searches as u32, writes: 1 };
                let cost = self.cam.cost(table.node, *entries as u32, *bits as u32, ports);
                let (estimate, value) = match metric {
                    Metric::Area => (Some(cost.um2), mm2 * UM2),
                    Metric::Leakage => (Some(cost.leakage_mw), *mw),
                    Metric::Read => (cost.read_pj, *search),
                    Metric::Write => (cost.write_pj, *write),
                };
                errors.extend(estimate.map(|estimate| (estimate / value - 1.0).abs()));
            }
        }
        errors.into_iter().collect()
    }
}
