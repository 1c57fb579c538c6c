//! Lockstep testbenches of the functions that compute a cache's set index.

automod::dir!("index");
