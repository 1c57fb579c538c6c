//! Defines the relations that make up a conservation law, and reads numbers from the statistics of a run.

use std::cell::RefCell;
use std::collections::BTreeSet;

use rtl::machine::MachineConfig;
use serde_json::Value;

/// Relative difference that is allowed between two sums of floating-point numbers.
const ROUNDING: f64 = 1e-9;

/// Relation that must hold between the two sides of a law.
#[derive(Clone, Copy, Debug)]
pub enum Relation {
    Equal(i128, i128),
    AtMost(i128, i128),
    /// The two sides are equal, except for rounding.
    Near(f64, f64),
}

impl Relation {
    pub fn holds(self) -> bool {
        match self {
            Self::Equal(left, right) => left == right,
            Self::AtMost(left, right) => left <= right,
            Self::Near(left, right) => (left - right).abs() <= ROUNDING * left.abs().max(right.abs()),
        }
    }
}

/// Statistics of a run. It can record which numbers a law reads.
pub struct Statistics<'a> {
    pub config: &'a MachineConfig,
    value: &'a Value,
    /// JSON pointers (paths) of the numbers read so far; `None` if they are not recorded.
    read: Option<RefCell<BTreeSet<String>>>,
}

impl<'a> Statistics<'a> {
    pub fn new(value: &'a Value, config: &'a MachineConfig) -> Self {
        Self { config, value, read: None }
    }

    /// Returns the same statistics with recording turned on: every number that a law reads from now on is
    /// recorded.
    pub fn noting(self) -> Self {
        Self { read: Some(RefCell::default()), ..self }
    }

    /// Returns the JSON pointers (paths) of all numbers read since recording was turned on.
    pub fn read(self) -> BTreeSet<String> {
        self.read.map(RefCell::into_inner).unwrap_or_default()
    }

    /// Returns the value at a path such as `units.l1.0.hits`, or `null` if there is no value.
    pub fn at(&self, path: &str) -> &'a Value {
        self.value.pointer(&pointer(path)).unwrap_or(&Value::Null)
    }

    pub fn has(&self, path: &str) -> bool {
        !self.at(path).is_null()
    }

    /// Returns the number at a path, or 0 if there is no number.
    pub fn real(&self, path: &str) -> f64 {
        let value = self.at(path);
        if let (Some(read), false) = (&self.read, value.is_null()) {
            read.borrow_mut().insert(pointer(path));
        }
        value.as_f64().unwrap_or(0.0)
    }

    /// Returns the count (integer) at a path, or 0 if there is no count.
    pub fn count(&self, path: &str) -> i128 {
        self.real(path);
        self.at(path).as_u64().map_or(0, i128::from)
    }

    /// Returns the sum of the counts at `path.key` for several keys.
    pub fn sum(&self, path: &str, keys: &[&str]) -> i128 {
        keys.iter().map(|key| self.count(&format!("{path}.{key}"))).sum()
    }

    /// Returns the path of each element of the list at a path.
    pub fn each(&self, path: &str) -> Vec<String> {
        (0..self.at(path).as_array().map_or(0, Vec::len)).map(|at| format!("{path}.{at}")).collect()
    }

    /// Returns the path of each entry of the JSON object at a path.
    pub fn keys(&self, path: &str) -> Vec<String> {
        self.at(path).as_object().into_iter().flatten().map(|(key, _)| format!("{path}.{key}")).collect()
    }

    /// Returns the sum of all counts in the JSON array or object at a path.
    pub fn all(&self, path: &str) -> i128 {
        self.each(path).iter().chain(&self.keys(path)).map(|inside| self.count(inside)).sum()
    }

    /// Returns the paths of all counts that are at a path or inside the value at this path.
    pub fn counts(&self, path: &str) -> Vec<String> {
        match self.at(path) {
            Value::Number(_) => vec![path.to_owned()],
            Value::Array(_) => self.each(path).iter().flat_map(|inside| self.counts(inside)).collect(),
            Value::Object(_) => self.keys(path).iter().flat_map(|inside| self.counts(inside)).collect(),
            _ => Vec::new(),
        }
    }

    /// Applies a law to units of the given kinds, such as the L1s: to each single unit and to their total.
    pub fn of_all(&self, kinds: &[&str], law: impl Fn(&str) -> Relation) -> Vec<Relation> {
        let paths = |kind: &&str| [vec![(*kind).to_owned()], self.each(&format!("units.{kind}"))].concat();
        kinds.iter().flat_map(paths).map(|path| law(&path)).collect()
    }

    /// Returns one relation per count in the total. It states that this count equals the sum of the same
    /// count over all units.
    pub fn adds_up(&self, kind: &str) -> Vec<Relation> {
        let units = self.each(&format!("units.{kind}"));
        let total = |path: String| {
            let inside = &path[kind.len()..];
            Relation::Equal(self.count(&path), units.iter().map(|unit| self.count(&format!("{unit}{inside}"))).sum())
        };
        self.counts(kind).into_iter().map(total).collect()
    }
}

fn pointer(path: &str) -> String {
    path.split('.').map(|key| format!("/{key}")).collect()
}
