//! Soak test (long random test) of whole machines: every legal configuration must run every kernel correctly.
//!
//! A test case starts from the machine `fermi` or `volta` and changes some, half or nearly all of those
//! configuration fields that this module knows. Small values are more likely than large ones. The machine
//! runs one of the small kernels with every check.
//!
//! Further runs of the same test case:
//!
//! - Some small machines run with lint, the evaluation mode that detects missed wake-ups, for a limited
//!   number of cycles.
//! - Some test cases run without golden models. If the machine can be divided into islands (partitions that
//!   one thread simulates), they use one to three threads. All counters and state hashes must agree with the
//!   first run.
//! - Some test cases run in the fast mode, without contract checks. All counters and the numbers of port uses
//!   must agree with the first run.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use rtl::cells::line::SECTOR_BYTES;
use rtl::kernel::Mode;
use rtl::noc::topology::{NocConfig, RoutedConfig};

use serde::{Deserialize, Serialize};

use super::shrink::Search;
use super::{Case, ShrunkCase, Work, file};
use crate::dram::random::distances;
use crate::kit::Random;
use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::launch::LaunchFile;
use warpsieve::readers::Counts;
use warpsieve::run::{Counters, Outcome, RunOptions, Threads, Verdict, run};

pub(super) const ABOUT: &str = "random machine configurations x small kernels: interpreter, golden L1, DRAM rules, \
                                shuffled order, lint, modes agree";

/// Cycle limit of a run in core cycles. It is far above what the slowest random machine needs for the longest
/// small kernel.
const MAX_CYCLES: u64 = 200_000_000;
/// Largest number of SMs with which a machine runs in lint mode. That mode is slow: it compares the state of
/// every hardware block at every clock edge.
const LINT_SMS: u64 = 3;
/// Number of core cycles that a machine runs in lint mode, which detects missed wake-ups.
const LINT_CYCLES: u64 = 5_000;

#[derive(Clone)]
struct Machine {
    /// Folder that contains the launch files of the kernels.
    folder: PathBuf,
    case: MachineCase,
}

/// Random test case. Failing test cases are saved in a file with these fields.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct MachineCase {
    seed: u64,
    /// Path of the launch file, relative to the folder of the kernels.
    launch: PathBuf,
    machine: String,
    /// Configuration fields that the test case changes, as assignments `FIELD=VALUE`.
    sets: Vec<String>,
    /// True if every hardware block is evaluated at every clock edge, even if it could sleep.
    evaluate_all: bool,
    /// Seed that shuffles the order in which hardware blocks are evaluated; `None` for the fixed order.
    shuffle: Option<u64>,
    /// True if the test case runs a second time, without golden models.
    twice: bool,
    /// True if the test case runs another time, without contract checks.
    unchecked: bool,
    /// Number of threads of the additional runs that divide the machine into islands (partitions that one
    /// thread simulates); `None` if there are no such runs.
    threads: Option<NonZeroUsize>,
    /// True if the test case runs another time in lint mode, for up to [`LINT_CYCLES`] cycles.
    lint: bool,
}

/// Generator of random values for configuration fields.
struct Draw {
    random: Random,
    /// True if fields of the machine `volta` are changed; false if fields of `fermi`. The legal values of the
    /// fields depend on the machine.
    is_volta: bool,
    /// Percentage of the configuration fields that are changed.
    changed: u64,
    sets: Vec<String>,
}

impl Draw {
    fn set(&mut self, field: &str, value: impl std::fmt::Display) {
        self.sets.push(format!("{field}={value}"));
    }

    /// Returns a random number from a range, with small numbers more likely. Returns `None` if the field is
    /// to keep its value.
    fn number(&mut self, from: u64, to: u64) -> Option<u64> {
        if !self.random.percent(self.changed) {
            return None;
        }
        let widest = to - from + 1;
        let width = 1 + self.random.below(widest);
        Some(from + self.random.below(width))
    }

    fn range(&mut self, field: &str, from: u64, to: u64) {
        if let Some(value) = self.number(from, to) {
            self.set(field, value);
        }
    }

    fn one_of<T: Copy + std::fmt::Display>(&mut self, field: &str, values: &[T]) {
        if let Some(at) = self.number(0, values.len() as u64 - 1) {
            self.set(field, values[at as usize]);
        }
    }

    /// Randomly selects the number of memory partitions, and whether they have separate or shared DRAM
    /// channels. By default, `volta` has 64 partitions.
    fn partitions(&mut self) {
        if self.is_volta || self.random.percent(30) {
            let log2 = if self.is_volta { self.number(0, 5).unwrap_or(6) } else { self.random.below(5) };
            let odd = if self.random.percent(25) { [3, 5][self.random.below(2) as usize] } else { 1 };
            let odd = if odd << log2 > 128 { 1 } else { odd };
            self.set("num_partitions", odd << log2);
            let sharers_log2 = self.random.below(log2 + 1);
            self.set("partitions_per_channel", 1 << sharers_log2);
            // A run has at most 1 KB, so that its number begins at address bit 10 or below.
            let masks = ["[10, 13, 17]", "[11, 14]", "[12, 16, 19]", "[15, 18]"];
            let most = masks.len().min(log2 as usize);
            match self.random.below(3) {
                0 if most > 0 => {
                    let bits = masks[..1 + self.random.below(most as u64) as usize].join(", ");
                    self.set("partition_index", format!("{{ kind = \"masks\", bits = [{bits}] }}"));
                }
                1 if log2 > 0 || odd == 1 => self.set("partition_index.kind", "i-poly"),
                _ => self.set("partition_index.kind", "modulo"),
            }
        } else {
            self.range("num_partitions", 1, 12);
            self.one_of("channels_per_partition", &[2, 1]);
        }
    }

    /// Randomly selects the number of sets of a cache, and a set index function that is legal for it.
    fn sets(&mut self, cache: &str, most_log2: u64, usual_log2: u64, has_fermi: bool) {
        let log2 = self.number(0, most_log2).unwrap_or(usual_log2);
        self.set(&format!("{cache}.sets"), 1 << log2);
        let fermi = has_fermi && matches!(log2, 5 | 6);
        let index = match self.random.below(3) {
            1 => {
                let reversed = self.random.percent(50);
                let addr_bits = 14 + self.random.below(19);
                format!("{{ kind = \"i-poly\", polynomial = 0, addr_bits = {addr_bits}, reversed = {reversed} }}")
            }
            2 if fermi => "{ kind = \"fermi\" }".to_owned(),
            _ => "{ kind = \"linear\" }".to_owned(),
        };
        self.set(&format!("{cache}.index"), index);
    }

    /// Randomly selects the bypass scheme of the L1. `judges` permits the contention test, and `protects`
    /// permits the protecting distance policy (PDP).
    fn bypass(&mut self, judges: bool, protects: bool) {
        let mut schemes = vec!["{ kind = \"all\" }".to_owned(), "{ kind = \"none\" }".to_owned()];
        if judges {
            schemes.push("{ kind = \"contentious\" }".to_owned());
        }
        if protects {
            let distances = [1, 5, 16, 255];
            schemes.extend(distances.map(|distance| format!("{{ kind = \"pdp\", distance = {distance} }}")));
        }
        if let Some(at) = self.number(0, schemes.len() as u64 - 1) {
            self.set("l1.bypass", &schemes[at as usize]);
        }
    }

    /// Randomly selects the line lengths of the L1 and the L2, and returns both in bytes.
    fn lines(&mut self) -> (u32, u32) {
        let pairs = [(128, 128), (128, 64), (128, 32), (64, 64), (64, 32)];
        let (l1, l2) = pairs[self.number(0, pairs.len() as u64 - 1).unwrap_or(0) as usize];
        self.set("l1.line_bytes", l1);
        self.set("l2.line_bytes", l2);
        self.one_of("interleave_bytes", &[256, 128, 1024]);
        (l1, l2)
    }

    fn sm(&mut self) {
        let warps = self.number(16, 64).unwrap_or(48);
        self.set("sm.warps", warps);
        self.set("sm.threads", warps * 32);
        self.one_of("sm.warp_lanes", &[32, 32, 64]);
        self.one_of("sm.simd_width", &[32, 16, 8]);
        self.range("sm.ctas", 1, 32);
        // A CTA of `leukocyte` needs 19,200 registers.
        self.one_of("sm.registers", &[20_480, 32_768, 65_536]);
        // Randomly selects the number of schedulers. With sub-cores, the schedulers divide the register banks
        // and the collectors among them.
        let usual = if self.is_volta { 2 } else { 1 };
        let parts = [1, 2, 4][self.number(0, 2).unwrap_or(usual) as usize];
        self.set("sm.schedulers", parts);
        let sub_cores = self.random.percent(if self.is_volta { 75 } else { 25 });
        self.set("sm.sub_cores", sub_cores);
        self.one_of("sm.pipes.int_pipe", &[false, true]);
        let schedulers = [
            "{ kind = \"loose-round-robin\" }",
            "{ kind = \"two-level\" }",
            "{ kind = \"greedy-then-oldest\" }",
            "{ kind = \"greedy-then-youngest\" }",
            "{ kind = \"caws\", decay = 3, greedy = true }",
            "{ kind = \"caws\", decay = 1, greedy = false }",
        ];
        self.one_of("sm.scheduler", &schedulers);
        self.range("sm.pipes.operand_read", 1, 16);
        self.range("sm.pipes.result_bus", 1, 8);
        for class in ["int.add", "int.mul", "int.mad", "fp.add", "fp.mad"] {
            self.range(&format!("sm.pipes.{class}.latency"), 1, 40);
            self.range(&format!("sm.pipes.{class}.interval"), 1, 8);
        }
        self.range("sm.pipes.param.latency", 1, 40);
        self.range("sm.pipes.param.interval", 1, 8);
        self.one_of("sm.operands.latches", &[false, true]);
        if sub_cores {
            self.one_of("sm.operands.banks", &[0, 4, 8, 16, 32]);
            for class in ["sp", "sfu", "memory"] {
                let each = 1 + self.random.below(8 / parts);
                self.set(&format!("sm.operands.{class}_collectors"), parts * each);
            }
            let each = self.random.below(8 / parts + 1);
            self.set("sm.operands.generic_collectors", parts * each);
        } else {
            self.one_of("sm.operands.banks", &[0, 1, 2, 8, 16, 32]);
            self.range("sm.operands.sp_collectors", 1, 8);
            self.range("sm.operands.sfu_collectors", 1, 8);
            self.range("sm.operands.memory_collectors", 1, 8);
            self.range("sm.operands.generic_collectors", 0, 8);
        }
        self.one_of("sm.shared.banks", &[1, 2, 4, 8, 16, 32]);
        self.range("sm.shared.latency", 1, 40);
    }

    /// Adds an instruction cache to half of the machines for which this feature is randomized. The cache may
    /// be as small as a single line.
    fn icache(&mut self, l1_line_bytes: u32) {
        if self.number(0, 1).is_none_or(|drawn| drawn == 0) {
            return self.one_of("sm.instruction_buffer", &[2, 4]);
        }
        self.set("sm.icache.kind", "cache");
        self.sets("sm.icache", 6, 2, l1_line_bytes == 128);
        self.range("sm.icache.ways", 1, 32);
        self.range("sm.icache.mshr_entries", 1, 64);
        self.one_of("sm.icache.instruction_bytes", &[4, 8, 16]);
    }

    /// Randomly selects the number of L1 ways, and how many of them kernels may use as shared memory. A way
    /// has `way` bytes.
    fn draw_unified(&mut self, way: u64) {
        let shared: u64 = if self.is_volta { 96 << 10 } else { 48 << 10 };
        let least = shared.div_ceil(way);
        let left = 1 + self.random.below(8);
        let some = self.random.below(least);
        self.set("l1.ways", least + left);
        let (some, most) = (some * way, least * way);
        self.set("sm.shared.carve_outs", if some > 0 { format!("[0, {some}, {most}]") } else { format!("[{most}]") });
    }

    fn l1(&mut self, l1_line_bytes: u32) {
        self.range("lsu.slots", 1, 64);
        self.range("lsu.access_queue", 1, 64);
        self.range("lsu.request_latency", 1, 40);
        self.range("lsu.reply_latency", 1, 40);
        if self.random.percent(if self.is_volta { 60 } else { 15 }) {
            // Kernels use some ways of this L1 as shared memory. The number of sets is large enough that a
            // few ways provide the required storage.
            let least = if self.is_volta && l1_line_bytes == 128 { 2 } else { 4 };
            let log2 = least + self.random.below(2);
            self.set("l1.sets", 1 << log2);
            self.draw_unified(u64::from(l1_line_bytes) << log2);
        } else {
            self.sets("l1", 7, 5, l1_line_bytes == 128);
            let ways = self.number(1, 16).unwrap_or(4);
            self.set("l1.ways", ways);
            self.set("sm.shared.carve_outs", "[]");
        }
        let most = if self.random.percent(20) { 512 } else { 64 };
        self.range("l1.mshr_entries", 1, most);
        self.range("l1.mshr_merges", 1, 64);
        self.mshr_policy("l1");
        self.range("l1.miss_queue", 2, 64);
        self.one_of("l1.fail_order", &["queue-first", "mshr-first"]);
        self.one_of("l1.bypass_sectors", &[32, 0]);
        self.one_of("l1.fetch", &["sectors", "line"]);
        let is_plain = !self.draw_decoupled();
        let judges = is_plain && !self.has("sm.warp_lanes=64");
        // The protecting distance policy (PDP) protects lines in LRU order, so it requires the default
        // replacement policy.
        self.bypass(judges, is_plain && !self.has("l1.replacement"));
        if is_plain {
            self.one_of("l1.mrpb.bypass", &["none", "associativity", "all"]);
        }
        self.one_of("l1.mrpb.queues", &[0, 1, 5, 48]);
        self.range("l1.mrpb.depth", 1, 32);
        self.one_of("l1.mrpb.order", &["fixed", "round-robin", "longest-first"]);
        self.one_of("l1.mrpb.greedy", &["true", "false"]);
        self.range("l1.mrpb.latency", 0, 1);
        self.prefetch(is_plain);
        self.victim(is_plain);
        self.lookups(l1_line_bytes);
        for (cache, usual_log2) in [("const_cache", 5), ("texture_cache", 2)] {
            self.sets(cache, 7, usual_log2, l1_line_bytes == 128);
            self.range(&format!("{cache}.ways"), 1, 32);
            self.range(&format!("{cache}.mshr_entries"), 1, 64);
            self.range(&format!("{cache}.mshr_merges"), 1, 64);
            self.replacement(cache, "pc");
        }
    }

    /// Randomly selects the prefetcher of the L1D. A prefetcher needs an MSHR entry in addition to one for
    /// loads. It cannot be combined with the protecting distance policy (PDP), which has no protection state
    /// for prefetched lines.
    fn prefetch(&mut self, is_plain: bool) {
        let is_refused =
            self.has("l1.bypass={ kind = \"pdp\"") || self.sets.iter().any(|set| set == "l1.mshr_entries=1");
        if !is_plain || is_refused || self.random.percent(60) {
            return;
        }
        let kinds = [
            "{ kind = \"next-line\", degree = 2, trigger = \"tagged\" }",
            "{ kind = \"next-line\", degree = 1, trigger = \"always\" }",
            "{ kind = \"stride\", entries = 16, confidence = 1, degree = 2 }",
            "{ kind = \"many-thread-aware\", warp_entries = 16, pc_entries = 4, degree = 2 }",
            "{ kind = \"stream\", streams = 4, window = 8, distance = 8, degree = 2 }",
        ];
        let drawn = kinds[self.random.below(kinds.len() as u64) as usize];
        self.set("l1.prefetch", drawn);
        self.set("l1.prefetch_limits.mshr_share", 1);
        self.set("l1.prefetch_limits.miss_queue_share", 1);
        self.range("l1.prefetch_limits.queue", 1, 64);
    }

    /// Adds a victim cache to a third of the L1Ds that may have one. The protecting distance policy (PDP)
    /// excludes a victim cache, because it has no protection state for lines of the victim cache.
    fn victim(&mut self, is_plain: bool) {
        if is_plain && !self.has("l1.bypass={ kind = \"pdp\"") && self.random.percent(33) {
            let lines = 1 + self.random.below(32);
            self.set("l1.victim", format!("{{ kind = \"lru\", lines = {lines} }}"));
        }
    }

    /// Randomly selects the number of lookups per cycle of the L1D. It is greater than one only if every
    /// scheme that observes the accesses supports several lookups per cycle.
    fn lookups(&mut self, l1_line_bytes: u32) {
        let fetches_sectors = self.has("l1.fetch=sectors") || self.is_volta && !self.has("l1.fetch=");
        let queues = self.has("l1.mrpb.queues=") && !self.has("l1.mrpb.queues=0");
        let one_a_cycle =
            ["l1.organisation=decoupled", "l1.bypass={ kind = \"pdp\"", "l1.prefetch={ kind = \"stream\""];
        let is_single = !fetches_sectors || queues || self.learns() || one_a_cycle.iter().any(|field| self.has(field));
        let most_log2 = if is_single { 0 } else { u64::from((l1_line_bytes / SECTOR_BYTES).ilog2()) };
        let log2 = self.number(0, most_log2).unwrap_or(most_log2);
        self.set("l1.lookups", 1 << log2);
        // Each tag bank looks up one line per cycle, so the number of tag banks limits the number of lookups
        // per cycle.
        let tag_banks: &[&str] = match log2 {
            0 => &["[]", "[[7]]", "[[8, 10, 11], [7, 9]]"],
            1 => &["[[7]]", "[[9, 13]]", "[[8, 10, 11], [7, 9]]"],
            _ => &["[[7], [8]]", "[[8, 10, 11, 13, 14], [7, 8, 9, 10, 12, 13]]"],
        };
        if self.random.percent(50) {
            let tag_banks = tag_banks[self.random.below(tag_banks.len() as u64) as usize];
            self.set("l1.banks", format!("{{ kind = \"words\", tag_bank_bits = {tag_banks} }}"));
        }
    }

    /// True if the test case already has an assignment that begins with the text `field`.
    fn has(&self, field: &str) -> bool {
        self.sets.iter().any(|set| set.starts_with(field))
    }

    /// Adds a sharing tracker to half of the machines that may have one. A tracker requires plain L1 tags, no
    /// victim cache, and a replacement policy that does not learn from every use of a line. Also, the L2 must
    /// neither recall lines from the L1s when it evicts them nor use eviction hints.
    fn tracker(&mut self, sms: u64) {
        let is_refused = self.learns() || self.has("l1.organisation=decoupled") || self.has("l1.victim=");
        let is_refused = is_refused || self.has("l2.flow.coherence=sharers") || self.has("l2.hints=true");
        if is_refused || self.random.percent(50) {
            return;
        }
        self.set("tracker.scheme", "corrected");
        let counts: Vec<u64> = [1, 2, 4, 8].into_iter().filter(|count| *count <= sms).collect();
        self.one_of("tracker.count", &counts);
        self.one_of("tracker.sets", &[8, 32, 128]);
        self.range("tracker.ways", 1, 8);
        self.one_of(
            "tracker.replacement",
            &[
                "{ kind = \"srrip\" }",
                "{ kind = \"tree-plru\" }",
                "{ kind = \"ship\", signature = \"region\", bits = 6 }",
                "{ kind = \"lru\" }",
            ],
        );
        self.one_of("tracker.sharers", &["last", "all"]);
        self.one_of("tracker.probes", &["kept", "all"]);
        self.range("tracker.transfers", 1, 64);
        self.one_of("l1.store_hit", &["update", "evict"]);
        // An L2 bank with a bypass scheme cannot have a prefetcher.
        if !self.has("l2.flow.kind=transient") && !self.has("l2.prefetch=") {
            self.one_of("l2.bypass.kind", &["coalesced", "all", "none"]);
        }
    }

    /// Randomly selects the replacement policy of a cache. `signature` is the kind of signature that accesses
    /// to this cache carry, for SHiP and Hawkeye. DRRIP and DIP need eight sets. Tree pseudo-LRU and Hawkeye
    /// are excluded if a set may have more ways than they support.
    fn replacement(&mut self, cache: &str, signature: &str) {
        let sets = format!("{cache}.sets=");
        let drawn = self.sets.iter().rev().find_map(|set| set.strip_prefix(&sets)?.parse::<u64>().ok());
        let count = if drawn.is_some_and(|sets| sets >= 8) { 11 } else { 9 };
        let policies =
            ["srrip", "brrip", "ship", "hawkeye", "lip", "bip", "random", "tree-plru", "lru", "dip", "drrip"];
        if !self.random.percent(self.changed) {
            return;
        }
        let policy = policies[self.random.below(count) as usize];
        let has_many_ways = self.is_volta && cache == "l1";
        let kind = if has_many_ways && ["tree-plru", "hawkeye"].contains(&policy) { "random" } else { policy };
        let more = match kind {
            "ship" => format!(", signature = \"{signature}\", bits = 6"),
            "hawkeye" => format!(", signature = \"{signature}\", bits = 6, sampled_sets = 1"),
            _ => String::new(),
        };
        self.set(&format!("{cache}.replacement"), format!("{{ kind = \"{kind}\"{more} }}"));
    }

    /// True if the L1D has a replacement policy with a table that is updated by every use of a line.
    fn learns(&self) -> bool {
        ["ship", "hawkeye", "tree-plru"].iter().any(|kind| self.has(&format!("l1.replacement={{ kind = \"{kind}\"")))
    }

    /// Randomly selects the replacement policy of the L1D. If the tag organization is randomized too, half of
    /// the L1Ds get decoupled tags. Returns true if the tags are decoupled.
    fn draw_decoupled(&mut self) -> bool {
        self.replacement("l1", "pc");
        if self.number(0, 1).is_none_or(|drawn| drawn == 0) {
            if self.random.percent(30) {
                self.set("l1.hints", true);
            }
            return false;
        }
        self.set("l1.organisation", "decoupled");
        let ways = self.sets.iter().rev().find_map(|set| set.strip_prefix("l1.ways=")?.parse().ok());
        let ways = ways.unwrap_or(if self.is_volta { 256 } else { 4 });
        let more = self.number(0, 32).unwrap_or(ways);
        self.set("l1.decoupled.tag_ways", ways + more);
        self.range("l1.decoupled.threshold", 0, 4);
        self.range("l1.decoupled.rc_init", 0, 3);
        self.one_of("l1.decoupled.threshold_cmp", &["above", "at-least"]);
        self.one_of("l1.decoupled.age_mode", &["twice", "once"]);
        self.one_of("l1.decoupled.tag_victim", &["any", "candidate"]);
        self.range("l1.decoupled.probe_extra", 0, 1);
        self.one_of("l1.dueling.leaders", &["pinned", "join-once", "none"]);
        self.one_of("l1.dueling.margin_of", &["points", "misses"]);
        self.range("l1.dueling.interval", 20, 500);
        self.range("l1.dueling.min_accesses", 1, 20);
        true
    }

    /// Randomly selects the clusters and links of a two-level network, such that no router has more than 64
    /// inputs even with four virtual channels.
    fn clusters(&mut self) {
        let drawn = |field: &str| self.sets.iter().rev().find_map(|set| set.strip_prefix(field)?.parse().ok());
        let (sms, partitions): (u64, u64) = (drawn("num_sms=").unwrap_or(15), drawn("num_partitions=").unwrap_or(6));
        let least = sms.div_ceil(40);
        let clusters = least + self.random.below(sms.min(6) - least + 1);
        self.set("noc.clusters", clusters);
        let least = partitions.div_ceil(40);
        let links = least + self.random.below(partitions.min(4) - least + 1);
        self.set("noc.links", links);
    }

    fn l2(&mut self, l2_line_bytes: u32) {
        self.range("xbar.buffer_flits", 5, 64);
        if self.random.percent(40) {
            self.one_of("noc.kind", &NocConfig::ROUTED.map(|kind| kind(RoutedConfig::default()).name()));
            if self.sets.last().is_some_and(|set| set.starts_with("noc.kind=")) {
                self.one_of("noc.virtual_channels", &[2, 4]);
                self.range("noc.hop_latency", 1, 6);
            }
            if self.sets.iter().any(|set| set == "noc.kind=two-level") {
                self.clusters();
            }
        }
        self.range("link.inject", 0, 100);
        self.range("link.request", 1, 200);
        self.range("link.reply", 1, 100);
        self.range("link.deliver", 0, 100);
        self.range("link.dram_return", 1, 200);
        self.sets("l2", 7, 6, l2_line_bytes == 128);
        self.range("l2.split_requests", 1, 64);
        self.range("l2.ways", 1, 32);
        self.range("l2.lookup_latency", 1, 20);
        if self.random.percent(90) {
            self.range("l2.mshr_entries", 1, 64);
        } else {
            self.one_of("l2.mshr_entries", &[128, 192, 1024]);
        }
        self.range("l2.mshr_merges", 1, 16);
        self.range("l2.reply_queue", 1, 16);
        self.range("l2.data_ports", 1, 2);
        self.one_of("l2.atomic_buffer", &[true, false]);
        self.one_of("l2.host_copies", &["update", "allocate"]);
        self.flow();
    }

    /// Selects the transient flow for half of the L2 banks for which the flow is randomized.
    fn flow(&mut self) {
        if self.number(0, 1).is_none_or(|drawn| drawn == 0) {
            self.range("l2.flow.miss_queue", 1, 16);
            self.range("l2.flow.write_back_queue", 1, 16);
            self.one_of("l2.flow.write_miss", &["fetch", "byte-mask", "fetch-partial"]);
            let has_masks =
                self.has("l2.flow.write_miss=byte-mask") || self.is_volta && !self.has("l2.flow.write_miss");
            let sectors = has_masks && self.random.percent(50);
            let fetch = if sectors { ["sectors", "sector-pairs"][self.random.below(2) as usize] } else { "line" };
            self.set("l2.flow.fetch", fetch);
            self.replacement("l2", "region");
            if self.random.percent(30) {
                self.set("l2.hints", true);
            }
            self.partition();
            self.mshr_policy("l2");
            self.l2_prefetch();
            return;
        }
        self.set("l2.flow.kind", "transient");
        self.range("l2.flow.pending_queue", 1, 64);
        self.one_of("l2.flow.serve_transient", &[true, false]);
        self.one_of("l2.flow.acknowledged", &[false, true]);
        self.one_of("l2.flow.coherence", &["sharers", "none"]);
        // A Fetch and Replacement Cache (FRC) of eight entries is a single set, so it is legal with an L2
        // bank of any size.
        self.one_of("l2.flow.frc.entries", &[0, 4, 8]);
        self.range("l2.flow.frc.swap_latency", 0, 8);
        self.one_of("l2.flow.frc.victim_bind", &["swap", "alloc"]);
    }

    /// Adds an MSHR policy to a third of the caches of one kind. An MSHR with a single entry cannot reserve
    /// an entry for the oldest requester.
    fn mshr_policy(&mut self, cache: &str) {
        if !self.random.percent(33) {
            return;
        }
        let field = format!("{cache}.mshr_entries=");
        let drawn = self.sets.iter().rev().find_map(|set| set.strip_prefix(&field)?.parse::<u64>().ok());
        let entries = drawn.unwrap_or(32);
        let policy = if cache == "l1" && entries > 1 && self.random.percent(50) {
            format!("{{ kind = \"by-age\", reserved = {} }}", 1 + self.random.below((entries - 1).min(8)))
        } else {
            let most = 1 + self.random.below(entries.min(8));
            format!("{{ kind = \"by-requester\", entries = {most}, waiting = {} }}", 1 + self.random.below(entries))
        };
        self.set(&format!("{cache}.mshr_policy"), policy);
    }

    /// Divides the ways of a third of the L2 banks with at least two ways among groups of SMs: constant
    /// numbers of ways for two groups, or numbers by utility.
    fn partition(&mut self) {
        let number = |field: &str| self.sets.iter().rev().find_map(|set| set.strip_prefix(field)?.parse::<u64>().ok());
        let ways = number("l2.ways=").unwrap_or(if self.is_volta { 24 } else { 16 });
        let sms = number("num_sms=").unwrap_or(1);
        if ways < 2 || sms < 2 || !self.random.percent(33) {
            return;
        }
        if self.random.percent(50) {
            let groups = 2 + self.random.below(ways.min(sms).min(8) - 1);
            let (sample_log2, period) = (self.random.below(3), 1 + self.random.below(300));
            // A bank may have fewer sets than the selected sampling interval.
            let sets = number("l2.sets=").unwrap_or(32).max(1);
            let keys = format!(
                "groups = {groups}, sms = [], sample_every = {}, period = {period}",
                sets.min(1 << sample_log2)
            );
            self.set("l2.partition", format!("{{ kind = \"utility\", {keys} }}"));
        } else {
            let first = 1 + self.random.below(ways - 1);
            let second = 1 + self.random.below(ways - first);
            self.set("l2.partition", format!("{{ kind = \"by-requester\", ways = [{first}, {second}], sms = [] }}"));
        }
    }

    /// Adds a prefetcher to a third of the L2 banks that may have one. A prefetcher needs an MSHR entry and a
    /// miss-queue entry in addition to those for requests.
    fn l2_prefetch(&mut self) {
        let has_room =
            !["l2.mshr_entries=1", "l2.flow.miss_queue=1"].iter().any(|field| self.sets.iter().any(|set| set == field));
        if !has_room || self.random.percent(67) {
            return;
        }
        let kinds = [
            "{ kind = \"next-line\", degree = 2, trigger = \"tagged\" }",
            "{ kind = \"next-line\", degree = 1, trigger = \"always\" }",
            "{ kind = \"stride\", confidence = 1, degree = 2 }",
            "{ kind = \"stream\", streams = 4, window = 8, distance = 8, degree = 2 }",
        ];
        let drawn = kinds[self.random.below(kinds.len() as u64) as usize];
        self.set("l2.prefetch", drawn);
        self.set("l2.prefetch_limits.mshr_share", 1);
        self.set("l2.prefetch_limits.miss_queue_share", 1);
        self.range("l2.prefetch_limits.queue", 1, 64);
        self.one_of("l2.prefetch_limits.page_bytes", &[65_536, 4096, 2_097_152]);
    }

    /// Randomly selects the arbitration policy of the DRAM channels.
    fn dram_policy(&mut self) {
        let policies = [
            "{ kind = \"fcfs\" }",
            "{ kind = \"fr-fcfs\", hit_cap = 0 }",
            "{ kind = \"fr-fcfs\", hit_cap = 1 }",
            "{ kind = \"fr-fcfs\", hit_cap = 20 }",
            "{ kind = \"bliss\", threshold = 2, interval = 1000 }",
            "{ kind = \"atlas\", quantum = 1000, starvation = 200, decay = 3 }",
            "{ kind = \"par-bs\", marking_cap = 2 }",
        ];
        self.one_of("dram.policy", &policies);
    }

    /// Randomly selects the width of the DRAM bus. Also selects a burst length of 32 or 64 bytes that is not
    /// longer than an L2 line.
    fn burst(&mut self, l2_line_bytes: u32) {
        let bursts = [(32, 8), (128, 2), (64, 4), (64, 8), (128, 4), (32, 16)];
        let most = if l2_line_bytes == 32 { 2 } else { bursts.len() as u64 - 1 };
        // If the lines have 32 bytes, the machine's default burst would be longer than a line, so another
        // burst length must be selected.
        let drawn = self.number(0, most).or((l2_line_bytes == 32).then_some(0));
        if let Some((bits, length)) = drawn.map(|at| bursts[at as usize]) {
            self.set("dram.bus_bits", bits);
            self.set("dram.burst_length", length);
        }
    }

    /// Randomly selects an address mapping that is legal for every channel size that a test case can select.
    fn dram_mapping(&mut self) {
        let fields = [
            "[\"column\", \"group\", \"bank\", \"row\"]",
            "[\"column\", \"bank\", \"group\", \"row\"]",
            "[\"column:2\", \"bank:1\", \"column\", \"bank\", \"group\", \"row\"]",
            "[\"row:1\", \"bank:1\", \"column:3\", \"row:3\", \"group\", \"bank\", \"column\", \"row\"]",
        ];
        // With one bank group, the machine's default mapping would use one address bit too many, so another
        // mapping must be selected.
        let needs_other = self.sets.iter().any(|set| set == "dram.bank_groups=1");
        if let Some(at) = self.number(0, fields.len() as u64 - 1).or(needs_other.then_some(0)) {
            self.set("dram.mapping.fields", fields[at as usize]);
        }
        let xors = ["[]", "[\"bank ^ row\", \"group ^ row[3..]\"]", "[\"bank[0] ^ row[3] ^ column[2] ^ row[9]\"]"];
        self.one_of("dram.mapping.xor", &xors);
    }

    fn dram(&mut self, l2_line_bytes: u32) {
        self.range("dram.queue_entries", 1, 64);
        self.range("dram.reply_entries", 1, 256);
        self.dram_policy();
        self.burst(l2_line_bytes);
        self.one_of("dram.command_bus", &["dual", "single"]);
        self.one_of("dram.bank_groups", &[1, 2, 4, 8]);
        self.one_of("dram.banks_per_group", &[2, 4, 8]);
        // Even two DRAM banks with the smallest number of rows can hold all buffers of the small kernels.
        self.one_of("dram.rows", &[16_384, 65_536]);
        self.one_of("dram.columns", &[16, 64, 256]);
        self.dram_mapping();
        let mut timing = crate::dram::bench::reference().timing;
        let mut changes = Vec::new();
        if self.random.percent(self.changed) {
            timing = distances(&mut self.random, timing);
            changes.extend(toml::Table::try_from(timing).unwrap_or_default());
            changes.retain(|(field, _)| !["rfc", "refi"].contains(&field.as_str()));
        }
        if self.random.percent(50) {
            self.set("dram.refresh", "all-bank");
            timing.rfc = timing.rc + self.random.below(100) as u32;
            timing.refi = timing.refresh_busy() as u32 + 1 + self.random.below(4000) as u32;
            changes.extend(
                [("rfc", timing.rfc), ("refi", timing.refi)].map(|(field, cycles)| (field.to_owned(), cycles.into())),
            );
        } else if !changes.is_empty() {
            changes.push(("rfc".to_owned(), timing.rfc.into()));
        }
        changes.into_iter().for_each(|(field, cycles)| self.set(&format!("dram.timing.{field}"), cycles));
    }
}

/// Returns the path of every kernel's small launch file, sorted by name.
fn small_launches(kernels: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(kernels).into_iter().flatten().flatten();
    let mut files: Vec<_> = folders.map(|folder| Path::new(&folder.file_name()).join("small")).collect();
    files.retain(|file| LaunchFile::exists(&kernels.join(file)));
    files.sort();
    files
}

pub(super) fn draw(kernels: &Path, seed: u64) -> Box<dyn Case> {
    Box::new(Machine { folder: kernels.to_owned(), case: draw_case(kernels, seed) })
}

pub(super) fn reread(kernels: &Path, _: &Path, text: &[u8]) -> Result<Box<dyn Case>, String> {
    Ok(Box::new(Machine { folder: kernels.to_owned(), case: file::read(text)? }))
}

fn draw_case(kernels: &Path, seed: u64) -> MachineCase {
    let mut random = Random::new(seed);
    let launches = small_launches(kernels);
    let at = random.below(launches.len().max(1) as u64) as usize;
    // If there are no launch files, the test case fails later with a message about the folder.
    let launch = launches.get(at).cloned().unwrap_or_default();
    let changed = [10, 50, 90][random.below(3) as usize];
    let is_volta = random.percent(25);
    let mut draw = Draw { random, is_volta, changed, sets: Vec::new() };
    // Machines with many SMs are generated rarely, since they take long to simulate.
    let sms = if draw.random.percent(3) { draw.number(21, 144) } else { draw.number(1, 20) }.unwrap_or(15);
    draw.set("num_sms", sms);
    draw.partitions();
    draw.range("addr_bits", 26, 49);
    draw.one_of("clock.core_khz", &[350_000, 1_400_000, 700_000]);
    draw.one_of("clock.xbar_khz", &[350_000, 700_000, 1_400_000]);
    draw.one_of("clock.l2_khz", &[350_000, 1_400_000, 700_000]);
    draw.one_of("clock.dram_khz", &[462_000, 700_000, 1_848_000, 924_000]);
    let (l1_line_bytes, l2_line_bytes) = draw.lines();
    draw.sm();
    draw.icache(l1_line_bytes);
    draw.l1(l1_line_bytes);
    draw.l2(l2_line_bytes);
    draw.tracker(sms);
    draw.dram(l2_line_bytes);
    let Draw { mut random, sets, .. } = draw;
    let machine = if is_volta { "volta" } else { "fermi" };
    // The seed is shifted right by one bit, because unsigned integers in TOML files have only 63 bits.
    let shuffle = random.percent(50).then(|| random.below(u64::MAX) >> 1);
    let lint = sms <= LINT_SMS && random.percent(50);
    let evaluate_all = random.percent(20);
    let twice = random.percent(25);
    let unchecked = random.percent(50);
    let threads = NonZeroUsize::new(random.below(4) as usize);
    MachineCase {
        seed,
        launch,
        machine: machine.to_owned(),
        sets,
        evaluate_all,
        shuffle,
        twice,
        unchecked,
        threads,
        lint,
    }
}

/// Results of a run that are compared: counters, numbers of port uses, and hashes of state and payloads.
type RunOutputs = (Counters, Option<Counts>, Option<(u64, u64)>);

impl MachineCase {
    fn request(&self) -> Request {
        Request { machine: self.machine.clone(), designs: Vec::new(), sets: self.sets.clone() }
    }
}

impl Machine {
    /// Runs the machine with one set of options. Returns `None` if it reaches the cycle limit without a
    /// failure.
    fn run(&self, resolved: &ResolvedMachine, options: RunOptions) -> Result<Option<RunOutputs>, String> {
        let launch = self.folder.join(&self.case.launch);
        let report = run(&launch, &resolved.config, &options, &mut |_| {}).map_err(|e| e.to_string())?;
        match (report.outcome, report.verdict) {
            (_, Verdict::Failed(checks)) => Err(format!("check failed:\n{}", checks.join("\n"))),
            (Outcome::Finished, Verdict::Off) if options.check => Err("nothing was checked".to_owned()),
            (Outcome::Finished, _) => Ok(Some((report.counters, report.structures, report.digests))),
            (Outcome::NoProgress(waiting), _) => {
                Err(format!("no progress after cycle {}:\n{waiting}", report.counters.cycles))
            }
            (Outcome::Interrupted(signal), _) => Err(format!("interrupted by signal {signal}")),
            (Outcome::CycleLimit(_), _) => Ok(None),
        }
    }
}

impl Case for Machine {
    fn reproduce(&self) -> String {
        let MachineCase { seed, launch, machine, sets, evaluate_all, shuffle, twice, unchecked, threads, lint } =
            &self.case;
        let sets: Vec<_> = sets.iter().map(|set| format!(" --set '{set}'")).collect();
        let launch = self.folder.join(launch);
        let once = format!("warpsieve run {} --check --machine {machine}{}", launch.display(), sets.concat());
        let order = if shuffle.is_some() { "shuffled" } else { "fixed" };
        let lint = if *lint { format!(", then lint up to cycle {LINT_CYCLES}") } else { String::new() };
        let threads = threads.map_or("in lockstep".to_owned(), |of| format!("in islands on {of} threads"));
        let twice = if *twice { format!(", then without golden models, {threads}") } else { String::new() };
        let unchecked = if *unchecked { format!(", then without contract checks, {threads}") } else { String::new() };
        format!(
            "{once}\nin this mode: evaluate_all {evaluate_all}, order {order}{lint}{twice}{unchecked}\n\
             warpsieve soak machines --seed {seed} --count 1"
        )
    }

    fn run(&self) -> Result<Work, String> {
        let MachineCase { evaluate_all, shuffle, twice, unchecked, threads, lint, .. } = self.case;
        let resolved = ResolvedMachine::new(&self.case.request()).map_err(|e| e.lines().join("\n"))?;
        let mode = Mode { evaluate_all, shuffle, digest: twice, ..Mode::default() };
        let plain = RunOptions { structures: true, max_cycles: Some(MAX_CYCLES), ..RunOptions::default() };
        let checked = |mode| RunOptions { check: true, mode, ..plain.clone() };
        let ran = Self::run(self, &resolved, checked(mode))?;
        let (counters, ports, digests) = ran.ok_or_else(|| format!("not done after {MAX_CYCLES} cycles"))?;
        let linted = RunOptions { max_cycles: Some(LINT_CYCLES), ..checked(Mode { lint: true, ..mode }) };
        // A machine that cannot be divided into islands (partitions that one thread simulates) runs a second
        // time without islands.
        let threads = threads.map_or(Threads::InStep, Threads::Of);
        let plain = RunOptions { threads, ..plain };
        let again = RunOptions { mode: Mode { digest: true, ..Mode::default() }, ..plain.clone() };
        let fast = RunOptions { mode: Mode::FAST, ..plain.clone() };
        let others = [lint.then_some(linted), twice.then_some(again), unchecked.then_some(fast)];
        let mut work = Work { runs: 1, cycles: counters.cycles, warp_instructions: counters.warp_instructions() };
        for options in others.into_iter().flatten() {
            work.runs += 1;
            let lints = options.mode.lint;
            let max_cycles = options.max_cycles.unwrap_or(0);
            let Some((again, used, agreed)) = Self::run(self, &resolved, options)? else {
                work.cycles += max_cycles;
                continue;
            };
            work.cycles += again.cycles;
            work.warp_instructions += again.warp_instructions();
            if again != counters {
                return Err(format!("counters depend on the mode of evaluation:\n{counters:?}\n{again:?}"));
            }
            // With `evaluate_all` or lint, a hardware block may repeat its lookup while it waits. The
            // repeated lookup uses the ports again.
            if !mode.evaluate_all && !lints && used != ports {
                return Err(format!("uses of ports depend on the mode of evaluation:\n{ports:?}\n{used:?}"));
            }
            if agreed.is_some() && agreed != digests {
                return Err(format!("digests depend on the mode of evaluation: {digests:x?}, {agreed:x?}"));
            }
        }
        Ok(work)
    }

    /// Searches for a smaller test case that still fails: removes additional runs and modes first, then
    /// configuration fields.
    fn shrink(&self, search: &Search) -> Option<ShrunkCase> {
        let with = |case: MachineCase| Self { folder: self.folder.clone(), case };
        let fails = |case: &MachineCase| search.fails(&with(case.clone()));
        let mut case = self.case.clone();
        if !fails(&case) {
            return None;
        }
        let less: [fn(&mut MachineCase); 7] = [
            |case| case.lint = false,
            |case| case.twice = false,
            |case| case.unchecked = false,
            |case| case.evaluate_all = false,
            |case| case.shuffle = None,
            |case| case.threads = None,
            |case| case.machine = "fermi".to_owned(),
        ];
        for less in less {
            let mut without = case.clone();
            less(&mut without);
            if fails(&without) {
                case = without;
            }
        }
        let all = case.sets.len();
        let sets = search.minimize(&case.sets, |sets| fails(&MachineCase { sets: sets.to_vec(), ..case.clone() }));
        let case = MachineCase { sets, ..case };
        Some(file::found(search, &case, format!("{} of {all} fields that are set", case.sets.len())))
    }
}

#[cfg(test)]
mod tests {
    use rtl::dram::config::CommandBus;
    use rtl::l2::{FetchUnit, FlowConfig};
    use rtl::machine::{MachineConfig, PartitionIndex};
    use rtl::sm::InstructionStore;

    use super::*;

    fn has_sectors(config: &MachineConfig) -> bool {
        matches!(&config.l2.flow, FlowConfig::Overlapped(flow) if flow.fetch != FetchUnit::Line)
    }

    /// Feature of a machine: its name, and a function that returns true if a machine has the feature.
    type Part = (&'static str, fn(&MachineConfig) -> bool);

    /// Features that present-day GPUs have.
    const TODAY: [Part; 13] = [
        ("sectors in the L2", has_sectors),
        ("an instruction cache", |config| matches!(config.sm.icache, InstructionStore::Cache(_))),
        ("separate row and column buses", |config| config.dram.command_bus == CommandBus::Dual),
        ("sub-cores", |config| config.sm.sub_cores && config.sm.schedulers > 1),
        ("word banks in the L1", |config| config.l1.banks.as_words().is_some()),
        ("shared memory carved out of the L1", |config| !config.sm.shared.carve_outs.is_empty()),
        ("L2 banks that share a channel", |config| config.partitions_per_channel > 1),
        ("hashed partitions", |config| {
            matches!(config.partition_index, PartitionIndex::IPoly(_)) && config.num_partitions > 1
        }),
        ("partitions by masks", |config| matches!(config.partition_index, PartitionIndex::Masks(_))),
        ("deep instruction buffers", |config| config.sm.instruction_buffer > 2),
        ("many MSHR entries", |config| config.l1.mshr_entries > 256),
        ("routers", |config| config.noc.as_routed().is_some()),
        ("round-robin warps", |config| config.sm.scheduler.typetag_name() == "loose-round-robin"),
    ];

    #[test]
    fn drawn_machines_break_no_rule_and_have_what_machines_of_today_have() {
        let mut having = [0; TODAY.len()];
        let mut all = 0;
        for seed in 0..1000 {
            let drawn = draw_case(Path::new("none"), seed);
            let config = ResolvedMachine::new(&drawn.request()).map_err(|e| panic!("seed {seed}: {e}")).unwrap().config;
            let has = TODAY.map(|(_, has)| has(&config));
            having.iter_mut().zip(has).for_each(|(count, has)| *count += i32::from(has));
            all += i32::from(has.iter().filter(|has| **has).count() >= 6);
        }
        // Of 1000 random machines, at least 50 must have each feature. At least 10 machines must have six or
        // more features at once.
        for ((what, _), count) in TODAY.iter().zip(having) {
            assert!(count >= 50, "{what}: {count} of 1000");
        }
        assert!(all >= 10, "{all} of 1000");
    }

    /// Tests the reduction of a machine configuration that fails: all settings are removed except the one
    /// that causes the failure. Here, this setting is illegal whatever the other settings are.
    #[test]
    fn a_machine_that_fails_shrinks_to_the_fields_that_make_it_fail_and_is_replayed_from_its_file() {
        let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels");
        let planted = "l1.miss_queue=1";
        let mut case = MachineCase { launch: "vadd/small".into(), ..draw_case(&kernels, 3) };
        case.sets.retain(|set| !set.starts_with("l1.miss_queue"));
        case.sets.push(planted.to_owned());
        let machine = Machine { folder: kernels.clone(), case };
        let wrong = Case::run(&machine).unwrap_err();
        assert!(wrong.contains("l1.miss_queue is 1, expected 2 to "), "{wrong}");
        let found = machine.shrink(&Search::new(&wrong, std::time::Duration::from_secs(60))).unwrap();
        let again = reread(&kernels, Path::new("machines-3.toml"), &found.bytes).unwrap();
        assert_eq!(again.run().unwrap_err().lines().next(), wrong.lines().next());
        let kept: MachineCase = file::read(&found.bytes).unwrap();
        assert_eq!((kept.sets, kept.machine.as_str()), (vec![planted.to_owned()], "fermi"));
        assert!(!kept.lint && !kept.twice && !kept.unchecked && kept.threads.is_none() && kept.shuffle.is_none());
    }
}
