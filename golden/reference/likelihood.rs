//! CPU reference: likelihood step of a particle filter.

use super::{Arguments, Array, ElementType, ExpectedOutput, Reference, ReferenceError, count, index, input};

/// Brightness of the background.
const BACKGROUND: i128 = 100;
/// Brightness of the object.
const OBJECT: i128 = 228;

/// Measure of how well the pixels around each particle fit the object, in frame `frame` of the film: the sum
/// over these pixels of (pixel - background)^2 - (pixel - object)^2. The values of a pixel in all frames are
/// contiguous.
pub(super) static LIKELIHOOD: Reference = Reference {
    name: "likelihood",
    summary: "fit of the pixels around each particle to an object",
    inputs: &[
        input("film", ElementType::U8),
        input("x", ElementType::F32),
        input("y", ElementType::F32),
        input("dx", ElementType::I32),
        input("dy", ElementType::I32),
    ],
    parameters: &[count("particles"), count("offsets"), count("width"), count("frames"), index("frame")],
    output: ElementType::I32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [particles, offsets, width, frames, frame] =
        ["particles", "offsets", "width", "frames", "frame"].map(|name| arguments.count(name));
    let film = arguments.input("film", 0, "any")?;
    let [x, y] = ["x", "y"].map(|name| arguments.input(name, particles, "particles"));
    let [dx, dy] = ["dx", "dy"].map(|name| arguments.input(name, offsets, "offsets"));
    let (x, y, dx, dy) = (x?, y?, dx?, dy?);
    let mut fits = Vec::new();
    for p in 0..particles {
        let [column, row] = [x, y].map(|array| array.real(p).round_ties_even() as i128);
        let mut fit = 0;
        for k in 0..offsets {
            let pixel = (row + dy.integer(k)) * width as i128 + column + dx.integer(k);
            let at = pixel * frames as i128 + frame as i128;
            let what = format_args!("the pixel at offset {k} of particle {p}");
            let value = film.integer(arguments.check_index(what, at, film.len())?);
            fit += (value - BACKGROUND).pow(2) - (value - OBJECT).pow(2);
        }
        fits.push(fit);
    }
    Ok(ExpectedOutput::exact(Array::from_integers(ElementType::I32, fits)))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{integers, reals, run, values};
    use super::super::{Array, ElementType, ExpectedOutput, ReferenceError};

    /// Computes the fit of two particles in a film with four pixels per row and two frames. Each particle
    /// covers its own pixel and the one to the right.
    fn fit(pixels: &[i128], x: &[f64]) -> Result<ExpectedOutput, ReferenceError> {
        let film = Array::from_integers(ElementType::U8, pixels.iter().copied());
        let inputs = [
            ("film", &film),
            ("x", &reals(x)),
            ("y", &reals(&[0.0, 0.0])),
            ("dx", &integers(&[0, 1])),
            ("dy", &integers(&[0, 0])),
        ];
        let parameters = [("particles", 2), ("offsets", 2), ("width", 4), ("frames", 2), ("frame", 1)];
        run("likelihood", &inputs, &parameters.map(|(name, value)| (name, Count(value))))
    }

    #[test]
    fn likelihood_compares_pixels_of_the_last_frame_with_object_and_background() {
        // The pixels of the second frame are 100, 228, 164 and 101, where 164 is midway between background
        // and object.
        let expected = fit(&[0, 100, 0, 228, 0, 164, 0, 101], &[0.4, 1.5]).unwrap();
        assert_eq!(values(&expected), [0.0, 1.0 - f64::from(127 * 127)]);
    }

    #[test]
    fn likelihood_refuses_pixels_outside_the_film() {
        assert_eq!(
            fit(&[0; 8], &[0.0, 3.0]).unwrap_err().to_string(),
            "reference `likelihood`: the pixel at offset 1 of particle 1 is 9, expected 0 to 7"
        );
    }
}
