//! # Cache-conscious wavefront scheduling (CCWS)
//! Reference model of CCWS (khairy2015 section 5, Table 4). The victim tags are lists of lines, the scores
//! are decremented cycle by cycle, and the warps that may load are found by sorting all scores.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use super::{Admission, Losses, Scheme};

/// Configuration of cache-conscious wavefront scheduling (CCWS).
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {
    /// Number of victim tags that each warp has.
    pub victims: u64,
    /// Number of ways of the victim tag array.
    pub victim_ways: usize,
    /// Base score: score of a warp that has lost no locality.
    pub base_score: u64,
    /// Factor by which lost-locality events per instruction are multiplied in the score.
    pub k: u64,
}

#[typetag::deserialize(name = "ccws")]
impl Scheme for Config {
    fn losses(&self) -> Option<Box<dyn Losses>> {
        Some(Box::new(Victims::new(self.victims / self.victim_ways as u64, self.victim_ways)))
    }

    fn admission(&self) -> Option<Box<dyn Admission>> {
        Some(Box::new(Scores::new(self.base_score, self.k)))
    }
}

/// Victim tags of each warp, and for each line in the cache, the warp that allocated it.
#[derive(Clone, Debug)]
pub struct Victims {
    sets: u64,
    ways: usize,
    /// Victim tags: lines that each warp lost, by warp and set, from least to most recently used.
    lost: BTreeMap<(u8, u64), Vec<u64>>,
    owners: HashMap<u64, u8>,
}

impl Victims {
    /// Creates empty victim tags. Each warp has `sets` sets of `ways` tags.
    pub fn new(sets: u64, ways: usize) -> Self {
        Self { sets, ways, lost: BTreeMap::new(), owners: HashMap::new() }
    }
}

impl Losses for Victims {
    fn on_miss(&mut self, old: Option<u64>, warp: u8, line: u64) -> bool {
        if let Some(old) = old {
            let owner = self.owners.remove(&old).unwrap_or_default();
            let list = self.lost.entry((owner, old % self.sets)).or_default();
            list.retain(|other| *other != old);
            list.push(old);
            if list.len() > self.ways {
                list.remove(0);
            }
        }
        self.owners.insert(line, warp);
        let list = self.lost.entry((warp, line % self.sets)).or_default();
        let is_lost = list.contains(&line);
        // Makes the line the most recently used. The sort is stable, so all other lines keep their order.
        list.sort_by_key(|other| *other == line);
        is_lost
    }

    fn on_store(&mut self, line: u64) {
        self.lost.values_mut().for_each(|list| list.retain(|other| *other != line));
    }
}

/// Lost-locality scores of the resident warps.
#[derive(Clone, Debug)]
pub struct Scores {
    base: u64,
    k: u64,
    /// For each resident warp: its score, its number of lost-locality events, and its number of instructions.
    warps: BTreeMap<u8, (u64, u64, u64)>,
}

impl Scores {
    /// Creates the scores of an SM in which no warp is resident yet. `base` is the base score of a warp; in
    /// the score, lost-locality events per instruction are multiplied by `k`.
    pub fn new(base: u64, k: u64) -> Self {
        Self { base, k, warps: BTreeMap::new() }
    }

    fn cutoff(&self) -> u64 {
        self.base * self.warps.len() as u64
    }
}

impl Admission for Scores {
    fn start(&mut self, warp: u8) {
        self.warps.insert(warp, (self.base, 0, 0));
    }

    fn end(&mut self, warp: u8) {
        self.warps.remove(&warp);
    }

    fn on_issue(&mut self, warp: u8) {
        self.warps.entry(warp).and_modify(|(_, _, instructions)| *instructions += 1);
    }

    fn on_lost_locality(&mut self, warp: u8) {
        self.warps.entry(warp).and_modify(|(_, hits, _)| *hits += 1);
        let (hits, instructions) = self.warps.values().fold((0, 0), |(h, i), (_, hits, n)| (h + hits, i + n));
        let worth = hits * self.k * self.cutoff() / instructions.max(1);
        let (base, highest) = (self.base, worth.min((1 << 18) - 1));
        self.warps.entry(warp).and_modify(|(score, ..)| *score = (*score + worth).min(highest).max(base));
    }

    fn tick(&mut self) {
        self.warps.values_mut().filter(|(score, ..)| *score > self.base).for_each(|(score, ..)| *score -= 1);
    }

    fn score(&self, warp: u8) -> Option<u64> {
        self.warps.get(&warp).map(|(score, ..)| *score)
    }

    fn admitted_warps(&self) -> Vec<u8> {
        let mut ranked: Vec<(u64, u8)> = self.warps.iter().map(|(warp, (score, ..))| (*score, *warp)).collect();
        ranked.sort_by_key(|&(score, warp)| (std::cmp::Reverse(score), warp));
        let reach = |count: usize| ranked[..count].iter().map(|(score, _)| score).sum::<u64>() >= self.cutoff();
        let count = (0..=ranked.len()).find(|&count| reach(count)).unwrap_or(ranked.len());
        let mut admitted: Vec<u8> = ranked[..count].iter().map(|(_, warp)| *warp).collect();
        admitted.sort_unstable();
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_gave_way_is_lost_to_the_warp_that_brought_it_alone() {
        let mut victims = Victims::new(2, 8);
        assert!(!victims.on_miss(None, 1, 10));
        assert!(!victims.on_miss(Some(10), 2, 20));
        assert!(!victims.on_miss(Some(20), 2, 10));
        assert!(victims.on_miss(Some(10), 1, 10));
        victims.on_store(10);
        assert!(!victims.on_miss(None, 1, 10));
    }

    #[test]
    fn ten_hits_in_a_thousand_instructions_of_24_warps_are_worth_192() {
        let mut scores = Scores::new(100, 8);
        (0..24).for_each(|warp| scores.start(warp));
        scores.warps.insert(3, (100, 9, 1000));
        scores.on_lost_locality(7);
        assert_eq!(scores.score(7), Some(192));
        assert!(scores.admitted_warps().contains(&7) && scores.admitted_warps().len() == 24);
    }
}
