//! CPU reference: flow of a gas through an unstructured mesh.

use super::rounded::Rounded;
use super::{Arguments, Array, ElementType, ExpectedOutput, Reference, ReferenceError, count, input, real};

const VALUES: usize = 5;
const SIDES: usize = 4;
const AXES: usize = 3;
const WALL: i128 = -1;
const FAR: i128 = -2;

/// Five values of each cell after `steps` time steps: density, three components of the momentum, and energy.
/// The values of one kind are contiguous for all cells (a plane).
/// In a step, each value changes by `step` times its flux, which is summed over the sides of the cell. Each
/// side contributes the mean of two fluxes (Euler's equations): the flux of the cell, and that of its
/// neighbor through this side. A viscosity term, proportional to the difference between the states of the two
/// cells, is subtracted.
/// A `neighbour` of -1 stands for a wall, and -2 for gas in the state `far_state`.
pub(super) static CFD: Reference = Reference {
    name: "cfd",
    summary: "density, momentum and energy of cells after steps of Euler's equations, plane by plane",
    inputs: &[
        input("neighbour", ElementType::I32),
        input("normals", ElementType::F32),
        input("disturbance", ElementType::F32),
        input("far_state", ElementType::F32),
    ],
    parameters: &[count("cells"), count("steps"), real("step")],
    output: ElementType::F32,
    compute,
};

/// The state `far_state` in every cell, with one plane per value (density, momentum, energy).
pub(super) static CFD_UNDISTURBED: Reference = Reference {
    name: "cfd_undisturbed",
    summary: "density, momentum and energy of the far field in all cells, plane by plane",
    inputs: &[input("far_state", ElementType::F32)],
    parameters: &[count("cells")],
    output: ElementType::F32,
    compute: far_field,
};

fn far_field(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let cells = arguments.count("cells");
    let far_state = arguments.input("far_state", VALUES, "density, momentum in x, y and z, energy")?;
    let values = (0..VALUES * cells).map(|idx| far_state.real(idx / cells));
    Ok(ExpectedOutput::exact(Array::from_reals(ElementType::F32, values)))
}

/// State of a cell, with the quantities derived from it.
#[derive(Clone, Copy)]
struct State {
    density: Rounded,
    momentum: [Rounded; AXES],
    energy: Rounded,
    velocity: [Rounded; AXES],
    pressure: Rounded,
    signal: Rounded,
}

fn state([density, mx, my, mz, energy]: [Rounded; VALUES]) -> State {
    let gamma = Rounded::constant(1.4);
    let momentum = [mx, my, mz];
    let velocity = momentum.map(|m| m / density);
    let square = velocity.iter().fold(Rounded::exact(0.0), |sum, &v| sum + v * v);
    let pressure = (gamma - Rounded::exact(1.0)) * (energy - Rounded::exact(0.5) * density * square);
    let signal = square.sqrt() + (gamma * pressure / density).sqrt();
    State { density, momentum, energy, velocity, pressure, signal }
}

impl State {
    fn to_array(self) -> [Rounded; VALUES] {
        let [mx, my, mz] = self.momentum;
        [self.density, mx, my, mz, self.energy]
    }
}

/// Adds half of the flux that the gas in state `from` carries through a side, term by term as the kernel
/// does.
fn carry(flux: &mut [Rounded; VALUES], from: &State, normal: [Rounded; AXES]) {
    for (axis, component) in normal.into_iter().enumerate() {
        let half = Rounded::exact(0.5) * component;
        let velocity = from.velocity[axis];
        flux[0] = flux[0] + half * from.momentum[axis];
        for (along, &momentum) in from.momentum.iter().enumerate() {
            flux[1 + along] = flux[1 + along] + half * (velocity * momentum);
        }
        flux[1 + axis] = flux[1 + axis] + half * from.pressure;
        flux[1 + AXES] = flux[1 + AXES] + half * (velocity * (from.energy + from.pressure));
    }
}

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [cells, steps] = ["cells", "steps"].map(|name| arguments.count(name));
    let step = Rounded::exact(arguments.real("step"));
    let far_state = arguments.input("far_state", VALUES, "density, momentum in x, y and z, energy")?;
    let disturbance = arguments.input("disturbance", VALUES * cells, "5 * cells")?;
    let neighbour = arguments.input("neighbour", SIDES * cells, "4 * cells")?;
    let normals = arguments.input("normals", SIDES * AXES * cells, "12 * cells")?;
    let far_values = std::array::from_fn(|v| Rounded::exact(far_state.real(v)));
    let far = state(far_values);
    let mut values: Vec<[Rounded; VALUES]> = (0..cells)
        .map(|cell| std::array::from_fn(|v| far_values[v] + Rounded::exact(disturbance.real(v * cells + cell))))
        .collect();
    for _ in 0..steps {
        let states: Vec<State> = values.iter().map(|&values| state(values)).collect();
        for (cell, values) in values.iter_mut().enumerate() {
            let mut flux = [Rounded::exact(0.0); VALUES];
            for side in 0..SIDES {
                let plane = side * cells + cell;
                let normal = normal(normals, side, cell, cells);
                let other = match neighbour.integer(plane) {
                    WALL => None,
                    FAR => Some(far),
                    other => Some(states[arguments.check_index(format_args!("neighbour[{plane}]"), other, cells)?]),
                };
                let viscous = neighbour.integer(plane) >= 0;
                through(&mut flux, &states[cell], other.as_ref(), viscous, normal);
            }
            for (value, change) in values.iter_mut().zip(flux) {
                *value = *value + step * change;
            }
        }
    }
    let planes = (0..VALUES * cells).map(|idx| values[idx % cells][idx / cells].with_bound());
    Ok(ExpectedOutput::with_bounds(planes))
}

fn normal(normals: &Array, side: usize, cell: usize, cells: usize) -> [Rounded; AXES] {
    std::array::from_fn(|axis| Rounded::exact(normals.real((side * AXES + axis) * cells + cell)))
}

/// Adds the flux through one side of a cell to `flux`, the flux of the cell. If `other` is `None`, the side
/// is a wall.
fn through(flux: &mut [Rounded; VALUES], mine: &State, other: Option<&State>, viscous: bool, normal: [Rounded; AXES]) {
    let Some(other) = other else {
        for axis in 0..AXES {
            flux[1 + axis] = flux[1 + axis] + normal[axis] * mine.pressure;
        }
        return;
    };
    if viscous {
        let length = normal.iter().fold(Rounded::exact(0.0), |sum, &n| sum + n * n).sqrt();
        let factor = Rounded::constant(-0.1) * length * (mine.signal + other.signal);
        for (sum, (mine, other)) in flux.iter_mut().zip(mine.to_array().into_iter().zip(other.to_array())) {
            *sum = *sum + factor * (mine - other);
        }
    }
    carry(flux, other, normal);
    carry(flux, mine, normal);
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::{Count, Real};
    use super::super::tests::{integers, reals, run, values};

    /// Simulates two cells side by side in x direction. Each has the given neighbor on one side, and three
    /// sides without area.
    fn two_cells(disturbance: &[f64; 10], neighbour: [i128; 2], steps: usize) -> Vec<f64> {
        let mut neighbours = vec![-1; 8];
        neighbours[..2].copy_from_slice(&neighbour);
        let mut normals = vec![0.0; 24];
        (normals[0], normals[1]) = (-1.0, 1.0);
        let inputs = [
            ("neighbour", &integers(&neighbours)),
            ("normals", &reals(&normals)),
            ("disturbance", &reals(disturbance)),
            // The gas far away is at rest, and its pressure is 0.4 x 2.5 = 1.
            ("far_state", &reals(&[1.0, 0.0, 0.0, 0.0, 2.5])),
        ];
        let parameters = [("cells", Count(2)), ("steps", Count(steps)), ("step", Real(0.5))];
        values(&run("cfd", &inputs, &parameters).unwrap())
    }

    #[test]
    fn cfd_undisturbed_fills_a_plane_with_each_value() {
        let inputs = [("far_state", &reals(&[1.0, 2.0, 3.0, 4.0, 5.0]))];
        let filled = values(&run("cfd_undisturbed", &inputs, &[("cells", Count(2))]).unwrap());
        assert_eq!(filled, [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0, 5.0, 5.0]);
    }

    fn assert_near(got: &[f64], expected: &[f64]) {
        assert_eq!(got.len(), expected.len());
        for (got, expected) in got.iter().zip(expected) {
            assert!((got - expected).abs() < 1e-6, "{got} {expected}");
        }
    }

    #[test]
    fn cfd_pushes_gas_at_rest_with_its_pressure_only() {
        let expected = [1.0, 1.0, -0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 2.5, 2.5];
        for neighbour in [[1, 0], [-1, -1], [-2, -2]] {
            assert_near(&two_cells(&[0.0; 10], neighbour, 1), &expected);
        }
    }

    #[test]
    fn cfd_evens_out_differences_by_its_viscosity() {
        // The gas is at rest with pressure 1 in both cells. The density is 2 in the first cell and 1 in the
        // second, so the signal speeds sqrt(1.4 * pressure / density) are sqrt(0.7) and sqrt(1.4).
        let mut disturbance = [0.0; 10];
        disturbance[0] = 1.0;
        let change = 0.5 * 0.1 * (0.7_f64.sqrt() + 1.4_f64.sqrt());
        let after = two_cells(&disturbance, [1, 0], 1);
        assert_near(&after[..2], &[2.0 - change, 1.0 + change]);
        let with_far = two_cells(&disturbance, [-2, -2], 1);
        assert_near(&with_far[..2], &[2.0, 1.0]);
    }

    #[test]
    fn cfd_carries_mass_momentum_and_energy_with_the_flow() {
        // The gas in both cells flows at speed 2 in x direction. Its energy is 2.5 + 2 = 4.5, and its
        // pressure is still 1.
        let disturbance = [0.0, 0.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0, 2.0, 2.0];
        let after = two_cells(&disturbance, [1, 0], 1);
        // The mass density is 1. The flux through a side of area 1 is 2 for the mass, 2 x 2 + 1 = 5 for the
        // momentum, and 2 x (4.5 + 1) = 11 for the energy, where 4.5 is the energy and 1 the pressure.
        assert_near(&after, &[0.0, 2.0, -0.5, 4.5, 0.0, 0.0, 0.0, 0.0, -1.0, 10.0]);
    }
}
