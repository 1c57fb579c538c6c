//! CPU reference: Coulomb potential of atoms on a lattice, with a cutoff distance.

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Reference, ReferenceError, count, input, real};

/// Number of lattice points along each edge of a bin.
const SIDE: usize = 8;
/// Number of atoms that a bin has room for.
const CAPACITY: usize = 8;
/// Number of words per atom: three coordinates relative to the corner of its bin, and the charge.
const ATOM: usize = 4;

/// Coulomb potential at the lattice points of `nx` x `ny` x `nz` bins, which are unit cubes with 8 points
/// along each edge. It is the sum over all atoms closer than `cutoff` of `charge / r * (1 - r^2 /
/// cutoff^2)^2`.
/// A bin holds 8 atoms; an atom without charge has no effect. The points of a bin are contiguous, and the
/// bins are in the same order as in the list of atoms.
pub(super) static CUTCP: Reference = Reference {
    name: "cutcp",
    summary: "Coulomb potential with a cutoff of at most 1 on the lattice of nx x ny x nz bins of 8 atoms",
    inputs: &[input("atoms", ElementType::F32)],
    parameters: &[count("nx"), count("ny"), count("nz"), real("cutoff")],
    output: ElementType::F32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [nx, ny, nz] = ["nx", "ny", "nz"].map(|name| arguments.count(name));
    let cutoff = arguments.real("cutoff");
    if !(cutoff > 0.0 && cutoff <= 1.0) {
        return Err(arguments.error(format!(
            "parameter `cutoff` is {cutoff}, expected more than 0 and at most 1: only adjacent bins are searched for \
             atoms"
        )));
    }
    let atoms = arguments.input("atoms", nx * ny * nz * CAPACITY * ATOM, "nx * ny * nz * 32")?;
    let limit = Rounded::exact(cutoff) * Rounded::exact(cutoff);
    let one = Rounded::exact(1.0);
    let inverse_limit = one / limit;

    let potential = |idx: usize| {
        let (number, place) = (idx / SIDE.pow(3), idx % SIDE.pow(3));
        let home = [number % nx, number / nx % ny, number / (nx * ny)];
        let point = [place % SIDE, place / SIDE % SIDE, place / SIDE.pow(2)];
        let around = |axis: usize, end: usize| home[axis].saturating_sub(1)..(home[axis] + 2).min(end);
        let mut terms = Vec::new();
        for bz in around(2, nz) {
            for by in around(1, ny) {
                for bx in around(0, nx) {
                    let bin = [bx, by, bz];
                    for slot in 0..CAPACITY {
                        let at = (((bz * ny + by) * nx + bx) * CAPACITY + slot) * ATOM;
                        let mut square = Rounded::exact(0.0);
                        for axis in 0..3 {
                            // The position of the atom is first computed relative to the corner of the
                            // point's bin, then relative to the point: two roundings.
                            let offset = Rounded::exact(bin[axis] as f64 - home[axis] as f64);
                            let within = Rounded::exact(point[axis] as f64 / SIDE as f64);
                            let apart = Rounded::exact(atoms.real(at + axis)) + offset - within;
                            square = square + apart * apart;
                        }
                        let fade = one - square * inverse_limit;
                        let term = Rounded::exact(atoms.real(at + 3)) * square.fast_rsqrt() * fade * fade;
                        terms.extend(within_cutoff(term, square, limit));
                    }
                }
            }
        }
        Rounded::sum(terms).with_bound()
    };
    Ok(ExpectedOutput::with_bounds((0..nx * ny * nz * SIDE.pow(3)).map(potential)))
}

/// Returns the term of an atom if the atom is within the cutoff. If rounding could decide whether it is,
/// returns zero, with the magnitude of the term as the error. That error is small, because the potential
/// falls to zero at the cutoff.
fn within_cutoff(term: Rounded, square: Rounded, limit: Rounded) -> Option<Rounded> {
    let uncertain = square.error + limit.error;
    let inside = limit.value - square.value;
    if inside.abs() <= uncertain {
        return Some(Rounded { value: 0.0, error: term.value.abs() + term.error });
    }
    (inside > 0.0).then_some(term)
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::{Count, Real};
    use super::super::tests::{reals, run, values};
    use super::super::{Array, ExpectedOutput, ReferenceError, compare};

    /// Returns two bins that are adjacent in x. A charge of 3 lies on an edge that both bins share, 1/8 from
    /// one end of the edge, and belongs to the second bin.
    fn atoms() -> Array {
        let mut atoms = [0.0; 64];
        // Unused atom slots get positions that coincide with no lattice point.
        atoms.iter_mut().step_by(4).for_each(|x| *x = 0.03);
        atoms[32..36].copy_from_slice(&[0.0, 0.0, 0.125, 3.0]);
        reals(&atoms)
    }

    fn potential(cutoff: f64) -> Result<ExpectedOutput, ReferenceError> {
        let parameters = [("nx", Count(2)), ("ny", Count(1)), ("nz", Count(1)), ("cutoff", Real(cutoff))];
        run("cutcp", &[("atoms", &atoms())], &parameters)
    }

    #[test]
    fn an_atom_acts_across_bins_up_to_the_cutoff() {
        let potential = values(&potential(0.5).unwrap());
        let at = |x: usize, y: usize, z: usize| potential[((x / 8 * 8 + z) * 8 + y) * 8 + x % 8];
        // The first two points lie on either side of the atom at distance 1/4, and the third is at distance
        // 3/8. Of the points without potential, the first is at distance 5/8 (legs 3/8 and 4/8), which is
        // beyond the cutoff of 1/2.
        assert!((at(6, 0, 1) - 3.0 / 0.25 * 0.75 * 0.75).abs() < 1e-12);
        assert!((at(10, 0, 1) - at(6, 0, 1)).abs() < 1e-12);
        assert!((at(8, 3, 1) - 8.0 * 0.4375 * 0.4375).abs() < 1e-12);
        assert_eq!([at(5, 4, 1), at(4, 0, 1), at(0, 7, 7)], [0.0; 3]);
    }

    #[test]
    fn the_bound_leaves_no_room_for_another_cutoff() {
        let expected = potential(0.5).unwrap();
        // At the position of the atom, the potential is infinite both in the result and in the expected
        // values.
        let judge = |is: ExpectedOutput| compare(&reals(&values(&is)), &expected.values, &expected.rule);
        assert!(judge(potential(0.5).unwrap()).is_ok());
        assert!(judge(potential(0.501).unwrap()).is_err());
    }

    #[test]
    fn the_cutoff_reaches_no_farther_than_the_next_bin() {
        assert_eq!(
            potential(1.5).unwrap_err().to_string(),
            "reference `cutcp`: parameter `cutoff` is 1.5, expected more than 0 and at most 1: only adjacent bins are \
             searched for atoms"
        );
    }
}
