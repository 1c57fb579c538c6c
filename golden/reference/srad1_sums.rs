//! CPU reference: sum of an image and sum of its squares, accumulated in place.

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Input, Parameter, Reference, ReferenceError, count, input};

/// Number of elements that one CTA adds up.
const BLOCK: usize = 512;

const INPUTS: &[Input] = &[input("image", ElementType::F32)];
const PARAMETERS: &[Parameter] = &[count("pixels"), count("stride")];

/// Image after a series of launches. In each launch, a CTA adds up 512 elements that are `stride` apart, and
/// stores the sum in the first of them. The stride grows by a factor of 512 per launch, until one CTA
/// suffices.
pub(super) static SRAD1_SUMS: Reference = Reference {
    name: "srad1_sums",
    summary: "in-place partial sums of an image, of elements that are a stride apart",
    inputs: INPUTS,
    parameters: PARAMETERS,
    output: ElementType::F32,
    compute: |arguments| compute(arguments, |pixel| pixel),
};

/// Like [`SRAD1_SUMS`], but applied to the squares of the pixels.
pub(super) static SRAD1_SQUARES: Reference = Reference {
    name: "srad1_squares",
    summary: "in-place partial sums of the squares of an image, of elements that are a stride apart",
    inputs: INPUTS,
    parameters: PARAMETERS,
    output: ElementType::F32,
    compute: |arguments| compute(arguments, |pixel| pixel * pixel),
};

fn compute(arguments: &Arguments<'_>, each: fn(Rounded) -> Rounded) -> Result<ExpectedOutput, ReferenceError> {
    let [pixels, mut stride] = ["pixels", "stride"].map(|name| arguments.count(name));
    let image = arguments.input("image", pixels, "pixels")?;
    let mut plane: Vec<_> = (0..pixels).map(|i| each(Rounded::exact(image.real(i)))).collect();
    while stride < pixels {
        let width = stride.saturating_mul(BLOCK);
        for first in (0..pixels).step_by(width) {
            let last = first.saturating_add(width).min(pixels);
            plane[first] = Rounded::sum((first..last).step_by(stride).map(|i| plane[i]));
        }
        stride = width;
    }
    Ok(ExpectedOutput::with_bounds(plane.into_iter().map(Rounded::with_bound)))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{reals, run, values};

    /// Computes the sums of an image of 1,029 ones and a single two, which is pixel 1025.
    fn plane(name: &str, stride: usize) -> Vec<f64> {
        let image: Vec<f64> = (0..1030).map(|i| if i == 1025 { 2.0 } else { 1.0 }).collect();
        let parameters = [("pixels", Count(1030)), ("stride", Count(stride))];
        values(&run(name, &[("image", &reals(&image))], &parameters).unwrap())
    }

    #[test]
    fn every_first_of_512_elements_has_their_sum_and_the_first_of_all_the_total() {
        let sums = plane("srad1_sums", 1);
        assert_eq!([0, 1, 512, 513, 1024, 1025].map(|i| sums[i]), [1031.0, 1.0, 512.0, 1.0, 7.0, 2.0]);
    }

    #[test]
    fn squares_are_taken_before_they_are_added() {
        assert_eq!([0, 1024, 1025].map(|i| plane("srad1_squares", 1)[i]), [1033.0, 9.0, 4.0]);
    }

    #[test]
    fn a_stride_as_long_as_the_image_leaves_it_as_it_is() {
        assert_eq!(plane("srad1_sums", 512)[..2], [3.0, 1.0]);
        assert_eq!(plane("srad1_sums", 1030)[0], 1.0);
    }
}
