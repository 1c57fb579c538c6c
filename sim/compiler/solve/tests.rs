//! | testpoint          | intent                                                                                     |
//! |--------------------|--------------------------------------------------------------------------------------------|
//! | worked example     | order, decisions and value of xie2013 figure 4 are reproduced to the digit                 |
//! | below bypass-all   | for one known graph, the heuristic's choice is worse than caching no load                  |
//! | ties               | of equal nodes the heuristic takes the last; of equal subsets the smallest wins            |
//! | random graphs      | integer programming finds the optimum of the exhaustive search; the heuristic is no better |
//! | components         | graphs too large for an exhaustive search are solved if their components are small         |

use proptest::test_runner::{RngAlgorithm, TestRng};

use super::*;
use crate::Triangle;

/// Creates a graph from node weights and edges `(i, j, weight)`. Nodes are counted from 1 as in xie2013.
fn graph(nodes: &[f64], edges: &[(usize, usize, f64)]) -> Graph {
    let mut table = Triangle::new(nodes.len(), |_| 0.0);
    edges.iter().for_each(|&(i, j, weight)| table.set(i - 1, j - 1, weight));
    Graph::new(nodes.into(), table)
}

/// Graph of xie2013 figure 4. The paper states only some of the weights. The remaining weights are chosen so
/// that the heuristic considers the nodes in the order that the paper describes.
fn figure_4() -> Graph {
    graph(&[3.0, 2.0, 1.0, 4.0], &[(1, 2, 6.0), (1, 3, -5.0), (1, 4, -2.0), (2, 3, -5.0), (2, 4, 1.0), (3, 4, -4.0)])
}

/// Generator of random integer weights between `-bound` and `bound`.
struct Weights(TestRng);

impl Weights {
    fn new() -> Self {
        Self(TestRng::deterministic_rng(RngAlgorithm::ChaCha))
    }

    fn next(&mut self, bound: u32) -> f64 {
        use proptest::prelude::Rng;
        f64::from(self.0.next_u32() % (2 * bound + 1)) - f64::from(bound)
    }

    fn graph(&mut self, count: usize, node_bound: u32, edge_bound: u32) -> Graph {
        let nodes = (0..count).map(|_| self.next(node_bound)).collect();
        Graph::new(nodes, Triangle::new(count, |_| self.next(edge_bound)))
    }
}

#[test]
fn the_worked_example_takes_its_nodes_in_the_order_of_the_paper() {
    let (choice, steps) = heuristic(&figure_4());
    let steps: Vec<_> = steps.iter().map(|step| (step.node + 1, step.others, step.total)).collect();
    assert_eq!(steps, [(3, -14.0, -13.0), (4, -1.0, 3.0), (1, 4.0, 7.0), (2, 7.0, 9.0)]);
    assert_eq!(choice, Choice { cached: vec![true, true, false, true], value: 14.0 });
    assert_eq!(exhaustive(&figure_4()), Some(choice.clone()));
    assert_eq!(ilp(&figure_4()), Ok(choice));
}

#[test]
fn the_heuristic_can_end_below_caching_nothing() {
    let edges = [(1, 2, -4.0), (1, 3, -1.0), (1, 4, -2.0), (2, 3, -4.0), (2, 4, 5.0), (3, 4, -3.0)];
    let graph = graph(&[4.0, -5.0, 3.0, -4.0], &edges);
    assert_eq!(heuristic(&graph).0, Choice { cached: vec![false, false, false, true], value: -4.0 });
    let best = Choice { cached: vec![true, false, true, false], value: 6.0 };
    assert_eq!((exhaustive(&graph), ilp(&graph)), (Some(best.clone()), Ok(best)));
}

#[test]
fn of_nodes_with_equal_edges_the_last_is_taken() {
    let (_, steps) = heuristic(&graph(&[1.0, 1.0, 1.0], &[]));
    assert_eq!(steps.iter().map(|step| step.node).collect::<Vec<_>>(), [2, 1, 0]);
}

#[test]
fn a_load_that_saves_nothing_is_bypassed() {
    let graph = graph(&[0.0], &[]);
    for choice in [heuristic(&graph).0, exhaustive(&graph).unwrap(), ilp(&graph).unwrap()] {
        assert_eq!(choice.cached, [false]);
    }
}

#[test]
fn of_equal_subsets_the_smallest_is_taken() {
    // Caching node 1 saves 3 bytes, and so does caching node 2 or both nodes. The single node with the lower
    // number is chosen.
    let graph = graph(&[3.0, 3.0], &[(1, 2, -3.0)]);
    assert_eq!(exhaustive(&graph).unwrap().cached, [true, false]);
}

#[test]
fn a_graph_without_loads_has_an_empty_choice() {
    let empty = graph(&[], &[]);
    let nothing = Choice { cached: Vec::new(), value: 0.0 };
    assert_eq!(heuristic(&empty), (nothing.clone(), Vec::new()));
    assert_eq!((exhaustive(&empty), ilp(&empty)), (Some(nothing.clone()), Ok(nothing)));
}

#[test]
fn on_ten_thousand_graphs_integer_programming_finds_the_optimum_and_the_heuristic_no_more() {
    let mut weights = Weights::new();
    let (mut equal, mut below_zero) = (0, 0);
    for round in 0..10_000 {
        let count = 1 + round % 9;
        let graph = weights.graph(count, 5, 6);
        let best = exhaustive(&graph).unwrap().value;
        let by_ilp = ilp(&graph).unwrap_or_else(|error| panic!("{error}: {graph:?}"));
        assert_eq!(by_ilp.value, best, "{graph:?}");
        let by_heuristic = heuristic(&graph).0.value;
        assert!(by_heuristic <= best, "{graph:?}");
        equal += u32::from(by_heuristic == best);
        below_zero += u32::from(by_heuristic < 0.0);
    }
    assert!(equal > 5_000 && below_zero > 0, "{equal} equal, {below_zero} below zero");
}

#[test]
fn larger_graphs_of_bytes_are_solved_to_the_same_optimum() {
    let mut weights = Weights::new();
    for count in [12, 14, 16] {
        let graph = weights.graph(count, 5_000_000, 900_000);
        let best = exhaustive(&graph).unwrap().value;
        assert_eq!(ilp(&graph).unwrap().value, best);
    }
}

#[test]
fn a_graph_of_many_loads_is_solved_part_by_part() {
    let mut table = Triangle::new(60, |_| 0.0);
    (0..60).step_by(2).for_each(|i| table.set(i, i + 1, -3.0));
    let nodes = (0..60).map(|i| if i % 2 == 0 { 2.0 } else { 1.0 }).collect();
    let graph = Graph::new(nodes, table);
    let expected: Vec<bool> = (0..60).map(|i| i % 2 == 0).collect();
    assert_eq!(exhaustive(&graph).unwrap(), Choice { cached: expected.clone(), value: 60.0 });
    assert_eq!(ilp(&graph).unwrap().cached, expected);
}

#[test]
fn more_loads_than_can_be_tried_are_refused() {
    let chain = Graph::new(vec![1.0; 25], Triangle::new(25, |(i, j)| if j == i + 1 { -1.5 } else { 0.0 }));
    assert_eq!(exhaustive(&chain), None);
    let dense = Graph::new(vec![1.0; 65], Triangle::new(65, |_| -0.5));
    let refused = ilp(&dense).unwrap_err();
    assert_eq!(refused, IlpError::TooLarge(65));
    assert!(refused.to_string().contains("65 loads depend on each other, expected at most 64"), "{refused}");
}
