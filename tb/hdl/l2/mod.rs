//! Lockstep testbenches of the components of the L2 bank.

automod::dir!("l2");
