//! Scopes alike, one row for all of them.

use super::Block;

/// Scopes that follow each other and differ in their numbers only.
#[derive(Clone, Debug)]
pub struct Folded<'a> {
    /// `l1`, or `sm0..sm14`.
    pub name: String,
    /// How many.
    pub count: u32,
    /// The first of them.
    pub one: &'a Block,
    /// Scopes inside each of them.
    pub children: Vec<Self>,
}

impl<'a> Folded<'a> {
    /// A scope with those inside it folded.
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
        Self { name: block.block.clone(), count: 1, one: block, children }
    }
}

/// The name without its number.
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
