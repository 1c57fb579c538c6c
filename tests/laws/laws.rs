//! Defines the conservation laws of the statistics. They are listed in the order in which a memory access
//! passes through the hardware blocks of the machine.

use rtl::l1::config::{Fetch, Organisation};
use rtl::machine::MachineConfig;
use rtl::noc::topology::NocConfig;

use super::relation::Relation::{AtMost, Equal, Near};
use super::relation::{Relation, Statistics};

/// Conservation law: a relation between sums of counters that holds in every run.
pub struct Law {
    pub name: &'static str,
    /// The law as a formula in words, in common terms of computer architecture.
    pub says: &'static str,
    pub on: On,
    pub holds: fn(&Statistics<'_>) -> Vec<Relation>,
}

/// Set of runs in which a law holds.
pub enum On {
    Every,
    /// The law holds only on some machines. The function selects these machines, and the text states why the
    /// law does not hold on others.
    Only(fn(&Statistics<'_>) -> bool, &'static str),
}

const LOADS: [&str; 4] = ["hits", "hit_pending", "misses", "bypasses"];
const FETCHES: [&str; 3] = ["hits", "hit_pending", "misses"];
const WRITES: [&str; 3] = ["write_hits", "write_pending", "write_misses"];
const ATOMICS: [&str; 3] = ["atomic_hits", "atomic_pending", "atomic_misses"];
const MISSES: [&str; 3] = ["misses", "write_misses", "atomic_misses"];
const READ_ONLY: [&str; 2] = ["const_cache", "texture_cache"];
const LSU_CACHES: [&str; 3] = ["l1", "const_cache", "texture_cache"];
const REFUSALS: [&str; 4] = ["line_alloc", "mshr_entry", "mshr_merge", "miss_queue"];
const READ_STAGES: [&str; 3] = ["requests", "l2", "replies"];

/// Returns the number of reads that all L1s, including instruction caches, sent to the L2.
fn reads(s: &Statistics<'_>) -> i128 {
    let fetches = s.count("icache.misses");
    data_reads(s) + fetches
}

/// Returns the number of data reads that all L1s sent to the L2, without instruction fetches.
fn data_reads(s: &Statistics<'_>) -> i128 {
    line_reads(s) + s.count("l1.bypasses")
}

/// Returns the number of load misses in all caches of the load-store units: L1, constant cache and texture
/// cache.
fn load_misses(s: &Statistics<'_>) -> i128 {
    s.count("l1.misses") + READ_ONLY.iter().map(|cache| s.count(&format!("{cache}.misses"))).sum::<i128>()
}

/// Returns the number of lines that all caches of the load-store units fetched: load misses and L1
/// prefetches.
fn line_reads(s: &Statistics<'_>) -> i128 {
    load_misses(s) + s.count("l1.prefetch.issued")
}

fn prefetches(s: &Statistics<'_>) -> bool {
    s.config.l1.prefetch.is_on()
}

fn l2_prefetches(s: &Statistics<'_>) -> bool {
    s.config.l2.prefetch.is_on()
}

fn victims(s: &Statistics<'_>) -> bool {
    s.config.l1.victim.is_on()
}

fn stores(s: &Statistics<'_>) -> i128 {
    s.sum("l1", &["store_hits", "store_misses"])
}

/// Returns the number of DRAM bursts that make up an L2 line.
fn bursts(config: &MachineConfig) -> i128 {
    (config.l2.line_bytes / config.dram.burst_bytes()).max(1).into()
}

fn has_equal_lines(s: &Statistics<'_>) -> bool {
    s.config.l1.line_bytes == s.config.l2.line_bytes
}

fn is_by_lines(s: &Statistics<'_>) -> bool {
    !s.config.l2.fetches_sectors()
}

const SHORT_LINES: &str = "an L1 line is several L2 lines, of which a request names some";
const BY_SECTORS: &str = "sectors are fetched, of which a line has several";

pub const LAWS: &[Law] = &[
    // Conservation laws of the warp schedulers.
    Law {
        name: "every scheduler of an SM spends every cycle once",
        says: "issued + stalls = cycles x schedulers, in each SM",
        on: On::Every,
        holds: |s| {
            let slots = s.count("cycles") * s.count("schedulers");
            let sm = |sm: String| Equal(s.count(&format!("{sm}.issued")) + s.all(&format!("{sm}.stalls")), slots);
            s.each("units.sm").into_iter().map(sm).collect()
        },
    },
    Law {
        name: "all schedulers spend every cycle once",
        says: "issued + stalls = cycles x schedulers x SMs",
        on: On::Every,
        holds: |s| {
            let slots = s.count("cycles") * s.count("schedulers") * s.each("units.sm").len() as i128;
            vec![Equal(s.count("issued") + s.all("stalls"), slots)]
        },
    },
    Law {
        name: "stalls are those of all SMs",
        says: "stalls by reason = sums over SMs",
        on: On::Every,
        holds: |s| {
            let sum = |path: String| {
                let sms = s.each("units.sm");
                Equal(s.count(&path), sms.iter().map(|sm| s.count(&format!("{sm}.{path}"))).sum())
            };
            s.counts("stalls").into_iter().map(sum).collect()
        },
    },
    Law {
        name: "parts of the schedulers' cycles make up the whole",
        says: "shares of reasons, issued included, add to 1",
        on: On::Every,
        holds: |s| vec![Near(s.keys("shares").iter().map(|share| s.real(share)).sum(), 1.0)],
    },
    Law {
        name: "a share is a reason's part of the slots",
        says: "share = stalls of the reason / (cycles x schedulers x SMs)",
        on: On::Every,
        holds: |s| {
            let slots = s.real("cycles") * s.real("schedulers") * s.each("units.sm").len() as f64;
            let share = |path: String| {
                let reason = path.trim_start_matches("shares.").to_owned();
                let of = if reason == "issued" { "issued".to_owned() } else { format!("stalls.{reason}") };
                Near(s.real(&path) * slots, s.real(&of))
            };
            s.keys("shares").into_iter().map(share).collect()
        },
    },
    Law {
        name: "warp instructions are those of all SMs",
        says: "warp and thread instructions, and issue slots taken = sums over SMs",
        on: On::Every,
        holds: |s| {
            let sms = s.each("units.sm");
            ["warp_instructions", "thread_instructions", "issued"]
                .map(|key| Equal(s.count(key), sms.iter().map(|sm| s.count(&format!("{sm}.{key}"))).sum()))
                .into()
        },
    },
    Law {
        name: "an instruction takes a slot",
        says: "issued slots = warp instructions, in each SM",
        on: On::Only(|s| s.config.sm.warp_lanes <= 32, "a half of 64 lanes may take a slot of its own"),
        holds: |s| {
            let sm = |sm: String| Equal(s.count(&format!("{sm}.issued")), s.count(&format!("{sm}.warp_instructions")));
            s.each("units.sm").into_iter().map(sm).collect()
        },
    },
    Law {
        name: "an instruction takes a slot for each half at most",
        says: "warp instructions <= issued slots <= 2 x warp instructions, in each SM",
        on: On::Only(|s| s.config.sm.warp_lanes > 32, "a warp has no halves"),
        holds: |s| {
            let sm = |sm: String| {
                let [issued, all] = ["issued", "warp_instructions"].map(|key| s.count(&format!("{sm}.{key}")));
                [AtMost(all, issued), AtMost(issued, 2 * all)]
            };
            s.each("units.sm").into_iter().flat_map(sm).collect()
        },
    },
    Law {
        name: "every instruction goes to one pipe",
        says: "warp instructions by pipe add to issued instructions, in each SM and in all",
        on: On::Every,
        holds: |s| {
            let all = Equal(s.all("pipes"), s.count("warp_instructions"));
            let of = |sm: String| Equal(s.all(&format!("{sm}.pipes")), s.count(&format!("{sm}.warp_instructions")));
            s.each("units.sm").into_iter().map(of).chain([all]).collect()
        },
    },
    Law {
        name: "instructions by pipe are those of all SMs",
        says: "warp instructions of a pipe = sum over SMs",
        on: On::Every,
        holds: |s| {
            let sum = |path: String| {
                let sms = s.each("units.sm");
                Equal(s.count(&path), sms.iter().map(|sm| s.count(&format!("{sm}.{path}"))).sum())
            };
            s.counts("pipes").into_iter().map(sum).collect()
        },
    },
    Law {
        name: "a warp has no more lanes than it has",
        says: "thread instructions <= lanes of a warp x warp instructions, in each SM",
        on: On::Every,
        holds: |s| {
            let lanes = i128::from(s.config.sm.warp_lanes);
            let sm = |sm: String| {
                AtMost(
                    s.count(&format!("{sm}.thread_instructions")),
                    lanes * s.count(&format!("{sm}.warp_instructions")),
                )
            };
            s.each("units.sm").into_iter().map(sm).collect()
        },
    },
    Law {
        name: "only branches diverge",
        says: "divergent branches <= control instructions, in each SM",
        on: On::Every,
        holds: |s| {
            let sm = |sm: String| {
                AtMost(s.count(&format!("{sm}.divergent_branches")), s.count(&format!("{sm}.pipes.control")))
            };
            s.each("units.sm").into_iter().map(sm).collect()
        },
    },
    Law {
        name: "IPC",
        says: "IPC x cycles = thread instructions",
        on: On::Every,
        holds: |s| vec![Near(s.real("ipc") * s.real("cycles"), s.real("thread_instructions"))],
    },
    Law {
        name: "OPC",
        says: "operations a cycle = thread instructions / cycles",
        on: On::Every,
        holds: |s| vec![Near(s.real("candel2018.opc") * s.real("cycles"), s.real("thread_instructions"))],
    },
    Law {
        name: "MPKO",
        says: "misses a thousand operations x operations / 1,000 = misses of reads, writes and atomics in the L2",
        on: On::Every,
        holds: |s| {
            let misses = s.sum("l2", &MISSES) as f64;
            vec![Near(s.real("candel2018.mpko") * s.real("thread_instructions") / 1000.0, misses)]
        },
    },
    Law {
        name: "miss delay",
        says: "mean miss delay x fetches = summed miss delay",
        on: On::Every,
        holds: |s| vec![Near(s.real("candel2018.miss_delay") * s.real("l2.fetches"), s.real("l2.miss_delay"))],
    },
    // Conservation laws of the caches in an SM.
    Law {
        name: "every load of an L1D has one outcome",
        says: "loads = hits + pending hits + misses + bypasses, in each L1D and in all",
        on: On::Every,
        holds: |s| s.of_all(&["l1"], |l1| Equal(s.count(&format!("{l1}.accesses")), s.sum(l1, &LOADS))),
    },
    Law {
        name: "every load of a read-only cache has one outcome",
        says: "loads = hits + pending hits + misses, in each constant and texture cache and in all",
        on: On::Every,
        holds: |s| s.of_all(&READ_ONLY, |cache| Equal(s.count(&format!("{cache}.accesses")), s.sum(cache, &FETCHES))),
    },
    Law {
        name: "every fetch of instructions has one outcome",
        says: "fetches = hits + pending hits + misses, in each instruction cache and in all",
        on: On::Only(|s| s.has("icache"), "every instruction is there"),
        holds: |s| s.of_all(&["icache"], |cache| Equal(s.count(&format!("{cache}.accesses")), s.sum(cache, &FETCHES))),
    },
    Law {
        name: "counts of L1Ds add up",
        says: "every count = sum over the L1Ds",
        on: On::Every,
        holds: |s| s.adds_up("l1"),
    },
    Law {
        name: "counts of constant caches add up",
        says: "every count = sum over the constant caches",
        on: On::Every,
        holds: |s| s.adds_up("const_cache"),
    },
    Law {
        name: "counts of texture caches add up",
        says: "every count = sum over the texture caches",
        on: On::Every,
        holds: |s| s.adds_up("texture_cache"),
    },
    Law {
        name: "counts of instruction caches add up",
        says: "every count = sum over the instruction caches",
        on: On::Only(|s| s.has("icache"), "every instruction is there"),
        holds: |s| s.adds_up("icache"),
    },
    Law {
        name: "an eviction has its fill",
        says: "evictions <= misses that take a way, prefetches, swaps with a victim cache, and bypasses where tags go on without lines, in each cache of the LSUs",
        on: On::Every,
        holds: |s| {
            s.of_all(&LSU_CACHES, |cache| {
                let demand = s.sum(cache, &["misses", "bypasses"]) - s.count(&format!("{cache}.sector_misses"));
                let moved = s.count(&format!("{cache}.prefetch.issued")) + s.count(&format!("{cache}.victim.swaps"));
                let fills = demand + moved;
                AtMost(s.count(&format!("{cache}.evictions")), fills)
            })
        },
    },
    Law {
        name: "a prefetched line is used or not",
        says: "prefetches sent = useful + late + useless, in each L1D with a prefetcher and in all",
        on: On::Only(prefetches, "nothing is prefetched"),
        holds: |s| {
            s.of_all(&["l1"], |l1| {
                let ended = s.sum(&format!("{l1}.prefetch"), &["useful", "late", "useless"]);
                Equal(s.count(&format!("{l1}.prefetch.issued")), ended)
            })
        },
    },
    Law {
        name: "a prefetched line is used by a load that finds it",
        says: "useful + late <= hits + pending hits, in each L1D with a prefetcher and in all",
        on: On::Only(prefetches, "nothing is prefetched"),
        holds: |s| {
            s.of_all(&["l1"], |l1| {
                AtMost(s.sum(&format!("{l1}.prefetch"), &["useful", "late"]), s.sum(l1, &["hits", "hit_pending"]))
            })
        },
    },
    Law {
        name: "a victim cache serves hits",
        says: "hits in the victim cache <= hits, in each L1D with a victim cache and in all",
        on: On::Only(victims, "no line is kept"),
        holds: |s| {
            s.of_all(&["l1"], |l1| AtMost(s.count(&format!("{l1}.victim.hits")), s.count(&format!("{l1}.hits"))))
        },
    },
    Law {
        name: "a swap follows a hit in the victim cache",
        says: "swaps <= hits in the victim cache, in each L1D with a victim cache and in all",
        on: On::Only(victims, "no line is kept"),
        holds: |s| {
            s.of_all(&["l1"], |l1| {
                AtMost(s.count(&format!("{l1}.victim.swaps")), s.count(&format!("{l1}.victim.hits")))
            })
        },
    },
    Law {
        name: "a victim cache keeps evicted lines",
        says: "lines kept <= evictions, in each L1D with a victim cache and in all",
        on: On::Only(victims, "no line is kept"),
        holds: |s| {
            s.of_all(&["l1"], |l1| AtMost(s.count(&format!("{l1}.victim.kept")), s.count(&format!("{l1}.evictions"))))
        },
    },
    Law {
        name: "an instruction cache evicts for fills",
        says: "evictions <= misses, in each instruction cache",
        on: On::Only(|s| s.has("icache"), "every instruction is there"),
        holds: |s| {
            s.of_all(&["icache"], |cache| {
                AtMost(s.count(&format!("{cache}.evictions")), s.count(&format!("{cache}.misses")))
            })
        },
    },
    Law {
        name: "sector misses are misses",
        says: "sector misses <= misses, in each L1D",
        on: On::Only(|s| s.config.l1.fetch == Fetch::Sectors, "L1Ds fetch lines"),
        holds: |s| {
            s.of_all(&["l1"], |l1| AtMost(s.count(&format!("{l1}.sector_misses")), s.count(&format!("{l1}.misses"))))
        },
    },
    Law {
        name: "an evicted line loses its place",
        says: "evictions <= demotions, in each L1D with decoupled tags",
        on: On::Only(|s| s.config.l1.organisation == Organisation::Decoupled, "a tag is a line"),
        holds: |s| {
            s.of_all(&["l1"], |l1| AtMost(s.count(&format!("{l1}.evictions")), s.count(&format!("{l1}.demotions"))))
        },
    },
    Law {
        name: "a candidate gets a place by a fill",
        says: "promotions <= misses, in each L1D with decoupled tags",
        on: On::Only(|s| s.config.l1.organisation == Organisation::Decoupled, "a tag is a line"),
        holds: |s| {
            s.of_all(&["l1"], |l1| AtMost(s.count(&format!("{l1}.promotions")), s.count(&format!("{l1}.misses"))))
        },
    },
    Law {
        name: "a reason for a refusal is a condition that fails",
        says: "refusals by reason <= cycles in which that condition failed, in each cache of the LSUs",
        on: On::Every,
        holds: |s| {
            let of = |reason: &&str| {
                s.of_all(&LSU_CACHES, |cache| {
                    AtMost(
                        s.count(&format!("{cache}.reservation_fails.{reason}")),
                        s.count(&format!("{cache}.failing.{reason}")),
                    )
                })
            };
            REFUSALS.iter().flat_map(of).collect()
        },
    },
    Law {
        name: "an LSU refuses once a cycle",
        says: "refusals of the three caches of an LSU <= cycles until memory is at rest",
        on: On::Only(|s| s.has("series"), "the cycles until memory is at rest are those of the time series"),
        holds: |s| {
            let lsus = s.each("units.l1").len();
            let of = |lsu: usize| {
                let caches = LSU_CACHES.map(|cache| s.all(&format!("units.{cache}.{lsu}.reservation_fails")));
                AtMost(caches.iter().sum(), s.count("series.cycles"))
            };
            (0..lsus).map(of).collect()
        },
    },
    // Conservation laws of the load statistics, which are counted separately for each load instruction.
    Law {
        name: "every line request of an instruction has one outcome",
        says: "accesses = hits + pending hits + misses + bypasses, for each load instruction",
        on: On::Every,
        holds: |s| {
            s.each("loads")
                .into_iter()
                .map(|load| Equal(s.count(&format!("{load}.accesses")), s.sum(&load, &LOADS)))
                .collect()
        },
    },
    Law {
        name: "loads of a cache are line requests of instructions",
        says: "each outcome, summed over load instructions = over L1D, constant and texture caches",
        on: On::Every,
        holds: |s| {
            let of = |key: &str| {
                let loads = s.each("loads").iter().map(|load| s.count(&format!("{load}.{key}"))).sum();
                Equal(loads, LSU_CACHES.iter().map(|cache| s.count(&format!("{cache}.{key}"))).sum())
            };
            LOADS.iter().copied().chain(["accesses"]).map(of).collect()
        },
    },
    Law {
        name: "every answer of a load has one latency",
        says: "answers = sum of the classes of latencies, for each load instruction",
        on: On::Every,
        holds: |s| {
            let of = |load: String| Equal(s.count(&format!("{load}.answers")), s.all(&format!("{load}.latencies")));
            s.each("loads").into_iter().map(of).collect()
        },
    },
    Law {
        name: "latencies of loads are in their classes",
        says: "summed latency is between the bounds of its classes, for each load instruction",
        on: On::Every,
        holds: |s| {
            s.each("loads")
                .iter()
                .flat_map(|load| in_classes(s, &format!("{load}.latency"), &format!("{load}.latencies")))
                .collect()
        },
    },
    // Conservation laws of the stages into which the latency of a load is divided.
    Law {
        name: "every stay in a stage has one duration",
        says: "number = sum of the classes of durations, for each stage of a load",
        on: On::Every,
        holds: |s| {
            s.keys("stages")
                .iter()
                .map(|stage| Equal(s.count(&format!("{stage}.number")), s.all(&format!("{stage}.latencies"))))
                .collect()
        },
    },
    Law {
        name: "durations of stages are in their classes",
        says: "summed cycles are between the bounds of their classes, for each stage of a load",
        on: On::Every,
        holds: |s| {
            s.keys("stages")
                .iter()
                .flat_map(|stage| in_classes(s, &format!("{stage}.cycles"), &format!("{stage}.latencies")))
                .collect()
        },
    },
    Law {
        name: "every miss of a load waits in the miss queue",
        says: "L1 misses + prefetches + misses of read-only caches = reads in the miss queue",
        on: On::Only(|s| !s.has("tracker"), "another L1 supplies some of the reads"),
        holds: |s| vec![Equal(s.count("stages.miss_queue.number"), line_reads(s))],
    },
    Law {
        name: "every read of a load goes through every stage behind the L1",
        says: "L1 misses + prefetches + bypasses + misses of read-only caches = reads as requests, in the L2 and as replies",
        on: On::Only(|s| !s.has("tracker"), "another L1 supplies some of the reads"),
        holds: |s| READ_STAGES.map(|stage| Equal(s.count(&format!("stages.{stage}.number")), data_reads(s))).into(),
    },
    // Conservation laws of the networks between SMs and memory partitions.
    Law {
        name: "every request is of a miss, a bypass, a store or an atomic",
        says: "request packets = L1 reads + stores + atomics + notices to the tracker",
        on: On::Every,
        holds: |s| {
            let sent = reads(s) + stores(s) + s.count("l1.atomics") + s.count("tracker.notices");
            vec![Equal(s.count("noc.request.packets"), sent)]
        },
    },
    Law {
        name: "every request is answered once",
        says: "reply packets = request packets - notices to the tracker",
        on: On::Only(has_equal_lines, SHORT_LINES),
        holds: |s| {
            let asked = s.count("noc.request.packets") - s.count("tracker.notices");
            vec![Equal(s.count("noc.reply.packets"), asked)]
        },
    },
    Law {
        name: "flits are full width",
        says: "bytes = flits x bytes of a flit, on every network",
        on: On::Every,
        holds: |s| {
            let flit = i128::from(s.config.xbar.flit_bytes);
            networks(s)
                .map(|network| Equal(s.count(&format!("{network}.bytes")), flit * s.count(&format!("{network}.flits"))))
                .collect()
        },
    },
    Law {
        name: "a packet has a flit at least",
        says: "packets <= flits, on every network",
        on: On::Every,
        holds: |s| {
            networks(s)
                .map(|network| AtMost(s.count(&format!("{network}.packets")), s.count(&format!("{network}.flits"))))
                .collect()
        },
    },
    Law {
        name: "a packet has five flits at most",
        says: "flits <= 5 x packets, on every network",
        on: On::Every,
        holds: |s| {
            networks(s)
                .map(|network| AtMost(s.count(&format!("{network}.flits")), 5 * s.count(&format!("{network}.packets"))))
                .collect()
        },
    },
    Law {
        name: "routers pass every packet on",
        says: "bytes <= bytes passed on from router to router; none in a crossbar; equal in a network of two levels, \
               except that SMs which supply each other with lines use no link or two",
        on: On::Every,
        holds: |s| {
            let passed_on = |network: String| {
                let passed_on = s.count(&format!("{network}.hop_bytes"));
                let bytes = || s.count(&format!("{network}.bytes"));
                match s.config.noc {
                    NocConfig::Crossbar(_) => Equal(passed_on, 0),
                    NocConfig::TwoLevel(_) if s.config.tracker.is_on() => AtMost(passed_on, 2 * bytes()),
                    NocConfig::TwoLevel(_) => Equal(passed_on, bytes()),
                    NocConfig::Mesh(_) | NocConfig::Ring(_) => AtMost(bytes(), passed_on),
                }
            };
            networks(s).map(passed_on).collect()
        },
    },
    Law {
        name: "every recall is acknowledged once",
        says: "recall packets = acknowledgments",
        on: On::Only(|s| s.has("noc.recall"), "no line is recalled"),
        holds: |s| vec![Equal(s.count("noc.recall.packets"), s.count("noc.recall_ack.packets"))],
    },
    Law {
        name: "a line is dropped for a recall",
        says: "lines dropped from L1Ds and read-only caches <= recalls",
        on: On::Only(|s| s.has("noc.recall"), "no line is recalled"),
        holds: |s| {
            let dropped = LSU_CACHES.map(|cache| s.count(&format!("{cache}.recalls"))).iter().sum();
            vec![AtMost(dropped, s.count("noc.recall.packets") * LSU_CACHES.len() as i128)]
        },
    },
    // Conservation laws of the sharing tracker.
    Law {
        name: "every forward is supplied or refused",
        says: "forwards = supplied + refused",
        on: On::Only(|s| s.has("tracker"), "there is no sharing tracker"),
        holds: |s| vec![Equal(s.count("tracker.forwards"), s.sum("tracker", &["supplied", "refused"]))],
    },
    Law {
        name: "every forward crosses the network of the tracker",
        says: "forward packets = forwards = answers",
        on: On::Only(|s| s.has("tracker"), "there is no sharing tracker"),
        holds: |s| {
            let forwards = s.count("tracker.forwards");
            vec![
                Equal(s.count("noc.forward.packets"), forwards),
                Equal(s.count("noc.forward_answer.packets"), forwards),
            ]
        },
    },
    Law {
        name: "a forward was looked up",
        says: "forwards <= lookups, and too early <= refused",
        on: On::Only(|s| s.has("tracker"), "there is no sharing tracker"),
        holds: |s| {
            vec![
                AtMost(s.count("tracker.forwards"), s.count("tracker.lookups")),
                AtMost(s.count("tracker.too_early"), s.count("tracker.refused")),
            ]
        },
    },
    // Conservation laws of the L2.
    Law {
        name: "counts of L2 banks add up",
        says: "every count = sum over the banks",
        on: On::Every,
        holds: |s| s.adds_up("l2"),
    },
    Law {
        name: "every read of an L2 bank has one outcome",
        says: "reads = hits + pending hits + misses, in each bank and in all",
        on: On::Every,
        holds: |s| s.of_all(&["l2"], |bank| Equal(s.count(&format!("{bank}.accesses")), s.sum(bank, &FETCHES))),
    },
    Law {
        name: "every atomic of an L2 bank has one outcome",
        says: "atomics = hits + pending hits + misses, in each bank and in all",
        on: On::Every,
        holds: |s| s.of_all(&["l2"], |bank| Equal(s.count(&format!("{bank}.atomics")), s.sum(bank, &ATOMICS))),
    },
    Law {
        name: "L1 misses are L2 reads",
        says: "misses, prefetches and bypasses of all L1s - lines supplied by other L1s = L2 reads",
        on: On::Only(has_equal_lines, SHORT_LINES),
        holds: |s| vec![Equal(reads(s) - s.count("tracker.supplied"), s.count("l2.accesses"))],
    },
    Law {
        name: "an L1 miss is a read of each part of its line at most",
        says: "L1 reads <= L2 reads <= L1 reads x L2 lines of an L1 line",
        on: On::Only(|s| !has_equal_lines(s), "lines are equally long: there are as many"),
        holds: |s| {
            let parts = i128::from(s.config.l1.line_bytes / s.config.l2.line_bytes);
            let (asked, read) = (reads(s) - s.count("tracker.supplied"), s.count("l2.accesses"));
            vec![AtMost(asked, read), AtMost(read, parts * asked)]
        },
    },
    Law {
        name: "stores are L2 writes",
        says: "stores that hit or miss in the L1 = L2 writes that hit, wait or miss",
        on: On::Only(has_equal_lines, SHORT_LINES),
        holds: |s| vec![Equal(stores(s), s.sum("l2", &WRITES))],
    },
    Law {
        name: "atomics are done in the L2",
        says: "atomics of the LSUs = atomics of the L2",
        on: On::Only(has_equal_lines, SHORT_LINES),
        holds: |s| vec![Equal(s.count("l1.atomics"), s.count("l2.atomics"))],
    },
    Law {
        name: "a fetch is of a miss",
        says: "fetches <= misses of reads, writes and atomics + prefetches, in each bank",
        on: On::Every,
        holds: |s| {
            s.of_all(&["l2"], |bank| {
                AtMost(
                    s.count(&format!("{bank}.fetches")),
                    s.sum(bank, &MISSES) + s.count(&format!("{bank}.prefetch.issued")),
                )
            })
        },
    },
    Law {
        name: "a read or an atomic that misses fetches",
        says: "misses of reads and atomics + prefetches <= fetches, in each bank",
        on: On::Every,
        holds: |s| {
            s.of_all(&["l2"], |bank| {
                let fetching = s.sum(bank, &["misses", "atomic_misses"]) + s.count(&format!("{bank}.prefetch.issued"));
                AtMost(fetching, s.count(&format!("{bank}.fetches")))
            })
        },
    },
    Law {
        name: "who waited for a line is served when it comes",
        says: "replays + prefetches = pending hits of all kinds + fetches, in each bank",
        on: On::Every,
        holds: |s| {
            let waits = ["hit_pending", "write_pending", "atomic_pending", "fetches"];
            s.of_all(&["l2"], |bank| {
                let served = s.count(&format!("{bank}.replays")) + s.count(&format!("{bank}.prefetch.issued"));
                Equal(served, s.sum(bank, &waits))
            })
        },
    },
    Law {
        name: "a line is evicted for a miss",
        says: "evictions <= misses of all kinds + prefetches, in each bank",
        on: On::Every,
        holds: |s| {
            s.of_all(&["l2"], |bank| {
                AtMost(
                    s.count(&format!("{bank}.evictions")),
                    s.sum(bank, &MISSES) + s.count(&format!("{bank}.prefetch.issued")),
                )
            })
        },
    },
    Law {
        name: "a line prefetched into the L2 is used or not",
        says: "prefetches sent = useful + late + useless, in each bank with a prefetcher and in all",
        on: On::Only(l2_prefetches, "nothing is prefetched into the L2"),
        holds: |s| {
            s.of_all(&["l2"], |bank| {
                let ended = s.sum(&format!("{bank}.prefetch"), &["useful", "late", "useless"]);
                Equal(s.count(&format!("{bank}.prefetch.issued")), ended)
            })
        },
    },
    Law {
        name: "a line prefetched into the L2 is used by an access that finds it",
        says: "useful <= hits and late <= pending hits of all kinds, in each bank with a prefetcher and in all",
        on: On::Only(l2_prefetches, "nothing is prefetched into the L2"),
        holds: |s| {
            let hits = |bank: &str| s.sum(bank, &["hits", "write_hits", "atomic_hits"]);
            let pending = |bank: &str| s.sum(bank, &["hit_pending", "write_pending", "atomic_pending"]);
            let useful = s.of_all(&["l2"], |bank| AtMost(s.count(&format!("{bank}.prefetch.useful")), hits(bank)));
            let late = s.of_all(&["l2"], |bank| AtMost(s.count(&format!("{bank}.prefetch.late")), pending(bank)));
            useful.into_iter().chain(late).collect()
        },
    },
    Law {
        name: "an evicted line is written back once at most",
        says: "write-backs <= evictions + bypassed writes, in each bank",
        on: On::Every,
        holds: |s| {
            s.of_all(&["l2"], |bank| {
                AtMost(s.count(&format!("{bank}.writebacks")), s.sum(bank, &["evictions", "bypasses"]))
            })
        },
    },
    Law {
        name: "a change is of a write or an atomic",
        says: "changes <= writes + atomics, in each bank",
        on: On::Every,
        holds: |s| {
            s.of_all(&["l2"], |bank| {
                AtMost(s.count(&format!("{bank}.changes")), s.sum(bank, &WRITES) + s.count(&format!("{bank}.atomics")))
            })
        },
    },
    Law {
        name: "a bypass of a bank is a miss",
        says: "bypasses <= misses of reads and writes, in each bank with a bypass",
        on: On::Only(|s| s.has("l2.bypasses"), "banks keep every line"),
        holds: |s| {
            s.of_all(&["l2"], |bank| {
                AtMost(s.count(&format!("{bank}.bypasses")), s.sum(bank, &["misses", "write_misses"]))
            })
        },
    },
    Law {
        name: "delays of a miss are parts of its delay",
        says: "delay for a way + delay for the eviction <= miss delay, in each bank",
        on: On::Only(|s| s.config.l2.is_transient(), "a line leaves while the next one comes"),
        holds: |s| {
            s.of_all(&["l2"], |bank| AtMost(s.all(&format!("{bank}.delays")), s.count(&format!("{bank}.miss_delay"))))
        },
    },
    Law {
        name: "a line of the FRC is swapped once",
        says: "swaps = misses fetched into the FRC, in each bank",
        on: On::Only(|s| s.has("l2.frc"), "there is no FRC"),
        holds: |s| {
            s.of_all(&["l2"], |bank| {
                Equal(s.count(&format!("{bank}.frc.swaps")), s.count(&format!("{bank}.frc.misses")))
            })
        },
    },
    Law {
        name: "FRC share",
        says: "share of the FRC x misses = misses fetched into it",
        on: On::Only(|s| s.has("l2.frc"), "there is no FRC"),
        holds: |s| vec![Near(s.real("candel2018.frc_share") * s.sum("l2", &MISSES) as f64, s.real("l2.frc.misses"))],
    },
    Law {
        name: "a line leaves the atomic buffer once",
        says: "flushes <= fills <= flushes + 1, and hits + fills <= atomics, in each bank",
        on: On::Only(|s| s.has("l2.atomic_buffer"), "there is no atomic buffer"),
        holds: |s| {
            let bank = |bank: String| {
                let [hits, fills, flushes] =
                    ["hits", "fills", "flushes"].map(|key| s.count(&format!("{bank}.atomic_buffer.{key}")));
                [
                    AtMost(flushes, fills),
                    AtMost(fills, flushes + 1),
                    AtMost(hits + fills, s.count(&format!("{bank}.atomics"))),
                ]
            };
            s.each("units.l2").into_iter().flat_map(bank).collect()
        },
    },
    Law {
        name: "a sector miss of a bank is a miss",
        says: "sector misses <= misses of all kinds, in each bank",
        on: On::Only(|s| s.has("l2.sectors"), "banks fetch lines"),
        holds: |s| s.of_all(&["l2"], |bank| AtMost(s.count(&format!("{bank}.sectors.misses")), s.sum(bank, &MISSES))),
    },
    Law {
        name: "caches without evictions are named",
        says: "a kind is named just if it evicted nothing and nothing bypassed it",
        on: On::Every,
        holds: |s| {
            let kinds = ["icache", "l1", "const_cache", "texture_cache", "l2"];
            // The statistics list the caches without evictions, but omit read-only caches that were never
            // accessed. The access count shows whether a cache was accessed.
            let is_used = |kind: &&str| s.at(&format!("{kind}.accesses")).as_u64() > Some(0);
            let kinds = kinds.into_iter().filter(|kind| ["l1", "l2"].contains(kind) || is_used(kind));
            let named = s
                .at("no_evictions")
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|name| name.as_str())
                .collect::<Vec<_>>();
            let kind = |kind: &str| {
                let kept = s.sum(kind, &["evictions", "bypasses"]) == 0;
                Equal(kept.into(), named.contains(&kind).into())
            };
            kinds.map(kind).collect()
        },
    },
    // Conservation laws of the DRAM.
    Law {
        name: "counts of DRAM channels add up",
        says: "every count = sum over the channels",
        on: On::Every,
        holds: |s| s.adds_up("dram"),
    },
    Law {
        name: "an L2 fetch is a line of bursts",
        says: "DRAM reads = L2 fetches x bursts of a line",
        on: On::Only(is_by_lines, BY_SECTORS),
        holds: |s| vec![Equal(s.count("dram.reads"), s.count("l2.fetches") * bursts(s.config))],
    },
    Law {
        name: "bursts fetched by sectors",
        says: "DRAM reads x burst bytes = bytes fetched by sectors",
        on: On::Only(|s| s.has("l2.sectors"), "banks fetch lines"),
        holds: |s| {
            vec![Equal(
                s.count("dram.reads") * i128::from(s.config.dram.burst_bytes()),
                s.count("l2.sectors.fetched_bytes"),
            )]
        },
    },
    Law {
        name: "bursts written by sectors",
        says: "DRAM writes x burst bytes = bytes written back by sectors",
        on: On::Only(|s| s.has("l2.sectors"), "banks fetch lines"),
        holds: |s| {
            vec![Equal(
                s.count("dram.writes") * i128::from(s.config.dram.burst_bytes()),
                s.count("l2.sectors.written_bytes"),
            )]
        },
    },
    Law {
        name: "a DRAM write is of a line that was written back",
        says: "DRAM writes <= L2 write-backs x bursts of a line",
        on: On::Only(is_by_lines, BY_SECTORS),
        holds: |s| vec![AtMost(s.count("dram.writes"), s.count("l2.writebacks") * bursts(s.config))],
    },
    Law {
        name: "bytes on the DRAM bus",
        says: "bytes = (reads + writes) x burst bytes, in each channel and in all",
        on: On::Every,
        holds: |s| {
            let burst = i128::from(s.config.dram.burst_bytes());
            s.of_all(&["dram"], |dram| {
                Equal(s.count(&format!("{dram}.bytes")), burst * s.sum(dram, &["reads", "writes"]))
            })
        },
    },
    Law {
        name: "cycles of the DRAM bus",
        says: "busy cycles = (reads + writes) x cycles of a burst, in each channel and in all",
        on: On::Every,
        holds: |s| {
            let burst = i128::from(s.config.dram.timing.burst);
            s.of_all(&["dram"], |dram| {
                Equal(s.count(&format!("{dram}.bus_busy_cycles")), burst * s.sum(dram, &["reads", "writes"]))
            })
        },
    },
    Law {
        name: "a burst finds its row open or has opened it",
        says: "row hits <= reads + writes <= row hits + activates, in each channel",
        on: On::Every,
        holds: |s| {
            let both = |dram: String| {
                let (columns, hits) = (s.sum(&dram, &["reads", "writes"]), s.count(&format!("{dram}.row_hits")));
                [AtMost(hits, columns), AtMost(columns, hits + s.count(&format!("{dram}.activates")))]
            };
            s.each("units.dram").into_iter().flat_map(both).collect()
        },
    },
    Law {
        name: "a row is closed that was opened",
        says: "precharges <= activates, in each channel",
        on: On::Every,
        holds: |s| {
            s.of_all(&["dram"], |dram| {
                AtMost(s.count(&format!("{dram}.precharges")), s.count(&format!("{dram}.activates")))
            })
        },
    },
    Law {
        name: "every DRAM read has one latency",
        says: "reads = sum of the classes of latencies, in each channel and in all",
        on: On::Every,
        holds: |s| {
            s.of_all(&["dram"], |dram| {
                Equal(s.count(&format!("{dram}.reads")), s.all(&format!("{dram}.read_latencies")))
            })
        },
    },
    Law {
        name: "latencies of DRAM reads are in their classes",
        says: "summed latency is between the bounds of its classes, in each channel",
        on: On::Every,
        holds: |s| {
            s.each("units.dram")
                .iter()
                .flat_map(|dram| in_classes(s, &format!("{dram}.read_latency"), &format!("{dram}.read_latencies")))
                .collect()
        },
    },
    Law {
        name: "a read takes the time of a column command at least",
        says: "read latency >= reads x (CL + burst), in each channel",
        on: On::Every,
        holds: |s| {
            let least = i128::from(s.config.dram.timing.read_latency());
            s.of_all(&["dram"], |dram| {
                AtMost(least * s.count(&format!("{dram}.reads")), s.count(&format!("{dram}.read_latency")))
            })
        },
    },
    Law {
        name: "a waiting channel has a bank that waits",
        says: "waiting cycles <= banks waiting <= requests waiting, summed over cycles, in each channel",
        on: On::Every,
        holds: |s| {
            let both = |dram: String| {
                let [cycles, banks, requests] =
                    ["waiting_cycles", "banks_waiting", "queue_occupancy"].map(|key| s.count(&format!("{dram}.{key}")));
                [AtMost(cycles, banks), AtMost(banks, requests)]
            };
            s.each("units.dram").into_iter().flat_map(both).collect()
        },
    },
    // Conservation laws of energy.
    Law {
        name: "energy of blocks makes up the whole",
        says: "dynamic and leakage energy = sums over the outermost blocks",
        on: On::Only(|s| s.has("energy"), "structures were not counted"),
        holds: |s| {
            ["dynamic_pj", "leakage_pj"]
                .map(|key| {
                    let blocks = s.each("energy.blocks").iter().map(|block| s.real(&format!("{block}.{key}"))).sum();
                    Near(s.real(&format!("energy.{key}")), blocks)
                })
                .into()
        },
    },
    Law {
        name: "dynamic energy is of events",
        says: "dynamic energy of a block = events x energy of each + that of the blocks inside",
        on: On::Only(|s| s.has("energy"), "structures were not counted"),
        holds: |s| s.each("energy.blocks").iter().flat_map(|block| dynamic(s, block)).collect(),
    },
    Law {
        name: "bytes on wires have energy",
        says: "energy events of wires = bytes of the request and reply crossbars, those of DRAM devices = bytes on their buses",
        on: On::Only(|s| s.has("energy"), "structures were not counted"),
        holds: |s| {
            let outer = s.each("energy.blocks");
            let events = |name: &str| {
                let block = outer.iter().find(|block| s.at(&format!("{block}.block")) == name);
                block.map_or(0, |block| {
                    s.each(&format!("{block}.events")).iter().map(|event| s.count(&format!("{event}.count"))).sum()
                })
            };
            vec![
                Equal(
                    events("wires"),
                    s.sum("noc.request", &["bytes", "hop_bytes"]) + s.sum("noc.reply", &["bytes", "hop_bytes"]),
                ),
                Equal(events("dram-devices"), s.count("dram.bytes")),
            ]
        },
    },
    // Conservation laws of time series and of reuse statistics.
    Law {
        name: "a time series adds up to the totals",
        says: "sum of a column = its counter",
        on: On::Only(|s| s.has("series"), "the run wrote no time series"),
        holds: |s| {
            let column = |path: String| {
                let name = path.trim_start_matches("series.").to_owned();
                let counter = ["l1_", "l2_", "dram_"]
                    .iter()
                    .find_map(|block| Some(format!("{}.{}", block.trim_end_matches('_'), name.strip_prefix(block)?)));
                Equal(s.count(&path), s.count(&counter.unwrap_or(name)))
            };
            s.keys("series").into_iter().filter(|path| path != "series.cycles").map(column).collect()
        },
    },
    Law {
        name: "a time series goes on until memory is at rest",
        says: "cycles of the run <= cycles of its time series",
        on: On::Only(|s| s.has("series"), "the run wrote no time series"),
        holds: |s| vec![AtMost(s.count("cycles"), s.count("series.cycles"))],
    },
    Law {
        name: "a load is a line's first or a reuse",
        says: "L1D loads = lines + reuses: distances add to the reuses of lines",
        on: On::Only(|s| s.has("reuse"), "golden models did not look on"),
        holds: |s| vec![Equal(s.all("reuse.distances") + s.all("reuse.reuses"), s.count("l1.accesses"))],
    },
];

/// Returns the paths of the statistics of all networks that the machine has.
fn networks<'a>(s: &'a Statistics<'a>) -> impl Iterator<Item = String> + 'a {
    s.keys("noc").into_iter().filter(|network| s.has(network))
}

/// Returns a lower and an upper bound for a sum of latencies, computed from the number of latencies in each
/// class. The classes are: below 16 cycles, 16 to 31, 32 to 63 and so on, and finally all longer latencies.
fn in_classes(s: &Statistics<'_>, sum: &str, classes: &str) -> Vec<Relation> {
    let classes: Vec<_> = s.each(classes).iter().map(|class| s.count(class)).collect();
    let last = classes.len() - 1;
    let least = classes.iter().enumerate().map(|(at, count)| if at == 0 { 0 } else { count * (8 << at) }).sum();
    let most: i128 = classes.iter().enumerate().map(|(at, count)| count * ((16 << at) - 1)).sum();
    let sum = s.count(sum);
    // Latencies in the last class have no upper bound. If that class is not empty, the sum has none either.
    if classes[last] > 0 { vec![AtMost(least, sum)] } else { vec![AtMost(least, sum), AtMost(sum, most)] }
}

/// Returns the conservation laws of the dynamic energy of a hardware block, and of each hardware block inside
/// it.
fn dynamic(s: &Statistics<'_>, block: &str) -> Vec<Relation> {
    let event = |event: &String| s.real(&format!("{event}.count")) * s.real(&format!("{event}.pj_each"));
    let children = s.each(&format!("{block}.children"));
    let own: f64 = s.each(&format!("{block}.events")).iter().map(event).sum();
    let inside: f64 = children.iter().map(|child| s.real(&format!("{child}.dynamic_pj"))).sum();
    let mut all = vec![Near(s.real(&format!("{block}.dynamic_pj")), own + inside)];
    all.extend(children.iter().flat_map(|child| dynamic(s, child)));
    all
}
