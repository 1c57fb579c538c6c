//! # Which misses of an L2 bank are not kept
//! A scheme is one file here: its keys, and which requests it lets past. How they go past is the bank's business
//! (`bank/overlapped/passing`), which asks a [`Rule`] and knows no scheme.

pub mod all;
pub mod coalesced;
pub mod streaming;

use serde::{Deserialize, Serialize};

use self::all::All;
use self::coalesced::Coalesced;
use crate::cells::streaming::{Streaming, StreamingConfig};
use crate::config::Rules;
use crate::kernel::{Describe, DescribeExt};
use crate::noc::packet::Request;

/// Which misses are not kept.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum L2Bypass {
    /// None.
    None(NoScheme),
    /// Reads and writes while nearly all reads miss (khairy2015 section 4.1).
    Streaming(StreamingConfig),
    /// Reads and writes always: no cache, but for atomics (khairy2015 section 3.1).
    All(All),
    /// Reads of lines that will stay in an L1 (anssari2012 section 3.3), as the sharing tracker hears of them.
    Coalesced(Coalesced),
}

/// Every miss is kept: there are no keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NoScheme {}

impl L2Bypass {
    /// Every miss is kept.
    pub const NONE: Self = Self::None(NoScheme {});

    /// The kind, as a configuration has it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::None(_) => "none",
            Self::Streaming(_) => "streaming",
            Self::All(_) => "all",
            Self::Coalesced(_) => "coalesced",
        }
    }

    /// True if the tags of lines that are let past are kept, and writes let past as well.
    #[must_use]
    pub fn keeps_tags(&self) -> bool {
        matches!(self, Self::Streaming(_) | Self::All(_))
    }

    /// True if it goes by what the sharing tracker hears of.
    #[must_use]
    pub fn needs_tracker(&self) -> bool {
        matches!(self, Self::Coalesced(_))
    }

    /// Checks its keys.
    pub(super) fn validate(&self, rules: &mut Rules) {
        if let Self::Streaming(config) = self {
            streaming::validate(config, rules);
        }
    }

    /// What decides; nothing if every miss is kept.
    pub(super) fn rule(&self) -> Option<Rule> {
        match self {
            Self::None(_) => None,
            Self::Streaming(config) => Some(Rule::Streaming(Streaming::new(config, true))),
            Self::All(scheme) => Some(Rule::All(*scheme)),
            Self::Coalesced(scheme) => Some(Rule::Coalesced(*scheme)),
        }
    }
}

/// What decides.
#[derive(Clone, Debug)]
pub(super) enum Rule {
    Streaming(Streaming),
    All(All),
    Coalesced(Coalesced),
}

impl Rule {
    /// Whether a request to a line that is not here goes past the bank; atomics never do.
    pub fn lets_past(&self, request: &Request) -> bool {
        !request.kind.is_atomic()
            && match self {
                Self::Streaming(monitor) => monitor.is_closed(),
                Self::All(scheme) => scheme.lets_past(),
                Self::Coalesced(scheme) => scheme.lets_past(request),
            }
    }

    /// A request is looked up in a cycle.
    pub fn reach(&mut self, cycle: u64) {
        if let Self::Streaming(monitor) = self {
            monitor.reach(cycle);
        }
    }

    /// A read has been served or put down.
    pub fn count(&mut self, missed: bool) {
        if let Self::Streaming(monitor) = self {
            monitor.count(missed);
        }
    }

    /// The cycle in which a waiting request may have to go another way, if that depends on time.
    pub fn next_choice(&self) -> Option<u64> {
        if let Self::Streaming(monitor) = self { monitor.ends() } else { None }
    }

    /// Lists the registers.
    pub fn describe(&self, to: &mut dyn Describe) {
        if let Self::Streaming(monitor) = self {
            to.part("streaming", |to| monitor.describe(to));
        }
    }
}
