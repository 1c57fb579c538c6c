//! Testbenches of the schemes by which loads bypass the L1D, one file per scheme.

automod::dir!("l1/bypass");
