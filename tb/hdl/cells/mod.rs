//! Small machines that several blocks are built of.

automod::dir!("cells");
