//! CPU reference: tracking of points from one frame to the next by normalized correlation.

use super::rounded::Rounded;
use super::{
    Arguments, Array, ElementType, ExpectedOutput, Input, Parameter, Reference, ReferenceError, count, index, input,
};

/// Edge length in pixels of the square texture around a point.
const SIDE: usize = 15;
/// Maximum displacement of a point in pixels, in each direction.
const REACH: usize = 10;
/// Edge length in pixels of the square window that is searched for a point.
const WINDOW: usize = SIDE + 2 * REACH;
/// Number of candidate positions of a texture along each edge of the window.
const PLACES: usize = 2 * REACH + 1;
/// Minimum distance in pixels between a point and the edges of the frame.
const MARGIN: usize = WINDOW / 2;
/// Exclusive upper limit of pixel values. Below it, `f32` exactly represents a sum of squared pixels over 35
/// columns of 15 pixels each.
const PIXEL_END: i128 = 128;

const INPUTS: &[Input] = &[input("frame", ElementType::U8), input("points", ElementType::I32)];
const PARAMETERS: &[Parameter] = &[count("tracked"), count("rows"), count("columns"), index("down"), index("right")];

/// Correlation of the texture around each point with the 21 x 21 candidate positions around that point in the
/// next frame. The next frame is `frame` moved by `down` rows and `right` columns with wraparound. The list
/// of points holds the row and the column of each point, one point after the other.
pub(super) static HEARTWALL: Reference = Reference {
    name: "heartwall",
    summary: "correlation of the 15 x 15 pixels around each point with 21 x 21 places in the moved frame",
    inputs: INPUTS,
    parameters: PARAMETERS,
    output: ElementType::F32,
    compute: |arguments| {
        let scores = scores(arguments)?;
        Ok(ExpectedOutput::with_bounds(scores.into_iter().flatten().map(Rounded::with_bound)))
    },
};

/// New position of each point, which is the candidate position with the highest correlation: row, then
/// column.
pub(super) static HEARTWALL_FOUND: Reference = Reference {
    name: "heartwall_found",
    summary: "positions of the 15 x 15 pixels around each point in the moved frame",
    inputs: INPUTS,
    parameters: PARAMETERS,
    output: ElementType::I32,
    compute: track_points,
};

fn track_points(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let points = arguments.inputs["points"];
    let mut moved = Vec::new();
    for (point, scores) in scores(arguments)?.into_iter().enumerate() {
        let best = (0..scores.len()).max_by(|&x, &y| scores[x].value.total_cmp(&scores[y].value)).unwrap_or(0);
        let rival = |&other: &usize| {
            other != best && scores[other].value + scores[other].error >= scores[best].value - scores[best].error
        };
        if let Some(rival) = (0..scores.len()).find(rival) {
            return Err(arguments.error(format!(
                "point {point} correlates equally with places {best} and {rival} within the precision of f32: neither \
                 is correct"
            )));
        }
        for (axis, step) in [best / PLACES, best % PLACES].into_iter().enumerate() {
            moved.push(points.integer(2 * point + axis) + step as i128 - REACH as i128);
        }
    }
    Ok(ExpectedOutput::exact(Array::from_integers(ElementType::I32, moved)))
}

/// Returns the correlations of each point with all its candidate positions.
fn scores(arguments: &Arguments<'_>) -> Result<Vec<Vec<Rounded>>, ReferenceError> {
    let [tracked, rows, columns, down, right] =
        ["tracked", "rows", "columns", "down", "right"].map(|name| arguments.count(name));
    let frame = arguments.input("frame", rows * columns, "rows * columns")?;
    let points = arguments.input("points", 2 * tracked, "2 * tracked")?;
    if let Some(idx) = (0..rows * columns).find(|&idx| frame.integer(idx) >= PIXEL_END) {
        let is = frame.integer(idx);
        return Err(arguments.error(format!("frame[{idx}] is {is}, expected 0 to 127: f32 sums must be exact")));
    }
    let coordinate = |idx: usize, size: usize| {
        let is = points.integer(idx);
        let inside = usize::try_from(is).ok().filter(|&at| at >= MARGIN && at + MARGIN < size);
        inside.ok_or_else(|| {
            let last = size as i128 - 1 - MARGIN as i128;
            arguments
                .error(format!("points[{idx}] is {is}, expected {MARGIN} to {last}: {MARGIN} pixels from the edges"))
        })
    };
    let old = |row: usize, column: usize| frame.integer(row * columns + column);
    let new = |row: usize, column: usize| {
        old((row + rows - down % rows) % rows, (column + columns - right % columns) % columns)
    };
    let mut all = Vec::new();
    for point in 0..tracked {
        let [row, column] = [coordinate(2 * point, rows)?, coordinate(2 * point + 1, columns)?];
        let correlation = |place: usize| {
            let [row_step, column_step] = [place / PLACES, place % PLACES];
            let pairs = (0..SIDE * SIDE).map(|i| {
                let [i, j] = [i / SIDE, i % SIDE];
                let texture = old(row - SIDE / 2 + i, column - SIDE / 2 + j);
                (texture, new(row - MARGIN + row_step + i, column - MARGIN + column_step + j))
            });
            normalized_covariance(pairs)
        };
        all.push((0..PLACES * PLACES).map(correlation).collect());
    }
    Ok(all)
}

/// Returns the covariance of the pairs, divided by the square root of the product of the variances. The error
/// bound is that of an `f32` computation from exact sums.
fn normalized_covariance(pairs: impl Iterator<Item = (i128, i128)>) -> Rounded {
    // Sums of x, y, x^2, y^2 and x y over all pairs (x, y).
    let (mut x, mut y, mut xx, mut yy, mut xy) = (0, 0, 0, 0, 0);
    for (texture, pixel) in pairs {
        x += texture;
        y += pixel;
        xx += texture * texture;
        yy += pixel * pixel;
        xy += texture * pixel;
    }
    let [x, y, xx, yy, xy] = [x, y, xx, yy, xy].map(|sum: i128| Rounded::exact(sum as f64));
    let share = Rounded::constant(1.0 / (SIDE * SIDE) as f64);
    let together = xy - x * y * share;
    together / ((xx - x * x * share) * (yy - y * y * share)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{integers, run, values};
    use super::super::{ExpectedOutput, ReferenceError};
    use super::*;

    const SIZE: usize = 40;

    fn run_tracking(name: &str, frame: &[i128], point: [i128; 2]) -> Result<ExpectedOutput, ReferenceError> {
        let frame = Array::from_integers(ElementType::U8, frame.iter().copied());
        let parameters = [
            ("tracked", Count(1)),
            ("rows", Count(SIZE)),
            ("columns", Count(SIZE)),
            ("down", Count(3)),
            ("right", Count(39)),
        ];
        run(name, &[("frame", &frame), ("points", &integers(&point))], &parameters)
    }

    /// Returns a frame in which no texture occurs twice.
    fn texture() -> Vec<i128> {
        (0..SIZE * SIZE).map(|i| (i * i * 37 % 1009) as i128 % 128).collect()
    }

    #[test]
    fn a_point_moves_with_the_frame() {
        // With wraparound, moving the frame by 39 columns to the right equals moving it by 1 to the left.
        let found = run_tracking("heartwall_found", &texture(), [18, 20]).unwrap();
        assert_eq!(found.values, integers(&[21, 19]));
        let scores = values(&run_tracking("heartwall", &texture(), [18, 20]).unwrap());
        let place = (REACH + 3) * PLACES + REACH - 1;
        assert!((scores[place] - 1.0).abs() < 1e-12);
        assert!((0..scores.len()).all(|i| i == place || scores[i] < 0.9));
    }

    #[test]
    fn correlation_is_normalised() {
        let line = |scale: i128, offset: i128| (0..9).map(move |i| (i, scale * i + offset));
        // [`normalized_covariance`] expects SIDE x SIDE = 225 pairs, so nine pairs are repeated 25 times.
        let repeated = |scale, offset| normalized_covariance((0..25).flat_map(|_| line(scale, offset)));
        for (pairs, should) in [(repeated(3, 7), 1.0), (repeated(-2, 50), -1.0)] {
            assert!((pairs.value - should).abs() < 1e-12 && pairs.error < 1e-5);
        }
    }

    #[test]
    fn a_texture_that_is_found_twice_has_no_right_place() {
        let stripes: Vec<i128> = (0..SIZE * SIZE).map(|i| (i % 5) as i128).collect();
        let error = run_tracking("heartwall_found", &stripes, [18, 20]).unwrap_err().to_string();
        assert!(error.contains("within the precision of f32: neither is correct"), "{error}");
    }

    #[test]
    fn points_keep_away_from_the_edges_and_pixels_are_small() {
        assert_eq!(
            run_tracking("heartwall", &texture(), [18, 23]).unwrap_err().to_string(),
            "reference `heartwall`: points[1] is 23, expected 17 to 22: 17 pixels from the edges"
        );
        let mut frame = texture();
        frame[5] = 128;
        assert_eq!(
            run_tracking("heartwall", &frame, [18, 20]).unwrap_err().to_string(),
            "reference `heartwall`: frame[5] is 128, expected 0 to 127: f32 sums must be exact"
        );
    }
}
