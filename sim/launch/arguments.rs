//! Launches against the kernels they name: does the kernel exist, do its parameters take the
//! arguments.

use std::path::Path;

use golden::reference::ElementType;
use input::noun;
use isa::program::LaunchLimits;
use isa::types::Type;

use super::model::{Argument, KernelLaunch, LaunchFile};
use super::problem::{LaunchError, Problems};
use crate::config::suggestion;

/// What a PTX file says about one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelShape {
    /// Its name.
    pub name: String,
    /// Its parameters, in order.
    pub parameters: Vec<ParameterShape>,
    /// Shared memory that it declares itself, in bytes.
    pub shared_bytes: u32,
    /// Launches that it takes.
    pub limits: LaunchLimits,
}

/// What a PTX file says about one parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterShape {
    /// Its name.
    pub name: String,
    /// Its PTX type, of an array that of its elements.
    pub ty: Type,
    /// Its size in bytes; for an array, of all of it.
    pub bytes: usize,
}

/// Addresses are 64 bits wide in every PTX file that we run.
const ADDRESS_BYTES: usize = 8;

impl LaunchFile {
    /// Checks that every launch names a kernel of its PTX file, has a shape that this takes, and passes
    /// it arguments of the number, size and kind that it declares. `kernels_of` lists the kernels of a PTX
    /// file, `sm_shared_bytes` is the shared memory of an SM.
    ///
    /// Signs are not compared, as compilers do not keep them: an `i32` goes into a `.u32`.
    ///
    /// # Errors
    /// Lists every launch and argument that does not fit.
    pub fn check_kernels<'k>(
        &self,
        sm_shared_bytes: u32,
        kernels_of: impl Fn(&Path) -> &'k [KernelShape],
    ) -> Result<(), LaunchError> {
        let mut problems = Problems::new(&self.path, &self.text);
        for launch in self.launches() {
            let kernels = kernels_of(&launch.ptx);
            match kernels.iter().find(|k| k.name == launch.kernel) {
                Some(kernel) => {
                    launch.check_shape(kernel, sm_shared_bytes, &mut problems);
                    launch.check_arguments(kernel, &mut problems);
                }
                None => {
                    let names: Vec<_> = kernels.iter().map(|k| k.name.as_str()).collect();
                    problems.refuse_with_help(
                        &launch.kernel_place,
                        format!("a kernel of {}", launch.ptx.display()),
                        Some(suggestion(&launch.kernel, "kernels", &names)),
                    );
                }
            }
        }
        problems.or(Some(()))
    }
}

impl KernelLaunch {
    fn check_shape(&self, kernel: &KernelShape, sm_shared_bytes: u32, problems: &mut Problems<'_>) {
        let declares = |(expected, directive): (String, &str)| {
            format!("{expected}: kernel `{}` declares `{directive}`", kernel.name)
        };
        if let Err(refused) = kernel.limits.check_block(self.block) {
            problems.refuse(&self.block_place, declares(refused));
        }
        if let Err(refused) = kernel.limits.check_grid(self.grid) {
            problems.refuse(&self.grid_place, declares(refused));
        }
        if let Some(place) = &self.shared_place {
            let free = sm_shared_bytes.saturating_sub(kernel.shared_bytes);
            if self.shared_bytes > free {
                let (has, takes, name) = (sm_shared_bytes, kernel.shared_bytes, &kernel.name);
                let why = format!("an SM of the machine has {has} bytes, of which kernel `{name}` declares {takes}");
                problems.refuse(place, format!("0 to {free}: {why}"));
            }
        }
    }

    fn check_arguments(&self, kernel: &KernelShape, problems: &mut Problems<'_>) {
        let (given, wanted) = (self.args.len(), kernel.parameters.len());
        if given != wanted {
            let parameters: Vec<_> = kernel.parameters.iter().map(ParameterShape::show).collect();
            let message = format!(
                "`{}` has {given} {}, expected {wanted}: kernel `{}` has parameters {}",
                self.args_place.path,
                noun(given, "argument", "arguments"),
                kernel.name,
                match parameters.as_slice() {
                    [] => "none".to_owned(),
                    _ => parameters.join(", "),
                }
            );
            problems.add(self.args_place.span.clone(), message, None);
            return;
        }
        let places = self.arg_places.iter();
        for ((argument, place), parameter) in self.args.iter().zip(places).zip(&kernel.parameters) {
            if !parameter.takes(argument) {
                let (kernel, shown, legal) = (&kernel.name, parameter.show(), parameter.legal());
                let given = argument.padded_bytes();
                let size = if given == parameter.bytes { String::new() } else { format!(", not {}", in_bytes(given)) };
                let expected = format!("{legal}{size} for parameter {shown} of kernel `{kernel}`");
                problems.refuse(place, expected);
            }
        }
    }
}

/// The kind of a value within an argument: its type, or an address.
#[derive(Clone, Copy)]
enum Kind {
    Address,
    Value(ElementType),
}

/// A size in words.
fn in_bytes(bytes: usize) -> String {
    format!("{bytes} {}", noun(bytes, "byte", "bytes"))
}

impl ParameterShape {
    fn show(&self) -> String {
        let Self { name, ty, .. } = self;
        match self.elements() {
            1 => format!("{name} {}", ty.name()),
            count => format!("{name} {}[{count}]", ty.name()),
        }
    }

    /// Number of elements: 1 unless it is an array or a vector.
    fn elements(&self) -> usize {
        self.bytes / (self.ty.bytes() as usize).max(1)
    }

    /// What it takes, in words.
    fn legal(&self) -> String {
        let Self { ty, bytes, .. } = self;
        if self.elements() > 1 {
            let (count, name) = (self.elements(), self.element_names().join(" or "));
            return match ty {
                Type::B8 => format!("a struct of at most {bytes} bytes, or {bytes} bytes"),
                _ => format!("a list of {count} values of {name}, or a struct of {bytes} bytes"),
            };
        }
        let kind = match () {
            () if ty.is_float() => "a real scalar",
            () if ty.is_untyped() => "a scalar",
            () => "an integer scalar",
        };
        let scalar = format!("{kind} of {} ({})", in_bytes(*bytes), self.element_names().join(", "));
        match *bytes == ADDRESS_BYTES && !ty.is_float() {
            true => format!("a buffer, \"null\" or {scalar}"),
            false => scalar,
        }
    }

    /// Names of the types of a launch file that one of its elements takes.
    fn element_names(&self) -> Vec<&'static str> {
        let all = ElementType::ALL.into_iter();
        let fitting = all.filter(|&element| self.suits(Kind::Value(element)) == Some(true));
        fitting.map(ElementType::name).collect()
    }

    /// True if the argument has the size of the parameter and no value in it is of another kind than the
    /// element whose place it takes.
    fn takes(&self, argument: &Argument) -> bool {
        let suits = |kind| self.suits(kind);
        match argument {
            Argument::Struct { .. } => {
                // A struct may leave the end of a parameter of bytes alone, whose last members may be empty.
                let fits = match self.ty {
                    Type::B8 => argument.bytes() <= self.bytes,
                    _ => argument.padded_bytes() == self.bytes,
                };
                fits && kinds(argument).all(|kind| suits(kind) != Some(false))
            }
            Argument::Scalar(values) if values.len() > 1 => {
                values.bytes().len() == self.bytes && suits(Kind::Value(values.element())) != Some(false)
            }
            _ => argument.bytes() == self.bytes && kinds(argument).all(|kind| suits(kind) == Some(true)),
        }
    }

    /// True if a value can be an element, false if it is as wide but of another kind; `None` if it has another width,
    /// so that it can only be a piece of elements or a run of them.
    fn suits(&self, kind: Kind) -> Option<bool> {
        let (bytes, is_real) = match kind {
            Kind::Address => (ADDRESS_BYTES, false),
            Kind::Value(element) => (element.bytes(), element.is_real()),
        };
        // Bytes without a type are a value of any width.
        let is_element = bytes == self.ty.bytes() as usize || (self.ty == Type::B8 && bytes == self.bytes);
        is_element.then(|| self.ty.is_untyped() || is_real == self.ty.is_float())
    }
}

/// The kind of every value within an argument.
fn kinds(argument: &Argument) -> Box<dyn Iterator<Item = Kind> + '_> {
    match argument {
        Argument::Buffer { .. } | Argument::Texture(_) => Box::new(std::iter::once(Kind::Address)),
        Argument::Scalar(values) => Box::new(std::iter::once(Kind::Value(values.element()))),
        Argument::Iteration { element, .. } => Box::new(std::iter::once(Kind::Value(*element))),
        Argument::Struct { members, .. } => Box::new(members.iter().flat_map(kinds)),
    }
}
