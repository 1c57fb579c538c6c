//! Derive macro of `Encoding`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, LitInt, Result};

use super::doc::snake;

pub fn implement(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new(input.span(), "only an enum has codes"));
    };
    let width = input.attrs.iter().find(|attribute| attribute.path().is_ident("width"));
    let width = width.ok_or_else(|| Error::new(input.span(), "#[width(BITS)] is missing: the register's width"))?;
    let bits: u32 = width.parse_args::<LitInt>()?.base10_parse()?;
    let codes = data.variants.len();
    if !(1..=8).contains(&bits) || codes > 1 << bits {
        return Err(Error::new(width.span(), format!("{codes} codes do not fit a register of {bits} bits (1 to 8)")));
    }
    if let Some(variant) = data.variants.iter().find(|variant| variant.discriminant.is_some()) {
        return Err(Error::new(variant.span(), "a code is the number of its variant: `=` is not allowed"));
    }
    let name = &input.ident;
    let names = data.variants.iter().map(|variant| snake(&variant.ident.to_string()).to_uppercase());
    Ok(quote! {
        impl ::rtl::kernel::Encoding for #name {
            const WIDTH: u32 = #bits;
            const NAMES: &'static [&'static str] = &[#(#names),*];
            #[inline]
            fn code(self) -> u8 {
                self as u8
            }
        }
    })
}
