//! # Which loads to cache
//! Three ways to the subset of loads whose nodes and edges weigh most (xie2013 problem 1, which is
//! NP-hard).
//!
//! | method         | optimum | time                | source                                        |
//! |----------------|---------|---------------------|-----------------------------------------------|
//! | [`heuristic`]  | no      | N cubed             | xie2013 section 5.3, algorithm 1              |
//! | [`ilp`]        | yes     | exponential at worst| xie2013 section 5.2                           |
//! | [`exhaustive`] | yes     | 2 to the N, a part  | every subset, to judge the other two          |
//!
//! The heuristic may end below zero, that is below caching nothing.

mod exhaustive;
mod heuristic;
mod ilp;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::Serialize;

pub use exhaustive::{MOST_EXHAUSTIVE, exhaustive};
pub use heuristic::{Step, heuristic};
pub use ilp::{IlpError, ilp};

use crate::graph::Graph;

/// How loads are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// [`heuristic`].
    Heuristic,
    /// [`ilp`].
    Ilp,
    /// [`exhaustive`].
    Exhaustive,
}

impl Method {
    /// All of them, in the order in which they are shown.
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

/// A decision for each load of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Whether the load is cached.
    pub cached: Vec<bool>,
    /// What the graph says of it: bytes saved.
    pub value: f64,
}

impl Choice {
    /// These decisions, with their value.
    #[must_use]
    pub fn new(graph: &Graph, cached: Vec<bool>) -> Self {
        let value = graph.value(&cached);
        Self { cached, value }
    }
}

/// Solves each part of a graph on its own and puts the decisions together.
fn by_parts<E>(graph: &Graph, solve: impl Fn(&Graph) -> Result<Vec<bool>, E>) -> Result<Choice, E> {
    let mut cached = vec![false; graph.len()];
    for nodes in graph.parts() {
        for (&node, decision) in nodes.iter().zip(solve(&graph.part(&nodes))?) {
            cached[node] = decision;
        }
    }
    Ok(Choice::new(graph, cached))
}
