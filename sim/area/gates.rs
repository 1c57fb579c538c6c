//! # Flip-flops and logic
//! Estimates flip-flops and logic by counting standard cells. The cell library is for 45 nm. Costs at the
//! other nodes are scaled from the 45 nm figures, so they are only approximate.

use std::collections::BTreeMap;

use rtl::kernel::Logic;
use serde::Deserialize;

use crate::data::{ByNode, TechnologyError};
use crate::memory::{Cost, Memory, Node};

/// Recipe of one unit of a structure, such as one adder bit: the number of standard cells of each type,
/// indexed by the name of the cell type.
type Recipe = BTreeMap<String, f64>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GateData {
    pub source: String,
    /// Area in um2 and leakage in nW of each standard cell, by name.
    cells: BTreeMap<String, [f64; 2]>,
    pub scale: Scale,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scale {
    pub source: String,
    nand2: ByNode<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogicData {
    pub source: String,
    xor_input: Recipe,
    compared_bit: Recipe,
    less_bit: Recipe,
    encoder_input: Recipe,
    mux_input: Recipe,
    decoder_output: Recipe,
    gate: Recipe,
    adder_bit: Recipe,
    counter_bit: Recipe,
    multiplier_bit: Recipe,
    divider_bit: Recipe,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlopData {
    pub source: String,
    most_words: u32,
    state_bit: Recipe,
    memory_bit: Recipe,
    read_input: Recipe,
    write_input: Recipe,
    pub energy: FlopEnergy,
}

/// Energies in pJ at 45 nm of the events in an access to a memory built from flip-flops.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlopEnergy {
    pub source: String,
    /// Average fraction of the bits of a word that differ from the previously accessed word.
    changing: f64,
    clocked_bit: f64,
    changed_bit: f64,
    changed_mux: f64,
    pub scale: EnergyScale,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EnergyScale {
    pub source: String,
    pj: ByNode<f64>,
}

impl FlopEnergy {
    /// Returns the energies of reading and of writing one word, in pJ.
    fn of_access(&self, node: Node, entries: u32, width: u32) -> [f64; 2] {
        let (word, changed) = (f64::from(width), f64::from(width) * self.changing);
        // The read multiplexers form a binary tree over the words.
        let levels = f64::from(entries.max(1)).log2().ceil();
        let read = changed * levels * self.changed_mux;
        let write = word * self.clocked_bit + changed * (self.changed_bit + self.changed_mux);
        [read, write].map(|pj| pj * self.scale.pj.at(node))
    }
}

/// Cost at 45 nm of one unit of a structure, such as one adder bit: area in um2 and leakage in mW.
#[derive(Clone, Copy, Debug)]
struct Unit {
    um2: f64,
    mw: f64,
}

#[derive(Debug)]
pub(crate) struct Gates {
    /// Area of each standard cell in um2, by name.
    cells: BTreeMap<String, f64>,
    /// Largest number of words for which a memory is built from flip-flops.
    pub most_words: u32,
    scale: ByNode<f64>,
    xor_input: Unit,
    compared_bit: Unit,
    less_bit: Unit,
    encoder_input: Unit,
    mux_input: Unit,
    decoder_output: Unit,
    gate: Unit,
    adder_bit: Unit,
    counter_bit: Unit,
    multiplier_bit: Unit,
    divider_bit: Unit,
    state_bit: Unit,
    memory_bit: Unit,
    read_input: Unit,
    write_input: Unit,
    energy: FlopEnergy,
}

impl Gates {
    pub(crate) fn new(gates: &GateData, logic: &LogicData, flops: &FlopData) -> Result<Self, TechnologyError> {
        let unit = |recipe: &Recipe| {
            let mut unit = Unit { um2: 0.0, mw: 0.0 };
            for (cell, count) in recipe {
                let Some([um2, nw]) = gates.cells.get(cell) else {
                    let place = "a recipe of logic or flops".to_owned();
                    let expected = "a cell of gates.cells";
                    return Err(TechnologyError::Value { place, value: cell.clone(), expected });
                };
                unit.um2 += count * um2;
                unit.mw += count * nw / 1e6;
            }
            Ok(unit)
        };
        Ok(Self {
            cells: gates.cells.iter().map(|(name, [um2, _])| (name.clone(), *um2)).collect(),
            most_words: flops.most_words,
            scale: gates.scale.nand2,
            xor_input: unit(&logic.xor_input)?,
            compared_bit: unit(&logic.compared_bit)?,
            less_bit: unit(&logic.less_bit)?,
            encoder_input: unit(&logic.encoder_input)?,
            mux_input: unit(&logic.mux_input)?,
            decoder_output: unit(&logic.decoder_output)?,
            gate: unit(&logic.gate)?,
            adder_bit: unit(&logic.adder_bit)?,
            counter_bit: unit(&logic.counter_bit)?,
            multiplier_bit: unit(&logic.multiplier_bit)?,
            divider_bit: unit(&logic.divider_bit)?,
            state_bit: unit(&flops.state_bit)?,
            memory_bit: unit(&flops.memory_bit)?,
            read_input: unit(&flops.read_input)?,
            write_input: unit(&flops.write_input)?,
            energy: flops.energy.clone(),
        })
    }

    pub(crate) fn cell_um2(&self, name: &str) -> Option<f64> {
        self.cells.get(name).copied()
    }

    fn cost(&self, node: Node, units: &[(Unit, u64)]) -> Cost {
        let scale = self.scale.at(node) / self.scale.at(Node::N45);
        let sum =
            |of: fn(&Unit) -> f64| units.iter().map(|(unit, count)| of(unit) * *count as f64).sum::<f64>() * scale;
        Cost { um2: sum(|unit| unit.um2), leakage_mw: sum(|unit| unit.mw), ..Cost::ZERO }
    }

    pub(crate) fn flops(&self, node: Node, count: u64) -> Cost {
        self.cost(node, &[(self.state_bit, count)])
    }

    /// Returns the cost of one bank of flip-flops with its multiplexers.
    pub(crate) fn memory(&self, node: Node, memory: &Memory) -> Cost {
        let Memory { kind: _, entries, width, ports, banks: _ } = *memory;
        let bits = u64::from(entries) * u64::from(width);
        let selected = bits.saturating_sub(width.into()) * u64::from(ports.reads + ports.shared);
        let kept = bits * u64::from(ports.writes + ports.shared);
        let [read, write] = self.energy.of_access(node, entries, width);
        let cost = self.cost(node, &[(self.memory_bit, bits), (self.read_input, selected), (self.write_input, kept)]);
        Cost { read_pj: Some(read), write_pj: Some(write), ..cost }
    }

    pub(crate) fn logic(&self, node: Node, logic: Logic) -> Cost {
        let product = |a: u32, b: u32| u64::from(a) * u64::from(b);
        let units = match logic {
            Logic::XorTree { fan_in } => (self.xor_input, u64::from(fan_in.saturating_sub(1))),
            Logic::Comparator { width, count } => (self.compared_bit, product(width, count)),
            Logic::Less { width, count } => (self.less_bit, product(width, count)),
            Logic::PriorityEncoder { inputs } => (self.encoder_input, inputs.into()),
            Logic::Decoder { outputs } => (self.decoder_output, outputs.into()),
            Logic::Gates { count } => (self.gate, count.into()),
            Logic::Mux { ways, width } => (self.mux_input, product(ways.saturating_sub(1), width)),
            Logic::Adder { width } => (self.adder_bit, width.into()),
            Logic::Counter { width } => (self.counter_bit, width.into()),
            // A population count is a tree of full adders, each of which reduces three bits to two.
            Logic::Population { inputs } => (self.adder_bit, u64::from(inputs.saturating_sub(1))),
            Logic::Multiplier { width, by } => (self.multiplier_bit, product(width, by)),
            // Multiplying by a constant adds one shifted copy of the operand for each set bit of the
            // constant, so it needs one adder less than there are set bits. On average, an adder is wider
            // than the operand by half the width of the constant.
            Logic::ConstantMultiplier { width, factor } => {
                let half = (u32::BITS - factor.leading_zeros()) / 2;
                (self.adder_bit, product(width + half, factor.count_ones().saturating_sub(1)))
            }
            Logic::ConstantDivider { width, divisor } => {
                // Divider that uses long division, with one row of cells per bit of the dividend. A row
                // processes the partial remainder, which is less than the divisor, together with the next bit
                // of the dividend. Its width is that of the partial remainder plus one.
                let row = u32::BITS - divisor.saturating_sub(1).leading_zeros() + 1;
                (self.divider_bit, product(width, row))
            }
        };
        self.cost(node, &[units])
    }
}
