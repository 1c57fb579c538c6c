//! # Entries for even warps
//! The last `reserved` free MSHR entries of the L1 are for warps with even numbers. All other warps wait
//! until more entries are free.

pub mod twin;

use rtl::config::Rules;
use rtl::kernel::{Describe, DescribeExt, Edge, Logic};
use rtl::mshr_policy::{Hooks, MshrInfo, MshrRequest, MshrView, Scheme};
use serde::{Deserialize, Serialize};

/// Configuration keys of this MSHR policy, which a machine or design selects in `l1.mshr_policy`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewMshr {
    /// Number of free MSHR entries that only warps with even numbers may use.
    pub reserved: u32,
}

impl Default for NewMshr {
    fn default() -> Self {
        Self { reserved: 16 }
    }
}

#[typetag::serde(name = "new-mshr")]
impl Scheme for NewMshr {
    fn hardware(&self, _mshr: &MshrInfo<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(EvenFirst { reserved: self.reserved }))
    }

    fn validate(&self, mshr: &MshrInfo<'_>, rules: &mut Rules) {
        let legal = format!("less than {0} with mshr_entries = {0}", mshr.entries);
        rules.expect(self.reserved < mshr.entries, "reserved", self.reserved, &legal, "odd warps need an entry, too");
    }
}

/// Hardware model of this MSHR policy, which has no registers.
#[derive(Debug, Serialize, Deserialize)]
struct EvenFirst {
    reserved: u32,
}

#[typetag::serde(name = "new-mshr")]
impl Hooks for EvenFirst {
    fn may_allocate(&self, request: &MshrRequest, view: &MshrView) -> bool {
        request.requester.is_multiple_of(2) || view.free > self.reserved
    }

    fn on_allocate(&mut self, _at: &Edge<'_>, _entry: u32, _request: &MshrRequest) {}

    fn on_free(&mut self, _at: &Edge<'_>, _entry: u32) {}

    fn describe(&self, to: &mut dyn Describe) {
        let Self { reserved: _ } = self;
        to.part("new_mshr", |to| to.logic("is_reserved", Logic::Less { width: 10, count: 1 }));
    }
}
