//! The parts of cache-conscious wavefront scheduling.

automod::dir!("throttle/ccws");
