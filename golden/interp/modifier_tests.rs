//! Tests the PTX modifiers on every type. The result must be exact, or the instruction must be refused with a
//! message that names the unsupported modifier. The expected results come from a software implementation of
//! IEEE 754 and from 128-bit integers.
//!
//! Also tests PTX instructions that the compiler expands into several instructions. Their destination may be
//! a register or guard that they also read.

use rustc_apfloat::ieee::{Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::spaces::tests::ran;

/// Bit layout of a data type, and the registers of that type for operands `a`, `b`, `c` and the result.
struct Format {
    name: &'static str,
    bits: u32,
    /// Number of fraction bits of a floating-point type; 0 for an integer type.
    fraction: u32,
    nan: u64,
    registers: [&'static str; 4],
}

const WORDS: [&str; 4] = ["%r2", "%r3", "%r4", "%r5"];
const HALVES: [&str; 4] = ["%rs1", "%rs2", "%rs3", "%rs4"];
const LONGS: [&str; 4] = ["%rd2", "%rd3", "%rd4", "%rd5"];
const F16: Format = Format { name: "f16", bits: 16, fraction: 10, nan: 0x7fff, registers: HALVES };
const F32: Format =
    Format { name: "f32", bits: 32, fraction: 23, nan: 0x7fff_ffff, registers: ["%f1", "%f2", "%f3", "%f4"] };
const F64: Format = Format {
    name: "f64",
    bits: 64,
    fraction: 52,
    nan: 0x7ff8_0000_0000_0000,
    registers: ["%fd1", "%fd2", "%fd3", "%fd4"],
};

const fn integer(name: &'static str, bits: u32) -> Format {
    let registers = match bits {
        16 => HALVES,
        64 => LONGS,
        _ => WORDS,
    };
    Format { name, bits, fraction: 0, nan: 0, registers }
}

const INTEGERS: [Format; 8] = [
    integer("u8", 8),
    integer("s8", 8),
    integer("u16", 16),
    integer("s16", 16),
    integer("u32", 32),
    integer("s32", 32),
    integer("u64", 64),
    integer("s64", 64),
];

impl Format {
    fn sign(&self) -> u64 {
        1 << (self.bits - 1)
    }

    fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    /// Returns the bit pattern of positive infinity.
    fn infinity(&self) -> u64 {
        (self.sign() - 1) >> self.fraction << self.fraction
    }

    fn one(&self) -> u64 {
        (self.infinity() >> 1) >> self.fraction << self.fraction
    }

    fn is_nan(&self, x: u64) -> bool {
        x & !self.sign() > self.infinity()
    }

    fn flush(&self, x: u64) -> u64 {
        if x & self.infinity() == 0 { x & self.sign() } else { x }
    }

    /// Applies the modifier `.sat` to a result: clamps it to the range from 0 to 1, and turns NaN into 0.
    fn clamp(&self, x: u64) -> u64 {
        if self.is_nan(x) || x & self.sign() != 0 { 0 } else { x.min(self.one()) }
    }

    /// Applies the modifier `.relu` to a result: turns negative numbers into 0.
    fn rectify(&self, x: u64) -> u64 {
        if !self.is_nan(x) && x & self.sign() != 0 { 0 } else { x }
    }

    /// Returns test values of both signs: zeros, subnormals, values at the ends of binades (ranges between
    /// powers of two), infinities and NaN.
    fn floats(&self) -> Vec<u64> {
        let unit = 1 << self.fraction;
        let (one, infinity) = (self.one(), self.infinity());
        let third = one - unit + unit / 3;
        let magnitudes = [
            0,
            1,
            unit - 1,
            unit,
            one / 2,
            third,
            one - unit,
            one,
            one + 1,
            one + unit + unit / 2,
            infinity - 1,
            infinity,
        ];
        let signed = magnitudes.into_iter().flat_map(|x| [x, x | self.sign()]);
        signed.chain([self.nan, (infinity + 1) | self.sign()]).collect()
    }

    /// Returns test values: integers at both ends of the type's range, around zero, and at the limits of
    /// narrower types.
    fn integers(&self) -> Vec<u64> {
        let ends = [7, 8, 11, 15, 16, 24, 31, 32, 53, 63].into_iter().flat_map(|bit| {
            let power = 1u64 << bit;
            [power - 1, power, power + 1, power.wrapping_neg(), power.wrapping_neg().wrapping_sub(1)]
        });
        ends.chain([0, 1, u64::MAX, 0x1234_5678_9abc_def1]).map(|x| x & self.mask()).collect()
    }

    fn value(&self, x: u64) -> i128 {
        let x = x & self.mask();
        if self.name.starts_with('s') && x & self.sign() != 0 { i128::from(x) - (1 << self.bits) } else { x.into() }
    }

    fn range(&self) -> (i128, i128) {
        let half = 1i128 << (self.bits - 1);
        if self.name.starts_with('s') { (-half, half - 1) } else { (0, 2 * half - 1) }
    }

    /// Returns PTX code that moves operand number `at` from register `%rd{2 + at}` to a register of the
    /// operand's type.
    fn put(&self, at: usize) -> String {
        let (wide, to) = (LONGS[at], self.registers[at]);
        match (self.fraction > 0, self.bits) {
            (true, 64) => format!("mov.b64 {to}, {wide};"),
            (true, 32) => format!("cvt.u32.u64 {}, {wide}; mov.b32 {to}, {};", WORDS[at], WORDS[at]),
            (_, 16) => format!("cvt.u16.u64 {to}, {wide};"),
            (false, 64) => String::new(),
            _ => format!("cvt.u32.u64 {to}, {wide};"),
        }
    }

    /// Returns PTX code that moves the result from a register of its own type to `%rd5`.
    fn take(&self) -> String {
        let from = self.registers[3];
        match (self.fraction > 0, self.bits) {
            (true, 64) => format!("mov.b64 %rd5, {from};"),
            (true, 32) => format!("mov.b32 %r5, {from}; cvt.u64.u32 %rd5, %r5;"),
            (_, 16) => format!("cvt.u64.u16 %rd5, {from};"),
            (false, 64) => String::new(),
            _ => format!("cvt.u64.u32 %rd5, {from};"),
        }
    }
}

/// Runs an instruction once per set of inputs, each time in another thread. In the text of the instruction,
/// `{a}`, `{b}` and `{c}` stand for the operands, and `{d}` for the destination.
fn run(instruction: &str, [from, to]: [&Format; 2], inputs: &[[u64; 3]]) -> Result<Vec<u64>, String> {
    let numbers: Vec<String> = inputs.iter().flatten().map(|x| format!("{x:#x}")).collect();
    let file = format!(".global .align 8 .b64 in[{}] = {{{}}};", numbers.len(), numbers.join(", "));
    let mut text = instruction.replace("{d}", to.registers[3]);
    for (name, register) in ["{a}", "{b}", "{c}"].into_iter().zip(from.registers) {
        text = text.replace(name, register);
    }
    let load = "mov.u64 %rd1, in; mad.wide.u32 %rd1, %r0, 24, %rd1; ld.global.b64 %rd2, [%rd1];\n\
                ld.global.b64 %rd3, [%rd1+8]; ld.global.b64 %rd4, [%rd1+16]; cvt.u32.u64 %r4, %rd4;";
    let put: String = (0..3).map(|at| from.put(at)).collect();
    let half = |words: &str| {
        ran(&file, inputs.len() as u32, &format!("{load}\n{put}\n{text}\n{}\nmov.b64 {words}, %rd5;", to.take()))
    };
    let (low, high) = (half("{%r1, _}")?, half("{_, %r1}")?);
    Ok(low.into_iter().zip(high).map(|(low, high)| u64::from(high) << 32 | u64::from(low)).collect())
}

/// Returns every pair of values, extended to a triple by a third value that cycles through all values.
fn triples(values: &[u64]) -> Vec<[u64; 3]> {
    let third = |i: usize, j: usize| values[(5 * i + 3 * j + 1) % values.len()];
    let pairs = values.iter().enumerate().flat_map(|(i, a)| values.iter().enumerate().map(move |(j, b)| (i, j, a, b)));
    pairs.map(|(i, j, a, b)| [*a, *b, third(i, j)]).collect()
}

/// Runs an instruction on every set of inputs and compares the results with those that `expected` computes.
fn check(instruction: &str, formats: [&Format; 2], inputs: &[[u64; 3]], expected: &dyn Fn([u64; 3]) -> u64) {
    for inputs in inputs.chunks(1024) {
        let results = run(instruction, formats, inputs).unwrap_or_else(|error| panic!("{instruction}: {error}"));
        for (input, result) in inputs.iter().zip(results) {
            let expected = expected(*input);
            assert_eq!(result, expected, "{instruction} of {input:x?} is {result:#x}, expected {expected:#x}");
        }
    }
}

/// Returns every combination of modifiers that takes at most one modifier from each group.
fn choices<'w>(groups: &[&[&'w str]]) -> Vec<Vec<&'w str>> {
    groups.iter().fold(vec![Vec::new()], |all, group| {
        let with = |chosen: &Vec<&'w str>, word: Option<&&'w str>| chosen.iter().chain(word).copied().collect();
        let more = |chosen: &Vec<&'w str>| -> Vec<Vec<&'w str>> {
            std::iter::once(None).chain(group.iter().map(Some)).map(|word| with(chosen, word)).collect()
        };
        all.iter().flat_map(more).collect()
    })
}

fn mode(words: &[&str]) -> Round {
    let is = |ending: char| words.iter().any(|word| word.starts_with('r') && word[1..].starts_with(ending));
    match [is('z'), is('m'), is('p')] {
        [true, ..] => Round::TowardZero,
        [_, true, _] => Round::TowardNegative,
        [.., true] => Round::TowardPositive,
        _ => Round::NearestTiesToEven,
    }
}

fn ieee<F: Float>(opcode: &str, [a, b, c]: [u64; 3], round: Round) -> u64 {
    let [a, b, c] = [a, b, c].map(|x| F::from_bits(x.into()));
    let one = F::from_u128(1).value;
    let result = match opcode {
        "add" => a.add_r(b, round),
        "sub" => a.sub_r(b, round),
        "mul" => a.mul_r(b, round),
        "fma" | "mad" => a.mul_add_r(b, c, round),
        "div" => a.div_r(b, round),
        _ => one.div_r(a, round),
    };
    result.value.to_bits() as u64
}

/// Returns the expected result of a floating-point instruction with the modifiers `words`.
fn float(format: &Format, opcode: &str, words: &[&str], inputs: [u64; 3]) -> u64 {
    let has = |word| words.contains(&word);
    let flush = |x| if has("ftz") { format.flush(x) } else { x };
    let [a, b, c] = inputs.map(|x| flush(x & format.mask()));
    let number = |x: u64| if format.is_nan(x) { format.nan } else { x };
    // Maps a floating-point bit pattern to an integer such that the integers have the order of the numbers;
    // -0 comes before +0.
    let rank = |x: u64| if x & format.sign() != 0 { -i128::from(x & !format.sign()) - 1 } else { i128::from(x) };
    let pick = |first_wins: fn(i128, i128) -> bool| match (format.is_nan(a), format.is_nan(b)) {
        (true, true) => format.nan,
        (true, false) | (false, true) if has("NaN") => format.nan,
        (true, false) => b,
        (false, true) => a,
        _ if first_wins(rank(a), rank(b)) => a,
        _ => b,
    };
    let result = match opcode {
        "abs" => a & !format.sign(),
        "neg" => a ^ format.sign(),
        "min" => pick(|a, b| a < b),
        "max" => pick(|a, b| a > b),
        _ => number(match format.bits {
            16 => ieee::<Half>(opcode, [a, b, c], mode(words)),
            32 => ieee::<Single>(opcode, [a, b, c], mode(words)),
            _ => ieee::<Double>(opcode, [a, b, c], mode(words)),
        }),
    };
    let result = flush(result);
    match (has("sat"), has("relu")) {
        (true, _) => format.clamp(result),
        (_, true) => format.rectify(result),
        _ => result,
    }
}

/// For each opcode: number of inputs, and the modifiers that the PTX ISA permits for `.f16` (scalar and
/// pairs), `.f32` and `.f64`. `None` marks a type that the opcode does not support.
const FLOATS: &[(&str, usize, [Option<&str>; 3])] = &[
    ("add", 2, [Some("rn ftz sat"), Some("rn rz rm rp ftz sat"), Some("rn rz rm rp")]),
    ("sub", 2, [Some("rn ftz sat"), Some("rn rz rm rp ftz sat"), Some("rn rz rm rp")]),
    ("mul", 2, [Some("rn ftz sat"), Some("rn rz rm rp ftz sat"), Some("rn rz rm rp")]),
    ("fma", 3, [Some("rn ftz sat relu"), Some("rn rz rm rp ftz sat"), Some("rn rz rm rp")]),
    ("mad", 3, [None, Some("rn rz rm rp ftz sat"), Some("rn rz rm rp")]),
    ("div", 2, [None, Some("rn rz rm rp ftz"), Some("rn rz rm rp")]),
    ("rcp", 1, [None, Some("rn rz rm rp ftz"), Some("rn rz rm rp")]),
    ("min", 2, [Some("ftz NaN"), Some("ftz NaN"), Some("")]),
    ("max", 2, [Some("ftz NaN"), Some("ftz NaN"), Some("")]),
    ("abs", 1, [Some("ftz"), Some("ftz"), Some("")]),
    ("neg", 1, [Some("ftz"), Some("ftz"), Some("")]),
];

#[test]
fn every_modifier_of_floating_point_arithmetic_is_honoured_or_refused() {
    let all = choices(&[&["rn", "rz", "rm", "rp"], &["ftz"], &["NaN"], &["sat"], &["relu"]]);
    for &(opcode, arity, takes) in FLOATS {
        for (format, takes) in [F16, F32, F64].iter().zip(takes) {
            let Some(takes) = takes else {
                let refused = run(&format!("{opcode}.{} {{d}}, {{a}}, {{b}};", format.name), [format; 2], &[[0; 3]]);
                assert!(refused.unwrap_err().contains("expected a type"), "{opcode}.{}", format.name);
                continue;
            };
            let (values, operands) = (format.floats(), ["{a}", "{b}", "{c}"][..arity].join(", "));
            let inputs = triples(&values);
            for words in &all {
                let dotted: String = words.iter().map(|word| format!(".{word}")).collect();
                let instruction = format!("{opcode}{dotted}.{} {{d}}, {operands};", format.name);
                // The modifiers `.sat` and `.relu` exclude each other.
                let takes = |word: &str| {
                    takes.split(' ').any(|legal| legal == word) && (word != "relu" || !words.contains(&"sat"))
                };
                let illegal = words.iter().find(|word| !takes(word));
                if let Some(illegal) = illegal {
                    let message = format!("`.{illegal}` is not supported on `{opcode}`");
                    let refused = run(&instruction, [format; 2], &inputs[..1]).unwrap_err();
                    assert!(refused.contains(&message), "{instruction}: {refused}");
                    continue;
                }
                if opcode == "fma" && !words.iter().any(|word| word.starts_with('r') && word.len() == 2) {
                    let refused = run(&instruction, [format; 2], &inputs[..1]).unwrap_err();
                    assert!(refused.contains("`fma` needs a rounding mode"), "{instruction}: {refused}");
                    continue;
                }
                check(&instruction, [format; 2], &inputs, &|input| float(format, opcode, words, input));
                if format.bits == 16 {
                    // Tests `.f16x2`: the upper halves of the words hold other inputs than the lower halves.
                    let paired: Vec<[u64; 3]> = inputs
                        .iter()
                        .zip(inputs.iter().rev())
                        .map(|(low, high)| std::array::from_fn(|at| high[at] << 16 | low[at]))
                        .collect();
                    let of = |input: [u64; 3]| float(format, opcode, words, input);
                    let pair = integer("b32", 32);
                    check(&instruction.replace(".f16 ", ".f16x2 "), [&pair; 2], &paired, &|input| {
                        of(input.map(|x| x >> 16)) << 16 | of(input.map(|x| x & 0xffff))
                    });
                }
            }
        }
    }
}

#[test]
fn the_least_and_the_largest_of_three_honour_every_modifier() {
    for (opcode, words) in ["min", "max"]
        .into_iter()
        .flat_map(|opcode| choices(&[&["ftz"], &["NaN"], &["abs"]]).into_iter().map(move |words| (opcode, words)))
    {
        let dotted: String = words.iter().map(|word| format!(".{word}")).collect();
        let instruction = format!("{opcode}{dotted}.f32 {{d}}, {{a}}, {{b}}, {{c}};");
        let magnitude = |x: u64| if words.contains(&"abs") { float(&F32, "abs", &[], [x, 0, 0]) } else { x };
        let two = |a, b| float(&F32, opcode, &words, [a, b, 0]);
        check(&instruction, [&F32; 2], &triples(&F32.floats()), &|input| {
            let [a, b, c] = input.map(magnitude);
            two(two(a, b), c)
        });
    }
}

/// Converts a double to another floating-point format, with a single rounding.
fn narrow(format: &Format, x: f64, round: Round) -> u64 {
    let soft = Double::from_bits(x.to_bits().into());
    let bits = match format.bits {
        16 => FloatConvert::<Half>::convert_r(soft, round, &mut false).value.to_bits(),
        32 => FloatConvert::<Single>::convert_r(soft, round, &mut false).value.to_bits(),
        _ => soft.to_bits(),
    };
    if x.is_nan() { format.nan } else { bits as u64 }
}

fn widen(format: &Format, x: u64) -> f64 {
    let wide = match format.bits {
        16 => FloatConvert::<Double>::convert(Half::from_bits(x.into()), &mut false).value,
        32 => FloatConvert::<Double>::convert(Single::from_bits(x.into()), &mut false).value,
        _ => Double::from_bits(x.into()),
    };
    f64::from_bits(wide.to_bits() as u64)
}

/// Returns the expected result of `cvt`, as it appears in a register of the destination's width. For 8-bit
/// destination types, the register has 32 bits.
fn convert([from, to]: [&Format; 2], words: &[&str], x: u64) -> u64 {
    let has = |word| words.contains(&word);
    let round = mode(words);
    let is_integral = words.iter().any(|word| word.len() == 3 && word.ends_with('i'));
    let held = |x: i128| x as u64 & if to.bits == 8 { u32::MAX.into() } else { to.mask() };
    let (low, high) = to.range();
    let finish = |bits: u64| {
        let bits = if has("ftz") && to.bits == 32 { to.flush(bits) } else { bits };
        let bits = if has("relu") { to.rectify(bits) } else { bits };
        if has("sat") { to.clamp(bits) } else { bits }
    };
    if from.fraction == 0 {
        let exact = from.value(x);
        if to.fraction > 0 {
            return finish(match to.bits {
                16 => Half::from_i128_r(exact, round).value.to_bits() as u64,
                32 => Single::from_i128_r(exact, round).value.to_bits() as u64,
                _ => Double::from_i128_r(exact, round).value.to_bits() as u64,
            });
        }
        return held(if has("sat") { exact.clamp(low, high) } else { to.value(exact as u64) });
    }
    let x = x & from.mask();
    let exact = widen(from, if has("ftz") && from.bits == 32 { from.flush(x) } else { x });
    let exact = match (is_integral, round) {
        (false, _) => exact,
        (_, Round::TowardZero) => exact.trunc(),
        (_, Round::TowardNegative) => exact.floor(),
        (_, Round::TowardPositive) => exact.ceil(),
        _ => exact.round_ties_even(),
    };
    if to.fraction > 0 {
        return finish(narrow(to, exact, round));
    }
    if exact.is_nan() {
        return if from.bits == 64 || to.bits == 64 { held(to.value(to.sign())) } else { 0 };
    }
    held((exact as i128).clamp(low, high))
}

/// True if the PTX ISA permits these modifiers for a conversion (`cvt`). Does not check whether `.sat` is
/// permitted on a conversion that cannot saturate.
fn is_conversion([from, to]: [&Format; 2], words: &[&str]) -> bool {
    let rounds = words.iter().find(|word| word.starts_with('r'));
    let (integral, floating) = (rounds.is_some_and(|word| word.len() == 3), rounds.is_some_and(|word| word.len() == 2));
    let is_single = from.name == "f32" || to.name == "f32";
    let rounding = match (from.fraction > 0, to.fraction > 0) {
        (false, false) => rounds.is_none(),
        (true, false) => integral,
        (false, true) => floating,
        _ if from.bits > to.bits => floating,
        _ if from.bits == to.bits => !floating,
        _ => rounds.is_none(),
    };
    let narrows = from.name == "f32" && to.name == "f16" && rounds.is_some_and(|word| ["rn", "rz"].contains(word));
    let is_plain = !words.contains(&"ftz") && !words.contains(&"sat");
    rounding && (is_single || !words.contains(&"ftz")) && (narrows && is_plain || !words.contains(&"relu"))
}

#[test]
fn every_modifier_of_conversions_is_honoured_or_refused() {
    let rounding: &[&str] = &["rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi"];
    let all = choices(&[rounding, &["ftz"], &["sat"], &["relu"]]);
    let formats: Vec<&Format> = INTEGERS.iter().chain([&F16, &F32, &F64]).collect();
    for (from, to) in formats.iter().flat_map(|from| formats.iter().map(move |to| (*from, *to))) {
        let mut values = from.integers();
        if from.fraction > 0 {
            // Besides the values at the limits of the format, tests multiples of 1/2 from -3 to 3, and the
            // integer test values, which include the limits of the integer types.
            let integers = INTEGERS.iter().flat_map(Format::integers).map(|x| x as i64 as f64);
            let halves = (-6..7).map(|x| f64::from(x) / 2.0);
            values = from.floats();
            values.extend(integers.chain(halves).map(|x| narrow(from, x, Round::NearestTiesToEven)));
            values.sort_unstable();
            values.dedup();
        }
        let inputs: Vec<[u64; 3]> = values.iter().map(|x| [*x, 0, 0]).collect();
        for words in &all {
            let dotted: String = words.iter().map(|word| format!(".{word}")).collect();
            let instruction = format!("cvt{dotted}.{}.{} {{d}}, {{a}};", to.name, from.name);
            if is_conversion([from, to], words) {
                check(&instruction, [from, to], &inputs, &|[x, ..]| convert([from, to], words, x));
            } else {
                let refused = run(&instruction, [from, to], &inputs[..1]).unwrap_err();
                let named = ["`cvt` from ", "`.ftz` is not supported on `cvt`", "`.relu` is not supported on `cvt`"];
                assert!(named.iter().any(|name| refused.contains(name)), "{instruction}: {refused}");
            }
        }
    }
}

/// Tests integer instructions with their modifiers against exact results. Illegal combinations of modifiers
/// must be refused.
#[test]
fn every_modifier_of_integer_arithmetic_is_honoured_or_refused() {
    let all = choices(&[&["lo", "hi", "wide"], &["sat"], &["ftz"]]);
    for (format, opcode) in
        INTEGERS[2..].iter().flat_map(|format| ["add", "sub", "mul", "mad"].map(|opcode| (format, opcode)))
    {
        let arity = if opcode == "mad" { 3 } else { 2 };
        let operands = ["{a}", "{b}", "{c}"][..arity].join(", ");
        let inputs: Vec<[u64; 3]> = triples(&format.integers()).into_iter().step_by(7).collect();
        for words in &all {
            let has = |word| words.contains(&word);
            let is_product = opcode.starts_with('m');
            let half = ["lo", "hi", "wide"].into_iter().find(|half| has(half));
            let saturates = format.name == "s32" && (!is_product || (opcode, half) == ("mad", Some("hi")));
            let is_legal = half.is_some() == is_product
                && (!has("wide") || format.bits != 64)
                && (!has("sat") || saturates)
                && !has("ftz");
            let dotted: String = words.iter().map(|word| format!(".{word}")).collect();
            let wide = integer(if format.name.starts_with('s') { "s64" } else { "u64" }, 2 * format.bits.min(32));
            let is_wide = has("wide") && is_product;
            let to = if is_wide { &wide } else { format };
            // A multiply-add with a widening product (`.wide`) has an addend of the wide type.
            let instruction = format!("{opcode}{dotted}.{} {{d}}, {operands};", format.name);
            let instruction = if is_wide { instruction.replace("{c}", wide.registers[2]) } else { instruction };
            if !is_legal {
                let refused = run(&instruction, [format, to], &inputs[..1]).unwrap_err();
                assert!(
                    refused.contains("is not supported on") || refused.contains("does not select a half"),
                    "{refused}"
                );
                continue;
            }
            check(&instruction, [format, to], &inputs, &|[a, b, c]| {
                let (a, b) = (format.value(a), format.value(b));
                let c = if is_wide { to.value(c) } else { format.value(c) };
                let product = a.wrapping_mul(b);
                let high = if format.bits == 64 && format.name == "u64" {
                    ((a as u128 * b as u128) >> 64) as i128
                } else {
                    product >> format.bits
                };
                let exact = match (opcode, half) {
                    ("add", _) => a + b,
                    ("sub", _) => a - b,
                    ("mul", Some("hi")) => high,
                    ("mul", _) => product,
                    (_, Some("hi")) => high + c,
                    _ => product.wrapping_add(c),
                };
                let (low, high) = to.range();
                let exact = if has("sat") { exact.clamp(low, high) } else { exact };
                exact as u64 & to.mask()
            });
        }
    }
}

/// Tests the special cases that the PTX ISA lists for approximate reciprocal and square root of doubles. For
/// all other inputs, the upper 32-bit word of the result must be the nearest value.
#[test]
fn approximations_in_double_precision_read_and_write_the_upper_word_alone() {
    let nan = 0x7fff_ffff_0000_0000;
    let (infinity, minus) = (F64.infinity(), F64.sign());
    let special = [
        (infinity | minus, minus, nan),
        ((1 << 32) | minus, infinity | minus, infinity | minus),
        (0xf_ffff_ffff_ffff | minus, infinity | minus, infinity | minus),
        (minus, infinity | minus, infinity | minus),
        (0, infinity, infinity),
        (1, infinity, infinity),
        (0xf_ffff_ffff_ffff, infinity, infinity),
        (infinity, 0, 0),
        // This NaN differs from infinity only in the lower 32-bit word, which the instructions ignore.
        (infinity + 1, 0, 0),
        (F64.nan, nan, nan),
        (F64.nan | minus | 5, nan, nan),
        // The exact reciprocal, 2^-1023, is subnormal, so 0 is expected for it.
        (1023f64.exp2().to_bits(), 0, ((-511.5f64).exp2().to_bits() + (1 << 31)) >> 32 << 32),
        (1023f64.exp2().to_bits() | minus, minus, nan),
        (1.0f64.to_bits() | 0xffff_ffff, 1.0f64.to_bits(), 1.0f64.to_bits()),
        (4.0f64.to_bits(), 0.25f64.to_bits(), 0.5f64.to_bits()),
        ((-4.0f64).to_bits(), (-0.25f64).to_bits(), nan),
    ];
    let inputs: Vec<[u64; 3]> = special.iter().map(|(x, ..)| [*x, 0, 0]).collect();
    let of = |x: u64| special.iter().find(|(known, ..)| *known == x).unwrap();
    check("rcp.approx.ftz.f64 {d}, {a};", [&F64; 2], &inputs, &|[x, ..]| of(x).1);
    check("rsqrt.approx.ftz.f64 {d}, {a};", [&F64; 2], &inputs, &|[x, ..]| of(x).2);

    let inputs: Vec<[u64; 3]> =
        (0..500u64).map(|i| [(0x3fe0_0000 << 32) + i.wrapping_mul(0x1_2345_6789_abcd), 0, 0]).collect();
    for (instruction, f) in [
        ("rcp.approx.ftz.f64 {d}, {a};", (|x| 1.0 / x) as fn(f64) -> f64),
        ("rsqrt.approx.ftz.f64 {d}, {a};", |x| 1.0 / x.sqrt()),
    ] {
        check(instruction, [&F64; 2], &inputs, &|[x, ..]| {
            let exact = f(f64::from_bits(x >> 32 << 32)).to_bits();
            let [below, above] = [exact >> 32 << 32, ((exact >> 32) + 1) << 32];
            if exact - below <= above - exact { below } else { above }
        });
    }
    for refused in ["rcp.approx.f64 {d}, {a};", "sqrt.approx.f64 {d}, {a};", "rcp.rn.ftz.f64 {d}, {a};"] {
        assert!(run(refused, [&F64; 2], &[[0; 3]]).unwrap_err().contains("` is not supported on `"), "{refused}");
    }
}

#[test]
fn approximate_quotients_by_the_largest_numbers_are_zero() {
    let [large, limit, least] = [1.5f32 * 126f32.exp2(), 126f32.exp2(), f32::MAX].map(|x| u64::from(x.to_bits()));
    let [one, infinity, sign] = [F32.one(), F32.infinity(), F32.sign()];
    let inputs = [
        ([one, large, 0], 0),
        ([one | sign, large, 0], sign),
        ([one, least | sign, 0], sign),
        ([infinity, large, 0], F32.nan),
        ([F32.nan, large, 0], F32.nan),
        ([limit, limit, 0], one),
        ([infinity, limit, 0], infinity),
        ([one, infinity, 0], 0),
        ([infinity, infinity, 0], F32.nan),
    ];
    let all = inputs.map(|(input, _)| input);
    let of = |input: [u64; 3]| inputs.iter().find(|(known, _)| *known == input).unwrap().1;
    check("div.approx.f32 {d}, {a}, {b};", [&F32; 2], &all, &of);
    check("div.approx.ftz.f32 {d}, {a}, {b};", [&F32; 2], &all, &of);
    let full = run("div.full.f32 {d}, {a}, {b};", [&F32; 2], &all).unwrap();
    assert_eq!(full[0], u64::from((1f32 / f32::from_bits(large as u32)).to_bits()));
}

/// PTX instructions that the compiler expands into several instructions. In each pair, the first string lists
/// the operands that the instruction writes, and the second is the instruction. In it, `D`, `A`, `B` and `C`
/// are words, and `P`, `Q` and `R` are predicates.
const SEVERAL: &[(&str, &str)] = &[
    ("PQ", "setp.lt.f16x2 P|Q, A, B;"),
    ("PQ", "setp.geu.xor.f16x2 P|Q, A, B, R;"),
    ("PQ", "setp.ne.and.ftz.f16x2 P|Q, A, B, !R;"),
    ("D", "set.lt.f16x2.f16x2 D, A, B;"),
    ("D", "set.gt.or.u32.f16x2 D, A, B, R;"),
    ("D", "fma.rn.f16x2 D, A, B, C;"),
    ("D", "sub.sat.f16x2 D, A, B;"),
    ("D", "neg.f16x2 D, A;"),
    ("D", "set.le.and.s32.u32 D, A, B, R;"),
    ("D", "slct.b32.s32 D, A, B, C;"),
    ("D", "cnot.b32 D, A;"),
    ("D", "mad24.hi.sat.s32 D, A, B, C;"),
    ("D", "mad24.lo.u32 D, A, B, C;"),
    ("D", "mad.lo.cc.u32 D, A, B, C; addc.u32 D, D, 0;"),
    ("D", "add.cc.u32 %r9, A, B; madc.hi.u32 D, A, B, C;"),
    ("D", "bfi.b32 D, A, B, C, A;"),
    ("D", "vadd4.u32.u32.u32 D.b20, A.b7610, B, C;"),
    ("D", "vmax.s32.s32.s32.add D, A.b1, B.h1, C;"),
    ("D", "vsub2.s32.s32.s32.sat D.h1, A.h32, B.h10, C;"),
    ("D", "vabsdiff4.u32.u32.u32.add D, A, B, C;"),
    ("P", "testp.normal.f32 P, A;"),
    ("P", "testp.subnormal.f32 P, A;"),
    ("P", "{ .reg .b64 w; mov.b64 w, {A, B}; isspacep.shared P, w; }"),
];

#[test]
fn what_an_instruction_of_several_writes_may_be_what_it_reads() {
    let setup = "mad.lo.u32 %r2, %r0, 0x9e3779b9, 0x3c01bc00; mad.lo.u32 %r3, %r0, 0x85ebca6b, 0x3bff4001; mul.lo.u32 %r4, %r0, 0x40f3;\n\
                 setp.gt.u32 %p1, %r4, 0x80000; setp.lt.s32 %p2, %r2, %r3; and.b32 %r5, %r2, 4; setp.eq.u32 %p3, %r5, 0;";
    // Runs an instruction with the registers `[d, p, q]` as its operands D, P and Q; `first` is code that
    // initializes these registers. The expected result comes from a run with registers for D, P and Q that
    // the instruction does not read.
    let run = |text: &str, [d, p, q]: [&str; 3], guard: &str, first: &str| {
        let names = [("A", "%r2"), ("B", "%r3"), ("C", "%r4"), ("R", "%p3"), ("D", d), ("P", p), ("Q", q)];
        let statements = text.split_inclusive(';').map(str::trim).filter(|text| !text.is_empty());
        let guarded = statements.map(|text| {
            let is_declaration = text.starts_with(['{', '}']) || guard.is_empty();
            let text = if is_declaration { text.to_owned() } else { format!("@{guard} {text}") };
            let whole = |c: char| c.is_ascii_alphabetic();
            let mut out = String::new();
            let chars: Vec<char> = text.chars().collect();
            for (at, c) in chars.iter().enumerate() {
                let alone = |at: Option<usize>| at.and_then(|at| chars.get(at)).is_none_or(|c| !whole(*c));
                let name = names.iter().find(|(name, _)| name.starts_with(*c));
                let is_name = alone(at.checked_sub(1)) && alone(Some(at + 1));
                match name.filter(|_| is_name) {
                    Some((_, register)) => out += register,
                    None => out.push(*c),
                }
            }
            out
        });
        let body: Vec<String> = guarded.collect();
        let result =
            format!("selp.u32 %r7, 1, 0, {p}; selp.u32 %r8, 2, 0, {q}; xor.b32 %r1, {d}, %r7; xor.b32 %r1, %r1, %r8;");
        ran("", 64, &format!("{setup}\n{first}\n{}\n{result}", body.join("\n")))
            .unwrap_or_else(|e| panic!("{text}: {e}"))
    };
    for (written, text) in SEVERAL {
        for guard in ["", "%p1", "!%p1", "%p2"] {
            for d in ["%r2", "%r3", "%r4"].into_iter().filter(|_| written.contains('D')) {
                let apart = run(text, ["%r6", "%p5", "%p6"], guard, &format!("mov.u32 %r6, {d};"));
                assert_eq!(run(text, [d, "%p5", "%p6"], guard, ""), apart, "{text} with D = {d}, @{guard}");
            }
            for p in ["%p1", "%p2", "%p3"].into_iter().filter(|_| written.contains('P')) {
                let apart = run(text, ["%r6", "%p5", "%p6"], guard, &format!("mov.pred %p5, {p};"));
                assert_eq!(run(text, ["%r6", p, "%p6"], guard, ""), apart, "{text} with P = {p}, @{guard}");
            }
            for q in ["%p1", "%p2", "%p3"].into_iter().filter(|_| written.contains('Q')) {
                let apart = run(text, ["%r6", "%p5", "%p6"], guard, &format!("mov.pred %p6, {q};"));
                assert_eq!(run(text, ["%r6", "%p5", q], guard, ""), apart, "{text} with Q = {q}, @{guard}");
                let both = format!("mov.pred %p6, {q}; mov.pred %p5, %p3;");
                let apart = run(text, ["%r6", "%p5", "%p6"], guard, &both);
                if q != "%p3" {
                    assert_eq!(run(text, ["%r6", "%p3", q], guard, ""), apart, "{text} with P|Q = %p3|{q}, @{guard}");
                }
            }
        }
    }
}

#[test]
fn results_that_an_instruction_does_not_have_are_refused() {
    for (text, message) in [
        ("testp.finite.f32 %p1|%p2, %f1;", "expected one predicate, found two"),
        ("mov.pred %p1|%p2, %p3;", "expected one predicate, found two"),
        ("and.pred %p1|%p2, %p3, %p4;", "expected one predicate, found two"),
        ("isspacep.shared %p1|%p2, %rd1;", "expected one predicate, found two"),
        ("vote.sync.all.pred %p1|%p2, %p3, -1;", "expected one predicate, found two"),
        ("bar.red.and.pred %p1|%p2, 0, %p3;", "expected one predicate, found two"),
        ("match.any.sync.b32 %r1|%p1, %r2, -1;", "only `match.all` has a predicate as a result"),
        ("setp.lt.u32 %p1|%p1, %r1, %r2;", "appears twice"),
        ("setp.lt.f16x2 %p1, %r1, %r2;", "expected two predicates"),
        ("redux.sync.add.b32 %r1, %r2, -1;", "expected a type"),
        ("vadd4.u32.u32.u32.add %r1.b20, %r2, %r3, %r4;", "a sum of selected parts is not modeled"),
        ("cvt.rni.rn.f32.f64 %f1, %fd1;", "types of different sizes"),
        ("cvt.rni.f64.f32 %fd1, %f1;", "types of different sizes"),
    ] {
        let refused = ran("", 1, text).unwrap_err();
        assert!(refused.contains(message), "{text}: {refused}");
    }
}
