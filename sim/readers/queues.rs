//! # Queues: the waiting entries of a machine
//! Lists the queues and channels that are not empty, each with its oldest entry, for the report on a machine
//! that hangs. A scope is treated as a queue if it has a register or probe `level`. Its oldest entry is the
//! head of the channel, the component `oldest`, or `slot[0]`.

use std::collections::HashSet;
use std::fmt;

use rtl::kernel::{ArrayView, Blocks, Describe, Field, Fields, Logic};

use super::look::text;
use super::scopes::{Node, Scopes, block_ids};

/// Queue that is not empty, with its oldest entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueHead {
    /// Path of the queue without the name of the machine, such as `sm0.l1.queue`.
    pub path: String,
    /// Number of entries in the queue; if the queue holds flits, number of flits.
    pub level: u64,
    /// Fields of the oldest entry as text, without numbers that are zero.
    pub oldest: String,
}

impl fmt::Display for QueueHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, level, oldest } = self;
        write!(f, "{path}: {level} waiting, the oldest is {oldest}")
    }
}

/// Returns all nonempty queues in the order of the machine's description.
#[must_use]
pub fn queues(blocks: &impl Blocks) -> Vec<QueueHead> {
    let mut reader = Reader(Scopes::new());
    for block in block_ids(blocks) {
        blocks.describe(block, &mut reader);
        reader.0.end_block();
    }
    let mut found = Vec::new();
    reader.collect(0, "", &mut found);
    found
}

/// Data that this reader records for a scope.
#[derive(Clone, Debug, Default)]
struct ScopeData {
    fields: Vec<Field>,
    is_channel: bool,
}

struct Reader(Scopes<ScopeData>);

impl Reader {
    fn collect(&self, scope: usize, path: &str, found: &mut Vec<QueueHead>) {
        let node = &self.0.nodes[scope];
        let level = node.own.fields.iter().find(|field| field.name == "level").map_or(0, |field| field.value);
        if level > 0
            && let Some(oldest) = self.oldest(node)
        {
            found.push(QueueHead { path: path.to_owned(), level, oldest: format_fields(oldest) });
        }
        for &inside in &node.inside {
            let name = self.0.nodes[inside].name();
            let path = if path.is_empty() { name.into_owned() } else { format!("{path}.{name}") };
            self.collect(inside, &path, found);
        }
    }

    /// Returns the fields of a queue's oldest entry.
    fn oldest<'r>(&'r self, node: &'r Node<ScopeData>) -> Option<&'r [Field]> {
        if node.own.is_channel {
            return Some(&node.own.fields);
        }
        let part = |name: &str| node.inside.iter().map(|&at| &self.0.nodes[at]).find(|inside| inside.name() == name);
        part("oldest").or_else(|| part("slot[0]")).map(|part| part.own.fields.as_slice())
    }
}

/// Formats the fields that have named states or nonzero values. If several fields have the same name, such as
/// the addresses of all lanes, only the first is included.
fn format_fields(fields: &[Field]) -> String {
    let mut seen = HashSet::from(["valid", "level", "data"]);
    let fields = fields.iter().filter(|field| seen.insert(field.name));
    let shown: Vec<_> = fields
        .filter(|field| field.value != 0 || !field.names.is_empty())
        .map(|field| format!("{}={}", field.name, text(field)))
        .collect();
    shown.join(" ")
}

impl Fields for Reader {
    fn field(&mut self, field: Field) {
        self.0.here().fields.push(field);
    }
    fn wide(&mut self, _: &'static str, _: &[u8]) {}
}

impl Describe for Reader {
    fn enter(&mut self, name: &'static str, index: Option<u32>) {
        self.0.enter(name, index);
    }
    fn leave(&mut self) {
        self.0.leave();
    }
    fn probe(&mut self, field: Field) {
        self.field(field);
    }
    fn stat_in(&mut self, _: Option<&'static str>, _: &'static str, _: u64) {}
    fn array(&mut self, _: &'static str, _: &dyn ArrayView) {}
    fn mark_as_component(&mut self) {
        self.0.is_instance();
    }
    fn channel(&mut self, _: &'static str, _: u32, _: u32) {
        self.0.is_instance();
        self.0.here().is_channel = true;
    }
    fn logic(&mut self, _: &'static str, _: Logic) {}
}
