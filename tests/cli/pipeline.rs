//! Reads the log of warp instructions as the pipeline viewer Konata does. The format is Kanata version 4,
//! which Konata describes in `docs/kanata-log-format.md` of <https://github.com/shioyadan/Konata>. The fields
//! of a row are separated by tabs:
//!
//! ```text
//! log      = "Kanata" "0004", start, { row }
//! start    = "C=" cycle             the cycle at which the log begins, once
//! row      = "C" cycles             this number of cycles passes, at least one
//!          | "I" id id thread       an instruction begins; ids are 0, 1, 2, ... in the file
//!          | "L" id kind text       label at the left (0) or at the mouse pointer (1); several are joined
//!          | "S" id lane stage      a stage begins
//!          | "E" id lane stage      a stage ends
//!          | "R" id number end      the instruction retires (0), numbered in that order, or is flushed (1)
//! ```
//!
//! Numbers are decimal, without signs and leading zeros. Names of stages consist of letters and digits. All
//! rows of an instruction are between its `I` row and its `R` row. Every stage and every instruction that
//! begins must also end.

use std::collections::HashMap;
use std::fs;

use super::warpsieve;

const SMALL: &str = "kernels/syrk/small";
/// Launch file of a kernel with loops, divergent branches, barriers and shared memory.
const SHARED: &str = "kernels/reduction/small";

/// Names of the pipeline stages, in the order in which an instruction passes them.
const ORDER: [&str; 8] = ["F", "D", "B", "I", "O", "X", "M", "W"];

/// Warp instruction, as read from the log.
#[derive(Debug, Default)]
struct Line {
    thread: u64,
    label: String,
    /// Pipeline stages that the instruction passed, each as its name, its first cycle and the cycle of its
    /// end.
    stages: Vec<(String, u64, Option<u64>)>,
    /// Cycle in which the instruction ended, and a flag that is true if it was flushed.
    end: Option<(u64, bool)>,
}

impl Line {
    fn begin_of(&self, stage: &str) -> Option<u64> {
        self.stages.iter().find(|(name, ..)| name == stage).map(|&(_, begin, _)| begin)
    }

    fn is_flushed(&self) -> bool {
        self.end.is_some_and(|(_, flushed)| flushed)
    }
}

/// Kind of content that a field of a log row may have.
#[derive(Clone, Copy)]
enum Cell {
    Number,
    OneOf(&'static [&'static str]),
    Stage,
    Text,
}

impl Cell {
    fn allows(self, text: &str) -> bool {
        match self {
            Cell::Number => text.parse::<u64>().is_ok_and(|number| number.to_string() == text),
            Cell::OneOf(words) => words.contains(&text),
            Cell::Stage => !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric()),
            Cell::Text => !text.is_empty() && !text.contains(char::is_control),
        }
    }
}

/// Each command of the log format, with the kinds of the fields that follow its name in a row.
const GRAMMAR: [(&str, &[Cell]); 7] = [
    ("C=", &[Cell::Number]),
    ("C", &[Cell::Number]),
    ("I", &[Cell::Number, Cell::Number, Cell::Number]),
    ("L", &[Cell::Number, Cell::OneOf(&["0", "1"]), Cell::Text]),
    ("S", &[Cell::Number, Cell::OneOf(&["0"]), Cell::Stage]),
    ("E", &[Cell::Number, Cell::OneOf(&["0"]), Cell::Stage]),
    ("R", &[Cell::Number, Cell::Number, Cell::OneOf(&["0", "1"])]),
];

/// Splits a row into its fields. Returns `None` if the format does not allow the row.
fn cells_of(row: &str) -> Option<Vec<&str>> {
    let cells: Vec<&str> = row.split('\t').collect();
    let (_, expected) = GRAMMAR.iter().find(|(name, _)| *name == cells[0])?;
    let fits =
        expected.len() == cells.len() - 1 && expected.iter().zip(&cells[1..]).all(|(cell, text)| cell.allows(text));
    fits.then_some(cells)
}

/// Parses a log, and panics on everything that the format does not allow.
fn parse(text: &str) -> Vec<Line> {
    let text = text.strip_suffix('\n').expect("the last row ends");
    let mut rows = text.split('\n').peekable();
    assert_eq!(rows.next(), Some("Kanata\t0004"));
    assert!(rows.peek().is_some_and(|row| row.starts_with("C=\t")), "the cycle of the start comes first");
    let (mut now, mut retired) = (None, 0);
    let mut lines: Vec<Line> = Vec::new();
    for row in rows {
        let cells = cells_of(row).unwrap_or_else(|| panic!("no row of the format: {row:?}"));
        let number = |at: usize| cells[at].parse::<u64>().unwrap_or_else(|_| panic!("{row}"));
        match cells[0] {
            "C=" => assert_eq!(now.replace(number(1)), None, "the start is given once"),
            "C" => {
                assert!(number(1) > 0, "no time passes");
                *now.as_mut().unwrap() += number(1);
            }
            "I" => {
                assert_eq!((number(1), number(2)), (lines.len() as u64, lines.len() as u64), "{row}");
                lines.push(Line { thread: number(3), ..Line::default() });
            }
            kind => {
                let now = now.unwrap();
                let line = &mut lines[number(1) as usize];
                assert_eq!(line.end, None, "{row}: after its end");
                match kind {
                    "L" => line.label += cells[3],
                    "S" => {
                        assert!(line.stages.last().is_none_or(|(.., end)| end.is_some()), "{row}: two stages at once");
                        line.stages.push((cells[3].to_owned(), now, None));
                    }
                    "E" => {
                        let (name, begin, end) = line.stages.last_mut().unwrap();
                        assert!(name == cells[3] && *begin < now && end.replace(now).is_none(), "{row} in {now}");
                    }
                    "R" => {
                        let flushed = number(3) == 1;
                        assert!(flushed || number(2) == retired, "{row}: expected {retired}");
                        retired += u64::from(!flushed);
                        line.end = Some((now, flushed));
                    }
                    _ => panic!("{row}"),
                }
            }
        }
    }
    lines
}

/// Runs a kernel. Returns its log, and the number of warp instructions that it executed.
fn log_of(kernel: &str) -> (Vec<Line>, u64) {
    let folder = tempfile::tempdir().unwrap();
    let [log, stats] = ["a.kanata", "s.json"].map(|name| folder.path().join(name));
    let [log_path, stats_path] = [&log, &stats].map(|path| path.display().to_string());
    let ended = warpsieve(&["run", kernel, "--quiet", "--pipeline", &log_path, "--stats", &stats_path]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let stats: serde_json::Value = serde_json::from_str(&fs::read_to_string(&stats).unwrap()).unwrap();
    (parse(&fs::read_to_string(&log).unwrap()), stats["warp_instructions"].as_u64().unwrap())
}

#[test]
fn rows_that_the_format_has_not_are_told_from_those_that_it_has() {
    for row in ["C=\t0", "C\t12", "I\t0\t0\t65", "L\t0\t0\tsm1 w1", "S\t0\t0\tF", "E\t0\t0\tF", "R\t0\t0\t1"] {
        assert!(cells_of(row).is_some(), "{row}");
    }
    for row in
        ["", "C", "C\t-1", "C\t01", "C 1", "X\t1", "I\t0\t0", "L\t0\t3\ta", "L\t0\t0\t", "S\t0\t0\tA B", "R\t0\t0\t2"]
    {
        assert!(cells_of(row).is_none(), "{row}");
    }
    assert_eq!(cells_of("S\t0\t0\tF\t"), None, "one cell more");
}

#[test]
fn every_warp_instruction_that_was_issued_retires_once() {
    for kernel in [SMALL, SHARED] {
        let (lines, instructions) = log_of(kernel);
        assert!(lines.iter().all(|line| line.end.is_some()), "{kernel}: a line without an end");
        let retired = lines.iter().filter(|line| !line.is_flushed()).count() as u64;
        assert_eq!(retired, instructions, "{kernel}");
    }
}

#[test]
fn every_line_goes_through_its_stages_in_order_and_without_a_gap() {
    let (lines, _) = log_of(SHARED);
    for line in &lines {
        let places = line.stages.iter().map(|(name, ..)| ORDER.iter().position(|stage| stage == name).unwrap());
        assert!(places.is_sorted_by(|a, b| a < b), "{line:?}");
        let ends = line.stages.iter().map(|&(.., end)| end);
        let begins = line.stages[1..].iter().map(|&(_, begin, _)| begin).chain(line.end.map(|(end, _)| end));
        assert!(ends.eq(begins.map(Some)), "{line:?}");
        assert_eq!(line.begin_of("I").is_none(), line.is_flushed(), "{line:?}");
    }
}

#[test]
fn a_warp_issues_in_the_order_of_fetch_and_never_twice_in_a_cycle() {
    let (lines, _) = log_of(SHARED);
    let mut last: HashMap<u64, u64> = HashMap::new();
    for line in lines.iter().filter(|line| !line.is_flushed()) {
        let issued = line.begin_of("I").unwrap();
        assert!(issued >= line.begin_of("F").unwrap() + 2, "{line:?}: fetch, decode, issue");
        let before = last.insert(line.thread, issued);
        assert!(before.is_none_or(|before| before < issued), "{line:?} after {before:?}");
    }
}

#[test]
fn results_take_the_latency_of_their_pipe_and_loads_that_of_memory() {
    let (lines, _) = log_of(SMALL);
    let mut loads = 0;
    for line in &lines {
        let (issued, written) = (line.begin_of("I"), line.begin_of("W"));
        if let (Some(issued), Some(written)) = (issued, written) {
            // An addition takes at least five cycles from issue to writeback: one to read operands, and four
            // to add.
            assert!(written >= issued + 5, "{line:?}");
            assert!(line.label.contains(": pc ") && line.label.contains(", line "), "{line:?}");
        }
        if let (Some(left), Some(written)) = (line.begin_of("M"), written) {
            loads += 1;
            assert!(line.label.contains(", mem, "), "{line:?}");
            assert!(written - left >= 20, "{line:?}");
        }
    }
    assert!(loads > 100, "{loads} loads");
}

#[test]
fn a_branch_that_is_taken_flushes_its_successor() {
    let (lines, _) = log_of(SMALL);
    assert!(lines.iter().any(Line::is_flushed));
}
