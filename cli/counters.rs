//! `warpsieve counters`: prints the meaning of a counter in the statistics file, given its key.

use miette::{IntoDiagnostic, Report, miette};
use serde::Serialize;

use super::args::{CountersArguments, Format};
use super::dictionary::{self, Counter};
use super::output::wrap_text;
use super::{Exit, output};
use warpsieve::config::near;

/// Maximum number of similar keys that are suggested for an unknown key.
const OFFERED: usize = 8;
/// Prefix of the keys that count a single hardware unit, such as one SM, instead of the sum over all units.
const UNIT: &str = "units.";
/// Top-level groups of keys that count cycles of a clock other than the core clock, each with the name of its
/// clock.
const CLOCKS: [(&str, &str); 5] =
    [("l2", "L2"), ("tracker", "L2"), ("candel2018", "L2"), ("noc", "network"), ("dram", "DRAM")];

/// Key of a counter in the statistics file, with everything that is printed about it.
#[derive(Debug, Serialize)]
struct Entry {
    key: String,
    meaning: &'static str,
    /// Meaning of the key that encloses this key; `None` for a key at the top level.
    within: Option<&'static str>,
    /// Unit of the counter; `None` if the meaning already names the unit.
    unit: Option<String>,
    /// Nsight Compute metric that counts the same events.
    nsight: Option<&'static str>,
    /// Path of the key in the statistics file, as a `jq` filter.
    path: String,
}

pub(super) fn counters(arguments: &CountersArguments) -> Result<Exit, Report> {
    let CountersArguments { name, format } = arguments;
    let keys = keys();
    let name = name.strip_prefix('.').unwrap_or(name);
    let ends = |key: &str| key.strip_suffix(name).is_some_and(|before| before.ends_with('.'));
    let is_meant: [&dyn Fn(&str) -> bool; 3] =
        // A given name can match in three ways, tried in this order: as a whole key, as the end of a key that
        // sums over all units (such as all SMs), or as the end of any key. The keys of single units come
        // last, because they end like the keys of the sums.
        [&|key| key == name, &|key| ends(key) && !key.starts_with(UNIT), &|key| ends(key)];
    let meant = is_meant.iter().map(|is_meant| keys.iter().filter(|(key, _)| is_meant(key)).collect::<Vec<_>>());
    let meant = meant.into_iter().find(|meant| !meant.is_empty()).unwrap_or_default();
    let entries: Vec<_> = meant.into_iter().map(|(key, counter)| Entry::of(key, counter, &keys)).collect();
    if entries.is_empty() || name.is_empty() {
        return Err(miette!(help = help(name, &keys), "there is no counter `{name}`"));
    }
    output::print(&match format {
        Format::Table => entries.iter().map(Entry::text).collect::<Vec<_>>().join("\n"),
        Format::Json => serde_json::to_string_pretty(&entries).into_diagnostic()? + "\n",
    })?;
    Ok(Exit::Done)
}

/// Returns every key of the statistics file. If several keys have the same subkeys, the dictionary lists them
/// below one of these keys only. This function returns them below each.
fn keys() -> Vec<(String, &'static Counter)> {
    let mut keys = Vec::new();
    for counter in dictionary::counters() {
        add(counter.key.clone(), counter, &mut keys);
    }
    keys
}

/// Adds a key to `keys`. If the field `like` of its counter names another key with the same subkeys, also
/// adds these subkeys below `key`. If `key` itself lies inside the key that `like` names, the subkeys are not
/// added: the recursion would not end.
fn add(key: String, counter: &'static Counter, keys: &mut Vec<(String, &'static Counter)>) {
    let inside = if counter.is_list { format!("{key}[]") } else { key.clone() };
    let like = counter.like.as_deref().filter(|like| !counter.key.starts_with(like));
    keys.push((key, counter));
    for other in dictionary::counters() {
        if let Some(end) = like.and_then(|like| other.key.strip_prefix(like)).filter(|end| end.starts_with('.')) {
            add(format!("{inside}{end}"), other, keys);
        }
    }
}

/// Returns the text that suggests existing keys to a user who gave an unknown key.
fn help(name: &str, keys: &[(String, &Counter)]) -> String {
    let whole = keys.iter().map(|(key, _)| &**key);
    let ends = keys.iter().filter_map(|(key, _)| key.rsplit('.').next());
    if let Some(near) = near(name, &whole.clone().chain(ends).collect::<Vec<_>>()) {
        return format!("did you mean `{near}`?");
    }
    let holding: Vec<_> = whole.filter(|key| !name.is_empty() && key.contains(name)).take(OFFERED).collect();
    if holding.is_empty() {
        return "`list counters` lists them all".to_owned();
    }
    format!("did you mean one of {}?", holding.join(", "))
}

impl Entry {
    fn of(key: &str, counter: &'static Counter, keys: &[(String, &'static Counter)]) -> Self {
        let around = key.rsplit_once('.').map(|(around, _)| around.trim_end_matches("[]"));
        let within = keys.iter().find(|(key, _)| Some(&**key) == around).map(|(_, counter)| counter.meaning);
        let &Counter { meaning, unit, nsight, .. } = counter;
        let unit = match unit {
            "" => None,
            "cycles" => Some(clock(key)),
            unit => Some(unit.to_owned()),
        };
        Self { key: key.to_owned(), meaning, within, unit, nsight, path: format!(".{key}") }
    }

    fn text(&self) -> String {
        let Self { key, meaning, within, unit, nsight, path } = self;
        let rows = [
            ("meaning", Some(*meaning)),
            ("within", *within),
            ("unit", unit.as_deref()),
            ("Nsight", *nsight),
            ("in JSON", Some(path)),
        ];
        let rows =
            rows.into_iter().filter_map(|(label, text)| Some(wrap_text(&format!("  {label:<8} {}", text?), 11) + "\n"));
        format!("{key}\n{}", rows.collect::<String>())
    }
}

/// Returns the unit of a key that counts cycles. It names the clock of the key's top-level group.
fn clock(key: &str) -> String {
    let of = key.trim_start_matches(UNIT).split(['.', '[']).next().unwrap_or("");
    let clock = CLOCKS.iter().find(|(group, _)| *group == of).map_or("core", |(_, clock)| clock);
    format!("cycles of the {clock} clock")
}
