//! # Pairs of commands at their least distance
//! Coverage that detects DRAM controllers that send commands later than the device allows. The command
//! checker cannot detect such delays, because they break no timing rule. For each pair of command kinds, on
//! one command bus or on two, the coverage counts how often the second command comes at the least legal
//! distance after the first.
//!
//! The least distance is computed with the golden command checker alone. It is the required distance between
//! the two commands, unless the bank must be opened or closed in between. In that case, it is the length of
//! the shortest legal sequence. For example, a PRE must come between a READ and the next ACT of the same
//! bank. Both PRE and ACT are then sent as early as possible.

use golden::dram::checker::Checker;
use golden::dram::command::{BankId, Command, Kind};
use golden::dram::timing::{Bus, Timing};

use crate::kit::coverage::{Axis, Cross, Exclusion, hit, is_collecting};

const PAIRS: &str = "DRAM command pairs at their minimum distance";

/// Kinds of DRAM commands that the modeled controllers send, with their names.
const KINDS: [(Kind, &str); 6] = [
    (Kind::Act, "ACT"),
    (Kind::Rd, "READ"),
    (Kind::Wr, "WRITE"),
    (Kind::Pre, "PRE"),
    (Kind::Prea, "PREA"),
    (Kind::Ref, "REFRESH"),
];
const BANKS: [&str; 3] = ["same bank", "same group", "other group"];
const BUSES: [&str; 2] = ["one bus", "two buses"];

/// Banks of the second command of a pair. The first command always goes to bank 0 of group 0. Each entry
/// is a bank whose relation to bank 0 of group 0 is named by [`BANKS`] at the same index.
const PLACES: [BankId; BANKS.len()] =
    [BankId { group: 0, bank: 0 }, BankId { group: 0, bank: 1 }, BankId { group: 1, bank: 0 }];

/// Declares the functional coverage of command pairs.
pub(crate) fn cross() -> Cross {
    let kinds = || KINDS.map(|(_, name)| name);
    let all_banks = "PREA and REFRESH apply to all banks and are counted under the same bank";
    let ahead = "our controllers close all banks only for a refresh, which follows";
    let elsewhere = || vec!["same group", "other group"];
    let of_all = || vec!["PREA", "REFRESH"];
    let others = vec!["ACT", "READ", "WRITE", "PRE", "PREA"];
    Cross {
        name: PAIRS,
        axes: vec![
            Axis::new("bus", BUSES),
            Axis::new("banks", BANKS),
            Axis::new("first", kinds()),
            Axis::new("then", kinds()),
        ],
        excluded: vec![
            Exclusion { of: vec![vec![], elsewhere(), of_all(), vec![]], reason: all_banks },
            Exclusion { of: vec![vec![], elsewhere(), vec![], of_all()], reason: all_banks },
            Exclusion { of: vec![vec![], vec!["same bank"], vec!["PREA"], others], reason: ahead },
        ],
    }
}

/// Counts the command pairs of a legal stream that occur at their least distance.
pub(crate) fn observe(timing: &Timing, commands: &[Command]) {
    if !is_collecting() {
        return;
    }
    let least = MinDistances::new(timing);
    let bus = BUSES[usize::from(timing.bus == Bus::RowsApart)];
    for (at, then) in commands.iter().enumerate() {
        let before = commands[..at].iter().rev().take_while(|first| then.cycle - first.cycle <= least.longest);
        let beside = commands[at + 1..].iter().take_while(|other| other.cycle == then.cycle);
        for first in before.chain(beside) {
            let banks = banks(first, then);
            let [of_first, of_then] = [first, then].map(number);
            if then.cycle - first.cycle == least.cycles[banks][of_first][of_then] {
                hit(PAIRS, &[bus, BANKS[banks], KINDS[of_first].1, KINDS[of_then].1]);
            }
        }
    }
}

fn number(command: &Command) -> usize {
    KINDS.iter().position(|(kind, _)| *kind == command.kind).expect("controllers send no other kind")
}

fn banks(first: &Command, then: &Command) -> usize {
    match (first.bank, then.bank) {
        (Some(one), Some(other)) if one == other => 0,
        (Some(one), Some(other)) => 1 + usize::from(one.group != other.group),
        _ => 0,
    }
}

/// Least distances between two commands in cycles. The indices are the relation between the banks of the two
/// commands, the kind of the first command, and the kind of the second command.
type Cycles = [[[u64; KINDS.len()]; KINDS.len()]; BANKS.len()];

/// Least distances between the commands of a device in cycles, and the longest of these distances.
struct MinDistances {
    cycles: Cycles,
    longest: u64,
}

impl MinDistances {
    fn new(timing: &Timing) -> Self {
        let checker = Checker::new(*timing, false);
        let numbers = || 0..KINDS.len();
        let table = |of: &dyn Fn(usize, usize, usize) -> u64| -> Cycles {
            std::array::from_fn(|banks| std::array::from_fn(|first| std::array::from_fn(|then| of(banks, first, then))))
        };
        let alone = table(&|banks, first, then| apart(&checker, banks, first, then));
        let through = |first: usize, then: usize| {
            let direct = alone[0][first][then];
            let by = |between: usize| {
                let may = may_follow(first, between) && may_follow(between, then);
                may.then(|| direct.max(alone[0][first][between] + alone[0][between][then]))
            };
            if may_follow(first, then) { direct } else { numbers().filter_map(by).min().unwrap_or(u64::MAX) }
        };
        let cycles =
            table(&|banks, first, then| if banks == 0 { through(first, then) } else { alone[banks][first][then] });
        let longest = cycles.iter().flatten().flatten().copied().max().unwrap_or(0);
        Self { cycles, longest }
    }
}

/// True if the second command may follow the first on the same bank without another command in between. RD,
/// WR and PRE need an open bank, ACT and REF a closed bank. PREA may also follow PRE, since PREA closes all
/// banks and another bank may be open.
fn may_follow(first: usize, then: usize) -> bool {
    let [first, then] = [first, then].map(|number| KINDS[number].0);
    let leaves_open = matches!(first, Kind::Act | Kind::Rd | Kind::Wr);
    match then {
        Kind::Prea => leaves_open || first == Kind::Pre,
        Kind::Rd | Kind::Wr | Kind::Pre => leaves_open,
        _ => !leaves_open,
    }
}

/// Returns the least distance in cycles at which the checker reports no violation between two commands.
fn apart(checker: &Checker, banks: usize, first: usize, then: usize) -> u64 {
    let command = |cycle, number: usize, place| {
        let kind = KINDS[number].0;
        let bank = (!kind.is_channel_wide()).then_some(place);
        Command { cycle, kind, bank, row: bank.map(|_| 0), col: None }
    };
    let collide = |distance: &u64| {
        let pair = [command(0, first, PLACES[0]), command(*distance, then, PLACES[banks])];
        checker.check(&pair).iter().any(|violation| violation.earlier.is_some())
    };
    (0..).find(|distance| !collide(distance)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn least(bus: Bus, banks: usize, first: Kind, then: Kind) -> u64 {
        let timing = Timing { bus, ..Timing::REFERENCE };
        let number = |kind| KINDS.iter().position(|(known, _)| *known == kind).unwrap();
        MinDistances::new(&timing).cycles[banks][number(first)][number(then)]
    }

    /// Checks the least distances for the reference timing (khairy2015): tRC 40, tRP 12, tRAS 28, tRCDRD 12,
    /// tRTP 2, tRFC 61.
    #[test]
    fn least_distances_are_those_of_the_part_through_what_a_bank_must_do_in_between() {
        use Kind::{Act, Pre, Prea, Rd, Ref, Wr};
        let of_bank = [
            ((Act, Rd), 12),
            ((Rd, Pre), 2),
            ((Rd, Act), 2 + 12),
            ((Act, Act), 40),
            ((Pre, Rd), 12 + 12),
            ((Pre, Pre), 12 + 28),
            ((Wr, Ref), 4 + 2 + 12 + 12),
            ((Ref, Pre), 61 + 28),
            ((Ref, Ref), 61),
            ((Pre, Prea), 1),
            ((Ref, Prea), 61 + 28),
        ];
        for ((first, then), cycles) in of_bank {
            assert_eq!(least(Bus::Shared, 0, first, then), cycles, "{first:?}, {then:?}");
        }
        assert_eq!([1, 2].map(|banks| least(Bus::Shared, banks, Rd, Rd)), [3, 2]);
        assert_eq!([Bus::Shared, Bus::RowsApart].map(|bus| least(bus, 2, Rd, Act)), [1, 0]);
    }
}
