//! Untimed twins of the schemes that throttle warps.

pub mod ccws;
pub mod coordinator;

/// The warps that a limit leaves: of those in the order of their launch that `can` go on, the first so
/// many.
pub fn oldest<W: Copy>(launched: &[W], can: impl Fn(W) -> bool, limit: usize) -> Vec<W> {
    launched.iter().copied().filter(|warp| can(*warp)).take(limit).collect()
}
