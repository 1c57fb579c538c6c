//! Parts of a DRAM channel.

automod::dir!("dram");
