//! Attribute macro `#[watched]`: records each call of the hooks of a configurable scheme. The argument of the
//! macro is the configuration key that selects the scheme. If several keys select schemes with the same
//! hooks, the macro has no argument, and the wrapper receives the key when it is created.
//!
//! For the hooks `counters` and `describe`, the wrapper does more. It lists the counters of the scheme inside
//! groups for the configuration key and the kind, and adds them to the description of the scheme.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{Error, FnArg, Ident, ItemTrait, LitStr, Pat, Result, Signature, TraitItem};

/// Name of the hook that lists the counters of a scheme.
const COUNTERS: &str = "counters";

/// Returns the name of an argument, without the leading underscore that marks an unused argument of a default
/// method.
fn name(argument: &FnArg) -> Result<Option<Ident>> {
    let FnArg::Typed(typed) = argument else { return Ok(None) };
    let Pat::Ident(named) = &*typed.pat else { return Err(Error::new(typed.span(), "expected a name")) };
    Ok(Some(format_ident!("{}", named.ident.to_string().trim_start_matches('_'))))
}

/// Returns a method that records the call of one hook and forwards it. If an argument is the cycle or
/// contains it, the record includes the cycle.
fn passed_on(number: usize, hook: &Signature) -> Result<TokenStream> {
    let mut signature = hook.clone();
    let mut names = Vec::new();
    for argument in &mut signature.inputs {
        let named = name(argument)?;
        if let (FnArg::Typed(typed), Some(named)) = (argument, named) {
            *typed.pat = syn::parse_quote!(#named);
            names.push(named);
        }
    }
    let cycle = names.iter().find_map(|name| match name.to_string().as_str() {
        "cycle" => Some(quote!(Some(cycle))),
        "at" | "seen" => Some(quote!(Some(#name.cycle))),
        _ => None,
    });
    let (called, cycle) = (&hook.ident, cycle.unwrap_or_else(|| quote!(None)));
    let call = quote! {
        let Self { slot, scheme, keys: _, numbers, hooks } = self;
        numbers.call((slot, scheme, &Self::NAMES), #number, #cycle, || hooks.#called(#(#names),*))
    };
    Ok(match called.to_string().as_str() {
        COUNTERS => quote! {
            #signature {
                self.keys.list(#(#names),*, |to| self.list_counters(to));
            }
        },
        "describe" => quote! {
            #signature {
                { #call }
                self.keys.describe(#(#names),*, |to| self.list_counters(to));
            }
        },
        _ => quote! { #signature { #call } },
    })
}

pub fn implement(slot: Option<&LitStr>, hooks: &ItemTrait) -> Result<TokenStream> {
    let signatures = hooks.items.iter().map(|item| match item {
        TraitItem::Fn(hook) => Ok(&hook.sig),
        _ => Err(Error::new(item.span(), "hooks are methods")),
    });
    let signatures = signatures.collect::<Result<Vec<_>>>()?;
    let names = signatures.iter().map(|hook| hook.ident.to_string());
    let passed_on = signatures.iter().enumerate().map(|(number, hook)| passed_on(number, hook));
    let passed_on = passed_on.collect::<Result<Vec<_>>>()?;
    let (count, of) = (signatures.len(), &hooks.ident);
    let counters = signatures.iter().position(|hook| hook.ident == COUNTERS);
    let counters = counters.ok_or_else(|| Error::new(hooks.ident.span(), "a scheme has a hook `counters`"))?;
    let (given, slot) = match slot {
        Some(slot) => (None, quote!(#slot)),
        None => (Some(quote!(slot: crate::kernel::name::Name,)), quote!(slot)),
    };
    Ok(quote! {
        #hooks

        /// Wrapper of a scheme's hooks that records each call, so that an error report can name a hook that
        /// panics or never returns.
        #[derive(Debug, ::serde::Serialize, ::serde::Deserialize)]
        struct Watched {
            #[serde(with = "crate::kernel::name")]
            slot: crate::kernel::name::Name,
            #[serde(with = "crate::kernel::name")]
            scheme: crate::kernel::name::Name,
            /// Keys of the two nested groups that contain the counters of the scheme.
            keys: Box<crate::scheme_counts::SchemeKeys>,
            #[serde(skip)]
            numbers: crate::hook::Numbers,
            hooks: Box<dyn #of>,
        }

        impl Watched {
            /// Names of the hooks; the position of a name in the list is the number of the hook.
            const NAMES: [&'static str; #count] = [#(#names),*];

            fn of(#given scheme: crate::kernel::name::Name, hooks: Box<dyn #of>) -> Box<dyn #of> {
                let keys = Box::new(crate::scheme_counts::SchemeKeys::new(#slot, scheme));
                Box::new(Self { slot: #slot, scheme, keys, numbers: crate::hook::Numbers::default(), hooks })
            }

            /// Lists the scheme's own counters, without the groups for its configuration key and kind.
            fn list_counters(&self, to: &mut dyn crate::kernel::CounterReader) {
                let Self { slot, scheme, keys: _, numbers, hooks } = self;
                numbers.call((slot, scheme, &Self::NAMES), #counters, None, || hooks.counters(to));
            }
        }

        #[typetag::serde(name = "watched")]
        impl #of for Watched {
            #(#passed_on)*
        }
    })
}
