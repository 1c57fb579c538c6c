//! # The L1Ds that there are
//! Those of the machines and designs that come with the program, or were added to it: found there, not listed. Two that
//! differ in sizes alone are one.

use std::sync::OnceLock;

use rtl::index::linear::Linear;
use rtl::l1::bypass::none::NoScheme;
use rtl::l1::config::L1Config;
use rtl::l1::decoupled::DecoupledConfig;
use warpsieve::config::{Request, Resolved, designs, machines};

use crate::kit::Random;

/// The machine that designs are tried on.
const MACHINE: &str = "fermi";

/// An L1D as a machine or a design has it.
#[derive(Clone, Debug)]
pub(crate) struct Scheme {
    /// The first machine or design that has it.
    pub name: &'static str,
    request: Request,
    /// Every field that it has.
    fields: Vec<String>,
}

/// The L1Ds, those of the machines first.
pub(crate) fn schemes() -> &'static [Scheme] {
    static SCHEMES: OnceLock<Vec<Scheme>> = OnceLock::new();
    SCHEMES.get_or_init(|| {
        let request = |machine: &str, design: Option<&str>| Request {
            machine: machine.to_owned(),
            designs: design.into_iter().map(str::to_owned).collect(),
            sets: Vec::new(),
        };
        let of_machines = machines().iter().map(|machine| (machine.name, request(machine.name, None)));
        let of_designs = designs().iter().map(|design| (design.name, request(MACHINE, Some(design.name))));
        let mut found: Vec<(String, Scheme)> = Vec::new();
        for (name, request) in of_machines.chain(of_designs) {
            // A design of somebody else's may be for another machine.
            let Ok(resolved) = Resolved::new(&request) else { continue };
            let scheme = without_sizes(&resolved.config.l1);
            if found.iter().all(|(known, _)| *known != scheme) {
                let fields = resolved.values().into_keys().collect();
                found.push((scheme, Scheme { name, request, fields }));
            }
        }
        found.into_iter().map(|(_, scheme)| scheme).collect()
    })
}

/// What makes an L1D another one, as text.
fn without_sizes(l1: &L1Config) -> String {
    let [sets, ways, mshr_entries, mshr_merges, miss_queue, line_bytes, bypass_sectors] = [0; 7];
    let kinds = [l1.bypass.typetag_name(), l1.index.typetag_name()];
    let rest = L1Config {
        sets,
        ways,
        mshr_entries,
        mshr_merges,
        miss_queue,
        line_bytes,
        bypass_sectors,
        bypass: NoScheme {}.into(),
        index: Linear {}.into(),
        decoupled: DecoupledConfig::LI2015,
        ..l1.clone()
    };
    format!("{kinds:?} {rest:?}")
}

/// Fields of an L1D with values among which everything happens within a few hundred accesses.
const SMALL: [(&str, &[u32]); 15] = [
    // Fermi's hash is one of 32 sets or more.
    ("l1.sets", &[1, 2, 8, 32]),
    ("l1.ways", &[1, 2, 4]),
    ("l1.mshr_entries", &[1, 2, 4, 16]),
    ("l1.mshr_merges", &[1, 2, 8]),
    ("l1.miss_queue", &[2, 3, 8]),
    ("l1.bypass_sectors", &[0, 32]),
    ("l1.bypass.period", &[40, 200, 400]),
    ("l1.bypass.miss_percent", &[30, 60, 90]),
    ("l1.bypass.min_accesses", &[1, 4, 8]),
    ("l1.bypass.distance", &[1, 3, 6]),
    ("l1.decoupled.tag_ways", &[1, 2, 4, 8]),
    ("l1.decoupled.threshold", &[0, 1, 2]),
    ("l1.decoupled.probe_extra", &[0, 1]),
    ("l1.mrpb.depth", &[1, 2, 8]),
    ("l1.mrpb.latency", &[0, 1]),
];

impl Scheme {
    /// The L1D in a small size, drawn again as long as a rule forbids it, and as it is if they all are.
    pub fn small(&self, random: &mut Random) -> L1Config {
        const TRIES: usize = 20;
        let fields = SMALL.iter().filter(|(field, _)| self.fields.iter().any(|stated| stated == field));
        let fields: Vec<_> = fields.collect();
        let mut draw = || {
            let set = |(field, values): &&(&str, &[u32])| {
                format!("{field}={}", values[random.below(values.len() as u64) as usize])
            };
            // Ways that shared memory can take would have to be many.
            let apart = ["sm.shared.carve_outs=[]".to_owned()];
            Request { sets: fields.iter().map(set).chain(apart).collect(), ..self.request.clone() }
        };
        let drawn = (0..TRIES).find_map(|_| Resolved::new(&draw()).ok());
        drawn.or_else(|| Resolved::new(&self.request).ok()).expect("it was found so").config.l1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_l1ds_of_the_papers_are_found_each_once() {
        let names: Vec<_> = schemes().iter().map(|scheme| scheme.name).collect();
        for name in ["fermi", "hopper", "decoupled", "decoupled-dueling", "pdp", "mrpb", "streaming", "pric", "ship"] {
            assert_eq!(names.iter().filter(|found| **found == name).count(), 1, "{name} in {names:?}");
        }
        // It is that of the machine.
        assert!(!names.contains(&"baseline") && !names.contains(&"frc"));
    }

    #[test]
    fn small_l1ds_keep_their_scheme_and_differ_in_size() {
        for scheme in schemes() {
            let mut random = Random::new(1);
            let small: Vec<_> = (0..10).map(|_| scheme.small(&mut random)).collect();
            assert!(small.iter().any(|l1| l1.ways != small[0].ways), "{}", scheme.name);
            let kind = |l1: &L1Config| (l1.bypass.typetag_name(), l1.organisation, l1.fetch);
            assert!(small.iter().all(|l1| kind(l1) == kind(&small[0])), "{}", scheme.name);
        }
    }
}
