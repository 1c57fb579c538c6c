//! # Outline of a netlist
//! What a drawing shows of it: kinds of blocks, and the links from one kind to another in bundles.

use super::kinds::Kind;
use super::pool::Links;
use super::{Input, LinkSpec, Net};

/// Kinds of blocks, and bundles of links between them.
#[derive(Clone, Debug)]
pub struct Outline {
    /// Kinds that have blocks, in the order in which they were added.
    pub groups: Vec<Group>,
    /// In the order of their ends.
    pub bundles: Vec<Bundle>,
    /// How many islands there are, if the netlist can run in any.
    pub islands: Option<usize>,
}

/// The blocks of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Scopes of its blocks without their numbers: `sm.core`.
    pub name: String,
    /// How many there are.
    pub blocks: usize,
    /// Their clock.
    pub clock: u8,
}

/// Links alike from one kind of blocks to another.
#[derive(Clone, Copy, Debug)]
pub struct Bundle {
    /// The kind that sends, by its place among the groups.
    pub from: usize,
    /// The kind that receives.
    pub to: usize,
    /// Name of the links.
    pub name: &'static str,
    /// How many there are.
    pub links: usize,
    /// Their depth and delays.
    pub spec: LinkSpec,
}

impl<L: Links, K: Kind<L>> Net<L, K> {
    /// Its outline.
    #[must_use]
    pub fn outline(&self) -> Outline {
        let is_there = |kind: &usize| !self.shown[*kind].paths.is_empty();
        let kinds: Vec<usize> = (0..self.shown.len()).filter(is_there).collect();
        let groups = kinds.iter().map(|&kind| {
            let shown = &self.shown[kind];
            let name = shown.paths[0].iter().map(|(name, _)| *name).collect::<Vec<_>>().join(".");
            Group { name, blocks: shown.paths.len(), clock: shown.places[0].domain }
        });
        let (mut bundles, mut pools): (Vec<Bundle>, _) = (Vec::new(), vec![0; L::COUNT]);
        for link in &self.graph {
            // The graph has the links of a pool in their order.
            let id = pools[link.pool];
            pools[link.pool] += 1;
            let Some((from, _)) = self.kind_of(link.from) else { continue };
            let (kind, block, _) = link.place;
            let is_at = |input: &&Input| (input.pool, input.id) == (link.pool, id);
            let Some(name) = self.shown[kind].inputs[block].iter().find(is_at).map(|input| input.name) else {
                continue;
            };
            let [from, to] = [from, kind].map(|of| kinds.iter().position(|&kind| kind == of).unwrap_or_default());
            let is_alike = |bundle: &&mut Bundle| (bundle.from, bundle.to, bundle.name) == (from, to, name);
            match bundles.iter_mut().find(is_alike) {
                Some(bundle) => bundle.links += 1,
                None => bundles.push(Bundle { from, to, name, links: 1, spec: link.spec }),
            }
        }
        bundles.sort_by_key(|bundle| (bundle.from, bundle.to));
        Outline { groups: groups.collect(), bundles, islands: self.num_islands() }
    }
}
