//! Crossbars and networks of routers against their twins.

#[cfg(test)]
mod router;
pub(crate) mod xbar;
