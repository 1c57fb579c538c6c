//! Computes the values that a configuration does not state. They follow from the values that it states.

use rtl::index::polynomial_for;
use toml::{Table, Value};

use super::fields::Fields;
use super::typed;

impl Fields {
    /// Computes the values that the configuration does not state.
    pub fn follow(&mut self) {
        self.complete();
        self.choose_polynomials();
    }

    /// Adds to every table with a `kind` the missing keys of this kind, with their default values.
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

    /// Chooses a polynomial for every set-index function that states none (`polynomial = 0`). The
    /// polynomial depends on the number of sets, which is the key `sets` beside `index`, in the same group
    /// of fields or in the same table with a `kind`. If no polynomial is known for this number of
    /// sets, the value stays 0.
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

/// Adds to `table` the keys of `complete` that `table` lacks, and does the same for every nested table that
/// occurs in both.
fn complete_table(table: &mut Table, complete: &Table) {
    for (key, value) in complete {
        let own = table.entry(key.clone()).or_insert_with(|| value.clone());
        if let (Value::Table(own), Value::Table(value)) = (own, value) {
            complete_table(own, value);
        }
    }
}

/// Chooses the polynomial of the set-index function `index` for `sets` sets, unless the function states one.
fn choose(index: Option<&mut Value>, sets: Option<i64>) {
    let fits = sets.and_then(|sets| polynomial_for(u32::try_from(sets).ok()?));
    let polynomial = index.and_then(Value::as_table_mut).and_then(|index| index.get_mut("polynomial"));
    if let (Some(open), Some(fits)) = (polynomial.filter(|value| value.as_integer() == Some(0)), fits) {
        *open = Value::Integer(fits.into());
    }
}
