//! Lists the hardware blocks and their components. Their names and purposes are taken from the first lines of
//! their source files, which `cli/build/headers.rs` collects.

use serde::Serialize;

/// Hardware block, which the simulator evaluates once per clock edge, or component of a hardware block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hardware {
    /// Name of the hardware block or component: the heading of its source file.
    pub name: String,
    /// Kind of hardware: `block`, or `part` for a component of a hardware block.
    pub kind: &'static str,
    /// Path of the source file that implements the hardware.
    pub path: &'static str,
    /// Purpose of the hardware block or component: the first sentence of its source file.
    pub purpose: String,
    /// Paths of the source files of all hardware blocks or components that contain this component. The
    /// printed list of hardware shows the component only once, below the first block or component in this
    /// field.
    pub part_of: Vec<&'static str>,
    /// Nesting depth: 0 for a hardware block, 1 for its components, and so on.
    #[serde(skip)]
    pub depth: usize,
}

/// Source file of a hardware block or component.
#[derive(Clone, Copy, Debug)]
struct Source {
    path: &'static str,
    is_block: bool,
    /// Header comment of the source file, with its line breaks.
    header: &'static str,
}

/// All source files of hardware blocks and components, in order from the SMs to memory.
const SOURCES: &[Source] = include!(concat!(env!("OUT_DIR"), "/headers.rs"));

/// Returns the hardware blocks, ordered from the SMs to memory. Each block is followed by its components.
#[must_use]
pub fn hardware() -> Vec<Hardware> {
    let mut found = Vec::new();
    SOURCES.iter().filter(|source| source.is_block).for_each(|block| add(block, 0, &mut found));
    found
}

/// Adds the hardware block or component of a source file to the list, followed by its components.
fn add(source: &Source, depth: usize, found: &mut Vec<Hardware>) {
    found.push(read(source, depth));
    let is_part = |part: &&Source| !part.is_block && part_of(part.header).first() == Some(&source.path);
    SOURCES.iter().filter(is_part).for_each(|part| add(part, depth + 1, found));
}

fn read(&Source { path, is_block, header }: &Source, depth: usize) -> Hardware {
    let mut lines = header.lines();
    let name = lines.next().unwrap_or_default().trim_start_matches('#').trim().to_owned();
    let prose: Vec<_> = lines.take_while(|line| !line.is_empty() && !line.starts_with("1.")).collect();
    let prose = prose.join(" ");
    let end = prose.find(". ").map_or(prose.len(), |dot| dot + 1);
    let purpose = prose[..end].trim_end_matches(['.', ':']).to_owned();
    Hardware { name, kind: if is_block { "block" } else { "part" }, path, purpose, part_of: part_of(header), depth }
}

/// Returns the source files that a header comment names after `Part of`.
fn part_of(header: &str) -> Vec<&str> {
    let line = header.lines().find_map(|line| line.strip_prefix("Part of "));
    line.map(|line| line.split('`').skip(1).step_by(2).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_says_its_name_and_purpose_in_its_first_lines() {
        for hardware in hardware() {
            let Hardware { name, path, purpose, .. } = &hardware;
            assert!(!name.is_empty() && name.len() < 60, "{path}: {name}");
            assert!(purpose.len() > 10 && !purpose.contains('|'), "{path}: {purpose}");
        }
    }

    #[test]
    fn every_file_with_the_mark_is_listed_once_below_what_it_belongs_to() {
        let found = hardware();
        let place = |path: &str| found.iter().position(|hardware| hardware.path == path);
        for source in SOURCES {
            assert_eq!(found.iter().filter(|hardware| hardware.path == source.path).count(), 1, "{}", source.path);
        }
        for hardware in &found {
            assert_eq!(hardware.kind == "block", hardware.part_of.is_empty(), "{}", hardware.path);
            for whole in &hardware.part_of {
                assert!(place(whole).is_some(), "{} is part of {whole}, which is not listed", hardware.path);
            }
            assert!(hardware.part_of.first().is_none_or(|whole| place(whole) < place(hardware.path)));
        }
        let tags = &found[place("rtl/l1/tags.rs").unwrap()];
        assert_eq!((tags.depth, &*tags.part_of), (2, &["rtl/l1/cache.rs"][..]));
        let blocks: Vec<_> = found.iter().filter(|hardware| hardware.kind == "block").map(|block| block.path).collect();
        assert_eq!([blocks[0], blocks[blocks.len() - 1]], ["rtl/sm/core.rs", "rtl/dram/channel.rs"]);
    }

    #[test]
    fn the_first_sentence_ends_at_its_full_stop() {
        let header = "# Name\nDoes one thing\nwith care. Then more.\n\nElse.\nPart of `a.rs` and `b.rs`.";
        let Hardware { name, purpose, part_of, .. } = read(&Source { path: "x.rs", is_block: false, header }, 1);
        assert_eq!((name.as_str(), purpose.as_str()), ("Name", "Does one thing with care"));
        assert_eq!(part_of, ["a.rs", "b.rs"]);
    }
}
