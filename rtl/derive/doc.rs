//! Doc comments and names, as the lists show them.

use proc_macro2::Span;
use syn::{Attribute, Error, Expr, Lit, Meta, Result};

/// A doc comment in one line, without the brackets of links.
///
/// # Errors
/// If there is none: a counter without a meaning would be listed without one.
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
        return Err(Error::new(at, "no doc comment: it is what lists say of this"));
    }
    Ok(text.replace("[`", "`").replace("`]", "`"))
}

/// `LineAlloc` as `line_alloc`.
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
