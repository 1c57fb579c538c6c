//! The heuristic.

use serde::Serialize;

use super::Choice;
use crate::graph::Graph;

/// One iteration: the node that was taken, and why it was cached or bypassed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The node.
    pub node: usize,
    /// Weight of its edges to nodes that are cached or not decided yet.
    pub others: f64,
    /// That and its own weight: cached if positive.
    pub total: f64,
}

/// Takes the node with the least edges until none is left; steps in their order. Of nodes with equal
/// edges the last one is taken.
#[must_use]
pub fn heuristic(graph: &Graph) -> (Choice, Vec<Step>) {
    let count = graph.len();
    // A bypassed node is gone from the graph; a cached one goes on to count for the others.
    let mut is_there = vec![true; count];
    let mut left: Vec<usize> = (0..count).collect();
    let mut steps = Vec::with_capacity(count);
    let others = |node: usize, is_there: &[bool]| graph.edges_to(node, (0..count).filter(|&other| is_there[other]));
    while let Some((at, least)) = last_least(left.iter().map(|&node| others(node, &is_there))) {
        let node = left.remove(at);
        let total = least + graph.node(node);
        is_there[node] = total > 0.0;
        steps.push(Step { node, others: least, total });
    }
    (Choice::new(graph, is_there), steps)
}

/// Place and value of the last of the least values.
fn last_least(values: impl Iterator<Item = f64>) -> Option<(usize, f64)> {
    values.enumerate().reduce(|best, next| if next.1 <= best.1 { next } else { best })
}
