//! Set index functions.

automod::dir!("index");
