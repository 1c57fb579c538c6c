//! The rules of the typed configuration, each broken one a problem at the place of its field.

use rtl::config::Violation;
use rtl::machine::MachineConfig;

use super::fields::{Field, Fields};
use super::load::Loader;
use super::source::Giver;
use super::typed;

impl Loader {
    /// The typed configuration. Rules are not asked where a file is lacking: what that would have stated may
    /// be what they miss.
    pub fn checked(&mut self, fields: &Fields) -> MachineConfig {
        let config = self.typed(&mut fields.clone());
        if !self.lacks_file {
            self.report(self.broken(&config, fields), fields);
        }
        config
    }

    /// The rules that a configuration breaks. One between several fields is laid to the one that was given last.
    fn broken(&self, config: &MachineConfig, fields: &Fields) -> Vec<Violation> {
        let rank = |path: &str| {
            // A side that this machine does not have is never the one at fault.
            let source = fields.known_place_of(path)?.source;
            // The file of a machine is read ahead of the one that it is based on.
            match self.sources.get(source).giver {
                Giver::Set => Some((2, source)),
                Giver::Design(_) => Some((1, source)),
                Giver::Machine | Giver::Option => Some((0, usize::MAX - source)),
            }
        };
        config.validate().into_iter().map(|violation| violation.blaming(rank)).collect()
    }

    /// Reports broken rules, but none that is broken only because another is: with a legal value in the other's
    /// field it holds, and not the other way round.
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

    /// The paths that break rules when the field that holds `path` has a legal value.
    fn broken_without(&mut self, path: &str, fields: &Fields) -> Vec<String> {
        let mut mended = self.mended(path, fields);
        mended.follow();
        let config = self.typed(&mut mended);
        self.broken(&config, &mended).into_iter().map(|violation| violation.path).collect()
    }

    /// The fields with a legal value for `path`: for a key beside a kind, what it is by default.
    fn mended(&self, path: &str, fields: &Fields) -> Fields {
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

    fn typed(&mut self, fields: &mut Fields) -> MachineConfig {
        typed::restore(fields, &self.schema, &self.sources, &mut self.problems)
    }
}
