//! Tests of the references: each on a case computed by hand, and with every kind of invalid argument.

use super::ElementType::{F32, I32};
use super::ParameterValue::{Count, Real};
use super::*;

pub(super) fn reals(values: &[f64]) -> Array {
    Array::from_reals(F32, values.iter().copied())
}

pub(super) fn integers(values: &[i128]) -> Array {
    Array::from_integers(I32, values.iter().copied())
}

pub(super) fn run(
    name: &str,
    inputs: &[(&'static str, &Array)],
    parameters: &[(&'static str, ParameterValue)],
) -> Result<ExpectedOutput, ReferenceError> {
    let inputs = inputs.iter().copied().collect();
    let parameters = parameters.iter().copied().collect();
    lookup(name).unwrap().compute_expected(&inputs, &parameters)
}

pub(super) fn values(expected: &ExpectedOutput) -> Vec<f64> {
    (0..expected.values.len()).map(|idx| expected.values.real(idx)).collect()
}

#[test]
fn every_reference_is_found_by_its_name_and_names_are_sorted() {
    for reference in ALL {
        assert!(std::ptr::eq(lookup(reference.name).unwrap(), *reference));
    }
    assert!(ALL.is_sorted_by_key(|r| r.name));
    assert!(lookup("nothing").is_none());
}

#[test]
fn vadd_adds_n_elements_with_one_rounding() {
    let (a, b) = (reals(&[1.0, 0.1, 9.0]), reals(&[2.0, 0.2, 9.0]));
    let expected = run("vadd", &[("a", &a), ("b", &b)], &[("n", Count(2))]).unwrap();
    assert_eq!(expected.values, reals(&[3.0, f64::from(0.1_f32 + 0.2_f32)]));
    assert_eq!(expected.rule, Rule::Exact);
}

#[test]
fn syrk_multiplies_rows_and_skips_the_padding() {
    // The matrix A is [1 2; 3 4; 5 6], with rows 3 elements apart. The matrix C has 2 rows of 3 elements.
    let a = reals(&[1.0, 2.0, 99.0, 3.0, 4.0, 99.0, 5.0, 6.0]);
    let c = reals(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0]);
    let parameters = [
        ("ni", Count(2)),
        ("nj", Count(3)),
        ("nk", Count(2)),
        ("ld", Count(3)),
        ("alpha", Real(2.0)),
        ("beta", Real(0.5)),
    ];
    let expected = run("syrk", &[("a", &a), ("c", &c)], &parameters).unwrap();
    assert_eq!(values(&expected), [10.5, 22.5, 34.5, 23.0, 51.0, 79.0]);
}

#[test]
fn gesummv_adds_two_scaled_products() {
    let a = reals(&[1.0, 2.0, 99.0, 3.0, 4.0]);
    let b = reals(&[5.0, 6.0, 99.0, 7.0, 8.0]);
    let x = reals(&[1.0, 10.0]);
    let parameters =
        [("rows", Count(2)), ("columns", Count(2)), ("ld", Count(3)), ("alpha", Real(2.0)), ("beta", Real(-1.0))];
    let expected = run("gesummv", &[("a", &a), ("b", &b), ("x", &x)], &parameters).unwrap();
    // The two matrix-vector products are A x = [21, 43] and B x = [65, 87].
    assert_eq!(values(&expected), [-23.0, -1.0]);
}

#[test]
fn mm2_multiplies_with_padded_rows_of_a() {
    let a = reals(&[1.0, 2.0, 99.0, 3.0, 4.0]);
    let b = reals(&[5.0, 6.0, 7.0, 8.0, 9.0, 10.0]);
    let parameters = [("ni", Count(2)), ("nj", Count(3)), ("nk", Count(2)), ("lda", Count(3))];
    let expected = run("mm2", &[("a", &a), ("b", &b)], &parameters).unwrap();
    assert_eq!(values(&expected), [21.0, 24.0, 27.0, 47.0, 54.0, 61.0]);
}

#[test]
fn sgemm_scales_the_product_and_the_old_values() {
    let a = reals(&[1.0, 2.0, 3.0, 4.0]);
    let b = reals(&[5.0, 6.0]);
    let c = reals(&[10.0, 20.0]);
    let parameters = [("m", Count(2)), ("n", Count(1)), ("k", Count(2)), ("alpha", Real(2.0)), ("beta", Real(0.5))];
    let expected = run("sgemm", &[("a", &a), ("b", &b), ("c", &c)], &parameters).unwrap();
    // The expected matrix-vector product is A b = [17, 39].
    assert_eq!(values(&expected), [39.0, 88.0]);
}

#[test]
fn a_bound_passes_rounding_but_not_a_lost_term() {
    let terms = 256;
    let row: Vec<f64> = (0..terms).map(|k| 0.1 + k as f64 * 1e-3).collect();
    let (a, b) = (reals(&row), reals(&vec![0.3; terms]));
    let parameters = [("ni", Count(1)), ("nj", Count(1)), ("nk", Count(terms)), ("lda", Count(terms))];
    let expected = run("mm2", &[("a", &a), ("b", &b)], &parameters).unwrap();
    let in_f32 = |range: std::ops::Range<usize>| -> f32 {
        let product = |k| a.real(k) as f32 * b.real(k) as f32;
        range.map(product).fold(0.0, |sum, term| sum + term)
    };
    let judge = |sum: f32| compare(&reals(&[f64::from(sum)]), &expected.values, &expected.rule);
    assert!(judge(in_f32(0..terms)).is_ok());
    assert!(judge(in_f32(1..terms)).is_err());
}

/// Returns a graph with the edges 0 -> 1, 0 -> 2, 1 -> 3, 2 -> 3, 3 -> 0 and 4 -> 0. No edge leads to node 4.
fn graph() -> [Array; 3] {
    [integers(&[0, 2, 3, 4, 5]), integers(&[2, 1, 1, 1, 1]), integers(&[1, 2, 3, 3, 0, 0])]
}

fn bfs([first, degree, edges]: &[Array; 3], source: usize) -> Result<ExpectedOutput, ReferenceError> {
    let inputs = [("first", first), ("degree", degree), ("edges", edges)];
    let parameters = [("source", Count(source)), ("nodes", Count(5))];
    run("bfs", &inputs, &parameters)
}

#[test]
fn bfs_counts_edges_from_the_source() {
    let expected = bfs(&graph(), 0).unwrap();
    assert_eq!(expected.values, integers(&[0, 1, 1, 2, -1]));
    assert_eq!(expected.rule, Rule::Exact);
    let from_three = bfs(&graph(), 3).unwrap();
    assert_eq!(from_three.values, integers(&[1, 2, 2, 0, -1]));
}

#[test]
fn bfs_refuses_an_edge_that_leads_nowhere() {
    let [first, degree, _] = graph();
    let edges = integers(&[1, 2, 3, 5, 0, 0]);
    assert_eq!(
        bfs(&[first.clone(), degree, edges], 0).unwrap_err().to_string(),
        "reference `bfs`: edges[3] is 5, expected 0 to 4: there are 5 nodes"
    );
    let [_, _, edges] = graph();
    let degree = integers(&[2, 1, 4, 1, 1]);
    assert_eq!(
        bfs(&[first, degree, edges], 0).unwrap_err().to_string(),
        "reference `bfs`: node 2 has edge 6, expected 0 to 5, the indices of input `edges`"
    );
}

#[test]
fn a_missing_unknown_or_mistyped_argument_is_named() {
    let (a, b, n) = (reals(&[1.0]), integers(&[1]), ("n", Count(1)));
    let error = |inputs: &[(&'static str, &Array)], parameters: &[(&'static str, _)]| {
        run("vadd", inputs, parameters).unwrap_err().to_string()
    };
    assert_eq!(error(&[("a", &a)], &[n]), "reference `vadd`: needs input `b`");
    assert_eq!(error(&[("a", &a), ("b", &b)], &[n]), "reference `vadd`: input `b` is i32, expected f32");
    let both = [("a", &a), ("b", &a)];
    assert_eq!(error(&both, &[]), "reference `vadd`: needs parameter `n`");
    assert_eq!(error(&both, &[("n", Real(1.0))]), "reference `vadd`: parameter `n` is 1.0, expected a count");
    assert_eq!(error(&both, &[n, ("m", Count(1))]), "reference `vadd`: takes no `m`");
    assert_eq!(error(&both, &[("n", Count(2))]), "reference `vadd`: input `a` has 1 elements, expected at least 2: n");
}

#[test]
fn sizes_are_at_least_one_and_rows_do_not_overlap() {
    let a = reals(&[1.0, 2.0, 3.0, 4.0]);
    let error = |nk: usize, lda: usize| {
        let sizes = [("ni", Count(2)), ("nj", Count(1)), ("nk", Count(nk)), ("lda", Count(lda))];
        run("mm2", &[("a", &a), ("b", &a)], &sizes).unwrap_err().to_string()
    };
    assert_eq!(error(0, 4), "reference `mm2`: parameter `nk` is 0, expected 1 or more");
    assert_eq!(error(2, 1), "reference `mm2`: parameter `lda` is 1, expected at least 2, the row length of `a`");
    assert_eq!(error(2, 3), "reference `mm2`: input `a` has 4 elements, expected at least 5: 2 rows of 2, 3 apart");
}

#[test]
fn real_parameters_are_rounded_as_the_kernel_receives_them() {
    let (a, b) = (reals(&[1.0]), reals(&[1.0]));
    let parameters = [("m", Count(1)), ("n", Count(1)), ("k", Count(1)), ("alpha", Real(0.1)), ("beta", Real(0.0))];
    let expected = run("sgemm", &[("a", &a), ("b", &b), ("c", &a)], &parameters).unwrap();
    assert_eq!(values(&expected), [f64::from(0.1_f32)]);
}
