//! Combines equal scopes into one row.

use super::Block;

/// Consecutive scopes that are equal except for the numbers in their names, combined into one row.
#[derive(Clone, Debug)]
pub struct FoldedScopes<'a> {
    /// Name or range of names: `l1` or `sm0..sm14`.
    pub name: String,
    /// Number of scopes.
    pub count: u32,
    /// First of the scopes. All of them have the same structures and the same area.
    pub one: &'a Block,
    /// Combined rows of the scopes inside each of the combined scopes.
    pub children: Vec<Self>,
}

impl<'a> FoldedScopes<'a> {
    /// Creates the row of a scope, with the scopes inside it combined.
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

/// Strips the number from a scope's name.
fn stem(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || "[]_".contains(c))
}

fn alike(a: &Block, b: &Block) -> bool {
    let Block { block, bits, flops, arrays, logic, um2, leakage_mw: _, delta, children } = a;
    stem(block) == stem(&b.block)
        && (bits, flops, um2, delta) == (&b.bits, &b.flops, &b.um2, &b.delta)
        && (arrays, logic) == (&b.arrays, &b.logic)
        && children.len() == b.children.len()
        && children.iter().zip(&b.children).all(|(a, b)| alike(a, b))
}
