//! waves
