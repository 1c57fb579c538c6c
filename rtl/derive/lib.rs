//! # Derive macros
//! Generates implementations that would only repeat the fields of a struct or the variants of an enum. The
//! declaration is the single source: statistics, waveforms and the dictionary show the names, doc comments
//! and attributes of its fields.
//!
//! | derive       | implements                | from                                                          |
//! |--------------|---------------------------|---------------------------------------------------------------|
//! | [`Counted`]  | `rtl::kernel::Counted`    | the fields of a struct of counters, and their doc comments    |
//! | [`Reason`]   | `rtl::kernel::Reason`     | the variants of an enum, and their doc comments               |
//! | [`Encoding`] | `rtl::kernel::Encoding`   | the variants of an enum; `#[width(BITS)]` is the register width |
//! | [`Ports`]    | `rtl::kernel::Ports`      | the ports of a block: fields of type `In`, `Out`, `Many<In>`, `Many<Out>` |
//! | [`Payload`]  | `rtl::kernel::Payload`    | the fields of a struct, and their widths                      |
//! | [`Links`]    | `rtl::kernel::Links`      | the pools of a netlist's links: fields of type `Pool<BEAT>`   |
//! | [`macro@watched`] | a wrapper of a slot's hooks | the methods of a trait                                      |
//! | [`Kinds`]    | `rtl::kernel::Kind`       | the kinds of blocks of a netlist: variants `NAME(Of<BLOCK, LINKS>)` |

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

/// Implements `Reason` for an enum that counters are indexed by. Names are the variants in snake case,
/// meanings are their doc comments.
#[proc_macro_derive(Reason)]
pub fn reason(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    reason::implement(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements `Encoding` for the enum of a state register. The names of the codes are the variants in
/// capitals, in order of their numbers. `#[width(BITS)]` on the enum is the width of the register.
#[proc_macro_derive(Encoding, attributes(width))]
pub fn encoding(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    encoding::implement(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements `Payload`: lists the fields of a beat in a channel or of a memory cell, in declaration order.
///
/// Without an attribute, a `bool` is a flag, and an array of numbers is one field per lane. Any other field
/// is a number whose type carries its width.
///
/// On a struct: `#[payload(shape = TYPE)]` names the type of `shape`, which holds the configuration-dependent
/// widths (default: `()`). It is a reference in the expressions of the fields.
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

/// Implements `Ports`: visits the ports of a block in the order of its fields.
#[proc_macro_derive(Ports)]
pub fn ports(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    ports::ports(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements `Links`: accesses the pools of a netlist's links by number, and by type of beat.
#[proc_macro_derive(Links)]
pub fn links(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    ports::links(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Implements `Kind`: dispatches each call to the blocks of the kind that a variant holds.
#[proc_macro_derive(Kinds)]
pub fn kinds(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    ports::kinds(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Applies to the trait with the hooks of a slot. The argument is the configuration key of the slot; without
/// an argument, `Watched::of` receives the key. Generates `Watched`, a wrapper that records every call of a
/// hook (`rtl::hook`) and forwards it. The cycle of a call is taken from its argument `at` or `seen`, or is
/// its argument `cycle`.
#[proc_macro_attribute]
pub fn watched(slot: TokenStream, hooks: TokenStream) -> TokenStream {
    let (slot, hooks) = (parse_macro_input!(slot as Option<LitStr>), parse_macro_input!(hooks as ItemTrait));
    watched::implement(slot.as_ref(), &hooks).unwrap_or_else(syn::Error::into_compile_error).into()
}
