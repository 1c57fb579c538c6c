//! Reference models of the interconnection networks. They predict the contents and the order of deliveries;
//! the model of a mesh or ring also predicts their cycles.

pub mod flits;
pub mod xbar;
