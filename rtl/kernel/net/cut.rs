//! # Where to cut a netlist into islands
//! Groups the hardware blocks into islands, which can be simulated independently between synchronization
//! points. Blocks joined by a link whose delay is below a threshold are in one island. Hence only links with
//! longer delays connect islands.
//!
//! Every island runs for a window of `w` ticks without messages from the others. Island `i` may run ahead of
//! the slowest island by a lead of `a[i]` ticks. A link from island `i` to island `j` with latency `l` and
//! credit delay `c` requires `a[j] + w <= a[i] + l` and `a[i] + w <= a[j] + c`. Some links of an island `i`
//! carry the message that can end a run. No island `j` may run beyond the tick at which this message could be
//! received: `a[j] + w <= a[i] + l`. These are difference constraints: the Bellman-Ford algorithm finds leads
//! that satisfy them, or shows that there are none.

use std::collections::{BTreeMap, BTreeSet};

use super::Link;
use crate::kernel::BlockId;

/// Islands of a netlist (groups of hardware blocks that are simulated independently), and their leads.
#[derive(Clone, Debug)]
pub struct Cut {
    /// Island of each hardware block that has links.
    pub(super) islands: BTreeMap<BlockId, usize>,
    /// Ticks that every island runs between two synchronization points.
    pub(super) window: u64,
    /// Number of ticks by which each island may run ahead of the slowest island (its lead).
    pub(super) ahead: Vec<u64>,
    /// Limits on how far one island may run ahead of another without newer messages from it.
    pub(super) bounds: Vec<Bound>,
    /// Islands that send the message that ends a run, each with the latency of that message in ticks. No
    /// island runs ahead of such an island by more than this latency.
    pub(super) news: Vec<(usize, u64)>,
}

/// Tuple `(limiting, limited, ticks)`: island `limited` may run ahead of island `limiting` by at most `ticks`
/// ticks.
type Bound = (usize, usize, u64);

/// Cuts a netlist into islands, which are groups of hardware blocks that are simulated independently. `cycle`
/// is the clock period of the cores in ticks; `tells` selects the links that carry the message that ends a
/// run. Tries each link delay that occurs as a threshold, and cuts all links with at least this delay.
/// Selects the cut with the longest window between synchronization points; among equal windows, the cut with
/// the most islands. Returns `None` if no cut has a window of at least one core cycle.
pub(super) fn cut(links: &[Link], cycle: u64, tells: &dyn Fn(&Link) -> bool) -> Option<Cut> {
    let delays: BTreeSet<u64> = links.iter().map(Link::least_delay).filter(|delay| *delay >= cycle).collect();
    let mut best: Option<Cut> = None;
    // Delays are tried in ascending order, and cutting links with shorter delays gives more islands. Of
    // several cuts with equal windows, the first one therefore has the most islands.
    for least in delays {
        let known = best.as_ref().map_or(0, |best| best.window / cycle);
        best = cut_at(links, cycle, (least, known), tells).or(best);
    }
    best
}

/// Cuts the netlist into islands at all links with a delay of at least `least` ticks. Returns the cut only if
/// the window between its synchronization points exceeds `known` core cycles.
fn cut_at(links: &[Link], cycle: u64, (least, known): (u64, u64), tells: &dyn Fn(&Link) -> bool) -> Option<Cut> {
    let mut islands = Sets::of(links.iter().flat_map(|link| [link.from, link.to]));
    links.iter().filter(|link| link.least_delay() < least).for_each(|link| islands.join(link.from, link.to));
    let (islands, count) = islands.number_sets(links);
    if count < 2 {
        return None;
    }
    let (mut shortest, mut news): (BTreeMap<(usize, usize), u64>, BTreeMap<usize, u64>) = Default::default();
    let mut bound = |from, to, ticks: u64| {
        let known = shortest.entry((from, to)).or_insert(ticks);
        *known = ticks.min(*known);
    };
    for link in links {
        let (from, to) = (islands[&link.from], islands[&link.to]);
        if from != to {
            bound(from, to, link.spec.latency);
            bound(to, from, link.spec.credit);
        }
        if tells(link) {
            let known = news.entry(from).or_insert(link.spec.latency);
            *known = link.spec.latency.min(*known);
        }
    }
    // Upper limit of the window: half the sum of the delays from one island to another and back.
    let there_and_back = |(&(from, to), ticks)| Some(ticks + shortest.get(&(to, from))?);
    let (mut fits, mut most) = (known, shortest.iter().filter_map(there_and_back).min()? / 2 / cycle);
    let bounds: Vec<Bound> = shortest.into_iter().map(|((from, to), ticks)| (from, to, ticks)).collect();
    let news: Vec<_> = news.into_iter().collect();
    // Binary search for the longest window: leads that are valid for a window are also valid for any shorter
    // one.
    let mut middle = known + 1;
    while fits < most {
        match leads(&bounds, &news, count, middle * cycle) {
            Some(_) => fits = middle,
            None => most = middle - 1,
        }
        middle = (fits + most).div_ceil(2);
    }
    let window = (fits > known).then_some(fits * cycle)?;
    Some(Cut { islands, window, ahead: leads(&bounds, &news, count, window)?, bounds, news })
}

/// Finds leads of the islands for a window of the given length, if there are any. The lead of an island is at
/// most the lead of any other island, plus the delay between the two, minus the window.
fn leads(bounds: &[Bound], news: &[(usize, u64)], count: usize, window: u64) -> Option<Vec<u64>> {
    let mut ahead = vec![0i64; count];
    for _ in 0..=count {
        let mut is_changed = false;
        for &(from, to, ticks) in bounds {
            let most = ahead[from] + ticks as i64 - window as i64;
            is_changed |= most < ahead[to];
            ahead[to] = ahead[to].min(most);
        }
        let heard = news.iter().map(|&(teller, ticks)| ahead[teller] + ticks as i64 - window as i64).min();
        let heard = heard.unwrap_or(i64::MAX);
        for lead in ahead.iter_mut().filter(|lead| **lead > heard) {
            (*lead, is_changed) = (heard, true);
        }
        if !is_changed {
            let last = *ahead.iter().min()?;
            return Some(ahead.iter().map(|lead| (lead - last) as u64).collect());
        }
    }
    None
}

/// Union-find forest of hardware blocks: maps each block to its parent; a root represents its set.
struct Sets(BTreeMap<BlockId, BlockId>);

impl Sets {
    fn of(blocks: impl IntoIterator<Item = BlockId>) -> Self {
        Self(blocks.into_iter().map(|block| (block, block)).collect())
    }

    fn find(&mut self, block: BlockId) -> BlockId {
        let above = self.0[&block];
        if above == block {
            return block;
        }
        let top = self.find(above);
        self.0.insert(block, top);
        top
    }

    fn join(&mut self, one: BlockId, other: BlockId) {
        let (one, other) = (self.find(one), self.find(other));
        self.0.insert(other, one);
    }

    /// Numbers the sets of hardware blocks by the number of other sets to which they have links, in
    /// descending order, so that the longest synchronization points come first.
    fn number_sets(mut self, links: &[Link]) -> (BTreeMap<BlockId, usize>, usize) {
        let blocks: Vec<BlockId> = self.0.keys().copied().collect();
        let tops: BTreeMap<BlockId, BlockId> = blocks.into_iter().map(|block| (block, self.find(block))).collect();
        let mut others: BTreeMap<BlockId, BTreeSet<BlockId>> =
            tops.values().map(|&top| (top, BTreeSet::new())).collect();
        for link in links {
            let (from, to) = (tops[&link.from], tops[&link.to]);
            if from != to {
                others.entry(from).or_default().insert(to);
                others.entry(to).or_default().insert(from);
            }
        }
        let mut order: Vec<_> = others.into_iter().map(|(top, others)| (usize::MAX - others.len(), top)).collect();
        order.sort_unstable();
        let numbers: BTreeMap<BlockId, usize> = order.iter().map(|(_, top)| *top).zip(0..).collect();
        (tops.into_iter().map(|(block, top)| (block, numbers[&top])).collect(), order.len())
    }
}
