//! Reader of the header of a kernel's trace.
//!
//! The header consists of lines `-key = value`, up to the first line that begins with `#`. Keys may be in any
//! order. Unknown keys, missing keys and impossible values only cause warnings, as long as the shapes of grid
//! and CTA are known. For example, published traces contain register counts in the thousands and architecture
//! 0.

use isa::recorded::header::{Header, USUAL_VERSION};

use super::error::{Fault, TraceError, quote};
use super::fields::{self, Word};
use super::lines::Lines;

/// Latest tracer version that the reader supports.
const LATEST_VERSION: u32 = 6;
/// Maximum number of threads per CTA in CUDA.
const MAX_THREADS: u64 = 1024;
/// Maximum number of registers per thread.
const MAX_REGISTERS: u32 = 255;

/// Reads the header, up to the first line that begins with `#`. That line is then the current line of
/// `lines`.
pub(super) fn read(lines: &mut Lines) -> Result<Header, TraceError> {
    let mut header = Header::default();
    let mut seen = Vec::new();
    loop {
        if !lines.advance()? {
            let expected = "the file ends, expected `-key = value` or `#traces format`";
            return Err(lines.refuse(expected.to_owned()));
        }
        let line = lines.line().trim_ascii_start();
        if line.starts_with(b"#") {
            break;
        }
        let Some(line) = line.strip_prefix(b"-") else {
            let shown = quote(line.trim_ascii_end());
            let message = format!("found {shown}, expected `-key = value` or `#traces format`");
            return Err(lines.refuse(message));
        };
        let Some((key, value)) = fields::key_value(line) else {
            let message = format!("the header line {} has no `=`: ignored", quote(line.trim_ascii_end()));
            lines.warn(message);
            continue;
        };
        // The position of the value was counted in the text after the dash. It is converted to a position in
        // the line, because errors need that position.
        let offset = lines.line().len() - line.len();
        let value = Word { text: value.text, start: value.start + offset };
        match set(&mut header, key, value) {
            Ok(Some(known)) => seen.push(known),
            Ok(None) => {
                let message = format!("unknown key {}: ignored", quote(key));
                lines.warn(message);
            }
            Err(HeaderProblem::Fatal(fault)) => return Err(lines.fault(fault)),
            Err(HeaderProblem::Ignored(message)) => lines.warn(message),
        }
    }
    check(&header, &seen, lines)?;
    Ok(header)
}

/// Sets the field of the header that belongs to `key`. Returns the key, or `Ok(None)` if it is unknown.
fn set(header: &mut Header, key: &[u8], value: Word<'_>) -> Result<Option<&'static str>, HeaderProblem> {
    let text = || String::from_utf8_lossy(value.text).into_owned();
    let odd = |what: &str| {
        let key = String::from_utf8_lossy(key).into_owned();
        HeaderProblem::Ignored(format!("{key} is {}, expected {what}: ignored", quote(value.text)))
    };
    let decimal = || fields::decimal(value.text).ok_or_else(|| odd("a decimal number"));
    let small = || u32::try_from(decimal()?).map_err(|_| odd("a number below 2^32"));
    let address = || fields::hexadecimal(value.text).ok_or_else(|| odd("a hexadecimal address"));
    let shape = || {
        let triple = fields::triple(value.text);
        let shape = triple.filter(|numbers| numbers.iter().all(|&n| n > 0));
        shape.ok_or_else(|| HeaderProblem::Fatal(value.refuse("a shape such as (4,1,1), each number 1 or more")))
    };
    let known = match key {
        b"kernel name" => {
            header.name = text();
            "kernel name"
        }
        b"kernel id" => {
            header.id = decimal()?;
            "kernel id"
        }
        b"grid dim" => {
            header.grid = shape()?;
            "grid dim"
        }
        b"block dim" => {
            header.block = shape()?;
            if header.num_threads() > MAX_THREADS {
                let message = format!("block dim is {}: a CTA has at most {MAX_THREADS} threads", text());
                return Err(HeaderProblem::Fatal(Fault::new(value.span(), "too large", message)));
            }
            "block dim"
        }
        b"shmem" => {
            header.shared_bytes = decimal()?;
            "shmem"
        }
        b"nregs" => {
            header.registers = small()?;
            "nregs"
        }
        b"binary version" => {
            header.binary_version = small()?;
            "binary version"
        }
        b"cuda stream id" => {
            header.stream = decimal()?;
            "cuda stream id"
        }
        b"shmem base_addr" => {
            header.shared_base = address()?;
            "shmem base_addr"
        }
        b"local mem base_addr" => {
            header.local_base = address()?;
            "local mem base_addr"
        }
        b"nvbit version" => {
            header.nvbit_version = text();
            "nvbit version"
        }
        b"accelsim tracer version" => {
            header.tracer_version = small()?;
            "accelsim tracer version"
        }
        b"enable lineinfo" => {
            header.has_line_numbers = match value.text {
                b"0" => false,
                b"1" => true,
                _ => return Err(HeaderProblem::Fatal(value.refuse("0 or 1"))),
            };
            "enable lineinfo"
        }
        _ => return Ok(None),
    };
    Ok(Some(known))
}

/// Checks that the header is complete, and warns of unusual values.
fn check(header: &Header, seen: &[&str], lines: &mut Lines) -> Result<(), TraceError> {
    for needed in ["grid dim", "block dim"] {
        if !seen.contains(&needed) {
            return Err(lines.refuse(format!("the header ends without `-{needed} = (x,y,z)`")));
        }
    }
    for (at, key) in seen.iter().enumerate() {
        if seen[..at].contains(key) {
            lines.warn(format!("`{key}` appears twice in the header: the last value is used"));
        }
    }
    if header.registers > MAX_REGISTERS {
        lines.warn(format!("nregs is {}, but a thread has at most {MAX_REGISTERS}", header.registers));
    }
    if header.architecture().is_none() {
        let version = header.binary_version;
        lines.warn(format!("binary version {version} is unknown: opcodes of all architectures are accepted"));
    }
    if header.tracer_version > LATEST_VERSION {
        let version = header.tracer_version;
        lines.warn(format!("the tracer version is {version}: read as {LATEST_VERSION}, the latest known version"));
    }
    if !seen.contains(&"accelsim tracer version") {
        lines.warn(format!("the header has no `accelsim tracer version`: read as {USUAL_VERSION}"));
    }
    Ok(())
}

/// Problem with a value in the header: either a fatal error, or a warning that the value is ignored.
enum HeaderProblem {
    Fatal(Fault),
    Ignored(String),
}
