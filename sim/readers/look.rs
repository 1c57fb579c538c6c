//! # Look: how a value is shown
//! States and kinds by name, single bits as levels, addresses and data in hexadecimal, everything else
//! as a number. A set with one bit for each member is shown in binary while it is short; a longer one
//! in hexadecimal or, where it matters how many there are rather than which, by the number of its
//! members. A number does not know what it is, so its name decides, word by word.

use rtl::kernel::Field;
use waves::signal::Display;

/// Words of names whose values are addresses or raw bits.
const RAW: &[&str] = &["addr", "address", "line", "data", "tag", "pc", "ticket", "word"];
/// Last words of names whose values are sets, one bit for each member.
const SETS: &[&str] = &[
    "mask", "lanes", "fails", "hazard", "memory", "live", "storing", "busy", "open", "banks", "hits", "occupied",
    "writes", "blocked", "finished", "usable", "valid", "warps", "sharers", "got",
];
/// The same, where the number of members is what one wants to know.
const COUNTED: &[&str] = &["used", "ready", "closed", "done", "waiting", "left"];
/// Pipes, by which sets of warps are named.
const PIPES: &[&str] = &["sp", "sfu", "dp", "int", "tensor", "global", "shared", "param", "control", "barrier"];
/// Widest set whose bits can be told apart at a glance.
const SHORT_SET: u32 = 16;

/// How a field is shown.
pub(super) fn look(field: &Field) -> Display {
    let is_raw = field.name.split('_').any(|word| RAW.contains(&word));
    let ends_in = |words: &[&str]| field.name.split('_').next_back().is_some_and(|word| words.contains(&word));
    let is_counted = ends_in(COUNTED);
    let is_set = is_counted || ends_in(SETS) || PIPES.contains(&field.name);
    match field.width {
        _ if !field.names.is_empty() => Display::Enum(field.names),
        1 => Display::Bit,
        width if width <= SHORT_SET && is_set => Display::Binary,
        _ if is_counted => Display::Members,
        _ if is_raw || is_set => Display::Hex,
        _ => Display::Unsigned,
    }
}

/// The value as text.
pub(super) fn text(field: &Field) -> String {
    let value = field.value;
    match look(field) {
        Display::Enum(names) => match usize::try_from(value).ok().and_then(|code| names.get(code)) {
            Some(name) => (*name).to_owned(),
            None => format!("{value} (no such state)"),
        },
        Display::Hex | Display::Members => format!("{value:#x}"),
        Display::Binary => format!("{value:#0width$b}", width = field.width as usize + 2),
        Display::Bit | Display::Unsigned | Display::Count => value.to_string(),
    }
}

/// Bytes as one hexadecimal number, least significant byte first.
pub(super) fn bytes_text(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect();
    let significant = digits.trim_start_matches('0');
    format!("0x{}", if significant.is_empty() { "0" } else { significant })
}
