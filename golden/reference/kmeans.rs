//! CPU reference: nearest cluster center of every point, as in k-means clustering.

use super::rounded::Rounded;
use super::{Arguments, Array, ElementType, ExpectedOutput, Reference, ReferenceError, count, input};

/// Number of the cluster center nearest to each point; of several equally near centers, the first. Data for
/// which `f32` rounding could decide between two centers are refused, because there is no single correct
/// answer.
pub(super) static KMEANS: Reference = Reference {
    name: "kmeans",
    summary: "nearest center for each of the points",
    inputs: &[input("points", ElementType::F32), input("centres", ElementType::F32)],
    parameters: &[count("count"), count("features"), count("clusters")],
    output: ElementType::I32,
    compute,
};

fn compute(arguments: &Arguments<'_>) -> Result<ExpectedOutput, ReferenceError> {
    let [points_count, features, clusters] = ["count", "features", "clusters"].map(|name| arguments.count(name));
    let points = arguments.input("points", points_count * features, "count * features")?;
    let centres = arguments.input("centres", clusters * features, "clusters * features")?;
    let distance = |point: usize, cluster: usize| {
        Rounded::sum((0..features).map(|f| {
            let apart = Rounded::exact(points.real(point * features + f))
                - Rounded::exact(centres.real(cluster * features + f));
            apart * apart
        }))
    };
    let mut nearest = Vec::new();
    for point in 0..points_count {
        let distances: Vec<_> = (0..clusters).map(|cluster| distance(point, cluster)).collect();
        let mut best = 0;
        for cluster in 1..clusters {
            if distances[cluster].value < distances[best].value {
                best = cluster;
            }
        }
        let near = distances[best];
        let rival = (0..clusters).find(|&cluster| {
            let far = distances[cluster];
            // Points at equal distance yield identical computed distances, so the first center is selected.
            far != near && far.value - near.value <= far.error + near.error
        });
        if let Some(rival) = rival {
            return Err(arguments.error(format!(
                "point {point} is equally near to centers {best} and {rival} within rounding, expected other data"
            )));
        }
        nearest.push(best as i128);
    }
    Ok(ExpectedOutput::exact(Array::from_integers(ElementType::I32, nearest)))
}

#[cfg(test)]
mod tests {
    use super::super::ParameterValue::Count;
    use super::super::tests::{integers, reals, run};
    use super::super::{ExpectedOutput, ReferenceError};

    fn kmeans(points: &[f64], centres: &[f64]) -> Result<ExpectedOutput, ReferenceError> {
        let parameters =
            [("count", Count(points.len() / 2)), ("features", Count(2)), ("clusters", Count(centres.len() / 2))];
        run("kmeans", &[("points", &reals(points)), ("centres", &reals(centres))], &parameters)
    }

    #[test]
    fn kmeans_finds_the_nearest_centre_over_all_features() {
        let points = [0.0, 0.0, 5.0, 4.0, 5.0, 6.0];
        let centres = [9.0, 9.0, 1.0, 1.0, 5.0, 1.0];
        assert_eq!(kmeans(&points, &centres).unwrap().values, integers(&[1, 2, 0]));
    }

    #[test]
    fn kmeans_keeps_the_first_of_equal_centres() {
        assert_eq!(kmeans(&[0.0, 0.0], &[3.0, 1.0, 1.0, 0.0, 1.0, 0.0]).unwrap().values, integers(&[1]));
    }

    #[test]
    fn kmeans_refuses_data_that_rounding_decides() {
        let error = kmeans(&[0.0, 0.0], &[1.0, 0.0, 1.0, 1e-5]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "reference `kmeans`: point 0 is equally near to centers 0 and 1 within rounding, expected other data"
        );
    }
}
