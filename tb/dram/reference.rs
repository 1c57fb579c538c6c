//! Tests of a DRAM channel with recorded traces: the command streams of an independent simulator, and traces
//! on which published controllers hung.

use golden::dram::command::{BankId, Command as Judged, Kind};

use super::bench::{Run, TimedRequest, checker_commands, offer, reference, run_checked};
use crate::kit::Stall;

/// Yields the fields of each line of a CSV table, without its header line.
fn table(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().skip(1).map(|line| line.split(',').collect())
}

fn byte_address(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

fn commands(text: &str) -> Vec<Judged> {
    let command = |fields: Vec<&str>| Judged {
        cycle: fields[0].parse().unwrap(),
        kind: match fields[1] {
            "ACT" => Kind::Act,
            "RD" => Kind::Rd,
            "WR" => Kind::Wr,
            "PRE" => Kind::Pre,
            other => panic!("{other} is not a command of these streams"),
        },
        bank: Some(BankId { group: fields[2].parse().unwrap(), bank: fields[3].parse().unwrap() }),
        row: fields[4].parse().ok(),
        col: fields[5].parse().ok(),
    };
    table(text).map(command).collect()
}

/// Reads a table of requests. Returns the timed requests, and the completion cycle of each read with its
/// request id.
fn requests(text: &str) -> (Vec<TimedRequest>, Vec<(u32, u64)>) {
    let offers = table(text).map(|f| offer(f[3].parse().unwrap(), f[1] == "W", byte_address(f[2])));
    let reads = table(text).filter(|f| f[1] == "R");
    (offers.collect(), reads.map(|f| (f[0].parse().unwrap(), f[5].parse().unwrap())).collect())
}

fn trace(text: &str) -> Vec<TimedRequest> {
    table(text).map(|f| offer(f[0].parse().unwrap(), f[1] == "W", byte_address(f[2]))).collect()
}

fn matches_stream(offers: &[TimedRequest], expected: &str) -> Run {
    let config = reference();
    let run = run_checked(&config, offers, Stall::Never);
    let expected = commands(expected);
    for (place, (ours, theirs)) in checker_commands(&config, &run).iter().zip(&expected).enumerate() {
        assert_eq!(ours, theirs, "command {place}");
    }
    assert_eq!(run.commands.len(), expected.len());
    run
}

fn matches_stream_and_completions(table: &str, expected: &str) {
    let (offers, mut reads) = requests(table);
    let run = matches_stream(&offers, expected);
    let mut ours: Vec<(u32, u64)> = run.replies.iter().map(|(cycle, reply)| (reply.id, *cycle)).collect();
    ours.sort_unstable();
    reads.sort_unstable();
    assert_eq!(ours, reads);
}

#[test]
fn a_sequential_read_stream_is_served_command_for_command() {
    let offers: Vec<TimedRequest> = (0..16_384).map(|i| offer(0, false, 64 * i)).collect();
    matches_stream(&offers, include_str!("data/a_seq_read.commands.csv"));
}

#[test]
fn two_rows_of_one_bank_in_turn_are_gathered_command_for_command() {
    let offers: Vec<TimedRequest> =
        (0..4096).map(|i| offer(0, false, 0x56000 + i % 2 * 0x10000 + i / 2 % 64 * 64)).collect();
    matches_stream(&offers, include_str!("data/c1_pingpong2.commands.csv"));
}

#[test]
fn paced_row_conflicts_are_served_command_for_command() {
    matches_stream_and_completions(
        include_str!("data/c3_pingpong_paced.requests.csv"),
        include_str!("data/c3_pingpong_paced.commands.csv"),
    );
}

#[test]
fn a_stream_of_hits_starves_another_row_command_for_command() {
    matches_stream_and_completions(
        include_str!("data/f_hit_starve.requests.csv"),
        include_str!("data/f_hit_starve.commands.csv"),
    );
}

#[test]
fn isolated_reads_writes_and_activates_are_served_command_for_command() {
    matches_stream_and_completions(
        include_str!("data/g_probe.requests.csv"),
        include_str!("data/g_probe.commands.csv"),
    );
}

#[test]
fn trailing_writes_are_served_command_for_command() {
    matches_stream_and_completions(
        include_str!("data/k_few_writes.requests.csv"),
        include_str!("data/k_few_writes.commands.csv"),
    );
}

#[test]
fn two_reads_to_one_write_complete() {
    let offers: Vec<TimedRequest> =
        (0..12_288).map(|i| offer(0, i % 3 == 2, i % 3 * 0x0100_5000 + i / 3 * 64)).collect();
    let run = run_checked(&reference(), &offers, Stall::Never);
    assert_eq!((run.counts.reads, run.counts.writes), (8192, 4096));
}

#[test]
fn reads_and_writes_of_one_address_complete_in_their_order() {
    let offers = trace(include_str!("data/i_same_addr.trace.csv"));
    let run = run_checked(&reference(), &offers, Stall::Never);
    assert_eq!(run.counts.reads + run.counts.writes, 1000);
}

#[test]
fn a_write_behind_a_read_of_its_address_completes_in_a_full_queue() {
    let offers = trace(include_str!("data/j_war_full_wbuf.trace.csv"));
    let run = run_checked(&reference(), &offers, Stall::Never);
    assert_eq!(run.accepted.len(), 89);
}
