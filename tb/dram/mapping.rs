//! Random DRAM address mappings for tests. The address fields are in any order, and any bits may be XORed.

use rtl::config::Rules;
use rtl::dram::config::DramConfig;
use rtl::dram::layout::MappingConfig;

use crate::kit::Random;

/// Common address mappings for channels with four groups of four banks. Each is a list of fields and a list
/// of XORs.
const USUAL: [(&[&str], &[&str]); 8] = [
    (&["column", "group", "bank", "row"], &[]),
    (&["column", "bank", "group", "row"], &[]),
    (&["column:2", "group:1", "column", "group", "bank", "row"], &[]),
    (&["column:2", "bank:1", "column", "bank", "group", "row"], &[]),
    (&["column:3", "group:1", "column", "group", "bank", "row"], &[]),
    (&["column:3", "bank:1", "column", "bank", "group", "row"], &[]),
    (&["column", "group", "bank", "row"], &["group ^ row", "bank ^ row[2..]"]),
    (&["column", "bank", "group", "row"], &["bank ^ row", "group ^ row[2..]"]),
];

/// Returns a random legal mapping for a channel with four groups of four banks. Most of these mappings are
/// common ones, which give row hits for the requests of a test case.
pub(crate) fn mapping(random: &mut Random, config: &DramConfig) -> MappingConfig {
    if random.percent(75) {
        let (fields, xor) = USUAL[random.below(USUAL.len() as u64) as usize];
        return MappingConfig::new(fields, xor);
    }
    loop {
        let config = DramConfig { mapping: draw(random, config), ..config.clone() };
        if is_legal(&config) {
            return config.mapping;
        }
    }
}

fn is_legal(config: &DramConfig) -> bool {
    let mut rules = Rules::default();
    config.validate(&mut rules);
    rules.is_kept()
}

/// Returns a random mapping whose fields are legal, but whose XORs may map two bursts to the same location.
fn draw(random: &mut Random, config: &DramConfig) -> MappingConfig {
    let &DramConfig { columns, banks_per_group, bank_groups, rows, .. } = config;
    let sizes = [("column", columns), ("bank", banks_per_group), ("group", bank_groups), ("row", rows)];
    let sizes = sizes.map(|(name, size)| (name, u64::from(size.ilog2())));
    let mut left: Vec<_> = sizes.into_iter().filter(|(_, bits)| *bits > 0).collect();
    let mut fields = Vec::new();
    while !left.is_empty() {
        let at = random.below(left.len() as u64) as usize;
        let (name, bits) = left[at];
        let count = if random.percent(50) { bits } else { 1 + random.below(bits) };
        left[at].1 -= count;
        if count < bits {
            fields.push(format!("{name}:{count}"));
        } else {
            // No later field has the same name, so this field may omit its number of bits.
            left.remove(at);
            fields.push(if random.percent(50) { name.to_owned() } else { format!("{name}:{count}") });
        }
    }
    let bits: Vec<String> =
        sizes.iter().flat_map(|(name, bits)| (0..*bits).map(move |bit| format!("{name}[{bit}]"))).collect();
    let xor = match random.below(4) {
        0 => Vec::new(),
        1 => {
            let [_, (_, banks), (_, groups), (_, rows)] = sizes;
            let first = random.below(rows + 1 - banks.min(rows));
            let mut xor = vec![format!("bank ^ row[{first}..]")];
            if banks + groups <= rows {
                xor.push(format!("group ^ burst[{}..]", rows - groups));
            }
            xor
        }
        _ => {
            let is_hashed = |bit: &&String| bit.starts_with("bank") || bit.starts_with("group");
            let targets: Vec<&String> = bits.iter().filter(is_hashed).filter(|_| random.percent(70)).collect();
            let sources = |target: &String, random: &mut Random| {
                let sources = bits.iter().filter(|bit| *bit != target && random.percent(20));
                sources.map(|source| format!(" ^ {source}")).collect::<String>()
            };
            let xor = targets.into_iter().map(|target| (target, sources(target, random)));
            xor.filter(|(_, sources)| !sources.is_empty()).map(|(target, sources)| target.clone() + &sources).collect()
        }
    };
    MappingConfig { fields, xor }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::dram::bench::reference;
    use crate::kit::for_each_seed;
    use rtl::dram::mapping::{BurstLocation, Mapping};
    use warpsieve::dram::judge;

    #[test]
    fn a_mapping_is_that_of_the_twin_and_refused_if_and_only_if_two_bursts_share_a_place() {
        let [kept, refused] = [(); 2].map(|()| std::cell::Cell::new(0));
        for_each_seed(600, |seed| {
            let mut random = Random::new(seed);
            let [bank_groups, banks_per_group] = [2, 1].map(|least: u32| least << random.below(3));
            let size = DramConfig { bank_groups, banks_per_group, rows: 8, columns: 8, ..reference() };
            let config = DramConfig { mapping: draw(&mut random, &size), ..size };
            // A random XOR may contain a bit twice: once by its field name, and once as an address bit. Such
            // mappings are skipped.
            let mut rules = Rules::default();
            config.validate(&mut rules);
            let violations: Vec<String> = rules.into_violations().iter().map(ToString::to_string).collect();
            if violations.iter().any(|violation| violation.contains("XORed with itself")) {
                return;
            }
            let twin = judge::mapping(&config);
            let places = (0..config.bursts()).map(|burst| twin.place(burst * u64::from(config.burst_bytes())));
            let places: Vec<_> = places.collect();
            let is_one_to_one = places.iter().collect::<BTreeSet<_>>().len() == places.len();
            assert_eq!(violations.is_empty(), is_one_to_one, "{:?}: {violations:?}", config.mapping);
            let count = if is_one_to_one { &kept } else { &refused };
            count.set(count.get() + 1);
            if !is_one_to_one {
                assert!(violations[0].contains("expected an XOR that keeps "), "{violations:?}");
                return;
            }
            let mapping = Mapping::new(&config);
            for (burst, place) in (0..).zip(places) {
                let BurstLocation { bank, row, column } = mapping.place(burst);
                let number = place.bank.group * banks_per_group + place.bank.bank;
                assert_eq!((u32::from(bank), row, column), (number, place.row, place.col), "{:?}", config.mapping);
            }
        });
        if std::env::var_os("SEED").is_none() {
            assert!(kept.get() > 100 && refused.get() > 5, "{kept:?} kept, {refused:?} refused");
        }
    }
}
