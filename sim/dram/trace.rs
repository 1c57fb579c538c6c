//! # Traces of DRAM requests
//! A trace is a CSV file with a header line and one request per line. Its columns are the first cycle in
//! which the request may be sent, `R` or `W`, and a byte address. The columns row, bank, bank group and
//! column may follow. They describe the address mapping of the program that wrote the trace. They are
//! ignored, since the machine has its own mapping.

use std::path::{Path, PathBuf};

use input::noun;
use thiserror::Error;

use crate::content::Content;

/// Required columns of a DRAM trace.
const NEEDED: [&str; 3] = ["cycle", "op", "addr"];
/// Optional columns of a DRAM trace, whose values are ignored.
const REMARKS: [&str; 4] = ["row", "bank", "bankgroup", "col"];
/// Latest cycle that a DRAM trace may state, in cycles of the command clock. It corresponds to weeks of
/// simulated time.
const LAST_CYCLE: u64 = 1_000_000_000_000_000;

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRequest {
    /// First cycle of the command clock in which the request may be sent.
    pub cycle: u64,
    /// True for a write request, false for a read request.
    pub write: bool,
    /// Byte address in the memory, which is interleaved over all channels.
    pub address: u64,
}

/// Reason why a trace cannot be read.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The file could not be read.
    #[error("{}: cannot read the trace: {reason}", path.display())]
    Unreadable {
        /// Path of the trace.
        path: PathBuf,
        /// Error reported by the operating system.
        reason: std::io::Error,
    },
    /// A line is not a valid request.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Invalid {
        /// Path of the trace.
        path: PathBuf,
        /// Line number, counted from 1.
        line: usize,
        /// Column in the line, in characters, counted from 1.
        column: usize,
        /// Message that states the field, its value, the legal values and the reason.
        message: String,
    },
}

/// Reads a DRAM trace for a machine with `memory_bytes` bytes of memory.
///
/// # Errors
/// Fails if the file cannot be read or if a line is not a valid request. The error names the first invalid
/// line.
pub fn read(path: &Path, memory_bytes: u64) -> Result<Vec<TraceRequest>, TraceError> {
    let text =
        Content::DramTrace.read(path).map_err(|reason| TraceError::Unreadable { path: path.to_owned(), reason })?;
    read_text(path, &text, memory_bytes)
}

/// Parses `text` as a DRAM trace, the contents of the file `path`.
///
/// # Errors
/// Fails if a line is not a valid request. The error names the first invalid line.
pub fn read_text(path: &Path, text: &str, memory_bytes: u64) -> Result<Vec<TraceRequest>, TraceError> {
    parse(text, memory_bytes).map_err(|TraceMistake { line, column, message }| TraceError::Invalid {
        path: path.to_owned(),
        line,
        column,
        message,
    })
}

/// Error in a DRAM trace, with its line and column.
#[derive(Debug, PartialEq, Eq)]
struct TraceMistake {
    line: usize,
    column: usize,
    message: String,
}

/// Value between two commas of a CSV line, with the column at which the value starts, in characters.
type Cell<'a> = (usize, &'a str);

fn cells(line: &str) -> impl Iterator<Item = Cell<'_>> {
    let mut column = 1;
    line.split(',').map(move |text| {
        let start = column + text.chars().take_while(|c| c.is_whitespace()).count();
        column += text.chars().count() + 1;
        (start, text.trim())
    })
}

fn parse(text: &str, memory_bytes: u64) -> Result<Vec<TraceRequest>, TraceMistake> {
    let mut lines = (1..).zip(text.lines());
    let heading = lines.next().map_or("", |(_, line)| line);
    let columns = heading_columns(heading).map_err(|(column, message)| TraceMistake { line: 1, column, message })?;
    let filled = lines.filter(|(_, line)| !line.trim().is_empty());
    let request = |(line, text)| {
        request(text, columns, memory_bytes).map_err(|(column, message)| TraceMistake { line, column, message })
    };
    filled.map(request).collect()
}

/// Returns the number of columns that the header line of a DRAM trace declares.
fn heading_columns(heading: &str) -> Result<usize, (usize, String)> {
    let legal: Vec<&str> = NEEDED.into_iter().chain(REMARKS).collect();
    let expected = || format!("expected the heading `{}`, or its first three columns", legal.join(","));
    let mut count = 0;
    for (column, name) in cells(heading) {
        if legal.get(count) != Some(&name) {
            return Err((column, format!("the heading has {name:?} as column {}, {}", count + 1, expected())));
        }
        count += 1;
    }
    let is_whole = [NEEDED.len(), legal.len()].contains(&count);
    let end = heading.chars().count() + 1;
    if is_whole {
        return Ok(count);
    }
    let columns = noun(count, "column", "columns");
    Err((end, format!("the heading has {count} {columns}, {}", expected())))
}

fn request(line: &str, columns: usize, memory_bytes: u64) -> Result<TraceRequest, (usize, String)> {
    let end = line.chars().count() + 1;
    let given = line.split(',').count();
    if given != columns {
        let fields = noun(given, "field", "fields");
        return Err((end, format!("the line has {given} {fields}, expected {columns} as the heading has")));
    }
    let mut cells = cells(line);
    let mut next = || cells.next().unwrap_or((end, ""));
    let (at, text) = next();
    let cycle = text.parse().ok().filter(|&cycle| cycle <= LAST_CYCLE);
    let cycle = cycle.ok_or_else(|| (at, format!("`cycle` is {text:?}, expected 0 to {LAST_CYCLE}")))?;
    let (at, text) = next();
    let write = match text {
        "R" => false,
        "W" => true,
        _ => return Err((at, format!("`op` is {text:?}, expected R or W"))),
    };
    let (at, text) = next();
    let address = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let address = address.filter(|&address| address < memory_bytes).ok_or_else(|| {
        let last = memory_bytes - 1;
        (at, format!("`addr` is {text:?}, expected 0x0 to {last:#x}: that is all the memory behind the channels"))
    })?;
    Ok(TraceRequest { cycle, write, address })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> (usize, usize, String) {
        let TraceMistake { line, column, message } = parse(text, 0x1000_0000).unwrap_err();
        (line, column, message)
    }

    #[test]
    fn cycle_direction_and_address_are_read_and_the_remarks_are_not() {
        let text = "cycle,op,addr,row,bank,bankgroup,col\n0,R,0x00000040,0,0,0,1\n\n7,W,128,x,,,\n";
        let read = TraceRequest { cycle: 0, write: false, address: 64 };
        let write = TraceRequest { cycle: 7, write: true, address: 128 };
        assert_eq!(parse(text, 0x1000_0000), Ok(vec![read, write]));
    }

    #[test]
    fn three_columns_are_enough_and_lines_may_end_as_on_windows() {
        let requests = parse("cycle,op,addr\r\n5,W,0x40\r\n", 0x1000_0000);
        assert_eq!(requests, Ok(vec![TraceRequest { cycle: 5, write: true, address: 64 }]));
    }

    #[test]
    fn a_wrong_field_is_named_with_line_column_value_and_what_is_legal() {
        let head = "cycle,op,addr\n0,R,0x0\n";
        let cases = [
            ("x,R,0x0", 1, "`cycle` is \"x\", expected 0 to 1000000000000000"),
            ("-1,R,0x0", 1, "`cycle` is \"-1\", expected 0 to 1000000000000000"),
            ("12,r,0x0", 4, "`op` is \"r\", expected R or W"),
            (
                "12, R, 0x10000000",
                8,
                "`addr` is \"0x10000000\", expected 0x0 to 0xfffffff: that is all the memory behind the channels",
            ),
            ("1,R", 4, "the line has 2 fields, expected 3 as the heading has"),
        ];
        for (line, column, message) in cases {
            assert_eq!(wrong(&format!("{head}{line}\n")), (3, column, message.to_owned()));
        }
    }

    #[test]
    fn another_heading_is_refused_at_its_first_wrong_column() {
        let expected = "expected the heading `cycle,op,addr,row,bank,bankgroup,col`, or its first three columns";
        assert_eq!(wrong(""), (1, 1, format!("the heading has \"\" as column 1, {expected}")));
        let other = "idx,op,addr,arrival,accept,complete\n";
        assert_eq!(wrong(other), (1, 1, format!("the heading has \"idx\" as column 1, {expected}")));
        assert_eq!(wrong("cycle,op,addr,row\n"), (1, 18, format!("the heading has 4 columns, {expected}")));
    }
}
