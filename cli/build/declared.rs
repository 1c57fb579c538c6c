//! What a source file declares: the members of structures and choices, with their doc comments.

use std::error::Error;
use std::fs;
use std::path::Path;

use syn::{Attribute, Expr, Fields, File, GenericArgument, Item, Lit, Meta, PathArguments, Type, UseTree};

/// A structure, or a choice by its variants.
pub struct Declared {
    /// The file that declares it.
    pub file: String,
    /// The type whose members describe those that have no sentence here: the first link of its doc comment.
    pub of: Option<String>,
    pub members: Vec<Member>,
}

pub struct Member {
    /// In snake case, as in the statistics.
    pub name: String,
    /// Its doc comment, in one line.
    pub about: String,
    /// Its type without `Option`, references and lists around it; empty for a variant.
    pub ty: String,
    /// There are several.
    pub is_list: bool,
}

/// Finds `name` as the file sees it: declared there, or brought in by a `use` from elsewhere in the workspace.
pub fn find(root: &Path, file: &str, name: &str) -> Result<Declared, Box<dyn Error>> {
    let ast = parse(root, file)?;
    if let Some(declared) = declared_in(&ast, file, name) {
        return Ok(declared);
    }
    let uses = ast.items.iter().filter_map(|item| if let Item::Use(item) = item { Some(&item.tree) } else { None });
    let module = uses.filter_map(|tree| module_of(tree, name)).next();
    let module = module.ok_or_else(|| format!("{file}: `{name}` is neither declared nor brought in by a `use`"))?;
    // The library has another name than its folder. A module is a file, or a folder that passes on what its files declare.
    let place = module.replacen("warpsieve", "sim", 1);
    let mut files = super::sources(root, &format!("{place}.rs")).unwrap_or_default();
    files.extend(super::sources(root, &place).unwrap_or_default());
    for other in files.iter().filter(|other| root.join(other).is_file()) {
        if let Some(declared) = declared_in(&parse(root, other)?, other, name) {
            return Ok(declared);
        }
    }
    Err(format!("{file}: `{name}` of {place} is declared in none of its files").into())
}

fn parse(root: &Path, file: &str) -> Result<File, Box<dyn Error>> {
    let text = fs::read_to_string(root.join(file)).map_err(|reason| format!("{file}: {reason}"))?;
    syn::parse_file(&text).map_err(|reason| format!("{file}: {reason}").into())
}

/// The module, as a path, from which a `use` brings `name`.
fn module_of(tree: &UseTree, name: &str) -> Option<String> {
    match tree {
        UseTree::Path(path) => {
            let inner = module_of(&path.tree, name)?;
            Some(if inner.is_empty() { path.ident.to_string() } else { format!("{}/{inner}", path.ident) })
        }
        UseTree::Group(group) => group.items.iter().find_map(|tree| module_of(tree, name)),
        UseTree::Name(leaf) => (leaf.ident == name).then(String::new),
        UseTree::Rename(_) | UseTree::Glob(_) => None,
    }
}

fn declared_in(ast: &File, file: &str, name: &str) -> Option<Declared> {
    ast.items.iter().find_map(|item| {
        let (attributes, members) = match item {
            Item::Struct(item) if item.ident == name => (&item.attrs, fields(&item.fields, name)),
            Item::Enum(item) if item.ident == name => {
                let variant = |v: &syn::Variant| Member {
                    name: snake(&v.ident.to_string()),
                    about: about(&v.attrs),
                    ty: String::new(),
                    is_list: false,
                };
                (&item.attrs, item.variants.iter().map(variant).collect())
            }
            _ => return None,
        };
        let doc = about(attributes);
        let of = doc.split_once("[`").and_then(|(_, rest)| rest.split_once("`]")).map(|(name, _)| name.to_owned());
        Some(Declared { file: file.to_owned(), of, members })
    })
}

fn fields(fields: &Fields, own: &str) -> Vec<Member> {
    let named = fields.iter().filter_map(|field| Some((field.ident.as_ref()?, field)));
    let member = named.map(|(name, field)| {
        let (ty, is_list) = inner(&field.ty);
        let ty = if ty == "Self" { own.to_owned() } else { ty };
        Member { name: name.to_string(), about: about(&field.attrs), ty, is_list }
    });
    member.collect()
}

/// The name of a type without what is around it, and whether that is a list.
fn inner(ty: &Type) -> (String, bool) {
    match ty {
        Type::Reference(reference) => inner(&reference.elem),
        Type::Slice(slice) => (inner(&slice.elem).0, true),
        Type::Array(array) => (inner(&array.elem).0, true),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return (String::new(), false) };
            let name = last.ident.to_string();
            match &last.arguments {
                PathArguments::AngleBracketed(arguments) if name == "Option" || name == "Vec" => {
                    let ty = arguments
                        .args
                        .iter()
                        .find_map(|a| if let GenericArgument::Type(ty) = a { Some(ty) } else { None });
                    let (ty, is_list) = ty.map(inner).unwrap_or_default();
                    (ty, is_list || name == "Vec")
                }
                _ => (name, false),
            }
        }
        _ => (String::new(), false),
    }
}

/// A doc comment in one line.
fn about(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join(" ")
}

/// `LineAlloc` as `line_alloc`.
fn snake(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}
