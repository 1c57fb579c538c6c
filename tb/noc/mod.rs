//! Testbenches of crossbars and router networks against their golden twins.

#[cfg(test)]
mod router;
pub(crate) mod xbar;
