//! CPU reference: lattice Boltzmann method with 19 directions (D3Q19).

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Input, Parameter, Reference, ReferenceError, count, input, real};

const DIRECTIONS: usize = 19;
/// Lattice vector of each direction: steps in x, y and z.
const LEADS: [[i8; 3]; DIRECTIONS] = [
    [0, 0, 0],
    [1, 0, 0],
    [-1, 0, 0],
    [0, 1, 0],
    [0, -1, 0],
    [0, 0, 1],
    [0, 0, -1],
    [1, 1, 0],
    [-1, -1, 0],
    [1, -1, 0],
    [-1, 1, 0],
    [1, 0, 1],
    [-1, 0, -1],
    [1, 0, -1],
    [-1, 0, 1],
    [0, 1, 1],
    [0, -1, -1],
    [0, 1, -1],
    [0, -1, 1],
];

const INPUTS: &[Input] = &[input("gas", ElementType::F32), input("open", ElementType::U8)];
const PARAMETERS: &[Parameter] = &[count("nx"), count("ny"), count("nz"), count("steps"), real("omega")];

/// 19 values of each cell after `steps` steps. The values of a cell are contiguous and followed by one
/// padding element, so a cell takes 20 elements. Steps alternate between the buffer `gas` and a buffer of
/// zeros, and leave the padding of both unchanged. A cell is solid if its value in `open` is 0.
pub(super) static LBM_AOS: Reference = Reference {
    name: "lbm_aos",
    summary: "gas that moves in each of 19 directions, 20 floats per cell, after steps of streaming and collision",
    inputs: INPUTS,
    parameters: PARAMETERS,
    output: ElementType::F32,
    compute: |arguments| compute(arguments, 20, |cell, direction, _| 20 * cell + direction),
};

/// 19 values of each cell after `steps` steps. The values of all cells for one direction are contiguous (a
/// plane). A cell is solid if its value in `open` is 0.
pub(super) static LBM_SOA: Reference = Reference {
    name: "lbm_soa",
    summary: "gas that moves in each of 19 directions, one plane per direction, after steps of streaming and collision",
    inputs: INPUTS,
    parameters: PARAMETERS,
    output: ElementType::F32,
    compute: |arguments| compute(arguments, DIRECTIONS, |cell, direction, cells| direction * cells + cell),
};

type Parts = [Rounded; DIRECTIONS];

/// Computes the expected output for one memory layout of the lattice. `at(cell, direction, cells)` returns the
/// array index at which the layout stores the value of `cell` for `direction`; `cells` is the number of cells in
/// the lattice. `a_cell` is the number of array elements per cell.
fn compute(
    arguments: &Arguments<'_>,
    a_cell: usize,
    at: fn(usize, usize, usize) -> usize,
) -> Result<ExpectedOutput, ReferenceError> {
    let [nx, ny, nz, steps] = ["nx", "ny", "nz", "steps"].map(|name| arguments.count(name));
    let omega = Rounded::exact(arguments.real("omega"));
    let cells = nx * ny * nz;
    let gas = arguments.input("gas", a_cell * cells, &format!("{a_cell} per cell"))?;
    let open = arguments.input("open", cells, "nx * ny * nz")?;
    let load = |cell: usize| std::array::from_fn(|d| Rounded::exact(gas.real(at(cell, d, cells))));
    let mut now: Vec<Parts> = (0..cells).map(load).collect();
    // Cell numbers wrap around: after the last cell comes the first.
    let ahead = |[x, y, z]: [i8; 3]| {
        let cells = cells as i64;
        (i64::from(x) + nx as i64 * (i64::from(y) + ny as i64 * i64::from(z))).rem_euclid(cells) as usize
    };
    for _ in 0..steps {
        let arrived =
            |cell: usize| -> Parts { std::array::from_fn(|d| now[(cell + cells - ahead(LEADS[d])) % cells][d]) };
        let collided = |cell: usize| {
            let parts = arrived(cell);
            if open.integer(cell) == 0 { std::array::from_fn(|d| parts[opposite(d)]) } else { collide(parts, omega) }
        };
        now = (0..cells).map(collided).collect();
    }
    let untouched = |at: usize| if steps.is_multiple_of(2) { gas.real(at) } else { 0.0 };
    let mut values: Vec<_> = (0..a_cell * cells).map(|at| (untouched(at), 0.0)).collect();
    for (cell, parts) in now.iter().enumerate() {
        for (d, part) in parts.iter().enumerate() {
            values[at(cell, d, cells)] = part.with_bound();
        }
    }
    Ok(ExpectedOutput::with_bounds(values))
}

fn opposite(direction: usize) -> usize {
    let back = LEADS[direction].map(|c| -c);
    LEADS.iter().position(|&lead| lead == back).expect("every direction has its opposite")
}

/// Relaxes the values of a cell (Bhatnagar, Gross and Krook). Each value moves toward its equilibrium by the
/// fraction `omega` of the difference. The equilibrium follows from the density and velocity of the cell.
fn collide(parts: Parts, omega: Rounded) -> Parts {
    let density = Rounded::sum(parts);
    let speed: [Rounded; 3] = std::array::from_fn(|axis| {
        let moving = (0..DIRECTIONS).filter(|&d| LEADS[d][axis] != 0);
        Rounded::sum(moving.map(|d| if LEADS[d][axis] > 0 { parts[d] } else { -parts[d] })) / density
    });
    let square = speed[0] * speed[0] + speed[1] * speed[1] + speed[2] * speed[2];
    let rest = Rounded::exact(1.0) - Rounded::exact(1.5) * square;
    std::array::from_fn(|d| {
        let lead = LEADS[d];
        let axes = lead.iter().filter(|&&c| c != 0).count();
        let share = Rounded::constant([1.0 / 3.0, 1.0 / 18.0, 1.0 / 36.0][axes]);
        let along =
            (0..3).fold(Rounded::exact(0.0), |sum, axis| sum + Rounded::exact(f64::from(lead[axis])) * speed[axis]);
        let aim = share * density * (rest + along * (Rounded::exact(3.0) + Rounded::exact(4.5) * along));
        parts[d] + omega * (aim - parts[d])
    })
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::{Count, Real};
    use super::super::tests::{reals, run, values};
    use super::super::{Array, ElementType};
    use super::{DIRECTIONS, LEADS, opposite};

    /// Simulates 4 x 3 x 2 cells in the layout with one plane per direction. The initial value of cell `c` in
    /// direction `d` is `gas(c, d)`.
    fn soa(gas: impl Fn(usize, usize) -> f64, open: i128, steps: usize, omega: f64) -> Vec<f64> {
        let gas: Vec<_> = (0..24 * DIRECTIONS).map(|idx| gas(idx % 24, idx / 24)).collect();
        let open = Array::from_integers(ElementType::U8, vec![open; 24]);
        let parameters =
            [("nx", Count(4)), ("ny", Count(3)), ("nz", Count(2)), ("steps", Count(steps)), ("omega", Real(omega))];
        values(&run("lbm_soa", &[("gas", &reals(&gas)), ("open", &open)], &parameters).unwrap())
    }

    #[test]
    fn directions_come_in_opposite_pairs() {
        for d in 0..DIRECTIONS {
            assert_eq!(opposite(opposite(d)), d);
            assert_eq!(LEADS[opposite(d)].map(|c| -c), LEADS[d]);
        }
    }

    #[test]
    fn lbm_streams_each_direction_to_its_neighbour() {
        // With `omega` 0 there is no relaxation, so values only move from cell to cell.
        let after = soa(|cell, d| (100 * d + cell) as f64, 1, 1, 0.0);
        // Values in direction 7 move by one cell in x and one in y, that is, to the cell whose number is
        // greater by 5. With wraparound, cell 2 receives the value of cell 21.
        assert_eq!(after[7 * 24 + 6], 701.0);
        assert_eq!(after[7 * 24 + 2], 721.0);
        assert_eq!(after[5 * 24 + 12], 500.0);
        assert_eq!(after[3], 3.0);
    }

    #[test]
    fn lbm_sends_back_what_reaches_a_solid_cell() {
        // A solid cell sends each value that reaches it back in the opposite direction. After two steps in a
        // lattice of solid cells only, all values are back where they started.
        let gas = |cell: usize, d: usize| (100 * d + cell) as f64;
        let after = soa(gas, 0, 2, 1.0);
        assert!(after.iter().enumerate().all(|(idx, &value)| value == gas(idx % 24, idx / 24)));
    }

    #[test]
    fn lbm_relaxes_to_the_equilibrium_and_keeps_the_mass() {
        let after = soa(|_, d| if d == 1 { 0.1 } else { 0.05 }, 1, 1, 1.0);
        let total: f64 = (0..DIRECTIONS).map(|d| after[24 * d]).sum();
        assert!((total - 1.0).abs() < 1e-7, "{total}");
        // The density is 1 and the velocity in x is 0.05. In equilibrium, the values along +x and -x contain
        // the terms 3 x 0.05 / 18 and -3 x 0.05 / 18, and all other terms are equal. The difference is 0.3 /
        // 18.
        assert!((after[24] - after[48] - 0.3 / 18.0).abs() < 1e-7);
    }

    #[test]
    fn lbm_leaves_a_gap_after_each_cell_in_the_other_layout() {
        let gas: Vec<_> = (0..40).map(f64::from).collect();
        let open = Array::from_integers(ElementType::U8, [1, 1]);
        let after = |steps| {
            let parameters =
                [("nx", Count(2)), ("ny", Count(1)), ("nz", Count(1)), ("steps", Count(steps)), ("omega", Real(0.0))];
            values(&run("lbm_aos", &[("gas", &reals(&gas)), ("open", &open)], &parameters).unwrap())
        };
        let one = after(1);
        assert_eq!((one[0], one[1], one[21]), (0.0, 21.0, 1.0));
        assert_eq!((one[19], one[39]), (0.0, 0.0));
        // After an even number of steps, the result is in the buffer `gas` again, whose padding is unchanged.
        let two = after(2);
        assert_eq!((two[0], two[19], two[39]), (0.0, 19.0, 39.0));
    }
}
