//! Lockstep testbenches of the components of the sharing tracker.

automod::dir!("tracker");
