//! # Functional coverage
//! What stimulus is to meet, as data, and how often it has. A [`Cross`] has axes of values, and a point for each
//! combination of them; a list of points is a cross of one axis. Combinations that cannot occur are excluded with the
//! reason, and one that occurs all the same is as wrong as one that is never met.
//!
//! Whoever wants to know collects: [`collected`] counts what is [`hit`] by all that it runs in its thread. Observers tell
//! of what they see from outside of a block, and ask [`is_collected`] before they look: else nothing is counted and
//! nothing costs anything.

use std::cell::RefCell;
use std::collections::BTreeSet;

/// One side of a cross.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// What it varies.
    pub name: &'static str,
    /// Its values, all different.
    pub values: Vec<String>,
}

impl Axis {
    /// An axis of these values.
    pub fn new<V: Into<String>>(name: &'static str, values: impl IntoIterator<Item = V>) -> Self {
        Self { name, values: values.into_iter().map(Into::into).collect() }
    }
}

/// Combinations that cannot occur.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excluded {
    /// On each axis the values concerned, all if there are none.
    pub of: Vec<Vec<&'static str>>,
    /// Why.
    pub reason: &'static str,
}

/// Axes, and what of their product may occur.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cross {
    /// Its name, by which it is told of hits.
    pub name: &'static str,
    /// Its axes.
    pub axes: Vec<Axis>,
    /// What cannot occur.
    pub excluded: Vec<Excluded>,
}

impl Cross {
    /// Points that may occur, and all that are excluded.
    #[must_use]
    pub fn sizes(&self) -> (usize, usize) {
        let excluded = (0..self.len()).filter(|point| self.exclusion(*point).is_some()).count();
        (self.len() - excluded, excluded)
    }

    /// What is wrong with its exclusions: each must be about points that are left.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), String> {
        for (number, Excluded { of, reason }) in self.excluded.iter().enumerate() {
            let unknown = of.iter().zip(&self.axes).find_map(|(values, axis)| {
                let unknown = values.iter().find(|value| !axis.values.iter().any(|known| known == *value))?;
                Some(format!("`{unknown}` is no {}", axis.name))
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

    /// The number of a point, the last axis counting fastest.
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

    /// The number of the first exclusion that a point falls under.
    fn exclusion(&self, point: usize) -> Option<usize> {
        let values = self.values(point);
        let falls =
            |of: &Vec<Vec<&str>>| of.iter().zip(&values).all(|(some, value)| some.is_empty() || some.contains(value));
        self.excluded.iter().position(|Excluded { of, .. }| falls(of))
    }
}

/// Crosses with the hits of their points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    crosses: Vec<(Cross, Vec<u64>)>,
    /// What was told of that no cross has.
    unknown: BTreeSet<String>,
}

impl Coverage {
    /// Nothing hit yet.
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

    /// The points that were never hit though they may occur.
    #[must_use]
    pub fn missed(&self) -> Vec<String> {
        self.select(|hits, excluded| hits == 0 && !excluded)
    }

    /// The points that cannot occur and have all the same, and what no cross has.
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

    /// Every cross as a table, a column for each value of its last axis, then what was never reached. A dot is a point that
    /// cannot occur.
    #[must_use]
    pub fn table(&self) -> String {
        let mut text = String::new();
        for (cross, hits) in &self.crosses {
            let (possible, excluded) = cross.sizes();
            let reached = possible - self.missed().iter().filter(|point| is_of(point, cross)).count();
            text += &format!("\n{}: {reached} of {possible} points reached", cross.name);
            text += &if excluded > 0 { format!(", {excluded} cannot occur\n") } else { "\n".to_owned() };
            text += &rows_of(cross, hits);
        }
        for (what, points) in [("never reached", self.missed()), ("must not occur", self.impossible())] {
            if !points.is_empty() {
                text += &format!("\n{what}:\n  {}\n", points.join("\n  "));
            }
        }
        text
    }

    /// Passes if every point was hit that may occur, and no other.
    ///
    /// # Panics
    /// If not, with the points.
    pub fn assert_complete(&self) {
        let (missed, impossible) = (self.missed(), self.impossible());
        assert!(missed.is_empty(), "{} points were never reached:\n{}", missed.len(), missed.join("\n"));
        assert!(impossible.is_empty(), "points that cannot occur were reached:\n{}", impossible.join("\n"));
    }
}

fn is_of(point: &str, cross: &Cross) -> bool {
    point.strip_prefix(cross.name).is_some_and(|rest| rest.starts_with(": "))
}

/// The counts of a cross. One of a single axis has a row for each point.
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
    /// What is collected by this thread, if something is. It is not handed from caller to caller, since what sees the
    /// points stands far below who wants to know of them, and most callers between never do.
    static COLLECTED: RefCell<Option<Coverage>> = const { RefCell::new(None) };
}

/// Whether somebody counts.
#[must_use]
pub fn is_collected() -> bool {
    COLLECTED.with_borrow(Option::is_some)
}

/// A point of a cross has occurred, named by its value on each axis.
pub fn hit(cross: &str, point: &[&str]) {
    hit_times(cross, point, 1);
}

/// It has occurred so often; not at all is no hit.
pub fn hit_times(cross: &str, point: &[&str], times: u64) {
    if times > 0 {
        COLLECTED.with_borrow_mut(|collected| {
            if let Some(coverage) = collected {
                coverage.hit(cross, point, times);
            }
        });
    }
}

/// Runs something and counts what it hits in this thread.
///
/// # Panics
/// If what is run collects itself.
pub fn collected<T>(crosses: Vec<Cross>, run: impl FnOnce() -> T) -> (T, Coverage) {
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
            excluded: vec![Excluded { of: vec![vec!["apple"], vec!["blue"]], reason: "apples are not" }],
        }
    }

    #[test]
    fn a_cross_counts_each_combination_and_names_those_never_reached() {
        let ((), coverage) = collected(vec![fruit()], || {
            hit("fruit", &["plum", "red"]);
            hit_times("fruit", &["apple", "red"], 12);
            hit_times("fruit", &["plum", "blue"], 0);
        });
        assert_eq!(coverage.missed(), ["fruit: plum, blue"]);
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
        collected(vec![fruit()], || all.iter().for_each(|point| hit("fruit", point))).1.assert_complete();
    }

    #[test]
    fn what_cannot_occur_and_what_nobody_declared_is_told_of() {
        let ((), coverage) = collected(vec![fruit()], || {
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
        assert!(!is_collected());
        let (inside, coverage) = collected(vec![fruit()], is_collected);
        assert!(inside && !is_collected());
        assert_eq!(coverage.missed().len(), 3);
    }

    #[test]
    fn an_exclusion_that_is_about_nothing_is_refused() {
        let with = |of: Vec<Vec<&'static str>>| {
            let mut cross = fruit();
            cross.excluded.push(Excluded { of, reason: "so it is" });
            cross.check()
        };
        let told = |wrong: &str| Err(format!("fruit: the exclusion because so it is: {wrong}"));
        assert_eq!(fruit().check(), Ok(()));
        assert_eq!(with(vec![vec!["pear"], vec![]]), told("`pear` is no kind"));
        assert_eq!(with(vec![vec!["apple"], vec!["blue"]]), told("others exclude all of it"));
        assert_eq!(with(vec![vec![]]), told("it has 1 sides"));
    }

    #[test]
    fn a_list_of_points_has_a_row_for_each() {
        let list = Cross { name: "list", axes: vec![Axis::new("event", ["one", "two"])], excluded: Vec::new() };
        let ((), coverage) = collected(vec![list], || hit("list", &["two"]));
        assert!(
            coverage
                .table()
                .starts_with("\nlist: 1 of 2 points reached\n  event  hits\n  one       0\n  two       1\n")
        );
    }
}
