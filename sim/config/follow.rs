//! Values that follow from others where they are left open.

use rtl::index::polynomial_for;
use rtl::machine::MachineConfig;
use toml::Value;

use super::fields::Fields;

impl Fields {
    /// Gives every index by a polynomial that leaves it open (`polynomial = 0`) the one for its number of sets. It
    /// stays open where there is none.
    pub fn choose_polynomials(&mut self) {
        for path in self.iter().map(|field| field.path.clone()).collect::<Vec<_>>() {
            let Some(group) = path.strip_suffix(".index") else { continue };
            let sets = self.get(&format!("{group}.sets")).and_then(|field| field.value.as_integer());
            let fits = sets.and_then(|sets| polynomial_for(u32::try_from(sets).ok()?));
            let index = self.get_mut(&path).and_then(|field| field.value.as_table_mut());
            let open =
                index.and_then(|index| index.get_mut("polynomial")).filter(|value| value.as_integer() == Some(0));
            if let (Some(polynomial), Some(fits)) = (open, fits) {
                *polynomial = Value::Integer(fits.into());
            }
        }
    }
}

/// Gives every scheme the keys that its kind has by default.
pub(super) fn complete(fields: &mut Fields, config: &MachineConfig) {
    let Ok(whole) = Value::try_from(config) else { return };
    for path in fields.iter().map(|field| field.path.clone()).collect::<Vec<_>>() {
        let complete = path.split('.').try_fold(&whole, |table, key| table.get(key));
        let field = fields.get_mut(&path).and_then(|field| field.value.as_table_mut());
        let (Some(Value::Table(complete)), Some(table)) = (complete, field) else { continue };
        fill(table, complete);
    }
}

/// Adds the keys that a table lacks, and those that the tables in it lack.
fn fill(table: &mut toml::Table, complete: &toml::Table) {
    for (key, value) in complete {
        match (table.get_mut(key), value) {
            (Some(Value::Table(inner)), Value::Table(complete)) => fill(inner, complete),
            (Some(_), _) => {}
            (None, value) => {
                table.insert(key.clone(), value.clone());
            }
        }
    }
}
