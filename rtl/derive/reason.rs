//! Derive macro of `Reason`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Result};

use super::doc::{about, snake};

pub fn implement(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new(input.span(), "only an enum has variants to count by"));
    };
    let name = &input.ident;
    let variants: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    let names = variants.iter().map(|variant| snake(&variant.to_string()));
    let abouts =
        data.variants.iter().map(|variant| about(&variant.attrs, variant.span())).collect::<Result<Vec<_>>>()?;
    let count = variants.len();
    Ok(quote! {
        impl #name {
            /// All variants of the enum, in declaration order.
            pub const ALL: [Self; #count] = [#(Self::#variants),*];

            /// Returns the name under which statistics list the variant.
            #[must_use]
            pub const fn name(self) -> &'static str {
                <Self as ::rtl::kernel::Reason>::NAMES[self as usize]
            }
        }

        impl ::rtl::kernel::Reason for #name {
            const EVERY: &'static [Self] = &Self::ALL;
            const NAMES: &'static [&'static str] = &[#(#names),*];
            const MEANINGS: &'static [&'static str] = &[#(#abouts),*];
            fn index(self) -> usize {
                self as usize
            }
        }
    })
}
