//! Tests traces on the machine: a replayed kernel must make exactly the memory accesses that were recorded.

use std::fs;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rtl::kernel::{Mode, Simulator};
use rtl::l1::stats::L1Stats;
use rtl::machine::Machine;
use rtl::sm::{CtaSource, KernelImage, StallReason, occupancy};
use trace::{KernelTrace, Packer, Packing};
use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::run::{
    Counters, Outcome, RunError, RunOptions, RunReport, Trace, TraceForm, Verdict, export, open, replay,
};
use warpsieve::trace::sass::BinaryVersion;
use warpsieve::trace::source::TraceSource;
use warpsieve::trace::synthetic::{KINDS, Kind, Size, Synthetic};

use super::{Setup, launch, root, some_kernels, waves};

pub(super) const SMALL: Size = Size { ctas: 5, iterations: 6 };

/// Folder with a trace of one kernel.
pub(super) struct TraceFolder {
    folder: tempfile::TempDir,
    list: PathBuf,
}

impl TraceFolder {
    fn new(text: impl AsRef<[u8]>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("kernel-1.traceg"), text).unwrap();
        let list = folder.path().join("kernelslist.g");
        fs::write(&list, "MemcpyHtoD,0x10000000,4096\nkernel-1.traceg\n").unwrap();
        Self { folder, list }
    }

    pub(super) fn synthetic(kind: Kind, size: Size) -> Self {
        let mut text = Vec::new();
        Synthetic::new(kind, size).write(&mut text).unwrap();
        Self::new(text)
    }

    /// Returns a trace for Ampere GPUs. Its only CTA has one warp, which executes these instructions.
    pub(super) fn ampere(instructions: impl AsRef<str>) -> Self {
        Self::of_version(80, instructions)
    }

    /// Returns a trace for GPUs of a binary version, such as 80 for Ampere. Its only CTA has one warp, which
    /// executes these instructions.
    pub(super) fn of_version(version: u32, instructions: impl AsRef<str>) -> Self {
        let instructions = instructions.as_ref();
        let insts = instructions.lines().count();
        Self::new(format!(
            "-kernel name = k\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-shmem = 4096\n-nregs = 24\n\
             -binary version = {version}\n-shmem base_addr = 0x40000000\n-local mem base_addr = 0x50000000\n\
             -accelsim tracer version = 5\n#\n#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = {insts}\n\
             {instructions}\n#END_TB\n"
        ))
    }

    fn tries(&self, setup: &Setup) -> Result<RunReport, RunError> {
        let recording = Trace::open(&self.list)?;
        let Setup { machine, designs, sets, mut options } = setup.clone();
        options.wave = options.wave.or_else(waves);
        let machine = machine.unwrap_or_else(|| "fermi".to_owned());
        let resolved = ResolvedMachine::new(&Request { machine, designs, sets }).unwrap();
        replay(&recording, &resolved.config, &options, &mut |_| {})
    }

    #[track_caller]
    pub(super) fn passes(&self, setup: &Setup) -> RunReport {
        let setup = Setup { options: RunOptions { check: true, ..setup.options.clone() }, ..setup.clone() };
        let report = self.tries(&setup).unwrap();
        assert_eq!((&report.outcome, &report.verdict), (&Outcome::Finished, &Verdict::Passed));
        report
    }
}

/// Returns the numbers of lines that loads and stores accessed, summed over all L1s.
pub(super) fn lines(counters: &Counters) -> (u64, u64) {
    let l1 = counters.totals().l1;
    (l1.accesses, l1.store_hits + l1.store_misses)
}

#[test]
fn the_four_patterns_ask_for_the_lines_that_coalescing_gives() {
    let rounds = u64::from(SMALL.ctas) * 8 * u64::from(SMALL.iterations);
    for (kind, loads) in KINDS.into_iter().zip([2, 2, 0, 33]) {
        let report = TraceFolder::synthetic(kind, SMALL).passes(&Setup::default());
        let found = lines(&report.counters);
        assert_eq!(report.counters.warp_instructions(), rounds * 11 + 40 * 5, "{kind:?}");
        if kind == Kind::Gather {
            assert!((30 * rounds..=33 * rounds).contains(&found.0), "{found:?}");
        } else {
            assert_eq!(found, (loads * rounds, rounds), "{kind:?}");
        }
    }
}

#[test]
fn designs_and_schedulers_run_traces_as_they_run_programs() {
    let traced = TraceFolder::synthetic(Kind::Tile, SMALL);
    let plain = lines(&traced.passes(&Setup::default()).counters);
    let designs = fs::read_dir(root().join("machines/designs")).unwrap().map(|entry| entry.unwrap().path());
    for design in designs.filter(|path| path.extension().is_some_and(|end| end == "toml")) {
        let name = design.file_stem().unwrap().to_str().unwrap();
        // Profile-guided designs need a profile from an earlier run of the program, and a trace has none.
        if name.starts_with("profiled") {
            continue;
        }
        let setup = Setup::default().designs(&[name]);
        assert_eq!(lines(&traced.tries(&setup).unwrap().counters), plain, "{name}");
    }
    for kind in ["loose-round-robin", "caws"] {
        let setup = Setup::default().sets(&[&format!("sm.scheduler.kind={kind}")]);
        assert_eq!(lines(&traced.passes(&setup).counters), plain, "{kind}");
    }
}

#[test]
fn the_order_of_evaluation_within_a_cycle_changes_nothing() {
    let traced = TraceFolder::synthetic(Kind::Gather, Size { ctas: 12, iterations: 2 });
    let run = |mode| traced.passes(&Setup::default().sets(&["num_sms=3", "sm.ctas=2"]).mode(mode));
    let plain = run(Mode { digest: true, ..Mode::default() });
    for seed in [1, 2] {
        let shuffled = run(Mode { digest: true, shuffle: Some(seed), ..Mode::default() });
        assert_eq!((shuffled.counters, shuffled.digests), (plain.counters.clone(), plain.digests), "seed {seed}");
    }
    let all = run(Mode { digest: true, evaluate_all: true, ..Mode::default() });
    assert_eq!((all.counters, all.digests), (plain.counters.clone(), plain.digests));
}

#[test]
fn no_block_acts_without_having_been_woken() {
    let traced = TraceFolder::synthetic(Kind::Tile, Size { ctas: 3, iterations: 2 });
    let run = |lint| traced.passes(&Setup::default().sets(&["num_sms=2"]).mode(Mode { lint, ..Mode::default() }));
    assert_eq!(run(true).counters, run(false).counters);
}

#[test]
fn every_version_and_architecture_of_the_corpus_is_replayed() {
    for (name, instructions) in
        [("kepler", 7), ("volta", 84), ("ampere", 7), ("version2", 6), ("version6", 7), ("lineinfo", 21)]
    {
        let text = fs::read(root().join("tests/corpus/traces").join(name).with_extension("traceg")).unwrap();
        let report = TraceFolder::new(text).passes(&Setup::default().sets(&["addr_bits=49"]));
        assert_eq!(report.counters.warp_instructions(), instructions, "{name}");
    }
}

#[test]
fn compressed_traces_run_as_plain_ones() {
    let traces = ["volta.traceg", "volta.traceg.xz", "volta.traceg.zst"].map(|name| {
        let traced = TraceFolder::new(fs::read(root().join("tests/corpus/traces").join(name)).unwrap());
        traced.passes(&Setup::default().sets(&["addr_bits=49"])).counters
    });
    assert_eq!([&traces[1], &traces[2]], [&traces[0]; 2]);
}

/// The trace has two asynchronous copies. Each copies 8 bytes per lane for 32 lanes, which are two lines of
/// 128 bytes.
#[test]
fn an_instruction_waits_for_copies_only_behind_the_wait_for_their_group() {
    let copy =
        |base: &str| format!("0000 ffffffff 0 LDGSTS.E.64 2 R4 R6 8 1 {base} 8 0\n0010 ffffffff 0 LDGDEPBAR 0 0 0\n");
    let cycles = |wait: &str| {
        let text = format!(
            "{}{}{wait}0040 ffffffff 0 BAR.SYNC 0 0 0\n0050 ffffffff 0 EXIT 0 0 0",
            copy("0x1000"),
            copy("0x9000")
        );
        let report = TraceFolder::ampere(&text).passes(&Setup::default());
        assert_eq!(lines(&report.counters), (4, 0));
        report.counters.stalls[0].of(StallReason::ScoreboardMemory)
    };
    let [free, one, both] = ["", "0030 ffffffff 0 DEPBAR.LE 0 0 1\n", "0030 ffffffff 0 DEPBAR.LE 0 0 0\n"].map(cycles);
    assert!(free < one && one < both, "{free}, {one}, {both}");
}

#[test]
fn generic_accesses_go_where_their_addresses_lead() {
    let text = "0000 ffffffff 1 R2 LD.E 1 R4 4 1 0x40000100 4 0\n0010 ffffffff 1 R3 LD.E 1 R4 4 1 0x10000000 4 0\n\
                0020 ffffffff 0 ST.E 2 R4 R2 4 1 0x50000000 4 0\n0030 ffffffff 0 EXIT 0 0 0";
    let report = TraceFolder::ampere(text).passes(&Setup::default());
    assert_eq!(lines(&report.counters), (1, 1));
    assert_eq!(report.counters.cores[0].per_pipe, [0, 0, 0, 1, 0, 2, 1, 0, 0, 0]);
}

/// Returns the counters of a run with a single warp, which executes these instructions and then exits.
fn count_alone(instructions: &str) -> Counters {
    TraceFolder::ampere(format!("{instructions}\n0090 ffffffff 0 EXIT 0 0 0")).passes(&Setup::default()).counters
}

fn atomics(counters: &Counters) -> (u64, u64) {
    (counters.totals().l1.atomics, counters.totals().l2.atomics())
}

#[test]
fn atomics_of_a_trace_are_carried_out_by_the_l2() {
    for opcode in ["1 R2 ATOMG.E.ADD 2 R4 R6 4", "0 RED.E.ADD 2 R4 R6 4", "1 R2 ATOMG.E.CAS.64 2 R4 R6 8"] {
        let counters = count_alone(&format!("0000 000000ff {opcode} 1 0x1000 32 0"));
        assert_eq!((lines(&counters), atomics(&counters)), ((0, 0), (2, 2)), "{opcode}");
    }
}

/// Two lanes access adjacent half words of one word. Their atomics must be executed as one request, like
/// atomics on whole words.
#[test]
fn atomics_of_half_words_are_as_many_as_those_of_words() {
    for opcode in ["1 R2 ATOMG.E.CAS.16 2 R4 R6 2", "0 RED.E.ADD.F16.RN 2 R4 R6 2", "1 R2 ATOMG.E.ADD.BF16 2 R4 R6 2"] {
        let counters = count_alone(&format!(
            "0000 ffffffff {opcode} 1 0x1000 2 0\n0010 ffffffff 0 MEMBAR.SC.GPU 0 0 0\n\
             0020 ffffffff 1 R8 LDG.E 1 R4 4 1 0x1000 4 0\n0030 ffffffff 1 R9 LDG.E.U16 1 R4 2 1 0x1000 2 0"
        ));
        assert_eq!(atomics(&counters), (1, 1), "{opcode}");
    }
}

#[test]
fn loads_find_the_words_that_atomics_have_left() {
    let counters = count_alone(
        "0000 ffffffff 1 R2 ATOMG.E.ADD.64 2 R4 R6 8 1 0x1000 8 0\n0010 ffffffff 0 MEMBAR.SC.GPU 0 0 0\n\
         0020 ffffffff 1 R8 LDG.E 1 R4 4 1 0x1000 4 0\n0030 ffffffff 1 R9 ATOMG.E.EXCH 2 R4 R6 4 1 0x1080 0 0",
    );
    assert_eq!((lines(&counters).0, atomics(&counters).0), (1, 2 + 32));
}

#[test]
fn an_access_beyond_the_shared_memory_of_an_sm_ends_the_run_at_its_line() {
    let text = "0000 ffffffff 1 R2 LDS 1 R4 4 1 0x8000 4 0\n0010 ffffffff 0 STS 2 R4 R2 4 1 0x10000 4 0";
    let error = TraceFolder::ampere(text).tries(&Setup::default()).unwrap_err().to_string();
    let wrong = "kernel-1.traceg:16:1: the 4 bytes at 0x1007c lie beyond the 49152 bytes of shared memory of an SM";
    assert!(error.contains(wrong), "{error}");
}

/// Returns the number of bytes sent to the L2s, the number of bytes sent back, and the numbers of lines that
/// loads and stores accessed.
fn traffic(counters: &Counters) -> ([u64; 2], (u64, u64)) {
    let bytes = [&counters.requests, &counters.replies].map(|outputs| outputs.iter().map(|output| output.bytes).sum());
    (bytes, lines(counters))
}

#[test]
fn an_access_moves_the_bytes_that_were_recorded() {
    let access = |(opcode, width): (&str, u32)| {
        let text = format!("0000 ffffffff {opcode} 1 R4 {width} 1 0x1000 8 0\n0010 ffffffff 0 EXIT 0 0 0");
        let counters = TraceFolder::ampere(text).passes(&Setup::default()).counters;
        (traffic(&counters), counters.cycles)
    };
    // Pairs of opcodes, each with its recorded access width in bytes. Both opcodes of a pair must make the
    // same access.
    for (one, other) in [
        (("0 RED.E.ADD.F64.RN.STRONG.GPU", 8), ("0 RED.E.ADD.64.STRONG.GPU", 8)),
        (("0 RED.E.ADD.F64.RN.STRONG.GPU", 4), ("0 RED.E.ADD.64.STRONG.GPU", 8)),
        (("1 R2 ATOMG.E.ADD.F64.RN", 8), ("1 R2 ATOMG.E.EXCH.64", 8)),
        (("0 RED.E.ADD.F16x2.RN", 4), ("0 RED.E.ADD", 4)),
        (("1 R2 LDG.E", 8), ("1 R2 LDG.E.64", 8)),
        (("1 R2 LDG.E", 16), ("1 R2 LDG.E.128", 16)),
        (("0 STG.E.S16", 4), ("0 STG.E.U16", 2)),
    ] {
        assert_eq!(access(one), access(other), "{one:?} {other:?}");
    }
    // An atomic on a 64-bit value must send more bytes to the L2 than an atomic on a 32-bit value.
    let [word, double] = [("0 RED.E.ADD.F32", 4), ("0 RED.E.ADD.F64.RN", 8)].map(|atomic| access(atomic).0);
    assert!(double.0[0] > word.0[0], "{word:?} {double:?}");
}

#[test]
fn loads_of_a_wider_scope_than_the_sm_do_not_hit_in_the_l1() {
    let hits = |opcode: &str| {
        let load = |register: u32| format!("0000 00000001 1 R{register} {opcode} 1 R{register} 4 1 0x1000 0 0\n");
        let text = (2..8).map(load).collect::<String>() + "0010 ffffffff 0 EXIT 0 0 0";
        let counters = TraceFolder::ampere(text).passes(&Setup::default()).counters;
        let sum = |count: fn(&L1Stats) -> u64| counters.l1.iter().map(count).sum::<u64>();
        let requests: u64 = counters.requests.iter().map(|output| output.packets).sum();
        (sum(|l1| l1.hits + l1.hit_pending), requests)
    };
    for opcode in ["LDG.E.STRONG.GPU", "LDG.E.STRONG.SYS", "LD.E.STRONG.SYS", "LDG.E.MMIO.SYS"] {
        assert_eq!(hits(opcode), (0, 6), "{opcode}");
    }
    for opcode in ["LDG.E", "LDG.E.SYS", "LDG.E.CONSTANT", "LDG.E.STRONG.SM", "LDG.E.STRONG.CTA"] {
        assert_eq!(hits(opcode), (5, 1), "{opcode}");
    }
}

#[test]
fn generic_accesses_far_into_their_windows_stay_in_them() {
    // In the generic address space, the window of shared memory begins at 0x40000000, and that of local
    // memory at 0x50000000.
    let device_lines =
        |address: &str| lines(&count_alone(&format!("0000 ffffffff 1 R2 LD.E 1 R4 4 1 {address} 4 0"))).0;
    let addresses = ["0x40fff000", "0x41000000", "0x50005000", "0x50fff000", "0x51000000"];
    assert_eq!(addresses.map(device_lines), [0, 1, 1, 1, 1]);
}

/// The opcode `LDSM` loads matrices from shared memory. Each row has an address in one lane, and a cycle
/// reads 128 bytes, which is one matrix. Each further matrix counts as one conflict cycle.
#[test]
fn loads_of_matrices_take_a_cycle_for_each_matrix() {
    let conflicts = |opcode: &str, recorded: u32| {
        let counters = count_alone(&format!("0000 ffffffff 1 R2 {opcode} 1 R4 {recorded} 1 0x40000000 16 0"));
        counters.totals().cores.shared_conflicts
    };
    for (opcode, expected) in [("LDSM.16.M88", 0), ("LDSM.16.M88.2", 1), ("LDSM.16.MT88.4", 3)] {
        assert_eq!([2, 4, 16].map(|recorded| conflicts(opcode, recorded)), [expected; 3], "{opcode}");
    }
}

#[test]
fn block_copies_are_counted_by_opcode_and_named_in_the_notes() {
    let copies = "0000 00000001 0 UTMALDG.2D 2 UR4 UR8 8 0x400 0 4096 0 0 1 0x1000 0\n\
                  0000 00000001 0 UTMALDG.2D 2 UR4 UR8 8 0x400 0 4096 0 0 1 0x1000 0\n\
                  0010 00000001 0 UBLKCP.S.G 2 UR4 UR8 0 0\n\
                  0020 00000000 0 UTMASTG.2D 2 UR4 UR8 0 0\n\
                  0030 ffffffff 0 UTMACCTL.PF 1 UR4 0 0\n\
                  0040 ffffffff 0 EXIT 0 0 0";
    let report = TraceFolder::of_version(90, copies).passes(&Setup::default());
    assert_eq!(report.counters.block_copies().collect::<Vec<_>>(), [("UBLKCP", 1), ("UTMALDG", 2)]);
    assert_eq!(lines(&report.counters), (0, 0));
    let note = "the traffic of block copies is not modeled: caches, network and DRAM exclude 1 UBLKCP, 2 UTMALDG";
    assert_eq!(report.notes, [note]);
    assert_eq!(count_alone("0000 ffffffff 0 NOP 0 0").block_copies().count(), 0);
}

#[test]
fn operations_in_tensor_memory_are_counted_by_opcode_and_named_in_the_notes() {
    let operations = "0000 00000001 0 UTCHMMA.2CTA 3 UR4 UR8 UR12 0 0\n\
                      0010 00000001 0 UTCHMMA.2CTA 3 UR4 UR8 UR12 0 0\n\
                      0020 00000001 0 UTCCP.T.S 2 UR4 UR8 0 0\n\
                      0030 00000001 0 UTMALDG.2D 2 UR4 UR8 0 0\n\
                      0040 ffffffff 1 R4 LDTM.x4 1 UR4 0 0\n\
                      0050 ffffffff 0 EXIT 0 0 0";
    let report = TraceFolder::of_version(100, operations).passes(&Setup::default());
    assert_eq!(report.counters.block_copies().collect::<Vec<_>>(), [("UTMALDG", 1)]);
    assert_eq!(report.counters.engine_operations().collect::<Vec<_>>(), [("UTCCP", 1), ("UTCHMMA", 2)]);
    let note = "operations in tensor memory and the like are not modeled, and take no time: 1 UTCCP, 2 UTCHMMA";
    assert_eq!(report.notes[1], note);
}

#[test]
fn a_product_occupies_the_tensor_pipe_for_as_long_as_its_shape_says() {
    let cycles = |opcode: &str| {
        let one = |pc: u32| format!("{pc:04x} ffffffff 1 R4 {opcode} 3 R8 R10 R12 0 0\n");
        let lines = format!("{}{}00f0 ffffffff 0 EXIT 0 0 0", one(0), one(16));
        let setup = Setup::default().designs(&["tensor"]);
        TraceFolder::of_version(100, lines).passes(&setup).counters.cycles
    };
    // A step of 256 multiplications occupies the pipe for four cycles. The two products differ by 2048
    // multiplications each, of which the pipe works one after the other.
    let [half, whole] = ["HMMA.16816.F32", "QMMA.16832.F32.E4M3.E4M3"].map(cycles);
    assert!(whole >= half + 2 * 8 * 4 - 4 && whole <= half + 2 * 8 * 4 + 64, "{half} {whole}");
}

/// Folder with two kernels of a warp each and the copies from the host before them.
fn two_kernels(list: &str, first: &str, second: &str) -> TraceFolder {
    let folder = TraceFolder::ampere(first);
    let other = TraceFolder::ampere(second);
    let path = folder.folder.path().join("kernel-2.traceg");
    fs::copy(other.folder.path().join("kernel-1.traceg"), path).unwrap();
    fs::write(&folder.list, list).unwrap();
    folder
}

/// Returns the instructions of a warp that accesses the given lines with one opcode.
fn accesses(opcode: &str, mask: u32, lines: impl Iterator<Item = u64>) -> String {
    let lines =
        lines.enumerate().map(|(at, line)| format!("{:04x} {mask:08x} {opcode} 4 1 {:#x} 4 0\n", 16 * at, line * 128));
    lines.collect::<String>() + "fff0 ffffffff 0 EXIT 0 0 0"
}

#[test]
fn a_copy_from_the_host_brings_its_lines_into_the_l2_if_copies_allocate() {
    let first = 0x1000_0000 / 128;
    // The list copies 32 lines before the kernel, which loads 40.
    let folder = TraceFolder::ampere(accesses("1 R4 LDG.E 1 R6", u32::MAX, first..first + 40));
    let run = |copies: &str| {
        let report = folder.passes(&Setup::default().sets(&[&format!("l2.host_copies={copies}")]));
        let l2 = report.counters.totals().l2;
        ((l2.hits, l2.misses), report.notes)
    };
    assert_eq!(run("update"), ((0, 40), vec![]));
    let note = "copies from the host (MemcpyHtoD) brought 32 lines into the L2";
    assert_eq!(run("allocate"), ((32, 8), vec![note.to_owned()]));
}

/// The first kernel leaves modified lines, some of them in part, in an L2 of 48 lines. The copy evicts them, so that
/// the second kernel must find them in memory. It finds the end of the copy in the L2.
#[test]
fn a_copy_from_the_host_writes_what_it_evicts_to_memory() {
    let (stored, copied, lines) = (0x1000_0000 / 128, 0x2000_0000 / 128, 200);
    let list = format!("kernel-1.traceg\nMemcpyHtoD,{:#x},{}\nkernel-2.traceg\n", copied * 128, lines * 128);
    let end = copied + lines - 16..copied + lines;
    let loads = accesses("1 R4 LDG.E 1 R6", u32::MAX, end.clone().chain(stored..stored + 16));
    let small = ["l2.sets=4", "l2.ways=2", "l2.host_copies=allocate"];
    let of_fermi = |more: &[&str]| Setup::default().sets(&[&small[..], more].concat());
    let design = |name: &str| of_fermi(&[]).designs(&[name]);
    let lru = [of_fermi(&[]), design("frc-4"), design("fetch-on-write"), of_fermi(&["l2.replacement.kind=tree-plru"])];
    let mask = ["l2.flow.write_miss=byte-mask"];
    let others =
        [design("l2-sectored"), design("srrip"), design("drrip"), of_fermi(&["l2.hints=true"]), of_fermi(&mask)];
    let parts = [
        design("streaming-l2"),
        of_fermi(&["l2.partition={ kind = \"by-requester\", ways = [1, 1], sms = [] }"]),
        of_fermi(&["l2.prefetch.kind=next-line"]),
    ];
    for mask in [u32::MAX, 0xf0, 1] {
        let folder = two_kernels(&list, &accesses("0 STG.E 2 R4 R6", mask, stored..stored + 16), &loads);
        for (i, setup) in lru.iter().chain(&others).chain(&parts).enumerate() {
            let report = folder.passes(setup);
            let l2 = report.counters.totals().l2;
            assert_eq!(l2.accesses, 32, "{i}");
            if i < lru.len() {
                assert_eq!((l2.hits, l2.misses), (16, 16), "{i}");
            }
        }
    }
}

#[test]
fn a_copy_from_the_host_completes_lines_that_are_present_in_part() {
    let first = 0x1000_0000 / 128;
    let list = format!("kernel-1.traceg\nMemcpyHtoD,{:#x},{}\nkernel-2.traceg\n", first * 128, 8 * 128);
    let loads = accesses("1 R4 LDG.E 1 R6", u32::MAX, first..first + 8);
    for sets in [&["l2.flow.write_miss=byte-mask"][..], &["l2.flow.write_miss=byte-mask", "l2.flow.fetch=sectors"]] {
        let setup = Setup::default().sets(&[sets, &["l2.host_copies=allocate"]].concat());
        let folder = two_kernels(&list, &accesses("0 STG.E 2 R4 R6", 0xf0, first..first + 8), &loads);
        let l2 = folder.passes(&setup).counters.totals().l2;
        assert_eq!((l2.hits, l2.misses, l2.fetches), (8, 0, 0), "{sets:?}");
    }
}

#[test]
fn buffers_of_a_launch_file_are_in_the_l2_if_copies_allocate_as_in_the_replay_of_its_export() {
    let setup =
        |copies: &str| Setup::run_checked().designs(&["ideal-operands"]).sets(&[&format!("l2.host_copies={copies}")]);
    let [cold, warm] = ["update", "allocate"].map(|copies| {
        let counters = setup(copies).passes(&launch("vadd", "small")).counters;
        (counters.totals().l2.misses, counters.cycles)
    });
    assert!(cold.0 > 0 && warm.0 == 0 && warm.1 < cold.1, "{cold:?} {warm:?}");
    let exported = export_kernel("vadd", Packing::Plain);
    assert_eq!(exported.passes(&setup("allocate")).counters.cycles, warm.1);
}

#[test]
fn kernels_of_several_streams_run_one_after_the_other_and_the_run_says_so() {
    let text = accesses("1 R4 LDG.E 1 R6", u32::MAX, 0x20_0000..0x20_0001);
    let folder = two_kernels("kernel-1.traceg\nkernel-2.traceg\n", &text, &text);
    assert_eq!(folder.passes(&Setup::default()).streams, 1);
    let second = folder.folder.path().join("kernel-2.traceg");
    let of_stream = fs::read_to_string(&second).unwrap().replacen('#', "-cuda stream id = 7\n#", 1);
    fs::write(&second, of_stream).unwrap();
    let report = folder.passes(&Setup::default());
    let note = "the kernels of 2 streams ran one after the other: kernels side by side are not modeled";
    assert_eq!((report.streams, report.notes), (2, vec![note.to_owned()]));
}

#[test]
fn barriers_and_fences_wait_for_atomics_as_for_stores() {
    let waits = |opcode: &str, next: &str| {
        let text = format!("0000 ffffffff 0 {opcode} 1 0x1000 4 0\n0010 ffffffff 0 {next} 0 0 0");
        let counters = count_alone(&text);
        counters.stalls[0].of(StallReason::StoreDrain) > 20
    };
    for next in ["BAR.SYNC", "MEMBAR.SC.GPU"] {
        assert!(waits("RED.E.ADD 2 R4 R6 4", next) && waits("STG.E 2 R4 R6 4", next), "{next}");
        assert!(!waits("LDG.E 1 R4 4", next), "{next}");
    }
}

/// The constant cache serves one word per access. A load of a 64-bit value counts as one access.
#[test]
fn constants_with_addresses_go_to_their_cache() {
    let constants = |opcode: &str| {
        let counters = count_alone(&format!("0000 ffffffff {opcode}"));
        (lines(&counters), counters.const_cache.iter().map(|cache| cache.accesses).sum::<u64>())
    };
    assert_eq!(constants("1 R2 LDC 1 R4 4 1 0x1000 0 0"), ((0, 0), 1));
    assert_eq!(constants("1 R2 LDC.64 1 R4 8 1 0x1000 8 0"), ((0, 0), 32));
    assert_eq!(constants("1 R2 LDC 1 R4 0 0"), ((0, 0), 0));
}

#[test]
fn instructions_of_no_lane_are_issued_and_touch_nothing() {
    let text = "0000 00000000 1 R2 LDG.E 1 R4 4 1 0x0 7 0\n0010 ffffffff 0 EXIT 0 0 0";
    let report = TraceFolder::ampere(text).passes(&Setup::default());
    assert_eq!((lines(&report.counters), report.counters.warp_instructions()), ((0, 0), 2));
}

#[test]
fn accesses_whose_addresses_were_not_recorded_are_issued_and_touch_nothing() {
    for opcode in
        ["1 R2 LDG.E 1 R4", "0 STG.E 2 R4 R2", "1 R2 ATOMG.E.ADD 2 R4 R6", "1 R2 LDS 1 R4", "1 R2 ATOMS.ADD 2 R4 R6"]
    {
        // The addresses of this access were not recorded, so it writes no register. The instruction that
        // reads the register must not wait.
        let counters = count_alone(&format!("0000 ffffffff {opcode} 0 0\n0010 ffffffff 1 R3 FADD 2 R2 R2 0 0"));
        assert_eq!((lines(&counters), atomics(&counters)), ((0, 0), (0, 0)), "{opcode}");
        assert_eq!(counters.warp_instructions(), 3, "{opcode}");
    }
}

#[test]
fn warps_and_ctas_that_the_trace_leaves_out_do_nothing() {
    let folder = TraceFolder::ampere("0000 ffffffff 0 EXIT 0 0 0");
    let path = folder.folder.path().join("kernel-1.traceg");
    let text =
        fs::read_to_string(&path).unwrap().replace("(32,1,1)", "(96,1,1)").replace("(1,1,1)\n-b", "(40,1,1)\n-b");
    fs::write(&path, text).unwrap();
    let report = folder.passes(&Setup::default());
    assert_eq!(report.counters.warp_instructions(), 1);
}

#[test]
fn a_line_that_is_wrong_is_named_when_the_run_comes_to_it() {
    let traced = TraceFolder::synthetic(Kind::Stream, Size { ctas: 40, iterations: 1 });
    let path = traced.folder.path().join("kernel-1.traceg");
    let text = fs::read_to_string(&path).unwrap();
    let at = text.rfind("FFMA").unwrap();
    fs::write(&path, format!("{}FFNA{}", &text[..at], &text[at + 4..])).unwrap();
    let line = text[..at].lines().count();
    let error = traced.tries(&Setup::default().sets(&["num_sms=2"])).unwrap_err().to_string();
    let expected = format!("kernel-1.traceg:{line}:20: found `FFNA`, expected an opcode of Kepler");
    assert!(error.ends_with(&expected), "{error}");
}

#[test]
fn an_address_that_the_machine_does_not_have_is_refused_with_the_way_out() {
    for opcode in ["LDG.E", "LDC"] {
        let text = format!("0000 00000001 1 R2 {opcode} 1 R4 4 1 0x7f0000000000 0 0");
        let error = TraceFolder::ampere(&text).tries(&Setup::default()).unwrap_err().to_string();
        let expected = "kernel-1.traceg:15:1: 0x7f0000000000 takes 47 address bits, but the machine has 32: \
                        use `--set addr_bits=47`";
        assert!(error.ends_with(expected), "{error}");
    }
}

#[test]
fn a_kernel_that_fits_no_sm_is_refused() {
    let traced = TraceFolder::ampere("0000 ffffffff 0 EXIT 0 0 0");
    let path = traced.folder.path().join("kernel-1.traceg");
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("= 4096", "= 65536")).unwrap();
    let error = traced.tries(&Setup::default()).unwrap_err().to_string();
    assert!(error.ends_with("kernel `k` needs 65536 bytes of shared memory per CTA, SM has 49152"), "{error}");
}

#[test]
fn a_recorded_load_of_shared_memory_is_as_late_as_its_latency_and_its_conflicts_say() {
    let run = |first: &str| {
        let text = format!("0000 ffffffff {first} 0\n0010 ffffffff 1 R3 FADD 2 R2 R2 0 0\n0020 ffffffff 0 EXIT 0 0 0");
        let counters = TraceFolder::ampere(&text).passes(&Setup::default().sets(&["sm.shared.latency=5"])).counters;
        (counters.cycles, counters.totals().cores.shared_conflicts)
    };
    // A fused multiply-add takes 5 cycles, as long as a load from shared memory without bank conflicts. The
    // test uses it as the reference.
    let (alike, _) = run("1 R2 FFMA 3 R4 R5 R6 0");
    let load = |stride: u32| run(&format!("1 R2 LDS 1 R4 4 1 0x40000000 {stride}"));
    assert_eq!([load(4), load(128)], [(alike, 0), (alike + 31, 31)]);
}

/// A setting selects the timing of opcodes: that of the machine's pipes, or that of the GPU architecture of
/// the trace.
#[test]
fn opcodes_take_as_long_as_the_machine_or_their_architecture_says() {
    let cycles = |timing: &str, version: u32, text: &str| {
        let traced = TraceFolder::of_version(version, format!("{text}\n0030 ffffffff 0 EXIT 0 0 0"));
        let setup = Setup::default().sets(&[&format!("sm.trace_timing={timing}")]);
        traced.passes(&setup).counters.cycles as i64
    };
    // Number of cycles that the second of two equal instructions adds to the run. The second instruction
    // waits for the result of the first, or until the pipe is free.
    let later = |version, second: &str| {
        let text = format!("0000 ffffffff 1 R2 {second} 1 R4 0 0\n0010 ffffffff 1 R3 {second} 1 R2 0 0");
        let alone = text.lines().next().unwrap();
        ["pipes", "binary-version"].map(|timing| cycles(timing, version, &text) - cycles(timing, version, alone))
    };
    let after = |version, opcode| {
        let [pipes, version] = later(version, opcode);
        version - pipes
    };
    // On the machine `fermi`, a double-precision operation has a latency of 8 cycles and occupies its pipe
    // for 8 cycles. A move takes 4 cycles.
    assert_eq!([60, 70, 80].map(|version| after(version, "DFMA")), [12, 0, 56]);
    assert_eq!([35, 61, 75].map(|version| after(version, "MOV")), [0, 0, -2]);
    assert_eq!(after(90, "MOV"), 0);
}

#[test]
fn a_recorded_access_waits_for_its_registers_where_the_file_has_banks() {
    let cycles = |banks: u32| {
        let text = "0000 ffffffff 0 STG.E 3 R2 R3 R4 4 1 0x7000 4 0\n0010 ffffffff 0 EXIT 0 0 0";
        TraceFolder::ampere(text)
            .passes(&Setup::default().sets(&[&format!("sm.operands.banks={banks}")]))
            .counters
            .cycles
    };
    // A register bank reads one register per cycle. With a single bank, the three source registers take two
    // more cycles than with an ideal register file.
    assert_eq!(cycles(1) - cycles(0), 2);
}

#[test]
fn a_replay_stops_at_its_cycle_limit() {
    let traced = TraceFolder::synthetic(Kind::Stream, SMALL);
    let options = RunOptions { max_cycles: Some(500), ..RunOptions::default() };
    let report = traced.tries(&Setup { options, ..Setup::default() }).unwrap();
    assert_eq!(report.outcome, Outcome::CycleLimit(500));
}

#[test]
fn a_trace_is_refused_by_warps_of_another_size() {
    let traced = TraceFolder::synthetic(Kind::Stream, SMALL);
    let error = traced.tries(&Setup::default().sets(&["sm.warp_lanes=64"])).unwrap_err().to_string();
    let reason = "is a trace with warps of 32 lanes, expected a machine with such warps, not with 64 lanes";
    assert!(error.contains(reason), "{error}");
}

/// Returns a machine of two SMs that is about to run a trace, and the source from which it reads the CTAs.
pub(super) fn start(traced: &TraceFolder, most_ahead: usize) -> (Machine, Simulator, Arc<TraceSource>, usize) {
    start_on(&Setup::default().sets(&["num_sms=2"]), traced, most_ahead)
}

/// Returns a machine that is about to run the first kernel of a trace, and its simulator. Also returns the
/// source from which the machine reads the CTAs, and the maximum number of CTAs per SM.
pub(super) fn start_on(
    setup: &Setup,
    traced: &TraceFolder,
    most_ahead: usize,
) -> (Machine, Simulator, Arc<TraceSource>, usize) {
    let trace = KernelTrace::open(&traced.folder.path().join("kernel-1.traceg")).unwrap();
    let header = trace.header().clone();
    let source = Arc::new(TraceSource::new(trace, most_ahead));
    let image = Arc::new(KernelImage::from_trace(&header, "k", source.clone()).unwrap());
    let config = setup.config();
    let per_sm = occupancy(&config.sm, &image).unwrap() as usize;
    let mut machine = Machine::new(&config);
    machine.record_memory();
    let mut sim = Simulator::new(machine.clocks().periods(), &machine, Mode::default());
    machine.load(&image).unwrap();
    machine.rouse(&mut sim);
    (machine, sim, source, per_sm)
}

/// Only some CTAs of a trace are in the simulator's memory: those that run, those that start in the same
/// cycle, and those read ahead. CTAs that start in the same cycle may be requested in any order.
#[test]
fn only_the_ctas_that_run_and_some_ahead_are_in_memory() {
    let traced = TraceFolder::synthetic(Kind::Stream, Size { ctas: 60, iterations: 2 });
    let mut trace = KernelTrace::open(&traced.folder.path().join("kernel-1.traceg")).unwrap();
    let bytes = trace.next_cta().unwrap().unwrap().bytes();
    for ahead in [0, 1, 5] {
        let (mut machine, mut sim, source, per_sm) = start(&traced, ahead * bytes);
        while source.most_in_memory() < ahead {
            std::thread::yield_now();
        }
        while !machine.is_kernel_done() {
            sim.step(&mut machine).unwrap();
        }
        let most = source.most_in_memory();
        assert!((2..=2 * per_sm + 2 + ahead).contains(&most), "{most} of {ahead} ahead");
        assert!(source.take(60, &mut |_| {}).is_none());
        assert!(!source.is_broken() && source.take_error().is_none());
    }
}

/// The damaged CTA is read long before it starts. The error must be reported only when the CTA is about to
/// start.
#[test]
fn a_damaged_cta_is_an_error_once_it_is_to_start() {
    let traced = TraceFolder::synthetic(Kind::Stream, Size { ctas: 60, iterations: 2 });
    let path = traced.folder.path().join("kernel-1.traceg");
    let text = fs::read_to_string(&path).unwrap();
    let (whole, _) = text.rsplit_once("#END_TB").unwrap();
    fs::write(&path, format!("{whole}nonsense\n")).unwrap();
    let few = Setup::default().sets(&["num_sms=1"]);
    let options = RunOptions { max_cycles: Some(500), ..RunOptions::default() };
    let report = traced.tries(&Setup { options, ..few.clone() }).unwrap();
    assert_eq!(report.outcome, Outcome::CycleLimit(500));
    let error = traced.tries(&few).unwrap_err().to_string();
    assert!(error.contains("kernel-1.traceg") && error.contains("`nonsense`"), "{error}");
}

/// A compressed trace ends with a checksum. After a bit of the file is flipped, the trace must be rejected,
/// or its data must be unaffected.
#[test]
fn a_compressed_trace_with_a_flipped_bit_is_refused_or_gives_the_same_statistics() {
    /// Number of bits that the test flips in each file, one at a time. They are spread over the whole file.
    const FLIPS: usize = 150;
    let setup = Setup::default().sets(&["num_sms=1", "num_partitions=1"]);
    let mut text = Vec::new();
    Synthetic::new(Kind::Gather, Size { ctas: 2, iterations: 1 }).write(&mut text).unwrap();
    for packing in [Packing::Xz, Packing::Zstd] {
        let mut packer = Packer::new(Vec::new(), packing).unwrap();
        packer.write_all(&text).unwrap();
        let whole = packer.finish().unwrap();
        let expected = TraceFolder::new(&whole).tries(&setup).unwrap().counters;
        let mut refused = 0;
        for flip in 0..FLIPS {
            let bit = flip * 8 * whole.len() / FLIPS;
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            match TraceFolder::new(damaged).tries(&setup) {
                Ok(report) => assert_eq!(report.counters, expected, "{packing:?}, bit {bit}"),
                Err(error) => {
                    assert!(error.to_string().contains("kernel-1.traceg"), "{packing:?}, bit {bit}: {error}");
                    refused += 1;
                }
            }
        }
        assert!(refused > FLIPS * 9 / 10, "{packing:?}: {refused} of {FLIPS}");
    }
}

#[test]
fn what_follows_the_last_cta_is_read_and_may_be_wrong() {
    let mut text = Vec::new();
    Synthetic::new(Kind::Stream, Size { ctas: 2, iterations: 1 }).write(&mut text).unwrap();
    let run = |tail: &str| TraceFolder::new([&text, tail.as_bytes()].concat()).tries(&Setup::default());
    assert_eq!(run("\n\n# a comment\n").unwrap().notes, [""; 0]);
    let error = run("nonsense\n").unwrap_err().to_string();
    assert!(error.ends_with("found `nonsense`, expected `#BEGIN_TB`"), "{error}");
    // The file has one CTA more than the grid. It must not run, and a note must report it.
    let report = run("#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = 0\n#END_TB\n").unwrap();
    let [note] = &report.notes[..] else { panic!("{:?}", report.notes) };
    assert!(note.ends_with("the file has 3 CTAs, the grid 2"), "{note}");
}

/// The warp has two loads in flight. The multiplication after them waits for their results.
#[test]
fn waiting_warps_are_named_with_the_address_of_their_instruction() {
    let traced = TraceFolder::synthetic(Kind::Stream, Size { ctas: 1, iterations: 1 });
    let (mut machine, mut sim, ..) = start(&traced, 0);
    let mut are_seen = false;
    while !are_seen && sim.step(&mut machine).is_some() {
        let waiting = machine.cores()[0].waiting();
        let found = waiting.iter().map(|waiting| (waiting.pc, waiting.reason));
        are_seen = found.eq([(0x60, StallReason::ScoreboardMemory); 8]);
    }
    assert!(are_seen);
}

/// Exports the size `small` of a kernel as a trace.
pub(super) fn export_kernel(kernel: &str, packing: Packing) -> TraceFolder {
    pack(&launch(kernel, "small"), &[], TraceForm { packing, ..TraceForm::default() })
}

/// Exports a launch file as a trace of a Volta GPU, which has opcodes for matrix products. The exporting
/// machine is `fermi` with the given designs.
pub(super) fn exported_from(launch: &Path, designs: &[&str]) -> TraceFolder {
    exported_as(70, launch, designs)
}

/// Exports a launch file as a trace of GPUs of a binary version, such as 70 for Volta.
pub(super) fn exported_as(version: u32, launch: &Path, designs: &[&str]) -> TraceFolder {
    let version = BinaryVersion::new(version).unwrap();
    pack(launch, designs, TraceForm { version, ..TraceForm::default() })
}

fn pack(launch: &Path, designs: &[&str], form: TraceForm) -> TraceFolder {
    let folder = tempfile::tempdir().unwrap();
    let designs = designs.iter().map(|&design| design.to_owned()).collect();
    let request = Request { machine: "fermi".to_owned(), designs, ..Request::default() };
    let config = ResolvedMachine::new(&request).unwrap().config;
    export(open(launch, None).unwrap(), &config, folder.path(), form).unwrap();
    let list = folder.path().join("kernelslist.g");
    TraceFolder { folder, list }
}

/// Counts of a run: lines accessed by loads and by stores, accesses to the constant caches, atomics in the
/// L1s and in the L2, and warp instructions, in total and by pipe.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AccessCounts {
    lines: (u64, u64),
    constants: u64,
    atomics: (u64, u64),
    warp_instructions: u64,
    per_pipe: [u64; 10],
}

impl AccessCounts {
    pub(super) fn of(counters: &Counters) -> Self {
        let per_pipe = counters
            .cores
            .iter()
            .fold([0; 10], |sum: [u64; 10], core| std::array::from_fn(|pipe| sum[pipe] + core.per_pipe[pipe]));
        Self {
            lines: lines(counters),
            constants: counters.const_cache.iter().map(|cache| cache.accesses).sum(),
            atomics: atomics(counters),
            warp_instructions: counters.warp_instructions(),
            per_pipe,
        }
    }
}

/// Kernels in which the results of atomics determine what a thread does next. The lines and instructions of
/// such a kernel depend on the order of threads.
const RACING: [&str; 2] = ["bfs_queue", "mrigridding"];

/// Kernels whose replays take clearly less or more time than their programs, with the limits of the ratio.
/// `rope` divides integers for each pair of numbers: the trace has one instruction for each division, but
/// SASS has several. The others compute with the elements of `ld.v4` as they arrive: in a trace, an
/// instruction that reads one register of a vector waits for the whole vector. With four loads in place of
/// each `ld.v4`, their ratios are 0.992, 1.003 and 0.987.
const UNLIKE_THEIR_TRACES: [(&str, Range<f64>); 4] =
    [("rope", 0.85..0.9), ("attention_prefill", 1.01..1.05), ("gemv", 1.01..1.13), ("rmsnorm", 1.01..1.13)];

#[test]
fn an_exported_kernel_asks_for_what_the_kernel_asks_for_and_takes_about_its_time() {
    for kernel in some_kernels(4) {
        let program = Setup::default().passes(&launch(&kernel, "small")).counters;
        let trace = export_kernel(&kernel, Packing::Plain).passes(&Setup::default()).counters;
        // Few divisions, roots and vectors change the time of a replay as they do in these kernels, but less.
        let unlike = UNLIKE_THEIR_TRACES.iter().find(|(name, _)| *name == kernel);
        let allowed = unlike.map_or(0.9..1.01, |(_, allowed)| allowed.clone());
        let part = trace.cycles as f64 / program.cycles as f64;
        assert!(allowed.contains(&part) || RACING.contains(&&*kernel), "{kernel}: {part} of the cycles");
        let [program, mut trace] = [&program, &trace].map(AccessCounts::of);
        if RACING.contains(&&*kernel) {
            let AccessCounts { lines, atomics, warp_instructions, per_pipe, .. } = program;
            trace = AccessCounts { lines, atomics, warp_instructions, per_pipe, ..trace };
        }
        assert_eq!(trace, program, "{kernel}");
    }
}

#[test]
fn an_exported_kernel_takes_the_time_that_the_kernel_takes() {
    // These kernels and this design avoid two differences between a program and its trace. The kernels load
    // no vectors: a trace names a vector as one register, so instructions wait for all of it. The design has
    // no register bank conflicts, which would differ because a trace uses other register numbers.
    let setup = Setup::default().designs(&["ideal-operands"]);
    for kernel in ["vadd", "syrk", "bfs", "gesummv", "conv", "spmv_jds"] {
        let program = setup.passes(&launch(kernel, "small")).counters;
        let trace = export_kernel(kernel, Packing::Zstd).passes(&setup).counters;
        assert_eq!(trace.cycles, program.cycles, "{kernel}");
    }
}

#[test]
fn a_list_without_kernels_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("kernelslist.g");
    fs::write(&list, "MemcpyHtoD,0x10,4\n").unwrap();
    let error = Trace::open(Path::new(&list)).unwrap_err().to_string();
    assert!(error.ends_with("the list has no kernel, expected at least one"), "{error}");
}
