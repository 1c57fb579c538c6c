//! Combination of scopes with equal costs into one row of a table.

use super::Block;

/// Consecutive scopes with equal costs and with names that differ only in their numbers, combined into one
/// row of a table.
#[derive(Clone, Debug)]
pub struct FoldedScopes<'a> {
    /// Name of the row: the name of a single scope, such as `l1`, or a range of names, such as `sm0..sm14`.
    pub name: String,
    /// Number of scopes combined in this row.
    pub count: u32,
    /// First of the combined scopes. It represents all of them, since they have equal structures and costs.
    pub one: &'a Block,
    /// Rows of the scopes inside this scope. Scopes with equal costs share a row here too.
    pub children: Vec<Self>,
}

impl<'a> FoldedScopes<'a> {
    /// Creates the row of a scope, and combines the scopes inside it.
    #[must_use]
    pub fn of(block: &'a Block) -> Self {
        let mut children: Vec<Self> = Vec::new();
        for child in &block.children {
            match children.last_mut() {
                Some(last) if alike(last.one, child) => {
                    last.count += 1;
                    last.name = format!("{}..{}", last.one.block, child.block);
                }
                _ => children.push(Self::of(child)),
            }
        }
        Self { name: block.block.to_string(), count: 1, one: block, children }
    }
}

/// Removes the number from the name of a scope.
fn stem(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || "[]_".contains(c))
}

fn alike(a: &Block, b: &Block) -> bool {
    let Block { block, bits, flops, arrays, logic, um2, um2_error: _, leakage_mw: _, delta, children } = a;
    stem(block) == stem(&b.block)
        && (bits, flops, um2, delta) == (&b.bits, &b.flops, &b.um2, &b.delta)
        && (arrays, logic) == (&b.arrays, &b.logic)
        && children.len() == b.children.len()
        && children.iter().zip(&b.children).all(|(a, b)| alike(a, b))
}
