//! CPU reference: resampling step of a particle filter.

use super::{Arguments, Array, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// Maximum total weight: single precision represents all sums of weights up to this number exactly.
const MAX_TOTAL: i128 = 1 << 24;

/// Resampled particles. The result for a new particle is `from[j]`, where j is the first old particle at
/// which the running sum of the weights reaches the threshold of the new particle. The thresholds are the
/// midpoints of equal shares of the total weight. The weight of a particle is the sum of the pixels around
/// it.
pub(super) static PARTICLEFILTER: Reference = Reference {
    name: "particlefilter",
    summary: "one coordinate of the particles drawn in equal steps of the total weight",
    inputs: &[
        input("picture", ElementType::U8),
        input("x", ElementType::I32),
        input("y", ElementType::I32),
        input("dx", ElementType::I32),
        input("dy", ElementType::I32),
        input("from", ElementType::I32),
    ],
    parameters: &[count("particles"), count("offsets"), count("width")],
    output: ElementType::I32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [particles, offsets, width] = ["particles", "offsets", "width"].map(|name| arguments.count(name));
    let picture = arguments.input("picture", 0, "any")?;
    let [x, y, from] = ["x", "y", "from"].map(|name| arguments.input(name, particles, "particles"));
    let [dx, dy] = ["dx", "dy"].map(|name| arguments.input(name, offsets, "offsets"));
    let (x, y, from, dx, dy) = (x?, y?, from?, dx?, dy?);
    let mut total = 0;
    let mut sums = Vec::new();
    for p in 0..particles {
        for k in 0..offsets {
            let pixel = (y.integer(p) + dy.integer(k)) * width as i128 + x.integer(p) + dx.integer(k);
            let what = format_args!("the pixel at offset {k} of particle {p}");
            total += picture.integer(arguments.check_index(what, pixel, picture.len())?);
        }
        sums.push(total as f32);
    }
    if total > MAX_TOTAL {
        let reason = format!("the weights add up to {total}, expected at most {MAX_TOTAL}: f32 sums must be exact");
        return Err(arguments.error(reason));
    }
    // The share of each new particle in the total weight, and the thresholds, are computed with the same
    // rounded operations as in the kernel.
    let share = total as f32 / particles as f32;
    let draw = |p: usize| {
        let threshold = (p as f32 + 0.5) * share;
        let drawn = sums.partition_point(|&sum| sum < threshold).min(particles - 1);
        from.integer(drawn)
    };
    Ok(ExpectedOutput::exact(Array::from_integers(ElementType::I32, (0..particles).map(draw))))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{integers, run, values};
    use super::super::{Array, ElementType, ExpectedOutput, ReferenceError};

    /// Resamples four particles in one row of pixels. Each covers its own pixel and the one below.
    fn draw(pixels: &[i128], offsets_y: &[i128]) -> Result<ExpectedOutput, ReferenceError> {
        let picture = Array::from_integers(ElementType::U8, pixels.iter().copied());
        let x = integers(&[0, 1, 2, 3]);
        let inputs = [
            ("picture", &picture),
            ("x", &x),
            ("y", &integers(&[0; 4])),
            ("dx", &integers(&[0, 0])),
            ("dy", &integers(offsets_y)),
            ("from", &integers(&[10, 11, 12, 13])),
        ];
        run("particlefilter", &inputs, &[("particles", Count(4)), ("offsets", Count(2)), ("width", Count(4))])
    }

    #[test]
    fn particlefilter_draws_heavy_particles_several_times() {
        // The weights are 1, 5, 0, 2, and their running sums 1, 6, 6, 8. The thresholds are 1, 3, 5, 7.
        let expected = draw(&[1, 2, 0, 1, 0, 3, 0, 1], &[0, 1]).unwrap();
        assert_eq!(values(&expected), [10.0, 11.0, 11.0, 13.0]);
    }

    #[test]
    fn particlefilter_refuses_pixels_outside_the_picture() {
        assert_eq!(
            draw(&[1; 8], &[0, 2]).unwrap_err().to_string(),
            "reference `particlefilter`: the pixel at offset 1 of particle 0 is 8, expected 0 to 7"
        );
    }
}
