//! Soak test (long random test) with litmus programs on machines with different L1s and L2s: only outcomes
//! that the memory model allows may occur.
//!
//! A test case executes one random program a hundred times, each time with other memory locations. Every
//! outcome must be in the set of allowed outcomes.

use rtl::kernel::digest_of;
use serde::{Deserialize, Serialize};

use super::shrink::Search;
use super::{Case, ShrunkCase, Work, file};
use crate::litmus::{Op, Program, machines, run_on_machine};
use warpsieve::config::Request;

pub(super) const ABOUT: &str = "random racing programs on machines of nine kinds: only what the memory model allows";

/// Test case: a litmus program with the machine it runs on. Failing test cases are saved in a file with these
/// fields.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Litmus {
    /// Seed from which the program is generated. It also determines the preloaded locations and the delays of
    /// each round.
    seed: u64,
    machine: String,
    designs: Vec<String>,
    sets: Vec<String>,
    /// For each thread of the program, its operations.
    threads: Vec<Vec<Op>>,
}

pub(super) fn draw(seed: u64) -> Box<dyn Case> {
    Box::new(drawn(seed))
}

pub(super) fn reread(text: &[u8]) -> Result<Box<dyn Case>, String> {
    Ok(Box::new(file::read::<Litmus>(text)?))
}

fn drawn(seed: u64) -> Litmus {
    let machines = machines();
    let Request { machine, designs, sets } = machines[(seed % machines.len() as u64) as usize].clone();
    Litmus { seed, machine, designs, sets, threads: Program::draw(seed).0 }
}

impl Case for Litmus {
    fn reproduce(&self) -> String {
        format!("warpsieve soak litmus --seed {} --count 1", self.seed)
    }

    fn run(&self) -> Result<Work, String> {
        let Self { seed, machine, designs, sets, threads } = self.clone();
        let program = Program(threads);
        let request = Request { machine, designs, sets };
        let shown = run_on_machine(&program, digest_of(&seed) as u32, &request)?;
        let allowed = program.allowed_outcomes();
        if let Some((seen, times)) = shown.seen.iter().find(|(seen, _)| !allowed.contains(*seen)) {
            return Err(format!("an outcome is not allowed: {seen:?}, {times} times, of\n{program}"));
        }
        Ok(Work { runs: 1, cycles: shown.cycles, warp_instructions: shown.warp_instructions })
    }

    /// Searches for a smaller test case that still fails: removes operations first, then configuration
    /// fields.
    fn shrink(&self, search: &Search) -> Option<ShrunkCase> {
        if !search.fails(self) {
            return None;
        }
        let of_threads = |threads: &Vec<Vec<Op>>| {
            let numbered = threads.iter().enumerate();
            numbered.flat_map(|(thread, ops)| ops.iter().map(move |op| (thread, *op))).collect::<Vec<_>>()
        };
        let all = of_threads(&self.threads);
        let with = |ops: &[(usize, Op)]| {
            let of = |thread| ops.iter().filter(|(of, _)| *of == thread).map(|(_, op)| *op).collect();
            Self { threads: (0..self.threads.len()).map(of).collect(), ..self.clone() }
        };
        let ops = search.minimize(&all, |ops| search.fails(&with(ops)));
        let case = with(&ops);
        let sets = search.minimize(&case.sets, |sets| search.fails(&Self { sets: sets.to_vec(), ..case.clone() }));
        Some(file::found(search, &Self { sets, ..case }, format!("{} of {} operations", ops.len(), all.len())))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn drawn_programs_pass_and_say_what_they_took() {
        let Work { runs, cycles, warp_instructions } = drawn(4).run().unwrap();
        assert!(runs == 1 && cycles > 100_000 && warp_instructions > 10_000, "{cycles} {warp_instructions}");
    }

    /// Tests shrinking with a program that fails on purpose, because a thread reads more words than is legal.
    #[test]
    fn a_program_that_fails_shrinks_and_is_replayed_from_its_file() {
        let load = Op::Load { at: 0, is_coherent: true };
        let mut case = drawn(3);
        case.sets.push("num_sms=4".to_owned());
        case.threads = vec![vec![Op::Store { at: 0, value: 1 }, Op::Fence], [vec![load; 7], vec![Op::Fence]].concat()];
        let wrong = case.run().unwrap_err();
        assert!(wrong.contains("reads 7 words, expected at most 6"), "{wrong}");
        let found = case.shrink(&Search::new(&wrong, Duration::from_secs(60))).unwrap();
        assert_eq!(found.shrunk, "7 of 10 operations");
        let kept: Litmus = file::read(&found.bytes).unwrap();
        assert_eq!((kept.threads, kept.sets), (vec![vec![], vec![load; 7]], vec![]));
        assert_eq!(reread(&found.bytes).unwrap().run().unwrap_err(), wrong);
    }
}
