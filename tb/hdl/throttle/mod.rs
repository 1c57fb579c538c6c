//! Lockstep testbenches of the schemes that throttle warps.

automod::dir!("throttle");

mod ccws;
