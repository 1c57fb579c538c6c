//! CPU reference: option prices by the Black-Scholes formula.

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Input, Parameter, Reference, ReferenceError, count, input, real};

const INPUTS: &[Input] =
    &[input("stock", ElementType::F32), input("strike", ElementType::F32), input("years", ElementType::F32)];
const PARAMETERS: &[Parameter] = &[count("n"), real("rate"), real("volatility")];

const DRAWN_INPUTS: &[Input] = &[input("drawn", ElementType::F32)];
const DRAWN_PARAMETERS: &[Parameter] = &[count("n")];

/// Price of a European call option for each of `n` stocks: the right to buy the stock at its strike price
/// after `years` years.
pub(super) static CALL: Reference = Reference {
    name: "blackscholes_call",
    summary: "prices of n European call options",
    inputs: INPUTS,
    parameters: PARAMETERS,
    output: ElementType::F32,
    compute: |arguments| prices(arguments, |[call, _]| call),
};

/// Price of a European put option for each of `n` stocks: the right to sell the stock at its strike price
/// after `years` years.
pub(super) static PUT: Reference = Reference {
    name: "blackscholes_put",
    summary: "prices of n European put options",
    inputs: INPUTS,
    parameters: PARAMETERS,
    output: ElementType::F32,
    compute: |arguments| prices(arguments, |[_, put]| put),
};

/// Prices of call options whose properties (price, years, rate and volatility) all follow from one random
/// number in `[0, 1)`.
pub(super) static DRAWN_CALL: Reference = Reference {
    name: "blackscholes_drawn_call",
    summary: "prices of n European call options, each drawn from one random number",
    inputs: DRAWN_INPUTS,
    parameters: DRAWN_PARAMETERS,
    output: ElementType::F32,
    compute: |arguments| draw_prices(arguments, |[call, _]| call),
};

/// Prices of put options whose properties (price, years, rate and volatility) all follow from one random
/// number in `[0, 1)`.
pub(super) static DRAWN_PUT: Reference = Reference {
    name: "blackscholes_drawn_put",
    summary: "prices of n European put options, each drawn from one random number",
    inputs: DRAWN_INPUTS,
    parameters: DRAWN_PARAMETERS,
    output: ElementType::F32,
    compute: |arguments| draw_prices(arguments, |[_, put]| put),
};

fn draw_prices(
    arguments: &Arguments<'_>,
    which: impl Fn([Rounded; 2]) -> Rounded,
) -> Result<ExpectedOutput, ReferenceError> {
    let n = arguments.count("n");
    let drawn = arguments.input("drawn", n, "n")?;
    let element = |i: usize| {
        let part = Rounded::exact(drawn.real(i));
        let rest = Rounded::exact(1.0) - part;
        let between = |[low, high]: [f64; 2]| Rounded::constant(low) * part + Rounded::constant(high) * rest;
        let [amount, years, rate, volatility] = [[10.0, 100.0], [1.0, 10.0], [0.01, 0.05], [0.01, 0.1]].map(between);
        which(price(amount, amount, years, rate, volatility)).with_bound()
    };
    Ok(ExpectedOutput::with_bounds((0..n).map(element)))
}

fn prices(
    arguments: &Arguments<'_>,
    which: impl Fn([Rounded; 2]) -> Rounded,
) -> Result<ExpectedOutput, ReferenceError> {
    let n = arguments.count("n");
    let [rate, volatility] = ["rate", "volatility"].map(|name| Rounded::exact(arguments.real(name)));
    let [stock, strike, years] = ["stock", "strike", "years"].map(|name| arguments.input(name, n, "n"));
    let (stock, strike, years) = (stock?, strike?, years?);
    let element = |i: usize| {
        let [s, k, t] = [stock, strike, years].map(|array| Rounded::exact(array.real(i)));
        which(price(s, k, t, rate, volatility)).with_bound()
    };
    Ok(ExpectedOutput::with_bounds((0..n).map(element)))
}

/// Returns the call price and the put price. As in the kernel, logarithms and powers are computed with
/// functions to base 2.
fn price(stock: Rounded, strike: Rounded, years: Rounded, rate: Rounded, volatility: Rounded) -> [Rounded; 2] {
    let [half, one] = [0.5, 1.0].map(Rounded::exact);
    let log2_e = Rounded::constant(std::f64::consts::LOG2_E);
    let ln_2 = Rounded::constant(std::f64::consts::LN_2);
    let deviation = volatility * years.sqrt();
    let drift = (rate + half * volatility * volatility) * years;
    let d1 = (ln_2 * (stock / strike).fast_log2() + drift) / deviation;
    let d2 = d1 - deviation;
    let (n1, n2) = (normal_distribution(d1), normal_distribution(d2));
    let discounted = strike * (-log2_e * rate * years).fast_exp2();
    [stock * n1 - discounted * n2, discounted * (one - n2) - stock * (one - n1)]
}

/// Returns the cumulative normal distribution at `d`, with a bound on the error of the kernel's
/// approximation, Abramowitz and Stegun 26.2.17. Apart from rounding, that formula has an error of at most
/// 7.5e-8. At zero, the formula's two branches differ by at most 1.5e-7. The bound covers this difference,
/// since rounding may select either branch.
fn normal_distribution(d: Rounded) -> Rounded {
    const PROMISE: f64 = 7.5e-8;
    let one = Rounded::exact(1.0);
    let t = one / (one + Rounded::constant(0.2316419) * d.abs());
    let exponent = Rounded::exact(-0.5) * Rounded::constant(std::f64::consts::LOG2_E) * (d * d);
    let density = Rounded::constant(0.3989422804014327) * exponent.fast_exp2();
    let coefficients = [1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.319381530];
    let series = coefficients.map(Rounded::constant).into_iter().reduce(|sum, c| c + t * sum);
    let tail = density * (t * series.unwrap_or(one));
    let rounding = (one - tail).error;
    Rounded { value: exact_normal_distribution(d.value), error: rounding + 3.0 * PROMISE }
}

/// Returns the cumulative normal distribution at `d`, with an error near 1e-15. It is 1/2 plus the product of
/// the density and the series d + d^3 / 3 + d^5 / (3 * 5) + ... All terms of the series have the same sign,
/// so cancellation occurs only with the 1/2.
fn exact_normal_distribution(d: f64) -> f64 {
    // For |d| above 8, the distribution differs from 0 or 1 by less than 1e-15, and the series would need
    // hundreds of terms.
    if d.abs() > 8.0 {
        return if d > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut term, mut sum, mut odd) = (d, d, 1.0);
    while term.abs() > 1e-18 * sum.abs() {
        odd += 2.0;
        term *= d * d / odd;
        sum += term;
    }
    0.5 + sum * (-0.5 * d * d).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::{Count, Real};
    use super::super::tests::{reals, run, values};
    use super::super::{Rule, compare};
    use super::*;

    #[test]
    fn the_normal_distribution_has_its_known_values() {
        for (d, share) in [(0.0, 0.5), (1.0, 0.841344746068543), (-1.96, 0.024997895148220), (3.0, 0.998650101968370)] {
            assert!((exact_normal_distribution(d) - share).abs() < 1e-14, "{d}");
        }
    }

    #[test]
    fn the_approximation_in_single_precision_stays_within_the_bound() {
        for i in -600..600 {
            let d = i as f32 / 100.0;
            let t = 1.0 / (1.0 + 0.2316419 * d.abs());
            let series =
                t * (0.319_381_53 + t * (-0.356_563_78 + t * (1.781_477_9 + t * (-1.821_255_9 + t * 1.330_274_4))));
            let tail = 0.398_942_3 * (-0.5 * d * d).exp() * series;
            let single = if d > 0.0 { 1.0 - tail } else { tail };
            let bounded = normal_distribution(Rounded::exact(f64::from(d)));
            assert!((f64::from(single) - bounded.value).abs() <= bounded.error, "{d}");
            assert!(bounded.error < 3e-6, "{d}: {:e}", bounded.error);
        }
    }

    fn option(name: &str) -> ExpectedOutput {
        let inputs = [("stock", &reals(&[42.0])), ("strike", &reals(&[40.0])), ("years", &reals(&[0.5]))];
        run(name, &inputs, &[("n", Count(1)), ("rate", Real(0.1)), ("volatility", Real(0.2))]).unwrap()
    }

    #[test]
    fn blackscholes_gives_the_prices_of_the_textbook() {
        // Hull, Options, Futures and Other Derivatives, gives 4.76 for the call and 0.81 for the put in an
        // example on European options.
        assert!((values(&option("blackscholes_call"))[0] - 4.759).abs() < 1e-3);
        assert!((values(&option("blackscholes_put"))[0] - 0.809).abs() < 1e-3);
    }

    #[test]
    fn blackscholes_does_not_pass_a_price_off_by_a_thousandth() {
        let expected = option("blackscholes_call");
        assert!(matches!(expected.rule, Rule::Bounds(_)));
        let right = expected.values.real(0);
        let judge = |price: f64| compare(&reals(&[price]), &expected.values, &expected.rule);
        assert!(judge(right).is_ok());
        assert!(judge(right + 1e-3).is_err());
    }
}
