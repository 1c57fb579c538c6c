//! CPU reference: gravity between many bodies by the Barnes-Hut method.

use super::rounded::Rounded;
use super::{Arguments, Array, ElementType, ExpectedOutput, Reference, ReferenceError, count, input, real};

/// Gravitational pull on each body, stored as x, y, z and a zero. It is the sum of `mass * d / r^3` over tree
/// nodes, where d is the vector from the body to the node and `r^2 = |d|^2 + softening`. The tree is stored
/// in depth-first order; each node has x, y, z and mass, and bodies are nodes of size 0. Groups of `together`
/// bodies traverse the tree together. A node replaces its whole subtree if `size^2 <= threshold * r^2` for
/// every body of the group. If `f32` rounding could decide this test, both outcomes are accepted.
pub(super) static BARNESHUT: Reference = Reference {
    name: "barneshut",
    summary: "force on each body from the nodes of a Barnes-Hut tree, in which distant nodes count as a whole",
    inputs: &[
        input("node", ElementType::F32),
        input("size", ElementType::F32),
        input("after", ElementType::I32),
        input("body", ElementType::I32),
    ],
    parameters: &[count("nodes"), count("bodies"), count("together"), real("threshold"), real("softening")],
    output: ElementType::F32,
    compute,
};

/// Node of the tree: position (x, y, z) and mass.
type Node = [Rounded; 4];
/// Terms whose sum is the pull on a body, separately for the components x, y and z.
type Terms = [Vec<Rounded>; 3];

struct Tree {
    nodes: Vec<Node>,
    size: Vec<Rounded>,
    /// For each node, the next node in depth-first order that is not in its subtree.
    after: Vec<usize>,
    threshold: Rounded,
    softening: Rounded,
}

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [nodes, bodies, together] = ["nodes", "bodies", "together"].map(|name| arguments.count(name));
    let node = arguments.input("node", 4 * nodes, "4 * nodes")?;
    let size = arguments.input("size", nodes, "nodes")?;
    let body = arguments.input("body", bodies, "bodies")?;
    let tree = Tree {
        nodes: (0..nodes).map(|n| std::array::from_fn(|part| Rounded::exact(node.real(4 * n + part)))).collect(),
        size: (0..nodes).map(|n| Rounded::exact(size.real(n))).collect(),
        after: after(arguments, arguments.input("after", nodes, "nodes")?, nodes)?,
        threshold: Rounded::exact(arguments.real("threshold")),
        softening: Rounded::exact(arguments.real("softening")),
    };
    let here = |b: usize| {
        let at = arguments.check_index(format_args!("body[{b}]"), body.integer(b), nodes)?;
        Ok(tree.nodes[at])
    };
    let here = (0..bodies).map(here).collect::<Result<Vec<_>, ReferenceError>>()?;
    let mut pulls = Vec::new();
    for walkers in here.chunks(together) {
        let mut terms = vec![Terms::default(); walkers.len()];
        tree.walk(0, nodes, walkers, &mut terms);
        for terms in terms {
            pulls.extend(terms.map(|terms| Rounded::sum(terms).with_bound()));
            pulls.push((0.0, 0.0));
        }
    }
    Ok(ExpectedOutput::with_bounds(pulls))
}

fn after(arguments: &Arguments<'_>, after: &Array, nodes: usize) -> Result<Vec<usize>, ReferenceError> {
    let behind = |node: usize| {
        let next = arguments.check_index(format_args!("after[{node}]"), after.integer(node), nodes + 1)?;
        if next > node {
            return Ok(next);
        }
        Err(arguments.error(format!("after[{node}] is {next}, expected more than {node}: the walk would not end")))
    };
    (0..nodes).map(behind).collect()
}

/// Gravitational interaction between a tree node and a body.
struct Interaction {
    /// Pull of the node on the body if the node replaces its whole subtree.
    whole: [Rounded; 3],
    /// `size^2 - threshold * r^2`; if positive, the node is too large to replace its subtree.
    excess: Rounded,
}

impl Tree {
    fn interaction(&self, at: usize, here: &Node) -> Interaction {
        let apart: [Rounded; 3] = std::array::from_fn(|axis| self.nodes[at][axis] - here[axis]);
        let square = apart[0] * apart[0] + apart[1] * apart[1] + apart[2] * apart[2] + self.softening;
        let inverse = Rounded::exact(1.0) / square.sqrt();
        let strength = self.nodes[at][3] * inverse * inverse * inverse;
        let excess = self.size[at] * self.size[at] - self.threshold * square;
        Interaction { whole: apart.map(|d| strength * d), excess }
    }

    /// Adds the terms of nodes `at` to `end` (exclusive) to the pulls on the bodies `walkers`, which traverse
    /// the tree together.
    fn walk(&self, mut at: usize, end: usize, walkers: &[Node], terms: &mut [Terms]) {
        while at < end {
            let seen: Vec<_> = walkers.iter().map(|here| self.interaction(at, here)).collect();
            if seen.iter().any(|Interaction { excess, .. }| excess.value > excess.error) {
                at += 1;
                continue;
            }
            let is_clear = seen.iter().all(|Interaction { excess, .. }| excess.value < -excess.error);
            // If rounding could decide the test, the kernel uses either the node or its subtree. Any of their
            // terms may then be present or absent.
            let mut below = vec![Terms::default(); walkers.len()];
            if !is_clear {
                self.walk(at + 1, self.after[at], walkers, &mut below);
            }
            for ((terms, below), Interaction { whole, .. }) in terms.iter_mut().zip(below).zip(seen) {
                for ((terms, below), whole) in terms.iter_mut().zip(below).zip(whole) {
                    terms.push(whole);
                    if !is_clear {
                        let doubtful = below.into_iter().chain([whole]);
                        terms.extend(doubtful.map(|term| Rounded::exact(0.0).widen(term.value.abs() + term.error)));
                    }
                }
            }
            at = self.after[at];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::{Count, Real};
    use super::super::tests::{integers, reals, run, values};
    use super::super::{ExpectedOutput, ReferenceError, Rule};

    fn pull(threshold: f64, after: &[i128]) -> Result<ExpectedOutput, ReferenceError> {
        pull_together(1, threshold, after)
    }

    /// Computes the pulls in a tree of 5 nodes. Node 0 contains all bodies. Node 1 contains nodes 2 and 3,
    /// which are bodies of mass 1 at x = 9 and x = 11. Node 4 is a body at the origin.
    fn pull_together(together: usize, threshold: f64, after: &[i128]) -> Result<ExpectedOutput, ReferenceError> {
        let node = [
            [20.0 / 3.0, 0.0, 0.0, 3.0],
            [10.0, 0.0, 0.0, 2.0],
            [9.0, 0.0, 0.0, 1.0],
            [11.0, 0.0, 0.0, 1.0],
            [0.0, 0.0, 0.0, 1.0],
        ];
        let inputs = [
            ("node", &reals(&node.concat())),
            ("size", &reals(&[16.0, 2.0, 0.0, 0.0, 0.0])),
            ("after", &integers(after)),
            ("body", &integers(&[4, 2])),
        ];
        let parameters = [
            ("nodes", Count(5)),
            ("bodies", Count(2)),
            ("together", Count(together)),
            ("threshold", Real(threshold)),
            ("softening", Real(0.25)),
        ];
        run("barneshut", &inputs, &parameters)
    }

    const AFTER: [i128; 5] = [5, 4, 3, 4, 5];

    fn acceleration(mass: f64, distance: f64) -> f64 {
        mass * distance / (distance * distance + 0.25).powf(1.5)
    }

    #[test]
    fn barneshut_takes_far_nodes_as_a_whole_and_near_ones_apart() {
        let pulls = values(&pull(0.25, &AFTER).unwrap());
        // Node 1 has size 2. It is at distance 10 from the body at the origin, for which it replaces its
        // subtree. It is at distance 1 from the body at x = 9, for which it does not.
        let expected =
            [acceleration(2.0, 10.0), 0.0, 0.0, 0.0, acceleration(1.0, 2.0) - acceleration(1.0, 9.0), 0.0, 0.0, 0.0];
        for (got, expected) in pulls.iter().zip(expected) {
            assert!((got - expected).abs() < 1e-9, "{got} {expected}");
        }
    }

    #[test]
    fn barneshut_takes_a_node_as_a_whole_only_if_all_that_walk_together_may() {
        let pulls = values(&pull_together(2, 0.25, &AFTER).unwrap());
        // The bodies at the origin and at x = 9 traverse the tree together. Node 1 is too close to the body
        // at x = 9 to replace its subtree, so its subtree is used for both bodies.
        assert!((pulls[0] - acceleration(1.0, 9.0) - acceleration(1.0, 11.0)).abs() < 1e-9, "{}", pulls[0]);
    }

    #[test]
    fn barneshut_with_a_threshold_of_nothing_is_the_direct_sum() {
        let pulls = values(&pull(0.0, &AFTER).unwrap());
        assert!((pulls[0] - acceleration(1.0, 9.0) - acceleration(1.0, 11.0)).abs() < 1e-9);
    }

    #[test]
    fn barneshut_accepts_both_where_single_precision_cannot_tell() {
        // At the threshold `edge`, both sides of the test are equal: 2^2 equals the threshold times (10^2 +
        // 0.25).
        let bound = |threshold| match pull(threshold, &AFTER).unwrap().rule {
            Rule::Bounds(bounds) => bounds[0],
            rule => panic!("{rule:?}"),
        };
        let edge = 4.0 / 100.25;
        assert!(bound(edge) > acceleration(2.0, 10.0) - acceleration(1.0, 9.0));
        assert!(bound(edge * (1.0 + 1e-5)) < 1e-7);
        assert!(bound(edge * (1.0 - 1e-5)) < 1e-7);
    }

    #[test]
    fn barneshut_refuses_a_walk_that_does_not_end() {
        let error = |after: &[i128]| pull(0.25, after).unwrap_err().to_string();
        assert_eq!(
            error(&[5, 1, 3, 4, 5]),
            "reference `barneshut`: after[1] is 1, expected more than 1: the walk would not end"
        );
        assert_eq!(error(&[5, 4, 3, 4, 6]), "reference `barneshut`: after[4] is 6, expected 0 to 5");
    }
}
