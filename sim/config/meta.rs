//! Keys of machine and design files that are not configuration fields, such as the name of the file.

use std::fmt;

use toml::de::DeTable;

use super::fields::{Fields, format_value, plain};
use super::problem::Problems;
use super::source::{Sources, TextPlace};
use super::suggest::suggestion;

/// Keys of a machine file that are not configuration fields.
pub(super) const MACHINE_KEYS: &[&str] = &["name", "description", "source", "based-on", "assumed"];
/// Keys of a design file that are not configuration fields.
pub(super) const DESIGN_KEYS: &[&str] = &["name", "description", "source", "slot"];

/// Component of the machine that a design replaces. Two designs for the same slot cannot be combined. A
/// design without a slot can be combined with any other design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Set-index function of the L1.
    Index,
    /// Tag store of the L1, such as decoupled tags.
    Tags,
    /// Selection of the loads that bypass the L1.
    Bypass,
    /// Replacement policy of a cache.
    Replacement,
    /// Prefetcher of the L1.
    Prefetch,
    /// Victim cache of the L1.
    Victim,
    /// Warp scheduler, which selects the ready warp that issues.
    Scheduler,
    /// Warp throttling, which limits the number of active warps.
    Throttle,
    /// Operand collection: the way in which instructions read their operands from the register file.
    Operands,
    /// Instruction fetch, such as an instruction cache.
    Fetch,
    /// Queues in front of the L1.
    Queue,
    /// Organization of the L2 and its handling of misses.
    L2,
    /// Sharing tracker, which records the lines that several L1s hold.
    Tracker,
}

impl Slot {
    /// All slots.
    pub const ALL: [Self; 13] = [
        Self::Index,
        Self::Tags,
        Self::Bypass,
        Self::Replacement,
        Self::Prefetch,
        Self::Victim,
        Self::Scheduler,
        Self::Throttle,
        Self::Operands,
        Self::Fetch,
        Self::Queue,
        Self::L2,
        Self::Tracker,
    ];

    /// Name of the slot in design files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Tags => "tags",
            Self::Bypass => "bypass",
            Self::Replacement => "replacement",
            Self::Prefetch => "prefetch",
            Self::Victim => "victim",
            Self::Scheduler => "scheduler",
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

/// Metadata that a machine or design file states about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Name of the machine or design.
    pub name: String,
    /// Description of the machine or design in one line.
    pub description: String,
    /// Papers on which the file is based.
    pub source: String,
    /// Component of the machine that the design replaces; `None` for a machine file or a design without a
    /// slot.
    pub slot: Option<Slot>,
}

/// Reader of the keys of a file that are not configuration fields.
pub(super) struct Meta<'a> {
    pub sources: &'a Sources,
    pub source: usize,
    pub table: &'a DeTable<'a>,
    pub problems: &'a mut Problems,
}

impl Meta<'_> {
    /// Reads the name, description and other metadata of the file.
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
            let message = format!("`slot` is {name:?}, expected the name of a slot, or no key `slot`");
            self.problems.add(self.sources, &place, message, Some(help));
        }
        slot
    }

    /// Reads an optional key that must be a string.
    pub fn text(&mut self, key: &str) -> Option<(String, TextPlace)> {
        let value = self.table.get(key)?;
        let place = TextPlace { source: self.source, span: value.span() };
        let Some(text) = value.get_ref().as_str() else {
            let message = format!("`{key}` is {}, expected a string", format_value(&plain(value.get_ref())));
            self.problems.add(self.sources, &place, message, None);
            return None;
        };
        Some((text.to_owned(), place))
    }

    /// Marks fields as assumed. The key `assumed` of the file lists these fields, or groups of fields.
    pub fn mark_assumed(&mut self, fields: &mut Fields) {
        let Some(value) = self.table.get("assumed") else { return };
        let Some(paths) = value.get_ref().as_array() else {
            let place = TextPlace { source: self.source, span: value.span() };
            let message = "`assumed` is not an array, expected dotted paths of fields".to_owned();
            self.problems.add(self.sources, &place, message, None);
            return;
        };
        for path in paths.iter() {
            let place = TextPlace { source: self.source, span: path.span() };
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
    /// Creates the metadata of a file that cannot be read.
    pub(super) fn with_name(name: &str) -> Self {
        Self { name: name.to_owned(), description: String::new(), source: String::new(), slot: None }
    }
}
