//! Test cases that are determined by a seed and a number of steps. A test case with fewer steps is the
//! beginning of the same random sequence.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::shrink::Search;
use super::{Case, ShrunkCase, Soak, Work, file};

/// Function that runs a test case: the first `steps` steps of the random sequence that `seed` determines.
pub(super) type Run = fn(seed: u64, steps: u64) -> Result<Work, String>;

struct SeedCase {
    soak: &'static str,
    seed: u64,
    steps: u64,
    run: Run,
}

/// Contents of a file with a test case that is determined by a seed and a number of steps.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    seed: u64,
    steps: u64,
}

impl Soak {
    /// Creates a soak test whose test cases are determined by a seed and have `steps` steps each. `run` runs
    /// the first steps of the random sequence that the seed determines.
    #[must_use]
    pub fn of_seed(name: &'static str, about: &'static str, steps: u64, run: Run) -> Self {
        let draw = move |_: &Path, seed| Box::new(SeedCase { soak: name, seed, steps, run }) as Box<dyn Case>;
        Self::new(name, about, draw, move |_, _, text| {
            let CaseFile { seed, steps } = file::read(text)?;
            Ok(Box::new(SeedCase { soak: name, seed, steps, run }))
        })
    }
}

impl Case for SeedCase {
    fn reproduce(&self) -> String {
        format!("warpsieve soak {} --seed {} --count 1", self.soak, self.seed)
    }

    fn run(&self) -> Result<Work, String> {
        (self.run)(self.seed, self.steps)
    }

    fn shrink(&self, search: &Search) -> Option<ShrunkCase> {
        let &Self { soak, seed, steps: all, run } = self;
        let fails = |steps| search.fails(&Self { soak, seed, steps, run });
        let steps = fails(all).then(|| search.bisect(all, fails))?;
        Some(file::found(search, &CaseFile { seed, steps }, format!("{steps} of {all} steps")))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Limits;
    use super::*;

    fn plant(seed: u64, steps: u64) -> Result<Work, String> {
        if seed == 3 && steps > 641 {
            Err(format!("step {steps} of seed {seed} is wrong"))
        } else {
            Ok(Work::default())
        }
    }

    #[test]
    fn a_planted_failure_shrinks_to_its_first_step_and_is_replayed_from_its_file() {
        let soak = Soak::of_seed("planted", "", 10_000, plant);
        let failed = soak.run(Path::new(""), 1.., Limits::default(), &mut |_| {}).unwrap_err();
        let found = failed.shrunk(Duration::from_secs(60)).unwrap();
        assert_eq!(found.shrunk, "642 of 10000 steps");
        let folder = tempfile::tempdir().unwrap();
        let path = found.write(folder.path(), soak.name, failed.seed).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "# step # of seed # is wrong\nseed = 3\nsteps = 642\n");
        assert_eq!(soak.replay(Path::new(""), &path), Err("step 642 of seed 3 is wrong".to_owned()));
        std::fs::write(&path, text.replace("642", "641")).unwrap();
        assert_eq!(soak.replay(Path::new(""), &path), Ok(()));
        std::fs::write(&path, "sead = 3\n").unwrap();
        let refused = soak.replay(Path::new(""), &path).unwrap_err();
        assert!(refused.contains("planted-3.toml: ") && refused.contains("unknown field `sead`"), "{refused}");
    }
}
