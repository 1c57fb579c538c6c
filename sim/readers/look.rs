//! # Look: how a value is shown
//! States and kinds by name, single bits as levels, addresses and data in hexadecimal, sets with
//! one bit for each member in binary while they are short and by the number of members beyond,
//! everything else as a number. A number does not know which it is, so its name decides, word by
//! word.

use rtl::kernel::Field;
use waves::signal::Display;

/// Words of names whose values are addresses or raw bits.
const RAW: &[&str] = &["addr", "address", "line", "data", "tag", "pc", "ticket", "word"];
/// Last words of names whose values are sets, one bit for each member.
const SETS: &[&str] = &["mask", "lanes", "used", "ready", "closed", "done", "waiting", "left", "fails"];
/// Widest set whose bits can be told apart at a glance.
const SHORT_SET: u32 = 16;

/// How a field is shown.
pub(super) fn look(field: &Field) -> Display {
    let is_raw = field.name.split('_').any(|word| RAW.contains(&word));
    let is_set = field.name.split('_').next_back().is_some_and(|word| SETS.contains(&word));
    match field.width {
        _ if !field.names.is_empty() => Display::Enum(field.names),
        1 => Display::Bit,
        width if width <= SHORT_SET && is_set => Display::Binary,
        _ if is_set => Display::Members,
        _ if is_raw => Display::Hex,
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
        Display::Bit | Display::Unsigned => value.to_string(),
    }
}

/// Bytes as one hexadecimal number, least significant byte first.
pub(super) fn bytes_text(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect();
    let significant = digits.trim_start_matches('0');
    format!("0x{}", if significant.is_empty() { "0" } else { significant })
}
