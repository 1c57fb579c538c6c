//! Greedy heuristic of xie2013 section 5.3, algorithm 1.

use serde::Serialize;

use super::Choice;
use crate::graph::Graph;

/// One iteration of the heuristic: the node taken, and the weights that decided between caching and bypassing
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Index of the node.
    pub node: usize,
    /// Sum of the edges to nodes that are cached or still undecided.
    pub others: f64,
    /// Sum of `others` and the weight of the node itself: the node is cached if this is positive.
    pub total: f64,
}

/// Repeatedly takes the node with the smallest sum of edges and decides whether to cache it, until no node is
/// left. Of nodes with equal sums the last one is taken. Returns the choice and the steps in order.
#[must_use]
pub fn heuristic(graph: &Graph) -> (Choice, Vec<Step>) {
    let count = graph.len();
    // A bypassed node leaves the graph. The edges to a cached node still count for the undecided nodes.
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

/// Returns the index and value of the last minimum.
fn last_least(values: impl Iterator<Item = f64>) -> Option<(usize, f64)> {
    values.enumerate().reduce(|best, next| if next.1 <= best.1 { next } else { best })
}
