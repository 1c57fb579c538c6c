//! Advice on numbers with a unit such as `16KB`, which no configuration field accepts.

/// Splits a text such as `16KB` or `1.4 GHz` into the number and the unit.
pub(super) fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')?;
    let (number, unit) = (&text[..end], text[end..].trim_start());
    let is_unit = !unit.is_empty() && unit.chars().all(|c| c.is_ascii_alphabetic());
    (is_unit && number.starts_with(|c: char| c.is_ascii_digit())).then_some((number, unit))
}

/// Suggests how to write a number with a unit as the value of the integer field `path`.
pub(super) fn meant(path: &str, given: &str) -> Option<String> {
    let (number, unit) = split(given)?;
    let number: f64 = number.replace('_', "").parse().ok()?;
    let field = path.rsplit('.').next().unwrap_or(path);
    let scale = scale(unit);
    let whole = |value: f64| ((0.0..1e15).contains(&value) && value.fract() == 0.0).then_some(value as u64);
    let is_bytes = field.ends_with("bytes") && !unit.ends_with("Hz");
    Some(match scale {
        Some(scale) if is_bytes => match whole(number * scale) {
            Some(bytes) => format!("it is in bytes, without a unit: {path}={bytes}"),
            None => "it is a whole number of bytes, without a unit".to_owned(),
        },
        Some(scale) if field.ends_with("khz") && unit.ends_with("Hz") => match whole(number * scale / 1e3) {
            Some(khz) => format!("it is in kHz, without a unit: {path}={khz}"),
            None => "it is a whole number of kHz, without a unit".to_owned(),
        },
        Some(_) if field == "sets" || field == "ways" => {
            "it is a count, not a size: a cache holds sets times ways times line_bytes bytes".to_owned()
        }
        _ => "it is a count, without a unit".to_owned(),
    })
}

/// Returns the factor by which a unit multiplies a number: a power of 1,024 for sizes, and a power of 1,000
/// for frequencies.
fn scale(unit: &str) -> Option<f64> {
    let (prefix, base) = match unit.strip_suffix("Hz") {
        Some(prefix) => (prefix, 1e3),
        None => (unit.strip_suffix(['B', 'b']).unwrap_or(unit).trim_end_matches('i'), 1024.0),
    };
    let power = match prefix {
        "" => 0,
        "k" | "K" => 1,
        "m" | "M" => 2,
        "g" | "G" => 3,
        _ => return None,
    };
    Some(f64::powi(base, power))
}
