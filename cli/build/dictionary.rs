//! The dictionary of counters and of stall reasons: the doc comments beside them.
//!
//! Counters are found by following `Stats` in `cli/stats.rs` from field to field. A field without a sentence of its own
//! has that of the counter of its name in the type that the doc comment of its structure links.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use crate::declared::{Declared, Member, find};

/// The file that says what the statistics consist of.
const STATS: &str = "cli/stats.rs";
/// What makes a scheduler, a cache or a bank wait: who waits, the type of its reasons, and where these are counted.
const REASONS: [(&str, &str, &str, &str); 3] = [
    ("SM scheduler", "rtl/sm/front/stall.rs", "StallReason", "stalls"),
    ("cache of the LSU", "rtl/l1/watch.rs", "Fail", "reservation_fails"),
    ("L2 bank", "rtl/l2/stats.rs", "Stall", "l2.stalls"),
];
/// How the sentence of a reason begins that is none, but the want of one.
const NO_STALL: &str = "No stall";

/// The table `STALLS`.
pub fn stalls(root: &Path) -> Result<String, Box<dyn Error>> {
    let mut table = "&[\n".to_owned();
    for (unit, file, ty, group) in REASONS {
        for Member { name: reason, about: meaning, .. } in find(root, file, ty)?.members {
            if !meaning.starts_with(NO_STALL) {
                let counted = format!("{group}.{reason}");
                table.push_str(&format!(
                    "Stall {{ unit: {unit:?}, reason: {reason:?}, meaning: {meaning:?}, counted: {counted:?} }},\n"
                ));
            }
        }
    }
    Ok(table + "]\n")
}

/// The table `COUNTERS`.
pub fn counters(root: &Path) -> Result<String, Box<dyn Error>> {
    let mut walk = Walk { root, table: "&[\n".to_owned(), listed: BTreeMap::new() };
    walk.group("", &find(root, STATS, "Stats")?)?;
    Ok(walk.table + "]\n")
}

struct Walk<'a> {
    root: &'a Path,
    table: String,
    /// Where the keys of a type are listed.
    listed: BTreeMap<String, String>,
}

impl Walk<'_> {
    /// Lists the members of what stands at `path`.
    fn group(&mut self, path: &str, group: &Declared) -> Result<(), Box<dyn Error>> {
        let of = group.of.as_ref().map(|of| find(self.root, &group.file, of)).transpose()?;
        let others = of.map(|of| of.members).unwrap_or_default();
        // What is counted by reasons has no fields of its own.
        let members = if group.members.is_empty() { &others } else { &group.members };
        for member in members.iter().filter(|member| !member.about.starts_with(NO_STALL)) {
            let key = if path.is_empty() { member.name.clone() } else { format!("{path}.{}", member.name) };
            let other = others.iter().find(|other| other.name == member.name).map_or("", |other| &other.about);
            let meaning = if member.about.is_empty() { other } else { &member.about };
            if meaning.is_empty() {
                return Err(format!("{}: `{key}` has no doc comment", group.file).into());
            }
            self.entry(&key, meaning, member, &group.file)?;
        }
        Ok(())
    }

    /// Lists a key, and the keys inside of it unless they are listed already.
    fn entry(&mut self, key: &str, meaning: &str, member: &Member, file: &str) -> Result<(), Box<dyn Error>> {
        let has_keys = member.ty.starts_with(|c: char| c.is_ascii_uppercase()) && member.ty != "String";
        let like = self.listed.get(&member.ty).filter(|_| has_keys).cloned();
        let is_list = member.is_list;
        self.table.push_str(&format!(
            "Counter {{ key: {key:?}, meaning: {meaning:?}, like: {like:?}, is_list: {is_list} }},\n"
        ));
        if !has_keys || like.is_some() {
            return Ok(());
        }
        let inside = if member.is_list { format!("{key}[]") } else { key.to_owned() };
        self.listed.insert(member.ty.clone(), inside.clone());
        self.group(&inside, &find(self.root, file, &member.ty)?)
    }
}
