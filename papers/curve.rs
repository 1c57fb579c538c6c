//! # Curves
//! Step plot of a metric over time or another quantity, as SVG text. Intervals without a value are left
//! blank.

use plotters::coord::ranged1d::Ranged;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::chart::{format_tick, places};
use warpsieve::text::format_thousands;

/// Step plot: one value of a metric for each interval of the horizontal axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Title of the plot.
    pub title: String,
    /// Label of the vertical axis, such as the unit of the metric.
    pub unit: String,
    /// Label of the horizontal axis.
    pub across: String,
    /// Intervals in ascending order: start, end, and value, which is `None` if unknown.
    pub steps: Vec<(f64, f64, Option<f64>)>,
    /// The vertical axis extends at least to this value. It extends further if the metric has larger values.
    pub top: f64,
}

const SIZE: (u32, u32) = (900, 220);
/// Margin around the plot, in pixels.
const AROUND: u32 = 10;
/// Width reserved for the tick labels of the vertical axis, in pixels.
const BESIDE: u32 = 64;
/// Height reserved for the tick labels of the horizontal axis, in pixels.
const BELOW: u32 = 40;
/// Maximum number of tick labels on the vertical and on the horizontal axis.
const TICKS: (usize, usize) = (5, 7);
const COLOUR: RGBColor = RGBColor(0, 114, 178);

type DrawError<'b> = DrawingAreaErrorKind<<SVGBackend<'b> as DrawingBackend>::ErrorType>;

impl Curve {
    /// Returns the plot as SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        let mut text = String::new();
        self.draw(SVGBackend::with_string(&mut text, SIZE)).expect("text grows as it must");
        text
    }

    fn draw<'b>(&self, backend: SVGBackend<'b>) -> Result<(), DrawError<'b>> {
        let root = backend.into_drawing_area();
        root.fill(&WHITE)?;
        let values = self.steps.iter().filter_map(|(.., value)| *value);
        let top = values.fold(self.top, f64::max);
        let top = if top > 0.0 { 1.05 * top } else { 1.0 };
        let end = self.steps.last().map_or(1.0, |&(_, to, _)| to);
        let mut chart = ChartBuilder::on(&root)
            .caption(&self.title, ("sans-serif", 16))
            .margin(AROUND)
            .margin_right(4 * AROUND)
            .x_label_area_size(BELOW)
            .y_label_area_size(BESIDE)
            .build_cartesian_2d(0.0..end, 0.0..top)?;
        let ticks = RangedCoordf64::from(0.0..top).key_points(TICKS.0);
        let of_all = places(&ticks);
        let height = |value: &f64| format_tick(*value, of_all);
        let across = |value: &f64| format_thousands(*value as u64);
        let mut mesh = chart.configure_mesh();
        mesh.disable_x_mesh()
            .max_light_lines(1)
            .x_desc(&self.across)
            .y_desc(&self.unit)
            .x_labels(TICKS.1)
            .y_labels(TICKS.0)
            .x_label_formatter(&across)
            .y_label_formatter(&height)
            .draw()?;
        for known in self.steps.chunk_by(|one, next| one.2.is_some() == next.2.is_some()) {
            let points = known.iter().filter_map(|&(from, to, value)| Some([(from, value?), (to, value?)])).flatten();
            chart.draw_series(LineSeries::new(points, COLOUR.stroke_width(2)))?;
        }
        root.present()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(values: &[Option<f64>]) -> String {
        let steps = values.iter().enumerate().map(|(at, value)| (10.0 * at as f64, 10.0 * (at + 1) as f64, *value));
        Curve { title: "a < b".to_owned(), steps: steps.collect(), ..Curve::default() }.svg()
    }

    #[test]
    fn a_gap_parts_the_line_and_a_single_step_is_one() {
        let lines = |values: &[Option<f64>]| {
            curve(values).matches("<polyline fill=\"none\" opacity=\"1\" stroke=\"#0072B2\"").count()
        };
        assert_eq!(lines(&[Some(1.0), Some(2.0)]), 1);
        assert_eq!(lines(&[Some(1.0), None, None, Some(2.0)]), 2);
        assert_eq!(lines(&[None, Some(0.0), None]), 1);
        assert_eq!(lines(&[None]), 0);
    }

    #[test]
    fn nothing_is_drawn_as_well_and_a_title_is_escaped() {
        assert!(curve(&[]).contains("a &lt; b"));
    }
}
