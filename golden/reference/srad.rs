//! CPU reference: speckle-reducing anisotropic diffusion (SRAD) of an image.

use super::rounded::Rounded;
use super::{Arguments, ElementType, ExpectedOutput, Parameter, Reference, ReferenceError, count, input, real};

const PARAMETERS: &[Parameter] =
    &[count("rows"), count("columns"), count("ld"), real("speckle"), real("pace"), count("iterations")];

/// Image that results if [`SRAD2`] is applied to `e^(image / 255)` and each value v of its result is
/// transformed back to `255 ln v`. Elements of a column are contiguous, and columns are `ld` elements apart.
pub(super) static SRAD1: Reference = Reference {
    name: "srad1",
    summary: "diffusion of a rows x columns image of gray values 0 to 255, its columns ld apart",
    inputs: &[input("image", ElementType::F32)],
    parameters: PARAMETERS,
    output: ElementType::F32,
    compute: |arguments| {
        let [rows, columns, ld] = ["rows", "columns", "ld"].map(|name| arguments.count(name));
        let mut image = read(arguments, columns, rows)?;
        let most = Rounded::exact(255.0);
        let log2_e = Rounded::constant(std::f64::consts::LOG2_E);
        let ln_2 = Rounded::constant(std::f64::consts::LN_2);
        let each = |image: &mut Vec<Rounded>, change: &dyn Fn(Rounded) -> Rounded| {
            for column in 0..columns {
                for pixel in &mut image[column * ld..][..rows] {
                    *pixel = change(*pixel);
                }
            }
        };
        each(&mut image, &|grey| (grey / most * log2_e).fast_exp2());
        // The image is stored by columns. Its columns can be treated as rows, because the formula is
        // symmetric in rows and columns.
        diffuse(arguments, &mut image, columns, rows);
        each(&mut image, &|pixel| pixel.fast_log2() * ln_2 * most);
        Ok(ExpectedOutput::with_bounds(image.into_iter().map(Rounded::with_bound)))
    },
};

/// Image after `iterations` iterations. Each iteration adds `pace / 4` times the divergence of the
/// differences to the four neighbors, weighted by a diffusion coefficient from 0 to 1. The coefficient is
/// near 1 where the local variation is that of `speckle` alone, and is lower at edges.
/// Rows are `ld` elements apart. The padding between them, and elements after the last row, stay unchanged.
pub(super) static SRAD2: Reference = Reference {
    name: "srad2",
    summary: "diffusion of a rows x columns image of intensities, its rows ld apart",
    inputs: &[input("image", ElementType::F32)],
    parameters: PARAMETERS,
    output: ElementType::F32,
    compute: |arguments| {
        let [rows, columns] = ["rows", "columns"].map(|name| arguments.count(name));
        let mut image = read(arguments, rows, columns)?;
        diffuse(arguments, &mut image, rows, columns);
        Ok(ExpectedOutput::with_bounds(image.into_iter().map(Rounded::with_bound)))
    },
};

fn read(arguments: &Arguments<'_>, rows: usize, columns: usize) -> Result<Vec<Rounded>, ReferenceError> {
    let image = arguments.matrix("image", rows, columns, "ld")?;
    Ok((0..image.len()).map(|idx| Rounded::exact(image.real(idx))).collect())
}

fn diffuse(arguments: &Arguments<'_>, image: &mut [Rounded], rows: usize, columns: usize) {
    let [ld, iterations] = ["ld", "iterations"].map(|name| arguments.count(name));
    let [speckle, pace] = ["speckle", "pace"].map(|name| Rounded::exact(arguments.real(name)));
    let pixels = || (0..rows).flat_map(|y| (0..columns).map(move |x| (y, x)));
    for _ in 0..iterations {
        // A neighbor beyond the edge of the image repeats the pixel itself.
        let differences = |(y, x): (usize, usize)| {
            let here = image[y * ld + x];
            let neighbours = [
                y.saturating_sub(1) * ld + x,
                (y + 1).min(rows - 1) * ld + x,
                y * ld + x.saturating_sub(1),
                y * ld + (x + 1).min(columns - 1),
            ];
            neighbours.map(|idx| image[idx] - here)
        };
        let coefficients: Vec<_> =
            pixels().map(|(y, x)| coefficient(image[y * ld + x], differences((y, x)), speckle)).collect();
        let quarter = Rounded::exact(0.25) * pace;
        let next: Vec<_> = pixels()
            .map(|(y, x)| {
                let here = coefficients[y * columns + x];
                let below = coefficients[(y + 1).min(rows - 1) * columns + x];
                let beside = coefficients[y * columns + (x + 1).min(columns - 1)];
                let [north, south, west, east] = differences((y, x));
                let divergence = Rounded::sum([here * north, below * south, here * west, beside * east]);
                image[y * ld + x] + quarter * divergence
            })
            .collect();
        for ((y, x), pixel) in pixels().zip(next) {
            image[y * ld + x] = pixel;
        }
    }
}

/// Returns the diffusion coefficient of a pixel, from 0 to 1.
fn coefficient(here: Rounded, differences: [Rounded; 4], speckle: Rounded) -> Rounded {
    let one = Rounded::exact(1.0);
    let gradient = Rounded::sum(differences.map(|d| d * d)) / (here * here);
    let laplacian = Rounded::sum(differences) / here;
    let slope = one + Rounded::exact(0.25) * laplacian;
    let variation =
        (Rounded::exact(0.5) * gradient - Rounded::exact(0.0625) * (laplacian * laplacian)) / (slope * slope);
    let excess = (variation - speckle) / (speckle * (one + speckle));
    (one / (one + excess)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::{Count, Real};
    use super::super::tests::{reals, run, values};

    fn srad(name: &str, image: &[f64], rows: usize, columns: usize, ld: usize) -> Vec<f64> {
        let parameters = [
            ("rows", Count(rows)),
            ("columns", Count(columns)),
            ("ld", Count(ld)),
            ("speckle", Real(0.5)),
            ("pace", Real(0.5)),
            ("iterations", Count(1)),
        ];
        values(&run(name, &[("image", &reals(image))], &parameters).unwrap())
    }

    #[test]
    fn srad_leaves_an_even_image_and_the_padding_alone() {
        assert_eq!(srad("srad2", &[4.0, 4.0, 99.0, 4.0, 4.0, 98.0], 2, 2, 3), [4.0, 4.0, 99.0, 4.0, 4.0, 98.0]);
        let grey = srad("srad1", &[51.0, 51.0, 99.0, 51.0, 51.0, 98.0], 2, 2, 3);
        assert!((grey[0] - 51.0).abs() < 1e-9 && grey[2] == 99.0, "{grey:?}");
    }

    #[test]
    fn srad2_evens_out_a_step() {
        // The image is one row with the pixels 1 and 2. The local variation is 0.28 at the left pixel and 1/7
        // at the right pixel. Both numbers are below `speckle`, which is 0.5, so both coefficients are
        // clamped to 1. Each pixel changes by `pace / 4` = 1/8 of the difference between the pixels.
        let image = srad("srad2", &[1.0, 2.0], 1, 2, 2);
        assert_eq!(image, [1.125, 1.875]);
    }

    #[test]
    fn srad2_spares_an_edge() {
        // The image is one row with the pixels 1 and 9. The coefficient of the left pixel multiplies only
        // differences beyond the edge, which are zero. The right pixel has gradient 64/81, laplacian -8/9,
        // and variation (32/81 - 4/81) / (7/9)^2 = 28/49. Its excess is (28/49 - 1/2) / (1/2 * 3/2) = 2/21,
        // where 1/2 is `speckle`. Its coefficient is therefore 1 / (1 + 2/21) = 21/23. Each pixel changes by
        // 1/8 of 21/23 times the difference 8.
        let image = srad("srad2", &[1.0, 9.0], 1, 2, 2);
        assert!((image[0] - (1.0 + 21.0 / 23.0)).abs() < 1e-12, "{image:?}");
        assert!((image[1] - (9.0 - 21.0 / 23.0)).abs() < 1e-12, "{image:?}");
    }
}
