//! Decides for each load whether the L1 should cache it, based on the measurements.

use std::collections::BTreeSet;

use compiler::characterise::{BypassTrafficModel, KernelMetrics};
use compiler::graph::Graph;
use compiler::rewrite::{Operator, rewrite};
use compiler::solve::{Choice, MAX_EXHAUSTIVE_LOADS, Method, Step, exhaustive, heuristic, ilp};
use ptx::PtxError;

use super::Subject;

/// Optimization of a PTX file: its traffic reduction graph, and the choice of each method.
#[derive(Debug)]
pub struct Optimization<'a> {
    /// PTX file whose loads were measured.
    pub subject: &'a Subject,
    /// Measured metrics of the loads of each kernel.
    pub kernels: Vec<KernelMetrics>,
    /// Method of computing the L2 traffic of a load that bypasses the L1.
    pub how: BypassTrafficModel,
    /// Traffic reduction graph of all loads whose operator can be chosen.
    pub graph: Graph,
    /// Iterations of the greedy heuristic, in order.
    pub steps: Vec<Step>,
    /// Choices made by all methods, in the order of [`Method::ALL`].
    pub solutions: Vec<Solution>,
    /// L2 traffic with every load cached, in bytes.
    pub cache_all_bytes: u64,
    /// L2 traffic with every load bypassed, in bytes.
    pub bypass_all_bytes: u64,
}

/// Choice of the loads to cache, made by one method.
#[derive(Debug)]
pub struct Solution {
    /// Method that made the choice.
    pub method: Method,
    /// Loads that the method caches, or the reason why it made no choice.
    pub choice: Result<Choice, String>,
    /// L2 traffic of all loads with this choice, in bytes; `None` if there is no choice.
    pub l2_bytes: Option<u64>,
}

/// Decision whether the L1 caches a load, with its reason.
#[derive(Debug, PartialEq, Eq)]
pub struct Decision {
    /// New cache operator of the load; `None` if the load stays unchanged. With `.ca`, a load with `.cs` or
    /// `.lu` keeps its operator.
    pub operator: Option<Operator>,
    /// Reason for the decision, as text for the report.
    pub reason: String,
}

impl<'a> Optimization<'a> {
    /// Builds the traffic reduction graph from the measurements, and lets every method choose the loads to
    /// cache.
    #[must_use]
    pub fn new(subject: &'a Subject, kernels: Vec<KernelMetrics>, how: BypassTrafficModel) -> Self {
        let graph = Graph::from_kernels(&kernels, how);
        let (by_heuristic, steps) = heuristic(&graph);
        let too_many = || format!("more than {MAX_EXHAUSTIVE_LOADS} loads depend on each other: too many sets to try");
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

    /// Returns the choice that a method made.
    #[must_use]
    pub fn solution(&self, method: Method) -> &Solution {
        &self.solutions[method as usize]
    }

    /// Returns a decision for each load of the PTX file, according to one method.
    ///
    /// # Errors
    /// Returns the reason if the method made no choice.
    pub fn decisions(&self, method: Method) -> Result<Vec<Decision>, String> {
        let choice = self.solution(method).choice.as_ref().map_err(Clone::clone)?;
        let loads = self.subject.loads.iter().enumerate();
        let decide = |(number, load): (usize, &compiler::rewrite::StaticLoad)| {
            let stays = |why: &str| Decision { operator: None, reason: format!("unchanged: {why}") };
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
                "step {}: caching it saves {total:.0} bytes, {own:.0} alone and {others:.0} with loads still cached",
                step + 1
            )
        } else {
            let others = self.graph.edges_to(node, (0..self.graph.len()).filter(|&other| choice.cached[other]));
            format!("caching it saves {:.0} bytes, {own:.0} alone and {others:.0} with the cached loads", own + others)
        };
        let operator = if choice.cached[node] { Operator::Ca } else { Operator::Cg };
        Decision { operator: Some(operator), reason }
    }

    /// Rewrites the PTX file with the cache operators of the given decisions.
    ///
    /// # Errors
    ///
    /// Fails if the operator of a load must not be changed.
    pub fn text(&self, decisions: &[Decision]) -> Result<String, PtxError> {
        let operators: Vec<_> = decisions.iter().map(|decision| decision.operator).collect();
        rewrite(&self.subject.source, &operators)
    }
}
