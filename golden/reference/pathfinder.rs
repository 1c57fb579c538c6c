//! CPU reference: cheapest path through a grid.

use super::{Arguments, Array, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// Cost of the cheapest path to each cell of the last row of a grid. A path starts in any cell of the row
/// `from`, and leads through `rows` further rows with the costs `cost`. Each step goes to the next row, to
/// the same column or to the column on its left or right.
pub(super) static PATHFINDER: Reference = Reference {
    name: "pathfinder",
    summary: "least cost of a path from the first row to each cell of the last",
    inputs: &[input("cost", ElementType::I32), input("from", ElementType::I32)],
    parameters: &[count("rows"), count("columns")],
    output: ElementType::I32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [rows, columns] = ["rows", "columns"].map(|name| arguments.count(name));
    let cost = arguments.input("cost", rows * columns, "rows * columns")?;
    let from = arguments.input("from", columns, "columns")?;
    let mut sum: Vec<i128> = (0..columns).map(|x| from.integer(x)).collect();
    for y in 0..rows {
        let next = |x: usize| {
            let reach = &sum[x.saturating_sub(1)..(x + 2).min(columns)];
            reach.iter().copied().fold(i128::MAX, i128::min) + cost.integer(y * columns + x)
        };
        sum = (0..columns).map(next).collect();
    }
    let fits = sum.iter().all(|&s| i32::try_from(s).is_ok());
    if !fits {
        return Err(arguments.error("the cost of a path exceeds an i32, expected smaller `cost`".to_owned()));
    }
    Ok(ExpectedOutput::exact(Array::from_integers(ElementType::I32, sum)))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::Rule;
    use super::super::tests::{integers, run};

    #[test]
    fn pathfinder_takes_the_cheapest_of_three_ways_at_every_row() {
        let from = integers(&[9, 1, 5, 0]);
        let cost = integers(&[1, 1, 1, 1, 0, 9, 0, 9]);
        let parameters = [("rows", Count(2)), ("columns", Count(4))];
        let expected = run("pathfinder", &[("cost", &cost), ("from", &from)], &parameters).unwrap();
        // After the first of the two rows, the costs of the cheapest paths are 2, 2, 1, 1.
        assert_eq!(expected.values, integers(&[2, 10, 1, 10]));
        assert_eq!(expected.rule, Rule::Exact);
    }

    #[test]
    fn pathfinder_refuses_costs_that_overflow() {
        let parameters = [("rows", Count(1)), ("columns", Count(1))];
        let most = integers(&[i128::from(i32::MAX)]);
        let error = run("pathfinder", &[("cost", &most), ("from", &most)], &parameters).unwrap_err();
        assert_eq!(
            error.to_string(),
            "reference `pathfinder`: the cost of a path exceeds an i32, expected smaller `cost`"
        );
    }
}
