//! # Scopes: the tree that the descriptions of all blocks add up to
//! Blocks describe themselves one by one; two blocks that stand in one scope (`sm0`) share its
//! node. Names tell instances from entries: the numbered scopes that enclose a whole block,
//! numbered channels, and parts that say they stand alone are instances (`sm0`, `bank3`,
//! `scheduler0`); other numbered scopes inside a block are entries of a table (`entry[5]`), which a
//! dump leaves out unless it is asked for them.

use std::borrow::Cow;

use rtl::kernel::{BlockId, Blocks};
use rustc_hash::FxHashMap;

/// Name of the outermost scope.
pub(super) const ROOT: &str = "machine";

/// One scope with what a reader keeps for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Node<T> {
    name: &'static str,
    index: Option<u32>,
    /// An instance rather than an entry.
    instance: bool,
    /// Scopes inside, in the order of description.
    pub(super) inside: Vec<usize>,
    /// The reader's own.
    pub(super) own: T,
}

impl<T> Node<T> {
    /// Name inside the parent.
    pub(super) fn name(&self) -> Cow<'static, str> {
        name_of(self.name, self.index, self.instance)
    }
}

/// The name of an instance or of an entry.
pub(super) fn name_of(name: &'static str, index: Option<u32>, instance: bool) -> Cow<'static, str> {
    match index {
        None => name.into(),
        Some(index) if !instance => format!("{name}[{index}]").into(),
        // Instance 3 of `l2` is not instance 23 of `l`.
        Some(index) if name.ends_with(|c: char| c.is_ascii_digit()) => format!("{name}_{index}").into(),
        Some(index) => format!("{name}{index}").into(),
    }
}

/// A tree under construction; node 0 is the root.
#[derive(Clone, Debug)]
pub(super) struct Scopes<T> {
    pub(super) nodes: Vec<Node<T>>,
    open: Vec<usize>,
    /// The scopes that enclose all that the current block has described so far.
    enclosing: Option<Vec<usize>>,
}

impl<T: Default> Scopes<T> {
    /// The root alone.
    pub(super) fn new() -> Self {
        let root = Node { name: ROOT, index: None, instance: true, inside: Vec::new(), own: T::default() };
        Self { nodes: vec![root], open: vec![0], enclosing: None }
    }

    /// Opens a scope of the current one.
    pub(super) fn enter(&mut self, name: &'static str, index: Option<u32>) {
        let parent = self.current();
        let same = |&&child: &&usize| self.nodes[child].name == name && self.nodes[child].index == index;
        let found = self.nodes[parent].inside.iter().find(same).copied();
        let child = found.unwrap_or_else(|| {
            let new = self.nodes.len();
            self.nodes.push(Node { name, index, ..Node::default() });
            self.nodes[parent].inside.push(new);
            new
        });
        self.open.push(child);
    }

    /// Closes the scope opened last.
    pub(super) fn leave(&mut self) {
        assert!(self.open.len() > 1, "{}: left without having been entered", self.nodes[self.current()].name);
        self.open.pop();
    }

    /// Number of the current scope.
    pub(super) fn current(&self) -> usize {
        self.open[self.open.len() - 1]
    }

    /// What the reader keeps for the current scope. Called for whatever is described there, wanted
    /// or not: it tells how far the block's own scopes reach.
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

    /// The current scope is numbered like an instance: a channel, or a part that says so.
    pub(super) fn is_instance(&mut self) {
        let current = self.current();
        self.nodes[current].instance = true;
    }

    /// Ends the description of a block.
    pub(super) fn end_block(&mut self) {
        assert!(self.open.len() == 1, "{}: entered but never left", self.nodes[self.current()].name);
        for scope in self.enclosing.take().unwrap_or_default() {
            self.nodes[scope].instance = true;
        }
    }
}

/// Every block of a machine.
pub(super) fn block_ids<B: Blocks>(blocks: &B) -> impl Iterator<Item = BlockId> + use<B> {
    let population = blocks.population();
    (0..).zip(population).flat_map(|(domain, count)| (0..count).map(move |slot| BlockId { domain, slot }))
}

/// Tells things of one name apart by position: `address` thirty-two times is `address[0]` to
/// `address[31]`, entries of a table that was described lane by lane.
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
