//! CPU reference: products of vectors with the weights of a layer, which have half precision or 4 bits.

use super::bounded_sum::BoundedSum;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// `y[r] = sum over c of matrix[r][c] * x[c]`.
pub(super) static GEMV: Reference = Reference {
    name: "gemv",
    summary: "y = W x, W of f16, rows x columns",
    inputs: &[input("matrix", ElementType::F16), input("x", ElementType::F32)],
    parameters: &[count("rows"), count("columns")],
    output: ElementType::F32,
    compute: gemv,
};

/// `y[r] = sum over c of scales[r][c / group] * (w[r][c] - 8) * x[c]`, where each word holds eight of the
/// 4-bit numbers `w`, the first in the lowest bits.
pub(super) static QUANTIZED_GEMV: Reference = Reference {
    name: "quantized_gemv",
    summary: "y = W x, W of 4-bit weights with a scale per group, rows x columns",
    inputs: &[input("packed", ElementType::U32), input("scales", ElementType::F16), input("x", ElementType::F32)],
    parameters: &[count("rows"), count("columns"), count("group")],
    output: ElementType::F32,
    compute: quantized_gemv,
};

/// `y[t][c] = sum over r of x[t][r] * matrix[r][c]`.
pub(super) static SPLITK: Reference = Reference {
    name: "splitk",
    summary: "Y = X W, W of f16, rows x columns, X with a row per token",
    inputs: &[input("x", ElementType::F32), input("matrix", ElementType::F16)],
    parameters: &[count("tokens"), count("rows"), count("columns")],
    output: ElementType::F32,
    compute: splitk,
};

/// Number of 4-bit weights per word.
const PER_WORD: usize = 8;
/// Lanes of a warp, which adds up a row of the matrix in `gemv` and `quantized_gemv`.
const LANES: usize = 32;
/// Number of columns that a lane takes at a time.
const PER_LANE: usize = 8;

/// Returns the maximum number of additions that a product of a row passes through, if a warp adds up the row:
/// each lane takes every 32nd group of eight columns, and five steps then combine the lanes.
const fn additions(columns: usize) -> usize {
    columns.div_ceil(PER_LANE * LANES) * PER_LANE + LANES.ilog2() as usize
}

fn gemv(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [rows, columns] = ["rows", "columns"].map(|name| arguments.count(name));
    let matrix = arguments.input("matrix", rows * columns, "rows * columns")?;
    let x = arguments.input("x", columns, "columns")?;
    let row = |r: usize| {
        let mut sum = BoundedSum::default();
        (0..columns).for_each(|c| sum.add(matrix.real(r * columns + c) * x.real(c)));
        // Roundings per term: one for the product, and those of the additions.
        (sum.value, sum.f32_bound(additions(columns) + 1))
    };
    Ok(ExpectedOutput::with_bounds((0..rows).map(row)))
}

fn quantized_gemv(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [rows, columns, group] = ["rows", "columns", "group"].map(|name| arguments.count(name));
    if columns % PER_WORD != 0 || columns % group != 0 {
        let reason = format!("parameter `columns` is {columns}, expected a multiple of {PER_WORD} and of `group`");
        return Err(arguments.error(reason));
    }
    let packed = arguments.input("packed", rows * columns / PER_WORD, "rows * columns / 8")?;
    let scales = arguments.input("scales", rows * columns / group, "rows * columns / group")?;
    let x = arguments.input("x", columns, "columns")?;
    let row = |r: usize| {
        let mut sum = BoundedSum::default();
        for c in 0..columns {
            let at = r * columns + c;
            let weight = (packed.integer(at / PER_WORD) >> (4 * (at % PER_WORD))) % 16 - 8;
            sum.add(scales.real(at / group) * weight as f64 * x.real(c));
        }
        // Roundings per term: two for the products, and those of the additions.
        (sum.value, sum.f32_bound(additions(columns) + 2))
    };
    Ok(ExpectedOutput::with_bounds((0..rows).map(row)))
}

fn splitk(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [tokens, rows, columns] = ["tokens", "rows", "columns"].map(|name| arguments.count(name));
    let x = arguments.input("x", tokens * rows, "tokens * rows")?;
    let matrix = arguments.input("matrix", rows * columns, "rows * columns")?;
    let mut sums = vec![BoundedSum::default(); tokens * columns];
    for r in 0..rows {
        for c in 0..columns {
            let weight = matrix.real(r * columns + c);
            (0..tokens).for_each(|t| sums[t * columns + c].add(x.real(t * rows + r) * weight));
        }
    }
    // Roundings per term: one for the product, and at most `rows` for the additions.
    Ok(ExpectedOutput::with_bounds(sums.into_iter().map(|sum| (sum.value, sum.f32_bound(rows + 1)))))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{reals, run, values};
    use super::super::{Array, ElementType};

    fn halves(values: &[f64]) -> Array {
        Array::from_reals(ElementType::F16, values.iter().copied())
    }

    #[test]
    fn gemv_multiplies_rows_and_splitk_columns() {
        let matrix = halves(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let inputs = [("matrix", &matrix), ("x", &reals(&[1.0, 10.0, 100.0]))];
        let expected = run("gemv", &inputs, &[("rows", Count(2)), ("columns", Count(3))]).unwrap();
        assert_eq!(values(&expected), [321.0, 654.0]);
        let inputs = [("matrix", &matrix), ("x", &reals(&[1.0, 10.0, 0.0, 1.0]))];
        let sizes = [("tokens", Count(2)), ("rows", Count(2)), ("columns", Count(3))];
        assert_eq!(values(&run("splitk", &inputs, &sizes).unwrap()), [41.0, 52.0, 63.0, 4.0, 5.0, 6.0]);
    }

    #[test]
    fn quantized_gemv_unpacks_the_lowest_bits_first_and_scales_groups() {
        let packed = Array::from_integers(ElementType::U32, [0x8888_80f9]);
        let scales = halves(&[1.0, 0.5]);
        let x = reals(&[1.0, 10.0, 100.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        let of = |columns, group| {
            let sizes = [("rows", Count(1)), ("columns", Count(columns)), ("group", Count(group))];
            run("quantized_gemv", &[("packed", &packed), ("scales", &scales), ("x", &x)], &sizes)
        };
        // The weights are 1, 7, -8 and five zeros. The first group, which has scale 1, contains all that are
        // not zero.
        let padded = of(8, 4).unwrap();
        assert_eq!(values(&padded), [1.0 + 70.0 - 800.0]);
        assert!(of(8, 3).unwrap_err().to_string().contains("`columns` is 8, expected a multiple of 8 and of `group`"));
    }

    #[test]
    fn a_bound_fails_a_kernel_that_loses_a_product() {
        for columns in [8, 264, 4096] {
            let ones = vec![1.0; columns];
            let sizes = [("rows", Count(1)), ("columns", Count(columns))];
            let expected = run("gemv", &[("matrix", &halves(&ones)), ("x", &reals(&ones))], &sizes).unwrap();
            let judge = |sum: usize| super::super::compare(&reals(&[sum as f64]), &expected.values, &expected.rule);
            assert!(judge(columns).is_ok() && judge(columns - 1).is_err(), "{columns} columns");
        }
        // `splitk` may add in any order, so its bound also allows as many additions as there are rows.
        let (rows, ones) = (64, [1.0; 64]);
        let sizes = [("tokens", Count(1)), ("rows", Count(rows)), ("columns", Count(1))];
        let expected = run("splitk", &[("x", &reals(&ones)), ("matrix", &halves(&ones))], &sizes).unwrap();
        let judge = |sum: usize| super::super::compare(&reals(&[sum as f64]), &expected.values, &expected.rule);
        assert!(judge(rows).is_ok() && judge(rows - 1).is_err());
    }
}
