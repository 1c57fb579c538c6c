//! Derive macros of a netlist of hardware blocks: `Ports`, `Links`, `Kinds`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, GenericArgument, Ident, PathArguments, Result, Type};

/// Returns the named fields of a struct.
fn fields(input: &DeriveInput) -> Result<Vec<(&Ident, &Type)>> {
    let error = || Error::new(input.span(), "only a struct with named fields");
    let Data::Struct(data) = &input.data else { return Err(error()) };
    let Fields::Named(named) = &data.fields else { return Err(error()) };
    named.named.iter().map(|field| Ok((field.ident.as_ref().ok_or_else(error)?, &field.ty))).collect()
}

/// Returns the type argument at position `index` of a type. For example, index 0 of `Pool<Chan>` is `Chan`.
fn argument(of: &Type, index: usize) -> Result<&Type> {
    let error = || Error::new(of.span(), "expected `Pool<BEAT>` or `Of<BLOCK, LINKS>`");
    let Type::Path(path) = of else { return Err(error()) };
    let Some(PathArguments::AngleBracketed(given)) = path.path.segments.last().map(|last| &last.arguments) else {
        return Err(error());
    };
    match given.args.iter().nth(index) {
        Some(GenericArgument::Type(found)) => Ok(found),
        _ => Err(error()),
    }
}

pub fn ports(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    let ports = fields(input)?.into_iter().map(|(field, _)| field);
    Ok(quote! {
        impl #generics ::rtl::kernel::Ports for #name #arguments #bounds {
            fn visit(&mut self, visitor: &mut impl ::rtl::kernel::PortVisitor) {
                #(::rtl::kernel::AnyPort::visit(&mut self.#ports, visitor);)*
            }
        }
    })
}

pub fn links(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let fields = fields(input)?;
    let (pools, types): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
    let beats = types.iter().map(|of| argument(of, 0)).collect::<Result<Vec<_>>>()?;
    let count = pools.len();
    let numbers: Vec<_> = (0..count).collect();
    let short = 0..count as u32;
    Ok(quote! {
        impl ::rtl::kernel::Links for #name {
            const COUNT: usize = #count;
            fn any(&self, pool: usize) -> &dyn ::rtl::kernel::AnyPool {
                match pool { #(#numbers => &self.#pools,)* _ => panic!("there are {} pools", #count) }
            }
            fn any_mut(&mut self, pool: usize) -> &mut dyn ::rtl::kernel::AnyPool {
                match pool { #(#numbers => &mut self.#pools,)* _ => panic!("there are {} pools", #count) }
            }
            #[inline(always)]
            fn meet(&mut self, receivers: &mut Self, crossing: ::rtl::kernel::Crossing, sims: [&mut ::rtl::kernel::Simulator; 2]) {
                match crossing.pool() {
                    #(#short => self.#pools.meet(&mut receivers.#pools, crossing, sims),)*
                    _ => {}
                }
            }
        }
        #(impl ::rtl::kernel::Carries<#beats> for #name {
            const POOL: usize = #numbers;
            #[inline(always)]
            fn pool(&mut self) -> &mut ::rtl::kernel::Pool<#beats> {
                &mut self.#pools
            }
        })*
    })
}

pub fn kinds(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let Data::Enum(data) = &input.data else {
        return Err(Error::new(input.span(), "only an enum has kinds of blocks"));
    };
    let (mut variants, mut types) = (Vec::new(), Vec::new());
    for variant in &data.variants {
        let Fields::Unnamed(inside) = &variant.fields else {
            return Err(Error::new(variant.span(), "expected `NAME(Of<BLOCK, LINKS>)`"));
        };
        let of = inside.unnamed.first().ok_or_else(|| Error::new(variant.span(), "expected `Of<BLOCK, LINKS>`"))?;
        variants.push(&variant.ident);
        types.push(&of.ty);
    }
    let links = argument(types.first().ok_or_else(|| Error::new(input.span(), "an enum without kinds"))?, 1)?;
    Ok(quote! {
        #(impl From<#types> for #name {
            fn from(of: #types) -> Self {
                Self::#variants(of)
            }
        })*
        impl ::rtl::kernel::Kind<#links> for #name {
            #[inline(always)]
            fn eval(
                &mut self,
                place: (&::rtl::kernel::BlockRange, u64),
                links: &mut #links,
                due: &mut ::rtl::kernel::Due,
                at: &mut impl ::rtl::kernel::AnyEdge,
            ) -> ::std::option::Option<usize> {
                match self { #(Self::#variants(of) => of.eval(place, links, due, at),)* }
            }
            fn describe(&self, block: usize, to: &mut dyn ::rtl::kernel::Describe) {
                match self { #(Self::#variants(of) => of.describe(block, to),)* }
            }
            fn record(&mut self) {
                match self { #(Self::#variants(of) => of.record(),)* }
            }
            fn is_idle(&self) -> bool {
                match self { #(Self::#variants(of) => of.is_idle(),)* }
            }
            fn settle(&mut self, cycle: u64) {
                match self { #(Self::#variants(of) => of.settle(cycle),)* }
            }
            fn caller(&self) -> ::std::option::Option<usize> {
                match self { #(Self::#variants(of) => of.caller(),)* }
            }
            fn count(&self) -> usize {
                match self { #(Self::#variants(of) => of.count(),)* }
            }
            fn renumber(&mut self, new: &dyn Fn(::std::any::TypeId, u32) -> u32) {
                match self { #(Self::#variants(of) => of.renumber(new),)* }
            }
            fn split(&mut self, island_of: &[usize], count: usize) -> ::std::vec::Vec<Self> {
                match self { #(Self::#variants(of) => of.split(island_of, count).into_iter().map(Self::from).collect(),)* }
            }
            fn unite(&mut self, island_of: &[usize], parts: ::std::vec::Vec<Self>) {
                match self {
                    #(Self::#variants(of) => of.unite(
                        island_of,
                        parts.into_iter().filter_map(|part| match part {
                            Self::#variants(of) => Some(of),
                            #[allow(unreachable_patterns, reason = "there may be one kind only")]
                            _ => None,
                        }).collect(),
                    ),)*
                }
            }
            fn adopt(&mut self, saved: Self) -> bool {
                match (self, saved) {
                    #((Self::#variants(of), Self::#variants(saved)) => of.adopt(saved),)*
                    #[allow(unreachable_patterns, reason = "there may be one kind only")]
                    _ => false,
                }
            }
            fn as_any(&self) -> &dyn ::std::any::Any {
                match self { #(Self::#variants(of) => of,)* }
            }
            fn as_any_mut(&mut self) -> &mut dyn ::std::any::Any {
                match self { #(Self::#variants(of) => of,)* }
            }
        }
    })
}
