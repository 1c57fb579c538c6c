//! # Look: display format of values
//! States and kinds are displayed by name, single bits as levels, addresses and data in hexadecimal, and
//! other values as numbers. A set has one bit per member: a short set is displayed in binary, and a long one
//! in hexadecimal. If its size matters more than its members, it is displayed as the number of members. The
//! format follows from the words of a signal's name, since a plain number carries no type.

use rtl::kernel::Field;
use waves::signal::Display;

/// Words in the names of addresses and raw data.
const RAW: &[&str] = &["addr", "address", "line", "data", "tag", "pc", "ticket", "word"];
/// Last words in the names of sets, which have one bit per member.
const SETS: &[&str] = &[
    "mask", "lanes", "fails", "hazard", "memory", "live", "storing", "busy", "open", "banks", "hits", "occupied",
    "writes", "blocked", "finished", "usable", "valid", "warps", "sharers", "got",
];
/// Last words in the names of sets that are displayed as their number of members.
const COUNTED: &[&str] = &["used", "ready", "closed", "done", "waiting", "left"];
/// Pipe names, each of which also names a set of warps.
const PIPES: &[&str] = &["sp", "sfu", "dp", "int", "tensor", "global", "shared", "param", "control", "barrier"];
/// Maximum width of a set displayed in binary, in bits.
const SHORT_SET: u32 = 16;

/// Returns the display format of a field.
pub(super) fn look(field: &Field) -> Display {
    let is_raw = field.name.split('_').any(|word| RAW.contains(&word));
    let ends_in = |words: &[&str]| field.name.split('_').next_back().is_some_and(|word| words.contains(&word));
    let is_counted = ends_in(COUNTED);
    let is_set = is_counted || ends_in(SETS) || PIPES.contains(&field.name);
    match field.width {
        _ if !field.names.is_empty() => Display::Enum(field.names),
        1 => Display::Bit,
        width if width <= SHORT_SET && is_set => Display::Binary,
        _ if is_counted => Display::MemberCount,
        _ if is_raw || is_set => Display::Hex,
        _ => Display::Unsigned,
    }
}

/// Formats the value of a field.
pub(super) fn text(field: &Field) -> String {
    let value = field.value;
    match look(field) {
        Display::Enum(names) => match usize::try_from(value).ok().and_then(|code| names.get(code)) {
            Some(name) => (*name).to_owned(),
            None => format!("{value} (no such state)"),
        },
        Display::Hex | Display::MemberCount => format!("{value:#x}"),
        Display::Binary => format!("{value:#0width$b}", width = field.width as usize + 2),
        Display::Bit | Display::Unsigned | Display::Count => value.to_string(),
    }
}

/// Formats bytes, least significant first, as one hexadecimal number.
pub(super) fn bytes_text(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect();
    let significant = digits.trim_start_matches('0');
    format!("0x{}", if significant.is_empty() { "0" } else { significant })
}
