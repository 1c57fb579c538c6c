//! # Cycle tables of the LSU with its L1D
//! Each test is a small script for one behavior. The expected tables were checked row by row against the
//! rules of the cache (li2015 section 2.2, khairy2015 section 3.1).
//!
//! For each instruction, a script gives the cycle in which the instruction probes the tags, unless it stalls.
//! For a reply of memory, it gives the cycle in which the reply is at the head of the channel `mem_rsp`.
//! Instructions are numbered `w0`, `w1`, ... A table has these columns: the outcome at the tags, fills,
//! waiters replayed, and messages on `mem_req` and `core_rsp`. A message is listed in the cycle in which the
//! receiver takes it, one cycle after it was sent. For a refused access, the table shows the reason and, in
//! brackets, all conditions that fail: Line, Entry, Merge, Queue.
//!
//! | testpoint                                                               | test |
//! |-------------------------------------------------------------------------|-----|
//! | latency of hit and miss                                                 | `a_miss_asks_*` |
//! | hit-pending loads are replayed one per cycle, in the order of fills     | `waiters_leave_*` |
//! | each refusal with its conditions, under both orders of the checks       | `*_refuse*`, `*_refused_*` |
//! | a fill is visible to the probe of its own cycle                         | `a_third_load_*`, `a_set_*` |
//! | a fill waits while its way is still being read                          | `a_fill_waits_*` |
//! | write-evict; a store to a line in flight                                | `a_global_store_*`, `a_store_to_a_line_*` |
//! | contending loads probe the tags, and bypass by sector on a miss         | `a_load_that_contends_*` |
//! | the bypass path and queued stores                                       | `a_bypassing_load_*` |
//! | atomics bypass the cached copy, and keep their order with stores        | `an_atomic_*`, `*_queued_atomic_*` |
//! | read-only caches have their own lines and MSHRs; round robin of waiters | `one_line_in_three_*`, `a_read_only_*` |
//! | local lines are written in place and written back                       | `a_local_*`, `a_modified_*` |
//! | end of a kernel                                                         | `a_flush_*` |

use std::ops::Range;

use rtl::cells::line::{LINE_BYTES, SECTOR_BYTES, SECTORS, sectors_of};
use rtl::index::linear::Linear;
use rtl::kernel::{Block, Edge, Wake};
use rtl::l1::access::{AccessKind, LANES, MemorySpace, WarpAccess, WarpReplyKind};
use rtl::l1::bypass::contention::{Contentious, Warps};
use rtl::l1::bypass::profiled::{ProfileScope, ProfiledConfig};
use rtl::l1::config::{CacheConfig, FailOrder, L1Config, LsuConfig};
use rtl::l1::lsu::Lsu;
use rtl::l1::watch::{Access, Fail, Outcome, VictimMove, Watch};
use rtl::noc::packet::{Reply, ReplyKind, Request, RequestKind};
use rtl::replacement::lru::Lru;

use super::rig::{self, Links, l1};
use crate::kit::{CycleTable, assert_table};
use warpsieve::check::l1::Lockstep;

/// Action of a test script. Lines are given as small numbers. Data are given as one byte, which fills the
/// line.
#[derive(Clone, Copy)]
pub(super) enum Act {
    Load(u64),
    Uncached(u64),
    Store(u64, u8),
    LocalLoad(u64),
    LocalStore(u64, u8),
    Atomic(u64),
    Reduce(u64),
    ConstLoad(u64),
    TextureLoad(u64),
    /// Load of several lines. The fields are the first line, the number of lanes, and the number of resident
    /// warps. Lane `i` loads from line `first + i`, sector `i` mod 4.
    Spread(u64, u64, u8),
    /// Load of one byte, given as a line and a sector of the line. The action `SectorStore` stores one byte
    /// in a sector.
    Sector(u64, u64),
    SectorStore(u64, u64, u8),
    /// Load that reads one byte in each sector of a line.
    Whole(u64),
    /// Load in which each lane reads one byte. The list gives the line and the sector of each lane's byte.
    /// The action `UncachedLanes` is an uncached load, and `StoreLanes` is a store, with such a list.
    Lanes(&'static [(u64, u64)]),
    UncachedLanes(&'static [(u64, u64)]),
    StoreLanes(&'static [(u64, u64)]),
    /// Reply of memory to the oldest request for a line. The byte is the data of the reply, if the request
    /// was a read.
    Answer(u64, u8),
}
use Act::{
    Answer, Atomic, ConstLoad, Lanes, Load, LocalLoad, LocalStore, Reduce, Sector, SectorStore, Spread, Store,
    StoreLanes, TextureLoad, Uncached, UncachedLanes, Whole,
};

/// Returns a read-only cache with one set of one way. Its only MSHR entry has room for two waiting loads.
fn read_only() -> CacheConfig {
    CacheConfig {
        sets: 1,
        ways: 1,
        mshr_entries: 1,
        mshr_merges: 2,
        index: Linear {}.into(),
        replacement: Lru {}.into(),
    }
}

pub(super) const LSU: LsuConfig = LsuConfig { slots: 16, access_queue: 8, request_latency: 1, reply_latency: 1 };
/// Number of cycles from sending an instruction on `core_req` to its probe of the tags.
const TO_PROBE: u64 = 3;
const OPEN: Range<u64> = 0..0;

struct Player {
    lsu: Lsu,
    links: Links,
    lockstep: Lockstep,
    wake: Wake,
    cycle: u64,
    warps: u8,
    /// Requests that memory has received and not answered yet.
    asked: Vec<Request>,
    tags: Vec<(u64, String)>,
    fills: Vec<(u64, String)>,
    drains: Vec<(u64, String)>,
    requests: Vec<(u64, String)>,
    replies: Vec<(u64, String)>,
}

impl Player {
    fn new(l1: &L1Config) -> Self {
        Self::of(l1, &LSU)
    }

    fn of(l1: &L1Config, lsu: &LsuConfig) -> Self {
        let mut lsu = rig::lsu(l1, [&read_only(); 2], lsu);
        lsu.observe();
        Self {
            lsu,
            links: Links::new(16, [1, 1], l1.line_bytes),
            lockstep: Lockstep::new("sm3.l1", 3, l1, [&read_only(); 2], true).unwrap(),
            wake: Wake::new(&[1, 1]),
            cycle: 0,
            warps: 0,
            asked: Vec::new(),
            tags: Vec::new(),
            fills: Vec::new(),
            drains: Vec::new(),
            requests: Vec::new(),
            replies: Vec::new(),
        }
    }

    /// Runs a script. In the cycles of the range `closed`, the network accepts no requests.
    fn play(&mut self, script: &[(u64, Act)], closed: Range<u64>) {
        let last = script.iter().map(|(cycle, _)| *cycle).max().unwrap_or(0);
        let quiet = last.max(closed.end) + 10;
        while self.cycle < quiet {
            let at = &mut Edge::new(self.cycle, self.cycle, &mut self.wake);
            if closed.contains(&self.cycle) && self.cycle < closed.start + 2 {
                // Two dummy requests fill the link to the network, so that all later requests stay in the
                // miss queue.
                self.links.mem_req.tx().push(at, Request { line: PLUG, ..Request::default() });
            }
            for (_, act) in script.iter().filter(|(cycle, act)| cycle - lead(*act) == self.cycle) {
                match *act {
                    Answer(line, byte) => {
                        let place = self.asked.iter().position(|request| request.line == line);
                        let request = self.asked.remove(place.expect("the line was requested from memory"));
                        self.links.mem_rsp.tx().push(at, answer(&request, byte));
                    }
                    _ => {
                        self.links.core_req.tx().push(at, instruction(*act, self.warps));
                        self.warps += 1;
                    }
                }
            }
            if !closed.contains(&self.cycle) && self.links.mem_req.rx().peek(at).is_some() {
                let request = self.links.mem_req.rx().pop(at);
                if request.line != PLUG {
                    self.requests.push((self.cycle, show_request(&request)));
                    self.asked.push(request);
                }
            }
            if self.links.core_rsp.rx().peek(at).is_some() {
                let reply = self.links.core_rsp.rx().pop(at);
                let what = match reply.kind {
                    WarpReplyKind::Loaded => format!("w{}={:02x}", reply.warp, reply.data[0][0]),
                    WarpReplyKind::Stored => format!("w{}:stored", reply.warp),
                };
                self.replies.push((self.cycle, what));
            }
            self.lsu.eval(self.links.of_lsu(), at);
            let watch = self.lsu.take_watch().expect("the player observes");
            self.links.core_req.beat_taken_at(self.cycle).into_iter().for_each(|access| self.lockstep.take(access));
            self.lockstep.step(self.cycle, &watch).unwrap_or_else(|mismatch| panic!("{mismatch}"));
            self.show(&watch);
            self.cycle += 1;
        }
    }

    fn outcomes(mut self, script: &[(u64, Act)], closed: Range<u64>) -> Vec<String> {
        self.play(script, closed);
        self.tags.into_iter().map(|(_, outcome)| outcome).collect()
    }

    fn show(&mut self, watch: &Watch) {
        let cycle = self.cycle;
        let seen: Vec<_> = watch.accesses().map(show_access).collect();
        self.tags.extend((!seen.is_empty()).then(|| (cycle, seen.join("+"))));
        self.fills.extend(watch.fill.map(|(_, line, sectors, kept)| (cycle, show_fill(line, sectors, kept))));
        self.drains.extend(watch.drain.map(|(_, line, waiter)| (cycle, format!("{line}:slot{}", waiter.slot))));
    }

    fn table(self) -> CycleTable {
        let mut table = CycleTable::new();
        table.column("tags", self.tags);
        table.column("fill", self.fills);
        table.column("leaves", self.drains);
        table.column("mem_req", self.requests);
        table.column("core_rsp", self.replies);
        table
    }
}

const PLUG: u64 = 0x1ff_ffff;

/// Returns by how many cycles a message must be sent earlier than the cycle in the script, in which it takes
/// effect.
fn lead(act: Act) -> u64 {
    if matches!(act, Answer(..)) { 1 } else { TO_PROBE }
}

fn instruction(act: Act, warp: u8) -> WarpAccess {
    let (kind, space, uncached, line, byte) = match act {
        Load(line) | Answer(line, _) | Spread(line, ..) | Sector(line, _) | Whole(line) => {
            (AccessKind::Load, MemorySpace::Global, false, line, 0)
        }
        Uncached(line) => (AccessKind::Load, MemorySpace::Global, true, line, 0),
        Lanes(_) => (AccessKind::Load, MemorySpace::Global, false, 0, 0),
        UncachedLanes(_) => (AccessKind::Load, MemorySpace::Global, true, 0, 0),
        StoreLanes(_) => (AccessKind::Store, MemorySpace::Global, false, 0, 0xab),
        Store(line, byte) | SectorStore(line, _, byte) => (AccessKind::Store, MemorySpace::Global, false, line, byte),
        LocalLoad(line) => (AccessKind::Load, MemorySpace::Local, false, line, 0),
        LocalStore(line, byte) => (AccessKind::Store, MemorySpace::Local, false, line, byte),
        Atomic(line) => (AccessKind::Atomic, MemorySpace::Global, false, line, 0),
        Reduce(line) => (AccessKind::Reduce, MemorySpace::Global, false, line, 0),
        ConstLoad(line) => (AccessKind::Load, MemorySpace::Const, false, line, 0),
        TextureLoad(line) => (AccessKind::Load, MemorySpace::Texture, false, line, 0),
    };
    let (lanes, resident) = match act {
        Spread(_, lines, resident) => (lines, resident),
        Whole(_) => (u64::from(SECTORS), 0),
        Lanes(places) | UncachedLanes(places) | StoreLanes(places) => (places.len() as u64, 0),
        _ => (1, 0),
    };
    let place = |lane: u64| {
        let (line, sector) = match act {
            Spread(..) => (line + lane, lane % u64::from(SECTORS)),
            Sector(_, sector) | SectorStore(_, sector, _) => (line, sector),
            Whole(_) => (line, lane),
            Lanes(places) | UncachedLanes(places) | StoreLanes(places) => places[lane as usize],
            _ => (line, 0),
        };
        line * LINE_BYTES as u64 + sector * u64::from(SECTOR_BYTES)
    };
    WarpAccess {
        kind,
        space,
        uncached,
        warp,
        size_log2: if kind.is_atomic() { 2 } else { 0 },
        resident: Warps::new(resident),
        mask: (1 << lanes) - 1,
        address: std::array::from_fn(|lane| place(lane as u64 % lanes)),
        data: [[u32::from(byte); LANES]; 2],
        ..WarpAccess::default()
    }
}

fn answer(request: &Request, byte: u8) -> Reply {
    let Request { kind, id, line, sm, ticket, sectors, .. } = *request;
    let kind = match kind {
        RequestKind::Read | RequestKind::Atomic => ReplyKind::Data,
        RequestKind::Write | RequestKind::Reduce => ReplyKind::Ack,
    };
    Reply { kind, id, line, sm, ticket, sectors, data: [byte; LINE_BYTES], ..Reply::default() }
}

fn show_request(request: &Request) -> String {
    match request.kind {
        RequestKind::Read if request.sectors == sectors_of(LINE_BYTES as u32) => format!("read:{}", request.line),
        RequestKind::Read => format!("read:{}/{:04b}", request.line, request.sectors),
        RequestKind::Write => format!("write:{}/{}B", request.line, request.byte_mask.count_ones()),
        RequestKind::Atomic => format!("atomic:{}", request.line),
        RequestKind::Reduce => format!("reduce:{}", request.line),
    }
}

fn show_fill(line: u64, sectors: u8, kept: u8) -> String {
    let fate = if kept != 0 { "kept" } else { "dropped" };
    if sectors == sectors_of(LINE_BYTES as u32) {
        format!("{line}:{fate}")
    } else {
        format!("{line}/{sectors:04b}:{fate}")
    }
}

fn show_access(access: &Access) -> String {
    match *access {
        Access::Bypass { line, .. } => format!("{line}:bypass"),
        Access::Load { line, outcome, .. }
        | Access::Store { line, outcome, .. }
        | Access::Atomic { line, outcome, .. } => match outcome {
            Outcome::Hit => format!("{line}:hit"),
            Outcome::HitPending => format!("{line}:hit-pending"),
            Outcome::VictimHit(VictimMove::Stays) => format!("{line}:victim-hit"),
            Outcome::VictimHit(VictimMove::ToL1d(None)) => format!("{line}:victim-hit,moves"),
            Outcome::VictimHit(VictimMove::ToL1d(Some((victim, false)))) => format!("{line}:victim-hit,swaps:{victim}"),
            Outcome::VictimHit(VictimMove::ToL1d(Some((victim, true)))) => {
                format!("{line}:victim-hit,writes-back:{victim}")
            }
            Outcome::Miss(None) => format!("{line}:miss"),
            Outcome::Miss(Some((victim, false))) => format!("{line}:miss,drops:{victim}"),
            Outcome::Miss(Some((victim, true))) => format!("{line}:miss,writes-back:{victim}"),
            Outcome::Evicted => format!("{line}:evicted"),
            Outcome::WrittenBack => format!("{line}:modified"),
            Outcome::Updated => format!("{line}:updated"),
            Outcome::StoreMissed => format!("{line}:written-through"),
            Outcome::Overtook => format!("{line}:overtakes"),
            Outcome::Refused(fail, all) => {
                let reason = match fail {
                    Fail::LineAlloc => "LINE_ALLOC",
                    Fail::MshrEntry => "MSHR_ENTRY",
                    Fail::MshrMerge => "MSHR_MERGE",
                    Fail::MissQueue => "MISS_QUEUE",
                    Fail::MshrPolicy => "MSHR_POLICY",
                };
                let bits = "LEMQ".chars().enumerate().map(|(i, name)| if all >> i & 1 != 0 { name } else { '.' });
                let by_policy = if all >> Fail::MshrPolicy as u8 & 1 != 0 { "P" } else { "" };
                format!("{line}:{reason}[{}{by_policy}]", bits.collect::<String>())
            }
        },
    }
}

/// Creates a script from accesses that are 16 cycles apart. If the flag of an access is true, the access
/// sends a request to memory, and memory replies before the next access.
pub(super) fn slowly(acts: &[(Act, bool)]) -> Vec<(u64, Act)> {
    let script = (1..).zip(acts).flat_map(|(number, (act, asks))| {
        let answer = match act {
            Load(line) | LocalLoad(line) | Store(line, _) if *asks => Some((16 * number + 8, Answer(*line, 0))),
            _ => None,
        };
        [Some((16 * number, *act)), answer]
    });
    script.flatten().collect()
}

/// Runs a script and returns the outcome of each access at the tags.
pub(super) fn outcomes(l1: &L1Config, script: &[(u64, Act)]) -> Vec<String> {
    outcomes_while(OPEN, l1, script)
}

/// Runs a script and returns the outcome of each access at the tags. In the cycles of the range `closed`, the
/// network accepts no requests.
pub(super) fn outcomes_while(closed: Range<u64>, l1: &L1Config, script: &[(u64, Act)]) -> Vec<String> {
    Player::new(l1).outcomes(script, closed)
}

/// Runs a script and returns the outcome of each access at the tags. The bypass profile admits only `lines`
/// to the cache.
pub(super) fn outcomes_of_admitted(lines: &[u64], script: &[(u64, Act)]) -> Vec<String> {
    let bypass = ProfiledConfig { scope: ProfileScope::Local, threshold: 1 }.into();
    let mut player = Player::new(&L1Config { bypass, ..l1() });
    player.lsu.admit(&lines.into());
    player.lockstep.admit(lines);
    player.outcomes(script, OPEN)
}

pub(super) fn expect(l1: &L1Config, script: &[(u64, Act)], closed: Range<u64>, table: &str) {
    let mut player = Player::new(l1);
    player.play(script, closed);
    assert_table(&player.table(), table);
}

/// Runs a script and checks the cycle table of the events at the tags and the replies to the core, from cycle
/// `first` on. The table omits cycles without events.
pub(super) fn expect_from(first: u64, (l1, lsu): (&L1Config, &LsuConfig), script: &[(u64, Act)], table: &str) {
    let mut player = Player::of(l1, lsu);
    player.play(script, OPEN);
    let mut found = CycleTable::sparse();
    for (name, passed) in [("tags", player.tags), ("core_rsp", player.replies)] {
        found.column(name, passed.into_iter().filter(|(cycle, _)| *cycle >= first));
    }
    assert_table(&found, table);
}

#[test]
fn a_miss_asks_memory_two_cycles_later_and_a_hit_answers_the_core_two_cycles_later() {
    expect(
        &l1(),
        &[(3, Load(5)), (8, Answer(5, 0x11)), (11, Load(5))],
        OPEN,
        "
         cycle  tags    fill    leaves   mem_req  core_rsp
         3      5:miss  .       .        .        .
         4      .       .       .        .        .
         5      .       .       .        read:5   .
         6      .       .       .        .        .
         7      .       .       .        .        .
         8      .       5:kept  5:slot0  .        .
         9      .       .       .        .        .
         10     .       .       .        .        w0=11
         11     5:hit   .       .        .        .
         12     .       .       .        .        .
         13     .       .       .        .        w1=11",
    );
}

/// With one resident warp, the warp's share of the L1D is two lines. An instruction that touches two lines
/// therefore contends, and an instruction that touches a single line does not.
#[test]
fn a_load_that_contends_hits_like_any_other_and_goes_past_by_sector_if_it_misses() {
    expect(
        &L1Config { bypass: Contentious {}.into(), bypass_sectors: SECTOR_BYTES, ..l1() },
        &[
            (3, Spread(5, 1, 1)),
            (8, Answer(5, 0x55)),
            (11, Spread(5, 2, 1)),
            (15, Answer(6, 0x66)),
            (18, Spread(6, 1, 1)),
        ],
        OPEN,
        "
         cycle  tags      fill    leaves   mem_req      core_rsp
         3      5:miss    .       .        .            .
         4      .         .       .        .            .
         5      .         .       .        read:5       .
         6      .         .       .        .            .
         7      .         .       .        .            .
         8      .         5:kept  5:slot0  .            .
         9      .         .       .        .            .
         10     .         .       .        .            w0=55
         11     5:hit     .       .        .            .
         12     6:bypass  .       .        .            .
         13     .         .       .        read:6/0010  .
         14     .         .       .        .            .
         15     .         .       .        .            .
         16     .         .       .        .            .
         17     .         .       .        .            w1=55
         18     6:miss    .       .        .            .
         19     .         .       .        .            .
         20     .         .       .        read:6       .",
    );
}

#[test]
fn waiters_leave_one_a_cycle_in_the_order_of_fills_then_of_arrival() {
    let script = [(3, Load(5)), (4, Load(6)), (5, Load(5)), (6, Load(6)), (9, Answer(6, 0x66)), (10, Answer(5, 0x55))];
    expect(
        &l1(),
        &script,
        OPEN,
        "
         cycle  tags           fill    leaves   mem_req  core_rsp
         3      5:miss         .       .        .        .
         4      6:miss         .       .        .        .
         5      5:hit-pending  .       .        read:5   .
         6      6:hit-pending  .       .        read:6   .
         7      .              .       .        .        .
         8      .              .       .        .        .
         9      .              6:kept  6:slot1  .        .
         10     .              5:kept  6:slot3  .        .
         11     .              .       5:slot0  .        w1=66
         12     .              .       5:slot2  .        w3=66
         13     .              .       .        .        w0=55
         14     .              .       .        .        w2=55",
    );
}

#[test]
fn a_set_of_reserved_ways_refuses_a_miss_until_the_cycle_of_a_fill() {
    let script = [(3, Load(5)), (4, Load(6)), (5, Load(5)), (8, Answer(5, 0x55)), (12, Answer(6, 0x66))];
    expect(
        &L1Config { ways: 1, ..l1() },
        &script,
        OPEN,
        "
         cycle  tags                fill    leaves   mem_req  core_rsp
         3      5:miss              .       .        .        .
         4      6:LINE_ALLOC[L...]  .       .        .        .
         5      6:LINE_ALLOC[L...]  .       .        read:5   .
         6      6:LINE_ALLOC[L...]  .       .        .        .
         7      6:LINE_ALLOC[L...]  .       .        .        .
         8      6:miss,drops:5      5:kept  5:slot0  .        .
         9      5:LINE_ALLOC[L...]  .       .        .        .
         10     5:LINE_ALLOC[L...]  .       .        read:6   w0=55
         11     5:LINE_ALLOC[L...]  .       .        .        .
         12     5:miss,drops:6      6:kept  6:slot1  .        .
         13     .                   .       .        .        .
         14     .                   .       .        read:5   w1=66",
    );
}

#[test]
fn a_fill_waits_while_its_way_is_still_read() {
    let l1 = L1Config { ways: 1, mshr_merges: 8, ..l1() };
    let loads = (3..10).map(|cycle| (cycle, Load(5)));
    let script: Vec<_> = loads.chain([(10, Load(6)), (12, Answer(5, 0x55)), (16, Answer(6, 0x66))]).collect();
    expect(
        &l1,
        &script,
        OPEN,
        "
         cycle  tags                fill    leaves   mem_req  core_rsp
         3      5:miss              .       .        .        .
         4      5:hit-pending       .       .        .        .
         5      5:hit-pending       .       .        read:5   .
         6      5:hit-pending       .       .        .        .
         7      5:hit-pending       .       .        .        .
         8      5:hit-pending       .       .        .        .
         9      5:hit-pending       .       .        .        .
         10     6:LINE_ALLOC[L...]  .       .        .        .
         11     6:LINE_ALLOC[L...]  .       .        .        .
         12     6:miss,drops:5      5:kept  5:slot0  .        .
         13     .                   .       5:slot1  .        .
         14     .                   .       5:slot2  read:6   w0=55
         15     .                   .       5:slot3  .        w1=55
         16     .                   .       5:slot4  .        w2=55
         17     .                   .       5:slot5  .        w3=55
         18     .                   .       5:slot6  .        w4=55
         19     .                   6:kept  6:slot7  .        w5=55
         20     .                   .       .        .        w6=55
         21     .                   .       .        .        w7=66",
    );
}

#[test]
fn a_miss_without_a_free_mshr_entry_is_refused_until_the_last_waiter_leaves() {
    let script = [(3, Load(5)), (4, Load(5)), (5, Load(6)), (8, Answer(5, 0x55))];
    expect(
        &L1Config { mshr_entries: 1, ..l1() },
        &script,
        OPEN,
        "
         cycle  tags                fill    leaves   mem_req  core_rsp
         3      5:miss              .       .        .        .
         4      5:hit-pending       .       .        .        .
         5      6:MSHR_ENTRY[.E..]  .       .        read:5   .
         6      6:MSHR_ENTRY[.E..]  .       .        .        .
         7      6:MSHR_ENTRY[.E..]  .       .        .        .
         8      6:MSHR_ENTRY[.E..]  5:kept  5:slot0  .        .
         9      6:miss              .       5:slot1  .        .
         10     .                   .       .        .        w0=55
         11     .                   .       .        read:6   w1=55",
    );
}

#[test]
fn a_line_whose_waiters_still_leave_is_refused_though_an_entry_is_free() {
    let script = [(3, Load(5)), (4, Load(5)), (5, Load(5)), (8, Store(5, 0x77)), (9, Load(5)), (8, Answer(5, 0x55))];
    expect(
        &L1Config { mshr_merges: 3, ..l1() },
        &script,
        OPEN,
        "
         cycle  tags                fill    leaves   mem_req     core_rsp
         3      5:miss              .       .        .           .
         4      5:hit-pending       .       .        .           .
         5      5:hit-pending       .       .        read:5      .
         6      .                   .       .        .           .
         7      .                   .       .        .           .
         8      5:evicted           5:kept  5:slot0  .           .
         9      5:MSHR_ENTRY[.E..]  .       5:slot1  .           .
         10     5:miss              .       5:slot2  write:5/1B  w0=55
         11     .                   .       .        .           w1=55
         12     .                   .       .        read:5      w2=55",
    );
}

#[test]
fn a_third_load_of_a_line_with_two_slots_is_refused_and_hits_in_the_cycle_of_the_fill() {
    let script = [(3, Load(5)), (4, Load(5)), (5, Load(5)), (8, Answer(5, 0x55))];
    expect(
        &l1(),
        &script,
        OPEN,
        "
         cycle  tags                fill    leaves   mem_req  core_rsp
         3      5:miss              .       .        .        .
         4      5:hit-pending       .       .        .        .
         5      5:MSHR_MERGE[..M.]  .       .        read:5   .
         6      5:MSHR_MERGE[..M.]  .       .        .        .
         7      5:MSHR_MERGE[..M.]  .       .        .        .
         8      5:hit               5:kept  5:slot0  .        .
         9      .                   .       5:slot1  .        .
         10     .                   .       .        .        w2=55
         11     .                   .       .        .        w0=55
         12     .                   .       .        .        w1=55",
    );
}

#[test]
fn a_full_miss_queue_refuses_misses_and_stores_until_a_request_leaves() {
    let l1 = L1Config { miss_queue: 2, ..l1() };
    expect(
        &l1,
        &[(3, Store(4, 0x44)), (4, Store(5, 0x55)), (5, Load(6))],
        0..6,
        "
         cycle  tags                fill  leaves  mem_req     core_rsp
         3      4:written-through   .     .       .           .
         4      5:written-through   .     .       .           .
         5      6:MISS_QUEUE[...Q]  .     .       .           .
         6      6:MISS_QUEUE[...Q]  .     .       .           .
         7      6:miss              .     .       .           .
         8      .                   .     .       write:4/1B  .
         9      .                   .     .       write:5/1B  .
         10     .                   .     .       read:6      .",
    );
    expect(
        &l1,
        &[(3, Store(4, 0x44)), (4, Store(5, 0x55)), (5, Store(6, 0x66))],
        0..6,
        "
         cycle  tags                fill  leaves  mem_req     core_rsp
         3      4:written-through   .     .       .           .
         4      5:written-through   .     .       .           .
         5      6:MISS_QUEUE[...Q]  .     .       .           .
         6      6:MISS_QUEUE[...Q]  .     .       .           .
         7      6:written-through   .     .       .           .
         8      .                   .     .       write:4/1B  .
         9      .                   .     .       write:5/1B  .
         10     .                   .     .       write:6/1B  .",
    );
}

#[test]
fn the_order_of_the_checks_decides_what_is_reported_when_entry_and_queue_fail() {
    let script = [(3, Load(4)), (4, Store(5, 0x55)), (5, Load(6)), (11, Answer(4, 0x44))];
    let mshr_first = L1Config { mshr_entries: 1, miss_queue: 2, ..l1() };
    let queue_first = L1Config { fail_order: FailOrder::QueueFirst, ..mshr_first.clone() };
    expect(
        &mshr_first,
        &script,
        0..7,
        "
         cycle  tags                fill    leaves   mem_req     core_rsp
         3      4:miss              .       .        .           .
         4      5:written-through   .       .        .           .
         5      6:MSHR_ENTRY[.E.Q]  .       .        .           .
         6      6:MSHR_ENTRY[.E.Q]  .       .        .           .
         7      6:MSHR_ENTRY[.E.Q]  .       .        .           .
         8      6:MSHR_ENTRY[.E..]  .       .        .           .
         9      6:MSHR_ENTRY[.E..]  .       .        read:4      .
         10     6:MSHR_ENTRY[.E..]  .       .        write:5/1B  .
         11     6:miss              4:kept  4:slot0  .           .
         12     .                   .       .        .           .
         13     .                   .       .        read:6      w0=44",
    );
    expect(
        &queue_first,
        &script,
        0..7,
        "
         cycle  tags                fill    leaves   mem_req     core_rsp
         3      4:miss              .       .        .           .
         4      5:written-through   .       .        .           .
         5      6:MISS_QUEUE[.E.Q]  .       .        .           .
         6      6:MISS_QUEUE[.E.Q]  .       .        .           .
         7      6:MISS_QUEUE[.E.Q]  .       .        .           .
         8      6:MSHR_ENTRY[.E..]  .       .        .           .
         9      6:MSHR_ENTRY[.E..]  .       .        read:4      .
         10     6:MSHR_ENTRY[.E..]  .       .        write:5/1B  .
         11     6:miss              4:kept  4:slot0  .           .
         12     .                   .       .        .           .
         13     .                   .       .        read:6      w0=44",
    );
}

#[test]
fn a_missing_line_is_reported_before_all_else_in_both_orders() {
    let script = [(3, Load(4)), (4, Store(5, 0x55)), (5, Load(6)), (10, Answer(4, 0x44))];
    for fail_order in [FailOrder::MshrFirst, FailOrder::QueueFirst] {
        let l1 = L1Config { ways: 1, mshr_entries: 1, miss_queue: 2, fail_order, ..l1() };
        expect(
            &l1,
            &script,
            0..6,
            "
         cycle  tags                fill    leaves   mem_req     core_rsp
         3      4:miss              .       .        .           .
         4      5:written-through   .       .        .           .
         5      6:LINE_ALLOC[LE.Q]  .       .        .           .
         6      6:LINE_ALLOC[LE.Q]  .       .        .           .
         7      6:LINE_ALLOC[LE..]  .       .        .           .
         8      6:LINE_ALLOC[LE..]  .       .        read:4      .
         9      6:LINE_ALLOC[LE..]  .       .        write:5/1B  .
         10     6:miss,drops:4      4:kept  4:slot0  .           .
         11     .                   .       .        .           .
         12     .                   .       .        read:6      w0=44",
        );
    }
}

#[test]
fn a_global_store_drops_its_line_and_a_later_load_asks_memory_behind_it() {
    let script = [
        (3, Load(5)),
        (8, Answer(5, 0x11)),
        (10, Store(5, 0x22)),
        (11, Load(5)),
        (15, Answer(5, 0)),
        (16, Answer(5, 0x22)),
    ];
    expect(
        &l1(),
        &script,
        OPEN,
        "
         cycle  tags       fill    leaves   mem_req     core_rsp
         3      5:miss     .       .        .           .
         4      .          .       .        .           .
         5      .          .       .        read:5      .
         6      .          .       .        .           .
         7      .          .       .        .           .
         8      .          5:kept  5:slot0  .           .
         9      .          .       .        .           .
         10     5:evicted  .       .        .           w0=11
         11     5:miss     .       .        .           .
         12     .          .       .        write:5/1B  .
         13     .          .       .        read:5      .
         14     .          .       .        .           .
         15     .          .       .        .           .
         16     .          5:kept  5:slot0  .           .
         17     .          .       .        .           w1:stored
         18     .          .       .        .           w2=22",
    );
}

#[test]
fn a_store_to_a_line_on_its_way_lets_no_load_join_and_no_copy_stay() {
    let script = [
        (3, Load(5)),
        (4, Load(5)),
        (5, Store(5, 0x22)),
        (6, Load(5)),
        (9, Answer(5, 0x11)),
        (10, Answer(5, 0)),
        (14, Answer(5, 0x22)),
    ];
    expect(
        &L1Config { mshr_merges: 8, ..l1() },
        &script,
        OPEN,
        "
         cycle  tags                fill       leaves   mem_req     core_rsp
         3      5:miss              .          .        .           .
         4      5:hit-pending       .          .        .           .
         5      5:overtakes         .          .        read:5      .
         6      5:MSHR_MERGE[..M.]  .          .        .           .
         7      5:MSHR_MERGE[..M.]  .          .        write:5/1B  .
         8      5:MSHR_MERGE[..M.]  .          .        .           .
         9      5:MSHR_ENTRY[.E..]  5:dropped  5:slot0  .           .
         10     5:miss              .          5:slot1  .           .
         11     .                   .          .        .           w0=11
         12     .                   .          .        read:5      w1=11
         13     .                   .          .        .           w2:stored
         14     .                   5:kept     5:slot3  .           .
         15     .                   .          .        .           .
         16     .                   .          .        .           w3=22",
    );
}

#[test]
fn a_bypassing_load_takes_turns_with_queued_stores_of_other_lines() {
    let script = [(3, Store(5, 0x55)), (4, Store(6, 0x66)), (5, Uncached(7)), (6, Uncached(8))];
    expect(
        &l1(),
        &script,
        0..6,
        "
         cycle  tags               fill  leaves  mem_req     core_rsp
         3      5:written-through  .     .       .           .
         4      6:written-through  .     .       .           .
         5      .                  .     .       .           .
         6      .                  .     .       .           .
         7      .                  .     .       .           .
         8      7:bypass           .     .       write:5/1B  .
         9      .                  .     .       read:7      .
         10     8:bypass           .     .       write:6/1B  .
         11     .                  .     .       read:8      .",
    );
}

#[test]
fn a_bypassing_load_waits_for_a_queued_store_of_its_line() {
    let script = [(3, Store(5, 0x55)), (4, Store(6, 0x66)), (5, Uncached(6)), (6, Uncached(8))];
    expect(
        &l1(),
        &script,
        0..6,
        "
         cycle  tags               fill  leaves  mem_req     core_rsp
         3      5:written-through  .     .       .           .
         4      6:written-through  .     .       .           .
         5      .                  .     .       .           .
         6      .                  .     .       .           .
         7      .                  .     .       .           .
         8      .                  .     .       write:5/1B  .
         9      6:bypass           .     .       write:6/1B  .
         10     8:bypass           .     .       read:6      .
         11     .                  .     .       read:8      .",
    );
}

#[test]
fn a_bypassing_load_takes_no_line_and_no_mshr_entry() {
    let script = [(3, Uncached(5)), (4, Uncached(5)), (8, Answer(5, 0x11)), (9, Answer(5, 0x11))];
    expect(
        &L1Config { ways: 1, mshr_entries: 1, ..l1() },
        &script,
        OPEN,
        "
         cycle  tags      fill  leaves  mem_req  core_rsp
         3      5:bypass  .     .       .        .
         4      5:bypass  .     .       read:5   .
         5      .         .     .       read:5   .
         6      .         .     .       .        .
         7      .         .     .       .        .
         8      .         .     .       .        .
         9      .         .     .       .        .
         10     .         .     .       .        w0=11
         11     .         .     .       .        w1=11",
    );
}

#[test]
fn a_local_store_waits_until_the_line_is_read_and_is_stored_at_once() {
    let loads = (3..6).map(|cycle| (cycle, LocalLoad(5)));
    let rest = [(9, Answer(5, 0x11)), (9, LocalStore(5, 0x22)), (10, LocalLoad(5))];
    let script: Vec<_> = loads.chain(rest).collect();
    expect(
        &L1Config { mshr_merges: 3, ..l1() },
        &script,
        OPEN,
        "
         cycle  tags           fill    leaves   mem_req  core_rsp
         3      5:miss         .       .        .        .
         4      5:hit-pending  .       .        .        .
         5      5:hit-pending  .       .        read:5   .
         6      .              .       .        .        .
         7      .              .       .        .        .
         8      .              .       .        .        .
         9      .              5:kept  5:slot0  .        .
         10     .              .       5:slot1  .        .
         11     5:modified     .       5:slot2  .        w0=11
         12     5:hit          .       .        .        w1=11
         13     .              .       .        .        w2=11
         14     .              .       .        .        w3:stored
         15     .              .       .        .        w4=22",
    );
}

#[test]
fn a_modified_line_leaves_before_the_read_and_needs_two_places_in_the_miss_queue() {
    let l1 = L1Config { ways: 1, miss_queue: 2, ..l1() };
    let mut player = Player::new(&l1);
    player.play(&[(3, LocalLoad(5)), (8, Answer(5, 0x11)), (10, LocalStore(5, 0x22))], OPEN);
    player.play(&[(23, Store(9, 0x99)), (24, LocalLoad(6))], 20..25);
    assert_table(
        &player.table(),
        "
         cycle  tags                  fill    leaves   mem_req       core_rsp
         3      5:miss                .       .        .             .
         4      .                     .       .        .             .
         5      .                     .       .        read:5        .
         6      .                     .       .        .             .
         7      .                     .       .        .             .
         8      .                     5:kept  5:slot0  .             .
         9      .                     .       .        .             .
         10     5:modified            .       .        .             w0=11
         11     .                     .       .        .             .
         12     .                     .       .        .             w1:stored
         13     .                     .       .        .             .
         14     .                     .       .        .             .
         15     .                     .       .        .             .
         16     .                     .       .        .             .
         17     .                     .       .        .             .
         18     .                     .       .        .             .
         19     .                     .       .        .             .
         20     .                     .       .        .             .
         21     .                     .       .        .             .
         22     .                     .       .        .             .
         23     9:written-through     .       .        .             .
         24     6:MISS_QUEUE[...Q]    .       .        .             .
         25     6:MISS_QUEUE[...Q]    .       .        .             .
         26     6:miss,writes-back:5  .       .        .             .
         27     .                     .       .        write:9/1B    .
         28     .                     .       .        write:5/128B  .
         29     .                     .       .        read:6        .",
    );
}

#[test]
fn a_flush_forgets_every_line() {
    let mut player = Player::new(&l1());
    player.play(&[(3, Load(5)), (8, Answer(5, 0x11))], OPEN);
    player.lsu.flush();
    player.lockstep.flush(player.cycle).unwrap();
    let again = player.cycle + 3;
    player.play(&[(again, Load(5))], OPEN);
    assert_eq!(player.tags, [(3, "5:miss".to_owned()), (again, "5:miss".to_owned())]);
}

#[test]
fn an_atomic_drops_the_copy_and_brings_what_the_l2_held() {
    expect(
        &l1(),
        &[
            (3, Load(5)),
            (8, Answer(5, 0x11)),
            (11, Atomic(5)),
            (12, Load(5)),
            (16, Answer(5, 0x22)),
            (17, Answer(5, 0x33)),
        ],
        OPEN,
        "
         cycle  tags       fill    leaves   mem_req   core_rsp
         3      5:miss     .       .        .         .
         4      .          .       .        .         .
         5      .          .       .        read:5    .
         6      .          .       .        .         .
         7      .          .       .        .         .
         8      .          5:kept  5:slot0  .         .
         9      .          .       .        .         .
         10     .          .       .        .         w0=11
         11     5:evicted  .       .        .         .
         12     5:miss     .       .        .         .
         13     .          .       .        atomic:5  .
         14     .          .       .        read:5    .
         15     .          .       .        .         .
         16     .          .       .        .         .
         17     .          5:kept  5:slot1  .         .
         18     .          .       .        .         w1=22222222
         19     .          .       .        .         w2=33",
    );
}

#[test]
fn an_atomic_to_a_line_on_its_way_overtakes_it_and_no_later_load_may_join() {
    expect(
        &l1(),
        &[(3, Load(5)), (4, Reduce(5)), (5, Load(5)), (9, Answer(5, 0x11)), (11, Answer(5, 0)), (14, Answer(5, 0x22))],
        OPEN,
        "
         cycle  tags                fill       leaves   mem_req   core_rsp
         3      5:miss              .          .        .         .
         4      5:overtakes         .          .        .         .
         5      5:MSHR_MERGE[..M.]  .          .        read:5    .
         6      5:MSHR_MERGE[..M.]  .          .        reduce:5  .
         7      5:MSHR_MERGE[..M.]  .          .        .         .
         8      5:MSHR_MERGE[..M.]  .          .        .         .
         9      5:miss              5:dropped  5:slot0  .         .
         10     .                   .          .        .         .
         11     .                   .          .        read:5    w0=11
         12     .                   .          .        .         .
         13     .                   .          .        .         w1:stored
         14     .                   5:kept     5:slot2  .         .
         15     .                   .          .        .         .
         16     .                   .          .        .         w2=22",
    );
}

#[test]
fn a_bypassing_load_waits_behind_a_queued_atomic_of_its_line() {
    expect(
        &l1(),
        &[(5, Load(1)), (6, Reduce(5)), (7, Uncached(5))],
        4..9,
        "
         cycle  tags               fill  leaves  mem_req   core_rsp
         5      1:miss             .     .       .         .
         6      5:written-through  .     .       .         .
         7      .                  .     .       .         .
         8      .                  .     .       .         .
         9      .                  .     .       .         .
         10     .                  .     .       .         .
         11     .                  .     .       read:1    .
         12     5:bypass           .     .       reduce:5  .
         13     .                  .     .       read:5    .",
    );
}

#[test]
fn one_line_in_three_caches_is_asked_for_three_times_and_waiters_take_turns() {
    let script = [
        (3, Load(5)),
        (4, ConstLoad(5)),
        (5, TextureLoad(5)),
        (6, ConstLoad(5)),
        (7, TextureLoad(5)),
        (10, Answer(5, 0x11)),
        (11, Answer(5, 0x22)),
        (12, Answer(5, 0x33)),
    ];
    expect(
        &l1(),
        &script,
        OPEN,
        "
         cycle  tags           fill    leaves   mem_req  core_rsp
         3      5:miss         .       .        .        .
         4      5:miss         .       .        .        .
         5      5:miss         .       .        read:5   .
         6      5:hit-pending  .       .        read:5   .
         7      5:hit-pending  .       .        read:5   .
         8      .              .       .        .        .
         9      .              .       .        .        .
         10     .              5:kept  5:slot0  .        .
         11     .              5:kept  5:slot1  .        .
         12     .              5:kept  5:slot2  .        w0=11
         13     .              .       5:slot3  .        w1=22
         14     .              .       5:slot4  .        w2=33
         15     .              .       .        .        w3=22
         16     .              .       .        .        w4=33",
    );
}

#[test]
fn a_read_only_cache_refuses_a_miss_for_reasons_of_its_own() {
    let script = [
        (3, ConstLoad(5)),
        (4, ConstLoad(6)),
        (5, Load(7)),
        (9, Answer(5, 0x11)),
        (14, Answer(7, 0x33)),
        (15, Answer(6, 0x22)),
    ];
    expect(
        &l1(),
        &script,
        OPEN,
        "
         cycle  tags                fill    leaves   mem_req  core_rsp
         3      5:miss              .       .        .        .
         4      6:LINE_ALLOC[LE..]  .       .        .        .
         5      6:LINE_ALLOC[LE..]  .       .        read:5   .
         6      6:LINE_ALLOC[LE..]  .       .        .        .
         7      6:LINE_ALLOC[LE..]  .       .        .        .
         8      6:LINE_ALLOC[LE..]  .       .        .        .
         9      6:miss,drops:5      5:kept  5:slot0  .        .
         10     7:miss              .       .        .        .
         11     .                   .       .        read:6   w0=11
         12     .                   .       .        read:7   .
         13     .                   .       .        .        .
         14     .                   7:kept  7:slot2  .        .
         15     .                   6:kept  6:slot1  .        .
         16     .                   .       .        .        w2=33
         17     .                   .       .        .        w1=22",
    );
}
