//! Exhaustive search over all subsets of loads for the subset that saves the most L2 traffic.

use super::{Choice, by_parts};
use crate::graph::Graph;

/// Maximum number of loads in a connected component for an exhaustive search, which tries all subsets of the
/// loads. Trying 16 million subsets takes about a second.
pub const MAX_EXHAUSTIVE_LOADS: usize = 24;

/// Returns the subset of loads that saves the most traffic. Returns `None` if a connected component of the
/// graph has more than [`MAX_EXHAUSTIVE_LOADS`] loads. If several subsets save equally much, returns the
/// subset with the fewest loads. Among several such subsets, returns the subset with the lowest bit mask,
/// where bit 0 stands for load 0.
#[must_use]
pub fn exhaustive(graph: &Graph) -> Option<Choice> {
    let try_all = |part: &Graph| {
        if part.len() > MAX_EXHAUSTIVE_LOADS {
            return Err(());
        }
        let mut search = Search { graph: part, chosen: Vec::new(), best: (0.0, 0, 0) };
        search.descend(part.len(), 0.0, 0);
        let (.., mask) = search.best;
        Ok((0..part.len()).map(|node| mask >> node & 1 != 0).collect())
    };
    by_parts(graph, try_all).ok()
}

/// Depth-first search over the subsets of loads. Starting with the highest-numbered node, it tries each node
/// first as bypassed and then as cached. Subsets are therefore visited in ascending order of their bit masks.
struct Search<'a> {
    graph: &'a Graph,
    chosen: Vec<usize>,
    /// Bytes saved by the best subset found so far, its number of loads, and its bit mask.
    best: (f64, usize, u32),
}

impl Search<'_> {
    /// Tries all subsets of the nodes with indices below `end`. Each subset is combined with the nodes that
    /// are already in `chosen`.
    fn descend(&mut self, end: usize, value: f64, mask: u32) {
        let Some(node) = end.checked_sub(1) else {
            let (best, size, _) = self.best;
            if value > best || value == best && self.chosen.len() < size {
                self.best = (value, self.chosen.len(), mask);
            }
            return;
        };
        self.descend(node, value, mask);
        let value = value + self.graph.node(node) + self.graph.edges_to(node, self.chosen.iter().copied());
        self.chosen.push(node);
        self.descend(node, value, mask | 1 << node);
        self.chosen.pop();
    }
}
