//! Launches against the kernels they name: does the kernel exist, do its parameters take the
//! arguments.

use std::path::Path;

use golden::reference::ElementType;

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
}

/// What a PTX file says about one parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterShape {
    /// Its name.
    pub name: String,
    /// Its PTX type without the dot: `u64`, `s32`, `f32`, `b8` ...
    pub type_name: String,
    /// Its size in bytes; for an array, of all of it.
    pub bytes: usize,
    /// Whether PTX marks it `.ptr`. Most compilers leave pointers as plain `u64`.
    pub is_pointer: bool,
}

/// Addresses are 64 bits wide in every PTX file that we run.
const ADDRESS_BYTES: usize = 8;

impl LaunchFile {
    /// Checks that every launch names a kernel of its PTX file and passes it arguments of the
    /// number, size and kind that it declares. `kernels_of` lists the kernels of a PTX file.
    ///
    /// Signs are not compared, as compilers do not keep them: an `i32` goes into a `.u32`.
    ///
    /// # Errors
    /// Lists every launch and argument that does not fit.
    pub fn check_kernels<'k>(&self, kernels_of: impl Fn(&Path) -> &'k [KernelShape]) -> Result<(), LaunchError> {
        let mut problems = Problems::new(&self.path, &self.text);
        for launch in self.launches() {
            let kernels = kernels_of(&launch.ptx);
            match kernels.iter().find(|k| k.name == launch.kernel) {
                Some(kernel) => launch.check(kernel, &mut problems),
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
    fn check(&self, kernel: &KernelShape, problems: &mut Problems<'_>) {
        let (given, wanted) = (self.args.len(), kernel.parameters.len());
        if given != wanted {
            let parameters: Vec<_> = kernel.parameters.iter().map(ParameterShape::show).collect();
            let message = format!(
                "`{}` has {given} arguments, expected {wanted}: kernel `{}` has parameters {}",
                self.args_place.path,
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
                let expected = format!("{legal} for parameter {shown} of kernel `{kernel}`");
                problems.refuse(place, expected);
            }
        }
    }
}

impl ParameterShape {
    fn show(&self) -> String {
        let pointer = if self.is_pointer { " pointer" } else { "" };
        format!("{} {}{pointer}", self.name, self.type_name)
    }

    /// What it takes, in words.
    fn legal(&self) -> String {
        let bytes = self.bytes;
        let scalar = match self.type_name.chars().next() {
            _ if self.is_pointer => return "a buffer".to_owned(),
            Some('f') => return format!("a real scalar of {bytes} bytes"),
            Some('b') => format!("a scalar of {bytes} bytes"),
            _ => format!("an integer scalar of {bytes} bytes"),
        };
        match bytes {
            ADDRESS_BYTES => format!("a buffer or {scalar}"),
            _ => scalar,
        }
    }

    fn takes(&self, argument: &Argument) -> bool {
        let is_real = self.type_name.starts_with('f');
        match argument {
            Argument::Buffer { .. } => self.bytes == ADDRESS_BYTES && !is_real,
            Argument::Texture(_) => self.bytes == ADDRESS_BYTES && !is_real,
            Argument::Struct(members) => self.type_name.starts_with('b') && Argument::offsets(members).1 <= self.bytes,
            Argument::Scalar(_) | Argument::Iteration { .. } if self.is_pointer => false,
            Argument::Scalar(value) => self.takes_scalar(value.element()),
            Argument::Iteration { element, .. } => self.takes_scalar(*element),
        }
    }

    fn takes_scalar(&self, element: ElementType) -> bool {
        let is_kind = self.type_name.starts_with('b') || element.is_real() == self.type_name.starts_with('f');
        self.bytes == element.bytes() && is_kind
    }
}
