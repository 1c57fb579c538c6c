//! Integer programming.

use std::fmt;

use microlp::{ComparisonOp, OptimizationDirection, Problem, SolveOptions, Variable};

use super::{Choice, by_parts, heuristic};
use crate::Triangle;
use crate::graph::Graph;

/// Nodes of the search after which it is given up: a number and not a time, so that every run gives
/// the same answer.
const MOST_NODES: u64 = 20_000;
/// Loads of a part, after [`settle`], beyond which the search is not begun: the relaxation alone takes
/// minutes.
const MOST_LOADS: usize = 64;

/// Why integer programming gave no proven optimum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IlpError {
    /// More loads depend on each other than it is tried for.
    TooLarge(usize),
    /// The search was given up.
    Unfinished,
    /// The solver says that it failed.
    Solver(String),
}

impl fmt::Display for IlpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(loads) => {
                write!(f, "{loads} loads depend on each other, expected at most {MOST_LOADS}: xie2013 takes ")?;
                f.write_str("integer programming for few loads only; the heuristic takes any number")
            }
            Self::Unfinished => write!(f, "no optimum is proven after {MOST_NODES} nodes of the search"),
            Self::Solver(message) => write!(f, "the solver failed: {message}"),
        }
    }
}

impl std::error::Error for IlpError {}

/// An optimum of the graph by integer programming; which one of several is up to the solver.
///
/// # Errors
/// If the graph is too large for it.
pub fn ilp(graph: &Graph) -> Result<Choice, IlpError> {
    by_parts(graph, |part| {
        let (mut cached, open) = settle(part);
        let rest = remaining(part, &cached, &open);
        // What is settled may have been all that held the rest together.
        for (&node, decision) in open.iter().zip(by_parts(&rest, program)?.cached) {
            cached[node] = decision;
        }
        Ok(cached)
    })
}

/// Decides the loads that every optimum agrees on, or at least one: those worth caching whatever
/// becomes of the others, and those never worth it. The rest is left open.
fn settle(graph: &Graph) -> (Vec<bool>, Vec<usize>) {
    let mut cached = vec![false; graph.len()];
    let mut open: Vec<usize> = (0..graph.len()).collect();
    loop {
        let reach = |node: usize| {
            let weight = graph.node(node) + graph.edges_to(node, (0..graph.len()).filter(|&other| cached[other]));
            let edges = open.iter().filter(|&&other| other != node).map(|&other| graph.edge(node, other));
            edges.fold((weight, weight), |(low, high), edge| (low + edge.min(0.0), high + edge.max(0.0)))
        };
        let decided = open.iter().enumerate().find_map(|(at, &node)| match reach(node) {
            (_, high) if high <= 0.0 => Some((at, false)),
            (low, _) if low > 0.0 => Some((at, true)),
            _ => None,
        });
        let Some((at, decision)) = decided else { return (cached, open) };
        cached[open.remove(at)] = decision;
    }
}

/// The graph of the open nodes, with the edges to those that are cached in their own weights.
fn remaining(graph: &Graph, cached: &[bool], open: &[usize]) -> Graph {
    let sure: Vec<usize> = (0..graph.len()).filter(|&node| cached[node]).collect();
    let weight = |&node: &usize| graph.node(node) + graph.edges_to(node, sure.iter().copied());
    let edges = Triangle::new(open.len(), |(i, j)| graph.edge(open[i], open[j]));
    Graph::new(open.iter().map(weight).collect(), edges)
}

/// The program of xie2013 section 5.2: N says whether a load is cached, M whether both of a pair are.
fn program(graph: &Graph) -> Result<Vec<bool>, IlpError> {
    if graph.len() > MOST_LOADS {
        return Err(IlpError::TooLarge(graph.len()));
    }
    let pairs = || Triangle::<f64>::pairs(graph.len()).filter(|&(i, j)| graph.edge(i, j) != 0.0);
    let weights = (0..graph.len()).map(|i| graph.node(i)).chain(pairs().map(|(i, j)| graph.edge(i, j)));
    // Bytes by the million would take the solver out of the range in which it keeps its precision.
    let largest = weights.fold(0.0, |largest: f64, weight| largest.max(weight.abs()));
    if largest == 0.0 {
        return Ok(vec![false; graph.len()]);
    }
    let mut problem = Problem::new(OptimizationDirection::Maximize);
    let n: Vec<Variable> = (0..graph.len()).map(|i| problem.add_binary_var(graph.node(i) / largest)).collect();
    let (start, _) = heuristic(graph);
    let one_if = |is: bool| if is { 1.0 } else { 0.0 };
    let mut hint: Vec<(Variable, f64)> = n.iter().zip(&start.cached).map(|(&n, &cached)| (n, one_if(cached))).collect();
    for (i, j) in pairs() {
        let m = problem.add_binary_var(graph.edge(i, j) / largest);
        problem.add_constraint([(m, 1.0), (n[i], -1.0)], ComparisonOp::Le, 0.0);
        problem.add_constraint([(m, 1.0), (n[j], -1.0)], ComparisonOp::Le, 0.0);
        problem.add_constraint([(m, 1.0), (n[i], -1.0), (n[j], -1.0)], ComparisonOp::Ge, -1.0);
        hint.push((m, one_if(start.cached[i] && start.cached[j])));
    }
    let mut options = SolveOptions::default();
    options.node_limit = Some(MOST_NODES);
    options.warm_start = Some(hint);
    let outcome = problem.solve_with(options).map_err(|error| IlpError::Solver(error.to_string()))?;
    match outcome.solution() {
        Some(solution) if outcome.is_optimal() => Ok(n.iter().map(|&n| solution.var_value(n) > 0.5).collect()),
        _ => Err(IlpError::Unfinished),
    }
}
