//! CPU reference: estimate of pi by counting the points inside a circle. Random number generators yield the
//! points.

use super::rounded::Rounded;
use super::{Arguments, Array, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// For each CTA, the number of its points that are closer than 1 to the origin. Groups of `threads`
/// consecutive points are assigned to `ctas` CTAs round robin. Each thread generates its own points, x then
/// y, with Marsaglia's generator xorwow.
/// Thread i starts from Marsaglia's seeds, advanced i times by the first level of the table `skip`. Each
/// level of the table advances four times as far as the level before. If `f32` rounding could decide whether
/// a point counts, both outcomes are accepted.
pub(super) static PEST_STATES: Reference = Reference {
    name: "pest_states",
    summary: "number of points drawn within the unit circle, for each CTA",
    inputs: &[input("skip", ElementType::U32)],
    parameters: &[count("points"), count("ctas"), count("threads")],
    output: ElementType::I32,
    compute,
};

const WORDS: usize = 5;
/// Number of words per level of the table `skip`: five for each bit of the generator's history.
const LEVEL: usize = 32 * WORDS * WORDS;

/// State of an xorwow generator: five words of history and a counter.
#[derive(Clone, Copy)]
struct Xorwow {
    history: [u32; WORDS],
    counter: u32,
}

impl Xorwow {
    /// Initial state of the generator, as in Marsaglia, Xorshift RNGs, section 3.1.
    const FIRST: Self =
        Self { history: [123_456_789, 362_436_069, 521_288_629, 88_675_123, 5_783_321], counter: 6_615_241 };

    fn next(&mut self) -> u32 {
        let [first, .., last] = self.history;
        let mixed = first ^ (first >> 2);
        self.history.rotate_left(1);
        self.history[4] = last ^ (last << 4) ^ mixed ^ (mixed << 1);
        self.counter = self.counter.wrapping_add(362_437);
        self.history[4].wrapping_add(self.counter)
    }

    /// Generates a random number in [0, 1), a multiple of 2^-24.
    fn next_real(&mut self) -> Rounded {
        Rounded::exact(f64::from(self.next() >> 8) / f64::from(1 << 24))
    }

    /// Returns the generator after it is advanced by one level of the table `skip`. That level starts at
    /// index `from`.
    fn skip_ahead(self, skip: &Array, from: usize) -> Self {
        let is_set = |bit: &usize| self.history[bit / 32] >> (bit % 32) & 1 == 1;
        let word = |at: usize| skip.integer(at) as u32;
        let history = std::array::from_fn(|w| {
            (0..32 * WORDS).filter(is_set).fold(0, |sum, bit| sum ^ word(from + WORDS * bit + w))
        });
        Self { history, ..self }
    }
}

/// Returns the generators of `threads` threads. Each generator except the first is derived from that of an
/// earlier thread, by advancing it by one level.
fn generators(skip: &Array, threads: usize) -> Vec<Xorwow> {
    let mut all = vec![Xorwow::FIRST];
    for thread in 1..threads {
        let level = thread.ilog2() / 2;
        let before = all[thread - (1 << (2 * level))];
        all.push(before.skip_ahead(skip, level as usize * LEVEL));
    }
    all
}

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [points, ctas, threads] = ["points", "ctas", "threads"].map(|name| arguments.count(name));
    let all = ctas * threads;
    let levels = all.saturating_sub(1).max(1).ilog2() as usize / 2 + 1;
    let skip = arguments.input("skip", levels * LEVEL, "800 words for every two bits of a thread number")?;
    // For each CTA: midpoint and half width of the interval that must contain its number of points.
    let mut counts = vec![(0.0, 0.0); ctas];
    for (thread, mut generator) in generators(skip, all).into_iter().enumerate() {
        let (middle, half) = &mut counts[thread / threads];
        for _ in (thread..points).step_by(all) {
            let x = generator.next_real();
            let y = generator.next_real();
            let square = x * x + y * y;
            if square.value + square.error < 1.0 {
                *middle += 1.0;
            } else if square.value - square.error < 1.0 {
                *middle += 0.5;
                *half += 0.5;
            }
        }
    }
    Ok(ExpectedOutput::with_bounds(counts))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{run, values};
    use super::*;

    /// Returns a table `skip` with three levels, which advance a generator by 1, 4 and 16 numbers. The levels
    /// are computed by running a generator from each state in which a single bit is set.
    fn short_skips() -> Array {
        let moved = |bit: usize, steps: usize| {
            let mut alone =
                Xorwow { history: std::array::from_fn(|w| u32::from(w == bit / 32) << (bit % 32)), counter: 0 };
            (0..steps).for_each(|_| _ = alone.next());
            alone.history
        };
        let words = [1, 4, 16].map(|steps| (0..32 * WORDS).flat_map(move |bit| moved(bit, steps)).collect::<Vec<_>>());
        Array::from_integers(ElementType::U32, words.concat().into_iter().map(i128::from))
    }

    #[test]
    fn pest_states_draws_with_xorwow() {
        let mut generator = Xorwow::FIRST;
        assert_eq!([(); 3].map(|()| generator.next()), [246_875_399, 3_690_007_200, 1_264_581_005]);
    }

    #[test]
    fn pest_states_puts_generators_as_far_apart_as_the_levels_say() {
        let mut walks = Xorwow::FIRST;
        for (number, generator) in generators(&short_skips(), 64).into_iter().enumerate() {
            assert_eq!(generator.history, walks.history, "{number}");
            walks.next();
        }
    }

    #[test]
    fn pest_states_comes_near_pi_and_counts_every_point() {
        let skip = short_skips();
        let counts = |points| {
            let parameters = [("points", Count(points)), ("ctas", Count(4)), ("threads", Count(16))];
            values(&run("pest_states", &[("skip", &skip)], &parameters).unwrap())
        };
        let inside: f64 = counts(100_000).iter().sum();
        assert!((4.0 * inside / 100_000.0 - std::f64::consts::PI).abs() < 0.05, "{inside}");
        assert!(counts(16)[1..].iter().all(|count| *count == 0.0));
    }
}
