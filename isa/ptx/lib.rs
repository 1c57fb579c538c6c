//! # PTX
//! From PTX text to a [`Program`]: [`lexer`] cuts it into tokens, [`parser`] reads the
//! grammar of the PTX ISA into [`ast`], [`lower`] gives one kernel its meaning. The parser
//! takes whatever the grammar allows; what cannot be executed is refused by the lowering of
//! the kernel that uses it, so that one exotic kernel does not spoil its file.
//!
//! Every stage keeps its own stack on the heap and its memory in proportion to the text:
//! text from anywhere can at worst be refused.

pub mod ast;
pub mod data;
mod duplicates;
mod error;
mod forms;
pub mod lexer;
pub mod lower;
pub mod parser;

use std::sync::Arc;

pub use error::PtxError;

use input::Text;
use isa::program::Program;

/// Longest text that is accepted, in bytes.
pub const MAX_SOURCE_BYTES: usize = 8 << 20;

/// A PTX file in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Name shown in messages.
    pub name: Arc<str>,
    /// The text.
    pub text: Arc<str>,
    /// Both, for the places of errors.
    numbered: Arc<Text>,
}

impl Source {
    /// A source with the given name and text.
    pub fn new(name: &str, text: &str) -> Source {
        let (name, text): (Arc<str>, Arc<str>) = (name.into(), text.into());
        let numbered = Arc::new(Text::new(Arc::clone(&name), Arc::clone(&text)));
        Source { name, text, numbered }
    }

    /// Reads the text.
    pub fn parse(&self) -> Result<ast::Module<'_>, PtxError> {
        parser::parse(self)
    }

    /// Names of the kernels, in order.
    pub fn kernels(&self) -> Result<Vec<String>, PtxError> {
        let module = self.parse()?;
        Ok(module.kernels().map(|k| k.name.text.to_string()).collect())
    }

    /// Lowers the kernel called `kernel`, to virtual registers.
    pub fn kernel(&self, kernel: &str) -> Result<Program, PtxError> {
        let module = self.parse()?;
        lower::lower(self, &module, kernel)
    }
}

#[cfg(test)]
mod alloc_tests;
#[cfg(test)]
mod tensor_tests;
#[cfg(test)]
mod tests;
