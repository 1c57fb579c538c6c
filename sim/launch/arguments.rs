//! Checks launches against their kernels: the kernel must exist and its parameters must accept the arguments.

use std::path::Path;

use golden::reference::ElementType;
use input::noun;
use isa::program::LaunchLimits;
use isa::types::Type;

use super::model::{Argument, KernelLaunch, LaunchFile};
use super::problem::{LaunchError, Problems};
use crate::config::suggestion;

/// Properties of a kernel, declared in its PTX file, with which a launch must agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelShape {
    /// Name of the kernel.
    pub name: String,
    /// Parameters of the kernel, in order of declaration.
    pub parameters: Vec<ParameterShape>,
    /// Statically declared shared memory, in bytes.
    pub shared_bytes: u32,
    /// Limits that the kernel sets on the grid and CTA size of its launches.
    pub limits: LaunchLimits,
}

/// Declaration of a kernel parameter in a PTX file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterShape {
    /// Name of the parameter.
    pub name: String,
    /// PTX type; for an array, the type of its elements.
    pub ty: Type,
    /// Size of the parameter or of the whole array, in bytes.
    pub bytes: usize,
}

/// Size of an address in bytes. All supported PTX files use 64-bit addresses.
const ADDRESS_BYTES: usize = 8;

impl LaunchFile {
    /// Checks every launch. The kernel of a launch must be in the stated PTX file and accept the shape of the
    /// launch, and the arguments must match the parameters in number, size and kind. `kernels_of` lists the
    /// kernels of a PTX file, and `sm_shared_bytes` is the shared memory of an SM.
    ///
    /// Signedness is not compared, because compilers do not preserve it: an `i32` is accepted for a `.u32`.
    ///
    /// # Errors
    /// Returns an error that lists all launches and arguments that do not match.
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
                let why = format!("an SM has {has} bytes of shared memory, of which kernel `{name}` declares {takes}");
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

/// Kind of one value in an argument: an address, or a number of a certain type.
#[derive(Clone, Copy)]
enum Kind {
    Address,
    Value(ElementType),
}

/// Formats a size in bytes.
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

    /// Number of elements in the parameter: 1 for a scalar, more for an array or a vector.
    fn elements(&self) -> usize {
        self.bytes / (self.ty.bytes() as usize).max(1)
    }

    /// Describes the arguments that the parameter accepts, for error messages.
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

    /// Returns the names of the element types that a launch file may use for one element of the parameter.
    fn element_names(&self) -> Vec<&'static str> {
        let all = ElementType::ALL.into_iter();
        let fitting = all.filter(|&element| self.suits(Kind::Value(element)) == Some(true));
        fitting.map(ElementType::name).collect()
    }

    /// True if the parameter accepts the argument. The sizes must be equal, and every value of the argument
    /// must be of the right kind; a real number, for example, is the wrong kind for an integer.
    fn takes(&self, argument: &Argument) -> bool {
        let suits = |kind| self.suits(kind);
        match argument {
            Argument::Struct { .. } => {
                // A parameter declared as an array of bytes may be larger than the argument, because the last
                // members of a struct may be empty. No value of the argument then corresponds to the last
                // bytes of the parameter.
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

    /// Compares a value of an argument with the element type of the parameter. If value and element have the
    /// same size, returns true if they are of the same kind, and false otherwise. If the sizes differ,
    /// returns `None`, because the value covers a part of an element or several elements.
    fn suits(&self, kind: Kind) -> Option<bool> {
        let (bytes, is_real) = match kind {
            Kind::Address => (ADDRESS_BYTES, false),
            Kind::Value(element) => (element.bytes(), element.is_real()),
        };
        // A parameter declared as an array of bytes also accepts a single value of the size of the whole
        // array.
        let is_element = bytes == self.ty.bytes() as usize || (self.ty == Type::B8 && bytes == self.bytes);
        is_element.then(|| self.ty.is_untyped() || is_real == self.ty.is_float())
    }
}

/// Iterates over the kinds of all values in an argument.
fn kinds(argument: &Argument) -> Box<dyn Iterator<Item = Kind> + '_> {
    match argument {
        Argument::Buffer { .. } | Argument::Texture(_) => Box::new(std::iter::once(Kind::Address)),
        Argument::Scalar(values) => Box::new(std::iter::once(Kind::Value(values.element()))),
        Argument::Iteration { element, .. } => Box::new(std::iter::once(Kind::Value(*element))),
        Argument::Struct { members, .. } => Box::new(members.iter().flat_map(kinds)),
    }
}
