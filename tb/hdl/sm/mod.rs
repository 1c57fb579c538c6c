//! Lockstep testbenches of the components of an SM core.

automod::dir!("sm");
