//! Selection of the loads to cache by integer linear programming, as in xie2013 section 5.2.

use std::fmt;

use microlp::{ComparisonOp, OptimizationDirection, Problem, SolveOptions, Variable};

use super::{Choice, by_parts, heuristic};
use crate::Triangle;
use crate::graph::Graph;

/// Maximum number of branch-and-bound nodes before the search gives up. A node limit, unlike a time limit,
/// makes every run give the same answer.
const MAX_NODES: u64 = 20_000;
/// Maximum number of loads in a connected component of the loads that [`settle`] leaves undecided. The search
/// of a larger component is not started, because solving its linear relaxation alone takes minutes.
const MAX_LOADS: usize = 64;

/// Reason why integer programming found no proven optimum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IlpError {
    /// A connected component has too many loads for the solver; contains the number of loads.
    TooLarge(usize),
    /// The search gave up at its node limit.
    Unfinished,
    /// The solver reported an error; holds its message.
    Solver(String),
}

impl fmt::Display for IlpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(loads) => {
                write!(f, "{loads} loads depend on each other, expected at most {MAX_LOADS}: xie2013 takes ")?;
                f.write_str("integer programming for few loads only; the heuristic takes any number")
            }
            Self::Unfinished => write!(f, "no optimum is proven after {MAX_NODES} nodes of the search"),
            Self::Solver(message) => write!(f, "the solver failed: {message}"),
        }
    }
}

impl std::error::Error for IlpError {}

/// Returns a subset of loads that saves the most traffic, found by integer programming. If several subsets
/// are optimal, the solver picks one of them.
///
/// # Errors
/// Returns an error if a connected component is too large, if the search gives up, or if the solver fails.
pub fn ilp(graph: &Graph) -> Result<Choice, IlpError> {
    by_parts(graph, |part| {
        let (mut cached, open) = settle(part);
        let rest = remaining(part, &cached, &open);
        // The graph of the undecided nodes may have more connected components than the original graph, so
        // each is solved separately.
        for (&node, decision) in open.iter().zip(by_parts(&rest, program)?.cached) {
            cached[node] = decision;
        }
        Ok(cached)
    })
}

/// Decides the loads that need no search. Returns the decision for each load, and the loads that remain
/// undecided. A load is decided if the decisions about the remaining loads cannot matter: it is cached if
/// this saves traffic in any case, and bypassed if caching it can never save traffic. At least one optimum
/// agrees with all these decisions.
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

/// Returns the graph of the undecided nodes. The weight of each node includes its edges to the nodes that are
/// already cached.
fn remaining(graph: &Graph, cached: &[bool], open: &[usize]) -> Graph {
    let sure: Vec<usize> = (0..graph.len()).filter(|&node| cached[node]).collect();
    let weight = |&node: &usize| graph.node(node) + graph.edges_to(node, sure.iter().copied());
    let edges = Triangle::new(open.len(), |(i, j)| graph.edge(open[i], open[j]));
    Graph::new(open.iter().map(weight).collect(), edges)
}

/// Solves the integer program of xie2013 section 5.2. In the paper's notation, variable N is 1 if a load is
/// cached. Variable M is 1 if both loads of a pair are cached.
fn program(graph: &Graph) -> Result<Vec<bool>, IlpError> {
    if graph.len() > MAX_LOADS {
        return Err(IlpError::TooLarge(graph.len()));
    }
    let pairs = || Triangle::<f64>::pairs(graph.len()).filter(|&(i, j)| graph.edge(i, j) != 0.0);
    let weights = (0..graph.len()).map(|i| graph.node(i)).chain(pairs().map(|(i, j)| graph.edge(i, j)));
    // All weights are divided by the largest one, since the solver would lose precision with weights of
    // millions of bytes.
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
    options.node_limit = Some(MAX_NODES);
    options.warm_start = Some(hint);
    let outcome = problem.solve_with(options).map_err(|error| IlpError::Solver(error.to_string()))?;
    match outcome.solution() {
        Some(solution) if outcome.is_optimal() => Ok(n.iter().map(|&n| solution.var_value(n) > 0.5).collect()),
        _ => Err(IlpError::Unfinished),
    }
}
