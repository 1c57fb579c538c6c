use super::super::fixtures::{commands, stream};
use super::*;
use crate::dram::timing::Bus;

const STREAMS: [&str; 4] = ["k_few_writes", "g_probe", "f_hit_starve", "c1_pingpong2_head"];

fn reference_checker() -> Checker {
    Checker::new(Timing::REFERENCE, false)
}

/// Returns the numbers of the rules that the command stream `text` violates. Consecutive equal numbers are
/// merged.
fn violated_rules(checker: &Checker, text: &str) -> Vec<u8> {
    let mut numbers: Vec<u8> = checker.check(&stream(text)).iter().map(|violation| violation.rule).collect();
    numbers.dedup();
    numbers
}

/// Returns the index of a row of the rule table, given its rule number. If several rows have that number,
/// `nth` selects one of them, counted from 0.
fn row(number: u8, nth: usize) -> usize {
    let rows = (0..RULES.len()).filter(|&row| RULES[row].number == number);
    rows.into_iter().nth(nth).expect("the row exists")
}

fn raise_bound(checker: &Checker, row: usize) -> Checker {
    checker.clone().with_bound(row, checker.bound(row) + 1)
}

/// Returns, for every distance rule, a command stream whose last command comes exactly as early as the rule
/// allows.
fn tight() -> Vec<(usize, Timing, Vec<Command>)> {
    let usual = Timing::REFERENCE;
    // Timing for the tests of tFAW and t32AW, with a lower tRRD and a higher t32AW. With the default timing,
    // tFAW and t32AW never matter, because tRRD already spaces ACTs far enough apart.
    let windowed = Timing { rrd_s: 5, rrd_l: 5, aw32: 192, ..usual };
    // Timing with data bursts of one cycle, and with a separate command bus for row commands.
    let apart = Timing { bus: Bus::RowsApart, ccd_s: 1, burst: 1, ..usual };
    // Stream of thirty-three ACTs to sixteen banks; each bank is precharged before its next ACT.
    let many: Vec<String> = (0..33)
        .map(|i| (i, format!("{}.{}", i % 4, i / 4 % 4)))
        .map(|(i, bank)| match i {
            32 => format!("{} ACT {bank} 1", 1 + 6 * i),
            _ => format!("{} ACT {bank} 1, {} PRE {bank}", 1 + 6 * i, 34 + 6 * i),
        })
        .collect();
    let mut many = stream(&many.join(","));
    many.sort_by_key(|command| command.cycle);
    many.truncate(many.iter().position(|command| command.cycle == 193).map_or(0, |end| end + 1));

    let two_groups = "1 ACT 0.0 5, 7 ACT 1.0 5";
    let two_banks = "1 ACT 0.0 5, 7 ACT 0.1 5";
    let on = |opening: &str, rest: &str| stream(&format!("{opening}, {rest}"));
    vec![
        (row(1, 0), usual, on(two_groups, "40 RD 0.0 5 0, 41 PRE 1.0")),
        (row(1, 1), apart, on(two_groups, "40 PRE 0.0, 41 ACT 2.0 5")),
        (row(1, 2), apart, on(two_groups, "40 RD 0.0 5 0, 41 RD 1.0 5 0")),
        (row(2, 0), usual, stream("1 ACT 0.0 5, 29 PRE 0.0, 41 ACT 0.0 6")),
        (row(3, 0), usual, stream("1 ACT 0.0 5, 50 PRE 0.0, 62 ACT 0.0 6")),
        (row(4, 0), usual, stream(two_groups)),
        (row(4, 1), usual, stream(two_banks)),
        (row(5, 0), windowed, stream("1 ACT 0.0 1, 6 ACT 1.0 1, 11 ACT 2.0 1, 16 ACT 3.0 1, 24 ACT 0.1 1")),
        (row(6, 0), windowed, many),
        (row(7, 0), usual, stream("1 ACT 0.0 5, 13 RD 0.0 5 0")),
        (row(7, 1), usual, stream("1 ACT 0.0 5, 11 WR 0.0 5 0")),
        (row(8, 0), usual, stream("1 ACT 0.0 5, 29 PRE 0.0")),
        (row(9, 0), usual, stream("1 ACT 0.0 5, 40 RD 0.0 5 0, 42 PRE 0.0")),
        (row(10, 0), usual, stream("1 ACT 0.0 5, 30 WR 0.0 5 0, 48 PRE 0.0")),
        (row(11, 0), usual, on(two_banks, "40 RD 0.0 5 0, 43 RD 0.1 5 0")),
        (row(11, 1), usual, on(two_banks, "40 WR 0.0 5 0, 43 WR 0.1 5 0")),
        (row(12, 0), usual, on(two_groups, "40 RD 0.0 5 0, 42 RD 1.0 5 0")),
        (row(12, 1), usual, on(two_groups, "40 WR 0.0 5 0, 42 WR 1.0 5 0")),
        (row(13, 0), usual, stream("1 ACT 0.0 5, 40 RD 0.0 5 0, 52 WR 0.0 5 1")),
        (row(14, 0), usual, on(two_groups, "40 WR 0.0 5 0, 51 RD 1.0 5 0")),
        (row(14, 1), usual, on(two_banks, "40 WR 0.0 5 0, 51 RD 0.1 5 0")),
        (row(15, 0), usual, on(two_groups, "60 PRE 0.0, 61 PRE 1.0")),
        (row(16, 0), usual, stream("1 ACT 0.0 5, 60 PRE 0.0, 72 REF")),
        (row(17, 0), usual, stream("1 REF, 62 ACT 0.0 5")),
        (row(18, 0), usual, stream("1 ACT 0.0 5, 29 PRE 0.0, 41 REF")),
        (row(19, 0), usual, stream("1 ACT 0.0 5, 40 RDA 0.0 5 0, 54 ACT 0.0 6")),
        (row(19, 1), usual, stream("1 ACT 0.0 5, 40 WRA 0.0 5 0, 70 ACT 0.0 6")),
        (row(21, 0), usual, on(two_groups, "40 RD 0.0 5 0, 42 RD 1.0 5 0")),
    ]
}

#[test]
fn every_row_that_is_a_distance_has_a_tight_stream() {
    let rows: Vec<usize> = tight().into_iter().map(|(row, ..)| row).collect();
    let distances: Vec<usize> = (0..RULES.len())
        .filter(|&row| {
            let form = RULES[row].form;
            matches!(form, Form::Distance { .. } | Form::AutoPrecharge | Form::DataBus)
        })
        .collect();
    assert_eq!(rows, distances);
}

#[test]
fn a_command_as_early_as_its_rule_allows_is_clean() {
    for (row, timing, commands) in tight() {
        assert_eq!(Checker::new(timing, false).check(&commands), [], "{:?}", RULES[row]);
    }
}

#[test]
fn a_command_one_cycle_too_early_breaks_its_rule() {
    for (row, timing, mut commands) in tight() {
        commands.last_mut().expect("a command").cycle -= 1;
        let found = Checker::new(timing, false).check(&commands);
        let number = RULES[row].number;
        assert!(found.iter().any(|violation| violation.rule == number), "{number}: {found:?}");
    }
}

#[test]
fn each_row_raised_by_one_cycle_is_caught_by_its_tight_stream_and_by_no_other_rule() {
    for (row, timing, commands) in tight() {
        let found = raise_bound(&Checker::new(timing, false), row).check(&commands);
        let rules: Vec<u8> = found.iter().map(|violation| violation.rule).collect();
        assert!(!rules.is_empty(), "row {row}");
        assert!(rules.iter().all(|&rule| rule == RULES[row].number), "row {row}: {found:?}");
    }
}

#[test]
fn commands_of_one_cycle_are_no_cycle_apart_whichever_the_trace_names_first() {
    for (row, timing, mut commands) in tight() {
        let Rule { number, from, form, .. } = RULES[row];
        if form != (Form::Distance { back: 1 }) {
            continue;
        }
        let mut last = commands.pop().expect("a command");
        let partner = commands.iter().rfind(|command| from.contains(&command.kind)).expect("an earlier command");
        last.cycle = partner.cycle;
        commands.push(last);
        for _ in 0..2 {
            commands.reverse();
            commands.sort_by_key(|command| command.cycle);
            let found = Checker::new(timing, false).check(&commands);
            assert!(found.iter().any(|violation| violation.rule == number), "row {row}: {found:?}");
        }
    }
}

/// Creates a checker for the default timing, but with separate row and column command buses as in HBM.
fn dual_bus_checker() -> Checker {
    Checker::new(Timing { bus: Bus::RowsApart, ..Timing::REFERENCE }, false)
}

/// Commands that open rows in three banks, two of them in one bank group. By cycle 60, all three banks may be
/// precharged, read or written.
const OPEN: &str = "1 ACT 0.0 5, 7 ACT 1.0 5, 13 ACT 0.1 5";

/// Returns the numbers of the rules that two commands violate if both are issued in cycle 60, on separate row
/// and column buses. Asserts that the order of the two commands in the trace does not matter.
#[track_caller]
fn violated_at_once(one: &str, other: &str) -> Vec<u8> {
    let both = [[one, other], [other, one]];
    let [found, reversed] = both.map(|[a, b]| {
        let mut numbers = violated_rules(&dual_bus_checker(), &format!("{OPEN}, 60 {a}, 60 {b}"));
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    });
    assert_eq!(found, reversed, "{one}, {other}");
    found
}

#[test]
fn a_row_and_a_column_command_of_different_banks_share_a_cycle_where_each_has_a_bus() {
    for row in ["PRE 1.0", "PRE 0.1", "ACT 2.0 7"] {
        for column in ["RD 0.0 5 0", "WR 0.0 5 0"] {
            assert_eq!(violated_at_once(row, column), [], "{row}, {column}");
            assert_eq!(
                violated_rules(&reference_checker(), &format!("{OPEN}, 60 {row}, 60 {column}")),
                [1],
                "{row}, {column}"
            );
        }
    }
}

#[test]
fn two_commands_of_one_bus_never_share_a_cycle() {
    assert_eq!(violated_at_once("PRE 0.0", "PRE 1.0"), [1, 15]);
    assert_eq!(violated_at_once("PRE 0.0", "ACT 2.0 7"), [1]);
    assert_eq!(violated_at_once("RD 0.0 5 0", "RD 1.0 5 0"), [1, 12, 21]);
    assert_eq!(violated_at_once("RD 0.0 5 0", "WR 1.0 5 0"), [1, 13, 14]);
}

#[test]
fn a_row_and_a_column_command_of_one_bank_never_share_a_cycle() {
    assert_eq!(violated_at_once("ACT 2.0 7", "RD 2.0 7 0"), [7, 22]);
    assert_eq!(violated_at_once("ACT 2.0 7", "WR 2.0 7 0"), [7, 22]);
    assert_eq!(violated_at_once("PRE 0.0", "RD 0.0 5 0"), [9]);
    assert_eq!(violated_at_once("PRE 0.0", "WR 0.0 5 0"), [10]);
}

#[test]
fn a_command_for_all_banks_shares_a_cycle_with_no_column_command() {
    assert_eq!(violated_at_once("PREA", "RD 0.0 5 0"), [9]);
    assert_eq!(violated_at_once("PREA", "WR 0.0 5 0"), [10]);
    assert_eq!(violated_at_once("REF", "RD 0.0 5 0"), [16, 17]);
}

#[test]
fn a_collision_in_one_cycle_names_both_commands_once() {
    let found = dual_bus_checker().check(&stream(&format!("{OPEN}, 60 PRE 0.0, 60 RD 0.0 5 3")));
    let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        ["rule 9: Pre bank 0.0 at 60 comes 0 cycles after Rd bank 0.0 row 5 col 3 at 60, expected at least 2 (tRTP)"]
    );
}

#[test]
fn the_reference_streams_are_clean() {
    for name in STREAMS {
        assert_eq!(reference_checker().check(&commands(name)), [], "{name}");
    }
}

#[test]
fn the_reference_streams_notice_exactly_the_raised_rows_that_bind_in_them() {
    let sensitive = |name: &str| -> Vec<&str> {
        let commands = commands(name);
        let caught = |&row: &usize| !raise_bound(&reference_checker(), row).check(&commands).is_empty();
        (0..RULES.len()).filter(caught).map(|row| RULES[row].expression).collect()
    };
    let expected: [&[&str]; 4] = [
        &["tRRD_S", "tRRD_L", "tRCDRD", "tRCDWR"],
        &[
            "1",
            "tRP",
            "tRRD_S",
            "tRCDRD",
            "WL + burst + tWR",
            "tCCD_L",
            "CL + burst + 2 - WL",
            "WL + burst + tWTR_S",
            "WL + burst + tWTR_L",
        ],
        &["tRC", "tRP", "tRCDRD", "tRAS", "tCCD_L"],
        &["tRP", "tRCDRD", "tRTP", "tCCD_L"],
    ];
    assert_eq!(STREAMS.map(sensitive), expected);
}

#[test]
fn the_activation_windows_never_bind_with_the_usual_set() {
    let (faw, aw32) = (row(5, 0), row(6, 0));
    let usual = reference_checker();
    assert!(usual.bound(faw) < 4 * Timing::REFERENCE.rrd_s);
    assert!(usual.bound(aw32) < 32 * Timing::REFERENCE.rrd_s);
}

#[test]
fn precharge_all_waits_for_every_open_bank() {
    assert_eq!(violated_rules(&reference_checker(), "1 ACT 0.0 5, 28 ACT 1.0 5, 55 PREA"), [8]);
    assert_eq!(violated_rules(&reference_checker(), "1 ACT 0.0 5, 28 ACT 1.0 5, 56 PREA"), []);
}

#[test]
fn precharge_all_closes_every_bank() {
    assert_eq!(violated_rules(&reference_checker(), "1 ACT 0.0 5, 40 PREA, 52 ACT 0.0 6"), []);
    assert_eq!(violated_rules(&reference_checker(), "1 ACT 0.0 5, 40 PREA, 51 ACT 0.0 6"), [3]);
    assert_eq!(violated_rules(&reference_checker(), "1 ACT 0.0 5, 40 PREA, 60 RD 0.0 5 0"), [22]);
}

#[test]
fn an_auto_precharge_waits_for_the_row_to_have_been_open_long_enough() {
    let checker = Checker::new(Timing { rc: 30, ..Timing::REFERENCE }, false);
    assert_eq!(violated_rules(&checker, "1 ACT 0.0 5, 13 RDA 0.0 5 0, 41 ACT 0.0 6"), []);
    assert_eq!(violated_rules(&checker, "1 ACT 0.0 5, 13 RDA 0.0 5 0, 40 ACT 0.0 6"), [19]);
}

#[test]
fn an_auto_precharge_of_any_bank_holds_back_a_refresh() {
    assert_eq!(violated_rules(&reference_checker(), "1 ACT 0.0 5, 40 WRA 0.0 5 0, 69 REF"), [19]);
    assert_eq!(violated_rules(&reference_checker(), "1 ACT 0.0 5, 40 WRA 0.0 5 0, 70 REF"), []);
}

#[test]
fn a_refresh_finds_every_bank_closed() {
    assert_eq!(violated_rules(&reference_checker(), "1 ACT 0.0 5, 72 REF"), [16]);
}

#[test]
fn nothing_follows_a_refresh_before_it_is_over() {
    assert_eq!(violated_rules(&reference_checker(), "1 REF, 61 REF"), [17]);
    assert_eq!(violated_rules(&reference_checker(), "1 REF, 61 PREA"), [17]);
    assert_eq!(violated_rules(&reference_checker(), "1 REF, 62 REF"), []);
}

#[test]
fn refreshes_may_not_lie_further_apart_than_allowed() {
    let bound = 3643;
    let checker = Checker::new(Timing::REFERENCE, true).with_bound(row(20, 0), bound);
    assert_eq!(violated_rules(&checker, "3643 REF, 7286 REF, 10000 ACT 0.0 5"), []);
    assert_eq!(violated_rules(&checker, "3643 REF, 7287 REF"), [20]);
}

#[test]
fn a_refresh_that_never_comes_is_noticed_at_the_end() {
    let checker = Checker::new(Timing::REFERENCE, true);
    let text = format!("1 ACT 0.0 5, {} RD 0.0 5 0", 9 * 3604 + 1);
    assert_eq!(violated_rules(&checker, &text), [20]);
    assert_eq!(violated_rules(&reference_checker(), &text), []);
}

#[test]
fn a_refresh_that_comes_too_late_for_the_start_is_noticed() {
    let checker = Checker::new(Timing::REFERENCE, true).with_bound(row(20, 0), 100);
    assert_eq!(violated_rules(&checker, "101 REF"), [20]);
}

#[test]
fn bursts_of_different_direction_may_not_meet_on_the_data_bus() {
    // The turnaround rule is disabled, to test the data-bus rule alone. The data of a WR that is issued 9
    // cycles after an RD would overlap the read data.
    let checker = reference_checker().with_bound(row(13, 0), 0);
    assert_eq!(violated_rules(&checker, "1 ACT 0.0 5, 40 RD 0.0 5 0, 49 WR 0.0 5 1"), [21]);
    assert_eq!(violated_rules(&checker, "1 ACT 0.0 5, 40 RD 0.0 5 0, 50 WR 0.0 5 1"), []);
}

#[test]
fn each_command_finds_its_bank_in_the_state_it_needs() {
    for text in [
        "1 ACT 0.0 5, 41 ACT 0.0 6",
        "1 RD 0.0 5 0",
        "1 ACT 0.0 5, 20 WR 0.0 6 0",
        "1 PRE 0.0",
        "1 ACT 0.0 5, 40 RDA 0.0 5 0, 60 RD 0.0 5 1",
        "1 ACT",
        "1 ACT 0.0",
    ] {
        assert_eq!(violated_rules(&reference_checker(), text), [22], "{text}");
    }
}

#[test]
fn commands_out_of_order_in_the_trace_are_noticed() {
    assert_eq!(violated_rules(&reference_checker(), "10 PREA, 5 PREA"), [1, 15]);
}

#[test]
fn a_violation_names_rule_cycles_and_banks() {
    let found = reference_checker().check(&stream("1 ACT 0.3 5, 12 RD 0.3 5 0"));
    assert_eq!(
        found[0].to_string(),
        "rule 7: Rd bank 0.3 row 5 col 0 at 12 comes 11 cycles after Act bank 0.3 row 5 at 1, \
         expected at least 12 (tRCDRD)"
    );
}
