//! Validation of the typed configuration by rules. Each violation is reported at the text position at which
//! the value of the field is set.

use rtl::config::Violation;
use rtl::machine::MachineConfig;

use super::fields::{Field, Fields};
use super::load::Loader;
use super::source::Origin;
use super::typed;

impl Loader {
    /// Returns the typed configuration and reports the validation rules that it violates. If a file could not
    /// be read, the rules are not checked, since the values in that file might satisfy them.
    pub fn validate(&mut self, fields: &Fields) -> MachineConfig {
        let config = self.build_config(&mut fields.clone());
        if !self.lacks_file {
            self.report(self.violations(&config, fields), fields);
        }
        config
    }

    /// Returns the violated rules. If a rule is about several fields, its violation is attributed to the
    /// field that was set last.
    fn violations(&self, config: &MachineConfig, fields: &Fields) -> Vec<Violation> {
        let rank = |path: &str| {
            // If this machine does not have the field, its value cannot have caused the violation.
            let source = fields.known_place_of(path)?.source;
            // Texts with higher numbers were read later. A machine file is read before the machine file on
            // which it is based, but its values replace those of that file. Of two machine files, the one
            // that was read first is therefore treated as applied last.
            match self.sources.get(source).giver {
                Origin::Set => Some((2, source)),
                Origin::Design(_) => Some((1, source)),
                Origin::Machine | Origin::Option => Some((0, usize::MAX - source)),
            }
        };
        config.validate().into_iter().map(|violation| violation.blaming(rank)).collect()
    }

    /// Reports the violations, except those that are only a consequence of another violation. Violation A is
    /// a consequence of violation B if giving B's field a legal value removes A as well, but giving A's field
    /// a legal value does not remove B.
    fn report(&mut self, broken: Vec<Violation>, fields: &Fields) {
        let still: Vec<_> = broken.iter().map(|violation| self.broken_without(&violation.path, fields)).collect();
        let follows = |one: usize, other: usize| {
            let (path, of_other) = (&broken[one].path, &broken[other].path);
            !still[other].contains(path) && still[one].contains(of_other)
        };
        for (one, violation) in broken.iter().enumerate() {
            if !(0..broken.len()).any(|other| follows(one, other)) {
                let place = fields.place_of(&violation.path);
                self.problems.add(&self.sources, &place, violation.to_string(), None);
            }
        }
    }

    /// Returns the fields at which rule violations remain after the field at `path` has been given a legal
    /// value.
    fn broken_without(&mut self, path: &str, fields: &Fields) -> Vec<String> {
        let mut mended = self.with_legal_value(path, fields);
        mended.follow();
        let config = self.build_config(&mut mended);
        self.violations(&config, &mended).into_iter().map(|violation| violation.path).collect()
    }

    /// Returns a copy of the fields in which the value at `path` is legal. In a table with a `kind`, this is
    /// the default value of the key.
    fn with_legal_value(&self, path: &str, fields: &Fields) -> Fields {
        let mut mended = fields.clone();
        let holder = fields.holder_of(path).map(|field| field.path.clone()).unwrap_or_default();
        let inner = path.strip_prefix(&holder).and_then(|inner| inner.strip_prefix('.'));
        let key = inner.map(|inner| inner.split('.').next().unwrap_or(inner));
        let table = mended.get_mut(&holder).and_then(|field| field.value.as_table_mut());
        if let (Some(table), Some(key)) = (table, key)
            && table.remove(key).is_some()
            && typed::read(&mended).is_some()
        {
            return mended;
        }
        let mut mended = fields.clone();
        if let Some(Field { path, machine_value, .. }) = fields.holder_of(path) {
            let legal = machine_value.as_ref().or(self.schema.get(path).map(|field| &field.value));
            if let (Some(field), Some(legal)) = (mended.get_mut(path), legal) {
                field.value = legal.clone();
            }
        }
        mended
    }

    fn build_config(&mut self, fields: &mut Fields) -> MachineConfig {
        typed::restore(fields, &self.schema, &self.sources, &mut self.problems)
    }
}
