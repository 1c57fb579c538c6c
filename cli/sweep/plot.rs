//! Draws the results of a sweep: bars, lines over a numeric parameter, or heat maps over two parameters.

use std::collections::HashMap;
use std::path::Path;

use miette::{Report, miette};
use papers::chart::{Chart, Form, Series};
use papers::heat::HeatMaps;
use papers::picture::{Picture, Width};
use serde_json::{Map, Value};

use super::super::args::{PictureFormat, PlotArguments};
use super::file::text_of;
use super::plan::Plan;
use super::tidy::{ResultTable, SPEEDUP, is_column};

/// Options of the picture: column to draw, parameters on the axes, and width.
pub struct Plot {
    of: String,
    over: Vec<String>,
    width: Width,
}

/// Value at or above which the labels of an axis are in millions.
const MILLIONS: f64 = 1e7;

impl Plot {
    /// Checks the options of the picture, and fills in the default axes.
    ///
    /// # Errors
    /// Returns an error if the options name a column that the results cannot have, or an unsuitable
    /// parameter.
    pub fn new(options: &PlotArguments, over: &[String], plan: &Plan) -> Result<Self, Report> {
        let of = &options.plot_of;
        if !is_column(of) {
            return Err(miette!(
                "`--plot-of` is {of}, expected speedup, area.mm2, energy.BLOCK or a key of `list counters`"
            ));
        }
        let numeric = numeric(plan);
        // The axes of a heat map can show any values, but the axis of a line chart needs numbers.
        let (names, kind) = match over.len() {
            2 => (several(plan), "values"),
            _ => (numeric.iter().map(|(name, _)| name.as_str()).collect(), "numbers"),
        };
        if let Some(wrong) = over.iter().find(|key| !names.contains(&key.as_str())) {
            let legal =
                if names.is_empty() { "there is none".to_owned() } else { format!("they are {}", names.join(", ")) };
            return Err(miette!("`--plot-over` is {wrong}, expected a parameter with several {kind}: {legal}"));
        }
        if over.len() > 2 || over.len() == 2 && over[0] == over[1] {
            return Err(miette!("`--plot-over` is {}, expected one or two parameters", over.join(",")));
        }
        let mut over = over.to_vec();
        if over.is_empty() {
            over.extend(numeric.into_iter().filter(|(_, is_axis)| *is_axis).map(|(name, _)| name).take(2));
        }
        Ok(Self { of: of.clone(), over, width: options.plot_width.into() })
    }

    /// Returns the contents of a picture file. The extension of the name selects the format.
    pub fn file(&self, path: &Path, plan: &Plan, tidy: &ResultTable) -> Vec<u8> {
        let picture = self.picture(plan, tidy, self.width);
        match PictureFormat::of(path) {
            Some(PictureFormat::Pdf) => picture.pdf(),
            Some(PictureFormat::Svg) | None => picture.svg().into_bytes(),
        }
    }

    /// Returns the picture of the results.
    pub fn picture(&self, plan: &Plan, tidy: &ResultTable, width: Width) -> Picture {
        let rows: Vec<_> = tidy.rows.iter().map(|(_, row)| row).collect();
        let launch = [plan.columns[0].name.clone()];
        let axes = if self.over.is_empty() { &launch[..] } else { &self.over };
        let places: Vec<Vec<Value>> = axes.iter().map(|name| distinct(&rows, name)).collect();
        // Names of the parameters that are on no axis but have several values. They distinguish the series.
        let is_axis =
            |group: usize| plan.columns.iter().any(|column| column.group == group && axes.contains(&column.name));
        let others = plan.columns.iter().filter(|column| !is_axis(column.group));
        let others = firsts(others.map(|column| (column.group, &column.name)));
        let others: Vec<_> = others.into_iter().filter(|name| distinct(&rows, name).len() > 1).collect();
        let (mut names, mut values) = (Vec::new(), HashMap::new());
        for ((_, variant), row) in &tidy.rows {
            // A plan of `compare` has no parameter columns. Its series are named by the labels of the
            // machines.
            let name = match plan.columns.len() {
                1 => plan.variants[*variant].label.clone(),
                _ => name_row(row, &others),
            };
            if !names.contains(&name) {
                names.push(name.clone());
            }
            let place: Vec<_> = axes.iter().filter_map(|axis| row.get(axis)).map(text_of).collect();
            values.insert((name, place), row.get(&self.of).and_then(Value::as_f64));
        }
        let at = |name: &str, place: &[&String]| {
            let place = place.iter().map(|&text| text.clone()).collect();
            values.get(&(name.to_owned(), place)).copied().flatten()
        };
        let places: Vec<Vec<String>> = places.iter().map(|values| values.iter().map(text_of).collect()).collect();
        match places.as_slice() {
            [across, down, ..] => {
                let fields = |name: &str| down.iter().flat_map(|y| across.iter().map(|x| at(name, &[x, y]))).collect();
                let maps = names.into_iter().map(|name| (name.clone(), fields(&name))).collect();
                let [across, down] =
                    [(0, across), (1, down)].map(|(axis, values)| (axes[axis].clone(), values.clone()));
                let are_ratios = self.of == SPEEDUP;
                HeatMaps { unit: unit(&self.of), across, down, maps, are_ratios }.picture(width)
            }
            [groups, ..] => {
                let shown = if self.over.is_empty() { without_shared(groups) } else { groups.clone() };
                let values = |name: &str| groups.iter().map(|group| at(name, &[group])).collect();
                let series = names.into_iter().map(|name| Series { values: values(&name), name }).collect();
                self.chart(shown, series).picture(width)
            }
            [] => self.chart(Vec::new(), Vec::new()).picture(width),
        }
    }

    fn chart(&self, groups: Vec<String>, mut series: Vec<Series>) -> Chart {
        let mut values: Vec<_> = series.iter_mut().flat_map(|series| series.values.iter_mut().flatten()).collect();
        let is_large = values.iter().any(|value| **value >= MILLIONS);
        if is_large {
            values.iter_mut().for_each(|value| **value /= 1e6);
        }
        let unit = if is_large { format!("{} (millions)", unit(&self.of)) } else { unit(&self.of) };
        let neutral = (self.of == SPEEDUP).then_some(1.0);
        let chart = Chart { unit, series, neutral, ..Chart::default() };
        match self.over.first() {
            Some(over) => Chart { across: over.clone(), groups, form: Form::Lines, ..chart },
            None if groups.len() < 2 => Chart { groups, ..chart },
            None => Chart { groups, ..chart }.with_mean().sort_groups(),
        }
    }
}

/// Returns the title of the axis that shows a column, which includes the unit.
fn unit(column: &str) -> String {
    let last = column.rsplit('.').next().unwrap_or(column);
    match last {
        SPEEDUP => "speed-up over the baseline".to_owned(),
        "cycles" if column == "cycles" => "core cycles".to_owned(),
        "mm2" => "area [mm²]".to_owned(),
        _ if last.ends_with("_pj") => format!("{} [pJ]", column.trim_end_matches("_pj")),
        _ if last.ends_with("bytes") => format!("{column} [bytes]"),
        _ if last.ends_with("cycles") || last.ends_with("delay") => format!("{column} [cycles]"),
        _ => column.to_owned(),
    }
}

/// Returns the names of the parameters that have several values in the sweep.
fn several(plan: &Plan) -> Vec<&str> {
    let differ = |at: usize| {
        let mut values = plan.variants.iter().map(|variant| &variant.values[at - 1]);
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let columns = plan.columns.iter().enumerate().skip(1).filter(|&(at, _)| differ(at));
    columns.map(|(_, column)| column.name.as_str()).collect()
}

/// Returns the numeric parameters with several values, each with a flag. The flag is true if no other
/// parameter varies together with this parameter. By default, only a parameter with this flag can be an axis.
fn numeric(plan: &Plan) -> Vec<(String, bool)> {
    let column =
        |at: usize| plan.variants.iter().filter(|variant| variant.resolved.is_some()).map(move |v| &v.values[at - 1]);
    let is_numeric = |at: usize| {
        let first = column(at).next();
        column(at).all(Value::is_number) && column(at).any(|value| Some(value) != first)
    };
    let columns = plan.columns.iter().enumerate().skip(1).filter(|&(at, _)| is_numeric(at));
    let is_axis = |group: usize| plan.columns.iter().filter(|column| column.group == group).count() == 1;
    columns.map(|(_, column)| (column.name.clone(), is_axis(column.group))).collect()
}

/// Returns the name of the first column of each group. The parameters of a group vary together, so this
/// column represents them all.
fn firsts<'a>(columns: impl Iterator<Item = (usize, &'a String)>) -> Vec<&'a String> {
    let mut seen = Vec::new();
    let mut is_new = |group: usize| {
        let is_new = !seen.contains(&group);
        seen.push(group);
        is_new
    };
    columns.filter(|(group, _)| is_new(*group)).map(|(_, name)| name).collect()
}

/// Returns the distinct values of a column: numbers in ascending order, others in the order of the rows.
fn distinct(rows: &[&Map<String, Value>], name: &str) -> Vec<Value> {
    let mut values = Vec::new();
    for value in rows.iter().filter_map(|row| row.get(name)) {
        if !values.contains(value) {
            values.push(value.clone());
        }
    }
    if values.iter().all(Value::is_number) {
        let number = |value: &Value| value.as_f64().unwrap_or(f64::INFINITY);
        values.sort_by(|one, other| number(one).total_cmp(&number(other)));
    }
    values
}

/// Returns file names without the leading folders and the ending that all of them share.
fn without_shared(names: &[String]) -> Vec<String> {
    let [first, _, ..] = names else { return names.to_vec() };
    let starts = first.match_indices('/').map(|(at, _)| &first[..=at]);
    let start =
        starts.filter(|start| names.iter().all(|name| name.starts_with(start))).map(str::len).max().unwrap_or(0);
    let left: Vec<&str> = names.iter().map(|name| &name[start..]).collect();
    let ends = left[0].match_indices(['/', '.']).map(|(at, _)| &left[0][at..]);
    let is_shared = |end: &&str| left.iter().all(|name| name.len() > end.len() && name.ends_with(end));
    let end = ends.filter(is_shared).map(str::len).max().unwrap_or(0);
    left.into_iter().map(|name| name[..name.len() - end].to_owned()).collect()
}

/// Returns a name for a row of the table, composed of the row's values in the columns `names`.
fn name_row(row: &Map<String, Value>, names: &[&String]) -> String {
    let part = |name: &&String| {
        let value = row.get(*name).map(text_of).unwrap_or_default();
        if ["launch", "machine", "design"].contains(&name.as_str()) { value } else { format!("{name}={value}") }
    };
    names.iter().map(part).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_files_share_is_not_told_of_each() {
        let shown = |names: &[&str]| without_shared(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(shown(&["kernels/bfs/launch.toml", "kernels/syrk/launch.toml"]), ["bfs", "syrk"]);
        assert_eq!(shown(&["kernels/bfs/launch.toml", "kernels/bfs/small"]), ["launch.toml", "small"]);
        assert_eq!(shown(&["bfs", "kernels/syrk/launch.toml"]), ["bfs", "kernels/syrk/launch.toml"]);
        assert_eq!(shown(&["a.toml", "b.a.toml"]), ["a", "b.a"]);
        assert_eq!(shown(&["kernels/bfs/launch.toml"]), ["kernels/bfs/launch.toml"]);
        assert_eq!(shown(&[]), [""; 0]);
    }
}
