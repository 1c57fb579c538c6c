//! CPU reference: histogram of an image.

use super::{Arguments, Array, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// Maximum count of a bin, which is the largest value of a byte.
const SATURATED: i128 = 255;

/// Histogram: for each of `bins` bins, the number of elements of the image in that bin, limited to 255. The
/// image holds bin numbers in `height` rows of `width` elements. Rows are `pitch` elements apart.
pub(super) static HISTO: Reference = Reference {
    name: "histo",
    summary: "counts of bin numbers, at most 255, in height rows of width elements, pitch apart",
    inputs: &[input("image", ElementType::U32)],
    parameters: &[count("width"), count("height"), count("pitch"), count("bins")],
    output: ElementType::U8,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [width, height, pitch, bins] = ["width", "height", "pitch", "bins"].map(|name| arguments.count(name));
    let image = arguments.matrix("image", height, width, "pitch")?;
    let mut counts = vec![0; bins];
    for row in 0..height {
        for idx in row * pitch..row * pitch + width {
            let bin = image.integer(idx);
            let counter = usize::try_from(bin).ok().and_then(|bin| counts.get_mut(bin));
            let Some(counter) = counter else {
                let last = bins - 1;
                return Err(
                    arguments.error(format!("image[{idx}] is {bin}, expected 0 to {last}: there are {bins} bins"))
                );
            };
            *counter = SATURATED.min(*counter + 1);
        }
    }
    Ok(ExpectedOutput::exact(Array::from_integers(ElementType::U8, counts)))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::run;
    use super::super::{Array, ElementType, ExpectedOutput, ReferenceError};

    /// Computes the histogram of two rows of 200 elements, which are separated by two padding elements of
    /// value 77.
    fn run_histo(bins: usize) -> Result<ExpectedOutput, ReferenceError> {
        let image = (0..402).map(|i| {
            if i == 200 || i == 201 {
                77
            } else if i % 100 == 0 {
                4
            } else {
                1 + i % 2
            }
        });
        let image = Array::from_integers(ElementType::U32, image.map(|bin| if bin == 2 { 1 } else { bin }));
        let sizes = [("width", Count(200)), ("height", Count(2)), ("pitch", Count(202)), ("bins", Count(bins))];
        run("histo", &[("image", &image)], &sizes)
    }

    #[test]
    fn histo_counts_up_to_255_and_skips_the_gaps() {
        // Bin number 4 is at positions 0, 100, 300 and 400; every other element holds bin number 1.
        assert_eq!(run_histo(5).unwrap().values, Array::from_integers(ElementType::U8, [0, 255, 0, 0, 4]));
    }

    #[test]
    fn a_bin_that_is_not_there_is_named() {
        assert_eq!(
            run_histo(4).unwrap_err().to_string(),
            "reference `histo`: image[0] is 4, expected 0 to 3: there are 4 bins"
        );
    }
}
