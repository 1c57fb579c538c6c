//! Converts doc comments and names to the form in which they appear in lists, such as the statistics.

use proc_macro2::Span;
use syn::{Attribute, Error, Expr, Lit, Meta, Result};

/// Returns a doc comment as one line, without the square brackets of links.
///
/// # Errors
/// Returns an error if there is no doc comment: a counter must not be listed without a meaning.
pub fn about(attributes: &[Attribute], at: Span) -> Result<String> {
    let line = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    let text = attributes.iter().filter_map(line).collect::<Vec<_>>().join(" ");
    if text.is_empty() {
        return Err(Error::new(at, "no doc comment: lists show it as the description"));
    }
    Ok(text.replace("[`", "`").replace("`]", "`"))
}

/// Converts a name to snake case: `LineAlloc` to `line_alloc`.
pub fn snake(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}
