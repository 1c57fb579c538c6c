//! What holds warps back.

automod::dir!("throttle");

mod ccws;
