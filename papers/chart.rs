//! # Charts
//! Groups of bars, or lines over the same groups, as SVG text. The same numbers give the same bytes: no
//! font of the host is asked how wide a text is.

use plotters::coord::ranged1d::Ranged;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

/// A chart: a number, or none, for each group and series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// What its axis counts.
    pub unit: String,
    /// Names along the horizontal axis.
    pub groups: Vec<String>,
    /// What is drawn in each group.
    pub series: Vec<Series>,
    /// Bars or lines.
    pub form: Form,
    /// Whether the vertical axis is logarithmic; only numbers above zero are drawn then.
    pub is_log: bool,
    /// A line across at this height: where nothing is gained or lost.
    pub neutral: Option<f64>,
}

/// A number for each group.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its numbers; none where nothing is known.
    pub values: Vec<Option<f64>>,
}

/// How the numbers are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Bars, beside one another in their group.
    #[default]
    Bars,
    /// A line a series.
    Lines,
}

impl Chart {
    /// A chart without numbers yet.
    #[must_use]
    pub fn new(title: &str, unit: &str) -> Self {
        Self { title: title.to_owned(), unit: unit.to_owned(), ..Self::default() }
    }

    /// A chart of ratios, of which one is neither gained nor lost.
    #[must_use]
    pub fn relative(title: &str, unit: &str) -> Self {
        Self { neutral: Some(1.0), ..Self::new(title, unit) }
    }

    /// The same with a logarithmic axis.
    #[must_use]
    pub fn logarithmic(self) -> Self {
        Self { is_log: true, ..self }
    }
}

impl Series {
    /// A series that knows all its numbers.
    #[must_use]
    pub fn new(name: &str, values: impl IntoIterator<Item = f64>) -> Self {
        Self { name: name.to_owned(), values: values.into_iter().map(Some).collect() }
    }
}

const HEIGHT: u32 = 420;
/// Numbers beside the axis, at most, and their places after the point.
const TICKS: usize = 9;
const MOST_PLACES: usize = 6;
/// Least and most width, and what a group adds.
const WIDTH: (u32, u32, u32) = (640, 1600, 60);
/// Least room for the legend, beside the groups, and what is in it beside a name.
const LEGEND: u32 = 150;
const KEY: u32 = 42;
/// What a series adds to the height of the legend, and what is above and below it.
const LINE: u32 = 15;
const ABOVE: u32 = 60;
/// Room around the plot, and for the numbers of its axis.
const AROUND: u32 = 10;
const AXIS: u32 = 60;
/// Least room for the names of groups, which stand upright, and what is above them.
const NAMES: u32 = 110;
const GAP: u32 = 8;
/// Room for a letter, of the names' size.
const LETTER: u32 = 7;
/// Part of a group's width that its bars take.
const FILLED: f64 = 0.8;
/// Colours that can be told apart without telling red from green.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(150, 150, 150),
    RGBColor(60, 60, 60),
];

type Drawn<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Failed<'b> = DrawingAreaErrorKind<<SVGBackend<'b> as DrawingBackend>::ErrorType>;

impl Chart {
    /// The chart as SVG.
    ///
    /// # Panics
    /// If a series has not one number, or none, for each group.
    #[must_use]
    pub fn svg(&self) -> String {
        for series in &self.series {
            assert_eq!(series.values.len(), self.groups.len(), "{}: a number for each group", series.name);
        }
        let (least, most, each) = WIDTH;
        let width = (self.groups.len() as u32 * each).clamp(least, most) + self.legend_width();
        let height = HEIGHT.max(self.series.len() as u32 * LINE + ABOVE + NAMES) + self.names_height() - NAMES;
        let mut text = String::new();
        let drawn = self.draw(SVGBackend::with_string(&mut text, (width, height)));
        drawn.expect("text grows as it must");
        text
    }

    fn draw<'b>(&self, backend: SVGBackend<'b>) -> Result<(), Failed<'b>> {
        let root = backend.into_drawing_area();
        root.fill(&WHITE)?;
        let (bottom, top) = self.range();
        let groups = self.groups.len().max(1) as f64;
        let plot = f64::from(root.dim_in_pixel().0 - AXIS - 2 * AROUND);
        let right = groups * plot / (plot - f64::from(self.legend_width()));
        let mut chart = ChartBuilder::on(&root)
            .caption(&self.title, ("sans-serif", 18))
            .margin(AROUND)
            .x_label_area_size(self.names_height())
            .y_label_area_size(AXIS)
            .build_cartesian_2d(0.0..right, bottom..top)?;
        let ticks = RangedCoordf64::from(bottom..top).key_points(TICKS);
        let of_all = if self.is_log { None } else { places(&ticks) };
        let shown = |height: &f64| shown(self.unscaled(*height), of_all);
        let mut mesh = chart.configure_mesh();
        mesh.disable_x_mesh()
            .disable_x_axis()
            .y_desc(&self.unit)
            .y_label_formatter(&shown)
            .y_labels(TICKS)
            .max_light_lines(1)
            .draw()?;
        self.names(&root, &chart)?;
        for (number, series) in self.series.iter().enumerate() {
            let colour = colour(number);
            match self.form {
                Form::Bars => self.bars(&mut chart, number, colour)?,
                Form::Lines => {
                    let points = series.values.iter().enumerate();
                    let points = points.filter_map(|(at, value)| Some((at as f64 + 0.5, self.scaled((*value)?)?)));
                    let line = chart.draw_series(LineSeries::new(points, colour.stroke_width(2)).point_size(3))?;
                    self.legend(line, &series.name, colour);
                }
            }
        }
        if let Some(neutral) = self.neutral.and_then(|neutral| self.scaled(neutral)) {
            chart.draw_series(LineSeries::new([(0.0, neutral), (groups, neutral)], BLACK))?;
        }
        if self.series.len() > 1 {
            let mut labels = chart.configure_series_labels();
            labels.position(SeriesLabelPosition::UpperRight).background_style(WHITE.mix(0.8)).border_style(BLACK);
            labels.draw()?;
        }
        root.present()
    }

    fn legend_width(&self) -> u32 {
        LEGEND.max(widest(self.series.iter().map(|series| &series.name)) + KEY)
    }

    fn names_height(&self) -> u32 {
        NAMES.max(widest(&self.groups) + GAP)
    }

    /// The names of the groups, upright below the axis.
    fn names<'b>(
        &self,
        root: &DrawingArea<SVGBackend<'b>, plotters::coord::Shift>,
        chart: &Drawn<'_, 'b>,
    ) -> Result<(), Failed<'b>> {
        let style = ("sans-serif", 12).into_font().transform(FontTransform::Rotate90).color(&BLACK);
        let (_, bottom) = chart.plotting_area().get_pixel_range();
        for (at, name) in self.groups.iter().enumerate() {
            let (x, _) = chart.backend_coord(&(at as f64 + 0.5, 0.0));
            root.draw(&Text::new(name.clone(), (x + 6, bottom.end + 6), style.clone()))?;
        }
        Ok(())
    }

    fn bars<'b>(&self, chart: &mut Drawn<'_, 'b>, number: usize, colour: RGBColor) -> Result<(), Failed<'b>> {
        let series = &self.series[number];
        let width = FILLED / self.series.len() as f64;
        let foot = self.scaled(self.foot()).unwrap_or(0.0);
        let bars = series.values.iter().enumerate().filter_map(|(at, value)| {
            let height = self.scaled((*value)?)?;
            let left = at as f64 + (1.0 - FILLED) / 2.0 + number as f64 * width;
            Some(Rectangle::new([(left, foot), (left + width, height)], colour.filled()))
        });
        let drawn = chart.draw_series(bars)?;
        self.legend(drawn, &series.name, colour);
        Ok(())
    }

    fn legend<'b>(&self, drawn: &mut plotters::chart::SeriesAnno<'_, SVGBackend<'b>>, name: &str, colour: RGBColor) {
        drawn.label(name).legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 10, y + 5)], colour.filled()));
    }

    /// Where bars begin: at zero, or at the neutral line of a logarithmic axis.
    fn foot(&self) -> f64 {
        if self.is_log { self.neutral.unwrap_or(1.0) } else { 0.0 }
    }

    /// A number on the axis, if it has a place there.
    fn scaled(&self, value: f64) -> Option<f64> {
        match self.is_log {
            true => (value > 0.0).then(|| value.log10()),
            false => value.is_finite().then_some(value),
        }
    }

    fn unscaled(&self, height: f64) -> f64 {
        if self.is_log { 10_f64.powf(height) } else { height }
    }

    /// Ends of the vertical axis: all numbers, the feet of bars and the neutral line, with some room above.
    fn range(&self) -> (f64, f64) {
        let values = self.series.iter().flat_map(|series| series.values.iter().copied().flatten());
        let heights = values.chain(self.neutral).chain([self.foot()]).filter_map(|value| self.scaled(value));
        let (low, high) =
            heights.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), height| (low.min(height), high.max(height)));
        let room = ((high - low) * 0.08).max(1e-3);
        (if low < 0.0 { low - room } else { low }, high + room)
    }
}

/// Room for the longest of some names.
fn widest<'a>(names: impl IntoIterator<Item = &'a String>) -> u32 {
    names.into_iter().map(|name| name.chars().count() as u32).max().unwrap_or(0) * LETTER
}

/// The colour of a series: of those beyond the named ones no two neighbours are near.
pub(crate) fn colour(number: usize) -> RGBColor {
    COLOURS.get(number).copied().unwrap_or_else(|| {
        let further = (number - COLOURS.len()) as f64;
        let (red, green, blue) = HSLColor((0.25 + 0.47 * further).fract(), 0.6, 0.3 + 0.15 * (further % 3.0)).rgb();
        RGBColor(red, green, blue)
    })
}

/// Places after the point for ticks some of which are large, or so near that two places do not tell them apart.
pub(crate) fn places(ticks: &[f64]) -> Option<usize> {
    let step = ticks.windows(2).map(|two| two[1] - two[0]).fold(f64::INFINITY, f64::min);
    let is_exact = |tick: &f64, places: usize| {
        format!("{tick:.places$}").parse().is_ok_and(|shown: f64| (shown - tick).abs() < step / 100.0)
    };
    let places = (0..MOST_PLACES).find(|&places| ticks.iter().all(|tick| is_exact(tick, places)));
    let places = places.unwrap_or(MOST_PLACES);
    (places > 2 || ticks.iter().any(|tick| tick.abs() >= 10.0)).then_some(places)
}

/// A number beside the axis, with as many places as all there, or as it needs by itself.
pub(crate) fn shown(value: f64, of_all: Option<usize>) -> String {
    let places = match (value.abs(), of_all) {
        (0.0, _) => 0,
        (_, Some(places)) => places,
        (size, None) if size < 0.1 => 3,
        (size, None) if size < 10.0 => 2,
        (_, None) => 0,
    };
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(form: Form) -> Chart {
        let groups = ["vadd", "syrk", "a < b & c"].map(str::to_owned).into();
        let none = Series { name: "published".to_owned(), values: vec![None, Some(21.0), None] };
        let series = vec![Series::new("ours", [0.9, 13.0, 1.0]), none];
        Chart {
            title: "IPC".to_owned(),
            unit: "times".to_owned(),
            groups,
            series,
            form,
            is_log: true,
            neutral: Some(1.0),
        }
    }

    #[test]
    fn a_bar_is_drawn_for_each_known_number() {
        let svg = chart(Form::Bars).svg();
        // Background, plotting frame and legend have boxes of their own, hence the colour.
        let boxes = |colour: &str| svg.matches(&format!("fill=\"{colour}\"")).count();
        assert_eq!((boxes("#0072B2"), boxes("#E69F00")), (3 + 1, 1 + 1), "{svg}");
    }

    #[test]
    fn no_two_series_of_a_chart_have_one_colour_and_no_two_ticks_one_number() {
        let colours: Vec<_> = (0..40).map(colour).collect();
        assert!(colours.iter().enumerate().all(|(at, colour)| !colours[..at].contains(colour)), "{colours:?}");
        let texts = |ticks: &[f64]| ticks.iter().map(|tick| shown(*tick, places(ticks))).collect::<Vec<_>>();
        assert_eq!(texts(&[0.0, 5.0, 10.0]), ["0", "5", "10"]);
        assert_eq!(texts(&[10.0, 10.5, 11.0]), ["10.0", "10.5", "11.0"]);
        assert_eq!(texts(&[0.0, 0.5, 1.0]), ["0", "0.50", "1.00"]);
        assert_eq!(texts(&[1.001, 1.002]), ["1.001", "1.002"]);
    }

    #[test]
    fn a_long_name_makes_room_for_itself() {
        let mut long = chart(Form::Bars);
        let size = |chart: &Chart| {
            let svg = chart.svg();
            let number = |key: &str| svg.split_once(key).unwrap().1.split('"').next().unwrap().parse::<u32>().unwrap();
            (number(" width=\""), number(" height=\""))
        };
        let before = size(&long);
        assert_eq!(before, (640 + 150, 420));
        long.groups[0] = "kernels/a-folder/launch.toml".to_owned();
        long.series[0].name = "bypass-all, 16 sets of 8 ways".to_owned();
        let after = size(&long);
        assert!(after.0 >= 640 + 29 * 7 && after.1 >= 420 - 110 + 28 * 7, "{after:?}");
    }

    #[test]
    fn names_are_escaped_and_the_same_numbers_give_the_same_bytes() {
        for form in [Form::Bars, Form::Lines] {
            let svg = chart(form).svg();
            assert!(svg.contains("a &lt; b &amp; c") && svg.contains("syrk"), "{svg}");
            assert_eq!(svg, chart(form).svg());
        }
    }
}
