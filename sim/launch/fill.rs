//! Computes the initial contents of buffers and the expected contents of outputs.

use std::collections::BTreeMap;

use golden::reference::{Array, ElementType, ExpectedOutput, Reference};
use input::noun;

use super::model::{Buffer, BufferId, Expect, Init, LaunchFile, Number, Output};
use super::problem::{LaunchError, Problems};
use super::structs::{Field, StructType};
use super::view::View;

impl LaunchFile {
    /// Creates an error whose position is the declaration of `buffer`. The error is about the buffer's
    /// `symbol` or `texture`.
    pub(crate) fn refuse_buffer(&self, buffer: &Buffer, message: String) -> LaunchError {
        let mut problems = Problems::new(&self.path, &self.text);
        problems.add(buffer.place.span.clone(), message, None);
        match problems.or::<()>(None) {
            Err(error) => error,
            Ok(()) => unreachable!("a problem has been added"),
        }
    }

    /// Returns the initial contents of every buffer, in the order of the buffers. The contents are the same
    /// on every computer.
    pub fn initial(&self) -> Vec<Array> {
        self.buffers.iter().map(Buffer::initial).collect()
    }

    /// Computes the expected contents of each output from the initial buffers.
    ///
    /// # Errors
    /// Fails if a reference cannot be computed from its inputs and parameters, or if it yields a different
    /// number of values than the output has elements. All such problems are listed.
    pub fn compute_expected(&self, initial: &[Array]) -> Result<Vec<Option<ExpectedOutput>>, LaunchError> {
        let mut problems = Problems::new(&self.path, &self.text);
        let mut all = Vec::new();
        for output in &self.outputs {
            let expected = output.compute_expected(initial);
            match &expected {
                Err(reason) => problems.add(output.place.span.clone(), reason.clone(), None),
                Ok(Some(ExpectedOutput { values, .. })) if values.len() != output.view.count => {
                    let (name, has) = (&output.name, output.view.count);
                    let count = values.len();
                    let unit = noun(has, "element", "elements");
                    let message =
                        format!("output `{name}` has {has} {unit}, expected {count}, as its reference computes");
                    problems.add(output.place.span.clone(), message, None);
                }
                Ok(_) => {}
            }
            all.push(expected.ok().flatten());
        }
        problems.or(Some(all))
    }
}

impl Output {
    fn compute_expected(&self, initial: &[Array]) -> Result<Option<ExpectedOutput>, String> {
        match &self.expect {
            None => Ok(None),
            Some(Expect::File { values, rule }) => {
                Ok(Some(ExpectedOutput { values: values.clone(), rule: rule.clone() }))
            }
            Some(Expect::Reference { reference, inputs, parameters, rule }) => {
                let of = |view: &View| view.of_array(&initial[view.buffer.0]);
                let inputs: Vec<_> = inputs.iter().map(|(name, view)| (*name, of(view))).collect();
                let inputs = inputs.iter().map(|(name, array)| (*name, &**array)).collect();
                let parameters: BTreeMap<_, _> = parameters.iter().copied().collect();
                let computed = Reference::compute_expected(reference, &inputs, &parameters);
                let mut expected = computed.map_err(|error| error.to_string())?;
                if let Some(rule) = rule {
                    expected.rule = rule.clone();
                }
                Ok(Some(expected))
            }
        }
    }
}

impl Buffer {
    /// Returns the contents of the buffer before the first kernel launch.
    pub fn initial(&self) -> Array {
        let Init::Fields(fields) = &self.init else { return self.init.contents(self.element, self.elements) };
        let mut bytes = vec![0; self.bytes()];
        for (field, init) in fields {
            let view = self.field(BufferId(0), field);
            let values = init.contents(field.element, view.count);
            for (range, value) in view.ranges().zip(values.bytes().chunks_exact(view.bytes)) {
                bytes[range].copy_from_slice(value);
            }
        }
        Array::from_bytes(self.element, bytes)
    }

    /// Returns the view that selects the given field in every struct of the buffer.
    fn field(&self, buffer: BufferId, field: &Field) -> View {
        let (element, start, stride) = (field.element, field.offset, StructType::bytes(&self.fields));
        View { buffer, element, start, stride, bytes: element.bytes(), count: self.bytes() / stride }
    }

    /// Returns the sections of the buffer that have their own names in messages, each with its name. If the
    /// elements are structs, the sections are the fields; otherwise there is one section, the whole buffer.
    pub(crate) fn parts(&self, buffer: BufferId) -> Vec<(String, View)> {
        let fields = self.fields.iter();
        let fields: Vec<_> =
            fields.map(|field| (format!("{}.{}", self.name, field.name), self.field(buffer, field))).collect();
        let (element, bytes) = (self.element, self.element.bytes());
        let whole = View { buffer, element, start: 0, stride: bytes, bytes, count: self.elements };
        if fields.is_empty() { vec![(self.name.clone(), whole)] } else { fields }
    }
}

impl Init {
    /// Creates an array with `count` elements of a scalar type and the initial contents that `self`
    /// describes.
    fn contents(&self, element: ElementType, count: usize) -> Array {
        match self {
            Self::Zeros | Self::Module | Self::Fields(_) => Array::zeros(element, count),
            Self::File(array) => array.clone(),
            Self::Iota(sequence) => fill_array(element, (0..count as u64).map(|idx| sequence.at(idx))),
            Self::Random { seed, low, high } => {
                let mut random = SplitMix(*seed);
                let draw = |_| match (low, high) {
                    (Number::Integer(low), Number::Integer(high)) => Number::Integer(random.integer(*low, *high)),
                    _ => Number::Real(random.real(low.real(), high.real(), element)),
                };
                fill_array(element, (0..count).map(draw))
            }
        }
    }
}

fn fill_array(element: ElementType, values: impl Iterator<Item = Number>) -> Array {
    if element.is_real() {
        Array::from_reals(element, values.map(Number::real))
    } else {
        Array::from_integers(element, values.filter_map(Number::integer))
    }
}

/// Random number generator SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). It is implemented here so that
/// the data of a launch file do not change with the version of a library.
struct SplitMix(u64);

impl SplitMix {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a uniformly distributed integer in the range `low..high`. The range must contain at least one
    /// integer and at most 2^64.
    fn integer(&mut self, low: i128, high: i128) -> i128 {
        low + ((u128::from(self.bits()) * (high - low) as u128) >> 64) as i128
    }

    /// Returns a uniformly distributed value of the element type in `low..high`. If rounding to the type
    /// gives `high` itself, another value is generated.
    fn real(&mut self, low: f64, high: f64, element: ElementType) -> f64 {
        loop {
            let unit = (self.bits() >> 11) as f64 / (1_u64 << 53) as f64;
            let value = element.round(low + (high - low) * unit);
            if value < high {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_the_published_sequence_of_seed_zero() {
        let mut random = SplitMix(0);
        assert_eq!(random.bits(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.bits(), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(random.bits(), 0x06c4_5d18_8009_454f);
    }

    #[test]
    fn integers_reach_both_ends_and_no_further() {
        let mut random = SplitMix(7);
        let drawn: Vec<_> = (0..1000).map(|_| random.integer(-2, 3)).collect();
        assert_eq!(drawn.iter().min(), Some(&-2));
        assert_eq!(drawn.iter().max(), Some(&2));
    }

    #[test]
    fn reals_stay_below_the_end_even_after_rounding() {
        let mut random = SplitMix(7);
        let high = f64::from(1.0_f32.next_up());
        for _ in 0..100 {
            // `high` is the smallest `f32` above 1. A number between 1 and `high` is rounded to one of the
            // two, and `high` itself is excluded from the range, so the result is always 1.
            assert_eq!(random.real(1.0, high, ElementType::F32), 1.0);
        }
    }
}
