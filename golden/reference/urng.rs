//! CPU reference: uniformly distributed noise that is added to an image.

use super::{Arguments, Array, ElementType, ExpectedOutput, Reference, ReferenceError, count, index, input};

/// Number of bytes per pixel. The same deviation is added to all bytes of a pixel.
const CHANNELS: usize = 4;
const TABLE: usize = 16;
const MODULUS: i128 = (1 << 31) - 1;
const MULTIPLIER: i128 = 16_807;

/// Image in which a random deviation from -`amplitude` to `amplitude` is added to every pixel, with results
/// clamped to 0 to 255. The deviation comes from the Park-Miller generator with a Bays-Durham shuffle table.
/// The position and color of the pixel are its seed.
pub(super) static URNG: Reference = Reference {
    name: "urng",
    summary: "pixels of 4 bytes and a random deviation of at most the amplitude",
    inputs: &[input("in", ElementType::U8)],
    parameters: &[count("pixels"), index("amplitude")],
    output: ElementType::U8,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [pixels, amplitude] = ["pixels", "amplitude"].map(|name| arguments.count(name));
    let image = arguments.input("in", CHANNELS * pixels, "4 * pixels")?;
    let spread = 2 * amplitude as i128 + 1;
    let noisy = (0..pixels).flat_map(|pixel| {
        let colour: [i128; CHANNELS] = std::array::from_fn(|channel| image.integer(CHANNELS * pixel + channel));
        let seed = 1 + 1021 * pixel as i128 + colour.iter().sum::<i128>();
        let deviation = ((shuffle(seed) * spread) >> 31) - amplitude as i128;
        colour.map(|channel| (channel + deviation).clamp(0, 255))
    });
    Ok(ExpectedOutput::exact(Array::from_integers(ElementType::U8, noisy)))
}

/// Returns the number that follows `state` in the sequence of the Park-Miller generator.
fn advance(state: i128) -> i128 {
    MULTIPLIER * state % MODULUS
}

/// Generates 24 numbers from `seed`, and returns one of the last 16, which form the shuffle table. The 24th
/// number selects it: the range of possible numbers is divided into 16 equal parts. If the 24th number is in
/// part r (from 0 to 15), the result is the number generated r steps before it.
fn shuffle(seed: i128) -> i128 {
    let numbers: Vec<i128> = std::iter::successors(Some(seed), |&state| Some(advance(state))).take(25).collect();
    let last = numbers[24];
    // The numbers below the modulus of the generator are divided into sixteen equal ranges, one per entry of
    // the shuffle table.
    let entry = last / (MODULUS / TABLE as i128 + 1);
    numbers[24 - entry as usize]
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::run;
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        // According to Park and Miller, the ten-thousandth number after the seed 1 is 1043618065.
        assert_eq!((0..10_000).fold(1, |state, _| advance(state)), 1_043_618_065);
    }

    #[test]
    fn the_last_number_chooses_among_the_last_sixteen() {
        let mut entries = [0; TABLE];
        for seed in 1..2000 {
            let history: Vec<i128> = (0..24)
                .scan(seed, |state, _| {
                    *state = advance(*state);
                    Some(*state)
                })
                .collect();
            let chosen = history.iter().rposition(|&number| number == shuffle(seed)).unwrap();
            entries[23 - chosen] += 1;
            assert_eq!(history[23] * TABLE as i128 / (MODULUS + 1), 23 - chosen as i128);
        }
        assert!(entries.iter().all(|&count| count > 80), "{entries:?}");
    }

    #[test]
    fn all_channels_of_a_pixel_deviate_alike_within_the_amplitude() {
        let image = Array::from_integers(ElementType::U8, (0..400).map(|i| [0, 100, 150, 255][i % 4]));
        let noisy = |amplitude| {
            let parameters = [("pixels", Count(100)), ("amplitude", Count(amplitude))];
            run("urng", &[("in", &image)], &parameters).unwrap().values
        };
        assert_eq!(noisy(0), image);
        let noisy = noisy(20);
        let deviations: Vec<i128> = (0..100).map(|pixel| noisy.integer(4 * pixel + 1) - 100).collect();
        for (pixel, &deviation) in deviations.iter().enumerate() {
            assert_eq!(noisy.integer(4 * pixel), deviation.max(0));
            assert_eq!(noisy.integer(4 * pixel + 2), 150 + deviation);
            assert_eq!(noisy.integer(4 * pixel + 3), 255 + deviation.min(0));
        }
        assert!(deviations.iter().all(|d| d.abs() <= 20));
        assert!(deviations.contains(&20) || deviations.contains(&19));
        assert!(deviations.contains(&-20) || deviations.contains(&-19));
    }
}
