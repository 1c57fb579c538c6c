//! CPU reference: separable convolution of an image.

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// Number of filter taps on either side of the middle tap.
const RADIUS: usize = 8;

/// Image after convolution with the filter `taps` along its rows, and then along its columns. Pixels beyond
/// the edge count as zero.
pub(super) static CONV: Reference = Reference {
    name: "conv",
    summary: "convolution of a height x width image with 17 taps along rows, then along columns",
    inputs: &[input("image", ElementType::F32), input("taps", ElementType::F32)],
    parameters: &[count("height"), count("width")],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [height, width] = ["height", "width"].map(|name| arguments.count(name));
    let pixels = arguments.input("image", height * width, "height * width")?;
    let taps = arguments.input("taps", 2 * RADIUS + 1, "8 on either side of the center")?;
    let image: Vec<_> = (0..height * width).map(|idx| Rounded::exact(pixels.real(idx))).collect();
    // A convolution reverses the filter: the last tap applies to the pixel 8 positions before the center.
    let taps: Vec<_> = (0..=2 * RADIUS).rev().map(|k| Rounded::exact(taps.real(k))).collect();
    // Filters one pixel: sums the products of taps and pixels at distances -8 to 8 from position `at` on a
    // line of `len` pixels.
    let along = |at: usize, len: usize, pixel: &dyn Fn(usize) -> Rounded| {
        let reach = at.saturating_sub(RADIUS)..(at + RADIUS + 1).min(len);
        Rounded::sum(reach.map(|from| taps[from + RADIUS - at] * pixel(from)))
    };
    let rows: Vec<_> =
        (0..height * width).map(|idx| along(idx % width, width, &|x| image[idx / width * width + x])).collect();
    let element = |idx: usize| along(idx / width, height, &|y| rows[y * width + idx % width]).with_bound();
    Ok(ExpectedOutput::with_bounds((0..height * width).map(element)))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{reals, run, values};

    #[test]
    fn conv_spreads_a_pixel_by_the_products_of_the_taps() {
        let (height, width) = (20, 10);
        let taps: Vec<f64> = (1..18).map(f64::from).collect();
        let mut image = vec![0.0; height * width];
        image[9 * width + 4] = 1.0;
        let inputs = [("image", &reals(&image)), ("taps", &reals(&taps))];
        let expected = run("conv", &inputs, &[("height", Count(height)), ("width", Count(width))]).unwrap();
        // Only one pixel is not zero. A pixel at distance d from it is weighted with tap 8 + d.
        for (idx, value) in values(&expected).into_iter().enumerate() {
            let right = taps[idx % width + 8 - 4];
            let wanted = match (idx / width + 8).checked_sub(9) {
                Some(down) if down <= 16 => taps[down] * right,
                _ => 0.0,
            };
            assert_eq!(value, wanted, "{idx}");
        }
    }
}
