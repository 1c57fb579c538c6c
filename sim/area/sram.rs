//! # Static RAM
//! Estimates the cost of static RAM as a closed form times a correction factor. The factor is the ratio of
//! CACTI's figure to the value of the closed form. It is interpolated between the nearest points of CACTI's
//! grid; the axes of the grid are the logarithms of the number of words and of the word width. At a grid
//! point, the estimate equals CACTI's figure. Outside the grid, the factor at the edge of the grid applies,
//! so that the estimate is continuous, and the result is marked as a closed form. If a word is wider than the
//! greatest width in the grid, it is split into slices of that width.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::data::{ByNode, TechnologyError};
use crate::memory::{Basis, Cost, Node, Ports};

/// Number of bits in a byte.
pub(crate) const BYTE: f64 = 8.0;
pub(crate) const UM2: f64 = 1e6;

/// Area in um2, leakage in mW, read energy in pJ and write energy in pJ of a memory.
pub(crate) type Values = [f64; 4];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GridData {
    pub tool: String,
    pub setting: String,
    pub source: String,
    table: Vec<TableData>,
    between: Vec<TableData>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableData {
    node: Node,
    ports: Ports,
    points: Vec<[f64; 6]>,
}

/// Memories outside the grid that CACTI computed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BeyondData {
    beyond: Vec<TableData>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClosedForms {
    /// Origin of the coordinates in the logarithmic closed forms: log2 of the number of bits, and log2 of the
    /// bits per word.
    origin: [f64; 2],
    pub area: AreaForm,
    pub leakage_mw: LogForm,
    pub read_pj: LogForm,
    pub write_pj: LogForm,
}

/// Coefficients of the closed form for the area of a memory. The first number of each pair is the coefficient
/// for one port; the second is the increase for the second port. A bit cell grows in both directions with its
/// ports, so each further port adds more than the port before it, by the part `growth` of what the second adds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AreaForm {
    pub source: String,
    n: [f64; 2],
    s: [f64; 2],
    w: [f64; 2],
    ws: [f64; 2],
    ww: [f64; 2],
    growth: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogForm {
    pub source: String,
    node: ByNode<f64>,
    shape: [f64; 5],
    p: [f64; 3],
    q: [f64; 3],
}

/// Position of a memory in the CACTI grid. The coordinates are log2 of the number of words and log2 of the
/// bits per word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TablePoint {
    pub node: Node,
    pub words: f64,
    pub width: f64,
    pub ports: Ports,
}

impl TablePoint {
    /// Returns the two terms of the closed forms that depend on the ports: the number of ports minus one; and
    /// 1.0 if the memory has exactly two read-write ports, otherwise 0.0.
    fn ports(&self) -> (f64, f64) {
        let beyond = f64::from(self.ports.count().saturating_sub(1));
        (beyond, if self.ports == Ports::TWO_SHARED { 1.0 } else { 0.0 })
    }
}

impl AreaForm {
    fn ln(&self, place: &TablePoint) -> f64 {
        let (p, _) = place.ports();
        let (bits, width) = ((place.words + place.width).exp2(), place.width.exp2());
        let beyond = p + self.growth * p * (p - 1.0) / 2.0;
        let of = |[first, further]: [f64; 2]| first + further * beyond;
        let root = bits.sqrt();
        let sum = bits * of(self.n)
            + root * of(self.s)
            + width * of(self.w)
            + width * root * of(self.ws)
            + width * width * of(self.ww);
        (place.node.um().powi(2) * sum).ln()
    }
}

impl LogForm {
    fn ln(&self, [bits, width]: [f64; 2], place: &TablePoint) -> f64 {
        let (p, q) = place.ports();
        let (a, b) = (place.words + place.width - bits, place.width - width);
        let Self { source: _, node, shape: [a1, b1, g, d, e], p: [p0, p1, p2], q: [q0, q1, q2] } = self;
        node.at(place.node)
            + a1 * a
            + b1 * b
            + g * a * a
            + d * a * b
            + e * b * b
            + by_ports(p0 + p1 * a + p2 * b, p)
            + q * (q0 + q1 * a + q2 * b)
    }
}

/// Returns the natural logarithm of the factor by which additional ports increase a cost. `beyond` is the
/// number of ports minus one, and `second` is the natural logarithm of the factor for two ports. The closed
/// form was fitted only to memories with one or two ports. Each further port is assumed to add the same
/// absolute cost as the second port, which `beyond.toml` confirms for leakage and energies.
fn by_ports(second: f64, beyond: f64) -> f64 {
    let added = (1.0 - (-second).exp()).max(0.0);
    if beyond <= 1.0 { second * beyond } else { second + ((beyond - 1.0) * added).ln_1p() }
}

impl ClosedForms {
    /// Returns the natural logarithms of area, leakage, read energy and write energy.
    pub(crate) fn ln(&self, place: &TablePoint) -> Values {
        let Self { origin, area, leakage_mw, read_pj, write_pj } = self;
        [area.ln(place), leakage_mw.ln(*origin, place), read_pj.ln(*origin, place), write_pj.ln(*origin, place)]
    }
}

/// Figures that CACTI computed for one technology node and one combination of ports.
#[derive(Debug)]
pub(crate) struct Table {
    pub node: Node,
    pub ports: Ports,
    /// Natural logarithms of the ratios between CACTI's figures and the values of the closed forms. The key
    /// is a pair: log2 of the number of words, and log2 of the bits per word.
    pub corrections: BTreeMap<(u32, u32), Values>,
}

/// Respects in which a memory lies outside the grid that CACTI computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outside {
    /// True if the memory has more than two ports.
    pub ports: bool,
    /// True if the memory has more or fewer words than the memories of the grid with words of this width.
    pub size: bool,
}

impl Outside {
    /// Each respect alone, with its name in reports.
    pub const ALONE: [(&str, Self); 2] = [
        ("more than two ports", Self { ports: true, size: false }),
        ("other numbers of words", Self { ports: false, size: true }),
    ];
}

/// Memory that is not a grid point, with the figures that CACTI computed for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub place: TablePoint,
    pub values: Values,
}

#[derive(Debug)]
pub(crate) struct Sram {
    pub closed: ClosedForms,
    pub tables: Vec<Table>,
    pub between: Vec<Point>,
    /// Smallest and largest log2 of the number of words in all tables. The next field, `width`, has the
    /// smallest and largest log2 of the bits per word.
    words: (u32, u32),
    width: (u32, u32),
}

impl Sram {
    pub(crate) fn new(grid: GridData, closed: ClosedForms) -> Result<Self, TechnologyError> {
        let mut tables = Vec::new();
        for data in &grid.table {
            let mut corrections = BTreeMap::new();
            for Point { place, values } in points(data, "grid.table")? {
                let form = closed.ln(&place);
                let ratio = std::array::from_fn(|metric| values[metric].ln() - form[metric]);
                corrections.insert((exponent(place.words)?, exponent(place.width)?), ratio);
            }
            tables.push(Table { node: data.node, ports: data.ports, corrections });
        }
        for node in Node::ALL {
            for ports in [Ports::ONE_SHARED, Ports::READ_AND_WRITE, Ports::TWO_SHARED] {
                if !tables.iter().any(|table| table.node == node && table.ports == ports) {
                    let expected = "a table of every node and of 1RW, 1R1W and 2RW";
                    let value = format!("none of {ports} at {} nm", node.nm());
                    return Err(TechnologyError::Value { place: "grid.table".to_owned(), value, expected });
                }
            }
        }
        let mut between = Vec::new();
        for data in &grid.between {
            between.extend(points(data, "grid.between")?);
        }
        let keys = || tables.iter().flat_map(|table| table.corrections.keys());
        let range = |of: fn(&(u32, u32)) -> u32| (keys().map(of).min().unwrap_or(0), keys().map(of).max().unwrap_or(0));
        let (words, width) = (range(|key| key.0), range(|key| key.1));
        Ok(Self { words, width, closed, tables, between })
    }

    /// Returns the table of CACTI figures with which the closed form for a memory is corrected. There are
    /// tables for memories with one and with two ports. A memory with more than two ports uses a table for
    /// two ports, and the closed form adds the cost of the remaining ports.
    fn table(&self, node: Node, ports: Ports) -> &Table {
        let nearest = match ports.count() {
            0 | 1 => Ports::ONE_SHARED,
            _ if ports == Ports::TWO_SHARED => Ports::TWO_SHARED,
            _ => Ports::READ_AND_WRITE,
        };
        let found = self.tables.iter().find(|table| table.node == node && table.ports == nearest);
        let Some(table) = found else { unreachable!("every node has its tables: checked when they were read") };
        table
    }

    /// Returns the cost of one bank of the memory, without its error, and the respects in which the memory lies
    /// outside the grid.
    pub(crate) fn cost(&self, node: Node, entries: u32, width: u32, ports: Ports) -> (Cost, Outside) {
        let widest = f64::from(self.width.1).exp2();
        let width = f64::from(width.max(1));
        let slices = (width / widest).max(1.0);
        let place =
            TablePoint { node, words: f64::from(entries.max(1)).log2(), width: width.min(widest).log2(), ports };
        let (ln, outside) = self.ln(&place);
        let [um2, leakage_mw, read, write] = ln.map(|value| value.exp() * slices);
        let is_inside = outside == Outside::default() && slices == 1.0;
        let basis = if is_inside { Basis::Grid } else { Basis::ClosedForm };
        (Cost { um2, leakage_mw, read_pj: Some(read), write_pj: Some(write), basis, ..Cost::ZERO }, outside)
    }

    /// Reads the memories outside the grid that CACTI computed.
    ///
    /// # Errors
    /// Returns an error if the built-in file is damaged.
    pub(crate) fn beyond() -> Result<Vec<Point>, TechnologyError> {
        let BeyondData { beyond } = toml::from_str(include_str!("beyond.toml"))?;
        let tables: Result<Vec<_>, _> = beyond.iter().map(|data| points(data, "beyond")).collect();
        Ok(tables?.concat())
    }

    /// Returns the smallest number of words for which CACTI finds an organization.
    pub(crate) fn fewest_words(&self) -> u32 {
        1 << self.words.0
    }

    /// Returns the natural logarithms of area, leakage, read energy and write energy, and the respects in which
    /// the memory lies outside the grid. In none, the values were interpolated between points that CACTI
    /// computed; otherwise, the closed form alone determined some of them.
    pub(crate) fn ln(&self, place: &TablePoint) -> (Values, Outside) {
        let table = self.table(place.node, place.ports);
        let (words, words_part, words_inside) = cell(place.words, self.words);
        let (width, width_part, width_inside) = cell(place.width, self.width);
        let mut ln = self.closed.ln(place);
        let ports = place.ports.count() > table.ports.count();
        let mut outside = Outside { ports, size: !words_inside || !width_inside };
        for (up, by_words) in [(0, 1.0 - words_part), (1, words_part)] {
            for (right, by_width) in [(0, 1.0 - width_part), (1, width_part)] {
                let weight = by_words * by_width;
                if weight > 0.0 {
                    let (correction, is_point) = table.correction(words + up, width + right);
                    outside.size |= !is_point;
                    ln.iter_mut().zip(correction).for_each(|(ln, correction)| *ln += weight * correction);
                }
            }
        }
        (ln, outside)
    }
}

impl Table {
    /// Returns `(correction, computed)` for a grid point. `computed` is true if CACTI computed a memory at
    /// that point. If not, the correction is that of the computed memory with the same word width and the
    /// nearest number of words.
    fn correction(&self, words: u32, width: u32) -> (Values, bool) {
        let of_width = self.corrections.iter().filter(|((_, at), _)| *at == width);
        let nearest = of_width.min_by_key(|((at, _), _)| at.abs_diff(words));
        nearest.map_or(([0.0; 4], false), |((at, _), correction)| (*correction, *at == words))
    }
}

/// Returns the position of the coordinate `log` relative to the grid: the nearest grid point at or below it,
/// and the fractional distance from that point. A coordinate outside the grid is first moved to the edge of
/// the grid; the last value is false in this case.
fn cell(log: f64, (least, most): (u32, u32)) -> (u32, f64, bool) {
    let held = log.clamp(least.into(), most.into());
    let floor = held.floor();
    (floor as u32, held - floor, held == log)
}

fn exponent(log: f64) -> Result<u32, TechnologyError> {
    let rounded = log.round();
    if (log - rounded).abs() > 1e-9 || rounded < 0.0 {
        let expected = "powers of two: the grid is one of their logarithms";
        return Err(TechnologyError::Value { place: "grid.table".to_owned(), value: log.exp2().to_string(), expected });
    }
    Ok(rounded as u32)
}

fn points(data: &TableData, place: &str) -> Result<Vec<Point>, TechnologyError> {
    let point = |row: &[f64; 6]| {
        if row.iter().any(|number| !number.is_finite() || *number <= 0.0) {
            let expected = "positive numbers: their logarithms are interpolated";
            return Err(TechnologyError::Value { place: place.to_owned(), value: format!("{row:?}"), expected });
        }
        let [bytes, word, mm2, mw, read, write] = *row;
        let place = TablePoint {
            node: data.node,
            words: (bytes / word).log2(),
            width: (word * BYTE).log2(),
            ports: data.ports,
        };
        Ok(Point { place, values: [mm2 * UM2, mw, read, write] })
    };
    data.points.iter().map(point).collect()
}
