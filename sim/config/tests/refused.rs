//! Everything that can be wrong with a configuration, each with its wording.

use super::{fermi, machine_file};
use crate::config::{ConfigError, Request, Resolved};

fn refused(designs: &[&str], sets: &[&str]) -> Vec<String> {
    fermi(designs, sets).unwrap_err().lines()
}

/// The lines of a machine file's error, without its folder.
fn machine_refused(text: &str) -> Vec<String> {
    let lines = machine_file(text).unwrap_err().lines();
    lines.into_iter().map(|line| line[line.find("mine.toml").unwrap_or(0)..].to_owned()).collect()
}

/// The lines of the error of a design file.
fn design_refused(text: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml").display().to_string();
    std::fs::write(&path, text).unwrap();
    let lines = refused(&["pric", &path], &[]);
    lines.into_iter().map(|line| line[line.find("mine.toml").unwrap_or(0)..].to_owned()).collect()
}

#[test]
fn an_unknown_key_comes_with_the_one_that_was_meant() {
    assert_eq!(refused(&[], &["l1.setz=64"]), ["--set:1:4: unknown key `l1.setz` (did you mean `sets`?)"]);
}

#[test]
fn a_key_without_its_group_comes_with_the_groups_that_have_it() {
    assert_eq!(
        refused(&[], &["sets=64"]),
        [
            "--set:1:1: unknown key `sets` (did you mean `l1.sets` or `const_cache.sets` or `texture_cache.sets` or `tracker.sets` or `l2.sets`?)"
        ]
    );
}

#[test]
fn an_unknown_key_like_no_other_comes_with_the_legal_ones() {
    assert_eq!(refused(&[], &["xbar.colour=1"]), ["--set:1:6: unknown key `xbar.colour` (legal keys: buffer_flits)"]);
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
        refused(&[], &["l1.sets=many", "l1.bypass=1", "l1.index=linear", "l1=3", "l1.ways=2.0"]),
        [
            "--set:1:9: `l1.sets` is \"many\", expected an integer",
            "--set:1:11: `l1.bypass` is 1, expected a string",
            "--set:1:10: `l1.index` is \"linear\", expected a table such as { kind = \"linear\" }",
            "--set:1:4: `l1` is 3, expected a table of sets, ways, line_bytes, mshr_entries, mshr_merges, miss_queue, \
             fail_order, store_hit, bypass, bypass_sectors, protecting_distance, index, replacement, organisation, decoupled, \
             dueling, streaming, profiled, mrpb",
            "--set:1:9: `l1.ways` is 2.0, expected an integer",
        ]
    );
}

#[test]
fn an_integer_out_of_its_type_and_an_unknown_choice_are_refused_together() {
    assert_eq!(
        refused(&[], &["lsu.slots=-1", "l1.bypass=al"]),
        [
            "--set:1:11: `lsu.slots` is -1, expected 0 to 4294967295",
            "--set:1:11: `l1.bypass` is \"al\", expected one of none, all, streaming, contentious (did you mean `all`?)",
        ]
    );
}

#[test]
fn a_table_with_a_kind_must_have_the_keys_of_its_kind() {
    assert_eq!(
        refused(&[], &["l1.index={ kind = \"i-pole\" }"]),
        ["--set:1:10: `l1.index.kind` is \"i-pole\", expected one of linear, i-poly, fermi (did you mean `i-poly`?)"]
    );
    assert_eq!(
        refused(&[], &["l1.index={ kind = \"i-poly\" }"]),
        ["--set:1:10: `l1.index` is { kind = \"i-poly\" }, which has no `polynomial` but needs it"]
    );
    assert_eq!(
        refused(&[], &["l1.index.polynomial=37"]),
        ["--set:1:10: unknown key `l1.index.polynomial`: `l1.index` is of kind \"linear\" (legal keys: kind; for \
          another kind state the whole table: l1.index = { kind = \"...\", ... })"]
    );
}

#[test]
fn every_broken_rule_is_reported_at_the_value_that_breaks_it() {
    assert_eq!(
        refused(&[], &["l1.sets=48", "l1.mshr_entries=0", "dram.rows=1000"]),
        [
            "--set:1:9: l1.sets is 48, expected a power of two from 1 to 4096: the set index is a bit field",
            "--set:1:17: l1.mshr_entries is 0, expected 1 to 64: the search is one bit an entry",
            "--set:1:11: dram.rows is 1000, expected a power of two from 2 to 65536: it is a field of the address",
        ]
    );
}

#[test]
fn a_rule_between_fields_points_at_the_field_it_names() {
    assert_eq!(
        refused(&["pric"], &["l1.sets=64"]),
        [
            "designs/pric.toml:7:9: l1.index.polynomial is 37 (degree 5), expected degree 6: the degree is the number of \
          index bits"
        ]
    );
}

#[test]
fn two_designs_in_one_slot_are_refused_by_name() {
    assert_eq!(
        refused(&["pric", "fermi-hash"], &[]),
        ["--design:1:1: designs `pric` and `fermi-hash` both fill the slot `index`, which holds one"]
    );
    assert_eq!(refused(&["pric", "pric"], &[]), ["--design:1:1: design `pric` is given twice"]);
}

#[test]
fn two_designs_that_disagree_about_a_field_are_refused() {
    assert_eq!(
        design_refused("[l1]\nindex = { kind = \"linear\" }\n"),
        ["mine.toml:2:9: `l1.index` is { kind = \"linear\" }, but design `pric` makes it { kind = \"i-poly\", \
          polynomial = 37, addr_bits = 32, reversed = false } (take one of the two designs, or say `--set`)"]
    );
}

#[test]
fn an_unknown_design_machine_and_slot_come_with_the_one_that_was_meant() {
    assert_eq!(
        refused(&["prik"], &[]),
        ["--design:1:1: there is no design `prik` (did you mean `pric`? The name of a file ends in .toml)"]
    );
    let error = Resolved::new(&Request { machine: "femi".to_owned(), ..Request::default() }).unwrap_err();
    assert_eq!(
        error.lines(),
        ["--machine:1:1: there is no machine `femi` (did you mean `fermi`? The name of a file ends in .toml)"]
    );
    assert_eq!(
        design_refused("slot = \"tag\"\n"),
        ["mine.toml:1:8: `slot` is \"tag\", expected the name of a slot, or no such key (did you mean `tags`?)"]
    );
}

#[test]
fn a_set_without_a_value_is_refused() {
    let help = "(for example l1.sets=64, or 'l1.index={ kind = \"fermi\" }')";
    for text in ["l1.sets", "=3", "l1.sets=", "l1.sets=3x", ""] {
        assert_eq!(refused(&[], &[text]), [format!("--set:1:1: `{text}` is not of the form KEY=VALUE {help}")]);
    }
}

#[test]
fn a_file_that_is_missing_or_no_toml_is_refused() {
    let error = fermi(&["nowhere/mine.toml"], &[]).unwrap_err();
    assert!(error.to_string().starts_with("nowhere/mine.toml: cannot read the design file: "), "{error}");
    let lines = machine_refused("name = \"x\"\n[l1\n");
    assert!(lines[0].starts_with("mine.toml:2:4: not TOML: "), "{lines:?}");
}

#[test]
fn a_machine_file_without_a_base_must_state_every_field() {
    let lines = machine_refused("[l1]\nsets = 32\n");
    let expected = "mine.toml:1:1: the file leaves out `num_sms`, `num_partitions`, `interleave_bytes`, \
                    `channels_per_partition`, `addr_bits` and ";
    assert!(lines[0].starts_with(expected), "{lines:?}");
    let help = "more fields (state all fields, or start from another machine: based-on = \"fermi\")";
    assert!(lines[0].ends_with(help), "{lines:?}");
}

#[test]
fn machines_based_on_each_other_in_a_circle_are_refused() {
    let lines = machine_refused("based-on = \"mine.toml\"\n");
    let expected = ["mine.toml:1:12: more than 8 machines are based on each other, in a circle perhaps"];
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
fn so_many_l2_mshr_entries_need_whole_words_and_the_transient_flow() {
    let why = "with replacement_flow = \"transient\": the entries in use are one bit each of whole words";
    for (designs, entries) in [(&["transient"][..], "100"), (&[], "128")] {
        let set = format!("l2.mshr_entries={entries}");
        let expected =
            format!("--set:1:17: l2.mshr_entries is {entries}, expected 64 at most, or a multiple of 64 {why}");
        assert_eq!(refused(designs, &[&set]), [expected]);
    }
}

#[test]
fn a_policy_that_its_machine_cannot_follow_is_refused() {
    assert_eq!(
        refused(&["hybrid-policy", "decoupled"], &[]),
        ["designs/hybrid-policy.toml:7:10: l1.bypass is contentious, expected another with l1.organisation = \
          \"decoupled\": one scheme decides which loads go past"]
    );
    assert_eq!(
        refused(&["hybrid-policy"], &["sm.warp_lanes=64"]),
        ["designs/hybrid-policy.toml:7:10: l1.bypass is contentious, expected another with sm.warp_lanes = 64: the \
          lines that an instruction touches are counted at once, and one of 64 lanes comes in halves"]
    );
    assert_eq!(
        refused(&[], &["l2.bypass=coalesced"]),
        ["--set:1:11: l2.bypass is coalesced, expected another with tracker.scheme = \"off\": what will stay in an \
          L1 is said to the sharing tracker, and only with one do L1s supply each other"]
    );
    assert_eq!(
        refused(&["hybrid-policy", "bypass-all"], &[]),
        ["--design:1:1: designs `hybrid-policy` and `bypass-all` both fill the slot `bypass`, which holds one"]
    );
}
