//! # PTX
//! Translates PTX text to a [`Program`]. The [`lexer`] splits the text into tokens. The [`parser`] builds the
//! syntax tree [`ast`] by the grammar of the PTX ISA, and [`lower`] translates one kernel. The parser accepts
//! everything that the grammar allows. Lowering rejects what the machine cannot execute. It translates
//! kernels separately, so that one unsupported kernel does not make its whole file unusable.
//!
//! Every stage keeps its stack on the heap and uses memory proportional to the text, so that untrusted text
//! can cause an error but no stack overflow.

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

/// Maximum length of a text in bytes.
pub const MAX_SOURCE_BYTES: usize = 8 << 20;

/// PTX file in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Name of the file in messages.
    pub name: Arc<str>,
    /// Content of the file.
    pub text: Arc<str>,
    /// Name and text together, to convert byte offsets of errors to lines and columns.
    numbered: Arc<Text>,
}

impl Source {
    /// Creates a source with this name and text.
    pub fn new(name: &str, text: &str) -> Source {
        let (name, text): (Arc<str>, Arc<str>) = (name.into(), text.into());
        let numbered = Arc::new(Text::new(Arc::clone(&name), Arc::clone(&text)));
        Source { name, text, numbered }
    }

    /// Parses the text.
    pub fn parse(&self) -> Result<ast::Module<'_>, PtxError> {
        parser::parse(self)
    }

    /// Returns the names of the kernels, in the order of the text.
    pub fn kernels(&self) -> Result<Vec<String>, PtxError> {
        let module = self.parse()?;
        Ok(module.kernels().map(|k| k.name.text.to_string()).collect())
    }

    /// Lowers the kernel with the name `kernel` to virtual registers.
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
