//! # Derive macros
//! Generates trait implementations from the fields of a struct or the variants of an enum. The names, doc
//! comments and attributes in the declaration appear in statistics, waveforms and the dictionary of counters,
//! so that they are written only once.
//!
//! | derive       | implements                | from                                                          |
//! |--------------|---------------------------|---------------------------------------------------------------|
//! | [`Counted`]  | `rtl::kernel::Counted`    | the fields of a struct of counters, and their doc comments    |
//! | [`Reason`]   | `rtl::kernel::Reason`     | the variants of an enum, and their doc comments               |
//! | [`Encoding`] | `rtl::kernel::Encoding`   | the variants of an enum; `#[width(BITS)]` is the register width |
//! | [`Ports`]    | `rtl::kernel::Ports`      | the ports of a hardware block: fields of type `In`, `Out`, `Many<In>`, `Many<Out>` |
//! | [`Payload`]  | `rtl::kernel::Payload`    | the fields of a struct, and their widths                      |
//! | [`Links`]    | `rtl::kernel::Links`      | the channel pools of a netlist: fields of type `Pool<BEAT>`   |
//! | [`macro@watched`] | a wrapper of the hooks of a scheme | the methods of a trait                               |
//! | [`Kinds`]    | `rtl::kernel::Kind`       | the kinds of hardware blocks of a netlist: variants `NAME(Of<BLOCK, LINKS>)` |

mod counted;
mod doc;
mod encoding;
mod payload;
mod ports;
mod reason;
mod watched;

use proc_macro::TokenStream;
use syn::{DeriveInput, ItemTrait, LitStr, parse_macro_input};

/// Implements `Counted`: lists the counters of a struct, and adds and subtracts the counters of another
/// instance.
///
/// A field of type `u64` is a counter. An array of `u64` is a histogram or, with `by`, one counter per
/// variant of an enum. Any other field is a group: a struct that also derives `Counted`. The doc comment of a
/// field is the meaning of the counter.
///
/// On a struct: `#[counted(has = TYPE)]` names the type of `has`, the optional components of a unit (default:
/// `()`); `#[counted(sum(KEY, "MEANING", FIELD + FIELD ...))]` lists a sum of counters before the groups.
///
/// On a field, any of the following in `#[counted(...)]`:
///
/// | attribute            | meaning                                                                         |
/// |----------------------|---------------------------------------------------------------------------------|
/// | `cycles`, `bytes`    | unit; default: events                                                           |
/// | `by = ENUM`          | one counter per variant of an enum that derives [`Reason`]                      |
/// | `key = "..."`        | key; default: name of the field                                                 |
/// | `only(CONDITION)`    | null if the condition on `has` is false                                         |
/// | `if_any(CONDITION)`  | not listed if the condition on `has` is false                                   |
/// | `having = EXPR`      | `has` of a group                                                                |
/// | `each = CONDITION`   | with `by`: null if the condition on `has` and `reason` is false                 |
/// | `nsight = "..."`     | metric of Nsight Compute that counts the same events                            |
/// | `summary`            | shown in the summary of a run, in a row of its outermost group                  |
/// | `skip`               | added and subtracted, but never listed                                          |
#[proc_macro_derive(Counted, attributes(counted))]
pub fn counted(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    counted::implement(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements `Reason` for an enum that indexes an array of counters. The name of a reason is its variant in
/// snake case, and its meaning is the doc comment of the variant.
#[proc_macro_derive(Reason)]
pub fn reason(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    reason::implement(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements `Encoding` for an enum that is the state of a register. The code of a variant is its position
/// in the enum, and the name of the code is the name of the variant in capitals. `#[width(BITS)]` on the enum
/// gives the width of the register in bits.
#[proc_macro_derive(Encoding, attributes(width))]
pub fn encoding(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    encoding::implement(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements `Payload`: lists the fields of a channel message or of an array entry, in declaration order.
///
/// Without an attribute, a `bool` is a flag, and an array of numbers is one field per lane. Any other field
/// is a number whose type determines its width.
///
/// On a struct: `#[payload(shape = TYPE)]` names the type of `shape`, which holds the configuration-dependent
/// widths (default: `()`). The expressions of the fields can use `shape`, which is a reference.
///
/// On a field, any of the following in `#[payload(...)]`:
///
/// | attribute            | meaning                                                                         |
/// |----------------------|---------------------------------------------------------------------------------|
/// | `width = EXPR`       | number, or numbers of an array, with EXPR bits                                  |
/// | `state`              | code of a state register, whose type derives [`Encoding`]                       |
/// | `bytes`              | bytes of an array or of a number                                                |
/// | `bytes = EXPR`       | first EXPR bytes of an array or of a number                                     |
/// | `inside`             | fields of another payload, whose shape is `()`                                  |
/// | `inside = SHAPE`     | fields of another payload, whose shape is SHAPE                                 |
/// | `skip`               | not hardware: never listed                                                      |
/// | `only(CONDITION)`    | listed if the condition on `shape` holds; `let` bindings are visible to other attributes |
/// | `name = "..."`       | name; default: name of the field                                                |
#[proc_macro_derive(Payload, attributes(payload))]
pub fn payload(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    payload::implement(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements `Ports`: visits the ports of a hardware block in the declaration order of their fields.
#[proc_macro_derive(Ports)]
pub fn ports(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    ports::ports(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements `Links`: gives access to the channel pools of a netlist, by number and by message type.
#[proc_macro_derive(Links)]
pub fn links(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    ports::links(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements `Kind` for an enum of hardware blocks: forwards each call to the blocks in the current variant.
#[proc_macro_derive(Kinds)]
pub fn kinds(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    ports::kinds(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Applies to a trait with the hooks of a configurable scheme. The macro argument is the configuration key
/// that selects the scheme; without an argument, `Watched::of` receives the key. The macro generates
/// `Watched`, a wrapper that records every call of a hook (`rtl::hook`) and forwards it. The recorded cycle
/// is taken from the argument `at`, `seen` or `cycle` of the call. The wrapper lists the counters of the
/// scheme inside groups for its configuration key and its kind (`rtl::scheme_counts`). It also adds the
/// counters to the description of the scheme.
#[proc_macro_attribute]
pub fn watched(slot: TokenStream, hooks: TokenStream) -> TokenStream {
    let (slot, hooks) = (parse_macro_input!(slot as Option<LitStr>), parse_macro_input!(hooks as ItemTrait));
    watched::implement(slot.as_ref(), &hooks).unwrap_or_else(syn::Error::into_compile_error).into()
}
