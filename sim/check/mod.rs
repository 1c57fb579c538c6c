//! # Golden twins beside a running machine
//! Each follows what a block reports of itself, edge by edge, and says where the two part.

pub mod dueling;
pub mod icache;
pub mod l1;
pub mod tracker;
pub mod twin;
