//! Parts of the L2 bank.

automod::dir!("l2");
