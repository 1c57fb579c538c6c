use super::super::command::Kind;
use super::super::fixtures::{commands, requests, stream};
use super::super::timing::Timing;
use super::*;

const STREAMS: [&str; 3] = ["k_few_writes", "g_probe", "f_hit_starve"];

fn check(requests: &[Request], commands: &[Command]) -> Vec<String> {
    let checker = Checker::new(Timing::REFERENCE, false);
    let found = checker.check_requests(&Mapping::reference(), requests, commands);
    assert!(found.iter().all(|violation| violation.rule == 23));
    found.into_iter().map(|violation| violation.text).collect()
}

/// Returns one write and two reads of the same burst with their commands. The ACT in cycle 1 opens the row.
fn same_burst() -> (Vec<Request>, Vec<Command>) {
    let request = |number, op, complete| Request {
        number,
        op,
        address: 0x5_0040,
        accept: number,
        complete: Some(complete),
        service: Service::Column,
    };
    let asked = vec![request(0, Op::Write, 26), request(1, Op::Read, 45), request(2, Op::Read, 48)];
    (asked, stream("1 ACT 0.0 5, 20 WR 0.0 5 1, 31 RD 0.0 5 1, 34 RD 0.0 5 1"))
}

#[test]
fn the_reference_requests_and_commands_belong_together() {
    for name in STREAMS {
        assert_eq!(check(&requests(name), &commands(name)), [""; 0], "{name}");
    }
}

#[test]
fn a_missing_command_of_a_reference_stream_is_noticed() {
    for name in STREAMS {
        let mut commands = commands(name);
        let last = commands.iter().rposition(|command| command.kind == Kind::Rd);
        commands.remove(last.expect("a read"));
        let found = check(&requests(name), &commands);
        assert!(found.len() == 1 && found[0].contains("has no command at bank"), "{found:?}");
    }
}

#[test]
fn read_data_one_cycle_late_are_noticed_in_every_reference_stream() {
    let row = RULES.iter().position(|rule| rule.form == Form::Requests).unwrap();
    let checker = Checker::new(Timing::REFERENCE, false).with_bound(row, 15);
    for name in STREAMS {
        let found = checker.check_requests(&Mapping::reference(), &requests(name), &commands(name));
        assert!(!found.is_empty(), "{name}");
    }
}

#[test]
fn requests_to_one_burst_served_in_order_are_right() {
    let (asked, commands) = same_burst();
    assert_eq!(check(&asked, &commands), [""; 0]);
}

#[test]
fn a_read_that_passes_the_write_before_it_is_noticed() {
    let (asked, mut commands) = same_burst();
    commands[1].kind = Kind::Rd;
    commands[2].kind = Kind::Wr;
    let found = check(&asked, &commands);
    assert_eq!(
        found[0],
        "Rd bank 0.0 row 5 col 1 at 20 is issued where request 0 (Write) is due: requests to one address keep their \
         order"
    );
    assert_eq!(found.len(), 2);
}

#[test]
fn a_request_served_twice_is_noticed() {
    let (asked, mut commands) = same_burst();
    commands.extend(stream("60 RD 0.0 5 1"));
    assert_eq!(check(&asked, &commands), ["Rd bank 0.0 row 5 col 1 at 60 serves no request"]);
}

#[test]
fn a_request_served_at_another_column_is_noticed_on_both_sides() {
    let (asked, mut commands) = same_burst();
    commands[3].col = Some(2);
    assert_eq!(
        check(&asked, &commands),
        [
            "request 2 (Read of 0x50040) has no command at bank 0.0 row 5 col 1",
            "Rd bank 0.0 row 5 col 2 at 34 serves no request"
        ]
    );
}

#[test]
fn a_forwarded_read_needs_no_command() {
    let (mut asked, mut commands) = same_burst();
    asked[2].service = Service::Forwarded;
    commands.truncate(3);
    assert_eq!(check(&asked, &commands), [""; 0]);
}

#[test]
fn a_command_in_the_cycle_of_acceptance_is_too_early() {
    let (mut asked, commands) = same_burst();
    asked[0].accept = 20;
    assert_eq!(
        check(&asked, &commands),
        ["Wr bank 0.0 row 5 col 1 at 20 serves request 0, accepted at 20: expected later"]
    );
}

#[test]
fn a_completion_at_another_time_than_the_data_is_noticed() {
    let (mut asked, commands) = same_burst();
    asked[1].complete = Some(44);
    assert_eq!(
        check(&asked, &commands),
        ["request 1 (Read) is complete at 44, expected 45: 14 cycles after Rd bank 0.0 row 5 col 1 \
         at 31"]
    );
}
