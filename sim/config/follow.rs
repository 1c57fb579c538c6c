//! Derives the values that the configuration leaves open from other values.

use rtl::index::polynomial_for;
use toml::{Table, Value};

use super::fields::Fields;
use super::typed;

impl Fields {
    /// Derives the value of every open field.
    pub fn follow(&mut self) {
        self.complete();
        self.choose_polynomials();
    }

    /// Adds to every scheme the default keys of its kind.
    fn complete(&mut self) {
        let whole = typed::read(self).and_then(|config| Value::try_from(config).ok());
        let Some(whole) = whole else { return };
        for path in self.iter().map(|field| field.path.clone()).collect::<Vec<_>>() {
            let complete = path.split('.').try_fold(&whole, |table, key| table.get(key));
            let field = self.get_mut(&path).and_then(|field| field.value.as_table_mut());
            let (Some(Value::Table(complete)), Some(table)) = (complete, field) else { continue };
            complete_table(table, complete);
        }
    }

    /// Chooses the polynomial for every index that leaves it open (`polynomial = 0`), by its number of sets.
    /// The polynomial stays open if none exists for that number of sets. In a table with a kind, the index is
    /// next to `sets` in the same table.
    fn choose_polynomials(&mut self) {
        for path in self.iter().map(|field| field.path.clone()).collect::<Vec<_>>() {
            let Some(group) = path.strip_suffix(".index") else { continue };
            let sets = self.get(&format!("{group}.sets")).and_then(|field| field.value.as_integer());
            choose(self.get_mut(&path).map(|field| &mut field.value), sets);
        }
        for path in self.iter().map(|field| field.path.clone()).collect::<Vec<_>>() {
            let Some(Value::Table(table)) = self.get_mut(&path).map(|field| &mut field.value) else { continue };
            let sets = table.get("sets").and_then(Value::as_integer);
            choose(table.get_mut("index"), sets);
        }
    }
}

/// Adds the missing keys to a table and to the tables inside it.
fn complete_table(table: &mut Table, complete: &Table) {
    for (key, value) in complete {
        let own = table.entry(key.clone()).or_insert_with(|| value.clone());
        if let (Value::Table(own), Value::Table(value)) = (own, value) {
            complete_table(own, value);
        }
    }
}

/// Chooses the polynomial of an index with `sets` sets if it is open.
fn choose(index: Option<&mut Value>, sets: Option<i64>) {
    let fits = sets.and_then(|sets| polynomial_for(u32::try_from(sets).ok()?));
    let polynomial = index.and_then(Value::as_table_mut).and_then(|index| index.get_mut("polynomial"));
    if let (Some(open), Some(fits)) = (polynomial.filter(|value| value.as_integer() == Some(0)), fits) {
        *open = Value::Integer(fits.into());
    }
}
