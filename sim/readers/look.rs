//! # Look: display format of values
//! States and kinds are displayed by name, single bits as logic levels, addresses and data in hexadecimal,
//! and other values as decimal numbers. A bit mask is displayed in binary if it is short, and in hexadecimal
//! if it is long. Of some bit masks, only the number of set bits is displayed. The format is chosen by the
//! words in a signal's name, since a plain number carries no type.

use rtl::kernel::Field;
use waves::signal::Display;

/// Words in signal names that indicate an address or raw data.
const RAW: &[&str] = &["addr", "address", "line", "data", "tag", "pc", "ticket", "word"];
/// Last words of signal names that indicate a bit mask, such as a mask of lanes.
const SETS: &[&str] = &[
    "mask", "lanes", "fails", "hazard", "memory", "live", "storing", "busy", "open", "banks", "hits", "occupied",
    "writes", "blocked", "finished", "usable", "valid", "warps", "sharers", "got",
];
/// Last words of signal names that indicate a bit mask for which only the number of set bits is displayed.
const COUNTED: &[&str] = &["used", "ready", "closed", "done", "waiting", "left"];
/// Names of execution pipes. A signal with the name of a pipe is a bit mask of warps.
const PIPES: &[&str] = &["sp", "sfu", "dp", "int", "tensor", "global", "shared", "param", "control", "barrier"];
/// Maximum width in bits of a bit mask that is displayed in binary.
const SHORT_SET: u32 = 16;

/// Returns the display format of a field, chosen by its name and width.
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

/// Formats the value of a field for display.
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
