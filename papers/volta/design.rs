//! The designs that are compared, and which of them a machine takes.

use super::{FERMI, VOLTA};
use crate::runs::resolved;
use warpsieve::config::designs;

/// A design of a paper, or several together.
#[derive(Debug)]
pub(super) struct Design {
    /// What the page calls it.
    pub name: &'static str,
    pub parts: &'static [&'static str],
    /// Where it comes from; of several together nothing.
    pub paper: &'static str,
    /// Settings that follow from the L1 of [`VOLTA`].
    pub on_volta: &'static [&'static str],
}

/// What every other one is compared with.
pub(super) const BASELINE: &str = "baseline";
/// candel2018's L2 without and with its cache of lines that come and go.
pub(super) const TRANSIENT: &str = "transient";
pub(super) const FRC: &str = "frc";

/// The machine without a design, but for the lines that its L1 looks up in a cycle: what a design loses by that alone.
pub(super) const ONE_LOOKUP: &str = "one lookup";

/// Twice as many tags as lines, as li2015 has them.
pub(super) const TAGS: &[&str] = &["l1.decoupled.tag_ways=512"];

const fn design(name: &'static str, parts: &'static [&'static str], paper: &'static str) -> Design {
    Design { name, parts, paper, on_volta: &[] }
}

const fn with_tags(name: &'static str, parts: &'static [&'static str], paper: &'static str) -> Design {
    Design { name, parts, paper, on_volta: TAGS }
}

/// The baseline, the designs of the papers, then some that act in different places together.
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
    /// Lines that the L1 looks up in a cycle.
    pub fn lookups(&self, machine: &str) -> u32 {
        // What does not compose is not compared.
        resolved(machine, self.parts, self.sets(machine)).map_or(0, |resolved| resolved.config.l1.lookups)
    }

    /// Its settings on a machine.
    pub fn sets(&self, machine: &str) -> &'static [&'static str] {
        if machine == VOLTA { self.on_volta } else { &[] }
    }
}

/// The designs that both machines take.
pub(super) fn composed() -> Vec<&'static Design> {
    let taken = |design: &&Design| [VOLTA, FERMI].iter().all(|machine| refusal(machine, design.parts).is_none());
    DESIGNS.iter().filter(taken).collect()
}

/// The designs that there are, and those of several parts that are compared, which [`VOLTA`] refuses, with its reasons.
pub(super) fn refused() -> Vec<(String, String)> {
    let alone = designs().iter().map(|design| (design.name.to_owned(), refusal(VOLTA, &[design.name])));
    let together = DESIGNS.iter().filter(|design| design.parts.len() > 1);
    let together = together.map(|design| (design.name.to_owned(), refusal(VOLTA, design.parts)));
    alone.chain(together).filter_map(|(name, why)| Some((name, why?))).collect()
}

/// Why a machine does not take some designs.
fn refusal(machine: &str, parts: &[&str]) -> Option<String> {
    let report = resolved(machine, parts, &[]).err()?;
    let problems: Vec<_> = report.related().into_iter().flatten().map(ToString::to_string).collect();
    Some(if problems.is_empty() { report.to_string() } else { problems.join("; ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_design_of_a_paper_that_is_compared_composes_on_both_machines() {
        let composed: Vec<_> = composed().iter().map(|design| design.name).collect();
        let of_papers = DESIGNS.iter().filter(|design| !design.paper.is_empty());
        of_papers.for_each(|design| assert!(composed.contains(&design.name), "{}", design.name));
    }

    #[test]
    fn tags_without_lines_are_as_many_as_the_lines_of_the_l1() {
        let l1 = resolved(VOLTA, &["decoupled"], TAGS).unwrap().config.l1;
        assert_eq!(l1.decoupled.tag_ways, 2 * l1.ways);
    }

    #[test]
    fn a_design_that_is_refused_says_why() {
        let refused = refused();
        let why = &refused.iter().find(|(name, _)| name == "fetch-on-write").unwrap().1;
        assert!(why.starts_with("l2.flow.fetch is sectors, expected line"), "{why}");
        assert!(!refused.iter().any(|(name, _)| name == "pric"), "{refused:?}");
    }
}
