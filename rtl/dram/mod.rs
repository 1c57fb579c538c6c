//! GDDR5: the controller of one channel and the memory behind it.

pub mod message;
