//! # Derives
//! Implementations that would only repeat the fields of a struct or the variants of an enum. The declaration is the one
//! list: names, doc comments and attributes of the fields are what statistics, waveforms and the dictionary show.
//!
//! | derive       | implements                | from                                                          |
//! |--------------|---------------------------|---------------------------------------------------------------|
//! | [`Counted`]  | `rtl::kernel::Counted`    | the fields of a struct of counters, and their doc comments    |
//! | [`Reason`]   | `rtl::kernel::Reason`     | the variants of an enum, and their doc comments               |
//! | [`Encoding`] | `rtl::kernel::Encoding`   | the variants of an enum; `#[width(BITS)]` is the register's   |
//! | [`Ports`]    | `rtl::kernel::Ports`      | the ports of a block: fields of type `In`, `Out`, `Many<In>`, `Many<Out>` |
//! | [`Payload`]  | `rtl::kernel::Payload`    | the fields of a struct, and their widths                      |
//! | [`Links`]    | `rtl::kernel::Links`      | the pools of a netlist's links: fields of type `Pool<BEAT>`   |
//! | [`macro@watched`] | a wrapper of a slot's hooks | the methods of the trait                                    |
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

/// Lists the counters of a struct and adds those of another one.
///
/// A field of type `u64` is a counter, an array of `u64` is a histogram or (`by`) a counter for each variant of an enum, and any
/// other field is a group: a struct that derives `Counted` as well. The doc comment of a field is its meaning.
///
/// On a struct: `#[counted(has = TYPE)]` names the type of `has`, which says what a unit has of what not every unit has
/// (`()` if left out); `#[counted(sum(KEY, "MEANING", FIELD + FIELD ...))]` lists a sum of counters ahead of the groups.
///
/// On a field, any of these in `#[counted(...)]`:
///
/// | attribute            | meaning                                                                         |
/// |----------------------|---------------------------------------------------------------------------------|
/// | `cycles`, `bytes`    | the unit; events if left out                                                    |
/// | `by = ENUM`          | one counter for each variant of an enum that derives [`Reason`]                 |
/// | `key = "..."`        | the key, if it is not the name of the field                                     |
/// | `only(CONDITION)`    | null where the condition on `has` is false                                      |
/// | `if_any(CONDITION)`  | no key where the condition on `has` is false                                    |
/// | `having = EXPR`      | the `has` of a group                                                            |
/// | `each = CONDITION`   | of `by`: null where the condition on `has` and `reason` is false                |
/// | `nsight = "..."`     | the metric of Nsight Compute that counts the same                               |
/// | `skip`               | summed, and in no list                                                          |
#[proc_macro_derive(Counted, attributes(counted))]
pub fn counted(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    counted::implement(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Names the variants of an enum that counters are kept by: in snake case, with the doc comment as the meaning.
#[proc_macro_derive(Reason)]
pub fn reason(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    reason::implement(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Names the codes of a state register: the variants of an enum in capitals, by their number. `#[width(BITS)]` on the enum
/// is the width of the register.
#[proc_macro_derive(Encoding, attributes(width))]
pub fn encoding(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    encoding::implement(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Lists the fields of what travels in a channel or stands in an array cell, in the order of declaration.
///
/// Unless an attribute says otherwise, a `bool` is a flag, an array of numbers is a field a lane, and any other
/// field is a number whose type carries its width.
///
/// On a struct: `#[payload(shape = TYPE)]` names the type of `shape`, which holds the widths that follow from
/// the configuration (`()` if left out). It is a reference in the expressions of the fields.
///
/// On a field, any of these in `#[payload(...)]`:
///
/// | attribute            | meaning                                                                         |
/// |----------------------|---------------------------------------------------------------------------------|
/// | `width = EXPR`       | a number, or numbers of an array, of EXPR bits                                  |
/// | `state`              | the code of a state register: its type derives [`Encoding`]                     |
/// | `bytes`              | bytes, of an array or a number                                                  |
/// | `bytes = EXPR`       | the first EXPR bytes                                                            |
/// | `inside`             | the fields of another payload, whose shape is `()`                              |
/// | `inside = SHAPE`     | the fields of another payload                                                   |
/// | `skip`               | no hardware: in no list                                                         |
/// | `only(CONDITION)`    | listed where the condition on `shape` holds; `let` binds what others then use   |
/// | `name = "..."`       | the name, if it is not that of the field                                        |
#[proc_macro_derive(Payload, attributes(payload))]
pub fn payload(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    payload::implement(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Lists the ports of a block in the order of its fields.
#[proc_macro_derive(Ports)]
pub fn ports(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    ports::ports(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Lists the pools of a netlist's links, and finds the pool of each kind of beat.
#[proc_macro_derive(Links)]
pub fn links(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    ports::links(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Passes what is asked of a kind of blocks on to the blocks of that kind.
#[proc_macro_derive(Kinds)]
pub fn kinds(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    ports::kinds(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// On the trait of a slot's hooks, with the key that chooses a scheme: writes `Watched`, which passes every hook on in a call
/// that is noted (`rtl::hook`). The cycle of a call is that of its argument `at` or `seen`, or its argument `cycle`.
#[proc_macro_attribute]
pub fn watched(slot: TokenStream, hooks: TokenStream) -> TokenStream {
    let (slot, hooks) = (parse_macro_input!(slot as LitStr), parse_macro_input!(hooks as ItemTrait));
    watched::implement(&slot, &hooks).unwrap_or_else(syn::Error::into_compile_error).into()
}
