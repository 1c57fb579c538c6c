//! Tree of the counters that the hardware blocks report.

use rtl::kernel::{CounterReader, Key, ScopeKind, Value};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

/// Value of a statistics key.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    Absent,
    Count(u64),
    Number(f64),
    Text(String),
    Classes(Vec<u64>),
    List(Vec<Node>),
    Group(Vec<(Key, Node)>),
}

/// Statistics keys in the order in which they were reported, with their values.
#[derive(Clone, Debug, PartialEq)]
pub struct StatisticsTable {
    root: Vec<(Key, Node)>,
    open: Vec<(Key, Node)>,
    lists_all: bool,
}

/// Entry in the dictionary of statistics keys.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Entry {
    /// Path of the key. For a key inside a list of groups, the path contains `[]` after the path of the list.
    pub key: String,
    /// Description of the value.
    pub meaning: &'static str,
    /// Unit of the value, if it has one.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub unit: &'static str,
    /// Name of the Nsight Compute metric that counts the same quantity, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nsight: Option<&'static str>,
    /// Path of an earlier group with the same keys, if there is one. Only the earlier group lists its keys.
    pub like: Option<String>,
    /// True if the value is a list.
    pub is_list: bool,
}

impl StatisticsTable {
    /// Creates an empty tree of counters. If `lists_all` is true, every key that any machine may have is
    /// listed.
    #[must_use]
    pub const fn new(lists_all: bool) -> Self {
        Self { root: Vec::new(), open: Vec::new(), lists_all }
    }

    fn put(&mut self, key: &Key, node: Node) {
        match self.open.last_mut() {
            None => self.root.push((*key, node)),
            Some((_, Node::Group(members))) => members.push((*key, node)),
            Some((_, Node::List(elements))) => elements.push(node),
            Some(_) => unreachable!("{}: only groups and lists are opened", key.name),
        }
    }

    /// Returns the counters that belong in the summary of a run, without those of individual hardware units.
    /// For each counter, returns its outermost group, its path in that group, and its value.
    #[must_use]
    pub fn in_summary(&self) -> Vec<(&'static str, String, u64)> {
        let mut found = Vec::new();
        for (group, node) in &self.root {
            if let Node::Group(members) = node {
                find_in_summary(group.name, members, "", &mut found);
            }
        }
        found
    }

    /// Returns the dictionary of statistics keys: every key once, with its meaning. If a group has the same
    /// keys as an earlier group, the dictionary does not repeat the keys but refers to the earlier group.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        let (mut entries, mut groups) = (Vec::new(), Vec::new());
        list(&self.root, "", &mut entries, &mut groups);
        entries
    }
}

fn find_in_summary(
    group: &'static str,
    members: &[(Key, Node)],
    path: &str,
    found: &mut Vec<(&'static str, String, u64)>,
) {
    for (key, node) in members {
        match node {
            Node::Count(count) if key.is_in_summary => found.push((group, format!("{path}{}", key.name), *count)),
            Node::Group(inside) => find_in_summary(group, inside, &format!("{path}{}.", key.name), found),
            _ => {}
        }
    }
}

/// Groups that are already in the dictionary, each with its path.
type ListedGroups<'a> = Vec<(&'a [(Key, Node)], String)>;

fn list<'a>(members: &'a [(Key, Node)], path: &str, entries: &mut Vec<Entry>, listed: &mut ListedGroups<'a>) {
    for (key, node) in members {
        let path = if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
        let (inside, is_list) = match node {
            Node::Group(members) => (Some(members), false),
            Node::List(elements) => match elements.first() {
                Some(Node::Group(members)) => (Some(members), true),
                _ => (None, true),
            },
            Node::Classes(..) => (None, true),
            _ => (None, false),
        };
        let place = if is_list && inside.is_some() { format!("{path}[]") } else { path.clone() };
        let like = inside.and_then(|inside| {
            let known = listed.iter().find(|(other, _)| is_alike(other, inside));
            known.map(|(_, place)| place.clone())
        });
        let &Key { about: meaning, unit, nsight, .. } = key;
        entries.push(Entry { key: path, meaning, unit: unit.name(), nsight, like: like.clone(), is_list });
        if let (Some(inside), None) = (inside, like) {
            listed.push((inside, place.clone()));
            list(inside, &place, entries, listed);
        }
    }
}

/// True if two groups have the same keys with the same meanings.
fn is_alike(one: &[(Key, Node)], other: &[(Key, Node)]) -> bool {
    !one.is_empty() && one.iter().map(|(key, _)| key).eq(other.iter().map(|(key, _)| key))
}

impl CounterReader for StatisticsTable {
    fn enter(&mut self, key: &Key, opened: ScopeKind) -> bool {
        let node = match opened {
            ScopeKind::Absent if !self.lists_all => {
                self.put(key, Node::Absent);
                return false;
            }
            ScopeKind::List => Node::List(Vec::new()),
            ScopeKind::Absent | ScopeKind::Group | ScopeKind::Element => Node::Group(Vec::new()),
        };
        self.open.push((*key, node));
        true
    }

    fn leave(&mut self) {
        if let Some((key, node)) = self.open.pop() {
            self.put(&key, node);
        }
    }

    fn counter(&mut self, key: &Key, value: Value<'_>) {
        let node = match value {
            Value::Absent => Node::Absent,
            Value::Count(count) => Node::Count(count),
            Value::Number(number) => Node::Number(number),
            Value::Text(text) => Node::Text(text.to_owned()),
            Value::Classes(counts) => Node::Classes(counts.to_vec()),
        };
        self.put(key, node);
    }

    fn lists_all(&self) -> bool {
        self.lists_all
    }
}

impl Serialize for StatisticsTable {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        group(&self.root, to)
    }
}

fn group<S: Serializer>(members: &[(Key, Node)], to: S) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(Some(members.len()))?;
    for (key, node) in members {
        map.serialize_entry(key.name, node)?;
    }
    map.end()
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Absent => to.serialize_none(),
            Self::Count(count) => to.serialize_u64(*count),
            Self::Number(number) => to.serialize_f64(*number),
            Self::Text(text) => to.serialize_str(text),
            Self::Classes(counts) => counts.serialize(to),
            Self::List(elements) => {
                let mut list = to.serialize_seq(Some(elements.len()))?;
                elements.iter().try_for_each(|element| list.serialize_element(element))?;
                list.end()
            }
            Self::Group(members) => group(members, to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_has_the_declared_counters_of_groups_and_not_those_of_units() {
        let (shown, hidden, group) = (Key::new("a", "").in_summary(), Key::new("b", ""), Key::plain("l2", ""));
        let mut table = StatisticsTable::new(false);
        let list = |table: &mut StatisticsTable| {
            table.counter(&shown, Value::Count(3));
            table.counter(&hidden, Value::Count(4));
            table.enter(&Key::plain("frc", ""), ScopeKind::Group);
            table.counter(&shown, Value::Count(5));
            table.counter(&shown, Value::Absent);
            table.leave();
        };
        table.enter(&group, ScopeKind::Group);
        list(&mut table);
        table.leave();
        table.enter(&Key::plain("units", ""), ScopeKind::Group);
        table.enter(&group, ScopeKind::List);
        table.enter(&group, ScopeKind::Element);
        list(&mut table);
        (0..3).for_each(|_| table.leave());
        assert_eq!(table.in_summary(), [("l2", "a".to_owned(), 3), ("l2", "frc.a".to_owned(), 5)]);
    }
}
