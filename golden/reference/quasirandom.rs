//! CPU reference: quasirandom sequences.

use super::{Arguments, Array, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// Number of direction numbers per dimension of the sequence.
const BITS: usize = 32;

/// First `elements` elements of a digital sequence in each of `dimensions` dimensions, one dimension after
/// another. Each element is the XOR of the direction numbers that the set bits of its index select, divided
/// by 2^32.
pub(super) static QUASIRANDOM: Reference = Reference {
    name: "quasirandom",
    summary: "first elements of a digital sequence in each dimension, from 32 direction numbers per dimension",
    inputs: &[input("directions", ElementType::U32)],
    parameters: &[count("dimensions"), count("elements")],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [dimensions, elements] = ["dimensions", "elements"].map(|name| arguments.count(name));
    let directions = arguments.input("directions", dimensions * BITS, "dimensions * 32")?;
    let element = |idx: usize| {
        let (dimension, v) = (idx / elements, idx % elements);
        let named = (0..BITS).filter(|bit| v >> bit & 1 == 1);
        let x = named.fold(0, |x, bit| x ^ directions.integer(dimension * BITS + bit));
        // The integer x is below 2^32 and therefore exact in `f64`. As in the kernel, only the conversion to
        // `f32` rounds.
        x as f64 / 2.0_f64.powi(32)
    };
    Ok(ExpectedOutput::exact(Array::from_reals(ElementType::F32, (0..dimensions * elements).map(element))))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{reals, run};
    use super::super::{Array, ElementType};

    #[test]
    fn quasirandom_takes_the_exclusive_or_of_direction_numbers() {
        // In the first dimension, an element is its index with the bits reversed (van der Corput). The second
        // dimension differs in the direction numbers for bits 0 and 1.
        let first = (0..32).map(|bit| 1 << (31 - bit));
        let second = (0..32).map(|bit| if bit == 0 { 3 << 30 } else { 1 << 30 });
        let directions = Array::from_integers(ElementType::U32, first.chain(second));
        let parameters = [("dimensions", Count(2)), ("elements", Count(4))];
        let expected = run("quasirandom", &[("directions", &directions)], &parameters).unwrap();
        assert_eq!(expected.values, reals(&[0.0, 0.5, 0.25, 0.75, 0.0, 0.75, 0.25, 0.5]));
    }
}
