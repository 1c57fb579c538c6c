//! Command streams for tests, read from `data/` or written as one line of text.

use super::command::{BankId, Command, Kind, Op, Request, Service};

fn kind(name: &str) -> Kind {
    match name {
        "ACT" => Kind::Act,
        "RD" => Kind::Rd,
        "RDA" => Kind::Rda,
        "WR" => Kind::Wr,
        "WRA" => Kind::Wra,
        "PRE" => Kind::Pre,
        "PREA" => Kind::Prea,
        "REF" => Kind::Ref,
        other => panic!("command {other}"),
    }
}

/// Parses comma-separated DRAM commands of the form `cycle KIND group.bank row col`. Fields at the end may be
/// omitted.
pub fn stream(text: &str) -> Vec<Command> {
    let command = |text: &str| {
        let mut words = text.split_whitespace();
        let cycle = words.next().expect("a cycle").parse().expect("a number");
        let kind = kind(words.next().expect("a command"));
        let bank = words.next().map(|bank| {
            let (group, bank) = bank.split_once('.').expect("group.bank");
            BankId { group: group.parse().expect("a group"), bank: bank.parse().expect("a bank") }
        });
        let mut number = || words.next().map(|word| word.parse().expect("a number"));
        let (row, col) = (number(), number());
        Command { cycle, kind, bank, row, col }
    };
    text.split(',').map(command).collect()
}

/// Reads the CSV file `data/{name}.csv` and returns its records without the header line.
fn rows(name: &str) -> Vec<csv::StringRecord> {
    let path = format!("{}/dram/data/{name}.csv", env!("CARGO_MANIFEST_DIR"));
    let mut reader = csv::Reader::from_path(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    reader.records().collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Reads the reference stream `name` of DRAM commands.
pub fn commands(name: &str) -> Vec<Command> {
    let command = |record: csv::StringRecord| {
        let number = |field: usize| record[field].parse::<u32>().ok();
        let kind = kind(&record[1]);
        Command {
            cycle: record[0].parse().expect("a cycle"),
            kind,
            bank: number(2).zip(number(3)).map(|(group, bank)| BankId { group, bank }),
            row: number(4),
            col: number(5),
        }
    };
    rows(&format!("{name}.commands")).into_iter().map(command).collect()
}

/// Reads the memory requests that produced the reference command stream `name`.
pub fn requests(name: &str) -> Vec<Request> {
    let request = |record: csv::StringRecord| Request {
        number: record[0].parse().expect("a number"),
        op: if &record[1] == "R" { Op::Read } else { Op::Write },
        address: u64::from_str_radix(&record[2][2..], 16).expect("an address"),
        accept: record[4].parse().expect("a cycle"),
        complete: record[5].parse().ok(),
        service: Service::Column,
    };
    rows(&format!("{name}.requests")).into_iter().map(request).collect()
}
