//! Reading a launch file: TOML to the typed model, with every broken rule reported.
//!
//! The document is walked by hand rather than derived: a derived reader stops at its first error.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use golden::reference::{Array, ElementType};

use super::model::{BufferId, LaunchFile};
use super::node::{Node, Table};
use super::npy::{NpyError, read_npy};
use super::problem::{LaunchError, Problems};
use super::structs::{Field, StructType};
use super::view::View;
use super::{buffers, outputs, steps, structs};
use crate::config::suggestion;
use crate::content::Content;

/// What the rest of the file may refer to.
pub(super) struct Scope<'a> {
    /// Folder that paths are relative to.
    pub folder: &'a Path,
    /// The structs that it declares.
    pub types: Vec<StructType>,
    /// The buffers, as far as they could be read.
    pub buffers: Vec<buffers::Declared>,
    /// Numbers of the buffers by their names.
    pub numbers: HashMap<String, usize>,
    /// The PTX file of launches that name none, if it is one.
    pub ptx: Option<Option<PathBuf>>,
    /// The data files so far.
    pub data: RefCell<Vec<PathBuf>>,
}

impl LaunchFile {
    /// Reads and checks a launch file and the data files that it names. PTX files must exist, but
    /// are not opened.
    ///
    /// # Errors
    /// If the file cannot be read, or with every rule that it breaks.
    pub fn read(path: &Path) -> Result<Self, LaunchError> {
        let text =
            Content::Launch.read(path).map_err(|reason| LaunchError::Unreadable { path: path.to_owned(), reason })?;
        Self::parse(path, &text)
    }

    /// Reads a text as if it stood in the file `path`.
    ///
    /// # Errors
    /// With every rule that it breaks.
    pub fn parse(path: &Path, text: &str) -> Result<Self, LaunchError> {
        let mut problems = Problems::new(path, text);
        let Some(document) = problems.document(text) else { return problems.or(None) };
        let root = Table::root(&document, text);
        let file = read_root(path, text, &root, &mut problems);
        problems.or(file)
    }
}

fn read_root(path: &Path, text: &str, root: &Table<'_>, problems: &mut Problems<'_>) -> Option<LaunchFile> {
    root.refuse_unknown(&["title", "ptx", "type", "buffer", "step", "output"], problems);
    let folder = path.parent().unwrap_or(Path::new(""));
    let title = root.get("title");
    let title = title.and_then(|node| node.text("a line of text", problems));
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
        title: title.map(str::to_owned),
        buffers: buffers?,
        steps: steps?,
        outputs: outputs?,
        text: text.to_owned(),
        data: scope.data.into_inner(),
    })
}

/// The path of a file that must exist.
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
    /// The elements of a data file.
    pub fn data(&self, path: &str, element: ElementType) -> Result<Array, NpyError> {
        let path = self.folder.join(path);
        let array = read_npy(&path, element);
        self.data.borrow_mut().push(path);
        array
    }

    /// The buffer that a value names.
    pub fn buffer(&self, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<BufferId> {
        let name = node.text("the name of a buffer", problems)?;
        let found = self.named(name);
        if found.is_none() {
            let names = || self.buffers.iter().map(|b| b.name.as_str()).collect::<Vec<_>>();
            let help = problems.wants_help().then(|| suggestion(name, "buffers", &names()));
            problems.refuse_with_help(&node.place, "the name of a buffer", help);
        }
        found
    }

    /// The buffer of that name.
    pub fn named(&self, name: &str) -> Option<BufferId> {
        self.numbers.get(name).copied().map(BufferId)
    }

    /// All elements of a buffer, and their fields if they are structs; `None` if it broke a rule.
    pub fn whole(&self, buffer: BufferId) -> Option<(&[Field], View)> {
        let declared = &self.buffers[buffer.0];
        let (element, elements, fields) = (declared.element?, declared.elements?, declared.fields.as_deref()?);
        let bytes = if fields.is_empty() { element.bytes() } else { StructType::bytes(fields) };
        let count = elements * element.bytes() / bytes;
        Some((fields, View { buffer, element, start: 0, stride: bytes, bytes, count }))
    }

    /// Whether a buffer is a texture.
    pub fn has_texture(&self, buffer: BufferId) -> bool {
        self.buffers[buffer.0].texture.is_some()
    }
}
