//! CPU reference: discrete cosine transform of the 8 x 8 tiles of an image.

use std::f64::consts::PI;

use super::bounded_sum::BoundedSum;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

const SIDE: usize = 8;

/// Maximum number of rounded operations on a pixel along one dimension. Direct evaluation needs ten: a
/// coefficient, a product and eight additions. A kernel that first computes the sums and differences of
/// values i and 7 - i needs six.
const ROUNDINGS: usize = 10;

/// Orthonormal DCT-II of each 8 x 8 tile of an image with `height` rows of `width` elements, both multiples
/// of 8. Rows are `ld` elements apart, and the padding between them stays unchanged.
pub(super) static DCT: Reference = Reference {
    name: "dct",
    summary: "discrete cosine transform of 8 x 8 tiles of height rows of width elements, ld apart",
    inputs: &[input("image", ElementType::F32)],
    parameters: &[count("width"), count("height"), count("ld")],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [width, height, ld] = ["width", "height", "ld"].map(|name| arguments.count(name));
    for (name, size) in [("width", width), ("height", height)] {
        if !size.is_multiple_of(SIDE) {
            return Err(arguments.error(format!("parameter `{name}` is {size}, expected a multiple of 8: whole tiles")));
        }
    }
    let image = arguments.matrix("image", height, width, "ld")?;
    // `basis[k][i]` is the contribution of value i to coefficient k in one dimension.
    let basis: [[f64; SIDE]; SIDE] = std::array::from_fn(|k| {
        let scale = if k == 0 { (1.0 / SIDE as f64).sqrt() } else { (2.0 / SIDE as f64).sqrt() };
        std::array::from_fn(|i| scale * ((2 * i + 1) as f64 * k as f64 * PI / (2 * SIDE) as f64).cos())
    });
    let element = |idx: usize| {
        let (row, column) = (idx / ld, idx % ld);
        if column >= width {
            return (image.real(idx), 0.0);
        }
        let corner = row / SIDE * SIDE * ld + column / SIDE * SIDE;
        let mut sum = BoundedSum::default();
        for (i, down) in basis[row % SIDE].iter().enumerate() {
            for (j, across) in basis[column % SIDE].iter().enumerate() {
                sum.add(down * across * image.real(corner + i * ld + j));
            }
        }
        (sum.value, sum.f32_bound(2 * ROUNDINGS))
    };
    Ok(ExpectedOutput::with_bounds((0..image.len()).map(element)))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{reals, run, values};
    use super::super::{ExpectedOutput, ReferenceError, compare};

    fn run_dct(image: &[f64], width: usize, ld: usize) -> Result<ExpectedOutput, ReferenceError> {
        let parameters = [("width", Count(width)), ("height", Count(8)), ("ld", Count(ld))];
        run("dct", &[("image", &reals(image))], &parameters)
    }

    #[test]
    fn a_flat_tile_has_one_coefficient_and_the_gaps_stay() {
        let image: Vec<f64> = (0..71).map(|i| if i % 9 == 8 { 99.0 } else { 2.0 }).collect();
        let coefficients = values(&run_dct(&image, 8, 9).unwrap());
        assert_eq!((coefficients.len(), coefficients[8]), (71, 99.0));
        assert!((coefficients[0] - 16.0).abs() < 1e-12);
        assert!((1..71).all(|i| i % 9 == 8 || coefficients[i].abs() < 1e-12));
    }

    #[test]
    fn a_cosine_down_the_columns_is_one_coefficient_of_its_tile() {
        // The image has two tiles. The second tile holds cos((2 row + 1) 3 pi / 16) in every column.
        let cosine = |row: usize| ((2 * row + 1) as f64 * 3.0 * std::f64::consts::PI / 16.0).cos();
        let image: Vec<f64> = (0..128).map(|i| if i % 16 < 8 { 0.0 } else { cosine(i / 16) }).collect();
        let expected = run_dct(&image, 16, 16).unwrap();
        // The only nonzero coefficient is (3, 0) of the second tile. The eight equal values of each row
        // contribute the factor sqrt(1/8) * 8. The cosines in each column, whose squares add up to 4,
        // contribute sqrt(2/8) * 4. The product of both factors is sqrt(32).
        let mut should = [0.0; 128];
        should[3 * 16 + 8] = 32.0_f64.sqrt();
        assert!(compare(&reals(&should), &expected.values, &expected.rule).is_ok());
        should[3 * 16 + 8] += 1e-4;
        assert!(compare(&reals(&should), &expected.values, &expected.rule).is_err());
    }

    #[test]
    fn tiles_are_whole() {
        assert_eq!(
            run_dct(&[0.0; 72], 9, 9).unwrap_err().to_string(),
            "reference `dct`: parameter `width` is 9, expected a multiple of 8: whole tiles"
        );
    }
}
