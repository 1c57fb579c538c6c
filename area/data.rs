//! The data file, read and checked.

use std::sync::OnceLock;

use rtl::kernel::Logic;
use serde::Deserialize;
use thiserror::Error;

use crate::Basis;
use crate::cache::{CacheData, Table43};
use crate::cam::CamData;
use crate::gates::{FlopData, GateData, Gates, LogicData};
use crate::memory::{Cost, Kind, Memory, Node};
use crate::sram::{ClosedForms, GridData, Sram};

/// Something wrong with a data file.
#[derive(Debug, Error)]
pub enum TechnologyError {
    /// It cannot be read.
    #[error("the technology file cannot be read: {0}")]
    Syntax(#[from] toml::de::Error),
    /// A value that makes no sense.
    #[error("{place} is {value}, expected {expected}")]
    Value {
        /// Where.
        place: String,
        /// What stands there.
        value: String,
        /// What is legal, and why.
        expected: &'static str,
    },
}

/// One value a node.
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

/// A chip that overheads are compared with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chip {
    /// Its name.
    pub name: String,
    /// Where its area is from.
    pub source: String,
    /// Its area in mm2.
    pub mm2: f64,
}

/// How far a byte goes.
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
    chip: Chip,
    energy: EnergyData,
    table43: Table43,
}

/// Everything that turns structures into um2, mW and pJ.
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
}

impl Technology {
    /// The technology that this crate brings along.
    ///
    /// # Errors
    /// If its file is damaged.
    pub fn built_in() -> Result<&'static Self, TechnologyError> {
        // A sweep prices each of its runs, and to parse the file may take longer than a run.
        static READ: OnceLock<Technology> = OnceLock::new();
        if let Some(technology) = READ.get() {
            return Ok(technology);
        }
        let technology = Self::read(include_str!("technology.toml"))?;
        Ok(READ.get_or_init(|| technology))
    }

    /// A technology from the text of its file.
    ///
    /// # Errors
    /// If it cannot be read, or a value makes no sense.
    pub fn read(text: &str) -> Result<Self, TechnologyError> {
        let File { grid, closed, cache, cam, gates, logic, flops, chip, energy, table43 } = toml::from_str(text)?;
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
            ("the same at 32 and 22 nm", flops.energy.scale.source.clone()),
            ("gates", gates.source.clone()),
            ("gates at 32 and 22 nm", gates.scale.source.clone()),
            ("logic", logic.source.clone()),
            ("caches", cache.source.clone()),
            ("energy of wires and of the DRAM", table43.source.clone()),
            ("length of wires", energy.source.clone()),
        ];
        let gates = Gates::new(&gates, &logic, &flops)?;
        Ok(Self { sram: Sram::new(grid, closed)?, cam, cache, gates, chip, hop_mm: energy.hop_mm, table43, sources })
    }

    /// What each kind of figure is from.
    pub fn sources(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.sources.iter().map(|(what, source)| (*what, source.as_str()))
    }

    /// The chip that overheads are compared with.
    #[must_use]
    pub fn chip(&self) -> &Chip {
        &self.chip
    }

    /// Millimetres that a byte goes from an SM to a partition or back.
    #[must_use]
    pub fn hop_mm(&self) -> f64 {
        self.hop_mm
    }

    /// The published caches of anssari2012.
    #[must_use]
    pub fn table43(&self) -> &Table43 {
        &self.table43
    }

    /// The kind that a memory is built as: one of few words is of flip-flops, whatever is asked for.
    #[must_use]
    pub fn built_as(&self, memory: &Memory) -> Kind {
        if memory.kind == Kind::Sram && memory.entries <= self.gates.most_words { Kind::Flops } else { memory.kind }
    }

    /// What a memory costs, all banks together; an access is one of one bank.
    #[must_use]
    pub fn memory(&self, node: Node, memory: &Memory) -> Cost {
        let one = match self.built_as(memory) {
            Kind::Sram => self.sram.cost(node, memory.entries, memory.width, memory.ports),
            Kind::Cam => self.cam.cost(node, memory.entries, memory.width, memory.ports),
            Kind::Flops => self.gates.memory(node, memory),
        };
        one.times(f64::from(memory.banks))
    }

    /// What so many flip-flops cost.
    #[must_use]
    pub fn flops(&self, node: Node, count: u64) -> Cost {
        self.gates.flops(node, count)
    }

    /// What a piece of logic costs.
    #[must_use]
    pub fn logic(&self, node: Node, logic: Logic) -> Cost {
        self.gates.logic(node, logic)
    }
}

impl Cost {
    /// Nothing.
    pub const ZERO: Self = Self { um2: 0.0, leakage_mw: 0.0, read_pj: None, write_pj: None, basis: Basis::Cells };
}
