//! Differences in cost between two designs.

use super::{Block, Delta};

impl Block {
    /// Computes the difference in cost between this scope and the scope of the same name in `other`, and
    /// stores it in this scope. The same is done for all scopes inside it. If a scope exists only in `other`,
    /// an empty scope is added here.
    #[must_use]
    pub fn against(mut self, other: &Self) -> Self {
        let more = |ours: u64, theirs: u64| ours.cast_signed() - theirs.cast_signed();
        self.delta = Some(Delta {
            bits: more(self.bits, other.bits),
            flops: more(self.flops, other.flops),
            um2: self.um2 - other.um2,
            um2_error: (self.um2_error - other.um2_error).abs(),
            leakage_mw: self.leakage_mw - other.leakage_mw,
        });
        let named = |among: &[Self], name: &str| among.iter().find(|block| block.block == name).cloned();
        let lost: Vec<_> =
            other.children.iter().filter(|theirs| named(&self.children, &theirs.block).is_none()).cloned().collect();
        let paired = std::mem::take(&mut self.children).into_iter().map(|ours| {
            let theirs = named(&other.children, &ours.block).unwrap_or_else(|| Self::empty(&ours.block));
            ours.against(&theirs)
        });
        self.children = paired.collect();
        self.children.extend(lost.iter().map(|theirs| Self::empty(&theirs.block).against(theirs)));
        self
    }

    fn empty(name: &str) -> Self {
        Self {
            block: name.to_owned().into(),
            bits: 0,
            flops: 0,
            arrays: Vec::new(),
            logic: Vec::new(),
            um2: 0.0,
            um2_error: 0.0,
            leakage_mw: 0.0,
            delta: None,
            children: Vec::new(),
        }
    }

    /// True if this scope, or a scope inside it, has a nonzero difference in storage bits, flip-flops, area
    /// or leakage.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.delta.is_some_and(|delta| delta != Delta::default()) || self.children.iter().any(Self::differs)
    }
}
