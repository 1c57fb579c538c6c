//! Parts of the core of an SM.

automod::dir!("sm");
