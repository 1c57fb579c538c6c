//! Lockstep benches of the set index functions.

automod::dir!("index");
