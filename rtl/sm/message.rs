//! # Messages between the CTA dispatcher and an SM

use serde::{Deserialize, Serialize};

use crate::kernel::{Fields, FieldsExt, Payload};

/// Dispatcher to SM: run this CTA.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CtaLaunch {
    /// Linear number of the CTA in its grid.
    pub cta: u32,
    /// Position in the grid: x, y, z.
    pub at: [u32; 3],
}

impl Payload for CtaLaunch {
    type Shape = ();
    fn fields<F: Fields + ?Sized>(&self, (): &(), to: &mut F) {
        let Self { cta, at: [x, y, z] } = self;
        to.bits("cta", *cta);
        to.bits("x", *x);
        to.bits("y", *y);
        to.bits("z", *z);
    }
}

/// SM to dispatcher: this CTA has left and its slot is free.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
pub struct CtaDone {
    /// Linear number of the CTA in its grid.
    pub cta: u32,
}
