//! # Content-addressed memory
//! Estimates the cost of CAMs with closed-form formulas, which depend on the number of entries and the bits
//! per entry. The formulas are fitted to results of CACTI.

use serde::Deserialize;

use crate::data::ByNode;
use crate::memory::{Basis, Cost, Node, Ports};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CamData {
    pub area: CamArea,
    pub leakage_mw: CamForm,
    pub search_pj: CamForm,
    pub write_pj: CamForm,
    pub table: Vec<CamTable>,
}

/// Coefficients of the closed form for the area of a CAM. The first number of each pair is the coefficient
/// for one search port; the second is the increase for each additional port.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CamArea {
    pub source: String,
    ew: [f64; 2],
    e: [f64; 2],
    w: [f64; 2],
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CamForm {
    pub source: String,
    coefficients: ByNode<[f64; 3]>,
    second_port: f64,
}

/// Results of CACTI for CAMs, one CAM per row. The columns are: number of entries, bits per entry, search
/// ports, area in mm2, leakage in mW, pJ per search, and pJ per write.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CamTable {
    pub node: Node,
    pub points: Vec<[f64; 7]>,
}

impl CamForm {
    fn value(&self, node: Node, entries: f64, bits: f64, further: f64) -> f64 {
        let [both, of_entries, of_bits] = self.coefficients.at(node);
        (both * entries * bits + of_entries * entries + of_bits * bits) * (1.0 + self.second_port * further)
    }
}

impl CamData {
    pub(crate) fn cost(&self, node: Node, entries: u32, bits: u32, ports: Ports) -> Cost {
        let searches = ports.shared + ports.reads;
        let further = f64::from(searches.saturating_sub(1));
        let (entries, bits) = (f64::from(entries), f64::from(bits));
        let of = |[first, each]: [f64; 2]| first + each * further;
        let CamArea { source: _, ew, e, w } = &self.area;
        let squares = entries * bits * of(*ew) + entries * of(*e) + bits * of(*w);
        Cost {
            um2: node.um().powi(2) * squares,
            leakage_mw: self.leakage_mw.value(node, entries, bits, further),
            read_pj: Some(self.search_pj.value(node, entries, bits, further)),
            write_pj: Some(self.write_pj.value(node, entries, bits, further)),
            basis: Basis::ClosedForm,
            ..Cost::ZERO
        }
    }
}
