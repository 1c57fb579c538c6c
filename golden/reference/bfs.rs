//! CPU reference: level of every node in a breadth-first search, computed with a queue.

use std::collections::VecDeque;

use super::{Arguments, Array, ElementType, ExpectedOutput, Reference, ReferenceError, count, index, input};

const UNREACHED: i128 = -1;

/// Level of each of `nodes` nodes: the number of edges on the shortest path from `source`, or -1 if there is
/// no path. Node v has `degree[v]` edges. Their end nodes are listed in `edges`, from index `first[v]` on.
pub(super) static BFS: Reference = Reference {
    name: "bfs",
    summary: "level of every node from a source, -1 if there is no path",
    inputs: &[input("first", ElementType::I32), input("degree", ElementType::I32), input("edges", ElementType::I32)],
    parameters: &[index("source"), count("nodes")],
    output: ElementType::I32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [source, nodes] = ["source", "nodes"].map(|name| arguments.count(name));
    let first = arguments.input("first", nodes, "nodes")?;
    let degree = arguments.input("degree", nodes, "nodes")?;
    let edges = arguments.input("edges", 0, "any")?;
    let mut level = vec![UNREACHED; nodes];
    let mut queue = VecDeque::new();
    if source < nodes {
        level[source] = 0;
        queue.push_back(source);
    }
    while let Some(node) = queue.pop_front() {
        let begin = first.integer(node);
        for edge in begin..begin + degree.integer(node) {
            let neighbour = follow(arguments, edges, node, edge, nodes)?;
            if level[neighbour] == UNREACHED {
                level[neighbour] = level[node] + 1;
                queue.push_back(neighbour);
            }
        }
    }
    Ok(ExpectedOutput::exact(Array::from_integers(ElementType::I32, level)))
}

/// Returns the node to which an edge leads, or an error if the edge or the node does not exist.
fn follow(
    arguments: &Arguments<'_>,
    edges: &Array,
    node: usize,
    edge: i128,
    nodes: usize,
) -> Result<usize, ReferenceError> {
    let idx = usize::try_from(edge).ok().filter(|&idx| idx < edges.len());
    let Some(idx) = idx else {
        let last = edges.len().saturating_sub(1);
        return Err(
            arguments.error(format!("node {node} has edge {edge}, expected 0 to {last}, the indices of input `edges`"))
        );
    };
    let neighbour = edges.integer(idx);
    let inside = usize::try_from(neighbour).ok().filter(|&n| n < nodes);
    inside.ok_or_else(|| {
        let last = nodes - 1;
        arguments.error(format!("edges[{idx}] is {neighbour}, expected 0 to {last}: there are {nodes} nodes"))
    })
}
