//! Derive macro of `Counted`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Expr, Field, Fields, Ident, LitStr, Result, Token, Type, parenthesized};

use super::doc::about;

/// Attributes of a struct of counters.
#[derive(Default)]
struct OfStruct {
    has: Option<Type>,
    /// Key, meaning and value of each sum of counters that is listed with the counters of the struct.
    sums: Vec<(String, String, Expr)>,
}

/// Attributes of one field of a struct of counters.
#[derive(Default)]
struct OfField {
    unit: Option<Ident>,
    by: Option<Type>,
    key: Option<String>,
    only: Option<Expr>,
    if_any: Option<Expr>,
    having: Option<Expr>,
    each: Option<Expr>,
    nsight: Option<String>,
    is_in_summary: bool,
    is_skipped: bool,
}

impl OfStruct {
    fn parse(input: &DeriveInput) -> Result<Self> {
        let mut found = Self::default();
        for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("counted")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("has") {
                    found.has = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("sum") {
                    let inside;
                    parenthesized!(inside in meta.input);
                    let key: Ident = inside.parse()?;
                    inside.parse::<Token![,]>()?;
                    let about: LitStr = inside.parse()?;
                    inside.parse::<Token![,]>()?;
                    found.sums.push((key.to_string(), about.value(), inside.parse()?));
                } else {
                    return Err(meta.error("expected `has` or `sum`"));
                }
                Ok(())
            })?;
        }
        Ok(found)
    }
}

/// Parses the `= "..."` that follows an attribute name, and returns the text between the quotes.
pub fn text(meta: &ParseNestedMeta<'_>) -> Result<String> {
    Ok(meta.value()?.parse::<LitStr>()?.value())
}

/// Parses the `(CONDITION)` that follows an attribute name, and returns the condition.
pub fn condition(meta: &ParseNestedMeta<'_>) -> Result<Expr> {
    let inside;
    parenthesized!(inside in meta.input);
    inside.parse()
}

impl OfField {
    fn parse(field: &Field) -> Result<Self> {
        let mut found = Self::default();
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("counted")) {
            attribute.parse_nested_meta(|meta| {
                let name = meta.path.require_ident()?.to_string();
                match name.as_str() {
                    "cycles" => found.unit = Some(Ident::new("Cycles", meta.path.span())),
                    "bytes" => found.unit = Some(Ident::new("Bytes", meta.path.span())),
                    "by" => found.by = Some(meta.value()?.parse()?),
                    "key" => found.key = Some(text(&meta)?),
                    "only" => found.only = Some(condition(&meta)?),
                    "if_any" => found.if_any = Some(condition(&meta)?),
                    "having" => found.having = Some(meta.value()?.parse()?),
                    "each" => found.each = Some(meta.value()?.parse()?),
                    "nsight" => found.nsight = Some(text(&meta)?),
                    "summary" => found.is_in_summary = true,
                    "skip" => found.is_skipped = true,
                    _ => return Err(meta.error("unknown key; the doc comment of the derive lists all keys")),
                }
                Ok(())
            })?;
        }
        Ok(found)
    }
}

/// Kind of a field: a single counter, an array of counters or a group (a nested struct of counters).
enum Holds {
    Count,
    Array,
    Group,
}

fn held(ty: &Type) -> Holds {
    let is_u64 = |ty: &Type| matches!(ty, Type::Path(path) if path.path.is_ident("u64"));
    match ty {
        ty if is_u64(ty) => Holds::Count,
        Type::Array(array) if is_u64(&array.elem) => Holds::Array,
        _ => Holds::Group,
    }
}

pub fn implement(input: &DeriveInput) -> Result<TokenStream> {
    let fields = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(named) => &named.named,
            _ => return Err(Error::new(input.span(), "counters need names")),
        },
        _ => return Err(Error::new(input.span(), "only a struct has counters")),
    };
    let OfStruct { has, sums } = OfStruct::parse(input)?;
    let (mut adds, mut subtracts, mut counts, mut groups) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for field in fields {
        let of = OfField::parse(field)?;
        adds.push(combine(field, &quote!(+=), &quote!(add)));
        subtracts.push(combine(field, &quote!(-=), &quote!(subtract)));
        if !of.is_skipped {
            let list = if matches!(held(&field.ty), Holds::Count) { &mut counts } else { &mut groups };
            list.push(list_field(field, &of)?);
        }
    }
    let sums = sums.iter().map(|(key, about, value)| {
        let parts = sum_fields(value);
        quote! { to.counter(&::rtl::kernel::Key::new(#key, #about), ::rtl::kernel::Value::Count(#parts)); }
    });
    let (name, has) = (&input.ident, has.map_or_else(|| quote!(()), |ty| quote!(#ty)));
    Ok(quote! {
        impl ::rtl::kernel::Counted for #name {
            type Has = #has;
            fn add(&mut self, other: &Self) {
                #(#adds)*
            }
            fn subtract(&mut self, other: &Self) {
                #(#subtracts)*
            }
            fn list(&self, has: &Self::Has, to: &mut dyn ::rtl::kernel::CounterReader) {
                let _ = has;
                #(#counts)*
                #(#sums)*
                #(#groups)*
            }
        }
    })
}

/// Returns a sum of fields in which `self.` is prefixed to each field name.
fn sum_fields(value: &Expr) -> TokenStream {
    match value {
        Expr::Binary(binary) => {
            let (left, operator, right) = (sum_fields(&binary.left), &binary.op, sum_fields(&binary.right));
            quote!(#left #operator #right)
        }
        other => quote!(self.#other),
    }
}

/// Returns code that adds the field of `other` to the same field of `self`, or subtracts it. `operator`
/// combines single counts (`+=` or `-=`), and `method` combines groups of counters (`add` or `subtract`).
fn combine(field: &Field, operator: &TokenStream, method: &TokenStream) -> TokenStream {
    let name = &field.ident;
    match held(&field.ty) {
        Holds::Count => quote! { self.#name #operator other.#name; },
        Holds::Array => {
            quote! { self.#name.iter_mut().zip(other.#name).for_each(|(own, other)| *own #operator other); }
        }
        Holds::Group => quote! { ::rtl::kernel::Counted::#method(&mut self.#name, &other.#name); },
    }
}

/// Returns code that appends the counters of a field to a list of counters.
fn list_field(field: &Field, of: &OfField) -> Result<TokenStream> {
    let name = field.ident.as_ref().ok_or_else(|| Error::new(field.span(), "a counter needs a name"))?;
    let about = about(&field.attrs, field.span())?;
    let key = of.key.clone().unwrap_or_else(|| name.to_string());
    let unit = of.unit.as_ref().map(|unit| quote!(.in_unit(::rtl::kernel::Quantity::#unit)));
    let nsight = of.nsight.as_ref().map(|metric| quote!(.nsight(#metric)));
    let summary = of.is_in_summary.then(|| quote!(.in_summary()));
    let key = quote!(&::rtl::kernel::Key::new(#key, #about) #unit #nsight #summary);
    let present = of.only.as_ref().map_or_else(|| quote!(true), |condition| quote!(#condition));
    let list = match (held(&field.ty), &of.by) {
        (Holds::Count, None) if of.only.is_none() => {
            quote! { to.counter(#key, ::rtl::kernel::Value::Count(self.#name)); }
        }
        (Holds::Count, None) => quote! { ::rtl::kernel::count_if(to, #key, #present, self.#name); },
        (Holds::Array, Some(by)) => {
            let each = of.each.as_ref().map_or_else(|| quote!(true), |condition| quote!(#condition));
            quote! { ::rtl::kernel::count_by::<#by>(to, #key, #present, &self.#name, &|reason| { let _ = reason; #each }); }
        }
        (Holds::Array, None) => quote! { ::rtl::kernel::count_classes(to, #key, #present, &self.#name); },
        (Holds::Group, None) => {
            let having = of.having.as_ref().map_or_else(|| quote!(()), |having| quote!(#having));
            quote! { ::rtl::kernel::count_group(to, #key, #present.then_some(&self.#name), &#having); }
        }
        (_, Some(_)) => return Err(Error::new(field.span(), "only an array is counted `by` an enum")),
    };
    Ok(match &of.if_any {
        Some(condition) => quote! { if #condition { #list } },
        None => list,
    })
}
