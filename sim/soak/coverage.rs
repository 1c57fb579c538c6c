//! # Functional coverage
//! Declares as data the points that a random test must reach, and counts how often it reaches them. A
//! [`Cross`] has several axes of values, with one coverage point per combination of values; a plain list of
//! points is a cross with one axis. Combinations that cannot occur are excluded, each with a reason. A test
//! must reach every legal point, and must not reach an excluded point.
//!
//! A test collects coverage with [`collect`], which counts every [`hit`] in its thread while a closure runs.
//! Observers outside the tested hardware block report hits. They check [`is_collecting`] first, so that
//! coverage costs nothing when it is not collected.

use std::cell::RefCell;
use std::collections::BTreeSet;

/// One axis of a cross: a quantity with its possible values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Name of the quantity that varies along the axis.
    pub name: &'static str,
    /// Values on the axis, all different.
    pub values: Vec<String>,
}

impl Axis {
    /// Creates an axis with the given values.
    pub fn new<V: Into<String>>(name: &'static str, values: impl IntoIterator<Item = V>) -> Self {
        Self { name, values: values.into_iter().map(Into::into).collect() }
    }
}

/// Combinations of values that cannot occur.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exclusion {
    /// For each axis, in the order of the axes, the values that are excluded in combination. An empty list
    /// stands for all values of the axis.
    pub of: Vec<Vec<&'static str>>,
    /// Reason why the combinations cannot occur.
    pub reason: &'static str,
}

/// Cross of several axes: one coverage point per combination of values, except for excluded combinations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cross {
    /// Name of the cross, by which [`hit`] refers to it.
    pub name: &'static str,
    /// Axes of the cross. In lists of points, the value on the last axis varies fastest.
    pub axes: Vec<Axis>,
    /// Combinations that cannot occur, with reasons.
    pub excluded: Vec<Exclusion>,
}

impl Cross {
    /// Returns the number of legal points and the number of excluded points.
    #[must_use]
    pub fn sizes(&self) -> (usize, usize) {
        let excluded = (0..self.len()).filter(|point| self.exclusion(*point).is_some()).count();
        (self.len() - excluded, excluded)
    }

    /// Checks the exclusions. Each must have one entry per axis, contain only values of that axis, and
    /// exclude points that no earlier exclusion covers.
    ///
    /// # Errors
    /// Returns an error that describes the first exclusion that breaks one of these rules.
    pub fn check(&self) -> Result<(), String> {
        for (number, Exclusion { of, reason }) in self.excluded.iter().enumerate() {
            let unknown = of.iter().zip(&self.axes).find_map(|(values, axis)| {
                let unknown = values.iter().find(|value| !axis.values.iter().any(|known| known == *value))?;
                Some(format!("`{unknown}` is not a {}", axis.name))
            });
            let idle = || {
                let concerns = |point: &usize| self.exclusion(*point).is_some_and(|first| first == number);
                (!(0..self.len()).any(|point| concerns(&point))).then(|| "others exclude all of it".to_owned())
            };
            let sides = (of.len() != self.axes.len()).then(|| format!("it has {} sides", of.len()));
            if let Some(wrong) = sides.or(unknown).or_else(idle) {
                return Err(format!("{}: the exclusion because {reason}: {wrong}", self.name));
            }
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.axes.iter().map(|axis| axis.values.len()).product()
    }

    /// Returns the index of a coverage point in the list of all points of the cross, in which the value on
    /// the last axis varies fastest.
    fn number(&self, point: &[&str]) -> Option<usize> {
        if point.len() != self.axes.len() {
            return None;
        }
        self.axes.iter().zip(point).try_fold(0, |number, (axis, value)| {
            let place = axis.values.iter().position(|known| known == value)?;
            Some(number * axis.values.len() + place)
        })
    }

    fn values(&self, mut number: usize) -> Vec<&str> {
        let mut values = Vec::new();
        for axis in self.axes.iter().rev() {
            values.push(axis.values[number % axis.values.len()].as_str());
            number /= axis.values.len();
        }
        values.reverse();
        values
    }

    /// Returns the index of the first exclusion that covers a coverage point, or `None` if the point is
    /// legal.
    fn exclusion(&self, point: usize) -> Option<usize> {
        let values = self.values(point);
        let falls =
            |of: &Vec<Vec<&str>>| of.iter().zip(&values).all(|(some, value)| some.is_empty() || some.contains(value));
        self.excluded.iter().position(|Exclusion { of, .. }| falls(of))
    }
}

/// Collected coverage: crosses, with the number of hits of each of their points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    crosses: Vec<(Cross, Vec<u64>)>,
    /// Points that were reported as hit, but belong to no cross.
    unknown: BTreeSet<String>,
}

impl Coverage {
    /// Creates a collection in which no coverage point has been hit yet.
    #[must_use]
    pub fn new(crosses: Vec<Cross>) -> Self {
        let counted = crosses.into_iter().map(|cross| {
            let hits = vec![0; cross.len()];
            (cross, hits)
        });
        Self { crosses: counted.collect(), unknown: BTreeSet::new() }
    }

    fn hit(&mut self, name: &str, point: &[&str], times: u64) {
        let found = self.crosses.iter_mut().find(|(cross, _)| cross.name == name);
        match found.and_then(|(cross, hits)| cross.number(point).map(|number| &mut hits[number])) {
            Some(hits) => *hits += times,
            None => drop(self.unknown.insert(format!("{name}: {}", point.join(", ")))),
        }
    }

    /// Returns the legal coverage points that were never hit.
    #[must_use]
    pub fn list_missed(&self) -> Vec<String> {
        self.select(|hits, excluded| hits == 0 && !excluded)
    }

    /// Returns the excluded coverage points that were hit, and the reported points that no cross declares.
    #[must_use]
    pub fn impossible(&self) -> Vec<String> {
        let mut found = self.select(|hits, excluded| hits > 0 && excluded);
        found.extend(self.unknown.iter().cloned());
        found
    }

    fn select(&self, is_one: impl Fn(u64, bool) -> bool) -> Vec<String> {
        let of_cross = |(cross, hits): &(Cross, Vec<u64>)| {
            let points =
                hits.iter().enumerate().filter(|(point, hits)| is_one(**hits, cross.exclusion(*point).is_some()));
            points.map(|(point, _)| format!("{}: {}", cross.name, cross.values(point).join(", "))).collect::<Vec<_>>()
        };
        self.crosses.iter().flat_map(of_cross).collect()
    }

    /// Formats the coverage as text. Each cross is a table with one column per value of its last axis, in
    /// which a dot marks a point that cannot occur. After the table, the points that were never hit are
    /// listed.
    #[must_use]
    pub fn table(&self) -> String {
        let mut text = String::new();
        for (cross, hits) in &self.crosses {
            let (possible, excluded) = cross.sizes();
            let reached = possible - self.list_missed().iter().filter(|point| is_of(point, cross)).count();
            text += &format!("\n{}: {reached} of {possible} points reached", cross.name);
            text += &if excluded > 0 { format!(", {excluded} cannot occur\n") } else { "\n".to_owned() };
            text += &rows_of(cross, hits);
        }
        for (what, points) in [("never reached", self.list_missed()), ("must not occur", self.impossible())] {
            if !points.is_empty() {
                text += &format!("\n{what}:\n  {}\n", points.join("\n  "));
            }
        }
        text
    }

    /// Checks that every legal coverage point was hit and that no other point was.
    ///
    /// # Panics
    /// Panics if a legal point was not hit or another point was hit; the message lists these points.
    pub fn assert_complete(&self) {
        let (missed, impossible) = (self.list_missed(), self.impossible());
        assert!(missed.is_empty(), "{} points were never reached:\n{}", missed.len(), missed.join("\n"));
        assert!(impossible.is_empty(), "points that cannot occur were reached:\n{}", impossible.join("\n"));
    }
}

fn is_of(point: &str, cross: &Cross) -> bool {
    point.strip_prefix(cross.name).is_some_and(|rest| rest.starts_with(": "))
}

/// Formats the hit counts of a cross as rows of a table. If the cross has a single axis, there is one row per
/// point.
fn rows_of(cross: &Cross, hits: &[u64]) -> String {
    let columns = if cross.axes.len() > 1 { cross.axes.last().map_or(&[][..], |axis| &axis.values) } else { &[] };
    let sides = &cross.axes[..cross.axes.len() - usize::from(!columns.is_empty())];
    let mut head: Vec<String> = sides.iter().map(|axis| axis.name.to_owned()).collect();
    if columns.is_empty() {
        head.push("hits".to_owned());
    }
    head.extend(columns.iter().cloned());
    let mut rows = vec![head];
    for (row, counts) in hits.chunks(columns.len().max(1)).enumerate() {
        let first = row * counts.len();
        let mut cells: Vec<String> =
            cross.values(first)[..sides.len()].iter().map(|value| (*value).to_owned()).collect();
        cells.extend(counts.iter().enumerate().map(|(column, hits)| match cross.exclusion(first + column) {
            Some(_) if *hits == 0 => ".".to_owned(),
            _ => hits.to_string(),
        }));
        rows.push(cells);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column < sides.len() {
            true => format!("{cell:width$}"),
            false => format!("{cell:>width$}"),
        });
        text += &format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    text
}

thread_local! {
    /// Coverage that this thread collects; `None` if it collects none. The coverage is stored per thread and
    /// not passed as an argument, because observers report hits from deep in the call tree, and most
    /// functions between them and the test do not use coverage.
    static COLLECTED: RefCell<Option<Coverage>> = const { RefCell::new(None) };
}

/// True if this thread collects coverage.
#[must_use]
pub fn is_collecting() -> bool {
    COLLECTED.with_borrow(Option::is_some)
}

/// Counts one hit of a coverage point, which is given by its value on each axis of the cross.
pub fn hit(cross: &str, point: &[&str]) {
    hit_times(cross, point, 1);
}

/// Counts `times` hits of a coverage point. A call with `times` equal to 0 has no effect.
pub fn hit_times(cross: &str, point: &[&str], times: u64) {
    if times > 0 {
        COLLECTED.with_borrow_mut(|collected| {
            if let Some(coverage) = collected {
                coverage.hit(cross, point, times);
            }
        });
    }
}

/// Runs a closure, and returns its result and the coverage of all hits in this thread.
///
/// # Panics
/// Panics if this thread is already collecting coverage, as in a nested call.
pub fn collect<T>(crosses: Vec<Cross>, run: impl FnOnce() -> T) -> (T, Coverage) {
    let before = COLLECTED.replace(Some(Coverage::new(crosses)));
    assert!(before.is_none(), "coverage is collected already");
    let result = run();
    let coverage = COLLECTED.take().unwrap_or_else(|| Coverage::new(Vec::new()));
    (result, coverage)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fruit() -> Cross {
        Cross {
            name: "fruit",
            axes: vec![Axis::new("kind", ["apple", "plum"]), Axis::new("colour", ["red", "blue"])],
            excluded: vec![Exclusion { of: vec![vec!["apple"], vec!["blue"]], reason: "apples are not" }],
        }
    }

    #[test]
    fn a_cross_counts_each_combination_and_names_those_never_reached() {
        let ((), coverage) = collect(vec![fruit()], || {
            hit("fruit", &["plum", "red"]);
            hit_times("fruit", &["apple", "red"], 12);
            hit_times("fruit", &["plum", "blue"], 0);
        });
        assert_eq!(coverage.list_missed(), ["fruit: plum, blue"]);
        assert_eq!(
            coverage.table(),
            "\nfruit: 2 of 3 points reached, 1 cannot occur\n  kind   red  blue\n  apple   12     .\n  plum     1     0\n\
             \nnever reached:\n  fruit: plum, blue\n"
        );
    }

    #[test]
    #[should_panic(expected = "1 points were never reached:\nfruit: plum, blue")]
    fn a_point_that_is_never_reached_fails_a_bench() {
        let all = [["plum", "red"], ["apple", "red"]];
        collect(vec![fruit()], || all.iter().for_each(|point| hit("fruit", point))).1.assert_complete();
    }

    #[test]
    fn what_cannot_occur_and_what_nobody_declared_is_told_of() {
        let ((), coverage) = collect(vec![fruit()], || {
            hit("fruit", &["apple", "blue"]);
            hit("fruit", &["pear", "red"]);
            hit("nuts", &["hazel"]);
        });
        assert_eq!(coverage.impossible(), ["fruit: apple, blue", "fruit: pear, red", "nuts: hazel"]);
        assert!(coverage.table().contains("must not occur:\n  fruit: apple, blue\n"));
    }

    #[test]
    fn nothing_is_counted_unless_somebody_collects() {
        hit("fruit", &["plum", "red"]);
        assert!(!is_collecting());
        let (inside, coverage) = collect(vec![fruit()], is_collecting);
        assert!(inside && !is_collecting());
        assert_eq!(coverage.list_missed().len(), 3);
    }

    #[test]
    fn an_exclusion_that_is_about_nothing_is_refused() {
        let with = |of: Vec<Vec<&'static str>>| {
            let mut cross = fruit();
            cross.excluded.push(Exclusion { of, reason: "so it is" });
            cross.check()
        };
        let refusal = |wrong: &str| Err(format!("fruit: the exclusion because so it is: {wrong}"));
        assert_eq!(fruit().check(), Ok(()));
        assert_eq!(with(vec![vec!["pear"], vec![]]), refusal("`pear` is not a kind"));
        assert_eq!(with(vec![vec!["apple"], vec!["blue"]]), refusal("others exclude all of it"));
        assert_eq!(with(vec![vec![]]), refusal("it has 1 sides"));
    }

    #[test]
    fn a_list_of_points_has_a_row_for_each() {
        let list = Cross { name: "list", axes: vec![Axis::new("event", ["one", "two"])], excluded: Vec::new() };
        let ((), coverage) = collect(vec![list], || hit("list", &["two"]));
        assert!(
            coverage
                .table()
                .starts_with("\nlist: 1 of 2 points reached\n  event  hits\n  one       0\n  two       1\n")
        );
    }
}
