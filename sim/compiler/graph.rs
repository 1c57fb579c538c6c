//! # Traffic reduction graph
//! Predicts how many bytes of L2 traffic are saved by caching a set of loads in the L1 (xie2013 definition
//! 1). A node stands for a load; its weight is the number of bytes saved by caching only this load. An edge
//! stands for a pair of loads. Its weight is the number of bytes saved by caching both, minus the two node
//! weights. The bytes saved by a set of cached loads are estimated as the sum of the nodes and edges within
//! the set.
//!
//! A graph may contain the loads of several kernels. The L1 is invalidated between kernel launches, so edges
//! between loads of different kernels have weight zero. The loads of different kernels are in different
//! connected components.

use std::fmt::Write;

use crate::Triangle;
use crate::characterise::{BypassTrafficModel, KernelMetrics};

/// Complete graph with weighted nodes and edges.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    loads: Vec<usize>,
    nodes: Vec<f64>,
    edges: Triangle<f64>,
}

impl Graph {
    /// Creates a graph of the loads `0..nodes.len()`. `nodes` holds the node weights, and `edges` the weights
    /// of all pairs.
    ///
    /// # Panics
    /// Panics if `edges` is for a different number of loads than `nodes`.
    #[must_use]
    pub fn new(nodes: Vec<f64>, edges: Triangle<f64>) -> Self {
        assert!(edges.is_for(nodes.len()), "one edge for each pair of {} nodes", nodes.len());
        Self { loads: (0..nodes.len()).collect(), nodes, edges }
    }

    /// Creates the graph of the loads of several kernels. If a load occurs in several kernels, its weights
    /// are added.
    #[must_use]
    pub fn from_kernels(kernels: &[KernelMetrics], how: BypassTrafficModel) -> Self {
        let mut loads: Vec<usize> = kernels.iter().flat_map(|kernel| &kernel.loads).copied().collect();
        loads.sort_unstable();
        loads.dedup();
        let count = loads.len();
        let mut graph = Self { loads, nodes: vec![0.0; count], edges: Triangle::new(count, |_| 0.0) };
        for kernel in kernels {
            let at: Vec<usize> =
                kernel.loads.iter().map(|load| graph.loads.partition_point(|other| other < load)).collect();
            for (i, &node) in at.iter().enumerate() {
                graph.nodes[node] += kernel.bypassed_bytes(i, how) - kernel.cached_bytes(i) as f64;
            }
            for (i, j) in Triangle::<f64>::pairs(at.len()) {
                let saved = (kernel.gain(i, j) * kernel.line_bytes.cast_signed()) as f64;
                graph.edges.set(at[i], at[j], graph.edge(at[i], at[j]) + saved);
            }
        }
        graph
    }

    /// Indices of the graph's loads among all loads of the PTX file, ascending.
    #[must_use]
    pub fn loads(&self) -> &[usize] {
        &self.loads
    }

    /// Number of loads in the graph.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True if the graph has no loads.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the bytes saved by caching load `i` alone.
    #[must_use]
    pub fn node(&self, i: usize) -> f64 {
        self.nodes[i]
    }

    /// Returns the weight of the edge between two loads: the bytes saved by caching both, minus the bytes
    /// saved by caching each of them alone.
    #[must_use]
    pub fn edge(&self, i: usize, j: usize) -> f64 {
        self.edges.get(i, j)
    }

    /// Returns the sum of the edge weights between load `i` and the loads in `others`; `i` itself is skipped.
    #[must_use]
    pub fn edges_to(&self, i: usize, others: impl IntoIterator<Item = usize>) -> f64 {
        // The sum of an empty iterator is -0.0; adding it to 0.0 gives 0.0.
        0.0 + others.into_iter().filter(|&other| other != i).map(|other| self.edge(i, other)).sum::<f64>()
    }

    /// Returns the bytes saved by caching the loads whose flag in `cached` is true.
    ///
    /// # Panics
    /// Panics if `cached` does not have one flag for each load.
    #[must_use]
    pub fn value(&self, cached: &[bool]) -> f64 {
        assert_eq!(cached.len(), self.len(), "one decision for each load");
        let chosen: Vec<usize> = (0..self.len()).filter(|&i| cached[i]).collect();
        let with_those_before = |(n, &i): (usize, &usize)| self.node(i) + self.edges_to(i, chosen[..n].iter().copied());
        0.0 + chosen.iter().enumerate().map(with_those_before).sum::<f64>()
    }

    /// Returns the connected components of the graph, ordered by their first node. Edges of weight zero are
    /// ignored. The best choice of loads can be found separately for each component.
    #[must_use]
    pub fn parts(&self) -> Vec<Vec<usize>> {
        let mut left: Vec<usize> = (0..self.len()).collect();
        let mut parts = Vec::new();
        while !left.is_empty() {
            let mut part = vec![left.remove(0)];
            let mut looked_at = 0;
            while let Some(&node) = part.get(looked_at) {
                let (near, far) = left.iter().partition(|&&other| self.edge(node, other) != 0.0);
                left = far;
                part.extend::<Vec<usize>>(near);
                looked_at += 1;
            }
            part.sort_unstable();
            parts.push(part);
        }
        parts
    }

    /// Returns the subgraph that contains only `nodes` and the edges among them.
    #[must_use]
    pub fn part(&self, nodes: &[usize]) -> Self {
        Self {
            loads: nodes.iter().map(|&i| self.loads[i]).collect(),
            nodes: nodes.iter().map(|&i| self.node(i)).collect(),
            edges: Triangle::new(nodes.len(), |(i, j)| self.edge(nodes[i], nodes[j])),
        }
    }

    /// Returns the graph as Graphviz text. Nodes are labeled with the numbers of their loads and are filled
    /// if the load is cached. Edges of weight zero are omitted. Edges with a negative weight, where caching
    /// both loads costs traffic, are dashed.
    #[must_use]
    pub fn dot(&self, cached: &[bool]) -> String {
        let mut text = "graph traffic_reduction {\n    node [shape=circle];\n".to_owned();
        for (i, load) in self.loads.iter().enumerate() {
            let style = if cached[i] { ", style=filled" } else { "" };
            let _ = writeln!(text, "    v{load} [label=\"{load}\\n{:.0}\"{style}];", self.node(i));
        }
        for (i, j) in Triangle::<f64>::pairs(self.len()).filter(|&(i, j)| self.edge(i, j) != 0.0) {
            let (weight, from, to) = (self.edge(i, j), self.loads[i], self.loads[j]);
            let style = if weight < 0.0 { ", style=dashed" } else { "" };
            let _ = writeln!(text, "    v{from} -- v{to} [label=\"{weight:.0}\"{style}];");
        }
        text + "}\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::characterise::{LoadMetrics, TransferCounts};

    fn path() -> Graph {
        // In this graph, loads 0 and 2 form one component; loads 1 and 3 have no edges.
        Graph::new(vec![1.0, 2.0, 4.0, 8.0], Triangle::new(4, |pair| if pair == (0, 2) { -16.0 } else { 0.0 }))
    }

    fn kernel(loads: [usize; 2], hits: [u64; 2], together: u64) -> KernelMetrics {
        let load = |hits| LoadMetrics { accesses: 10, hits, sectors: 20 };
        KernelMetrics {
            line_bytes: 128,
            loads: loads.into(),
            alone: hits.map(load).into(),
            pair_hits: Triangle::new(2, |_| together),
            all_cached: TransferCounts { useful_bytes: 640, transferred_bytes: 2560 },
            all_bypassed: TransferCounts { useful_bytes: 640, transferred_bytes: 1280 },
        }
    }

    #[test]
    fn a_value_is_that_of_the_nodes_and_of_the_edges_among_them() {
        assert_eq!(path().value(&[true, true, true, false]), 1.0 + 2.0 + 4.0 - 16.0);
        assert_eq!(path().value(&[true, false, false, true]), 9.0);
        assert_eq!(path().value(&[false; 4]).to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn weights_are_bytes_saved() {
        let graph = Graph::from_kernels(&[kernel([3, 5], [6, 0], 9)], BypassTrafficModel::Uniform);
        // Expected node weights: bytes moved if the load bypasses the L1, minus bytes moved if it is cached.
        // Bypassed, each load moves two 32-byte sectors for each of its 10 lines (640 bytes). Cached, load 0
        // moves 4 lines of 128 bytes (512 bytes), and load 1 moves 10 lines (1280 bytes).
        assert_eq!((graph.node(0), graph.node(1)), (640.0 - 512.0, 640.0 - 1280.0));
        assert_eq!(graph.edge(0, 1), 3.0 * 128.0);
        assert_eq!(graph.loads(), [3, 5]);
    }

    #[test]
    fn a_load_of_two_kernels_counts_in_both_and_kernels_have_no_edge_between_them() {
        let graph =
            Graph::from_kernels(&[kernel([0, 2], [6, 0], 9), kernel([1, 2], [0, 6], 3)], BypassTrafficModel::Exact);
        assert_eq!(graph.loads(), [0, 1, 2]);
        assert_eq!([0, 1, 2].map(|i| graph.node(i)), [128.0, -640.0, -640.0 + 128.0]);
        assert_eq!((graph.edge(0, 1), graph.edge(0, 2), graph.edge(1, 2)), (0.0, 384.0, -384.0));
    }

    #[test]
    fn parts_are_what_edges_hold_together() {
        assert_eq!(path().parts(), [vec![0, 2], vec![1], vec![3]]);
        let part = path().part(&[0, 2]);
        assert_eq!((part.node(1), part.edge(0, 1), part.loads()), (4.0, -16.0, &[0, 2][..]));
    }

    #[test]
    fn the_dot_text_has_a_line_a_node_and_a_line_an_edge_that_weighs_something() {
        let text = path().dot(&[true, false, false, false]);
        let expected = "graph traffic_reduction {\n    node [shape=circle];\n    v0 [label=\"0\\n1\", style=filled];\n    \
                        v1 [label=\"1\\n2\"];\n    v2 [label=\"2\\n4\"];\n    v3 [label=\"3\\n8\"];\n    \
                        v0 -- v2 [label=\"-16\", style=dashed];\n}\n";
        assert_eq!(text, expected);
    }
}
