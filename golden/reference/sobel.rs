//! CPU reference: Sobel edge filter of an image.

use super::{Arguments, Array, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// Number of bytes (channels) per pixel. Each channel is filtered separately.
const CHANNELS: usize = 4;

/// Half the magnitude of the Sobel gradient of each channel, rounded down and limited to 255. The border
/// pixels are zero, as is the padding between rows. Rows are `ld` pixels apart.
pub(super) static SOBEL: Reference = Reference {
    name: "sobel",
    summary: "Sobel edges of height rows of width pixels of 4 bytes, ld pixels apart",
    inputs: &[input("in", ElementType::U8)],
    parameters: &[count("width"), count("height"), count("ld")],
    output: ElementType::U8,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [width, height, ld] = ["width", "height", "ld"].map(|name| arguments.count(name));
    if ld < width {
        return Err(arguments.error(format!("parameter `ld` is {ld}, expected at least {width}, the pixels per row")));
    }
    let image = arguments.input("in", height * ld * CHANNELS, "height * ld * 4")?;
    let element = |idx: usize| {
        let (pixel, channel) = (idx / CHANNELS, idx % CHANNELS);
        let (x, y) = (pixel % ld, pixel / ld);
        if x == 0 || x + 1 >= width || y == 0 || y + 1 == height {
            return 0;
        }
        let at = |i: usize, j: usize| image.integer(((y + i - 1) * ld + x + j - 1) * CHANNELS + channel);
        let weights = [1, 2, 1];
        let across: i128 = (0..3).map(|i| weights[i] * (at(i, 2) - at(i, 0))).sum();
        let down: i128 = (0..3).map(|j| weights[j] * (at(2, j) - at(0, j))).sum();
        let square = across * across + down * down;
        (square.isqrt() / 2).min(255)
    };
    Ok(ExpectedOutput::exact(Array::from_integers(ElementType::U8, (0..height * ld * CHANNELS).map(element))))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::run;
    use super::super::{Array, ElementType};

    #[test]
    fn sobel_filters_each_channel_inside_the_border() {
        // The image has 3 x 3 pixels, with rows 4 pixels apart. Channel 0 increases by 3 per column and 4 per
        // row, so that its gradient is (24, 32). Channel 1 is uniform. Channel 2 has one bright corner.
        // Channel 3 has a white column beside black ones.
        let pixel =
            |x: i128, y: i128| [3 * x + 4 * y, 7, if (x, y) == (2, 2) { 10 } else { 0 }, if x == 2 { 255 } else { 0 }];
        let image = (0..12).flat_map(|i| if i % 4 < 3 { pixel(i % 4, i / 4) } else { [9; 4] });
        let image = Array::from_integers(ElementType::U8, image);
        let parameters = [("width", Count(3)), ("height", Count(3)), ("ld", Count(4))];
        let edges = run("sobel", &[("in", &image)], &parameters).unwrap().values;
        let mut should = [0; 48];
        // Channel 0 yields sqrt(24^2 + 32^2) / 2 = 20, and channel 2 yields sqrt(10^2 + 10^2) / 2 = 7.07.
        // Channel 3 would yield 1020 / 2, which is limited to 255.
        should[20..24].copy_from_slice(&[20, 0, 7, 255]);
        assert_eq!(edges, Array::from_integers(ElementType::U8, should));
    }
}
