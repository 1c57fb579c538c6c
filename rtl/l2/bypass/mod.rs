//! # Bypass policies of an L2 bank
//! A policy decides which misses bypass the bank. Each scheme is one file in this folder, with its parameters
//! and its decision. The bank itself implements the bypass (`bank/overlapped/bypass_buffer`) and uses the
//! scheme only through hooks.

automod::dir!(pub "l2/bypass");

use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use derive::watched;

use crate::choice::Choice;
use crate::config::Rules;
use crate::kernel::{CounterReader, Describe};

pub use crate::noc::packet::{Request, RequestKind, Sharing};

/// Configuration of a bypass scheme: its parameters are the keys of `l2.bypass` other than `kind`.
#[typetag::serde(tag = "kind")]
pub trait Scheme: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Returns the bypass policy of one bank; `None` if no miss bypasses the bank.
    fn hardware(&self) -> Option<Box<dyn Hooks>>;

    /// Checks the parameters of the bypass scheme.
    fn validate(&self, _rules: &mut Rules) {}

    /// True if the bank keeps the tags of bypassed lines. If it does, write misses can bypass the bank as
    /// well as read misses.
    fn keeps_tags(&self) -> bool {
        false
    }

    /// True if the scheme uses the hints that requests carry for the sharing tracker.
    fn needs_tracker(&self) -> bool {
        false
    }
}

/// Bypass policy selected for the L2 banks.
pub type L2Bypass = Choice<dyn Scheme>;

impl L2Bypass {
    /// Returns the bypass policy of one bank, in a wrapper that records each call of a hook.
    pub(super) fn watched_hooks(&self) -> Option<Box<dyn Hooks>> {
        self.hardware().map(|hooks| Watched::of(self.typetag_name(), hooks))
    }

    /// Lists the counters of all bypass policies that are linked into the program, for the dictionary of
    /// counters. The policies have their default parameters.
    pub fn list_counters(to: &mut dyn CounterReader) {
        for hooks in Self::linked().iter().filter_map(Self::watched_hooks) {
            hooks.counters(to);
        }
    }
}

impl<S: Scheme + 'static> From<S> for L2Bypass {
    fn from(scheme: S) -> Self {
        Self::new(Arc::new(scheme))
    }
}

/// Functions (hooks) of a bypass policy that an L2 bank calls.
#[watched("l2.bypass")]
#[typetag::serde]
pub trait Hooks: Debug + Send {
    /// True if a request whose line is absent must bypass the bank. Never called for atomics.
    fn bypasses(&self, request: &Request) -> bool;

    /// Called when a request is looked up in cycle `cycle`, before the policy decides whether the request
    /// bypasses the bank.
    fn reach(&mut self, _cycle: u64) {}

    /// Called when a read was served or deferred. `_missed` is true if the tag of its line was absent.
    fn count(&mut self, _missed: bool) {}

    /// Returns the next cycle in which the decision for a waiting request may change. Returns `None` if the
    /// decision does not depend on time.
    fn next_choice(&self) -> Option<u64> {
        None
    }

    /// Lists the registers, arrays and logic of the bypass policy, as one component, for waveforms, digests
    /// and area estimates.
    fn describe(&self, _to: &mut dyn Describe) {}

    /// Lists the scheme's own counters, for the statistics. Every call must list the same keys, and no
    /// counter may ever decrease, not even at the end of a kernel.
    fn counters(&self, _to: &mut dyn CounterReader) {}
}
