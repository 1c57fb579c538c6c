//! # Scatters
//! Two numbers of each of several things, as SVG text: a dot for each, and a line through those that no other beats.

use plotters::coord::ranged1d::Ranged;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::chart::{colour, places, shown};

/// Things by two numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scatter {
    /// What it shows.
    pub title: String,
    /// What the horizontal axis counts.
    pub across: String,
    /// What the vertical axis counts.
    pub up: String,
    /// What is drawn.
    pub dots: Vec<Dot>,
}

/// A thing.
#[derive(Clone, Debug, PartialEq)]
pub struct Dot {
    /// Its name.
    pub name: String,
    /// Its numbers, across and up.
    pub at: (f64, f64),
    /// Whether the line goes through it.
    pub is_on_line: bool,
}

/// Size without the legend, and the least height.
const PLOT: u32 = 640;
const HEIGHT: u32 = 440;
/// What a name adds to the height of the legend, and what is above and below it.
const LINE: i32 = 18;
const ABOVE: i32 = 40;
/// Room for a letter, and for the dot beside a name.
const LETTER: u32 = 7;
const KEY: i32 = 24;
const AROUND: u32 = 10;
const BESIDE: u32 = 60;
const BELOW: u32 = 44;
const TICKS: usize = 8;
/// Dots on the line are larger.
const DOT: i32 = 4;
const DOT_ON_LINE: i32 = 6;

type Failed<'b> = DrawingAreaErrorKind<<SVGBackend<'b> as DrawingBackend>::ErrorType>;

impl Scatter {
    /// The drawing as SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        let longest = self.dots.iter().map(|dot| dot.name.chars().count() as u32).max().unwrap_or(0);
        let width = PLOT + longest * LETTER + KEY as u32 + 2 * AROUND;
        let height = HEIGHT.max((self.dots.len() as i32 * LINE + 2 * ABOVE) as u32);
        let mut text = String::new();
        self.draw(SVGBackend::with_string(&mut text, (width, height))).expect("text grows as it must");
        text
    }

    fn draw<'b>(&self, backend: SVGBackend<'b>) -> Result<(), Failed<'b>> {
        let root = backend.into_drawing_area();
        root.fill(&WHITE)?;
        let (plot, legend) = root.split_horizontally(PLOT);
        let (left, right) = range(self.dots.iter().map(|dot| dot.at.0));
        let (bottom, top) = range(self.dots.iter().map(|dot| dot.at.1));
        let mut chart = ChartBuilder::on(&plot)
            .caption(&self.title, ("sans-serif", 18))
            .margin(AROUND)
            .x_label_area_size(BELOW)
            .y_label_area_size(BESIDE)
            .build_cartesian_2d(left..right, bottom..top)?;
        let of_all = |ends: (f64, f64)| places(&RangedCoordf64::from(ends.0..ends.1).key_points(TICKS));
        let (across, up) = (of_all((left, right)), of_all((bottom, top)));
        let (across, up) = (|value: &f64| shown(*value, across), |value: &f64| shown(*value, up));
        let mut mesh = chart.configure_mesh();
        mesh.max_light_lines(1)
            .x_desc(&self.across)
            .y_desc(&self.up)
            .x_labels(TICKS)
            .y_labels(TICKS)
            .x_label_formatter(&across)
            .y_label_formatter(&up)
            .draw()?;
        let mut line: Vec<_> = self.dots.iter().filter(|dot| dot.is_on_line).map(|dot| dot.at).collect();
        line.sort_by(|one, other| one.0.total_cmp(&other.0));
        chart.draw_series(LineSeries::new(line, BLACK))?;
        let style = ("sans-serif", 12).into_font().color(&BLACK);
        for (number, dot) in self.dots.iter().enumerate() {
            let size = if dot.is_on_line { DOT_ON_LINE } else { DOT };
            chart.draw_series([Circle::new(dot.at, size, colour(number).filled())])?;
            let y = ABOVE + number as i32 * LINE;
            legend.draw(&Circle::new((DOT_ON_LINE, y), size, colour(number).filled()))?;
            legend.draw(&Text::new(dot.name.clone(), (KEY, y - LINE / 3), style.clone()))?;
        }
        root.present()
    }
}

/// Ends of an axis: all numbers, with some room on either side.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let ends = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    let (low, high) = if ends.0 <= ends.1 { ends } else { (0.0, 1.0) };
    let room = (0.06 * (high - low)).max(1e-3);
    (low - room, high + room)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(name: &str, at: (f64, f64), is_on_line: bool) -> Dot {
        Dot { name: name.to_owned(), at, is_on_line }
    }

    #[test]
    fn every_thing_has_a_dot_and_a_name_and_the_line_goes_through_its_dots_in_order() {
        let dots = vec![dot("a & b", (3.0, 2.0), true), dot("c", (2.0, 5.0), false), dot("d", (1.0, 1.0), true)];
        let scatter = Scatter { title: "Speed".to_owned(), dots, ..Scatter::default() };
        let svg = scatter.svg();
        // In the plot, and beside its name.
        for number in 0..3 {
            let RGBColor(red, green, blue) = colour(number);
            let fill = format!("fill=\"#{red:02X}{green:02X}{blue:02X}\"");
            assert_eq!(svg.lines().filter(|line| line.starts_with("<circle") && line.contains(&fill)).count(), 2);
        }
        assert!(svg.contains("\na &amp; b\n") && svg.contains("\nSpeed\n"), "{svg}");
        let lines: Vec<_> = svg.split("<polyline").skip(1).filter_map(|line| line.split_once("points=\"")).collect();
        let points = lines.last().unwrap().1.split_once('"').unwrap().0;
        let points: Vec<Vec<i32>> = points
            .split_whitespace()
            .map(|point| point.split(',').map(|number| number.parse().unwrap()).collect())
            .collect();
        // From the lower left, where y is larger, to the upper right.
        assert_eq!(points.len(), 2, "{points:?}");
        assert!(points[0][0] < points[1][0] && points[0][1] > points[1][1], "{points:?}");
        assert_eq!(svg, scatter.svg());
    }

    #[test]
    fn nothing_and_a_single_thing_are_drawn_as_well() {
        assert!(Scatter::default().svg().ends_with("</svg>\n"));
        let one = Scatter { dots: vec![dot("a", (1.0, 1.0), true)], ..Scatter::default() };
        assert_eq!(one.svg().matches("<circle").count(), 2);
    }
}
