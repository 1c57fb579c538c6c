//! CPU reference: shortest paths from one node to all others.

use super::{Arguments, Array, ElementType, ExpectedOutput, Reference, ReferenceError, count, index, input};

/// Distance of an unreachable node. It is greater than the length of any path.
const UNREACHED: i128 = 1 << 29;

/// Distance of each of `nodes` nodes: the sum of the weights on the shortest path from `source`, or 2^29 if
/// there is no path. `degree[v]` edges lead to node v. Their start nodes are listed in `from`, from index
/// `first[v]` on.
pub(super) static SSSP: Reference = Reference {
    name: "sssp",
    summary: "length of the shortest path from a source to every node, 2^29 if there is none",
    inputs: &[
        input("first", ElementType::I32),
        input("degree", ElementType::I32),
        input("from", ElementType::I32),
        input("weight", ElementType::I32),
    ],
    parameters: &[index("source"), count("nodes")],
    output: ElementType::I32,
    compute,
};

/// Edge: start node, end node, weight.
type Edge = (usize, usize, i128);

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [source, nodes] = ["source", "nodes"].map(|name| arguments.count(name));
    let edges = edges(arguments, nodes)?;
    let mut distance = vec![UNREACHED; nodes];
    if source < nodes {
        distance[source] = 0;
    }
    // Bellman-Ford algorithm. The iteration ends, because a shortest path has fewer edges than there are
    // nodes.
    let mut changed = true;
    while changed {
        changed = false;
        for &(from, to, weight) in &edges {
            if distance[from] + weight < distance[to] {
                distance[to] = distance[from] + weight;
                changed = true;
            }
        }
    }
    Ok(ExpectedOutput::exact(Array::from_integers(ElementType::I32, distance)))
}

fn edges(arguments: &Arguments<'_>, nodes: usize) -> Result<Vec<Edge>, ReferenceError> {
    let first = arguments.input("first", nodes, "nodes")?;
    let degree = arguments.input("degree", nodes, "nodes")?;
    let from = arguments.input("from", 0, "any")?;
    let weight = arguments.input("weight", from.len(), "one per element of `from`")?;
    let mut edges = Vec::new();
    for node in 0..nodes {
        let begin = first.integer(node);
        for edge in begin..begin + degree.integer(node) {
            let edge = arguments.check_index(format_args!("an edge of node {node}"), edge, from.len())?;
            let before = arguments.check_index(format_args!("from[{edge}]"), from.integer(edge), nodes)?;
            let cost = weight.integer(edge);
            if cost < 0 {
                let reason =
                    format!("weight[{edge}] is {cost}, expected 0 or more: paths would have no shortest length");
                return Err(arguments.error(reason));
            }
            edges.push((before, node, cost));
        }
    }
    Ok(edges)
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{integers, run, values};
    use super::super::{ExpectedOutput, ReferenceError};

    /// Computes the distances in a graph with the edges 0 -> 1 (weight 7), 0 -> 2 (1), 2 -> 1 (3) and 1 -> 3
    /// (1). No edge leads to node 4.
    fn sssp(source: usize, from: &[i128], weight: &[i128]) -> Result<ExpectedOutput, ReferenceError> {
        let inputs = [
            ("first", &integers(&[0, 0, 2, 3, 4])),
            ("degree", &integers(&[0, 2, 1, 1, 0])),
            ("from", &integers(from)),
            ("weight", &integers(weight)),
        ];
        run("sssp", &inputs, &[("source", Count(source)), ("nodes", Count(5))])
    }

    #[test]
    fn sssp_takes_the_way_round_where_it_is_shorter() {
        let far = f64::from(1 << 29);
        let from = |source| values(&sssp(source, &[0, 2, 0, 1], &[7, 3, 1, 1]).unwrap());
        assert_eq!(from(0), [0.0, 4.0, 1.0, 5.0, far]);
        assert_eq!(from(2), [far, 3.0, 0.0, 4.0, far]);
    }

    #[test]
    fn sssp_refuses_edges_that_lead_nowhere_and_negative_weights() {
        let error = |from: &[i128], weight: &[i128]| sssp(0, from, weight).unwrap_err().to_string();
        assert_eq!(error(&[0, 2, 5, 1], &[1; 4]), "reference `sssp`: from[2] is 5, expected 0 to 4");
        assert_eq!(error(&[0, 2, 0], &[1; 3]), "reference `sssp`: an edge of node 3 is 3, expected 0 to 2");
        assert_eq!(
            error(&[0, 2, 0, 1], &[1, 1, -1, 1]),
            "reference `sssp`: weight[2] is -1, expected 0 or more: paths would have no shortest length"
        );
    }
}
