//! # Interpolation errors
//! Measures the errors of the memory estimates in two ways. First, each point of the grid computed by CACTI is
//! left out and estimated from its neighbors. Second, memories that CACTI computed between the grid points
//! and outside the grid are estimated from the grid. The errors of the area give the interval of each
//! estimate.

use serde::Deserialize;

use crate::data::{Technology, TechnologyError};
use crate::memory::{Node, Ports};
use crate::sram::{Outside, Point, Sram, UM2, Values};

/// Property of a memory whose estimation error is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Area of the memory.
    Area,
    /// Leakage power of the memory.
    Leakage,
    /// Energy of a read access.
    Read,
    /// Energy of a write access.
    Write,
}

impl Metric {
    /// All metrics, in the order: area, leakage, read energy, write energy.
    pub const ALL: [Self; 4] = [Self::Area, Self::Leakage, Self::Read, Self::Write];

    /// Name of the metric in reports.
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

/// Relative errors of a set of estimates, in ascending order. An error of 10 % is stored as 0.1.
#[derive(Clone, Debug, PartialEq)]
pub struct RelativeErrors(Vec<f64>);

impl RelativeErrors {
    /// Number of estimates whose errors are in this set.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns a quantile of the errors. `part` is between 0 and 1: 0.5 gives the median, and 1 the largest
    /// error.
    #[must_use]
    pub fn quantile(&self, part: f64) -> f64 {
        let rank = (part * self.0.len() as f64).ceil() as usize;
        self.0.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
    }
}

impl FromIterator<f64> for RelativeErrors {
    fn from_iter<I: IntoIterator<Item = f64>>(errors: I) -> Self {
        let mut errors: Vec<_> = errors.into_iter().collect();
        errors.sort_by(f64::total_cmp);
        Self(errors)
    }
}

/// Relative errors of the area that 95 % of the compared structures do not exceed, by method of estimate. A test
/// measures all but that of cells.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AreaErrors {
    /// Error of flip-flops and logic, which are estimated by their cells.
    pub cells: f64,
    pub cells_source: String,
    /// Error of memories inside the grid.
    pub grid: f64,
    /// Error of memories with more than two ports.
    pub ports: f64,
    /// Error of memories with more words than those of the grid, or fewer.
    pub size: f64,
    /// Error of CAMs.
    pub cam: f64,
}

impl AreaErrors {
    /// Returns the error of a memory that lies outside the grid in the given respects. Errors in several
    /// respects multiply.
    pub(crate) fn of_ram(&self, outside: Outside) -> f64 {
        match outside {
            Outside { ports: false, size: false } => self.grid,
            Outside { ports: true, size: false } => self.ports,
            Outside { ports: false, size: true } => self.size,
            Outside { ports: true, size: true } => (1.0 + self.ports) * (1.0 + self.size) - 1.0,
        }
    }
}

impl Technology {
    /// Returns the errors of estimates for memories that lie outside the grid in exactly the given respects.
    /// CACTI computed these memories for this comparison.
    ///
    /// # Errors
    /// Returns an error if the built-in file of these memories is damaged.
    pub fn errors_beyond(&self, metric: Metric, respects: Outside) -> Result<RelativeErrors, TechnologyError> {
        let points = Sram::beyond()?;
        let errors = points.iter().map(|point| self.error_at(metric, point));
        Ok(errors.filter(|(_, outside)| *outside == respects).map(|(error, _)| error).collect())
    }

    /// Returns the leave-one-out errors of the grid. Each grid point is estimated as the mean of its two
    /// neighbors along the number of words and its two neighbors along the word width. A pair of neighbors is
    /// used only if the grid has both of them. Corners of the grid have neither pair and are skipped.
    #[must_use]
    pub fn leave_one_out_errors(&self, metric: Metric, node: Option<Node>) -> RelativeErrors {
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

    /// Returns the estimation errors at memories between the grid points. CACTI computed these memories for
    /// this comparison.
    #[must_use]
    pub fn off_grid_errors(&self, metric: Metric) -> RelativeErrors {
        self.sram.between.iter().map(|point| self.error_at(metric, point).0).collect()
    }

    /// Returns the error of the estimate at a memory that CACTI computed, and the respects in which that memory
    /// lies outside the grid.
    fn error_at(&self, metric: Metric, Point { place, values }: &Point) -> (f64, Outside) {
        let (ln, outside) = self.sram.ln(place);
        ((ln[metric as usize].exp() / values[metric as usize] - 1.0).abs(), outside)
    }

    /// Returns the errors of the closed-form estimates for the CAMs to which the coefficients were fitted.
    /// The read energy of a CAM is the energy of a search.
    #[must_use]
    pub fn cams(&self, metric: Metric) -> RelativeErrors {
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
