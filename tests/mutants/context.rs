//! Classifies pieces of code for the search for mutants.

use syn::{Attribute, BinOp, Expr, ItemMod, Meta, ReturnType, Signature, Type};

/// Maximum length in characters of the code of a mutant when it is printed.
const SHOWN: usize = 90;

/// Returns code as a single line, truncated if it is long.
pub fn short(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("{}...", &line[..cut]),
        None => line,
    }
}

/// True if an item with these attributes is compiled only in test builds.
pub fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        Meta::NameValue(_) => false,
    })
}

/// If a module is in a file of its own, returns its name, and its path if it has a `path` attribute.
pub fn file_of(module: &ItemMod) -> Option<(String, Option<String>)> {
    let path = module.attrs.iter().find_map(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else { return None };
        let Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value else { return None };
        pair.path.is_ident("path").then(|| text.value())
    });
    module.content.is_none().then(|| (module.ident.to_string(), path))
}

/// True for functions that only report errors: those with the attribute `cold`, and those with the return
/// type `!`.
pub fn never_returns(attributes: &[Attribute], signature: &Signature) -> bool {
    let is_cold = attributes.iter().any(|attribute| attribute.path().is_ident("cold"));
    is_cold || matches!(&signature.output, ReturnType::Type(_, output) if matches!(**output, Type::Never(_)))
}

/// True if a condition, which may be a chain of conditions with `&&`, contains a `let`.
pub fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) if matches!(binary.op, BinOp::And(_)) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

/// True if an expression is an assignment.
pub fn assigns(expression: &Expr) -> bool {
    match expression {
        Expr::Assign(_) => true,
        Expr::Binary(binary) => matches!(
            binary.op,
            BinOp::AddAssign(_)
                | BinOp::SubAssign(_)
                | BinOp::MulAssign(_)
                | BinOp::BitXorAssign(_)
                | BinOp::BitAndAssign(_)
                | BinOp::BitOrAssign(_)
                | BinOp::ShlAssign(_)
                | BinOp::ShrAssign(_)
        ),
        _ => false,
    }
}

/// Returns replacement values for the result of a function, by its return type.
pub fn values(output: &ReturnType) -> &'static [&'static str] {
    let ReturnType::Type(_, output) = output else { return &["()"] };
    let Type::Path(path) = &**output else { return &[] };
    let Some(last) = path.path.segments.last() else { return &[] };
    match last.ident.to_string().as_str() {
        "bool" => &["true", "false"],
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => {
            &["0", "1"]
        }
        "Option" => &["None"],
        _ => &[],
    }
}
