//! Lockstep benches of small units that several blocks use.

automod::dir!("cells");
