//! # Messages between the CTA dispatcher and an SM

use serde::{Deserialize, Serialize};

use crate::kernel::{Fields, FieldsExt, Payload};

/// Message from the dispatcher to an SM: launches a CTA.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CtaLaunch {
    /// Linear index of the CTA in its grid.
    pub cta: u32,
    /// Position of the CTA in the grid: x, y, z.
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

/// Message from an SM to the dispatcher: a CTA has ended and its slot is free.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
pub struct CtaDone {
    /// Linear index of the CTA in its grid.
    pub cta: u32,
}
