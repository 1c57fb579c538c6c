//! # Flip-flops
//! Models a small group of registers. `edge` returns the value at the start of the cycle (`q`, a copy) and
//! the value being formed for the next cycle (`d`, a reference). Hardware blocks read `q`, decide, and write
//! `d`.

/// Group of flip-flops, at most a few hundred bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Regs<S: Copy>(S);

impl<S: Copy> Regs<S> {
    /// Creates registers with the reset value `reset`.
    pub const fn new(reset: S) -> Self {
        Self(reset)
    }

    /// Starts a clock edge: returns the committed value `q` and a reference to the next value `d`.
    pub fn edge(&mut self) -> (S, &mut S) {
        (self.0, &mut self.0)
    }

    /// Returns the current value between two clock edges.
    pub const fn q(&self) -> &S {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q_keeps_the_start_of_the_cycle_while_d_moves_on() {
        let mut head = Regs::new(3u8);
        let (q, d) = head.edge();
        *d = 4;
        assert_eq!((q, *head.q()), (3, 4));
    }
}
