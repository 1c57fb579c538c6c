//! # Lockstep test of the scoreboard
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                                           | where              |
//! |-------------------------------------------------------------------------------------|--------------------|
//! | an issue, a result and a new head instruction in one cycle, of one or several warps | `cycle`            |
//! | the instruction behind the issued one becomes head before or after a result         | `early`            |
//! | heads that wait for device memory, for another result, for both                     | `memory`           |
//! | results that arrive register by register                                            | subsets of a write |
//! | a hazard exists exactly while the head uses a register with a pending write         | `expected`         |

use isa::program::RegMask;
use rtl::kernel::{Describe, Edge};
use rtl::sm::Scoreboard;

use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("reserve_warp_i == W_BITS'(w)", "show_warp_i == W_BITS'(w)"),
        Mistake::new("on_their_way[w] | (reserves ? reserve_writes_i : '0)", "reserves ? reserve_writes_i : on_their_way[w]"),
        Mistake::new("reserves && reserve_memory_i ? reserve_writes_i", "reserves ? reserve_writes_i"),
        Mistake::new("all_1 & ~(releases ? release_writes_i : '0)", "all_1"),
        Mistake::new("releases && release_memory_i ? release_writes_i", "releases ? {32'd0, release_writes_i[255:0]}"),
        Mistake::new("uses = shows ? show_uses_i : release_uses_i", "uses = releases ? release_uses_i : show_uses_i"),
        Mistake::new("waits = (on_their_way_2[w] & uses)", "waits = (on_their_way[w] & uses)"),
        Mistake::new("waits = (on_their_way_2[w] & uses)", "waits = (all_1 & uses)"),
        Mistake::new("waits_for_memory = (of_memory_2[w] & uses)", "waits_for_memory = (memory_1 & uses)"),
        Mistake::new("hazard_q[w] <= hazard_q[w] && waits;", "hazard_q[w] <= waits;"),
        Mistake::new("hazard_memory_q[w] <= hazard_memory_q[w] && waits_for_memory;", ""),
        Mistake::new("is_clear_o[w] = on_their_way[w] == '0", "is_clear_o[w] = of_memory[w] == '0"),
        Mistake::equivalent("waits && waits_for_memory", "waits_for_memory", "a wait for memory is a hazard"),
    ]
}

struct Unit {
    warps: u32,
    dut: Scoreboard,
    /// Two register masks for the head instruction of each warp's instruction buffer. The first has the
    /// registers that the instruction reads or writes. The second has only those that it writes.
    heads: Vec<Option<(RegMask, RegMask)>>,
    /// Pending register writes, each as warp, registers, and a flag that is true if the values come from
    /// device memory.
    writes: Vec<(u8, RegMask, bool)>,
    moods: TrafficModes<3>,
    random: Random,
}

/// Packs a register mask into bytes, with the bits of the data registers before those of the predicates.
fn bytes(mask: &RegMask) -> Vec<u8> {
    let words = mask.words.iter().flat_map(|word| word.to_le_bytes());
    words.chain(mask.preds.to_le_bytes()).collect()
}

fn is_in(mask: &RegMask, other: &RegMask) -> RegMask {
    let words = std::array::from_fn(|i| mask.words[i] & other.words[i]);
    RegMask { words, preds: mask.preds & other.preds }
}

impl Unit {
    fn new(size: Size, random: Random) -> Self {
        let warps = match size {
            Size::Small => 2,
            Size::Fermi => 8,
            Size::Synthesised => 1,
            Size::Any => 3,
        };
        let heads = vec![None; warps as usize];
        let dut = Scoreboard::new(warps as usize);
        Self { warps, dut, heads, writes: Vec::new(), moods: TrafficModes::default(), random }
    }

    /// Randomly selects one to three registers. They come from a small set with registers in every word of
    /// the mask.
    fn registers(&mut self) -> RegMask {
        let mut mask = RegMask::default();
        for _ in 0..1 + self.random.below(3) {
            match self.random.below(5) {
                4 => mask.insert_pred(31 - self.random.below(3) as u16),
                part => mask.words[part as usize] |= 1 << [0, 31, 63][self.random.below(3) as usize],
            }
        }
        mask
    }

    /// Returns two flags about the registers that a warp's head instruction uses. The first flag is true if a
    /// write of such a register is pending. The second is true if the value of such a pending write comes
    /// from device memory.
    fn compute_expected(&self, warp: u8) -> (bool, bool) {
        let Some((uses, _)) = &self.heads[usize::from(warp)] else { return (false, false) };
        let meets = |(of, set, _): &&(u8, RegMask, bool)| *of == warp && set.intersects(uses);
        let mut found = self.writes.iter().filter(meets);
        let any = self.writes.iter().any(|write| meets(&write));
        (any, found.any(|(.., memory)| *memory))
    }

    fn show(&mut self, warp: u8, head: (RegMask, RegMask)) {
        self.dut.show(warp, &head.0);
        self.heads[usize::from(warp)] = Some(head);
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![("WARPS", self.warps.to_string())]
    }

    fn cycle(&mut self, _: &Edge<'_>, ports: &mut Ports) {
        let [issues, results, shows] = self.moods.next(&mut self.random);
        let warp_bits = self.warps.max(2).next_power_of_two().ilog2();
        let expected: Vec<_> = (0..self.warps as u8).map(|warp| self.compute_expected(warp)).collect();
        let mask =
            |of: &dyn Fn(u8) -> bool| (0..self.warps as u8).fold(0u64, |set, warp| set | u64::from(of(warp)) << warp);
        let waiting = [mask(&|warp| expected[usize::from(warp)].0), mask(&|warp| expected[usize::from(warp)].1)];
        assert_eq!([self.dut.hazard(), self.dut.hazard_memory()], waiting);
        ports.output("must_wait", self.warps, self.dut.hazard());
        ports.output("wait_for_memory", self.warps, self.dut.hazard_memory());
        ports.output("is_clear", self.warps, mask(&|warp| self.dut.is_clear(warp)));

        // When a warp issues its head instruction, that instruction leaves the warp's instruction buffer.
        let warp = self.random.below(self.warps.into()) as u8;
        let may_issue = self.dut.hazard() >> warp & 1 == 0 && self.random.percent(issues);
        let issued = self.heads[usize::from(warp)].take_if(|_| may_issue);
        let memory = self.random.percent(40);
        let (_, writes) = issued.unwrap_or_default();
        ports.input("reserve_valid", 1, issued.is_some());
        ports.input("reserve_warp", warp_bits, warp);
        ports.wide_input("reserve_writes", 288, &bytes(&writes));
        ports.input("reserve_memory", 1, memory);
        // Gives a warp a random new head instruction. Often this is the warp that has just issued. The new
        // head may arrive before the result of an earlier instruction.
        let shown =
            if issued.is_some() && self.random.percent(50) { warp } else { self.random.below(self.warps.into()) as u8 };
        let may_show = self.heads[usize::from(shown)].is_none() && self.random.percent(shows);
        let (reads, head_writes) = (self.registers(), self.registers());
        let mut uses = head_writes;
        uses.insert(&reads);
        let early = may_show && issued.is_some() && shown == warp && self.random.percent(50);
        ports.input("show_valid", 1, may_show);
        ports.input("show_warp", warp_bits, shown);
        ports.wide_input("show_uses", 288, &bytes(&uses));
        if issued.is_some() {
            self.dut.reserve(warp, &writes, memory);
        }
        let came = (!self.writes.is_empty() && self.random.percent(results))
            .then(|| self.random.below(self.writes.len() as u64) as usize);
        if issued.is_some() {
            self.writes.push((warp, writes, memory));
        }
        if early {
            self.show(shown, (uses, head_writes));
        }
        let (of, set, from_memory) = came.map_or((0, RegMask::default(), false), |at| self.writes[at]);
        let part = self.registers();
        let part = is_in(&set, &part);
        let written = if part.is_empty() { set } else { part };
        // If the warp has no head instruction, the input `release_uses` has no effect. It is therefore
        // random.
        let head_uses = self.heads[usize::from(of)].map_or(reads, |(uses, _)| uses);
        ports.input("release_valid", 1, came.is_some());
        ports.input("release_warp", warp_bits, of);
        ports.wide_input("release_writes", 288, &bytes(&written));
        ports.input("release_memory", 1, from_memory);
        ports.wide_input("release_uses", 288, &bytes(&head_uses));
        if let Some(at) = came {
            self.dut.release(of, &written, from_memory, || &head_uses);
            self.writes[at].1.remove(&written);
            self.writes.retain(|(_, set, _)| !set.is_empty());
        }
        if may_show && !early {
            self.show(shown, (uses, head_writes));
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.dut.describe(to);
    }
}
