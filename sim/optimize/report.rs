//! Optimization report as JSON, schema 1.

use std::path::Path;

use compiler::Triangle;
use compiler::characterise::{BypassTrafficModel, KernelMetrics};
use compiler::rewrite::Operator;
use compiler::solve::Method;
use serde::Serialize;

use super::{Decision, Optimization};
use crate::config::ResolvedMachine;

/// Optimization report: all measurements and decisions.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    schema: u32,
    launch: String,
    ptx: &'a str,
    machine: &'a str,
    designs: &'a [String],
    config_hash: String,
    method: Method,
    t_off: BypassTrafficModel,
    profile: &'static str,
    l1: L1,
    loads: Vec<Load<'a>>,
    kernels: Vec<Kernel<'a>>,
    graph: Graph,
    cache_all: Extreme,
    bypass_all: Extreme,
    solutions: Vec<Solution<'a>>,
}

#[derive(Debug, Serialize)]
struct L1 {
    bytes: u32,
    ways: u32,
    line_bytes: u32,
}

/// Load of the PTX file, with the decision about it.
#[derive(Debug, Serialize)]
struct Load<'a> {
    load: usize,
    function: &'a str,
    line: u32,
    text: &'a str,
    /// New cache operator; `null` if the load stays unchanged. With `ca`, a load with `.cs` or `.lu` keeps
    /// its operator.
    operator: Option<Operator>,
    reason: &'a str,
}

#[derive(Debug, Serialize)]
struct Kernel<'a> {
    kernel: &'a str,
    /// Load efficiency (ratio of useful to transferred bytes) when every load is cached. `e_off` is the load
    /// efficiency when every load bypasses the L1.
    e_on: Option<f64>,
    e_off: Option<f64>,
    loads: Vec<LoadMeasurement>,
    pairs: Vec<Pair>,
}

/// Measurements of a load in the run in which only this load is cached.
#[derive(Debug, Serialize)]
struct LoadMeasurement {
    load: usize,
    accesses: u64,
    hits: u64,
    /// Number of hits in the untimed model. Present only if the number `hits` was measured on the clocked
    /// machine.
    untimed_hits: Option<u64>,
    sectors: u64,
    t_on: u64,
    t_off_uniform: f64,
    t_off_exact: f64,
}

/// Pair of loads, measured in the run in which only these two loads are cached.
#[derive(Debug, Serialize)]
struct Pair {
    loads: [usize; 2],
    hits: u64,
    gain: i64,
}

#[derive(Debug, Serialize)]
struct Graph {
    nodes: Vec<Node>,
    /// Edges of the traffic reduction graph whose weight is not zero.
    edges: Vec<Edge>,
}

#[derive(Debug, Serialize)]
struct Node {
    load: usize,
    weight: f64,
}

#[derive(Debug, Serialize)]
struct Edge {
    loads: [usize; 2],
    weight: f64,
}

/// Result of one of the two extreme choices: all loads cached, or none cached.
#[derive(Debug, Serialize)]
struct Extreme {
    objective: f64,
    l2_bytes: u64,
}

#[derive(Debug, Serialize)]
struct Solution<'a> {
    method: Method,
    /// L2 traffic in bytes that this choice saves compared with caching no load, as predicted by the traffic
    /// reduction graph. `null` if the method made no choice.
    objective: Option<f64>,
    /// L2 traffic with this choice in bytes, according to the model of the caches.
    l2_bytes: Option<u64>,
    cached: Option<Vec<usize>>,
    refused: Option<&'a str>,
}

impl<'a> Report<'a> {
    /// Creates the report on the decisions of one method. If the clocked machine was used, `untimed` holds
    /// the measurements of the untimed model.
    #[must_use]
    pub fn new(
        launch: &Path,
        resolved: &'a ResolvedMachine,
        optimised: &'a Optimization<'a>,
        method: Method,
        decisions: &'a [Decision],
        untimed: Option<&[KernelMetrics]>,
    ) -> Self {
        let (subject, graph) = (optimised.subject, &optimised.graph);
        let l1 = &resolved.config.l1;
        let load = |(number, (load, decision)): (usize, (&'a compiler::rewrite::StaticLoad, &'a Decision))| Load {
            load: number,
            function: &load.function,
            line: load.line,
            text: &load.text,
            operator: decision.operator,
            reason: &decision.reason,
        };
        let pairs = Triangle::<f64>::pairs(graph.len());
        let edges = pairs.filter(|&(i, j)| graph.edge(i, j) != 0.0);
        let name = |i: usize| graph.loads()[i];
        Self {
            schema: 1,
            launch: launch.display().to_string(),
            ptx: &subject.source.name,
            machine: &resolved.machine.name,
            designs: &resolved.designs,
            config_hash: resolved.hash(),
            method,
            t_off: optimised.how,
            profile: if untimed.is_some() { "clocked" } else { "untimed" },
            l1: L1 { bytes: l1.sets * l1.ways * l1.line_bytes, ways: l1.ways, line_bytes: l1.line_bytes },
            loads: subject.loads.iter().zip(decisions).enumerate().map(load).collect(),
            kernels: subject
                .kernels()
                .zip(&optimised.kernels)
                .enumerate()
                .map(|(i, (name, kernel))| Kernel::new(name, kernel, untimed.map(|untimed| &untimed[i])))
                .collect(),
            graph: Graph {
                nodes: (0..graph.len()).map(|i| Node { load: name(i), weight: graph.node(i) }).collect(),
                edges: edges.map(|(i, j)| Edge { loads: [name(i), name(j)], weight: graph.edge(i, j) }).collect(),
            },
            cache_all: Extreme {
                objective: graph.value(&vec![true; graph.len()]),
                l2_bytes: optimised.cache_all_bytes,
            },
            bypass_all: Extreme { objective: 0.0, l2_bytes: optimised.bypass_all_bytes },
            solutions: optimised.solutions.iter().map(|solution| Solution::new(solution, graph)).collect(),
        }
    }
}

impl<'a> Kernel<'a> {
    fn new(kernel: &'a str, measured: &KernelMetrics, untimed: Option<&KernelMetrics>) -> Self {
        let load = |(i, &load): (usize, &usize)| LoadMeasurement {
            load,
            accesses: measured.alone[i].accesses,
            hits: measured.alone[i].hits,
            untimed_hits: untimed.map(|untimed| untimed.alone[i].hits),
            sectors: measured.alone[i].sectors,
            t_on: measured.cached_bytes(i),
            t_off_uniform: measured.bypassed_bytes(i, BypassTrafficModel::Uniform),
            t_off_exact: measured.bypassed_bytes(i, BypassTrafficModel::Exact),
        };
        let loads = &measured.loads;
        let pair = |(i, j): (usize, usize)| Pair {
            loads: [loads[i], loads[j]],
            hits: measured.pair_hits.get(i, j),
            gain: measured.gain(i, j),
        };
        Self {
            kernel,
            e_on: measured.all_cached.efficiency(),
            e_off: measured.all_bypassed.efficiency(),
            loads: loads.iter().enumerate().map(load).collect(),
            pairs: Triangle::<u64>::pairs(loads.len()).map(pair).collect(),
        }
    }
}

impl<'a> Solution<'a> {
    fn new(solution: &'a super::Solution, graph: &compiler::graph::Graph) -> Self {
        let choice = solution.choice.as_ref().ok();
        let cached = choice.map(|choice| {
            let all = graph.loads().iter().zip(&choice.cached);
            all.filter(|(_, cached)| **cached).map(|(load, _)| *load).collect()
        });
        Self {
            method: solution.method,
            objective: choice.map(|choice| choice.value),
            l2_bytes: solution.l2_bytes,
            cached,
            refused: solution.choice.as_ref().err().map(String::as_str),
        }
    }
}
