//! Expressions in launch files: strings such as `"= div_ceil(n, 256)"`, which are computed from the values of a
//! problem size.
//!
//! The simplest expression is a single name; its value may be of any type. The binary operators `+` and `-`
//! have the lowest precedence, followed by `*`, `/` and `%`; the unary `-` has the highest. An operation on
//! two integers gives an integer, which must fit in 64 bits. A division of two integers must have no
//! remainder, so that no value is rounded unnoticed. If an operand is a real number, the result is a real
//! number. If an operand of `+` is a text, the operands are concatenated as text.

use std::fmt::{self, Display, Formatter};

use toml::de::DeValue;

use super::model::Number;
use super::node::read_number;
use crate::config::suggestion;

/// Value in a launch file, from which expressions can compute other values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Number(Number),
    Text(String),
    Flag(bool),
    /// Array, whose elements are not arrays.
    List(Vec<Value>),
}

/// Functions of two numbers that an expression can call.
const FUNCTIONS: [&str; 6] = ["div_ceil", "div_floor", "max", "min", "next_multiple", "pow"];
/// Maximum nesting depth of parentheses, function calls and unary minus signs in an expression.
const MAX_DEPTH: u32 = 64;
/// Maximum length in bytes of a text that `+` concatenates.
const MAX_TEXT: usize = 4096;

/// Computes the value of the expression `text`, which starts after the `=`. `lookup` returns the value of a
/// name.
///
/// # Errors
/// Returns the reason if the expression is malformed, `lookup` fails, or an operation has no result.
pub(super) fn evaluate(text: &str, lookup: &mut dyn FnMut(&str) -> Result<Value, String>) -> Result<Value, String> {
    let mut parser = Parser { rest: text.trim_start(), depth: 0, lookup };
    let value = parser.sum()?;
    match parser.rest {
        "" => Ok(value),
        rest => Err(format!("expected an operator or the end, not `{rest}`")),
    }
}

/// Parser that computes the value of an expression while it reads the text.
struct Parser<'a, 'l> {
    /// Text that has not been read yet, without leading blanks.
    rest: &'a str,
    /// Number of parentheses, function calls and unary minus signs that enclose the current position.
    depth: u32,
    lookup: &'l mut dyn FnMut(&str) -> Result<Value, String>,
}

impl<'a> Parser<'a, '_> {
    /// Reads the next character if it equals `next`. In this case, returns true.
    fn take(&mut self, next: char) -> bool {
        let rest = self.rest.strip_prefix(next);
        self.rest = rest.unwrap_or(self.rest).trim_start();
        rest.is_some()
    }

    fn expect(&mut self, next: char) -> Result<(), String> {
        match self.take(next) {
            true => Ok(()),
            false if self.rest.is_empty() => Err(format!("expected `{next}` at the end")),
            false => Err(format!("expected `{next}` before `{}`", self.rest)),
        }
    }

    /// Reads characters as long as they satisfy `is_part`, and returns them. Also skips the blanks that
    /// follow.
    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|next| !is_part(next)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        taken
    }

    fn sum(&mut self) -> Result<Value, String> {
        let mut left = self.product()?;
        loop {
            if self.take('+') {
                let right = self.product()?;
                left = match (&left, &right) {
                    (Value::Text(_), _) | (_, Value::Text(_)) => join(&left, &right)?,
                    _ => combine("+", left, right, i128::checked_add, |a, b| a + b)?,
                };
            } else if self.take('-') {
                left = combine("-", left, self.product()?, i128::checked_sub, |a, b| a - b)?;
            } else {
                return Ok(left);
            }
        }
    }

    fn product(&mut self) -> Result<Value, String> {
        let mut left = self.factor()?;
        loop {
            if self.take('*') {
                left = combine("*", left, self.factor()?, i128::checked_mul, |a, b| a * b)?;
            } else if self.take('/') {
                left = divide(left, self.factor()?)?;
            } else if self.take('%') {
                left = combine("%", left, self.factor()?, i128::checked_rem_euclid, f64::rem_euclid)?;
            } else {
                return Ok(left);
            }
        }
    }

    fn factor(&mut self) -> Result<Value, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} parentheses within each other"));
        }
        let value = self.unlimited_factor();
        self.depth -= 1;
        value
    }

    fn unlimited_factor(&mut self) -> Result<Value, String> {
        if self.take('(') {
            let value = self.sum()?;
            self.expect(')')?;
            return Ok(value);
        }
        if self.take('-') {
            let zero = Value::Number(Number::Integer(0));
            return combine("-", zero, self.factor()?, i128::checked_sub, |_, b| -b);
        }
        if let Some(rest) = self.rest.strip_prefix('\'') {
            let (text, rest) = rest.split_once('\'').ok_or("expected `'` at the end of the text")?;
            self.rest = rest.trim_start();
            return Ok(Value::Text(text.to_owned()));
        }
        let Some(first) = self.rest.chars().next() else {
            return Err("expected a number, a name or a text at the end".to_owned());
        };
        if first.is_ascii_digit() {
            return self.number();
        }
        let name = self.take_while(|next| next.is_ascii_alphanumeric() || next == '_');
        if name.is_empty() {
            return Err(format!("expected a number, a name or a text, not `{}`", self.rest));
        }
        if self.take('(') {
            let first = self.sum()?;
            self.expect(',')?;
            let second = self.sum()?;
            self.expect(')')?;
            return call(name, first, second);
        }
        (self.lookup)(name)
    }

    /// Reads a number in TOML notation, without a sign.
    fn number(&mut self) -> Result<Value, String> {
        let start = self.rest;
        let is_radix = ["0x", "0o", "0b"].iter().any(|prefix| start.starts_with(prefix));
        let mut before = ' ';
        let end = start.find(|next: char| {
            let is_sign_of_exponent = matches!(next, '+' | '-') && matches!(before, 'e' | 'E') && !is_radix;
            before = next;
            !(next.is_ascii_alphanumeric() || matches!(next, '_' | '.') || is_sign_of_exponent)
        });
        let (text, rest) = start.split_at(end.unwrap_or(start.len()));
        self.rest = rest.trim_start();
        let number = DeValue::parse(text).ok().and_then(|value| read_number(value.get_ref()));
        let number = number.filter(|number| number.integer().is_none_or(fits));
        number.map(Value::Number).ok_or_else(|| format!("`{text}` is not a number of 64 bits"))
    }
}

/// True if an integer fits in 64 bits, either as a signed or as an unsigned number.
pub(super) fn fits(integer: i128) -> bool {
    i64::try_from(integer).is_ok() || u64::try_from(integer).is_ok()
}

/// Applies an operator to two numbers: the integer operation if both numbers are integers, otherwise the
/// operation on real numbers.
fn combine(
    name: &str,
    left: Value,
    right: Value,
    integers: impl Fn(i128, i128) -> Option<i128>,
    reals: impl Fn(f64, f64) -> f64,
) -> Result<Value, String> {
    let (Value::Number(a), Value::Number(b)) = (&left, &right) else {
        return Err(format!("`{name}` takes numbers, not {left} and {right}"));
    };
    let result = match (a, b) {
        (Number::Integer(a), Number::Integer(b)) => {
            integers(*a, *b).filter(|result| fits(*result)).map(Number::Integer)
        }
        _ => Some(reals(a.real(), b.real())).filter(|result| result.is_finite()).map(Number::Real),
    };
    let why = || format!("`{name}` of {left} and {right} is not a number of 64 bits");
    result.map(Value::Number).ok_or_else(why)
}

/// Divides two numbers. The quotient of two integers must be an integer.
fn divide(left: Value, right: Value) -> Result<Value, String> {
    if let (Value::Number(Number::Integer(a)), Value::Number(Number::Integer(b))) = (&left, &right)
        && *b != 0
        && a % b != 0
    {
        return Err(format!("{a} / {b} is not an integer; use `div_ceil({a}, {b})` or `div_floor({a}, {b})`"));
    }
    combine("/", left, right, i128::checked_div, |a, b| a / b)
}

/// Concatenates two values as text.
fn join(left: &Value, right: &Value) -> Result<Value, String> {
    if let Some(list) = [left, right].into_iter().find(|value| matches!(value, Value::List(_))) {
        return Err(format!("`+` cannot join {list} to a text"));
    }
    let plain = |value: &Value| match value {
        Value::Text(text) => text.clone(),
        other => other.to_string(),
    };
    let text = plain(left) + &plain(right);
    if text.len() > MAX_TEXT {
        return Err(format!("the text has {} bytes, at most {MAX_TEXT} are legal", text.len()));
    }
    Ok(Value::Text(text))
}

fn call(name: &str, first: Value, second: Value) -> Result<Value, String> {
    // Rounds the quotient toward negative infinity, as the mathematical floor function does.
    let floor = |a: i128, b: i128| {
        let quotient = a.checked_div(b)?;
        Some(quotient - i128::from(a % b != 0 && (a < 0) != (b < 0)))
    };
    let ceil = |a: i128, b: i128| floor(-a, b).map(|negative| -negative);
    match name {
        "div_ceil" => combine(name, first, second, ceil, |a, b| (a / b).ceil()),
        "div_floor" => combine(name, first, second, floor, |a, b| (a / b).floor()),
        "max" => combine(name, first, second, |a, b| Some(a.max(b)), f64::max),
        "min" => combine(name, first, second, |a, b| Some(a.min(b)), f64::min),
        "next_multiple" => {
            let multiple = |a, b| ceil(a, b)?.checked_mul(b);
            combine(name, first, second, multiple, |a, b| (a / b).ceil() * b)
        }
        "pow" => {
            let power = |a: i128, b: i128| a.checked_pow(b.try_into().ok()?);
            combine(name, first, second, power, f64::powf)
        }
        _ => Err(format!("there is no function `{name}` ({})", suggestion(name, "functions", &FUNCTIONS))),
    }
}

impl Display for Value {
    /// Formats the value as TOML.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(Number::Integer(integer)) => integer.fmt(f),
            // The format `{:?}` of a real number always has a decimal point or an exponent, as TOML requires.
            Self::Number(Number::Real(real)) => write!(f, "{real:?}"),
            Self::Text(text) => toml::Value::String(text.clone()).fmt(f),
            Self::Flag(flag) => flag.fmt(f),
            Self::List(elements) => {
                f.write_str("[")?;
                for (number, element) in elements.iter().enumerate() {
                    write!(f, "{}{element}", if number == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<String, String> {
        let mut lookup = |name: &str| match name {
            "n" => Ok(Value::Number(Number::Integer(1000))),
            "rate" => Ok(Value::Number(Number::Real(0.5))),
            "data" => Ok(Value::Text("li_".to_owned())),
            "block" => Ok(Value::List(vec![Value::Number(Number::Integer(16)); 2])),
            "most" => Ok(Value::Number(Number::Integer(u64::MAX.into()))),
            _ => Err(format!("no {name}")),
        };
        evaluate(text, &mut lookup).map(|value| value.to_string())
    }

    #[test]
    fn operators_bind_and_round_as_in_mathematics() {
        for (text, value) in [
            (" n ", "1000"),
            ("1 + 2 * 3 - 4", "3"),
            ("-(1 + 2) * 3", "-9"),
            ("10 - 3 - 2", "5"),
            ("0x10 * 1_000", "16000"),
            ("n * rate", "500.0"),
            ("1e-3 + 1e+3", "1000.001"),
            ("7 % 4 + -7 % 4", "4"),
            ("n / 8", "125"),
            ("1.0 / 4", "0.25"),
            ("div_ceil(n, 256) * 256", "1024"),
            ("div_floor(-7, 2)", "-4"),
            ("div_ceil(-7, 2)", "-3"),
            ("next_multiple(n, 128)", "1024"),
            ("max(min(n, 5), 2) + pow(2, 10)", "1029"),
            ("data + 'tree.npy'", "\"li_tree.npy\""),
            ("n + ' x ' + n / 8", "\"1000 x 125\""),
            ("block", "[16, 16]"),
            ("most", "18446744073709551615"),
        ] {
            assert_eq!(of(text), Ok(value.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_has_no_result_says_why() {
        for (text, part) in [
            ("", "expected a number, a name or a text at the end"),
            ("n +", "expected a number, a name or a text at the end"),
            ("n n", "expected an operator or the end, not `n`"),
            ("(n", "expected `)` at the end"),
            ("min(n)", "expected `,` before `)`"),
            ("$", "expected a number, a name or a text, not `$`"),
            ("'a", "expected `'` at the end of the text"),
            ("1.2.3", "`1.2.3` is not a number of 64 bits"),
            ("01", "`01` is not a number of 64 bits"),
            ("18446744073709551616", "`18446744073709551616` is not a number of 64 bits"),
            ("m", "no m"),
            ("n / 256", "1000 / 256 is not an integer; use `div_ceil(1000, 256)` or `div_floor(1000, 256)`"),
            ("n / 0", "`/` of 1000 and 0 is not a number of 64 bits"),
            ("div_ceil(n, 0)", "`div_ceil` of 1000 and 0 is not a number of 64 bits"),
            ("1.0 / 0", "`/` of 1.0 and 0 is not a number of 64 bits"),
            ("most + 1", "`+` of 18446744073709551615 and 1 is not a number of 64 bits"),
            ("pow(2, 64)", "`pow` of 2 and 64 is not a number of 64 bits"),
            ("pow(2, -1)", "`pow` of 2 and -1 is not a number of 64 bits"),
            ("block * 2", "`*` takes numbers, not [16, 16] and 2"),
            ("data + block", "`+` cannot join [16, 16] to a text"),
            ("mox(1, 2)", "there is no function `mox` (did you mean"),
        ] {
            let why = of(text).unwrap_err();
            assert!(why.starts_with(part), "{text}: {why}");
        }
        let deep = "(".repeat(100_000);
        assert_eq!(of(&deep), Err("more than 64 parentheses within each other".to_owned()));
        assert_eq!(of(&"-".repeat(100_000)), Err("more than 64 parentheses within each other".to_owned()));
    }
}
