//! Technology data file: reads and checks it, and computes costs from it.

use std::sync::OnceLock;

use rtl::kernel::Logic;
use serde::Deserialize;
use thiserror::Error;

use crate::Basis;
use crate::cache::{CacheData, Table43};
use crate::cam::CamData;
use crate::errors::AreaErrors;
use crate::gates::{FlopData, GateData, Gates, LogicData};
use crate::memory::{Cost, Kind, Memory, Node};
use crate::sram::{ClosedForms, GridData, Sram};

/// Error in a technology data file.
#[derive(Debug, Error)]
pub enum TechnologyError {
    /// The file cannot be parsed.
    #[error("the technology file cannot be read: {0}")]
    Syntax(#[from] toml::de::Error),
    /// A value in the file is outside its legal range.
    #[error("{place} is {value}, expected {expected}")]
    Value {
        /// Path of the value in the file.
        place: String,
        /// Value found in the file.
        value: String,
        /// Legal values, with the reason for the limits.
        expected: &'static str,
    },
}

/// Value of a coefficient at each technology node.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ByNode<T> {
    n22: T,
    n32: T,
    n45: T,
}

impl<T: Copy> ByNode<T> {
    pub(crate) fn at(&self, node: Node) -> T {
        match node {
            Node::N22 => self.n22,
            Node::N32 => self.n32,
            Node::N45 => self.n45,
        }
    }
}

/// Reference chip: the area overhead of a design is compared with the area of this chip.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chip {
    /// Name of the chip.
    pub name: String,
    /// Publication that states the area.
    pub source: String,
    /// Area of the chip in mm2.
    pub mm2: f64,
}

/// Wire lengths from which the energy of data movement is computed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EnergyData {
    source: String,
    hop_mm: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    grid: GridData,
    closed: ClosedForms,
    cache: CacheData,
    cam: CamData,
    gates: GateData,
    logic: LogicData,
    flops: FlopData,
    errors: AreaErrors,
    chip: Chip,
    energy: EnergyData,
    table43: Table43,
}

/// Technology data, from which the area (um2), leakage (mW) and energy (pJ) of hardware structures are
/// computed.
#[derive(Debug)]
pub struct Technology {
    pub(crate) sram: Sram,
    pub(crate) cam: CamData,
    pub(crate) cache: CacheData,
    pub(crate) gates: Gates,
    chip: Chip,
    hop_mm: f64,
    table43: Table43,
    sources: Vec<(&'static str, String)>,
    pub(crate) errors: AreaErrors,
}

impl Technology {
    /// Returns the technology that is compiled into this crate.
    ///
    /// # Errors
    /// Returns an error if the built-in file is damaged.
    pub fn built_in() -> Result<&'static Self, TechnologyError> {
        // The file is parsed once per process: a sweep computes the cost of every run, and parsing may take
        // longer than a run.
        static READ: OnceLock<Technology> = OnceLock::new();
        if let Some(technology) = READ.get() {
            return Ok(technology);
        }
        let technology = Self::read(include_str!("technology.toml"))?;
        Ok(READ.get_or_init(|| technology))
    }

    /// Parses a technology from the text of its file.
    ///
    /// # Errors
    /// Returns an error if the text cannot be parsed, or a value is out of its legal range.
    pub fn read(text: &str) -> Result<Self, TechnologyError> {
        let File { grid, closed, cache, cam, gates, logic, flops, errors, chip, energy, table43 } =
            toml::from_str(text)?;
        let sources = vec![
            ("memories", format!("{}, {}; {}", grid.tool, grid.setting, grid.source)),
            ("area outside the grid", closed.area.source.clone()),
            ("leakage outside the grid", closed.leakage_mw.source.clone()),
            ("read energy outside the grid", closed.read_pj.source.clone()),
            ("write energy outside the grid", closed.write_pj.source.clone()),
            ("CAM area", cam.area.source.clone()),
            ("CAM leakage", cam.leakage_mw.source.clone()),
            ("CAM search energy", cam.search_pj.source.clone()),
            ("CAM write energy", cam.write_pj.source.clone()),
            ("memories of few words", flops.source.clone()),
            ("energy of memories of few words", flops.energy.source.clone()),
            ("energy of memories of few words at 32 and 22 nm", flops.energy.scale.source.clone()),
            ("gates", gates.source.clone()),
            ("gates at 32 and 22 nm", gates.scale.source.clone()),
            ("error of gates", errors.cells_source.clone()),
            ("logic", logic.source.clone()),
            ("caches", cache.source.clone()),
            ("energy of wires and of the DRAM", table43.source.clone()),
            ("length of wires", energy.source.clone()),
        ];
        let gates = Gates::new(&gates, &logic, &flops)?;
        let (sram, hop_mm) = (Sram::new(grid, closed)?, energy.hop_mm);
        Ok(Self { sram, cam, cache, gates, chip, hop_mm, table43, sources, errors })
    }

    /// Iterates over the kinds of technology data, such as the area of CAMs, each with the publication or
    /// tool from which its figures come.
    pub fn sources(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.sources.iter().map(|(what, source)| (*what, source.as_str()))
    }

    /// Returns the reference chip. The area overhead of a design is compared with the area of this chip.
    #[must_use]
    pub fn chip(&self) -> &Chip {
        &self.chip
    }

    /// Length of the wire from an SM to a memory partition, in mm.
    #[must_use]
    pub fn hop_mm(&self) -> f64 {
        self.hop_mm
    }

    /// Published caches of anssari2012.
    #[must_use]
    pub fn table43(&self) -> &Table43 {
        &self.table43
    }

    /// Returns the kind of structure that implements a memory. An SRAM with few words is built from
    /// flip-flops.
    #[must_use]
    pub fn implementation(&self, memory: &Memory) -> Kind {
        if memory.kind == Kind::Sram && memory.entries <= self.gates.most_words { Kind::Flops } else { memory.kind }
    }

    /// Returns the cost of all banks of a memory; an access reads or writes one bank.
    #[must_use]
    pub fn memory(&self, node: Node, memory: &Memory) -> Cost {
        let one = match self.implementation(memory) {
            Kind::Sram => self.ram(node, memory),
            Kind::Cam => {
                let cost = self.cam.cost(node, memory.entries, memory.width, memory.ports);
                Cost { error: self.errors.cam, ..cost }
            }
            Kind::Flops => Cost { error: self.errors.cells, ..self.gates.memory(node, memory) },
        };
        one.times(f64::from(memory.banks))
    }

    /// Returns the cost of one bank of a static RAM.
    fn ram(&self, node: Node, &Memory { entries, width, ports, .. }: &Memory) -> Cost {
        let (cost, outside) = self.sram.cost(node, entries, width, ports);
        let fewest = self.sram.fewest_words();
        if entries >= fewest {
            return Cost { error: self.errors.of_ram(outside), ..cost };
        }
        // CACTI finds no organization for so few words, but such a memory is no larger than one with as many
        // words as CACTI needs.
        let (larger, outside) = self.sram.cost(node, fewest, width, ports);
        let error = larger.um2 / cost.um2 * (1.0 + self.errors.of_ram(outside)) - 1.0;
        Cost { error, ..cost }
    }

    /// Returns the cost of `count` flip-flops.
    #[must_use]
    pub fn flops(&self, node: Node, count: u64) -> Cost {
        Cost { error: self.errors.cells, ..self.gates.flops(node, count) }
    }

    /// Returns the cost of a piece of logic.
    #[must_use]
    pub fn logic(&self, node: Node, logic: Logic) -> Cost {
        Cost { error: self.errors.cells, ..self.gates.logic(node, logic) }
    }
}

impl Cost {
    /// Cost of an empty structure, to which other costs can be added.
    pub const ZERO: Self =
        Self { um2: 0.0, leakage_mw: 0.0, read_pj: None, write_pj: None, basis: Basis::Cells, error: 0.0 };
}
