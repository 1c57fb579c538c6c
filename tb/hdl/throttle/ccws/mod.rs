//! Lockstep testbenches of the components of cache-conscious wavefront scheduling (CCWS).

automod::dir!("throttle/ccws");
