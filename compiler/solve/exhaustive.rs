//! Every subset.

use super::{Choice, by_parts};
use crate::graph::Graph;

/// Loads of a part beyond which not every subset is tried: 16 million take a second.
pub const MOST_EXHAUSTIVE: usize = 24;

/// The best subset of all; of equal ones the smallest, and of these the first as a binary number whose
/// lowest digit is load 0. `None` if a part of the graph has more than [`MOST_EXHAUSTIVE`] loads.
#[must_use]
pub fn exhaustive(graph: &Graph) -> Option<Choice> {
    let try_all = |part: &Graph| {
        if part.len() > MOST_EXHAUSTIVE {
            return Err(());
        }
        let mut search = Search { graph: part, chosen: Vec::new(), best: (0.0, 0, 0) };
        search.descend(part.len(), 0.0, 0);
        let (.., mask) = search.best;
        Ok((0..part.len()).map(|node| mask >> node & 1 != 0).collect())
    };
    by_parts(graph, try_all).ok()
}

/// Depth first: the highest node left out, then taken in, so that masks come in ascending order.
struct Search<'a> {
    graph: &'a Graph,
    chosen: Vec<usize>,
    /// Value, number of loads and mask of the best subset so far.
    best: (f64, usize, u32),
}

impl Search<'_> {
    /// Tries all subsets of the nodes below `end` with those that are chosen above.
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
