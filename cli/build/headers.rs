//! The headers of the files that are a block, or say of what they are a part.

use std::path::Path;
use std::{fs, io};

/// The table `SOURCES`: folders in the order in which `rtl/lib.rs` lists them, from the SMs to memory, and files by path.
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
        // Tests have blocks of their own, which are no hardware, and the machine lends ends to the blocks of other folders.
        let is_hardware = !path.ends_with("/tests.rs") && !path.starts_with("rtl/machine/");
        let is_block = is_hardware && text.lines().any(|line| line.starts_with("impl") && line.contains(" Block for "));
        if is_block || header.iter().any(|line| line.starts_with("Part of ")) {
            let header = header.join("\n");
            table.push_str(&format!("Source {{ path: {path:?}, is_block: {is_block}, header: {header:?} }},\n"));
        }
    }
    Ok(table + "]\n")
}
