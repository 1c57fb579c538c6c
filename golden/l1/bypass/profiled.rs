//! # Profile-guided bypass
//! Bypasses loads of lines outside a given set (Profiled-BYPASS, li2015 section 6.1). The host computes the
//! set from a profiling run; the model receives it through [`Bypass::admit`].

use std::collections::BTreeSet;

use serde::Deserialize;

use super::super::event::{Load, Space};
use super::{Bypass, CacheInfo, Contents, Path, Scheme};

/// Configuration of the scheme. The model ignores the parameters and receives the admitted lines from the
/// host.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Profile {}

#[typetag::deserialize(name = "profiled")]
impl Scheme for Profile {
    fn twin(&self, _place: &CacheInfo) -> Option<Box<dyn Bypass>> {
        Some(Box::new(Profiled { admitted: None }))
    }
}

/// Reference model of the scheme.
#[derive(Clone, Debug)]
pub struct Profiled {
    /// Admitted lines; `None` admits every line until the host supplies the set.
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
