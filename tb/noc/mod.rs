//! Testbenches that compare crossbars and router networks with their golden models.

#[cfg(test)]
mod router;
pub(crate) mod xbar;
