//! Finds the text of a line of a PTX file, and the line of the CUDA source from which it was compiled.

use std::path::{Path, PathBuf};

use miette::{IntoDiagnostic, Report, WrapErr};
use warpsieve::content::Content;
use warpsieve::launch::LaunchFile;

/// PTX texts, each with the path of its file, and with the name of a kernel if the text is used for that
/// kernel only.
#[derive(Default)]
pub struct Sources(Vec<(Option<String>, PathBuf, String)>);

impl Sources {
    /// Reads the PTX file `ptx`, which is used for all kernels. Returns an empty collection if `ptx` is
    /// `None`.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn of_file(ptx: Option<&Path>) -> Result<Self, Report> {
        let read = |path: &Path| {
            let text = Content::Ptx.read(path).into_diagnostic();
            text.wrap_err_with(|| format!("{} cannot be read", path.display()))
        };
        let text = ptx.map(|path| Ok::<_, Report>((None, path.to_owned(), read(path)?))).transpose()?;
        Ok(Self(text.into_iter().collect()))
    }

    /// Reads the PTX files that a launch file names. If a file cannot be read, uses an empty text; the run
    /// itself reports the error.
    pub fn of_launch(launch: &LaunchFile) -> Self {
        let text = |path: &Path| input::read_text(path).unwrap_or_default();
        let of = launch.launches().map(|launch| (Some(launch.kernel.clone()), launch.ptx.clone(), text(&launch.ptx)));
        Self(of.collect())
    }

    /// Returns line number `line`, counted from 1, of the PTX file of a kernel. Each run of blanks is reduced
    /// to a single blank.
    pub fn line(&self, kernel: &str, line: u32) -> Option<String> {
        line_of(self.of(kernel)?.1, line)
    }

    /// Returns the source line from which a PTX line was compiled, according to the last `.loc` above it.
    /// Sources are read only from the folder of the PTX file, so a PTX file cannot make the command read
    /// files elsewhere.
    pub fn origin(&self, kernel: &str, line: u32) -> Option<String> {
        let (path, text) = self.of(kernel)?;
        let above: Vec<_> = text.lines().take(line as usize).collect();
        let words =
            |line: &str| line.split([' ', '\t', ',']).filter(|word| !word.is_empty()).map(str::to_owned).collect();
        let is_inside = |line: &&&str| !line.trim_start().starts_with(['}', '{']);
        let located = above.iter().rev().take_while(is_inside).map(|line| words(line));
        let mut located = located.filter(|words: &Vec<String>| words.first().is_some_and(|word| word == ".loc"));
        let location = located.next()?;
        let [_, file, number, ..] = &location[..] else { return None };
        let named = text.lines().filter_map(|line| line.trim_start().strip_prefix(".file")).find_map(|rest| {
            let (number, name) = rest.split_once('"')?;
            (number.trim() == file).then(|| name.split('"').next().unwrap_or_default())
        });
        let name = Path::new(named?).file_name()?;
        let source =
            input::read_text(&path.with_file_name(name)).ok().and_then(|text| line_of(&text, number.parse().ok()?));
        let place = format!("{}:{number}", name.to_string_lossy());
        Some(source.map_or(place.clone(), |source| format!("{place}: {source}")))
    }

    /// Returns the path and text of the PTX file that contains a kernel.
    fn of(&self, kernel: &str) -> Option<(&PathBuf, &String)> {
        let named = self.0.iter().find(|(name, ..)| name.as_ref().is_some_and(|name| name == kernel));
        // A launch file may abbreviate kernel names, so the search for a kernel by its name may fail. If all
        // kernels are in one PTX file, that file is used.
        let only = || self.0.first().filter(|(_, path, _)| self.0.iter().all(|(_, other, _)| other == path));
        named.or_else(only).map(|(_, path, text)| (path, text))
    }
}

/// Returns line number `line` of a text, counted from 1. Each run of blanks is reduced to a single blank.
fn line_of(text: &str, line: u32) -> Option<String> {
    let text = text.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?)?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_line_is_traced_to_the_source_beside_the_ptx_and_to_no_other_file() {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("secret");
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(&outside, "a secret\n").unwrap();
        fs::write(folder.path().join("a/k.cu"), "one\n  two   words\n").unwrap();
        let ptx = format!(
            ".visible .entry f()\n{{\n.loc 1 2 5\nld.global.u32 %r1, [%rd1];\nld.global.u32 %r2, [%rd1];\n\
             .loc\t2 1 3, function_name $L+4, inlined_at 1 2 5\nld.global.u32 %r3, [%rd1];\n}}\n\
             .entry g()\n{{\nld.global.u32 %r1, [%rd1];\n}}\n.file\t1 \"/built/elsewhere/k.cu\"\n.file 2 \"{}\", 1, 2\n",
            outside.display()
        );
        let path = folder.path().join("a/k.ptx");
        fs::write(&path, ptx).unwrap();
        let sources = Sources::of_file(Some(&path)).unwrap();
        let origin = |line| sources.origin("f", line);
        assert_eq!(origin(4).as_deref(), Some("k.cu:2: two words"));
        assert_eq!(origin(5), origin(4));
        assert_eq!(origin(7).as_deref(), Some("secret:1"));
        assert_eq!((origin(1), origin(11)), (None, None));
    }
}
