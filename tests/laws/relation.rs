//! What a law says of numbers, and how numbers are read from the statistics.

use std::cell::RefCell;
use std::collections::BTreeSet;

use rtl::machine::MachineConfig;
use serde_json::Value;

/// Part of a number by which sums of fractions may differ.
const ROUNDING: f64 = 1e-9;

/// Two sides of a law.
#[derive(Clone, Copy, Debug)]
pub enum Relation {
    Equal(i128, i128),
    AtMost(i128, i128),
    /// Equal but for rounding.
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

/// The statistics of a run, which note what is read of them.
pub struct Statistics<'a> {
    pub config: &'a MachineConfig,
    value: &'a Value,
    /// JSON pointers of the numbers that were read.
    read: Option<RefCell<BTreeSet<String>>>,
}

impl<'a> Statistics<'a> {
    pub fn new(value: &'a Value, config: &'a MachineConfig) -> Self {
        Self { config, value, read: None }
    }

    /// The same, to note what is read.
    pub fn noting(self) -> Self {
        Self { read: Some(RefCell::default()), ..self }
    }

    /// The numbers that were read.
    pub fn read(self) -> BTreeSet<String> {
        self.read.map(RefCell::into_inner).unwrap_or_default()
    }

    /// What stands at a path such as `units.l1`, or below it at `0/hits`; `null` if nothing does.
    pub fn at(&self, path: &str) -> &'a Value {
        self.value.pointer(&pointer(path)).unwrap_or(&Value::Null)
    }

    pub fn has(&self, path: &str) -> bool {
        !self.at(path).is_null()
    }

    /// A number, 0 if there is none.
    pub fn real(&self, path: &str) -> f64 {
        let value = self.at(path);
        if let (Some(read), false) = (&self.read, value.is_null()) {
            read.borrow_mut().insert(pointer(path));
        }
        value.as_f64().unwrap_or(0.0)
    }

    /// A count, 0 if there is none.
    pub fn count(&self, path: &str) -> i128 {
        self.real(path);
        self.at(path).as_u64().map_or(0, i128::from)
    }

    /// The sum of counts below a path.
    pub fn sum(&self, path: &str, keys: &[&str]) -> i128 {
        keys.iter().map(|key| self.count(&format!("{path}.{key}"))).sum()
    }

    /// Elements of a list, each as a path.
    pub fn each(&self, path: &str) -> Vec<String> {
        (0..self.at(path).as_array().map_or(0, Vec::len)).map(|at| format!("{path}.{at}")).collect()
    }

    /// Keys of a table, each as a path.
    pub fn keys(&self, path: &str) -> Vec<String> {
        self.at(path).as_object().into_iter().flatten().map(|(key, _)| format!("{path}.{key}")).collect()
    }

    /// The sum of all counts in a list or a table.
    pub fn all(&self, path: &str) -> i128 {
        self.each(path).iter().chain(&self.keys(path)).map(|inside| self.count(inside)).sum()
    }

    /// Paths of all counts at a path or inside it.
    pub fn counts(&self, path: &str) -> Vec<String> {
        match self.at(path) {
            Value::Number(_) => vec![path.to_owned()],
            Value::Array(_) => self.each(path).iter().flat_map(|inside| self.counts(inside)).collect(),
            Value::Object(_) => self.keys(path).iter().flat_map(|inside| self.counts(inside)).collect(),
            _ => Vec::new(),
        }
    }

    /// A law of the totals and of each unit of some kinds.
    pub fn of_all(&self, kinds: &[&str], law: impl Fn(&str) -> Relation) -> Vec<Relation> {
        let paths = |kind: &&str| [vec![(*kind).to_owned()], self.each(&format!("units.{kind}"))].concat();
        kinds.iter().flat_map(paths).map(|path| law(&path)).collect()
    }

    /// Every count of a total, against the sum of its units.
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
