//! # Outline of a netlist
//! Summarizes a netlist for a drawing: kinds of hardware blocks, and bundles of equal links between two
//! kinds.

use super::kinds::Kind;
use super::pool::Links;
use super::{Input, LinkSpec, Net};

/// Kinds of hardware blocks in a netlist, and bundles of links between them.
#[derive(Clone, Debug)]
pub struct Outline {
    /// Kinds that have at least one hardware block, in the order in which they were added to the netlist.
    pub groups: Vec<Group>,
    /// Bundles of links, ordered by sending kind and then by receiving kind.
    pub bundles: Vec<Bundle>,
    /// Number of islands that can run independently; `None` if the netlist cannot be cut.
    pub islands: Option<usize>,
}

/// All hardware blocks of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Scope names of the hardware blocks without their numbers, such as `sm.core`.
    pub name: String,
    /// Number of hardware blocks of this kind.
    pub blocks: usize,
    /// Clock domain of the hardware blocks.
    pub clock: u8,
}

/// Bundle of all links with the same name from one kind of hardware block to another.
#[derive(Clone, Copy, Debug)]
pub struct Bundle {
    /// Sending kind of hardware block, as an index into [`Outline::groups`].
    pub from: usize,
    /// Receiving kind of hardware block, as an index into [`Outline::groups`].
    pub to: usize,
    /// Name of the links.
    pub name: &'static str,
    /// Number of links in the bundle.
    pub links: usize,
    /// Depth and delays of each link in the bundle.
    pub spec: LinkSpec,
}

impl<L: Links, K: Kind<L>> Net<L, K> {
    /// Returns the outline of the netlist.
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
            // The list of all links is sorted by pool (type of beat), and then by the number of the link in
            // its pool.
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
