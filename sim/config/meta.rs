//! What machine and design files say besides fields.

use std::fmt;

use toml::de::DeTable;

use super::fields::{Fields, plain, shown};
use super::problem::Problems;
use super::source::{Place, Sources};
use super::suggest::suggestion;

/// Keys of a machine file that are not fields.
pub(super) const MACHINE_KEYS: &[&str] = &["name", "description", "source", "based-on", "assumed"];
/// Keys of a design file that are not fields.
pub(super) const DESIGN_KEYS: &[&str] = &["name", "description", "source", "slot"];

/// The part of the machine that a design replaces. Two designs in one slot exclude each other; a
/// design without a slot goes with every other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Set index function.
    Index,
    /// Tag store.
    Tags,
    /// Which loads go past the L1.
    Bypass,
    /// Which line makes room.
    Replacement,
    /// How many warps run.
    Throttle,
    /// How operands are read.
    Operands,
    /// How instructions are fetched.
    Fetch,
    /// Queues ahead of the L1.
    Queue,
    /// The L2.
    L2,
    /// The sharing tracker.
    Tracker,
}

impl Slot {
    /// Every slot.
    pub const ALL: [Self; 10] = [
        Self::Index,
        Self::Tags,
        Self::Bypass,
        Self::Replacement,
        Self::Throttle,
        Self::Operands,
        Self::Fetch,
        Self::Queue,
        Self::L2,
        Self::Tracker,
    ];

    /// Its name in design files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Tags => "tags",
            Self::Bypass => "bypass",
            Self::Replacement => "replacement",
            Self::Throttle => "throttle",
            Self::Operands => "operands",
            Self::Fetch => "fetch",
            Self::Queue => "queue",
            Self::L2 => "l2",
            Self::Tracker => "tracker",
        }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What every machine and design file says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Its name.
    pub name: String,
    /// What it is, in one line.
    pub description: String,
    /// The papers it follows.
    pub source: String,
    /// The slot of a design.
    pub slot: Option<Slot>,
}

/// Reads the keys of a file that are not fields.
pub(super) struct Meta<'a> {
    pub sources: &'a Sources,
    pub source: usize,
    pub table: &'a DeTable<'a>,
    pub problems: &'a mut Problems,
}

impl Meta<'_> {
    /// What the file says about itself.
    pub fn about(&mut self, default_name: &str) -> About {
        let mut text = |key| self.text(key).map(|(text, _)| text);
        let name = text("name").filter(|name| !name.is_empty()).unwrap_or_else(|| default_name.to_owned());
        let description = text("description").unwrap_or_default();
        let source = text("source").unwrap_or_default();
        About { name, description, source, slot: self.slot() }
    }

    fn slot(&mut self) -> Option<Slot> {
        let (name, place) = self.text("slot")?;
        let slot = Slot::ALL.into_iter().find(|slot| slot.name() == name);
        if slot.is_none() {
            let help = suggestion(&name, "slots", &Slot::ALL.map(Slot::name));
            let message = format!("`slot` is {name:?}, expected the name of a slot, or no such key");
            self.problems.add(self.sources, &place, message, Some(help));
        }
        slot
    }

    /// A key that must be a string if it is there.
    pub fn text(&mut self, key: &str) -> Option<(String, Place)> {
        let value = self.table.get(key)?;
        let place = Place { source: self.source, span: value.span() };
        let Some(text) = value.get_ref().as_str() else {
            let message = format!("`{key}` is {}, expected a string", shown(&plain(value.get_ref())));
            self.problems.add(self.sources, &place, message, None);
            return None;
        };
        Some((text.to_owned(), place))
    }

    /// Marks the fields and groups that `assumed` lists.
    pub fn mark_assumed(&mut self, fields: &mut Fields) {
        let Some(value) = self.table.get("assumed") else { return };
        let Some(paths) = value.get_ref().as_array() else {
            let place = Place { source: self.source, span: value.span() };
            let message = "`assumed` is no array, expected dotted paths of fields".to_owned();
            self.problems.add(self.sources, &place, message, None);
            return;
        };
        for path in paths.iter() {
            let place = Place { source: self.source, span: path.span() };
            let name = path.get_ref().as_str().unwrap_or_default();
            let mut marked = 0;
            for field in fields.below_mut(name).filter(|_| !name.is_empty()) {
                field.assumed = true;
                marked += 1;
            }
            if marked == 0 {
                let paths: Vec<_> = fields.iter().map(|field| field.path.as_str()).collect();
                let near = suggestion(name, "", &paths);
                let help = near.starts_with("did").then_some(near);
                let message = "`assumed` names a field that does not exist".to_owned();
                self.problems.add(self.sources, &place, message, help);
            }
        }
    }
}

impl About {
    /// What can be said of a file that cannot be read.
    pub(super) fn unknown(name: &str) -> Self {
        Self { name: name.to_owned(), description: String::new(), source: String::new(), slot: None }
    }
}
