//! # L1D schemes of all machines and designs
//! Collects the L1D configurations of all machine presets and designs, including those that users added. They
//! are found at run time, so no list of them is maintained. Configurations that differ only in sizes count as
//! the same scheme.

use std::sync::OnceLock;

use rtl::index::linear::Linear;
use rtl::l1::bypass::none::NoScheme;
use rtl::l1::config::L1Config;
use rtl::l1::decoupled::DecoupledConfig;
use rtl::l1::prefetch::none::NoPrefetcher;
use warpsieve::config::{Request, ResolvedMachine, designs, machines};

use crate::kit::Random;

/// Machine preset to which the designs are applied.
const MACHINE: &str = "fermi";

/// L1D scheme of a machine preset or design.
#[derive(Clone, Debug)]
pub(crate) struct Scheme {
    /// Name of the first machine preset or design with this scheme.
    pub name: &'static str,
    request: Request,
    /// Names of all configuration fields that the machine or design has.
    fields: Vec<String>,
}

/// Returns all L1D schemes. Those of machine presets come before those of designs.
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
            // A user's design may be made for another machine. If it is illegal on the machine `fermi`, it is
            // skipped.
            let Ok(resolved) = ResolvedMachine::new(&request) else { continue };
            let scheme = without_sizes(&resolved.config.l1);
            if found.iter().all(|(known, _)| *known != scheme) {
                let fields = resolved.values().into_keys().collect();
                found.push((scheme, Scheme { name, request, fields }));
            }
        }
        found.into_iter().map(|(_, scheme)| scheme).collect()
    })
}

/// Formats an L1D configuration without its sizes. Configurations with equal texts are the same scheme.
fn without_sizes(l1: &L1Config) -> String {
    let [sets, ways, mshr_entries, mshr_merges, miss_queue, line_bytes, bypass_sectors] = [0; 7];
    let kinds = [l1.bypass.typetag_name(), l1.index.typetag_name(), l1.prefetch.typetag_name()];
    let rest = L1Config {
        sets,
        ways,
        mshr_entries,
        mshr_merges,
        miss_queue,
        line_bytes,
        bypass_sectors,
        bypass: NoScheme {}.into(),
        prefetch: NoPrefetcher {}.into(),
        index: Linear {}.into(),
        decoupled: DecoupledConfig::LI2015,
        ..l1.clone()
    };
    format!("{kinds:?} {rest:?}")
}

/// Fields of the L1D with small values, at which every access status occurs within a few hundred accesses.
const SMALL: [(&str, &[u32]); 23] = [
    // The set hash of Fermi requires at least 32 sets.
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
    ("l1.prefetch.degree", &[1, 2, 4]),
    ("l1.prefetch_limits.queue", &[1, 2, 8]),
    ("l1.prefetch_limits.mshr_share", &[1, 2]),
    ("l1.prefetch_limits.miss_queue_share", &[1, 2]),
    ("l1.victim.lines", &[1, 2, 4]),
    ("l1.mshr_policy.entries", &[1, 2]),
    ("l1.mshr_policy.waiting", &[1, 2, 8]),
    ("l1.mshr_policy.reserved", &[1, 2]),
];

impl Scheme {
    /// Generates a random small L1D with this scheme. If the configuration is illegal, another one is
    /// generated. After 20 failures, the sizes of the machine or design itself are used.
    pub fn small(&self, random: &mut Random) -> L1Config {
        const TRIES: usize = 20;
        // Every machine has the fields that limit prefetches, but only a prefetcher uses them.
        let prefetches = self.fields.iter().any(|stated| stated == "l1.prefetch.degree");
        let is_used = |field: &str| prefetches || !field.starts_with("l1.prefetch");
        let is_stated = |field: &str| self.fields.iter().any(|stated| stated == field);
        let fields = SMALL.iter().filter(|(field, _)| is_stated(field) && is_used(field));
        let fields: Vec<_> = fields.collect();
        let mut draw = || {
            let set = |(field, values): &&(&str, &[u32])| {
                format!("{field}={}", values[random.below(values.len() as u64) as usize])
            };
            // The list of carve-outs for shared memory is empty, because an L1D that shares its storage with
            // shared memory would need many ways.
            let apart = ["sm.shared.carve_outs=[]".to_owned()];
            Request { sets: fields.iter().map(set).chain(apart).collect(), ..self.request.clone() }
        };
        let drawn = (0..TRIES).find_map(|_| ResolvedMachine::new(&draw()).ok());
        drawn.or_else(|| ResolvedMachine::new(&self.request).ok()).expect("it was found so").config.l1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_l1ds_of_the_papers_are_found_each_once() {
        let names: Vec<_> = schemes().iter().map(|scheme| scheme.name).collect();
        for name in ["fermi", "ampere", "decoupled", "decoupled-dueling", "pdp", "mrpb", "streaming", "pric", "ship"] {
            assert_eq!(names.iter().filter(|found| **found == name).count(), 1, "{name} in {names:?}");
        }
        // The designs `baseline` and `frc` do not change the machine's L1D, so their scheme is listed under
        // the machine's name.
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
