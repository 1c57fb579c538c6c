//! Lockstep testbenches of small units that several hardware blocks contain.

automod::dir!(pub(crate) "cells");
