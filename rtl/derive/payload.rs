//! Derive macro of `Payload`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Expr, Field, Member, Result, Token, Type};

use super::counted::{condition, text};

/// Form in which a field is listed among the fields of its payload (a channel message or an array entry).
enum Form {
    /// Listed in the form that the field's type implies: a flag, a number, or one number per lane.
    Typed,
    /// Listed as a number of the given width in bits, or as one such number per lane.
    Sized(Expr),
    /// Listed as the code of a state register.
    State,
    /// Listed as bytes: the given number of leading bytes, or all bytes if no number is given.
    Bytes(Option<Expr>),
    /// Listed as the fields of a nested payload with the given shape; `None` for the shape `()`.
    Inside(Option<Expr>),
    /// Not listed, because the field is not hardware.
    Skipped,
}

/// Attributes of one field of a payload.
struct OfField {
    name: Option<String>,
    only: Option<Expr>,
    form: Form,
}

/// Parses the optional `= EXPR` that follows an attribute name, and returns the expression.
fn optional(meta: &ParseNestedMeta<'_>) -> Result<Option<Expr>> {
    if meta.input.peek(Token![=]) { Ok(Some(meta.value()?.parse()?)) } else { Ok(None) }
}

impl OfField {
    fn parse(field: &Field) -> Result<Self> {
        let (mut name, mut only, mut form) = (None, None, None);
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("payload")) {
            attribute.parse_nested_meta(|meta| {
                let found = match meta.path.require_ident()?.to_string().as_str() {
                    "width" => Form::Sized(meta.value()?.parse()?),
                    "state" => Form::State,
                    "bytes" => Form::Bytes(optional(&meta)?),
                    "inside" => Form::Inside(optional(&meta)?),
                    "skip" => Form::Skipped,
                    "name" => {
                        name = Some(text(&meta)?);
                        return Ok(());
                    }
                    "only" => {
                        only = Some(condition(&meta)?);
                        return Ok(());
                    }
                    _ => return Err(meta.error("unknown key; the doc comment of the derive lists all keys")),
                };
                match form.replace(found) {
                    None => Ok(()),
                    Some(_) => Err(meta.error("a field has one of `width`, `state`, `bytes`, `inside` and `skip`")),
                }
            })?;
        }
        let form = form.unwrap_or(Form::Typed);
        match form {
            Form::Skipped if name.is_some() || only.is_some() => {
                Err(Error::new(field.span(), "`skip` excludes all other keys: the field is not listed"))
            }
            Form::Inside(_) if name.is_some() => Err(Error::new(field.span(), "`inside` takes no name of its own")),
            form => Ok(Self { name, only, form }),
        }
    }
}

/// Returns the type of `shape`, the parameter that sets the field widths of a payload.
fn shape(input: &DeriveInput) -> Result<Type> {
    let mut shape = syn::parse_quote!(());
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("payload")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("shape") {
                return Err(meta.error("expected `shape`"));
            }
            shape = meta.value()?.parse()?;
            Ok(())
        })?;
    }
    Ok(shape)
}

fn is(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident(name))
}

/// Returns code for an iterator over the numbers of an array, or of an array of arrays.
fn lanes(array: &TokenStream, element: &Type) -> TokenStream {
    match element {
        Type::Array(inner) => lanes(&quote!(#array.as_flattened()), &inner.elem),
        _ => quote!(#array.iter().copied()),
    }
}

/// Returns code that lists `value` as a payload field under `name`.
fn list_named(name: &str, value: &TokenStream, ty: &Type, form: &Form) -> TokenStream {
    match (form, ty) {
        (Form::Sized(width), Type::Array(array)) => {
            let lanes = lanes(value, &array.elem);
            quote!(to.sized_lanes(#name, #lanes, #width))
        }
        (Form::Sized(width), ty) if is(ty, "u64") => quote!(to.sized(#name, #value, #width)),
        (Form::Sized(width), _) => quote!(to.sized(#name, u64::from(#value), #width)),
        (Form::State, _) => quote!(to.state(#name, #value)),
        (Form::Bytes(count), ty) => {
            let bytes = if matches!(ty, Type::Array(_)) { quote!(#value) } else { quote!(#value.to_le_bytes()) };
            let count = count.as_ref().map(|count| quote!((#count) as usize));
            quote!(to.wide(#name, &#bytes[..#count]))
        }
        (_, Type::Array(array)) => {
            let lanes = lanes(value, &array.elem);
            quote!(to.lanes(#name, #lanes))
        }
        (_, ty) if is(ty, "bool") => quote!(to.flag(#name, #value)),
        _ => quote!(to.bits(#name, #value)),
    }
}

/// Returns code that lists one field of a payload.
fn list_field(member: &Member, field: &Field) -> Result<TokenStream> {
    let OfField { name, only, form } = OfField::parse(field)?;
    // The generated code gets the source location of the field, so that a type error in it is reported at the
    // field.
    let value = quote_spanned!(Span::call_site().located_at(field.span())=> self.#member);
    let list = match (form, name, member) {
        (Form::Skipped, ..) => return Ok(TokenStream::new()),
        (Form::Inside(shape), ..) => {
            let shape = shape.map_or_else(|| quote!(()), |shape| quote!(#shape));
            quote!(::rtl::kernel::Payload::fields(&#value, &#shape, to))
        }
        (form, Some(name), _) => list_named(&name, &value, &field.ty, &form),
        (form, None, Member::Named(own)) => list_named(&own.to_string(), &value, &field.ty, &form),
        (_, None, Member::Unnamed(_)) => {
            return Err(Error::new(field.span(), "`#[payload(name = \"...\")]` is missing"));
        }
    };
    Ok(match only {
        Some(condition) => quote! { if #condition { #list; } },
        None => quote! { #list; },
    })
}

pub fn implement(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.span(), "only a struct has fields in every value"));
    };
    let (name, shape) = (&input.ident, shape(input)?);
    let fields = data.fields.members().zip(&data.fields).map(|(member, field)| list_field(&member, field));
    let fields = fields.collect::<Result<Vec<_>>>()?;
    Ok(quote! {
        impl ::rtl::kernel::Payload for #name {
            type Shape = #shape;
            fn fields<F: ::rtl::kernel::Fields + ?Sized>(&self, shape: &Self::Shape, to: &mut F) {
                use ::rtl::kernel::FieldsExt as _;
                let _ = shape;
                #(#fields)*
            }
        }
    })
}
