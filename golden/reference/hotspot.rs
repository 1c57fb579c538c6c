//! CPU reference: temperature of a chip over time.

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input, real};

/// Temperature after `steps` time steps. In each step, the temperature of a grid cell changes by `pace` times
/// its heat flow. The heat flow is the sum of the cell's power, the flow from its neighbors, and the flow
/// from the air.
/// The flow from a neighbor is the temperature difference times `along_y` or `along_x`, and zero beyond the
/// edge. The flow from the air is the difference between `ambient` and the cell's temperature, times
/// `to_air`.
pub(super) static HOTSPOT: Reference = Reference {
    name: "hotspot",
    summary: "temperature of rows x columns cells after steps of heat exchange with neighbors and air",
    inputs: &[input("power", ElementType::F32), input("from", ElementType::F32)],
    parameters: &[
        count("rows"),
        count("columns"),
        count("steps"),
        real("pace"),
        real("along_x"),
        real("along_y"),
        real("to_air"),
        real("ambient"),
    ],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [rows, columns, steps] = ["rows", "columns", "steps"].map(|name| arguments.count(name));
    let [pace, along_x, along_y, to_air, ambient] =
        ["pace", "along_x", "along_y", "to_air", "ambient"].map(|name| Rounded::exact(arguments.real(name)));
    let two = Rounded::exact(2.0);
    let cells = |name: &str| -> Result<Vec<Rounded>, ReferenceError> {
        let array = arguments.input(name, rows * columns, "rows * columns")?;
        Ok((0..rows * columns).map(|idx| Rounded::exact(array.real(idx))).collect())
    };
    let power = cells("power")?;
    let mut heat = cells("from")?;
    for _ in 0..steps {
        let next = |idx: usize| {
            let (y, x) = (idx / columns, idx % columns);
            let here = heat[idx];
            let north = heat[y.saturating_sub(1) * columns + x];
            let south = heat[(y + 1).min(rows - 1) * columns + x];
            let west = heat[y * columns + x.saturating_sub(1)];
            let east = heat[y * columns + (x + 1).min(columns - 1)];
            let flow = power[idx]
                + (south + north - two * here) * along_y
                + (east + west - two * here) * along_x
                + (ambient - here) * to_air;
            here + pace * flow
        };
        heat = (0..heat.len()).map(next).collect();
    }
    Ok(ExpectedOutput::with_bounds(heat.into_iter().map(Rounded::with_bound)))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::{Count, Real};
    use super::super::tests::{reals, run, values};

    fn heat(cells: &[f64], rows: usize, columns: usize, steps: usize) -> Vec<f64> {
        let power = vec![1.0; cells.len()];
        let parameters = [
            ("rows", Count(rows)),
            ("columns", Count(columns)),
            ("steps", Count(steps)),
            ("pace", Real(0.5)),
            ("along_x", Real(0.25)),
            ("along_y", Real(0.125)),
            ("to_air", Real(0.5)),
            ("ambient", Real(10.0)),
        ];
        let inputs = [("power", &reals(&power)), ("from", &reals(cells))];
        values(&run("hotspot", &inputs, &parameters).unwrap())
    }

    #[test]
    fn hotspot_insulates_the_edge() {
        // Each cell has power 1 and receives (10 - 8) / 2 from the air, a flow of 2. All cells have the same
        // temperature, so there is no flow between them.
        assert_eq!(heat(&[8.0; 6], 2, 3, 1), [9.0; 6]);
        assert_eq!(heat(&[8.0], 1, 1, 2), [9.75]);
    }

    #[test]
    fn hotspot_exchanges_heat_in_both_directions() {
        // In a grid of 3 x 3 cells, the middle cell is hotter by 8 than the others, which are as warm as the
        // air.
        let mut cells = [10.0; 9];
        cells[4] = 18.0;
        let next = heat(&cells, 3, 3, 1);
        assert_eq!(next[0], 10.5);
        assert_eq!((next[1], next[7]), (10.5 + 0.5 * 8.0 * 0.125, 11.0));
        assert_eq!((next[3], next[5]), (10.5 + 0.5 * 8.0 * 0.25, 11.5));
        assert_eq!(next[4], 18.0 + 0.5 * (1.0 - 2.0 - 4.0 - 4.0));
    }
}
