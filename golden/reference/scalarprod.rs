//! CPU reference: scalar products of pairs of vectors.

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// Scalar product of each pair of vectors: `product[v] = sum over i of a[v][i] * b[v][i]`.
pub(super) static SCALARPROD: Reference = Reference {
    name: "scalarprod",
    summary: "scalar products of pairs of vectors of the same length",
    inputs: &[input("a", ElementType::F32), input("b", ElementType::F32)],
    parameters: &[count("vectors"), count("length")],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [vectors, length] = ["vectors", "length"].map(|name| arguments.count(name));
    let a = arguments.input("a", vectors * length, "vectors * length")?;
    let b = arguments.input("b", vectors * length, "vectors * length")?;
    let element = |vector: usize| {
        let pairs = vector * length..(vector + 1) * length;
        Rounded::sum(pairs.map(|i| Rounded::exact(a.real(i)) * Rounded::exact(b.real(i)))).with_bound()
    };
    Ok(ExpectedOutput::with_bounds((0..vectors).map(element)))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{reals, run, values};

    #[test]
    fn scalarprod_keeps_vectors_apart() {
        let (a, b) = (reals(&[1.0, 2.0, 3.0, 4.0]), reals(&[5.0, 6.0, 7.0, 8.0]));
        let expected = run("scalarprod", &[("a", &a), ("b", &b)], &[("vectors", Count(2)), ("length", Count(2))]);
        assert_eq!(values(&expected.unwrap()), [17.0, 53.0]);
    }
}
