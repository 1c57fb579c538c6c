//! Tests of every kind of invalid configuration, each with the exact error message.

use super::{fermi, machine_file};
use crate::config::{ConfigError, Request, ResolvedMachine};
use rtl::dram::layout::MappingConfig;

fn expect_errors(designs: &[&str], sets: &[&str]) -> Vec<String> {
    fermi(designs, sets).unwrap_err().lines()
}

/// Returns the error messages for a machine file with the given text, one message per line. The folder in the
/// file's path is removed.
fn machine_refused(text: &str) -> Vec<String> {
    let lines = machine_file(text).unwrap_err().lines();
    lines.into_iter().map(|line| line[line.find("mine.toml").unwrap_or(0)..].to_owned()).collect()
}

/// Returns the error messages for a design file with the given text, one per line.
fn design_refused(text: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml").display().to_string();
    std::fs::write(&path, text).unwrap();
    let lines = expect_errors(&["pric", &path], &[]);
    lines.into_iter().map(|line| line[line.find("mine.toml").unwrap_or(0)..].to_owned()).collect()
}

#[test]
fn an_unknown_key_comes_with_the_one_that_was_meant() {
    assert_eq!(expect_errors(&[], &["l1.setz=64"]), ["--set:1:4: unknown key `l1.setz` (did you mean `sets`?)"]);
}

#[test]
fn a_key_without_its_group_comes_with_the_groups_that_have_it() {
    assert_eq!(
        expect_errors(&[], &["sets=64"]),
        [
            "--set:1:1: unknown key `sets` (did you mean `l1.sets` or `const_cache.sets` or `texture_cache.sets` or `tracker.sets` or `l2.sets`?)"
        ]
    );
}

#[test]
fn an_unknown_key_like_no_other_comes_with_the_legal_ones() {
    assert_eq!(
        expect_errors(&[], &["xbar.colour=1"]),
        ["--set:1:6: unknown key `xbar.colour` (legal keys: flit_bytes, buffer_flits)"]
    );
}

#[test]
fn unknown_keys_of_files_are_refused_at_their_line() {
    assert_eq!(
        machine_refused("based-on = \"fermi\"\n[l1]\nway = 8\n[l3]\nsets = 1\n"),
        [
            "mine.toml:3:1: unknown key `l1.way` (did you mean `ways`?)",
            "mine.toml:4:2: unknown key `l3` (did you mean `l1`?)"
        ]
    );
    assert_eq!(
        design_refused("slots = \"index\"\n[l1]\nwayz = 8\n"),
        [
            "mine.toml:1:1: unknown key `slots` (did you mean `lsu.slots`?)",
            "mine.toml:3:1: unknown key `l1.wayz` (did you mean `ways`?)"
        ]
    );
}

#[test]
fn a_value_of_another_type_is_refused_with_the_legal_one() {
    assert_eq!(
        expect_errors(&[], &["l1.sets=many", "l1.store_hit=1", "l1.index=linear", "l1=3", "l1.ways=2.0"]),
        [
            "--set:1:9: `l1.sets` is \"many\", expected an integer",
            "--set:1:14: `l1.store_hit` is 1, expected a string",
            "--set:1:10: `l1.index` is \"linear\", expected a table such as { kind = \"linear\" } (the kind \
             is given in a table with its keys: l1.index = { kind = \"linear\", ... })",
            "--set:1:4: `l1` is 3, expected a table of sets, ways, line_bytes, mshr_entries, mshr_merges, mshr_policy, \
             miss_queue, fail_order, fetch, lookups, banks, store_hit, bypass, bypass_sectors, index, replacement, hints, organisation, \
             prefetch, victim, decoupled, dueling, mrpb, prefetch_limits",
            "--set:1:9: `l1.ways` is 2.0, expected an integer",
        ]
    );
}

#[test]
fn an_integer_out_of_its_type_and_an_unknown_choice_are_refused_together() {
    assert_eq!(
        expect_errors(&[], &["lsu.slots=-1", "l1.store_hit=evit"]),
        [
            "--set:1:11: `lsu.slots` is -1, expected 1 to 64: the table of outstanding instructions has one bit per \
             row",
            "--set:1:14: `l1.store_hit` is \"evit\", expected one of evict, update (did you mean `evict`?)",
        ]
    );
}

#[test]
fn a_table_with_a_kind_must_have_the_keys_of_its_kind() {
    assert_eq!(
        expect_errors(&[], &["l1.index={ kind = \"i-pole\" }"]),
        ["--set:1:10: `l1.index.kind` is \"i-pole\", expected one of fermi, i-poly, linear (did you mean `i-poly`?)"]
    );
    assert_eq!(
        expect_errors(&[], &["l1.replacement={ kind = \"ship\", bits = 8 }"]),
        ["--set:1:16: `l1.replacement` is { kind = \"ship\", bits = 8 }: it lacks the required key `signature`"]
    );
    assert_eq!(
        expect_errors(&[], &["l1.index.polynomial=37"]),
        ["--set:1:21: `l1.index` is { kind = \"linear\", polynomial = 37 }: unknown key `polynomial` (there are no \
          legal keys)"]
    );
    assert!(fermi(&[], &["l1.index.kind=i-poly", "l1.index.reversed=true"]).is_ok());
}

#[test]
fn a_throttle_is_judged_by_its_own_keys_and_by_the_cores() {
    assert_eq!(
        expect_errors(&[], &["throttle.kind=dwt-cs", "throttle.period=20_000"]),
        ["--set:1:17: throttle.period is 20000, expected 1 to 16383: the timer has 14 bits"]
    );
    assert_eq!(
        expect_errors(&["caws"], &["sm.scheduler.decay=9"]),
        ["--set:1:20: sm.scheduler.decay is 9, expected 0 to 8: the average is shifted by at most 8 bits"]
    );
    assert!(fermi(&["caws", "ccws"], &[]).is_ok() && fermi(&["caws", "swl-1"], &[]).is_ok());
    assert_eq!(
        expect_errors(&["ccws"], &["sm.scheduler.kind=two-level"]),
        [
            "machines/designs/ccws.toml:6:1: throttle is ccws, expected none with a two-level scheduler: a two-level scheduler orders its \
             warps by their queue, not by their age"
        ]
    );
    let resolved = fermi(&[], &["throttle.kind=ccws"]).unwrap();
    assert_eq!(resolved.config.throttle, fermi(&["ccws"], &[]).unwrap().config.throttle);
}

#[test]
fn every_broken_rule_is_reported_at_the_value_that_breaks_it() {
    assert_eq!(
        expect_errors(&[], &["l1.sets=48", "l1.mshr_entries=0", "dram.rows=1000"]),
        [
            "--set:1:9: l1.sets is 48, expected a power of two from 1 to 4096: the set index is a bit field",
            "--set:1:17: l1.mshr_entries is 0, expected 1 to 512: the search has one bit per entry",
            "--set:1:11: dram.rows is 1000, expected a power of two from 2 to 65536: it is a bit field of the address",
        ]
    );
}

#[test]
fn a_rule_between_fields_points_at_the_field_it_names() {
    assert_eq!(
        expect_errors(&["pric"], &["l1.sets=64", "l1.index.polynomial=37"]),
        ["--set:1:21: l1.index.polynomial is 37 (degree 5), expected degree 6, such as 67, which 0 selects: the \
             degree is the number of index bits"]
    );
}

#[test]
fn two_designs_in_one_slot_are_refused_by_name() {
    assert_eq!(
        expect_errors(&["pric", "fermi-hash"], &[]),
        ["--design:1:1: designs `pric` and `fermi-hash` both fill the slot `index`, which holds one (both set \
          `l1.index`, which has one value: use one of them, or `compare --design-set pric,fermi-hash`)"]
    );
    assert_eq!(expect_errors(&["pric", "pric"], &[]), ["--design:1:1: design `pric` is given twice"]);
}

#[test]
fn what_to_give_instead_of_a_design_whose_slot_is_taken_gives_the_same_machine() {
    let clash = "--design:1:1: designs `frc` and `streaming-l2` both fill the slot `l2`, which holds one (for both, use \
                 `frc` and set what `streaming-l2` changes: --set 'l2.bypass={ kind = \"streaming\", period = 10000, miss_percent = 90, \
                 min_accesses = 32, reopen = \"miss\" }')";
    assert_eq!(expect_errors(&["frc", "streaming-l2"], &[]), [clash]);
    assert_eq!(
        expect_errors(&["tracker", "tracker-2"], &[]),
        [
            "--design:1:1: designs `tracker` and `tracker-2` both fill the slot `tracker`, which holds one (for both, use \
          `tracker` and set what `tracker-2` changes: --set tracker.count=2)"
        ]
    );
    assert_eq!(fermi(&["tracker"], &["tracker.count=2"]).unwrap().hash(), fermi(&["tracker-2"], &[]).unwrap().hash());
    assert_eq!(
        expect_errors(&["frc-8", "transient"], &[]),
        [
            "--design:1:1: designs `frc-8` and `transient` both fill the slot `l2`, which holds one (`transient` changes \
          nothing that `frc-8` leaves unchanged: omit it)"
        ]
    );
}

#[test]
fn a_key_given_twice_is_refused_wherever_it_is_given() {
    let twice = |key: &str| format!("`{key}` is given twice (omit one of them)");
    assert_eq!(expect_errors(&[], &["l1.ways=8", "l1.ways = 16"]), [format!("--set:1:11: {}", twice("l1.ways"))]);
    assert_eq!(
        expect_errors(&[], &["l1.ways=8", "l1={ sets = 64, ways = 8 }"]),
        [format!("--set:1:24: {}", twice("l1.ways"))]
    );
    let whole = "l1.index={ kind = \"i-poly\", polynomial = 37, addr_bits = 32, reversed = false }";
    let part = "l1.index.addr_bits=27";
    assert_eq!(expect_errors(&[], &[whole, part]), [format!("--set:1:20: {}", twice("l1.index.addr_bits"))]);
    assert_eq!(expect_errors(&["pric"], &[part, whole]), [format!("--set:1:10: {}", twice("l1.index"))]);
    assert_eq!(
        expect_errors(&[], &["l1={ sets = 64, sets = 32 }"]),
        ["--set:1:1: `l1={ sets = 64, sets = 32 }` gives a key twice"]
    );
    assert!(fermi(&["pric"], &[part, "l1.index.reversed=true"]).is_ok());
    for text in ["[l1]\nsets = 64\nsets = 32\n", "l1.sets = 64\nl1.sets = 32\n", "[l1]\nsets = 64\n[l1]\nsets = 32\n"] {
        assert!(design_refused(text)[0].contains("duplicate key"), "{:?}", design_refused(text));
        let lines = machine_refused(&format!("based-on = \"fermi\"\n{text}"));
        assert!(lines[0].contains("duplicate key"), "{lines:?}");
    }
}

#[test]
fn everything_that_is_wrong_is_reported_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, "based-on = \"kepler\"\ncolour = 1\nnum_sms = -1\n[l1]\nsets = 48\n").unwrap();
    let request = Request {
        machine: path.display().to_string(),
        designs: vec!["baseline".to_owned(), "pric".to_owned(), "fermi-hash".to_owned()],
        sets: ["l1.setz=64", "l1.ways=many", "=3", "lsu.slots=0", "lsu.slots=1"].map(str::to_owned).into(),
    };
    let lines = ResolvedMachine::new(&request).unwrap_err().lines();
    let expected = [
        "mine.toml:2:1: unknown key `colour`",
        "mine.toml:3:11: `num_sms` is -1, expected 1 to 144: ",
        "--design:1:1: designs `pric` and `fermi-hash` both fill the slot `index`",
        "--set:1:4: unknown key `l1.setz`",
        "--set:1:9: `l1.ways` is \"many\"",
        "--set:1:1: `=3` is not of the form",
        "--set:1:11: `lsu.slots` is given twice",
        "--set:1:11: lsu.slots is 0, expected 1 to 64",
        "mine.toml:5:8: l1.sets is 48, expected a power of two",
    ];
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.contains(expected), "no `{expected}` in `{line}`");
    }
}

#[test]
fn names_that_do_not_exist_are_all_reported_and_hide_no_unknown_key() {
    let request = Request {
        machine: "femi".to_owned(),
        designs: vec!["prik".to_owned(), "frk".to_owned()],
        sets: vec!["l1.setz=64".to_owned()],
    };
    let lines = ResolvedMachine::new(&request).unwrap_err().lines();
    let expected = ["no machine `femi`", "no design `prik`", "no design `frk`", "unknown key `l1.setz`"];
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    assert!(lines.iter().zip(expected).all(|(line, expected)| line.contains(expected)), "{lines:#?}");
}

#[test]
fn a_name_of_a_list_is_reported_at_its_place_and_what_variants_share_once() {
    let request = Request { machine: "fermi".to_owned(), designs: Vec::new(), sets: vec!["l1.setz=64".to_owned()] };
    let set = ["baseline", "prik", "frc", "frk"].map(str::to_owned);
    let requests: Vec<_> = (0..set.len()).map(|design| (request.clone(), design)).collect();
    let lines = ResolvedMachine::resolve_set(&requests, &set).unwrap_err().lines();
    let help = "? The name of a file ends in .toml)";
    assert_eq!(
        lines,
        [
            "--set:1:4: unknown key `l1.setz` (did you mean `sets`?)".to_owned(),
            format!("--design-set:1:10: there is no design `prik` (did you mean `pric`{help}"),
            format!("--design-set:1:19: there is no design `frk` (did you mean `frc`{help}"),
        ]
    );
}

#[test]
fn a_field_out_of_its_range_breaks_no_other_field() {
    assert_eq!(expect_errors(&[], &["num_sms=0"]).len(), 1);
    let sets = "--set:1:9: l1.sets is 8192, expected a power of two from 1 to 4096: the set index is a bit field";
    assert_eq!(expect_errors(&["pric"], &["l1.sets=8192"]), [sets]);
    let machines = [(&[][..], "fermi"), (&["pric", "tracker"], "hybrid"), (&["frc", "ccws"], "southern-islands")];
    for (designs, machine) in machines {
        let request = |sets| Request {
            machine: machine.to_owned(),
            designs: designs.iter().map(|&design| design.to_owned()).collect(),
            sets,
        };
        let text = ResolvedMachine::new(&request(Vec::new())).unwrap().to_toml();
        let machine: toml::Table = text.parse().unwrap();
        let mut paths = Vec::new();
        integers("", &machine, &mut paths);
        assert!(paths.len() > 100, "{}", paths.len());
        for (path, value) in paths.iter().flat_map(|path| [0, 3, 4_294_967_295_u32].map(|value| (path, value))) {
            let lines = ResolvedMachine::new(&request(vec![format!("{path}={value}")]))
                .map_or_else(|e| e.lines(), |_| Vec::new());
            let (own, others): (Vec<_>, Vec<_>) =
                lines.iter().partition(|line| line.contains(&format!(": {path} is ")));
            assert!(own.is_empty() || others.is_empty(), "{path}={value}: {lines:#?}");
        }
    }
}

/// Collects the paths of all integers in a table, including those in nested tables.
fn integers(group: &str, table: &toml::Table, paths: &mut Vec<String>) {
    for (key, value) in table {
        let path = if group.is_empty() { key.clone() } else { format!("{group}.{key}") };
        match value {
            toml::Value::Integer(_) => paths.push(path),
            toml::Value::Table(inner) => integers(&path, inner, paths),
            _ => {}
        }
    }
}

#[test]
fn two_designs_that_disagree_about_a_field_are_refused() {
    assert_eq!(
        design_refused("[l1]\nindex = { kind = \"linear\" }\n"),
        ["mine.toml:2:9: `l1.index` is { kind = \"linear\" }, but design `pric` sets it to { kind = \"i-poly\", \
          polynomial = 0, addr_bits = 32, reversed = false } (use one of the two designs, and set the other \
          changes of the second with `--set`)"]
    );
}

#[test]
fn an_unknown_design_machine_and_slot_come_with_the_one_that_was_meant() {
    assert_eq!(
        expect_errors(&["prik"], &[]),
        ["--design:1:1: there is no design `prik` (did you mean `pric`? The name of a file ends in .toml)"]
    );
    let error = ResolvedMachine::new(&Request { machine: "femi".to_owned(), ..Request::default() }).unwrap_err();
    assert_eq!(
        error.lines(),
        ["--machine:1:1: there is no machine `femi` (did you mean `fermi`? The name of a file ends in .toml)"]
    );
    assert_eq!(
        design_refused("slot = \"tag\"\n"),
        ["mine.toml:1:8: `slot` is \"tag\", expected the name of a slot, or no key `slot` (did you mean `tags`?)"]
    );
}

#[test]
fn a_set_without_a_value_is_refused() {
    let help = "(for example l1.sets=64, or 'l1.index={ kind = \"fermi\" }')";
    for text in ["l1.sets", "=3", "l1.sets=", "l1.sets=3 x y", ""] {
        assert_eq!(expect_errors(&[], &[text]), [format!("--set:1:1: `{text}` is not of the form KEY=VALUE {help}")]);
    }
}

#[test]
fn one_set_gives_one_key() {
    for text in ["l1.sets=64\nl1.ways=2", "l1.sets=64\n[l2]\nsets=4", "[l1]\nsets=64", "# none\nl1.sets=64"] {
        let lines = expect_errors(&[], &[text]);
        assert!(lines.len() == 1 && lines[0].contains("is not of the form KEY=VALUE"), "{text:?}: {lines:?}");
    }
    assert!(fermi(&[], &["l1={ sets = 64, ways = 2 }"]).is_ok());
    assert!(fermi(&[], &["sm.shared.carve_outs=[\n]", " l1.ways = 8\n"]).is_ok());
}

#[test]
fn a_kind_that_is_no_text_is_refused_with_those_that_there_are() {
    for (path, kinds) in [
        ("throttle", "ccws, dwt-cs, none"),
        ("l1.bypass", "streaming"),
        ("l1.replacement", "bip, brrip, dip, drrip, hawkeye, lip, lru, random, ship, srrip, tree-plru"),
        ("tracker.replacement", "bip, brrip, dip, drrip, hawkeye, lip, lru, random, ship, srrip, tree-plru"),
        ("l2.replacement", "bip, brrip, dip, drrip, hawkeye, lip, lru, random, ship, srrip, tree-plru"),
        ("l2.bypass", "streaming"),
        ("l2.partition", "by-requester, none, utility"),
        ("l1.mshr_policy", "by-age, by-requester, none"),
        ("l2.mshr_policy", "by-age, by-requester, none"),
        ("l1.index", "fermi, i-poly, linear"),
        ("sm.icache", "cache"),
        ("l2.flow", "transient"),
        ("dram.write_drain", ""),
    ] {
        for value in ["3", "true", "[1, 2]"] {
            let lines = expect_errors(&[], &[&format!("{path}.kind={value}")]);
            let message = format!(": `{path}.kind` is {value}, expected one of ");
            assert!(lines.len() == 1 && lines[0].contains(&message) && lines[0].contains(kinds), "{lines:?}");
        }
    }
}

#[test]
fn a_rule_between_fields_is_laid_to_the_one_that_is_given() {
    for (designs, set, message) in [
        (&[][..], "sm.warps=8", "sm.warps is 8, expected 48 to 64 with sm.threads = 1536: each thread needs a lane"),
        (&[], "sm.threads=2048", "sm.threads is 2048, expected 32 to 1536: each thread needs a lane"),
        (&[], "l1.line_bytes=64", "l1.line_bytes is 64, expected 128 or more with l2.line_bytes = 128: an L1 line"),
        (&[], "l1.dueling.interval=8", "l1.dueling.interval is 8, expected "),
        (&[], "sm.pipes.tensor.latency=1", "sm.pipes.tensor.latency is 1, expected 0 with interval = 0: "),
        (&["tensor"], "sm.pipes.tensor.latency=0", "sm.pipes.tensor.latency is 0, expected 1 to 128 with interval = "),
        (&["tracker-4"], "num_sms=1", "num_sms is 1, expected 4 or more with tracker.count = 4: each tracker serves"),
        (&["fermi-hash"], "l1.sets=16", "l1.sets is 16, expected 32 or 64 with an index of kind fermi: the hash"),
        (
            &["swl-1"],
            "sm.scheduler.kind=two-level",
            "sm.scheduler is two-level, expected another with sm.warp_limit = 1: a two-level scheduler",
        ),
        (
            &[],
            "sm.warp_limit=25",
            "sm.warp_limit is 25, expected 0 to 24: the limit cannot exceed the warps of a scheduler",
        ),
    ] {
        let lines = expect_errors(designs, &[set]);
        assert!(lines.iter().all(|line| line.starts_with("--set:1:")), "{set}: {lines:#?}");
        assert!(lines.iter().any(|line| line.contains(message)), "{set}: {lines:#?}");
    }
    let hashed = expect_errors(&[], &["l1.sets=16", "l1.index.kind=fermi"]);
    assert!(
        hashed[0].contains("l1.index.kind is fermi with 16 sets of 128 bytes, expected 32 or 64 sets"),
        "{hashed:?}"
    );
    let limited = expect_errors(&[], &["sm.warp_limit=20", "sm.warps=32"]);
    let message = "sm.warps is 32, expected 40 to 64 with sm.warp_limit = 20";
    assert!(limited.iter().any(|line| line.contains(message)), "{limited:?}");
}

#[test]
fn what_is_legal_is_what_the_rule_says_and_not_what_the_type_holds() {
    for (set, message) in [
        ("num_sms=-1", "`num_sms` is -1, expected 1 to 144: a whole GH100"),
        ("num_sms=5000000000", "`num_sms` is 5000000000, expected 1 to 144: "),
        ("sm.operands.sp_collectors=1000", "`sm.operands.sp_collectors` is 1000, expected 1 to 8: "),
        ("sm.pipes.sfu.latency=65536", "`sm.pipes.sfu.latency` is 65536, expected 1 to 512: "),
        ("sm.shared.carve_outs=[\"x\"]", "`sm.shared.carve_outs` is [\"x\"], expected an array of integers"),
        ("sm.shared.carve_outs=[-1]", "`sm.shared.carve_outs` is [-1], expected ascending multiples of a way"),
        ("l2.flow.miss_queue=-1", "`l2.flow.miss_queue` is -1, expected "),
        (
            "l2.flow.write_miss=16KB",
            "`l2.flow.write_miss` is \"16KB\", expected one of fetch-partial, fetch, byte-mask",
        ),
        ("l2.flow.fetch=16KB", "`l2.flow.fetch` is \"16KB\", expected one of line, sectors"),
        ("l2.flow={ kind = \"transient\", frc = { entries = -1 } }", "`l2.flow.frc.entries` is -1, expected "),
        ("l1.index={ kind = \"i-poly\", addr_bits = -1 }", "`l1.index.addr_bits` is -1, expected "),
        ("num_partitions=200", "num_partitions is 200, expected 1 to 128: a clock domain has 128 hardware blocks"),
        ("channels_per_partition=3", "channels_per_partition is 3, expected a power of two from 1 to 64: "),
        ("channels_per_partition=32", "channels_per_partition is 32, expected a power of two from 1 to 16: "),
        ("l1.sets=65535", "l1.sets is 65535, expected a power of two from 1 to 4096: the set index is a bit field"),
        ("clock.core_khz=4294967295", "clock.core_khz is 4294967295, expected 1000 to 10000000: a clock"),
    ] {
        let lines = expect_errors(&[], &[set]);
        assert!(lines.len() == 1 && lines[0].contains(message), "{set}: {lines:#?}");
        assert!(lines[0].starts_with("--set:1:") && !lines[0].contains("to 4294967295"), "{set}: {lines:#?}");
    }
}

#[test]
fn a_design_in_the_place_of_a_machine_is_called_one() {
    assert_eq!(
        expect_errors(&["volta"], &[]),
        ["--design:1:1: there is no design `volta` (it is a machine: --machine volta)"]
    );
    let error = ResolvedMachine::new(&Request { machine: "pric".to_owned(), ..Request::default() }).unwrap_err();
    assert_eq!(error.lines(), ["--machine:1:1: there is no machine `pric` (it is a design: --design pric)"]);
    let lines = machine_refused("name = \"mine\"\nslot = \"index\"\n[l1]\nsets = 64\n");
    assert!(
        lines.concat().contains("this is a design file, expected a machine file: `--design` takes it"),
        "{lines:?}"
    );
    let lines = design_refused("based-on = \"fermi\"\n[l1]\nsets = 64\n");
    assert!(
        lines.concat().contains("this is a machine file, expected a design file: `--machine` takes it"),
        "{lines:?}"
    );
}

#[test]
fn a_file_that_is_missing_or_no_toml_is_refused() {
    let lines = expect_errors(&["nowhere/mine.toml"], &[]);
    assert!(lines[0].starts_with("--design:1:1: nowhere/mine.toml: cannot read the design file: "), "{lines:?}");
    let lines = machine_refused("name = \"x\"\n[l1\n");
    assert!(lines[0].starts_with("mine.toml:2:4: not TOML: "), "{lines:?}");
}

#[test]
fn a_machine_file_without_a_base_must_state_every_field() {
    let lines = machine_refused("[l1]\nsets = 32\n");
    let expected = "mine.toml:1:1: the file lacks `num_sms`, `num_partitions`, `interleave_bytes`, \
                    `channels_per_partition`, `partitions_per_channel` and ";
    assert!(lines[0].starts_with(expected), "{lines:?}");
    let help = "more fields (state all fields, or start from another machine: based-on = \"fermi\")";
    assert!(lines[0].ends_with(help), "{lines:?}");
}

#[test]
fn machines_based_on_each_other_in_a_circle_are_refused() {
    let lines = machine_refused("based-on = \"mine.toml\"\n");
    let expected = ["mine.toml:1:12: more than 8 machines are based on each other, perhaps in a cycle"];
    assert_eq!(lines, expected);
}

#[test]
fn an_assumed_field_must_exist() {
    assert_eq!(
        machine_refused("based-on = \"fermi\"\nassumed = [\"l1.way\"]\n"),
        ["mine.toml:2:12: `assumed` names a field that does not exist (did you mean `l1.ways`?)"]
    );
}

#[test]
fn a_report_shows_the_place() {
    let error: ConfigError = fermi(&[], &["l1.setz=64"]).unwrap_err();
    let handler = miette::GraphicalReportHandler::new_themed(miette::GraphicalTheme::none());
    let mut report = String::new();
    handler.render_report(&mut report, &error).unwrap();
    assert!(report.contains("the configuration has 1 problem"), "{report}");
    assert!(report.contains("[--set:1:4]") && report.contains("1 | l1.setz=64"), "{report}");
}

#[test]
fn so_many_l2_mshr_entries_need_whole_words() {
    let why = "a mask of whole 64-bit words has one bit per entry";
    for designs in [&["transient"][..], &[]] {
        let expected = format!("--set:1:17: l2.mshr_entries is 100, expected at most 64, or a multiple of 64: {why}");
        assert_eq!(expect_errors(designs, &["l2.mshr_entries=100"]), [expected]);
    }
}

#[test]
fn an_instruction_cache_breaks_its_rules_and_its_keys_are_those_of_its_kind() {
    let table = "{ kind = \"cache\", sets = 3, ways = 33, mshr_entries = 0, instruction_bytes = 6 }";
    let broken = expect_errors(&[], &[&format!("sm.icache={table}")]);
    let expected = [
        "sm.icache.sets is 3, expected a power of two from 1 to 4096: the set index is a bit field",
        "sm.icache.ways is 33, expected 1 to 32: the LRU order of a set has at most 5 bits per way",
        "sm.icache.mshr_entries is 0, expected 1 to 64: the search has one bit per entry",
        "sm.icache.instruction_bytes is 6, expected a power of two from 4 to 16: a line holds a whole number of instructions, \
         which have 4, 8 or 16 bytes on GPUs",
    ];
    assert_eq!(broken.len(), expected.len(), "{broken:?}");
    assert!(broken.iter().zip(expected).all(|(broken, expected)| broken.ends_with(expected)), "{broken:?}");
    let perfect = expect_errors(&[], &["sm.icache.sets=4"]);
    assert_eq!(perfect, ["--set:1:16: unknown key `sm.icache.sets` (there are no legal keys)"]);
    let word = expect_errors(&[], &["sm.icache=cache"]).concat();
    assert!(word.contains("the kind is given in a table with its keys: sm.icache = { kind = \"cache\""), "{word}");
}

#[test]
fn sectors_are_fetched_only_where_a_mask_says_what_was_written() {
    let why = "bytes written to a missing sector are kept under a byte mask";
    let expected = format!("--set:1:15: l2.flow.fetch is sectors, expected line, or write_miss = \"byte-mask\": {why}");
    assert_eq!(expect_errors(&[], &["l2.flow.fetch=sectors"]), [expected]);
    assert_eq!(expect_errors(&["l2-sectored"], &["l2.flow.write_miss=fetch"]).len(), 1);
}

#[test]
fn a_flow_takes_its_own_keys_alone() {
    assert_eq!(
        expect_errors(&["transient"], &["l2.flow.miss_queue=8"]),
        [
            "--set:1:20: unknown key `l2.flow.miss_queue` (legal keys: pending_queue, serve_transient, acknowledged, coherence, frc)"
        ]
    );
    assert_eq!(
        expect_errors(&[], &["l2.flow={ kind = \"overlapped\", frc = { entries = 4 } }"]),
        ["--set:1:9: unknown key `l2.flow.frc` (legal keys: miss_queue, write_back_queue, write_miss, fetch)"]
    );
    assert_eq!(
        expect_errors(&[], &["l2.flow.kind=transient", "l2.bypass.kind=all"]),
        ["--set:1:4: l2.bypass is all, expected none with flow.kind = \"transient\": a bypassed line needs a buffer \
             outside its set, which that flow lacks"]
    );
    assert_eq!(
        expect_errors(&["frc"], &["l2.flow.frc.entries=4", "l2.flow.frc.entries=8"]),
        ["--set:1:21: `l2.flow.frc.entries` is given twice (omit one of them)"]
    );
}

#[test]
fn a_policy_that_its_machine_cannot_follow_is_refused() {
    assert_eq!(
        expect_errors(&["hybrid-policy", "decoupled"], &[]),
        [
            "machines/designs/hybrid-policy.toml:7:10: l1.bypass is contentious, expected none or all with l1.organisation = \
             \"decoupled\": only one scheme can decide which loads bypass the cache"
        ]
    );
    assert_eq!(
        expect_errors(&["hybrid-policy"], &["sm.warp_lanes=64"]),
        [
            "machines/designs/hybrid-policy.toml:7:10: l1.bypass is contentious, expected another with sm.warp_lanes = 64: the \
             lines of an instruction are counted together, but a warp of 64 lanes arrives in two halves"
        ]
    );
    assert_eq!(
        expect_errors(&["tracker", "ship"], &[]),
        [
            "machines/designs/tracker.toml:7:10: tracker.scheme is not off, expected off with l1.replacement = \"ship\": its \
             table records hits of its own SM and has no port for those of other SMs"
        ]
    );
    for kind in ["ship", "hawkeye"] {
        let policy = format!("tracker.replacement={{ kind = \"{kind}\", signature = \"pc\", bits = 8 }}");
        let lines = expect_errors(&[], &[&policy]);
        let message =
            "tracker.replacement.signature is pc, expected region: the requests to this store carry no program counter";
        assert!(lines.len() == 1 && lines[0].ends_with(message), "{lines:?}");
    }
    assert_eq!(
        expect_errors(&[], &["l2.bypass.kind=coalesced"]),
        ["--set:1:4: l2.bypass is coalesced, expected another with tracker.scheme = \"off\": the sharing tracker is \
             notified of lines that stay in an L1, and without it L1s supply no lines"]
    );
    assert_eq!(
        expect_errors(&["hybrid-policy", "bypass-all"], &[]),
        [
            "--design:1:1: designs `hybrid-policy` and `bypass-all` both fill the slot `bypass`, which holds one (both set \
          `l1.bypass`, which has one value: use one of them, or `compare --design-set hybrid-policy,bypass-all`)"
        ]
    );
}

#[test]
fn partitions_that_share_channels_must_divide_evenly_and_a_polynomial_needs_an_even_number() {
    assert_eq!(
        expect_errors(&[], &["partitions_per_channel=4", "num_partitions=9", "partition_index.kind=i-poly"]),
        [
            "--set:1:24: partitions_per_channel is 4, expected a power of two that divides `num_partitions`, at most 64: \
             address bits select the partition of a burst, in the same way for all channels",
            "--set:1:1: partition_index is i-poly, expected modulo if `num_partitions` is odd: a polynomial of \
             degree k has 2^k remainders",
        ]
    );
    let both = expect_errors(&[], &["partitions_per_channel=2", "channels_per_partition=2"]);
    assert_eq!(both.len(), 1, "{both:?}");
    assert!(both[0].contains("partitions_per_channel is 2, expected 1 with several channels"), "{both:?}");
    assert!(expect_errors(&[], &["partitions_per_channel=0"])[0].contains("partitions_per_channel is 0"));
    assert!(expect_errors(&[], &["num_partitions=0", "partitions_per_channel=2"])[0].contains("num_partitions is 0"));
}

#[test]
fn sub_cores_take_equal_parts_of_banks_and_collectors() {
    let sub_cores = |sets: &[&str]| expect_errors(&[], &[&["sm.sub_cores=true", "sm.schedulers=4"], sets].concat());
    assert_eq!(
        sub_cores(&["sm.operands.banks=2", "sm.operands.sp_collectors=6", "sm.operands.memory_collectors=8"]),
        [
            "--set:1:19: sm.operands.banks is 2, expected a multiple of the 4 schedulers: each sub-core has an equal \
             share",
            "--set:1:27: sm.operands.sp_collectors is 6, expected a multiple of the 4 schedulers: each sub-core has an \
             equal share",
        ]
    );
    let generic = sub_cores(&["sm.operands.generic_collectors=6"]);
    assert!(generic.len() == 1 && generic[0].contains("sm.operands.generic_collectors is 6"), "{generic:?}");
    let too_many = expect_errors(&[], &["sm.operands.generic_collectors=9", "sm.pipes.result_bus=9"]);
    assert_eq!(too_many.len(), 2, "{too_many:?}");
}

#[test]
fn an_address_mapping_is_given_as_data_and_refused_with_the_exact_reason() {
    let plain = "dram.mapping.fields=[\"column\", \"group\", \"bank\", \"row\"]";
    let mapping = fermi(&[], &[plain, "dram.mapping.xor=[\"bank ^ row\"]"]).unwrap().config.dram.mapping;
    assert_eq!(mapping, MappingConfig::new(&["column", "group", "bank", "row"], &["bank ^ row"]));
    let table =
        fermi(&[], &["dram.mapping={ fields = [\"column\", \"group\", \"bank\", \"row\"], xor = [\"bank ^ row\"] }"]);
    assert_eq!(table.unwrap().config.dram.mapping, mapping);
    for (set, message) in [
        ("dram.mapping=qv100", "--set:1:14: `dram.mapping` is \"qv100\", expected a table of fields, xor"),
        ("dram.mapping.fields=[1]", "--set:1:21: `dram.mapping.fields` is [1], expected a string"),
        ("dram.mapping.xor=bank", "--set:1:18: `dram.mapping.xor` is \"bank\", expected an array"),
    ] {
        assert_eq!(expect_errors(&[], &[set]), [message]);
    }
    // The keys `fields` and `bank_groups` must agree. The error is reported at the key that the option sets.
    let why = "the fields have every bit of a burst address once";
    let seven = "[\"column:7\", \"group\", \"bank\", \"row\"]";
    assert_eq!(
        expect_errors(&[], &[&format!("dram.mapping.fields={seven}")]),
        [format!(
            "--set:1:21: dram.mapping.fields is {seven}, expected 6 bits of column with columns = 64, not 7: {why}"
        )]
    );
    let fields = "[\"column:2\", \"group:1\", \"column\", \"group\", \"bank\", \"row\"]";
    assert_eq!(
        expect_errors(&[], &["dram.bank_groups=1"]),
        [format!("--set:1:18: dram.bank_groups is 1, expected 2 or more with mapping.fields = {fields}: {why}")]
    );
    assert_eq!(
        expect_errors(&[], &["dram.mapping.xor=[\"bank[0] ^ bank[1]\", \"bank[1] ^ bank[0]\"]"]),
        [
            "--set:1:18: dram.mapping.xor is [\"bank[0] ^ bank[1]\", \"bank[1] ^ bank[0]\"], expected an XOR that keeps bank[1], \
          bit 9 of the burst address: every burst has a place of its own"
        ]
    );
}

#[test]
fn a_two_level_network_fits_the_sms_and_partitions_of_the_machine() {
    assert_eq!(
        expect_errors(&[], &["noc.kind=two-level", "noc.clusters=16"]),
        ["--set:1:14: noc.clusters is 16, expected 1 to 15: each cluster has at least one SM"]
    );
    assert_eq!(
        fermi(&["two-level-noc"], &[]).unwrap().config.noc,
        fermi(&[], &["noc.kind=two-level"]).unwrap().config.noc
    );
}

#[test]
fn carve_outs_are_whole_ways_that_leave_the_l1_some() {
    let refused = |carve_outs: &str| expect_errors(&[], &["l1.ways=32", &format!("sm.shared.carve_outs={carve_outs}")]);
    assert_eq!(
        refused("[0, 5000, 49152]"),
        ["--set:1:22: sm.shared.carve_outs is [0, 5000, 49152], expected ascending multiples of a way's 4096 bytes \
             below the L1's 131072, the last at least 49152: they are whole ways of the L1, and one of them must fit \
             any kernel"]
    );
    for wrong in ["[49152, 0]", "[0, 0, 49152]", "[0, 32768]", "[0, 131072]"] {
        assert_eq!(refused(wrong).len(), 1, "{wrong}");
    }
    assert!(fermi(&[], &["l1.ways=32", "sm.shared.carve_outs=[0, 4096, 49152]"]).is_ok());
}

#[test]
fn several_lookups_a_cycle_are_refused_where_something_else_takes_one() {
    let banks = "the data array has one bank per sector of a line";
    let of_volta = |sets: &[&str]| {
        let sets = sets.iter().map(|set| (*set).to_owned()).collect();
        let request = Request { machine: "volta".to_owned(), sets, ..Request::default() };
        let lines = ResolvedMachine::new(&request).map(|_| ()).unwrap_err().lines();
        lines.into_iter().map(|line| line[line.find("l1.lookups is").unwrap_or(0)..].to_owned()).collect::<Vec<_>>()
    };
    for lookups in [0, 3, 8] {
        let expected = format!("l1.lookups is {lookups}, expected 1, 2 or 4: {banks}");
        assert_eq!(of_volta(&[&format!("l1.lookups={lookups}")]), [expected]);
    }
    for (set, legal) in [
        ("l1.fetch=line", "1 with l1.fetch = \"line\": a line that is fetched whole is read from all banks"),
        ("l1.organisation=decoupled", "1 with l1.organisation = \"decoupled\": a set counts one access per cycle"),
        ("l1.mrpb.queues=1", "1 with l1.mrpb.queues above 0: one request per cycle enters the queues"),
        (
            "l1.replacement={ kind = \"ship\", signature = \"pc\", bits = 8 }",
            "1 with an l1.replacement of kind ship: its table has a port for one use per cycle",
        ),
        (
            "l1.replacement={ kind = \"hawkeye\", sampled_sets = 4, history = 2 }",
            "1 with an l1.replacement of kind hawkeye: its table has a port for one use per cycle",
        ),
        ("l1.bypass.kind=pdp", "1 with an l1.bypass of kind pdp: the scheme observes one load per cycle"),
        ("l1.prefetch.kind=stream", "1 with an l1.prefetch of kind stream: the prefetcher observes one load per cycle"),
    ] {
        assert_eq!(of_volta(&[set]), [format!("l1.lookups is 4, expected {legal}")]);
        assert!(
            ResolvedMachine::new(&Request {
                machine: "volta".to_owned(),
                sets: vec![set.to_owned(), "l1.lookups=1".to_owned()],
                ..Request::default()
            })
            .is_ok(),
            "{set}"
        );
    }
    for kind in ["none", "all", "contentious", "profiled", "streaming"] {
        let sets = vec![format!("l1.bypass.kind={kind}")];
        assert!(
            ResolvedMachine::new(&Request { machine: "volta".to_owned(), sets, ..Request::default() }).is_ok(),
            "{kind}"
        );
    }
}

fn refused_on(machine: &str, sets: &[&str]) -> Vec<String> {
    let sets = sets.iter().map(|set| (*set).to_owned()).collect();
    let request = Request { machine: machine.to_owned(), sets, ..Request::default() };
    ResolvedMachine::new(&request).map_or_else(|error| error.lines(), |_| Vec::new())
}

#[test]
fn a_prefetcher_is_refused_where_a_scheme_would_not_know_its_lines() {
    for (sets, expected) in [
        (
            &["l1.organisation=decoupled"][..],
            "l1.prefetch is stride, expected none with l1.organisation = \"decoupled\"; the plain organisation has all \
             prefetchers: decoupled tags decide",
        ),
        (
            &["l1.bypass.kind=pdp"],
            "l1.prefetch is stride, expected none with an l1.bypass of kind pdp; the kinds none, all, contentious and \
             profiled have all prefetchers: the bypass scheme keeps a state of each line",
        ),
        (&["l1.bypass.kind=streaming"], "l1.prefetch is stride, expected none with an l1.bypass of kind streaming; "),
        (
            &["throttle.kind=ccws"],
            "l1.prefetch is stride, expected none with a throttle of kind ccws; the throttles none and dwt-cs go with \
             all prefetchers: the throttle counts the lines",
        ),
        (
            &["l1.prefetch_limits.mshr_share=32"],
            "l1.prefetch_limits.mshr_share is 32, expected 1 to 31 with l1.mshr_entries = 32: ",
        ),
        (
            &["l1.mshr_entries=1"],
            "l1.prefetch_limits.mshr_share is 8, expected another l1.mshr_entries: 1 leaves none: ",
        ),
        (
            &["l1.prefetch_limits.miss_queue_share=0"],
            "l1.prefetch_limits.miss_queue_share is 0, expected 1 to 7 with l1.miss_queue = 8: ",
        ),
        (
            &["l1.prefetch_limits.page_bytes=1024"],
            "l1.prefetch_limits.page_bytes is 1024, expected a power of two from 4096 to 2097152: ",
        ),
        (&["l1.prefetch.degree=17"], "l1.prefetch.degree is 17, expected 1 to 16: one line is prefetched per cycle"),
    ] {
        let lines = refused_on("fermi", &[&["l1.prefetch.kind=stride"], sets].concat());
        assert!(lines.len() == 1 && lines[0].contains(expected), "{sets:?}: {lines:?}");
    }
    for kind in ["none", "all", "contentious", "profiled"] {
        let lines = refused_on("fermi", &["l1.prefetch.kind=stride", &format!("l1.bypass.kind={kind}")]);
        assert_eq!(lines, [""; 0], "{kind}");
    }
    // Without a prefetcher, the limits on prefetching have no effect, so a queue of length 0 is accepted.
    assert_eq!(refused_on("fermi", &["l1.mshr_entries=1", "l1.prefetch_limits.queue=0"]), [""; 0]);
}

#[test]
fn a_prefetcher_of_the_l2_is_refused_where_a_bank_could_not_hold_its_lines() {
    for (sets, expected) in [
        (
            &["l2.flow.kind=transient"][..],
            "l2.prefetch is stride, expected none with flow.kind = \"transient\"; the overlapped flow has all \
             prefetchers: that flow evicts a victim before it fetches",
        ),
        (
            &["l2.bypass.kind=all"],
            "l2.prefetch is stride, expected none with an l2.bypass of kind all; the kind none has all prefetchers: \
             the bypass scheme decides by the requests for a line",
        ),
        (
            &["l2.mshr_entries=1"],
            "l2.prefetch_limits.mshr_share is 8, expected another l2.mshr_entries: 1 leaves none: ",
        ),
        (
            &["l2.prefetch_limits.miss_queue_share=4"],
            "l2.prefetch_limits.miss_queue_share is 4, expected 1 to 3 with l2.flow.miss_queue = 4: ",
        ),
        (&["l2.prefetch.degree=17"], "l2.prefetch.degree is 17, expected 1 to 16: one line is prefetched per cycle"),
    ] {
        let lines = refused_on("fermi", &[&["l2.prefetch.kind=stride"], sets].concat());
        assert!(lines.len() == 1 && lines[0].contains(expected), "{sets:?}: {lines:?}");
    }
    for set in ["l2.flow.write_miss=byte-mask", "l2.line_bytes=64", "l1.prefetch.kind=next-line"] {
        assert_eq!(refused_on("fermi", &["l2.prefetch.kind=stream", set]), [""; 0], "{set}");
    }
    // Without a prefetcher in the L2, the limits on prefetching have no effect, so a queue of length 0 is
    // accepted.
    assert_eq!(refused_on("fermi", &["l2.mshr_entries=1", "l2.prefetch_limits.queue=0"]), [""; 0]);
}

#[test]
fn a_victim_cache_is_refused_where_a_scheme_would_not_know_its_lines() {
    for (sets, expected) in [
        (
            &["l1.organisation=decoupled"][..],
            "l1.victim is lru, expected none with l1.organisation = \"decoupled\"; the plain organisation has all \
             victim caches: decoupled tags keep",
        ),
        (
            &["l1.bypass.kind=pdp"],
            "l1.victim is lru, expected none with an l1.bypass of kind pdp; the kinds none, all, contentious and \
             profiled have all victim caches: the bypass scheme keeps a state of each line",
        ),
        (&["l1.bypass.kind=streaming"], "l1.victim is lru, expected none with an l1.bypass of kind streaming; "),
        (
            &["throttle.kind=ccws"],
            "l1.victim is lru, expected none with a throttle of kind ccws; the throttles none and dwt-cs go with all \
             victim caches: the throttle counts the lines",
        ),
        (&["l1.victim.lines=0"], "l1.victim.lines is 0, expected 1 to 32: a line is compared with all lines"),
        (&["l1.victim.lines=33"], "l1.victim.lines is 33, expected 1 to 32: "),
    ] {
        let lines = refused_on("fermi", &[&["l1.victim.kind=lru"], sets].concat());
        assert!(lines.len() == 1 && lines[0].contains(expected), "{sets:?}: {lines:?}");
    }
    let tracked = refused_on("hybrid", &["l1.victim.kind=lru", "tracker.scheme=corrected"]);
    let expected = "expected off with l1.victim = \"lru\": the tracker forwards loads";
    assert!(tracked.len() == 1 && tracked[0].contains(expected), "{tracked:?}");
    for set in
        ["l1.bypass.kind=contentious", "l1.prefetch.kind=stride", "l1.replacement.kind=srrip", "l1.fetch=sectors"]
    {
        assert_eq!(refused_on("fermi", &["l1.victim.kind=lru", set]), [""; 0], "{set}");
    }
}

#[test]
fn a_bypass_scheme_that_relies_on_the_lru_order_is_refused_with_another_replacement() {
    for kind in ["streaming", "pdp"] {
        let lines = refused_on("fermi", &[&format!("l1.bypass.kind={kind}"), "l1.replacement.kind=srrip"]);
        let expected = format!("l1.bypass is {kind}, expected another with an l1.replacement other than lru");
        assert!(lines.len() == 1 && lines[0].contains(&expected), "{lines:?}");
    }
}

/// Gives one DRAM timing parameter a value that contradicts other parameters. The violation must be reported
/// at this parameter, since it is at fault.
#[test]
fn dram_distances_that_contradict_one_another_are_refused_at_the_one_that_is_given() {
    for (set, message) in [
        (
            "rc=38",
            "rc is 38, expected 39 or more with ras = 28, rp = 12: between two activates of a bank, its row stays open",
        ),
        ("ras=40", "ras is 40, expected 29 or less with rp = 12, rc = 40: between two activates"),
        ("rp=30", "rp is 30, expected 13 or less with ras = 28, rc = 40: between two activates"),
        (
            "ras=12",
            "ras is 12, expected 13 or more with rcd_rd = 12, rtp = 2: a row stays open until it can be read and \
             closed",
        ),
        ("rcd_rd=28", "rcd_rd is 28, expected 27 or less with rtp = 2, ras = 28: a row stays open"),
        ("rtp=18", "rtp is 18, expected 17 or less with rcd_rd = 12, ras = 28: a row stays open"),
        ("rcd_wr=29", "rcd_wr is 29, expected 28 or less with ras = 28: a row stays open until it can be written"),
        ("faw=20", "faw is 20, expected 21 or more with rrd_s = 6: the window of four activates spans four"),
        ("rrd_s=7", "rrd_s is 7, expected 6 or less with faw = 23: the window of four"),
        ("aw32=176", "aw32 is 176, expected 177 or more with faw = 23: the window of 32 activates spans eight"),
        ("faw=24", "faw is 24, expected 23 or less with aw32 = 184: the window of 32"),
        ("ccd_s=1", "ccd_s is 1, expected 2 or more with burst = 2: the data of two bursts share the bus"),
        ("burst=3", "burst is 3, expected 2 or less with ccd_s = 2: the data of two bursts"),
        ("rrd_l=41", "rrd_l is 41, expected 40 or less with rc = 40: two activates of one bank are no closer"),
        ("rfc=39", "rfc is 39, expected 40 or more with rc = 40: a refresh opens and closes a row"),
        ("rfc=3600", "rfc is 3600, expected 3551 or less with refi = 3604: between two refreshes"),
        (
            "refi=113",
            "refi is 113, expected more than 113, the cycles of a REF and an access to a row: between two refreshes",
        ),
        ("wtr_s=6", "wtr_s is 6, expected 5 or less with wtr_l = 5: banks of one group share more"),
    ] {
        let lines = refused_on("fermi", &[&format!("dram.timing.{set}")]);
        let is_told = |line: &String| line.contains(&format!("dram.timing.{message}"));
        assert!(
            lines.iter().any(is_told) && lines.iter().all(|line| line.starts_with("--set:1:")),
            "{set}: {lines:#?}"
        );
    }
    // Values of timing parameters that must be accepted. Some exceed a sum of other parameters, but only
    // because each parameter is rounded to cycles separately. The other values are consistent with all
    // parameters.
    for sets in [&["rc=39"][..], &["faw=21"], &["rrd_s=2"], &["ras=29"], &["rc=60", "rfc=80"], &["wr=20", "cl=18"]] {
        let sets: Vec<_> = sets.iter().map(|set| format!("dram.timing.{set}")).collect();
        assert_eq!(refused_on("fermi", &sets.iter().map(String::as_str).collect::<Vec<_>>()), [""; 0], "{sets:?}");
    }
    let machine = machine_refused("based-on = \"hbm2\"\n[dram.timing]\nrp = 14\n");
    assert_eq!(
        machine,
        ["mine.toml:3:6: dram.timing.rp is 14, expected 13 or less with ras = 28, rc = 40: between two activates of \
             a bank, its row stays open and is then closed"]
    );
}

#[test]
fn memories_that_no_host_holds_are_refused_with_the_most_that_is_legal() {
    for (machine, sets, message) in [
        (
            "fermi",
            &["sm.shared.bytes=1073741824"][..],
            "sm.shared.bytes is 1073741824, expected a multiple of 128, 4 bytes of each",
        ),
        ("fermi", &["sm.registers=4194304"], "sm.registers is 4194304, expected a multiple of 32 from 1024 to 262144"),
        (
            "fermi",
            &["l1.sets=4096", "l1.ways=256"],
            "l1.ways is 256, expected at most 16: the total size is 134217728 bytes",
        ),
        ("fermi", &["const_cache.sets=4096", "const_cache.ways=64"], "const_cache.ways is 64, expected at most 16"),
        ("fermi", &["texture_cache.sets=4096"], "texture_cache.sets is 4096, expected at most 2730"),
        ("fermi", &["l2.sets=65536"], "l2.sets is 65536, expected at most 8192: the total size is 134217728 bytes"),
        ("fermi", &["sm.icache={ kind = \"cache\", sets = 4096 }"], "sm.icache.sets is 4096, expected at most 2048"),
        (
            "fermi",
            &["l1.organisation=decoupled", "l1.sets=4096", "l1.decoupled.tag_ways=1024"],
            "l1.decoupled.tag_ways is 1024, expected at most 128",
        ),
    ] {
        let lines = refused_on(machine, sets);
        assert!(lines.len() == 1 && lines[0].contains(message), "{sets:?}: {lines:#?}");
    }
}

#[test]
fn decoupled_tags_are_no_fewer_than_the_ways_that_they_belong_to() {
    let why = "each line of a set has a tag; the other tags have no line";
    let of = |designs: &[&str], sets: &[&str]| expect_errors(designs, sets);
    assert_eq!(
        of(&["decoupled"], &["l1.decoupled.tag_ways=3"]),
        [format!("--set:1:23: l1.decoupled.tag_ways is 3, expected 4 or more with ways = 4: {why}")]
    );
    assert_eq!(
        of(&["decoupled"], &["l1.ways=16"]),
        [format!("--set:1:9: l1.ways is 16, expected 8 or less with decoupled.tag_ways = 8: {why}")]
    );
    assert!(of(&["ways-16", "decoupled"], &[])[0].contains("l1.ways is 16, expected 8 or less"));
    // Without decoupled tags, the number of tag ways has no effect, so an illegal number is accepted.
    assert!(fermi(&[], &["l1.decoupled.tag_ways=3"]).is_ok());
    assert!(fermi(&["decoupled"], &["l1.decoupled.tag_ways=4"]).is_ok());
}

#[test]
fn fewer_ways_than_shared_memory_may_take_are_refused_at_the_ways() {
    let carve_outs = "sm.shared.carve_outs = [0, 8192, 16384, 32768, 65536, 98304]";
    let why = "they are whole ways of the L1, and one of them must fit any kernel";
    for (set, at, message) in [
        ("l1.ways=64", 9, format!("l1.ways is 64, expected 193 to 256 with {carve_outs}: {why}")),
        ("l1.sets=128", 9, format!("l1.sets is 128, expected 4 or 8 or 16 or 32 or 64 with {carve_outs}: {why}")),
        (
            "sm.shared.bytes=131072",
            17,
            format!("sm.shared.bytes is 131072, expected 98304 or less with {carve_outs}: {why}"),
        ),
    ] {
        assert_eq!(refused_on("volta", &[set]), [format!("--set:1:{at}: {message}")], "{set}");
    }
}

/// Resolves each built-in machine with the decoupled designs, so that a new rule cannot make an existing
/// combination invalid.
#[test]
fn every_machine_takes_the_decoupled_designs() {
    for machine in crate::config::machines() {
        for design in ["decoupled", "decoupled-dueling"] {
            let request =
                Request { machine: machine.name.to_owned(), designs: vec![design.to_owned()], sets: Vec::new() };
            let lines = ResolvedMachine::new(&request).map_or_else(|error| error.lines(), |_| Vec::new());
            assert!(lines.iter().all(|line| !line.contains("tag_ways")), "{}: {lines:?}", machine.name);
        }
    }
}

#[test]
fn partitions_and_mshr_policies_are_refused_where_they_do_not_fit() {
    for (sets, message) in [
        (
            &["l2.partition.kind=by-requester", "l2.flow.kind=transient"][..],
            "l2.partition is by-requester, expected none with flow.kind = \"transient\"; ",
        ),
        (
            &["l2.partition={ kind = \"by-requester\", ways = [9, 8], sms = [] }"],
            "l2.partition.ways is [9, 8], expected ",
        ),
        (
            &["l2.partition.kind=by-requester", "num_sms=1"],
            "l2.partition.ways is a list of 2, expected a list of 1 to 1, ",
        ),
        (
            &["l2.partition.kind=utility", "l2.flow.kind=transient"],
            "l2.partition is utility, expected none with flow.kind = \"transient\"; ",
        ),
        (
            &["l2.partition={ kind = \"utility\", groups = 3 }", "num_sms=2"],
            "l2.partition.groups is 3, expected 2 to 8, at most num_sms = 2 and l2.ways = 16",
        ),
        (
            &["l2.partition={ kind = \"utility\", sample_every = 4096 }"],
            "l2.partition.sample_every is 4096, expected a power of two from 1 to ",
        ),
        (
            &["l2.mshr_policy.kind=by-requester", "l2.flow.kind=transient"],
            "l2.mshr_policy is by-requester, expected none with flow.kind = \"transient\"; ",
        ),
        (&["l2.mshr_policy.kind=by-age"], "l2.mshr_policy.kind is by-age, expected none or by-requester in the L2; "),
        (&["l1.mshr_policy={ kind = \"by-age\", reserved = 32 }"], "l1.mshr_policy.reserved is 32, expected 1 to 31 "),
        (
            &["l1.mshr_policy.kind=by-requester", "l1.mshr_policy.waiting=0"],
            "l1.mshr_policy.waiting is 0, expected 1 to ",
        ),
        (
            &["l1.hints=true", "l1.organisation=decoupled"],
            "l1.hints is true, expected false with l1.organisation = \"decoupled\"",
        ),
        (
            &["l2.hints=true", "l2.flow.kind=transient"],
            "l2.hints is true, expected false with flow.kind = \"transient\"; ",
        ),
        (
            &["l2.hints=true", "tracker.scheme=corrected"],
            "tracker.scheme is not off, expected off with l2.hints = true",
        ),
    ] {
        let lines = refused_on("fermi", sets);
        assert!(lines.iter().any(|line| line.contains(message)), "{sets:?}: {lines:?}");
    }
    let all = [
        "l1.hints=true",
        "l2.hints=true",
        "l1.mshr_policy.kind=by-age",
        "l2.mshr_policy.kind=by-requester",
        "l2.partition.kind=by-requester",
    ];
    assert_eq!(refused_on("fermi", &all), [""; 0]);
}
