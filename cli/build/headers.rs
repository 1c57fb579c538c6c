//! Collects the header comments of source files that implement a hardware block, or that name the hardware
//! block to which they belong.

use std::path::Path;
use std::{fs, io};

/// Returns the Rust text of the table `SOURCES` of hardware source files. Folders are in the order of
/// `rtl/lib.rs`, from the SMs to memory, and files in the order of their paths.
pub fn table(root: &Path) -> io::Result<String> {
    let lib = fs::read_to_string(root.join("rtl/lib.rs"))?;
    let place = |path: &String| {
        let folder = path.split('/').nth(1).unwrap_or_default().trim_end_matches(".rs");
        (lib.find(&format!("//! | [`{folder}`]")), path.clone())
    };
    let mut paths = super::sources(root, "rtl")?;
    paths.sort_by_cached_key(place);
    let mut table = "&[\n".to_owned();
    for path in paths {
        let text = fs::read_to_string(root.join(&path))?;
        let header: Vec<_> = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect();
        // Two groups of files implement the trait `Block` without being hardware sources: tests, and
        // `rtl/machine`, which only wraps the blocks of other folders.
        let is_hardware = !path.ends_with("/tests.rs") && !path.starts_with("rtl/machine/");
        let is_block = is_hardware && text.lines().any(|line| line.starts_with("impl") && line.contains(" Block for "));
        if is_block || header.iter().any(|line| line.starts_with("Part of ")) {
            let header = header.join("\n");
            table.push_str(&format!("Source {{ path: {path:?}, is_block: {is_block}, header: {header:?} }},\n"));
        }
    }
    Ok(table + "]\n")
}
