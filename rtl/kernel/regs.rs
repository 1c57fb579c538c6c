//! # Flip-flops
//! A small bundle of registers. `edge` hands out the value at the start of the cycle (`q`, a
//! copy) and the value being formed for the next one (`d`, live): decide on `q`, write `d`.

/// A bundle of flip-flops, a few hundred bytes at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Regs<S: Copy>(S);

impl<S: Copy> Regs<S> {
    /// Registers with the given reset values.
    pub const fn new(reset: S) -> Self {
        Self(reset)
    }

    /// Opens a clock edge: the committed value and the next one.
    pub fn edge(&mut self) -> (S, &mut S) {
        (self.0, &mut self.0)
    }

    /// The committed value between edges.
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
