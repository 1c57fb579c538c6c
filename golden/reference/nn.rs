//! CPU reference: convolutional layers of a neural network that recognizes handwritten digits.

use super::rounded::Rounded;
use super::{Arguments, Array, ElementType, ExpectedOutput, Input, Reference, ReferenceError, count, input};

const WINDOW: usize = 5;
const PICTURE: usize = 29;
const MAPS1: usize = 6;
const SIZE1: usize = 13;
const MAPS2: usize = 50;
const SIZE2: usize = 5;

const PICTURES: Input = input("pictures", ElementType::F32);
const WEIGHTS1: Input = input("weights1", ElementType::F32);

/// First layer: 6 feature maps of 13 x 13 elements per picture. An element is 1.7159 tanh(2/3 s), where s is
/// the bias of the map plus the weighted sum of a window of 5 x 5 pixels. Adjacent windows are two pixels
/// apart.
pub(super) static NN_FIRST: Reference = Reference {
    name: "nn_first",
    summary: "first layer: 6 maps of 13 x 13 from each picture of 29 x 29",
    inputs: &[PICTURES, WEIGHTS1],
    parameters: &[count("pictures")],
    output: ElementType::F32,
    compute: |arguments| Ok(ExpectedOutput::with_bounds(first(arguments)?.into_iter().map(Rounded::with_bound))),
};

/// Second layer: 50 feature maps of 5 x 5 elements per picture. They are computed like [`NN_FIRST`], from
/// windows of all 6 maps of the first layer.
pub(super) static NN_SECOND: Reference = Reference {
    name: "nn_second",
    summary: "second layer: 50 maps of 5 x 5 from each 6 maps of the first",
    inputs: &[PICTURES, WEIGHTS1, input("weights2", ElementType::F32)],
    parameters: &[count("pictures")],
    output: ElementType::F32,
    compute: second,
};

fn first(arguments: &Arguments<'_>) -> Result<Vec<Rounded>, ReferenceError> {
    let pictures = arguments.count("pictures");
    let pixels = arguments.input("pictures", pictures * PICTURE * PICTURE, "29 * 29 per picture")?;
    let pixels: Vec<_> = (0..pixels.len()).map(|idx| Rounded::exact(pixels.real(idx))).collect();
    let weights = arguments.input("weights1", MAPS1 * (1 + WINDOW * WINDOW), "26 per map")?;
    Ok(layer(&pixels, (pictures, 1, PICTURE), (MAPS1, SIZE1), weights))
}

fn second(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let first = first(arguments)?;
    let weights = arguments.input("weights2", MAPS2 * (1 + MAPS1 * WINDOW * WINDOW), "151 per map")?;
    let maps = layer(&first, (arguments.count("pictures"), MAPS1, SIZE1), (MAPS2, SIZE2), weights);
    Ok(ExpectedOutput::with_bounds(maps.into_iter().map(Rounded::with_bound)))
}

/// Computes a layer. For each picture, its input is `from_maps` feature maps of `from_size` x `from_size`
/// elements, and its output is `maps` feature maps of `size` x `size` elements.
fn layer(
    from: &[Rounded],
    (pictures, from_maps, from_size): (usize, usize, usize),
    (maps, size): (usize, usize),
    weights: &Array,
) -> Vec<Rounded> {
    let map_weights = 1 + from_maps * WINDOW * WINDOW;
    let mut elements = Vec::new();
    for picture in 0..pictures {
        for map in 0..maps {
            for at in 0..size * size {
                let (y, x) = (2 * (at / size), 2 * (at % size));
                let weight = |idx: usize| Rounded::exact(weights.real(map * map_weights + idx));
                let products = (0..map_weights - 1).map(|idx| {
                    let (from_map, place) = (idx / (WINDOW * WINDOW), idx % (WINDOW * WINDOW));
                    let row = (picture * from_maps + from_map) * from_size + y + place / WINDOW;
                    from[row * from_size + x + place % WINDOW] * weight(1 + idx)
                });
                elements.push(squash(Rounded::sum(products.chain([weight(0)]))));
            }
        }
    }
    elements
}

/// Applies the activation function. It uses the same operations as the kernel, so that the error bound covers
/// the roundings of the kernel.
fn squash(sum: Rounded) -> Rounded {
    let number = Rounded::constant;
    let rate = number(4.0 / 3.0 * std::f64::consts::LOG2_E);
    number(1.7159) - number(3.4318) / ((rate * sum).fast_exp2() + Rounded::exact(1.0))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{reals, run, values};
    use super::super::{ExpectedOutput, compare};

    fn nn(name: &str, weights1: &[f64], weights2: &[f64]) -> ExpectedOutput {
        let pixels: Vec<_> = (0..29 * 29).map(|idx| f64::from(idx % 29) / 16.0).collect();
        let (pictures, weights1, weights2) = (reals(&pixels), reals(weights1), reals(weights2));
        let mut inputs = vec![("pictures", &pictures), ("weights1", &weights1)];
        if name == "nn_second" {
            inputs.push(("weights2", &weights2));
        }
        run(name, &inputs, &[("pictures", Count(1))]).unwrap()
    }

    fn activation(sum: f64) -> f64 {
        1.7159 * (2.0 / 3.0 * sum).tanh()
    }

    #[test]
    fn nn_first_moves_its_window_by_two_pixels() {
        // Feature map 1 has the bias 0.25. Only the top right pixel of its window has a nonzero weight.
        let mut weights = [0.0; 6 * 26];
        (weights[26], weights[26 + 1 + 4]) = (0.25, 1.0);
        let maps = values(&nn("nn_first", &weights, &[]));
        assert_eq!(maps.len(), 6 * 169);
        for (x, at) in [(0, 169), (12, 169 + 12), (3, 169 + 5 * 13 + 3)] {
            let expected = activation(0.25 + f64::from(2 * x + 4) / 16.0);
            assert!((maps[at] - expected).abs() < 1e-6, "{} {expected}", maps[at]);
        }
        assert!(maps[0].abs() < 1e-6);
    }

    #[test]
    fn nn_second_sums_over_all_maps() {
        let mut weights1 = [0.0; 6 * 26];
        (weights1[0], weights1[5 * 26]) = (1.0, 2.0);
        let mut weights2 = [0.0; 50 * 151];
        let map = &mut weights2[49 * 151..];
        (map[0], map[1], map[1 + 5 * 25 + 24]) = (0.5, 1.0, -1.0);
        let maps = values(&nn("nn_second", &weights1, &weights2));
        let expected = activation(0.5 + activation(1.0) - activation(2.0));
        assert!((maps[49 * 25] - expected).abs() < 1e-6 && (maps[50 * 25 - 1] - expected).abs() < 1e-6);
    }

    #[test]
    fn nn_bounds_pass_rounding_but_not_a_lost_weight() {
        let weights1: Vec<_> = (0..6 * 26).map(|i| f64::from(i % 7) / 70.0 - 0.04).collect();
        let weights2: Vec<_> = (0..50 * 151).map(|i| f64::from(i % 11) / 110.0 - 0.04).collect();
        let expected = nn("nn_second", &weights1, &weights2);
        assert!(compare(&reals(&values(&expected)), &expected.values, &expected.rule).is_ok());
        let mut lost = weights2.clone();
        lost[150] = 0.0;
        let other = values(&nn("nn_second", &weights1, &lost));
        assert!(compare(&reals(&other), &expected.values, &expected.rule).is_err());
    }
}
