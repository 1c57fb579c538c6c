//! # Which loads to cache
//! Selects the subset of loads with the largest sum of node and edge weights (xie2013 problem 1, which is
//! NP-hard). There are three methods.
//!
//! | method         | optimum | time                | source                                        |
//! |----------------|---------|---------------------|-----------------------------------------------|
//! | [`heuristic`]  | no      | N cubed             | xie2013 section 5.3, algorithm 1              |
//! | [`ilp`]        | yes     | exponential at worst| xie2013 section 5.2                           |
//! | [`exhaustive`] | yes     | 2^N per component   | tries every subset, as a reference            |
//!
//! The heuristic may return a subset with a negative value, which is worse than caching nothing.

mod exhaustive;
mod heuristic;
mod ilp;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::Serialize;

pub use exhaustive::{MAX_EXHAUSTIVE_LOADS, exhaustive};
pub use heuristic::{Step, heuristic};
pub use ilp::{IlpError, ilp};

use crate::graph::Graph;

/// Method by which the loads to cache are selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Greedy heuristic: [`heuristic`].
    Heuristic,
    /// Integer programming: [`ilp`].
    Ilp,
    /// Exhaustive search: [`exhaustive`].
    Exhaustive,
}

impl Method {
    /// Every method, in the order in which results are displayed.
    pub const ALL: [Self; 3] = [Self::Heuristic, Self::Ilp, Self::Exhaustive];
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Heuristic => "heuristic",
            Self::Ilp => "ilp",
            Self::Exhaustive => "exhaustive",
        })
    }
}

/// Decision for each load of a graph whether to cache it.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// For each load, true if it is cached.
    pub cached: Vec<bool>,
    /// L2 traffic in bytes that the decisions save, as predicted by the graph.
    pub value: f64,
}

impl Choice {
    /// Creates a choice from the given decisions, and computes the bytes that it saves.
    #[must_use]
    pub fn new(graph: &Graph, cached: Vec<bool>) -> Self {
        let value = graph.value(&cached);
        Self { cached, value }
    }
}

/// Solves each connected component of a graph separately and merges the decisions.
fn by_parts<E>(graph: &Graph, solve: impl Fn(&Graph) -> Result<Vec<bool>, E>) -> Result<Choice, E> {
    let mut cached = vec![false; graph.len()];
    for nodes in graph.parts() {
        for (&node, decision) in nodes.iter().zip(solve(&graph.part(&nodes))?) {
            cached[node] = decision;
        }
    }
    Ok(Choice::new(graph, cached))
}
