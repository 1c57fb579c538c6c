//! # Which misses of an L2 bank are not kept
//! A scheme is one file here: its keys, and which requests it lets past. How they go past is the bank's business
//! (`bank/overlapped/passing`), which asks the hooks and knows no scheme.

automod::dir!(pub "l2/bypass");

use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use derive::watched;

use crate::choice::Choice;
use crate::config::Rules;
use crate::kernel::Describe;

pub use crate::noc::packet::{Request, RequestKind, Sharing};

/// The configuration of a scheme: its keys in `l2.bypass`, beside `kind`.
#[typetag::serde(tag = "kind")]
pub trait Scheme: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// What decides in one bank; `None` if every miss is kept.
    fn hardware(&self) -> Option<Box<dyn Hooks>>;

    /// Checks its keys.
    fn validate(&self, _rules: &mut Rules) {}

    /// True if the tags of lines that are let past are kept, and writes let past as well.
    fn keeps_tags(&self) -> bool {
        false
    }

    /// True if it goes by what the sharing tracker hears of.
    fn needs_tracker(&self) -> bool {
        false
    }
}

/// The slot.
pub type L2Bypass = Choice<dyn Scheme>;

impl L2Bypass {
    /// The bypass policy of one bank, with each call of its hooks noted.
    pub(super) fn watched(&self) -> Option<Box<dyn Hooks>> {
        self.hardware().map(|hooks| Watched::of(self.typetag_name(), hooks))
    }
}

impl<S: Scheme + 'static> From<S> for L2Bypass {
    fn from(scheme: S) -> Self {
        Self::new(Arc::new(scheme))
    }
}

/// What a bank asks of a scheme.
#[watched("l2.bypass")]
#[typetag::serde]
pub trait Hooks: Debug + Send {
    /// Whether a request to a line that is not here goes past the bank; it is not asked about atomics.
    fn lets_past(&self, request: &Request) -> bool;

    /// A request is looked up in a cycle.
    fn reach(&mut self, _cycle: u64) {}

    /// A read has been served or put down.
    fn count(&mut self, _missed: bool) {}

    /// The cycle in which a waiting request may have to go another way, if that depends on time.
    fn next_choice(&self) -> Option<u64> {
        None
    }

    /// Lists registers, arrays and logic, in a part of their own.
    fn describe(&self, _to: &mut dyn Describe) {}
}
