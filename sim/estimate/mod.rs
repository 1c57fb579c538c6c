//! # What a machine costs
//! The structure counts of a machine with the area and leakage of each structure, scope by scope. A
//! design's overhead is its figures less those of another design on the same machine.
//!
//! | file    | gives                                                             |
//! |---------|-------------------------------------------------------------------|
//! | `price` | each structure of a scope as the technology knows it              |
//! | `delta` | what a design has more or less than another                       |
//! | `energy`| what a run took, from what went through the ports of its memories |
//! | `fold`  | scopes alike, one row for all of them: fifteen SMs, 32 entries     |

mod delta;
mod energy;
mod fold;
mod price;

pub use energy::{Activity, Energy, Events, Unit};
pub use fold::Folded;

use area::{Memory, Node, Technology};
use rtl::kernel::Logic;
use serde::Serialize;

use crate::readers::Counts;

/// One scope. Its figures include those of the scopes inside; arrays and logic are its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Block {
    /// Name inside the parent: `l1`.
    pub block: String,
    /// Bits of arrays.
    pub bits: u64,
    /// Flip-flops outside arrays.
    pub flops: u64,
    /// Own arrays and channels.
    pub arrays: Vec<Array>,
    /// Own logic.
    pub logic: Vec<Piece>,
    /// Area.
    pub um2: f64,
    /// Leakage.
    pub leakage_mw: f64,
    /// What it has more than the design it is compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<Delta>,
    /// Scopes inside.
    pub children: Vec<Self>,
}

/// A memory of a scope.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Array {
    /// Name inside its scope; a channel is called `beats`.
    pub name: String,
    /// How it is built.
    #[serde(flatten)]
    pub memory: Memory,
    /// Bits of all banks.
    pub bits: u64,
    /// What it costs.
    #[serde(flatten)]
    pub cost: area::Cost,
}

/// A piece of logic of a scope.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Piece {
    /// Name inside its scope.
    pub name: String,
    /// What it is.
    #[serde(flatten)]
    pub logic: Logic,
    /// Area.
    pub um2: f64,
    /// Leakage.
    pub leakage_mw: f64,
}

/// The figures of a scope, more or less than those of another design.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Delta {
    /// Bits of arrays.
    pub bits: i64,
    /// Flip-flops outside arrays.
    pub flops: i64,
    /// Area.
    pub um2: f64,
    /// Leakage.
    pub leakage_mw: f64,
}

impl Block {
    /// Prices counted structures.
    #[must_use]
    pub fn of(counts: &Counts, technology: &Technology, node: Node) -> Self {
        let children: Vec<_> = counts.children.iter().map(|inner| Self::of(inner, technology, node)).collect();
        let arrays = price::arrays(counts, technology, node);
        let logic = price::logic(counts, technology, node);
        let flops = technology.flops(node, counts.flops);
        let sum = |array: fn(&Array) -> f64, piece: fn(&Piece) -> f64, child: fn(&Self) -> f64| {
            let own = arrays.iter().map(array).sum::<f64>() + logic.iter().map(piece).sum::<f64>();
            own + children.iter().map(child).sum::<f64>()
        };
        Self {
            block: counts.block.clone(),
            bits: arrays.iter().map(|array| array.bits).sum::<u64>() + children.iter().map(|c| c.bits).sum::<u64>(),
            flops: counts.flops + children.iter().map(|child| child.flops).sum::<u64>(),
            um2: flops.um2 + sum(|array| array.cost.um2, |piece| piece.um2, |child| child.um2),
            leakage_mw: flops.leakage_mw
                + sum(|array| array.cost.leakage_mw, |piece| piece.leakage_mw, |child| child.leakage_mw),
            delta: None,
            arrays,
            logic,
            children,
        }
    }

    /// Flip-flops of this scope alone.
    #[must_use]
    pub fn own_flops(&self) -> u64 {
        self.flops - self.children.iter().map(|child| child.flops).sum::<u64>()
    }

    /// Area of this scope and all inside of one name: every `l1` of a machine.
    #[must_use]
    pub fn um2_of(&self, name: &str) -> f64 {
        if self.block == name { self.um2 } else { self.children.iter().map(|child| child.um2_of(name)).sum() }
    }

    /// Every scope with its path, outermost first.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&str, &'a Self)) {
        self.walk_from("", visit);
    }

    fn walk_from<'a>(&'a self, above: &str, visit: &mut impl FnMut(&str, &'a Self)) {
        let path = if above.is_empty() { self.block.clone() } else { format!("{above}.{}", self.block) };
        visit(&path, self);
        self.children.iter().for_each(|child| child.walk_from(&path, visit));
    }
}

#[cfg(test)]
mod tests;
