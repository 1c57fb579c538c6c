//! Replaces the generated parts of a document with new text.

/// Generated text between two markers in a document.
pub(super) struct Part {
    pub name: &'static str,
    /// Generated text without the markers. It ends with a line break.
    pub text: String,
}

const BEGIN: &str = "<!-- generated: ";
const END: &str = "<!-- end -->";

/// Returns the document with the text of each generated part replaced by the text for this part in `parts`.
pub(super) fn renew(document: &str, parts: &[Part]) -> Result<String, String> {
    let mut text = String::new();
    let mut lines = document.lines().enumerate();
    let mut used: Vec<&str> = Vec::new();
    while let Some((at, line)) = lines.next() {
        text.push_str(line);
        text.push('\n');
        let Some(name) = line.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(" -->")) else { continue };
        let part = parts.iter().find(|part| part.name == name);
        let part = part.ok_or_else(|| format!("line {}: nothing generates `{name}`", at + 1))?;
        let end = lines.by_ref().find(|(_, line)| *line == END || line.starts_with(BEGIN));
        if end.is_none_or(|(_, line)| line != END) {
            return Err(format!("line {}: `{name}` has no `{END}`", at + 1));
        }
        text.push_str(&part.text);
        text.push_str(END);
        text.push('\n');
        used.push(part.name);
    }
    match parts.iter().find(|part| !used.contains(&part.name)) {
        Some(part) => Err(format!("has no `{BEGIN}{} -->`", part.name)),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renewed_with_a(document: &str) -> Result<String, String> {
        renew(document, &[Part { name: "a", text: "new\n".to_owned() }])
    }

    #[test]
    fn a_part_is_replaced_and_the_rest_is_kept() {
        let document = "one\n<!-- generated: a -->\nold\nolder\n<!-- end -->\ntwo\n";
        let expected = "one\n<!-- generated: a -->\nnew\n<!-- end -->\ntwo\n";
        assert_eq!(renewed_with_a(document).as_deref(), Ok(expected));
        assert_eq!(renewed_with_a(expected).as_deref(), Ok(expected));
    }

    #[test]
    fn a_part_that_is_unknown_missing_or_open_is_refused() {
        let problem = |document| renewed_with_a(document).unwrap_err();
        assert_eq!(problem("\n<!-- generated: b -->\n<!-- end -->\n"), "line 2: nothing generates `b`");
        assert_eq!(problem("text\n"), "has no `<!-- generated: a -->`");
        assert_eq!(problem("<!-- generated: a -->\nold\n"), "line 1: `a` has no `<!-- end -->`");
        let into_the_next = "<!-- generated: a -->\n<!-- generated: a -->\n<!-- end -->\n";
        assert_eq!(problem(into_the_next), "line 1: `a` has no `<!-- end -->`");
    }
}
