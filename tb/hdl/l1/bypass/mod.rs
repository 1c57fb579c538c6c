//! Lockstep testbenches of the schemes by which loads bypass a cache.

automod::dir!("l1/bypass");
