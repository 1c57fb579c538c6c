//! # Scopes: the tree formed by the descriptions of all hardware blocks
//! Each hardware block describes itself separately. Two blocks in the same scope (`sm0`) share one node of
//! the tree.
//!
//! A numbered scope is either an instance (`sm0`, `bank3`, `scheduler0`) or a table entry (`entry[5]`), and
//! its name shows which. It is an instance if it encloses a whole hardware block, is a channel, or is a
//! component that declares itself as an instance. All other numbered scopes inside a hardware block are table
//! entries. A dump contains table entries only if they are requested.

use std::borrow::Cow;

use rtl::kernel::{BlockId, Blocks};
use rustc_hash::FxHashMap;

/// Name of the outermost scope.
pub(super) const ROOT: &str = "machine";

/// Node of the scope tree, with the data that a reader stores for this scope.
#[derive(Clone, Debug, Default)]
pub(super) struct Node<T> {
    name: &'static str,
    index: Option<u32>,
    /// True if the scope is an instance, false if it is an entry of a table.
    instance: bool,
    /// Scopes directly inside this one, in order of description.
    pub(super) inside: Vec<usize>,
    /// Data that the reader stores for this scope.
    pub(super) own: T,
}

impl<T> Node<T> {
    /// Name of the scope inside its parent scope.
    pub(super) fn name(&self) -> Cow<'static, str> {
        name_of(self.name, self.index, self.instance)
    }
}

/// Formats the name of a numbered scope, which is an instance or an entry of a table.
pub(super) fn name_of(name: &'static str, index: Option<u32>, instance: bool) -> Cow<'static, str> {
    match index {
        None => name.into(),
        Some(index) if !instance => format!("{name}[{index}]").into(),
        // The underscore makes names unique: without it, instance 3 of `l2` and instance 23 of `l` would both
        // be called `l23`.
        Some(index) if name.ends_with(|c: char| c.is_ascii_digit()) => format!("{name}_{index}").into(),
        Some(index) => format!("{name}{index}").into(),
    }
}

/// Scope tree under construction; node 0 is the root.
#[derive(Clone, Debug)]
pub(super) struct Scopes<T> {
    pub(super) nodes: Vec<Node<T>>,
    open: Vec<usize>,
    /// Scopes that enclose everything that the current hardware block has described so far. `None` before its
    /// first item.
    enclosing: Option<Vec<usize>>,
}

impl<T: Default> Scopes<T> {
    /// Creates a scope tree that contains only the root.
    pub(super) fn new() -> Self {
        let root = Node { name: ROOT, index: None, instance: true, inside: Vec::new(), own: T::default() };
        Self { nodes: vec![root], open: vec![0], enclosing: None }
    }

    /// Opens a scope inside the current one.
    pub(super) fn enter(&mut self, name: &'static str, index: Option<u32>) {
        let parent = self.current();
        // The index is compared before the name, since this is faster: all entries of a table have the same
        // name.
        let same = |&&child: &&usize| self.nodes[child].index == index && self.nodes[child].name == name;
        let found = self.nodes[parent].inside.iter().find(same).copied();
        let child = found.unwrap_or_else(|| {
            let new = self.nodes.len();
            self.nodes.push(Node { name, index, ..Node::default() });
            self.nodes[parent].inside.push(new);
            new
        });
        self.open.push(child);
    }

    /// Closes the most recently opened scope.
    pub(super) fn leave(&mut self) {
        assert!(self.open.len() > 1, "{}: left without having been entered", self.nodes[self.current()].name);
        self.open.pop();
    }

    /// Index of the innermost open scope.
    pub(super) fn current(&self) -> usize {
        self.open[self.open.len() - 1]
    }

    /// Returns the data that the reader stores for the innermost open scope. A reader must call this
    /// function for every described item, even if it ignores the item: the scopes that are open at every
    /// call are those that enclose the whole hardware block.
    pub(super) fn here(&mut self) -> &mut T {
        let current = self.current();
        match &mut self.enclosing {
            None => self.enclosing = Some(self.open.clone()),
            Some(enclosing) => {
                let common = enclosing.iter().zip(&self.open).take_while(|(a, b)| a == b).count();
                enclosing.truncate(common);
            }
        }
        &mut self.nodes[current].own
    }

    /// Marks the innermost open scope as an instance, because it is a channel or declares itself as an
    /// instance.
    pub(super) fn is_instance(&mut self) {
        let current = self.current();
        self.nodes[current].instance = true;
    }

    /// Ends the description of a hardware block.
    pub(super) fn end_block(&mut self) {
        assert!(self.open.len() == 1, "{}: entered but never left", self.nodes[self.current()].name);
        for scope in self.enclosing.take().unwrap_or_default() {
            self.nodes[scope].instance = true;
        }
    }
}

/// Iterates over all hardware blocks of a machine.
pub(super) fn block_ids<B: Blocks>(blocks: &B) -> impl Iterator<Item = BlockId> + use<B> {
    let population = blocks.population();
    (0..).zip(population).flat_map(|(domain, count)| (0..count).map(move |slot| BlockId { domain, slot }))
}

/// Makes names unique by appending an index to names that occur several times. For example, 32 values named
/// `address`, one per lane, become `address[0]` to `address[31]`.
pub(super) fn distinct<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<Cow<'a, str>> {
    let mut counts: FxHashMap<&str, (usize, usize)> = FxHashMap::default();
    names.clone().for_each(|name| counts.entry(name).or_default().0 += 1);
    let tell = |name: &'a str| match counts.get_mut(name) {
        Some((2.., position)) => {
            *position += 1;
            format!("{name}[{}]", *position - 1).into()
        }
        _ => name.into(),
    };
    names.map(tell).collect()
}
