//! The schemes that send loads past the L1D; a file here is the bench of one.

automod::dir!("l1/bypass");
