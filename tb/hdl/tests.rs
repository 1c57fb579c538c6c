//! Compares every SystemVerilog module with its Rust model, and checks that the testbenches detect the
//! deliberate mistakes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use area::Node;
use rtl::kernel::Logic;

use super::survey::ENDLESS_IN_ICARUS;
use super::*;

const CYCLES: u64 = 20_000;

/// Runs the lockstep test of a module at the small size, with some of its deliberate mistakes. Every third
/// module is also run at the size that it has in `fermi`, except for the large ones, which a C++ compiler needs
/// minutes to translate at that size. With `THOROUGH=1`, all mistakes are tested, and all modules are run at
/// both sizes.
pub(super) fn check(bench: &str) {
    let mut blocks = blocks().into_iter().enumerate();
    let (number, block) = blocks.find(|(_, block)| block.bench == bench).expect("a bench is in the list of blocks");
    let run = |size, mistakes| -> Vec<_> {
        let lockstep = Lockstep::new(block, size, 1, mistakes).unwrap();
        (0..=mistakes.len()).map(|module| lockstep.run(module, CYCLES).unwrap()).collect()
    };
    let agreed =
        |run: &Result<Agreement, Difference>| run.as_ref().map(|agreed| agreed.cycles).map_err(ToString::to_string);
    let is_large = block.is_large();
    if is_thorough() || (number % 3 == 0 && !is_large) {
        let fermi = run(Size::Fermi, &[]);
        assert_eq!(agreed(&fermi[0]), Ok(CYCLES), "{} of fermi", block.path());
    }
    let mistakes: Vec<_> = sample(block.mistakes, if is_large { 8 } else { 4 }).copied().collect();
    let small = run(Size::Small, &mistakes);
    assert_eq!(agreed(&small[0]), Ok(CYCLES), "small {}", block.path());
    let problem = |(run, mistake): (&Result<Agreement, Difference>, &Mistake)| {
        let Mistake { instead_of, is, equivalent } = mistake;
        match (agreed(run), equivalent) {
            (Ok(_), None) => Some(format!("no vector reveals `{is}` instead of `{instead_of}`")),
            (Err(seen), Some(_)) => Some(format!("`{is}` is not equivalent to `{instead_of}`: {seen}")),
            _ => None,
        }
    };
    let problems: Vec<_> = small[1..].iter().zip(&mistakes).filter_map(problem).collect();
    assert!(problems.is_empty(), "{}:\n{}", block.path(), problems.join("\n"));
}

/// Returns the SystemVerilog files of all modules below a folder.
fn modules(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            found.extend(modules(&entry.path()));
        } else if entry.path().extension().is_some_and(|ending| ending == "sv") {
            found.insert(entry.path());
        }
    }
    found
}

#[test]
fn every_module_has_a_bench_and_every_bench_a_module() {
    let benches: BTreeSet<_> = blocks().iter().map(|block| block.file()).collect();
    let checkers: Vec<_> = checkers().iter().map(|checker| assertions::checker_file(&path_of(checker.bench))).collect();
    let is_module = |file: &PathBuf| {
        !file.starts_with(hdl_folder().join("proofs")) && !checkers.contains(file) && !hierarchy::is_macro(file)
    };
    assert_eq!(modules(&hdl_folder()).into_iter().filter(is_module).collect::<BTreeSet<_>>(), benches);
}

#[test]
fn every_file_of_a_property_is_proven() {
    let files: BTreeSet<_> = proofs().iter().map(|proof| proof.file()).collect();
    assert_eq!(modules(&hdl_folder().join("proofs")), files);
    proofs().iter().for_each(|proof| assert!(!proof.property().unwrap().is_empty()));
}

/// Proves a property at the sizes that are quick to prove, and checks that each deliberate mistake violates
/// the property.
pub(super) fn check_proof(bench: &str) {
    let proof = proofs().into_iter().find(|proof| proof.bench == bench).expect("a bench is in the list of proofs");
    let sizes = (proof.sizes)();
    for size in &sizes[..proof.quick] {
        let found = proof.prove(size, None).unwrap();
        assert!(found.is_ok(), "{} at {size}: {:?}", proof.path(), found.map_err(|found| (found.broken, found.cycles)));
    }
    let mut labels: BTreeSet<_> = proof.labels().unwrap().into_iter().collect();
    for mistake in sample(proof.mistakes, 8) {
        let Err(CounterExample { cycles, waveform, broken }) = proof.prove(&sizes[0], Some(mistake)).unwrap() else {
            panic!("{}: `{}` instead of `{}` breaks nothing", proof.path(), mistake.is, mistake.instead_of)
        };
        // The waveform has a timestamp for each clock edge, rising and falling.
        let times = waveform.lines().filter(|line| line.starts_with('#')).count();
        assert!(times >= 2 * cycles as usize, "{}: {times} times of {cycles} cycles", proof.path());
        for label in broken {
            labels.remove(&label);
        }
    }
    assert!(labels.is_empty() || !is_thorough(), "{}: no mistake breaks {labels:?}", proof.path());
    assert!(proof.mistakes.len() >= 2, "{}: expected two mistakes or more", proof.path());
}

/// Number of cycles in which each deliberate violation of a contract must be reported.
const VIOLATED_CYCLES: u64 = 10_000;

/// Checks that each deliberate violation of a module's contract makes its property fail, that each property
/// has a violation, and that nothing fails without one. Of a large module, every fourth violation is tested,
/// and all with `THOROUGH=1`.
pub(super) fn check_assertions(bench: &str) {
    let checker = checkers().into_iter().find(|checker| checker.bench == bench).expect("a bench is in the list");
    let block = blocks().into_iter().find(|block| block.bench == bench).expect("a checker has a module");
    let properties = block.checker().unwrap().expect("a checker has a file").properties();
    let step = if block.is_large() { 4 } else { 1 };
    let tested: Vec<_> = sample(checker.violations, step).copied().collect();
    let failed = Lockstep::violate(block, (Size::Small, 1), &tested, VIOLATED_CYCLES).unwrap();
    assert!(failed[0].is_empty(), "{}: {:?} fail without a violation", block.path(), failed[0]);
    let missed = |(Violation { property, change }, failed): (&Violation, &BTreeSet<String>)| {
        (!failed.contains(*property)).then(|| format!("{change:?} does not violate {property}, but {failed:?}"))
    };
    let missed: Vec<_> = tested.iter().zip(&failed[1..]).filter_map(missed).collect();
    assert!(missed.is_empty(), "{}:\n{}", block.path(), missed.join("\n"));
    let violated: BTreeSet<_> = checker.violations.iter().map(|violation| violation.property.to_owned()).collect();
    assert_eq!(properties, violated, "{}: each property needs a violation", block.path());
}

#[test]
fn every_bench_has_ten_mistakes_to_notice() {
    for block in blocks() {
        let seen = block.mistakes.iter().filter(|mistake| mistake.equivalent.is_none()).count();
        assert!(seen >= 10, "{}: {seen} mistakes, expected 10 or more", block.path());
    }
}

#[test]
#[cfg_attr(not(has_verilator), ignore = "verilator or g++ is not installed")]
fn no_module_has_a_warning_of_verilator() {
    for block in blocks() {
        let file = block.file();
        let mut verilator = Command::new("verilator");
        let command = verilator.args(["--lint-only", "-Wall", "--assert", "--top-module", &module_of(&block.path())]);
        // Verilator takes ten seconds for a module of tens of thousands of registers, so only a thorough test
        // checks the default sizes.
        let sizes = if is_thorough() { Vec::new() } else { block.shape(Size::Small).0 };
        let text = fs::read_to_string(&file).unwrap();
        let command = command.args(sizes.iter().map(|(name, value)| {
            // Verilator warns of a number of 32 bits for a parameter of one bit.
            let width = if text.contains(&format!("parameter bit {name} ")) { "1'b" } else { "" };
            format!("-G{name}={width}{value}")
        }));
        let command = command.args(hierarchy::files(&file).unwrap());
        let checker = assertions::checker_file(&block.path());
        let command = command.args(checker.exists().then_some(&checker));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
#[cfg_attr(not(has_yosys), ignore = "yosys or yosys-abc is not installed")]
fn yosys_reads_the_modules_that_take_it_minutes_to_map() {
    let large: Vec<_> = blocks().into_iter().filter(|block| block.is_large()).collect();
    let texts: Vec<_> = large.iter().map(|block| fs::read_to_string(block.file()).unwrap()).collect();
    let read_within_others = hierarchy::instantiated(&texts).unwrap();
    for block in large.into_iter().filter(|block| !read_within_others.contains(&block.file())) {
        let (parameters, _) = block.shape(Size::Small);
        let commands = synthesis::read_commands(&block.file(), &module_of(&block.path()), &parameters).unwrap();
        let folder = tempfile::tempdir().unwrap();
        // Without the option, Yosys elaborates each module at its default size first, which takes a minute.
        let script = format!("verilog_defaults -add -defer\n{commands}proc\ncheck -assert");
        program::yosys(folder.path(), &script).unwrap();
    }
}

#[test]
#[cfg_attr(not(has_yosys), ignore = "yosys or yosys-abc is not installed")]
fn a_module_has_a_flip_flop_for_each_bit_that_its_part_describes() {
    let technology = area::Technology::built_in().unwrap();
    let mapped = blocks().into_iter().filter(|block| !block.is_large());
    for block in sample(mapped, 2) {
        let Synthesis { synthesised, estimated, .. } = block.synthesise(Size::Small, technology).unwrap();
        let constant = (block.build)(Size::Small, Random::new(1)).constant_bits();
        assert_eq!(synthesised.flip_flops + constant, estimated.flip_flops, "{}", block.path());
        assert!(synthesised.logic_um2 > 0.0, "{}", block.path());
    }
}

/// The test skips modules with at least this many register bits, because Yosys takes too long. The command
/// `reproduce area/synthesis` covers all modules.
const FEW_REGISTERS: u64 = 600;

#[test]
#[cfg_attr(not(has_yosys), ignore = "yosys is not installed")]
fn the_area_described_is_that_of_the_gates_within_a_fifth() {
    let technology = area::Technology::built_in().unwrap();
    let is_quick = |block: &&Block| (1..FEW_REGISTERS).contains(&block.shape(Size::Synthesised).1);
    for block in sample(blocks().into_iter().filter(is_quick), 2) {
        let Synthesis { synthesised, estimated, .. } = block.synthesise(Size::Synthesised, technology).unwrap();
        let ratio = estimated.um2() / synthesised.um2();
        assert!((0.8..=1.2).contains(&ratio), "{}: {ratio:.2} of {:.0} um2", block.path(), synthesised.um2());
    }
}

#[test]
#[cfg_attr(not(has_yosys), ignore = "yosys is not installed")]
fn a_unit_of_logic_costs_what_its_gates_do_within_a_quarter() {
    let technology = area::Technology::built_in().unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("units.sv");
    let gates = |module: &str, n: u32| {
        let name = format!("units-{module}-{n}");
        let cells = synthesis::cells(&file, module, &[("N", n.to_string())], technology, Some(&name)).unwrap();
        Gates::of(&cells, technology).um2()
    };
    let units = |n: u32| {
        [
            ("xor_tree", Logic::XorTree { fan_in: n }),
            ("equal", Logic::Comparator { width: n, count: 1 }),
            ("less", Logic::Less { width: n, count: 1 }),
            ("first", Logic::PriorityEncoder { inputs: n }),
            ("select", Logic::Mux { ways: n, width: 8 }),
            ("decode", Logic::Decoder { outputs: n }),
            ("add", Logic::Adder { width: n }),
            ("count", Logic::Counter { width: n }),
            ("population", Logic::Population { inputs: n }),
            ("times", Logic::Multiplier { width: n, by: n }),
            ("times_100", Logic::ConstantMultiplier { width: n, factor: 100 }),
        ]
    };
    for n in [12, 20] {
        for (module, logic) in units(n) {
            let ratio = technology.logic(Node::N45, logic).um2 / gates(module, n);
            assert!((0.75..=1.25).contains(&ratio), "{module} of {n}: {ratio:.2}");
        }
        let ratio = technology.flops(Node::N45, n.into()).um2 / gates("hold", n);
        assert!((0.99..=1.01).contains(&ratio), "hold of {n}: {ratio:.2}");
    }
}

#[test]
#[cfg_attr(not(has_verilator), ignore = "verilator or g++ is not installed")]
fn vectors_pass_in_a_plain_bench_and_do_not_backwards() {
    let block = blocks().into_iter().find(|block| block.path() == "l1/mshr").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let Vectors { bench, rows } = block.vectors(Size::Small, 1, 1000);
    let file = block.file();
    fs::write(folder.path().join(&bench.0), &bench.1).unwrap();
    let arguments = ["--binary", "-Wno-lint", "-Wno-style", "--top-module", "bench", "-CFLAGS", "-O0", "--Mdir", "."];
    let mut verilator = Command::new("verilator");
    let built =
        verilator.args(arguments).args([Path::new(&bench.0), &file]).current_dir(folder.path()).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let played = |text: &str| {
        fs::write(folder.path().join(&rows.0), text).unwrap();
        let output = Command::new(folder.path().join("Vbench")).current_dir(folder.path()).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (passed, out) = played(&rows.1);
    assert!(passed && out.contains("1000 cycles agree"), "{out}");
    let wrong: Vec<_> = rows.1.lines().rev().collect();
    let wrong = wrong.join("\n");
    let (passed, out) = played(&wrong);
    assert!(!passed && out.contains("expected"), "{out}");
}

/// Illegal parameter values of each module. Each text lists one or more parameters. The module must reject
/// the value of the first parameter; the others are set only because the first one requires them.
const REFUSED: &[(&str, &[&str])] = &[
    ("cells/atomic", &["LINE_BYTES=12", "OPERAND_BYTES=24"]),
    ("cells/register_file", &["ROWS=0", "WIDTH=0", "GRAIN=3"]),
    ("cells/streaming", &["PERIOD=99999", "MISS_PERCENT=101", "MIN_ACCESSES=99999"]),
    (
        "dram/bank",
        &["ROW_BITS=0", "RCD_RD=-1", "RCD_WR=-1", "RAS=-1", "RC=-1", "RTP=-1", "WR_TO_PRE=-1", "RP=-1", "RFC=-1"],
    ),
    (
        "dram/channel",
        &[
            "REPLIES=1",
            "HIT_CAP=65536",
            "GROUPS=3",
            "COLUMN_BITS=0",
            "MEM_BURSTS=8388608",
            "READ_LATENCY=1",
            "COLUMN_MAP=0",
            "BANK_MAP=0",
            "ROW_MAP=0",
        ],
    ),
    ("dram/refresh", &["ENTRIES=0", "BANKS=0", "REFI=0"]),
    ("dram/scheduler", &["ENTRIES=0", "BANKS=0"]),
    (
        "dram/timing",
        &[
            "GROUPS=0",
            "BANKS_PER_GROUP=0",
            "RRD_S=-1",
            "RRD_L=-1",
            "FAW=-1",
            "AW32=-1",
            "RC=-1",
            "CCD_S=-1",
            "CCD_L=-1",
            "RD_TO_WR=-1",
            "WR_TO_RD_S=-1",
            "WR_TO_RD_L=-1",
            "PPD=-1",
            "RP=-1",
            "RFC=-1",
        ],
    ),
    ("index/i_poly", &["INDEX_BITS=0", "POLYNOMIAL=69", "LINE_BITS=0", "OFFSET_BITS=-1", "ADDR_BITS=7"]),
    ("index/xor_index", &["LINE_BITS=0", "INDEX_BITS=0"]),
    ("l1/bypass/contention", &["LINES=0", "LANES=0", "WARPS=0", "LINE_BITS=0"]),
    ("l1/bypass/pdp", &["SETS=0", "WAYS=1", "DISTANCE=256"]),
    (
        "l1/cache",
        &[
            "SETS=3",
            "WAYS=3",
            "LINE_BITS=5",
            "LINE_LOG2=8",
            "MSHR_ENTRIES=0",
            "MSHR_MERGES=0",
            "MISS_QUEUE=1",
            "ACCESS_QUEUE=0",
            "SLOTS=65",
            "PC_BITS=0",
            "PARTITIONS=0",
            "SM_BITS=0",
            "SM=16",
        ],
    ),
    ("l1/coalescer", &["LINE_LOG2=8", "LINE_BITS=0"]),
    ("l1/decoupled", &["SETS=0", "WAYS=1", "TAGS=1", "THRESHOLD=64", "TAG_BITS=0"]),
    ("l1/dueling", &["NUM_SMS=1", "INTERVAL=0", "MARGIN=101", "MIN_ACCESSES=99999"]),
    ("l1/miss_queue", &["DEPTH=1", "LINE_BYTES=0", "LINE_BITS=0", "TICKET_BITS=0"]),
    ("l1/mshr", &["ENTRIES=0", "MERGES=0", "LINE_BITS=0", "PLACE_BITS=0"]),
    ("l1/pending", &["ROWS=0", "LINE_LOG2=2", "PC_BITS=0", "PUTS=0"]),
    ("l1/tags", &["SETS=0", "WAYS=1", "POLICY=9", "TAG_BITS=0"]),
    ("l2/atomic_buffer", &["SETS=0", "WAYS=0", "LINE_BYTES=0"]),
    (
        "l2/bank",
        &[
            "SETS=3",
            "WAYS=17",
            "LINE_BYTES=16",
            "LATENCY=0",
            "ENTRIES=0",
            "MERGES=0",
            "REPLIES=0",
            "PENDING=0",
            "FRC_SETS=3",
            "FRC_WAYS=0",
            "SWAP_LATENCY=0",
            "BURST_BYTES=128",
            "PARTITIONS=0",
            "LINE_BITS=31",
            "SM_BITS=0",
            "PARTITION_BITS=0",
        ],
    ),
    ("l2/frc", &["SETS=0", "WAYS=0", "BANK_SETS=0", "BANK_WAYS=0", "L1S=0", "TAG_BITS=0", "LINE_BYTES=0"]),
    ("noc/link", &["WIDTH=0", "DEPTH=1", "LATENCY=0", "CREDIT=0"]),
    (
        "noc/xbar",
        &[
            "INPUTS=65",
            "OUTPUTS=65",
            "FLIT_BYTES=31",
            "BUFFER_FLITS=4",
            "LINE_BITS=0",
            "LINE_BYTES=48",
            "SM_BITS=0",
            "PARTITION_BITS=0",
        ],
    ),
    ("sm/scoreboard", &["WARPS=0"]),
    ("sm/simt_stack", &["WARPS=0", "LANES=1"]),
    ("sm/warp_scheduler", &["WARPS=65"]),
    ("throttle/ccws/scores", &["WARPS=0", "BASE=262144", "K=0"]),
    ("throttle/ccws/victims", &["SETS=0", "WAYS=0", "WARPS=0", "VICTIM_SETS=0", "VICTIM_WAYS=1", "LINE_BITS=0"]),
    (
        "throttle/coordinator",
        &["CORES=0", "MOST=128", "MPKI=0", "ABOVE=8", "TRIGGER=3", "COORDINATOR=0 TRIGGER=2", "MEMO=65"],
    ),
    ("throttle/monitor", &["MOST=128", "PERIOD=99999", "MPKI=0", "SAMPLE=8"]),
    ("top", &["INJECT=-1", "TO_L2=0", "FROM_L2=0", "DELIVER=-1", "FROM_DRAM=0"]),
    ("tracker/sharer_table", &["SETS=3", "WAYS=1", "SMS=1", "LINE_BITS=7"]),
    ("tracker/transfers", &["ROWS=0", "SMS=1", "LINE_BITS=0", "TICKET_BITS=0"]),
];

#[test]
#[cfg_attr(not(has_verilator), ignore = "verilator or g++ is not installed")]
fn every_refusal_of_a_parameter_happens() {
    for block in blocks() {
        let refused = REFUSED.iter().find(|(path, _)| *path == block.path()).map_or(&[][..], |(_, refused)| refused);
        let text = fs::read_to_string(block.file()).unwrap();
        let refusals = text.split("$error(\"").skip(1).filter_map(|message| message.split(' ').next());
        let names = refused.iter().filter_map(|sizes| sizes.split('=').next());
        assert!(refusals.eq(names), "{}: each refusal needs a case, in the same order", block.path());
        let module = module_of(&block.path());
        let report = |top: &str, arguments: &mut dyn Iterator<Item = String>| {
            let mut verilator = Command::new("verilator");
            verilator.args(["--lint-only", "--top-module", top]).args(hierarchy::files(&block.file()).unwrap());
            let output = verilator.args(arguments).output().unwrap();
            match output.status.success() {
                true => String::new(),
                false => String::from_utf8_lossy(&output.stderr).into_owned(),
            }
        };
        // A module that a case instantiates may refuse the parameter first.
        let is_told = |told: &str, sizes: &str| {
            told.contains(&(sizes.split(' ').next().unwrap().replace('=', " is ") + ", expected "))
        };
        // Verilator reports the errors of several instances in one file, unless one of them is an error to it for
        // another reason. The cases that it does not report are then tried alone.
        let instance = |(number, sizes): (usize, &&str)| {
            let parameters = sizes.split(' ').map(|size| format!(".{})", size.replace('=', "(")));
            format!("  {module} #({}) refused{number}();\n", parameters.collect::<Vec<_>>().join(", "))
        };
        let instances: String = refused.iter().enumerate().map(instance).collect();
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("refused.sv");
        fs::write(&top, format!("module refused;\n{instances}endmodule\n")).unwrap();
        let together = report("refused", &mut std::iter::once(top.display().to_string()));
        for sizes in refused.iter().filter(|sizes| !is_told(&together, sizes)) {
            let alone = report(&module, &mut sizes.split(' ').map(|size| format!("-G{size}")));
            assert!(is_told(&alone, sizes), "{} with {sizes}: {alone}", block.path());
        }
    }
}

/// Returns the module lists for external tools. Each list is given by its file name in `rtl/hdl/` and its
/// text.
fn lists() -> [(&'static str, String); 4] {
    let files = |indent: &str| -> String {
        let name = |block: &&Block| block.file().strip_prefix(hdl_folder()).unwrap().display().to_string();
        let macros = hierarchy::MACROS.map(str::to_owned);
        let names: BTreeSet<_> = blocks().iter().map(name).chain(macros).collect();
        names.iter().map(|name| format!("{indent}{name}\n")).collect()
    };
    let checkers = |indent: &str| -> String {
        let file = |checker: &&Checker| assertions::checker_file(&path_of(checker.bench));
        let name = |checker| file(checker).strip_prefix(hdl_folder()).unwrap().display().to_string();
        checkers().iter().map(|checker| format!("{indent}{}\n", name(checker))).collect()
    };
    let [license, version] = [env!("CARGO_PKG_LICENSE"), env!("CARGO_PKG_VERSION")];
    let spdx = format!("# SPDX-License-Identifier: {license}\n");
    [
        ("files.f", files("")),
        ("checkers.f", checkers("")),
        (
            "Bender.yml",
            format!(
                "{spdx}package:\n  name: warpsieve\n\nsources:\n{}  - target: any(simulation, formal)\n    files:\n{}",
                files("  - "),
                checkers("      - ")
            ),
        ),
        (
            "warpsieve.core",
            format!(
                "CAPI=2:\n{spdx}name: warpsieve:hdl:modules:{version}\n\
                 description: Components of GPU caches, schedulers and DRAM channels\n\n\
                 filesets:\n  rtl:\n    files:\n{}    file_type: systemVerilogSource\n  \
                 checkers:\n    files:\n{}    file_type: systemVerilogSource\n\n\
                 targets:\n  default:\n    filesets: [rtl]\n  checked:\n    filesets: [rtl, checkers]\n",
                files("      - "),
                checkers("      - ")
            ),
        ),
    ]
}

#[test]
fn the_lists_for_tools_name_every_module() {
    for (name, text) in lists() {
        let file = hdl_folder().join(name);
        if std::env::var_os("UPDATE_LISTS").is_some() {
            fs::write(&file, &text).unwrap();
        }
        let is_same = fs::read_to_string(&file).is_ok_and(|present| present == text);
        assert!(is_same, "rtl/hdl/{name} {OUTDATED}");
    }
}

/// File that lists which inputs of each module reach which outputs, for the documentation.
const PATHS: &str = "paths.txt";

/// Message of a test that finds a list different.
const OUTDATED: &str = "is out of date: UPDATE_LISTS=1 cargo test -p hdl list writes it";

/// Returns the modules in the list of paths: all that Yosys maps within minutes, and that contain no memory
/// macro, through which Yosys finds no paths.
fn listed() -> impl Iterator<Item = &'static Block> {
    blocks().into_iter().filter(|block| block.has_known_paths().unwrap())
}

#[test]
fn the_list_of_paths_names_every_module_with_its_parameters() {
    // Another test is writing the list.
    if std::env::var_os("UPDATE_LISTS").is_some() {
        return;
    }
    let text = fs::read_to_string(hdl_folder().join(PATHS)).unwrap();
    let titles: Vec<_> = listed().map(|block| paths::describe_parameters(block, Size::Small)).collect();
    let sections: Vec<_> = text.split("\n\n").map(|section| format!("{}\n", section.trim_end())).collect();
    let is_same = sections.iter().zip(&titles).all(|(section, title)| section.starts_with(title));
    assert!(is_same && sections.len() == titles.len(), "rtl/hdl/{PATHS} {OUTDATED}");
}

#[test]
#[cfg_attr(not(has_yosys), ignore = "yosys is not installed")]
fn the_list_of_paths_has_those_that_yosys_finds() {
    let file = hdl_folder().join(PATHS);
    let describe = |block: &Block| describe_block(block, Size::Small, &block.reach(Size::Small).unwrap());
    if std::env::var_os("UPDATE_LISTS").is_some() {
        fs::write(&file, listed().map(describe).collect::<Vec<_>>().join("\n")).unwrap();
    }
    let text = fs::read_to_string(&file).unwrap();
    let sections: Vec<_> = text.split("\n\n").map(str::trim_end).collect();
    for block in sample(listed(), 3) {
        let section = describe(block);
        assert!(sections.contains(&section.trim_end()), "rtl/hdl/{PATHS} {OUTDATED}; expected\n{section}");
    }
}

#[test]
fn every_file_names_its_license() {
    for file in modules(&hdl_folder()) {
        let expected = format!("// SPDX-License-Identifier: {}\n", env!("CARGO_PKG_LICENSE"));
        assert!(fs::read_to_string(&file).unwrap().starts_with(&expected), "{}", file.display());
    }
}

/// Simulates a module with test vectors in Icarus Verilog, which models unknown values. Returns true if all
/// outputs are as expected. Also returns what the testbench printed.
fn play_in_icarus(block: &Block, module: &str, Vectors { bench, rows }: &Vectors) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let instantiated = hierarchy::instantiated(&[module]).unwrap();
    for (name, text) in [(bench.0.as_str(), bench.1.as_str()), (&rows.0, &rows.1), ("module.sv", module)] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let run = |command: &mut Command| {
        let output = command.current_dir(folder.path()).output().unwrap();
        let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        (output.status.success(), out + &err)
    };
    let mut iverilog = Command::new("iverilog");
    iverilog.args(["-g2012", "-s", "bench", "-o", "program", &bench.0, "module.sv"]).args(instantiated);
    let (is_built, told) = run(&mut iverilog);
    assert!(is_built, "{}: {told}", block.path());
    // Without the option `-n`, the simulation program would wait for user commands after an error.
    run(Command::new("vvp").args(["-n", "program"]))
}

#[test]
#[cfg_attr(not(has_icarus), ignore = "iverilog is not installed")]
fn every_module_agrees_in_four_states_from_reset_on() {
    let sizes = if is_thorough() { &[(Size::Small, 2000), (Size::Fermi, 100)][..] } else { &[(Size::Small, 300)] };
    let played = blocks().into_iter().filter(|block| !ENDLESS_IN_ICARUS.contains(&block.path().as_str()));
    for (block, (size, cycles)) in played.flat_map(|block| sizes.iter().map(move |size| (block, *size))) {
        let (passed, out) =
            play_in_icarus(block, &fs::read_to_string(block.file()).unwrap(), &block.vectors(size, 1, cycles));
        assert!(passed && out.contains(&format!("{cycles} cycles agree")), "{} {size:?}: {out}", block.path());
    }
}

#[test]
#[cfg_attr(not(has_icarus), ignore = "iverilog is not installed")]
fn a_register_without_its_reset_and_rows_that_are_missing_are_noticed_in_four_states() {
    let block = blocks().into_iter().find(|block| block.path() == "l1/mshr").unwrap();
    let vectors = block.vectors(Size::Small, 1, 100);
    let text = fs::read_to_string(block.file()).unwrap();
    let without = text.replacen("used_q <= '0;", "", 1);
    assert_ne!(text, without);
    let (passed, out) = play_in_icarus(block, &without, &vectors);
    assert!(!passed && out.contains(" is x, expected "), "{out}");
    let rows = (format!("other-{}", vectors.rows.0), vectors.rows.1.clone());
    let (passed, out) = play_in_icarus(block, &text, &Vectors { rows, ..vectors });
    assert!(!passed && out.contains("cannot be read"), "{out}");
}

/// Returns the first seed for which the number of MSHR entries at the random size satisfies the condition
/// `is_so`.
fn seed_of_mshr(block: &Block, is_so: impl Fn(u32) -> bool) -> u64 {
    let entries = |seed: u64| {
        let parameters = (block.build)(Size::Any, Random::new(seed)).parameters();
        parameters.into_iter().find(|(name, _)| *name == "ENTRIES").and_then(|(_, value)| value.parse().ok())
    };
    (1..).find(|seed| entries(*seed).is_some_and(&is_so)).unwrap()
}

#[test]
#[cfg_attr(not(has_verilator), ignore = "verilator or g++ is not installed")]
fn an_mshr_of_more_than_64_entries_agrees_in_all_its_masks() {
    let block = blocks().into_iter().find(|block| block.path() == "l1/mshr").unwrap();
    let seed = seed_of_mshr(block, |entries| (65..80).contains(&entries));
    let agreed = Lockstep::new(block, Size::Any, seed, &[]).unwrap().run(0, 5000).unwrap();
    assert_eq!(agreed.map(|agreed| agreed.cycles), Ok(5000));
}

#[test]
fn the_largest_mshr_drawn_has_a_place_for_every_line_on_its_way() {
    let block = blocks().into_iter().find(|block| block.path() == "l1/mshr").unwrap();
    let seed = seed_of_mshr(block, |entries| entries > 140);
    let mut bench = (block.build)(Size::Any, Random::new(seed));
    let (mut ports, mut wake) = (Ports::later(), rtl::kernel::Wake::new(&[1]));
    // The testbench searches for a free location (set and way) for each new line. If no location were free,
    // the search would never end.
    for cycle in 1..=20_000 {
        bench.cycle(&Edge::new(cycle, cycle, &mut wake), &mut ports);
    }
}
