//! What machines are built of, counted and priced.

use ::area::{Node, Technology};
use miette::{Report, miette};
use rtl::machine::Machine;

use crate::runs::resolved;
use warpsieve::estimate::Block;
use warpsieve::readers::Counts;

/// The structures of a machine with designs and settings.
pub(crate) fn counts(machine: &str, designs: &[&str], sets: &[&str]) -> Result<Counts, Report> {
    Ok(Counts::of(&Machine::new(&resolved(machine, designs, sets)?.config)))
}

/// The same, priced.
pub(crate) fn block(technology: &Technology, machine: &str, designs: &[&str], sets: &[&str]) -> Result<Block, Report> {
    Ok(Block::of(&counts(machine, designs, sets)?, technology, Node::N45))
}

/// The scope of a machine at a path: `sm0.l1`.
pub(crate) fn scope<'a>(machine: &'a Block, path: &str) -> Result<&'a Block, Report> {
    let inside = |block: &'a Block, name: &str| block.children.iter().find(|child| child.block == name);
    path.split('.').try_fold(machine, inside).ok_or_else(|| no_scope(path))
}

/// The same without prices.
pub(crate) fn counted_scope<'a>(machine: &'a Counts, path: &str) -> Result<&'a Counts, Report> {
    let inside = |counts: &'a Counts, name: &str| counts.children.iter().find(|child| child.block == name);
    path.split('.').try_fold(machine, inside).ok_or_else(|| no_scope(path))
}

fn no_scope(path: &str) -> Report {
    miette!("there is no scope {path}")
}
