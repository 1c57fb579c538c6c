//! Formats numbers and counts for messages.

/// Formats a number with a comma after each group of three digits: `1,234,567`.
#[must_use]
pub fn format_thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a count with its noun in the singular or plural: `1 launch`, `2 launches`.
#[must_use]
pub fn format_count(number: u64, one: &str, several: &str) -> String {
    format!("{} {}", format_thousands(number), noun(number, one, several))
}

/// Returns the noun without the number, in the singular or plural as `number` requires. Used for messages in
/// which the number does not directly precede the noun.
pub fn noun<'a, N: PartialEq + From<u8>>(number: N, one: &'a str, several: &'a str) -> &'a str {
    if number == N::from(1) { one } else { several }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([0, 999, 1000, 1_234_567].map(format_thousands), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn one_of_something_is_singular() {
        let told = [0, 1, 2, 1001].map(|number| format_count(number, "launch", "launches"));
        assert_eq!(told, ["0 launches", "1 launch", "2 launches", "1,001 launches"]);
        assert_eq!(
            [noun(1_u32, "is", "are"), noun(0_usize, "is", "are"), noun(-1_i64, "is", "are")],
            ["is", "are", "are"]
        );
    }
}
