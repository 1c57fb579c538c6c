//! # Where a netlist can be cut
//! Blocks joined by links shorter than some ticks are one island. Between islands there are links with delays only, so that each
//! can run for a window `w` without hearing of the others, if there are leads `a`: for a link from island `i` to `j` that takes
//! `l` ticks, and `c` for a credit, `a[j] + w <= a[i] + l` and `a[i] + w <= a[j] + c`. The run may end as soon as a link that
//! tells so has been heard: no island `j` runs beyond that, `a[j] + w <= a[i] + l`. These are differences with upper bounds:
//! Bellman and Ford find such leads, or that there are none.

use std::collections::{BTreeMap, BTreeSet};

use super::Link;
use crate::kernel::BlockId;

/// Islands of a netlist.
#[derive(Clone, Debug)]
pub struct Cut {
    /// The island of each block that has links.
    pub(super) islands: BTreeMap<BlockId, usize>,
    /// Ticks for which all run between two meetings.
    pub(super) window: u64,
    /// How far each is ahead of the last.
    pub(super) ahead: Vec<u64>,
    /// How far each may run beyond what another has come to, if nothing was heard of that: from, to, ticks.
    pub(super) bounds: Vec<Bound>,
    /// Islands that signal the end of a run, and the latency of that signal [ticks]: no island runs farther ahead of them.
    pub(super) news: Vec<(usize, u64)>,
}

/// From an island, to another, ticks.
type Bound = (usize, usize, u64);

/// Cuts a netlist whose cores have a period of `cycle`; `tells` are the links by which the end of a run is heard of. Of all ways
/// to cut it at links with a least delay, that with the longest window; of several the one with most islands. `None` if nothing
/// can run apart for as long as a cycle.
pub(super) fn cut(links: &[Link], cycle: u64, tells: &dyn Fn(&Link) -> bool) -> Option<Cut> {
    let delays: BTreeSet<u64> = links.iter().map(Link::least_delay).filter(|delay| *delay >= cycle).collect();
    let mut best: Option<Cut> = None;
    // The shorter the links that are cut, the more islands there are.
    for least in delays {
        let known = best.as_ref().map_or(0, |best| best.window / cycle);
        best = cut_at(links, cycle, (least, known), tells).or(best);
    }
    best
}

/// Cuts it at links that take at least so long, if that gives a window of more cycles than a known one.
fn cut_at(links: &[Link], cycle: u64, (least, known): (u64, u64), tells: &dyn Fn(&Link) -> bool) -> Option<Cut> {
    let mut islands = Sets::of(links.iter().flat_map(|link| [link.from, link.to]));
    links.iter().filter(|link| link.least_delay() < least).for_each(|link| islands.join(link.from, link.to));
    let (islands, count) = islands.numbered(links);
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
    // Two windows of two islands are no longer than the way from one to the other and back.
    let there_and_back = |(&(from, to), ticks)| Some(ticks + shortest.get(&(to, from))?);
    let (mut fits, mut most) = (known, shortest.iter().filter_map(there_and_back).min()? / 2 / cycle);
    let bounds: Vec<Bound> = shortest.into_iter().map(|((from, to), ticks)| (from, to, ticks)).collect();
    let news: Vec<_> = news.into_iter().collect();
    // Leads for a window are leads for a shorter one.
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

/// Leads for a window, if there are any: of each island no more than that of another and what is left of a bound.
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

/// Sets of blocks, each known by one of its blocks.
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

    /// Numbers the sets: those with links to most others first, for they take longest to meet.
    fn numbered(mut self, links: &[Link]) -> (BTreeMap<BlockId, usize>, usize) {
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
