//! Reader of launch files: converts TOML to the typed model and reports every broken rule.
//!
//! The document is traversed by hand, because a derived deserializer stops at its first error.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use golden::reference::{Array, ElementType};

use super::model::{BufferId, LaunchFile};
use super::node::{Node, Table};
use super::npy::{NpyError, read_npy};
use super::problem::{LaunchError, Problems};
use super::sizes::{locate, read_text, with_expanded};
use super::structs::{Field, StructType};
use super::view::View;
use super::{buffers, outputs, steps, structs};
use crate::config::suggestion;

/// Definitions of a launch file, to which later parts of the file may refer.
pub(super) struct Scope<'a> {
    /// Folder to which the paths in the file are relative.
    pub folder: &'a Path,
    /// Struct types declared in the file.
    pub types: Vec<StructType>,
    /// Buffers declared in the file, with the properties that could be read.
    pub buffers: Vec<buffers::DeclaredBuffer>,
    /// Index of each buffer by name.
    pub numbers: HashMap<String, usize>,
    /// PTX file for launches that name no PTX file. `None` if the launch file states no such default, and
    /// `Some(None)` if it states an invalid one.
    pub ptx: Option<Option<PathBuf>>,
    /// Paths of the data files that have been read so far.
    pub data: RefCell<Vec<PathBuf>>,
}

impl LaunchFile {
    /// Reads and checks a launch file and its data files. The path may select a problem size of the file, as
    /// [`locate`] describes. PTX files must exist but are not opened.
    ///
    /// # Errors
    /// Fails if the file cannot be read or breaks a rule. The error then lists every rule that it breaks.
    pub fn read(path: &Path) -> Result<Self, LaunchError> {
        let (file, size) = locate(path);
        let launch = Self::parse_size(&file, &read_text(&file)?, size.as_deref())?;
        Ok(Self { path: path.to_owned(), ..launch })
    }

    /// Parses `text`, the contents of the launch file `path`, and selects the main problem size.
    ///
    /// # Errors
    /// Returns every rule that the text breaks.
    pub fn parse(path: &Path, text: &str) -> Result<Self, LaunchError> {
        Self::parse_size(path, text, None)
    }

    fn parse_size(file: &Path, text: &str, size: Option<&str>) -> Result<Self, LaunchError> {
        with_expanded(file, text, size, |document, problems| {
            read_root(file, text, &Table::root(&document, text), problems)
        })
    }
}

fn read_root(path: &Path, text: &str, root: &Table<'_>, problems: &mut Problems<'_>) -> Option<LaunchFile> {
    root.refuse_unknown(&["title", "ptx", "type", "buffer", "step", "output"], problems);
    let folder = path.parent().unwrap_or(Path::new(""));
    let title = root.get("title");
    let title = title.and_then(|node| node.text("one line of text", problems));
    let types = structs::read(root, problems);
    let mut scope =
        Scope { folder, types, buffers: Vec::new(), numbers: HashMap::new(), ptx: None, data: RefCell::default() };
    let ptx = root.get("ptx");
    scope.ptx = ptx.map(|node| existing_file(&scope, &node, "a PTX file", problems));
    scope.buffers = buffers::read(&scope, root, problems);
    scope.numbers = scope.buffers.iter().enumerate().map(|(number, buffer)| (buffer.name.clone(), number)).collect();
    let steps = steps::read(&scope, root, problems);
    let outputs = outputs::read(&scope, root, problems);
    let buffers: Option<Vec<_>> = scope.buffers.into_iter().map(|b| b.into_buffer()).collect();
    Some(LaunchFile {
        path: path.to_owned(),
        file: path.to_owned(),
        title: title.map(str::to_owned),
        buffers: buffers?,
        steps: steps?,
        outputs: outputs?,
        text: text.to_owned(),
        data: scope.data.into_inner(),
    })
}

/// Reads the path of a file, and reports an error if the file does not exist.
pub(super) fn existing_file(
    scope: &Scope<'_>,
    node: &Node<'_>,
    what: &str,
    problems: &mut Problems<'_>,
) -> Option<PathBuf> {
    let text = node.text(format!("the path of {what}"), problems)?;
    let path = scope.folder.join(text);
    if !path.is_file() {
        let shown = path.display();
        let found = match path.metadata() {
            Ok(there) if there.is_dir() => format!("{shown} is a folder"),
            Ok(_) => format!("{shown} is a device or a pipe"),
            Err(_) => format!("there is no file {shown}"),
        };
        problems.refuse(&node.place, format!("{what}: {found}"));
        return None;
    }
    Some(path)
}

impl Scope<'_> {
    /// Reads a `.npy` data file as elements of type `element`.
    pub fn data(&self, path: &str, element: ElementType) -> Result<Array, NpyError> {
        let path = self.folder.join(path);
        let array = read_npy(&path, element);
        self.data.borrow_mut().push(path);
        array
    }

    /// Returns the buffer whose name is the value `node`. Reports an error if there is no such buffer.
    pub fn buffer(&self, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<BufferId> {
        let name = node.text("the name of a buffer", problems)?;
        let found = self.find_buffer(name);
        if found.is_none() {
            let names = || self.buffers.iter().map(|b| b.name.as_str()).collect::<Vec<_>>();
            let help = problems.wants_help().then(|| suggestion(name, "buffers", &names()));
            problems.refuse_with_help(&node.place, "the name of a buffer", help);
        }
        found
    }

    /// Returns the buffer with this name.
    pub fn find_buffer(&self, name: &str) -> Option<BufferId> {
        self.numbers.get(name).copied().map(BufferId)
    }

    /// Returns the view of all elements of a buffer, and the fields of its structs if it has any. Returns
    /// `None` if the declaration of the buffer breaks a rule.
    pub fn whole(&self, buffer: BufferId) -> Option<(&[Field], View)> {
        let declared = &self.buffers[buffer.0];
        let (element, elements, fields) = (declared.element?, declared.elements?, declared.fields.as_deref()?);
        let bytes = if fields.is_empty() { element.bytes() } else { StructType::bytes(fields) };
        let count = elements * element.bytes() / bytes;
        Some((fields, View { buffer, element, start: 0, stride: bytes, bytes, count }))
    }

    /// True if the buffer is declared as a texture.
    pub fn has_texture(&self, buffer: BufferId) -> bool {
        self.buffers[buffer.0].texture.is_some()
    }
}
