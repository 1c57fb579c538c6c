//! Designs whose effect on the V100 is evaluated, and checks of which designs a machine supports.

use super::{FERMI, VOLTA};
use crate::runs::resolve_config;
use warpsieve::config::designs;

/// Design of a paper, or a combination of designs, to evaluate.
#[derive(Debug)]
pub(super) struct Design {
    /// Name of the design or combination on the results page.
    pub name: &'static str,
    pub parts: &'static [&'static str],
    /// Name of the paper that proposes the design; empty for a combination.
    pub paper: &'static str,
    /// Additional settings for the machine [`VOLTA`], which depend on the size of its L1.
    pub on_volta: &'static [&'static str],
}

/// Name of the machine without a design, with which all designs are compared.
pub(super) const BASELINE: &str = "baseline";
/// Name of the design with candel2018's L2, whose lines have transient states, but without its Fetch and
/// Replacement Cache (FRC).
pub(super) const TRANSIENT: &str = "transient";
/// Name of the design with candel2018's L2 and its Fetch and Replacement Cache (FRC).
pub(super) const FRC: &str = "frc";

/// Name of the unmodified machine with an L1 that looks up only one line per cycle. Some designs have this
/// restriction, too; here it shows how much performance the restriction alone costs.
pub(super) const ONE_LOOKUP: &str = "one lookup";

/// Setting that gives the L1 of [`VOLTA`] twice as many tags as lines, as in li2015.
pub(super) const TAGS: &[&str] = &["l1.decoupled.tag_ways=512"];

const fn design(name: &'static str, parts: &'static [&'static str], paper: &'static str) -> Design {
    Design { name, parts, paper, on_volta: &[] }
}

const fn with_tags(name: &'static str, parts: &'static [&'static str], paper: &'static str) -> Design {
    Design { name, parts, paper, on_volta: TAGS }
}

/// Baseline, designs of the papers, and combinations of designs that do not change the same units of the
/// machine.
pub(super) const DESIGNS: [Design; 13] = [
    design(BASELINE, &[], ""),
    Design { name: ONE_LOOKUP, parts: &[], paper: "", on_volta: &["l1.lookups=1"] },
    design("pric", &["pric"], "khairy2015"),
    design("streaming", &["streaming"], "khairy2015"),
    design("dwt-pric", &["dwt-pric"], "khairy2015"),
    with_tags("decoupled", &["decoupled"], "li2015"),
    with_tags("decoupled-dueling", &["decoupled-dueling"], "li2015"),
    design(TRANSIENT, &["transient"], ""),
    design(FRC, &["frc"], "candel2018"),
    design("tracker", &["tracker"], "anssari2012"),
    design("tracker + policy", &["tracker", "hybrid-policy"], "anssari2012"),
    with_tags("pric + decoupled-dueling", &["pric", "decoupled-dueling"], ""),
    design("dwt-pric + frc", &["dwt-pric", "frc"], ""),
];

impl Design {
    /// Returns the number of lines that the L1 looks up per cycle with this design.
    pub fn lookups(&self, machine: &str) -> u32 {
        // 0 stands for a machine that does not support the design. Such designs are left out of the
        // comparison.
        resolve_config(machine, self.parts, self.sets(machine)).map_or(0, |resolved| resolved.config.l1.lookups)
    }

    /// Returns the additional settings of the design on the given machine.
    pub fn sets(&self, machine: &str) -> &'static [&'static str] {
        if machine == VOLTA { self.on_volta } else { &[] }
    }
}

/// Returns the designs that both machines support.
pub(super) fn find_composing() -> Vec<&'static Design> {
    let taken = |design: &&Design| [VOLTA, FERMI].iter().all(|machine| refusal(machine, design.parts).is_none());
    DESIGNS.iter().filter(taken).collect()
}

/// Returns the designs that [`VOLTA`] does not support, each with the reason. All existing designs and all
/// combinations in [`DESIGNS`] are tried.
pub(super) fn find_refused() -> Vec<(String, String)> {
    let alone = designs().iter().map(|design| (design.name.to_owned(), refusal(VOLTA, &[design.name])));
    let together = DESIGNS.iter().filter(|design| design.parts.len() > 1);
    let together = together.map(|design| (design.name.to_owned(), refusal(VOLTA, design.parts)));
    alone.chain(together).filter_map(|(name, why)| Some((name, why?))).collect()
}

/// Returns the reason why a machine does not support a combination of designs; `None` if it supports them.
fn refusal(machine: &str, parts: &[&str]) -> Option<String> {
    let report = resolve_config(machine, parts, &[]).err()?;
    let problems: Vec<_> = report.related().into_iter().flatten().map(ToString::to_string).collect();
    Some(if problems.is_empty() { report.to_string() } else { problems.join("; ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_design_of_a_paper_that_is_compared_composes_on_both_machines() {
        let composed: Vec<_> = find_composing().iter().map(|design| design.name).collect();
        let of_papers = DESIGNS.iter().filter(|design| !design.paper.is_empty());
        of_papers.for_each(|design| assert!(composed.contains(&design.name), "{}", design.name));
    }

    #[test]
    fn tags_without_lines_are_as_many_as_the_lines_of_the_l1() {
        let l1 = resolve_config(VOLTA, &["decoupled"], TAGS).unwrap().config.l1;
        assert_eq!(l1.decoupled.tag_ways, 2 * l1.ways);
    }

    #[test]
    fn a_design_that_is_refused_says_why() {
        let refused = find_refused();
        let why = &refused.iter().find(|(name, _)| name == "fetch-on-write").unwrap().1;
        assert!(why.starts_with("l2.flow.fetch is sectors, expected line"), "{why}");
        assert!(!refused.iter().any(|(name, _)| name == "pric"), "{refused:?}");
    }
}
