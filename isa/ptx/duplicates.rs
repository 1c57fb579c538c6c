//! Check for duplicate definitions of names in a file.

use rustc_hash::FxHashMap;

use super::ast::{Module, Name};
use super::{PtxError, Source};

/// Rejects the first name at file level that is defined a second time. Kernels, functions and variables share
/// a namespace. Declarations may be repeated and may accompany the definition.
pub(super) fn refuse(source: &Source, module: &Module<'_>) -> Result<(), PtxError> {
    let functions = module.functions.iter().filter(|function| function.has_body);
    let functions = functions.map(|function| (function.name, if function.is_entry { "kernel" } else { "function" }));
    let variables = module.variables.iter().filter(|variable| !variable.is_extern);
    let mut defined: Vec<(Name<'_>, &str)> = functions.chain(variables.map(|v| (v.name, "variable"))).collect();
    defined.sort_by_key(|(name, _)| name.span.start);
    let mut known: FxHashMap<&str, Name<'_>> = FxHashMap::default();
    for (name, what) in defined {
        if let Some(first) = known.insert(name.text, name) {
            let line = source.numbered.place(first.span.start as usize).0;
            let message = format!("{what} `{}` is defined twice: line {line} defines it already", name.text);
            let error = PtxError::new(source, name.span, "second definition", message);
            return Err(error.with_help("give each kernel, function and variable of a file a name of its own"));
        }
    }
    Ok(())
}
