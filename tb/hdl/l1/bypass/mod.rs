//! Which loads go past a cache.

automod::dir!("l1/bypass");
