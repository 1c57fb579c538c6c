//! CPU reference: normally distributed random numbers from Mersenne twisters.

use std::f64::consts::{LN_2, TAU};

use super::rounded::Rounded;
use super::{Arguments, Array, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// Number of 128-bit words in the state of a generator: 607 bits, rounded up to five words.
const WORDS: usize = 5;

/// Normally distributed numbers from `threads` generators, each with its own seed. Each generator yields four
/// numbers per round, for `rounds` rounds. The output lists one round after another, with the numbers of all
/// generators in each.
/// The generator is SFMT with period 2^607 - 1, seeded like MT19937. The Box-Muller transform turns the upper
/// 23 bits of the generator's words into normally distributed numbers.
pub(super) static MERSENNE: Reference = Reference {
    name: "mersenne",
    summary: "normally distributed numbers from one Mersenne Twister per thread, four per round",
    inputs: &[input("seeds", ElementType::U32)],
    parameters: &[count("threads"), count("rounds")],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [threads, rounds] = ["threads", "rounds"].map(|name| arguments.count(name));
    let seeds: &Array = arguments.input("seeds", threads, "threads")?;
    let mut states: Vec<[u128; WORDS]> = (0..threads).map(|thread| seed_state(seeds.integer(thread) as u32)).collect();
    let mut numbers = Vec::new();
    for _ in 0..rounds {
        for state in &mut states {
            let next = twist(state);
            state.rotate_left(1);
            state[WORDS - 1] = next;
            let [first, second, third, fourth] = words(next).map(uniform);
            numbers.extend(box_muller(first, second));
            numbers.extend(box_muller(third, fourth));
        }
    }
    Ok(ExpectedOutput::with_bounds(numbers.into_iter().map(Rounded::with_bound)))
}

/// Splits a 128-bit word into four 32-bit words, lowest first.
fn words(word: u128) -> [u32; 4] {
    std::array::from_fn(|i| (word >> (32 * i)) as u32)
}

/// Returns the initial state for a seed: 20 words of 32 bits, by the seeding rule of MT19937.
fn seed_state(seed: u32) -> [u128; WORDS] {
    let mut state = [0; WORDS];
    let mut word = seed;
    for k in 0..4 * WORDS {
        state[k / 4] |= u128::from(word) << (32 * (k % 4));
        word = (word ^ (word >> 30)).wrapping_mul(1_812_433_253).wrapping_add(k as u32 + 1);
    }
    state
}

/// Returns the 128-bit word that follows the five words of a generator state.
fn twist(state: &[u128; WORDS]) -> u128 {
    const MASK: u128 = 0x7ff7_fb2f_ff77_7b7d_ef7f_3f7d_fdff_37ff;
    // Each 32-bit word is shifted separately: all 128 bits are shifted, then the bits that crossed a word
    // boundary are masked.
    let right_by_13 = (state[2] >> 13) & (u128::MAX / 0xffff_ffff * 0x0007_ffff);
    let left_by_15 = (state[4] << 15) & (u128::MAX / 0xffff_ffff * 0xffff_8000);
    state[0] ^ (state[0] << 24) ^ (right_by_13 & MASK) ^ (state[3] >> 24) ^ left_by_15
}

/// Returns a uniformly distributed number between 0 and 1: the upper 23 bits plus one half, divided by 2^23.
/// It is exact in `f32`.
fn uniform(bits: u32) -> Rounded {
    Rounded::exact((f64::from(bits >> 9) + 0.5) / f64::from(1 << 23))
}

/// Transforms two uniformly distributed numbers into two normally distributed numbers.
fn box_muller(radius: Rounded, angle: Rounded) -> [Rounded; 2] {
    let radius = (Rounded::constant(-2.0 * LN_2) * radius.fast_log2()).sqrt();
    let angle = Rounded::constant(TAU) * (angle - Rounded::exact(0.5));
    [radius * angle.fast_cos(), radius * angle.fast_sin()]
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{run, values};
    use super::super::{ExpectedOutput, Rule};
    use super::*;

    fn numbers(seeds: &[i128], rounds: usize) -> ExpectedOutput {
        let seeds_array = Array::from_integers(ElementType::U32, seeds.iter().copied());
        let parameters = [("threads", Count(seeds.len())), ("rounds", Count(rounds))];
        run("mersenne", &[("seeds", &seeds_array)], &parameters).unwrap()
    }

    #[test]
    fn seeding_is_that_of_mt19937() {
        // For seed 5489, the authors of MT19937 publish 5489 and 1301868182 as the first words of the state.
        assert_eq!(words(seed_state(5489)[0])[..2], [5489, 1_301_868_182]);
    }

    #[test]
    fn a_twist_shifts_words_of_128_and_of_32_bits() {
        let bit = |at: usize| 1_u128 << at;
        assert_eq!(twist(&[bit(20), 0, 0, 0, 0]), bit(20) | bit(44));
        assert_eq!(twist(&[0, u128::MAX, 0, 0, 0]), 0);
        // The 32-bit words of `state[2]` are shifted right by 13 and masked. Bit 32 is the lowest bit of a
        // word and is shifted out. Bit 46 becomes bit 33, which the mask of the generator removes. Only bit
        // 45 remains, as bit 32.
        assert_eq!(twist(&[0, 0, bit(32) | bit(45) | bit(46), 0, 0]), bit(32));
        assert_eq!(twist(&[0, 0, 0, bit(30) | bit(3), 0]), bit(6));
        assert_eq!(twist(&[0, 0, 0, 0, bit(16) | bit(17)]), bit(31));
    }

    #[test]
    fn rounds_follow_one_another_and_threads_lie_side_by_side() {
        let (both, second) = (values(&numbers(&[1, 2], 3)), values(&numbers(&[2], 3)));
        assert_eq!(both.len(), 24);
        for round in 0..3 {
            assert_eq!(both[8 * round + 4..8 * round + 8], second[4 * round..4 * round + 4]);
        }
    }

    #[test]
    fn numbers_are_normally_distributed_and_their_bounds_small() {
        let expected = numbers(&(0..500).collect::<Vec<_>>(), 10);
        let numbers = values(&expected);
        let mean = |f: fn(f64) -> f64| numbers.iter().map(|&x| f(x)).sum::<f64>() / numbers.len() as f64;
        // With 20,000 numbers, the standard deviations of the mean, the second moment and the fourth moment
        // are 0.007, 0.01 and 0.07.
        assert!(mean(|x| x).abs() < 0.03);
        assert!((mean(|x| x * x) - 1.0).abs() < 0.04);
        assert!((mean(|x| x.powi(4)) - 3.0).abs() < 0.3);
        let Rule::Bounds(bounds) = expected.rule else { panic!() };
        assert!(bounds.iter().sum::<f64>() / 20_000.0 < 1e-5);
    }
}
