//! Values that follow from others where they are left open.

use rtl::index::polynomial_for;
use toml::Value;

use super::fields::Fields;
use super::typed;

impl Fields {
    /// Gives every field that is left open its value.
    pub fn follow(&mut self) {
        self.complete();
        self.choose_polynomials();
    }

    /// Gives every scheme the keys that its kind has by default.
    fn complete(&mut self) {
        let whole = typed::read(self).and_then(|config| Value::try_from(config).ok());
        let Some(whole) = whole else { return };
        for path in self.iter().map(|field| field.path.clone()).collect::<Vec<_>>() {
            let complete = path.split('.').try_fold(&whole, |table, key| table.get(key));
            let field = self.get_mut(&path).and_then(|field| field.value.as_table_mut());
            let (Some(Value::Table(complete)), Some(table)) = (complete, field) else { continue };
            for (key, value) in complete {
                table.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
    }

    /// Gives every index by a polynomial that leaves it open (`polynomial = 0`) the one for its number of sets. It
    /// stays open where there is none.
    fn choose_polynomials(&mut self) {
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
