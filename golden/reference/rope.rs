//! CPU reference: rotary position embedding.

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// Heads of queries or keys in which each pair of elements `i` and `i + size / 2` is rotated as a point in a
/// plane. The input `table` has the cosine and the sine of the angle for each position and pair.
pub(super) static ROPE: Reference = Reference {
    name: "rope",
    summary: "heads whose elements i and i + size / 2 are turned by the angle of their token's position",
    inputs: &[input("heads", ElementType::F32), input("table", ElementType::F32), input("position", ElementType::I32)],
    parameters: &[count("tokens"), count("heads"), count("size"), count("positions")],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [tokens, heads, size, positions] = ["tokens", "heads", "size", "positions"].map(|name| arguments.count(name));
    if size % 2 == 1 {
        return Err(arguments.error(format!("parameter `size` is {size}, expected an even number")));
    }
    let data = arguments.input("heads", tokens * heads * size, "tokens * heads * size")?;
    let table = arguments.input("table", positions * size, "positions * size / 2 pairs")?;
    let position = arguments.input("position", tokens, "tokens")?;
    let mut result = Vec::with_capacity(tokens * heads * size);
    for token in 0..tokens {
        let what = format_args!("the position of token {token}");
        let row = arguments.check_index(what, position.integer(token), positions)? * size;
        for head in 0..heads {
            let at = |i: usize| Rounded::exact(data.real((token * heads + head) * size + i));
            let angle = |i: usize| [0, 1].map(|part| Rounded::exact(table.real(row + 2 * i + part)));
            result.extend((0..size).map(|i| {
                let [cos, sin] = angle(i % (size / 2));
                let turned = if i < size / 2 {
                    at(i) * cos - at(i + size / 2) * sin
                } else {
                    at(i) * cos + at(i - size / 2) * sin
                };
                turned.with_bound()
            }));
        }
    }
    Ok(ExpectedOutput::with_bounds(result))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{integers, reals, run, values};

    #[test]
    fn rope_turns_each_pair_by_the_angle_of_its_position() {
        // Position 1 rotates the first pair by a quarter turn and the second by half a turn.
        let table = reals(&[1.0, 0.0, 1.0, 0.0, 0.0, 1.0, -1.0, 0.0]);
        let of = |position: &[i128], size| {
            let heads = reals(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
            let inputs = [("heads", &heads), ("table", &table), ("position", &integers(position))];
            let sizes = [("tokens", Count(2)), ("heads", Count(1)), ("size", Count(size)), ("positions", Count(2))];
            run("rope", &inputs, &sizes)
        };
        assert_eq!(values(&of(&[1, 0], 4).unwrap()), [-3.0, -2.0, 1.0, -4.0, 5.0, 6.0, 7.0, 8.0]);
        let error = of(&[0, 2], 4).unwrap_err().to_string();
        assert!(error.contains("the position of token 1 is 2, expected 0 to 1"), "{error}");
        assert!(of(&[0, 0], 3).unwrap_err().to_string().contains("`size` is 3, expected an even number"));
    }
}
