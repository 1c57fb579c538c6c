//! Reads the key `iteration` of a step. It defines named numbers that change from one iteration to the next
//! and that launch arguments can use.

use golden::reference::ElementType;

use super::model::{Number, Sequence};
use super::node::{Node, Table};
use super::problem::Problems;
use crate::config::suggestion;

/// Named numbers that the key `iteration` of a step declares.
pub(super) struct Iterations {
    /// Maximum number of iterations of the step, at least 1.
    times: u32,
    names: Vec<(String, Sequence)>,
}

impl Iterations {
    /// Reads the value of the key `iteration`: either a name such as `"k"`, which counts the iterations from
    /// 0, or a table of names, each with a start value and a step.
    pub fn read(node: Option<&Node<'_>>, times: u32, problems: &mut Problems<'_>) -> Option<Self> {
        let counting = Sequence { start: Number::Integer(0), step: Number::Integer(1) };
        let names = match node {
            None => Vec::new(),
            Some(node) => match node.any_table() {
                None => {
                    let what = "a name, or a table of names such as { k = { start = 0, step = 1 } }";
                    vec![(node.text(what, problems)?.to_owned(), counting)]
                }
                Some(table) => {
                    let named = |(name, node): (&str, Node<'_>)| {
                        let table = node.table(&["start", "step"], problems)?;
                        Some((name.to_owned(), read_sequence(&table, counting, problems)?))
                    };
                    table.entries().map(named).collect::<Vec<_>>().into_iter().collect::<Option<_>>()?
                }
            },
        };
        Some(Self { times, names })
    }

    /// Returns the numbers that a name stands for, one per iteration. Reports an error if the element type
    /// cannot represent all of them.
    pub fn numbers(&self, node: &Node<'_>, element: ElementType, problems: &mut Problems<'_>) -> Option<Sequence> {
        let sequence = self.find_by_name(node, problems)?;
        let ends = [sequence.at(0), sequence.at(u64::from(self.times) - 1)];
        let Some((low, high)) = element.integer_range() else {
            let is_finite = |number: Number| number.array(element).real(0).is_finite();
            let fit = ends.into_iter().all(is_finite);
            if !fit {
                problems.refuse(&node.place, format!("numbers that are finite in {element}"));
            }
            return fit.then_some(sequence);
        };
        self.within(node, &sequence, low, high, &format!("the values of {element}"), problems)
    }

    /// Returns the numbers that a name stands for, one per iteration. Reports an error unless all of them are
    /// indices into a buffer of `count` elements.
    pub fn elements(
        &self,
        node: &Node<'_>,
        count: usize,
        buffer: &str,
        problems: &mut Problems<'_>,
    ) -> Option<Sequence> {
        let sequence = self.find_by_name(node, problems)?;
        self.within(node, &sequence, 0, count as i128 - 1, &format!("the elements of buffer `{buffer}`"), problems)
    }

    fn within(
        &self,
        node: &Node<'_>,
        sequence: &Sequence,
        low: i128,
        high: i128,
        what: &str,
        problems: &mut Problems<'_>,
    ) -> Option<Sequence> {
        for idx in [0, u64::from(self.times) - 1] {
            let legal = format!("{low} to {high} in every iteration: {what}");
            match sequence.at(idx) {
                Number::Integer(number) if (low..=high).contains(&number) => {}
                Number::Integer(number) => {
                    problems.refuse(&node.place, format!("{legal}; it is {number} in iteration {idx}"));
                    return None;
                }
                Number::Real(_) => {
                    problems.refuse(&node.place, format!("{legal}; its start or its step is not an integer"));
                    return None;
                }
            }
        }
        Some(*sequence)
    }

    fn find_by_name(&self, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Sequence> {
        let name = node.text("the name of an iteration", problems)?;
        let found = self.names.iter().find(|(known, _)| known == name);
        if found.is_none() {
            let names: Vec<_> = self.names.iter().map(|(name, _)| name.as_str()).collect();
            let help = match names.is_empty() {
                true => "the step has no `iteration`".to_owned(),
                false => suggestion(name, "iterations", &names),
            };
            problems.refuse_with_help(&node.place, "a name that `iteration` of the step declares", Some(help));
        }
        found.map(|(_, sequence)| *sequence)
    }
}

fn read_sequence(table: &Table<'_>, counting: Sequence, problems: &mut Problems<'_>) -> Option<Sequence> {
    let mut value = |key, default| match table.get(key) {
        None => Some(default),
        Some(node) => {
            let number = node.number().filter(|number| match number {
                Number::Integer(integer) => i64::try_from(*integer).is_ok() || u64::try_from(*integer).is_ok(),
                Number::Real(real) => real.is_finite(),
            });
            if number.is_none() {
                problems.refuse(&node.place, "a finite number, with at most 64 bits if an integer");
            }
            number
        }
    };
    let (start, step) = (value("start", counting.start), value("step", counting.step));
    Some(Sequence { start: start?, step: step? })
}
