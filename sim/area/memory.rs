//! Memories whose cost is estimated, and the resulting cost.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Semiconductor technology node for which costs are estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "u32")]
pub enum Node {
    /// 22 nm technology node.
    N22,
    /// 32 nm technology node.
    N32,
    /// 45 nm technology node.
    N45,
}

impl Node {
    /// Every node, from the smallest to the largest.
    pub const ALL: [Self; 3] = [Self::N22, Self::N32, Self::N45];

    /// Feature size of the node in nm.
    #[must_use]
    pub fn nm(self) -> u32 {
        match self {
            Self::N22 => 22,
            Self::N32 => 32,
            Self::N45 => 45,
        }
    }

    /// Feature size of the node in um, the unit of the closed forms.
    pub(crate) fn um(self) -> f64 {
        f64::from(self.nm()) / 1000.0
    }
}

impl TryFrom<u32> for Node {
    type Error = String;
    fn try_from(nm: u32) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|node| node.nm() == nm);
        found.ok_or_else(|| format!("{nm} nm, expected 45, 32 or 22: there are no figures for others"))
    }
}

/// Kind of circuit that implements a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Static RAM or register file. A register file uses the same bit cells, with other numbers of ports.
    Sram,
    /// Content-addressed memory: a search compares all entries.
    Cam,
    /// Flip-flops, read through multiplexers.
    Flops,
}

/// Numbers of ports of a memory, also written as text: `1RW` means one read-write port; `2R1W` means two read
/// ports and one write port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Ports {
    /// Number of ports that read or write.
    pub shared: u32,
    /// Number of read-only ports; in a CAM, number of search ports.
    pub reads: u32,
    /// Number of ports that only write.
    pub writes: u32,
}

impl Ports {
    /// One port that reads or writes.
    pub const ONE_SHARED: Self = Self { shared: 1, reads: 0, writes: 0 };
    /// Two ports that read or write.
    pub const TWO_SHARED: Self = Self { shared: 2, reads: 0, writes: 0 };
    /// One port that reads and one that writes.
    pub const READ_AND_WRITE: Self = Self { shared: 0, reads: 1, writes: 1 };

    /// Total number of ports.
    #[must_use]
    pub fn count(self) -> u32 {
        self.shared + self.reads + self.writes
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, letters) in [(self.shared, "RW"), (self.reads, "R"), (self.writes, "W")] {
            if count > 0 {
                write!(f, "{count}{letters}")?;
            }
        }
        Ok(())
    }
}

impl From<Ports> for String {
    fn from(ports: Ports) -> Self {
        ports.to_string()
    }
}

impl TryFrom<String> for Ports {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("ports `{text}`, expected for example 1RW, 1R1W or 2R2W");
        let (mut ports, mut rest) = (Self::default(), text.as_str());
        while !rest.is_empty() {
            let letters = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
            let count = rest[..letters].parse().map_err(|_| wrong())?;
            let end = rest[letters..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |digits| letters + digits);
            match &rest[letters..end] {
                "RW" => ports.shared = count,
                "R" => ports.reads = count,
                "W" => ports.writes = count,
                _ => return Err(wrong()),
            }
            rest = &rest[end..];
        }
        Ok(ports)
    }
}

/// Memory with `banks` banks, each of which has `entries` words of `width` bits. An access through a port
/// reads or writes one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Memory {
    /// Kind of circuit that implements the memory.
    pub kind: Kind,
    /// Number of words in a bank.
    pub entries: u32,
    /// Width of a word in bits.
    pub width: u32,
    /// Ports of each bank.
    pub ports: Ports,
    /// Number of banks, each accessed independently.
    pub banks: u32,
}

impl Memory {
    /// Returns the number of bits of all banks.
    #[must_use]
    pub fn bits(&self) -> u64 {
        u64::from(self.entries) * u64::from(self.width) * u64::from(self.banks)
    }
}

/// Method by which the cost of a structure is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Sum of the costs of the standard cells in the structure.
    Cells,
    /// Interpolation between points that CACTI computed.
    Grid,
    /// Closed form that is fitted to points that CACTI computed. It is used for all CAMs, and for other
    /// memories whose words or ports are outside the grid.
    ClosedForm,
}

impl Basis {
    /// Name of the method in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cells => "cells",
            Self::Grid => "grid",
            Self::ClosedForm => "closed form",
        }
    }
}

/// Estimated cost of a structure: area, leakage and access energies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Area of the structure in um2.
    pub um2: f64,
    /// Leakage power of the structure in mW.
    pub leakage_mw: f64,
    /// Energy of a read, or of a search in a CAM, in pJ; `None` for flip-flops and logic outside memories.
    pub read_pj: Option<f64>,
    /// Energy of a write in pJ.
    pub write_pj: Option<f64>,
    /// Method by which the figures were estimated.
    pub basis: Basis,
    /// Relative error of the area: 95 % of the structures that were also computed by the tool behind the model
    /// (CACTI, or synthesis for cells) were within this error.
    pub error: f64,
}

impl Cost {
    /// Returns the cost of `count` copies of the structure, only one of which is accessed at a time.
    #[must_use]
    pub fn times(self, count: f64) -> Self {
        Self { um2: self.um2 * count, leakage_mw: self.leakage_mw * count, ..self }
    }
}
