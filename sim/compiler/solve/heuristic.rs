//! Greedy heuristic of xie2013 section 5.3, algorithm 1.

use serde::Serialize;

use super::Choice;
use crate::graph::Graph;

/// Record of one iteration of the heuristic: the node that it considered, and the weights that decided
/// whether to cache this node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Index of the node considered in this iteration.
    pub node: usize,
    /// Sum of the weights of the node's edges to nodes that are cached or still undecided.
    pub others: f64,
    /// Sum of `others` and the weight of the node itself. The node is cached if this sum is positive.
    pub total: f64,
}

/// Decides for each node whether to cache it. Each iteration takes the undecided node with the smallest sum
/// of edge weights; of several such nodes, it takes the last. Returns the decisions and the iterations in
/// order.
#[must_use]
pub fn heuristic(graph: &Graph) -> (Choice, Vec<Step>) {
    let count = graph.len();
    // For each node, true as long as its edges count in the sums: while the node is undecided, and also later
    // if it is cached. The edges of a bypassed node no longer count.
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

/// Returns the index and value of the minimum. If several values equal the minimum, returns the last of them.
fn last_least(values: impl Iterator<Item = f64>) -> Option<(usize, f64)> {
    values.enumerate().reduce(|best, next| if next.1 <= best.1 { next } else { best })
}
