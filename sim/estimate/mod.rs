//! # Cost of a machine
//! Computes the area and leakage of the structures of a machine, grouped by scope, such as an SM or its L1.
//! The overhead of a design is its cost minus the cost of another design on the same machine.
//!
//! | file    | content                                                           |
//! |---------|-------------------------------------------------------------------|
//! | `price` | conversion of a scope's structures to those of the technology     |
//! | `delta` | differences between two designs                                   |
//! | `energy`| energy of a run, from the accesses at the ports of its memories   |
//! | `fold`  | one row for equal scopes, such as 15 SMs or 32 entries            |

mod delta;
mod energy;
mod fold;
mod price;

pub use energy::{Activity, Energy, Events, Unit};
pub use fold::FoldedScopes;

use std::borrow::Cow;

use area::{Memory, Node, Technology};
use rtl::kernel::Logic;
use serde::Serialize;

use crate::readers::Counts;

/// Cost of one scope of the machine, such as an SM. The figures include the scopes inside this one; `arrays`
/// and `logic` list only structures directly in this scope.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Block {
    /// Name of the scope inside its parent scope, such as `l1`.
    pub block: Cow<'static, str>,
    /// Storage capacity of the memory arrays, in bits.
    pub bits: u64,
    /// Number of flip-flops outside memory arrays.
    pub flops: u64,
    /// Memory arrays and channel buffers directly in this scope.
    pub arrays: Vec<Array>,
    /// Logic structures directly in this scope.
    pub logic: Vec<Piece>,
    /// Area of the scope, in µm².
    pub um2: f64,
    /// Error of the area, in µm²: the sum over all structures of the area times the error of its method
    /// ([`area::Cost::error`]). It is the error if all estimates of a kind are wrong in the same direction.
    pub um2_error: f64,
    /// Leakage power of the scope, in mW.
    pub leakage_mw: f64,
    /// Difference in cost from another design on the same machine; `None` if no other design was compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<Delta>,
    /// Costs of the scopes inside this one.
    pub children: Vec<Self>,
}

/// Memory array of a scope, with its cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Array {
    /// Name of the array inside its scope. The array that holds the beats of a channel is called `beats`.
    pub name: &'static str,
    /// Type, dimensions and ports of the memory.
    #[serde(flatten)]
    pub memory: Memory,
    /// Storage of all banks, in bits.
    pub bits: u64,
    /// Area, leakage and access energies of the memory.
    #[serde(flatten)]
    pub cost: area::Cost,
}

/// Logic structure of a scope, with its cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Piece {
    /// Name of the logic structure inside its scope.
    pub name: &'static str,
    /// Type and size of the structure.
    #[serde(flatten)]
    pub logic: Logic,
    /// Area of the logic structure, in µm².
    pub um2: f64,
    /// Error of the area, in µm².
    pub um2_error: f64,
    /// Leakage power of the logic structure, in mW.
    pub leakage_mw: f64,
}

/// Differences in cost between a scope and the scope of the same name in another design. A positive value
/// means that this scope costs more than the scope of the other design.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Delta {
    /// Difference in the storage capacity of memory arrays, in bits.
    pub bits: i64,
    /// Difference in the number of flip-flops outside memory arrays.
    pub flops: i64,
    /// Difference in area, in µm².
    pub um2: f64,
    /// Error of the difference, in µm²: the difference of the two errors, since both scopes are estimated by the
    /// same methods.
    pub um2_error: f64,
    /// Difference in leakage, in mW.
    pub leakage_mw: f64,
}

impl Block {
    /// Computes the cost of a scope from the counts of its structures.
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
            um2_error: flops.um2 * flops.error
                + sum(|array| array.cost.um2 * array.cost.error, |piece| piece.um2_error, |child| child.um2_error),
            leakage_mw: flops.leakage_mw
                + sum(|array| array.cost.leakage_mw, |piece| piece.leakage_mw, |child| child.leakage_mw),
            delta: None,
            arrays,
            logic,
            children,
        }
    }

    /// Number of flip-flops directly in this scope, without those of the scopes inside it.
    #[must_use]
    pub fn own_flops(&self) -> u64 {
        self.flops - self.children.iter().map(|child| child.flops).sum::<u64>()
    }

    /// Returns the area in µm² of all scopes named `name`, summed over this scope and the scopes inside it.
    /// For example, `l1` gives the area of all L1s of a machine.
    #[must_use]
    pub fn um2_of(&self, name: &str) -> f64 {
        if self.block == name { self.um2 } else { self.children.iter().map(|child| child.um2_of(name)).sum() }
    }

    /// Calls `visit` for every scope with its path, outer scopes before the scopes inside them.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&str, &'a Self)) {
        self.walk_from("", visit);
    }

    fn walk_from<'a>(&'a self, above: &str, visit: &mut impl FnMut(&str, &'a Self)) {
        let path = if above.is_empty() { self.block.to_string() } else { format!("{above}.{}", self.block) };
        visit(&path, self);
        self.children.iter().for_each(|child| child.walk_from(&path, visit));
    }
}

#[cfg(test)]
mod tests;
