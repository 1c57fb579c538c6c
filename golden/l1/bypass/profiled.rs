//! # Profile-guided bypass
//! Only lines in a given set may use the L1D; loads of other lines bypass it (Profiled-BYPASS, li2015 section
//! 6.1). The simulator (host code) computes the set from a profiling run and passes it to the model through
//! [`Bypass::admit`].

use std::collections::BTreeSet;

use serde::Deserialize;

use super::super::event::{Load, Space};
use super::{Bypass, CacheInfo, Contents, Path, Scheme};

/// Configuration of the profile-guided bypass. The model ignores the parameters; the simulator (host code)
/// passes the admitted lines to it.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Profile {}

#[typetag::deserialize(name = "profiled")]
impl Scheme for Profile {
    fn twin(&self, _place: &CacheInfo) -> Option<Box<dyn Bypass>> {
        Some(Box::new(Profiled { admitted: None }))
    }
}

/// Reference model of the profile-guided bypass.
#[derive(Clone, Debug)]
pub struct Profiled {
    /// Lines that may use the cache; `None` permits every line until the simulator (host code) passes the
    /// set.
    admitted: Option<BTreeSet<u64>>,
}

impl Bypass for Profiled {
    fn way(&self, load: &Load, _contents: &dyn Contents) -> Path {
        let admits = self.admitted.as_ref().is_none_or(|lines| lines.contains(&load.line));
        if load.space == Space::Global && !admits { Path::Bypass } else { Path::Lookup }
    }

    fn admit(&mut self, lines: &[u64]) {
        self.admitted = Some(lines.iter().copied().collect());
    }
}
