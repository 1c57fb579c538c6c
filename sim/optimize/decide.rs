//! From what was measured to a decision for each load.

use std::collections::BTreeSet;

use compiler::characterise::{Bypassed, Characterisation};
use compiler::graph::Graph;
use compiler::rewrite::{Operator, rewrite};
use compiler::solve::{Choice, MOST_EXHAUSTIVE, Method, Step, exhaustive, heuristic, ilp};
use ptx::PtxError;

use super::Subject;

/// A subject with its graph and all solutions.
#[derive(Debug)]
pub struct Optimised<'a> {
    /// What was measured on.
    pub subject: &'a Subject,
    /// Each kernel, measured.
    pub kernels: Vec<Characterisation>,
    /// Where the traffic of bypassed loads comes from.
    pub how: Bypassed,
    /// The graph of all loads that can be chosen.
    pub graph: Graph,
    /// What the heuristic did.
    pub steps: Vec<Step>,
    /// Every method, in the order of [`Method::ALL`].
    pub solutions: Vec<Solution>,
    /// L2 bytes with every load cached.
    pub cache_all_bytes: u64,
    /// L2 bytes with every load bypassed.
    pub bypass_all_bytes: u64,
}

/// What a method came to.
#[derive(Debug)]
pub struct Solution {
    /// The method.
    pub method: Method,
    /// Its choice, or why it has none.
    pub choice: Result<Choice, String>,
    /// Bytes that all loads ask of the L2 with this choice.
    pub l2_bytes: Option<u64>,
}

/// What becomes of a load, and why.
#[derive(Debug, PartialEq, Eq)]
pub struct Decision {
    /// The operator that it is given; none if it stays as it is.
    pub operator: Option<Operator>,
    /// The reason, in words.
    pub reason: String,
}

impl<'a> Optimised<'a> {
    /// Solves the graph of what was measured by every method.
    #[must_use]
    pub fn new(subject: &'a Subject, kernels: Vec<Characterisation>, how: Bypassed) -> Self {
        let graph = Graph::measured(&kernels, how);
        let (by_heuristic, steps) = heuristic(&graph);
        let too_many = || format!("more than {MOST_EXHAUSTIVE} loads depend on each other: too many sets to try");
        let solved =
            [Ok(by_heuristic), ilp(&graph).map_err(|error| error.to_string()), exhaustive(&graph).ok_or_else(too_many)];
        let bytes = |cached: &[bool]| {
            let loads = graph.loads().iter().zip(cached).filter(|(_, cached)| **cached).map(|(load, _)| *load);
            subject.l2_bytes(&loads.collect::<BTreeSet<usize>>())
        };
        let all = |cached| bytes(&vec![cached; graph.len()]);
        let (cache_all_bytes, bypass_all_bytes) = (all(true), all(false));
        let solution = |(method, choice): (Method, Result<Choice, String>)| Solution {
            l2_bytes: choice.as_ref().ok().map(|choice| bytes(&choice.cached)),
            method,
            choice,
        };
        let solutions = Method::ALL.into_iter().zip(solved).map(solution).collect();
        Self { subject, kernels, how, graph, steps, solutions, cache_all_bytes, bypass_all_bytes }
    }

    /// The solution of a method.
    #[must_use]
    pub fn solution(&self, method: Method) -> &Solution {
        &self.solutions[method as usize]
    }

    /// A decision for each load of the text.
    ///
    /// # Errors
    /// Why the method came to none.
    pub fn decisions(&self, method: Method) -> Result<Vec<Decision>, String> {
        let choice = self.solution(method).choice.as_ref().map_err(Clone::clone)?;
        let loads = self.subject.loads.iter().enumerate();
        let decide = |(number, load): (usize, &compiler::rewrite::StaticLoad)| {
            let stays = |why: &str| Decision { operator: None, reason: format!("stays as it is: {why}") };
            match (load.fixed, self.graph.loads().binary_search(&number)) {
                (Some(why), _) => stays(why),
                (None, Err(_)) => stays("it never ran"),
                (None, Ok(node)) => self.decision(method, choice, node),
            }
        };
        Ok(loads.map(decide).collect())
    }

    fn decision(&self, method: Method, choice: &Choice, node: usize) -> Decision {
        let own = self.graph.node(node);
        let reason = if method == Method::Heuristic {
            let step = self.steps.iter().position(|step| step.node == node).unwrap_or_default();
            let Step { others, total, .. } = self.steps[step];
            format!(
                "step {}: caching it saves {total:.0} bytes, {own:.0} alone and {others:.0} with loads not bypassed by then",
                step + 1
            )
        } else {
            let others = self.graph.edges_to(node, (0..self.graph.len()).filter(|&other| choice.cached[other]));
            format!("caching it saves {:.0} bytes, {own:.0} alone and {others:.0} with the cached loads", own + others)
        };
        let operator = if choice.cached[node] { Operator::Ca } else { Operator::Cg };
        Decision { operator: Some(operator), reason }
    }

    /// The text with the operators of these decisions.
    ///
    /// # Errors
    /// If a load can have no other operator.
    pub fn text(&self, decisions: &[Decision]) -> Result<String, PtxError> {
        let operators: Vec<_> = decisions.iter().map(|decision| decision.operator).collect();
        rewrite(&self.subject.source, &operators)
    }
}
