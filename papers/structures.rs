//! Hardware structures of machines (memories, flip-flops, logic), and their area and leakage.

use ::area::{Node, Technology};
use miette::{Report, miette};
use rtl::machine::Machine;

use crate::runs::resolve_config;
use warpsieve::estimate::Block;
use warpsieve::readers::Counts;

/// Returns the hardware structures of a machine to which designs and settings have been applied.
pub(crate) fn counts(machine: &str, designs: &[&str], sets: &[&str]) -> Result<Counts, Report> {
    Ok(Counts::of(&Machine::new(&resolve_config(machine, designs, sets)?.config)))
}

/// Computes the area and leakage of the hardware structures of a machine to which designs and settings have
/// been applied.
pub(crate) fn block(technology: &Technology, machine: &str, designs: &[&str], sets: &[&str]) -> Result<Block, Report> {
    Ok(Block::of(&counts(machine, designs, sets)?, technology, Node::N45))
}

/// Finds a hardware block inside a machine by its path, such as `sm0.l1`, and returns its area and leakage.
pub(crate) fn scope<'a>(machine: &'a Block, path: &str) -> Result<&'a Block, Report> {
    let inside = |block: &'a Block, name: &str| block.children.iter().find(|child| child.block == name);
    path.split('.').try_fold(machine, inside).ok_or_else(|| no_scope(path))
}

/// Finds a hardware block inside a machine by its path, such as `sm0.l1`, and returns its structures.
pub(crate) fn counted_scope<'a>(machine: &'a Counts, path: &str) -> Result<&'a Counts, Report> {
    let inside = |counts: &'a Counts, name: &str| counts.children.iter().find(|child| child.block == name);
    path.split('.').try_fold(machine, inside).ok_or_else(|| no_scope(path))
}

fn no_scope(path: &str) -> Report {
    miette!("there is no scope {path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_that_wait_in_an_mrpb_lie_in_one_memory_and_not_in_its_slots() {
        let mrpb = counts("fermi", &["mrpb"], &[]).unwrap();
        let buffer = counted_scope(&mrpb, "sm0.l1.queue").unwrap();
        let memories: Vec<_> = buffer.arrays.iter().map(|array| (array.rows, array.bits())).collect();
        assert_eq!(memories, [(48 * 32, 48 * 32 * 128 * 9)]);
        let slot = counted_scope(&mrpb, "sm0.l1.queue.queue[0].slot[0]").unwrap();
        assert!((1..128).contains(&slot.flops), "{}", slot.flops);
    }
}
