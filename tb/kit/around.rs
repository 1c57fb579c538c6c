//! Links around a block that passes on what it receives.

use rtl::kernel::{Chan, Ends, Payload};

/// The links to a block, and from it.
pub struct Around<T: Payload> {
    links: Vec<Chan<T>>,
    inputs: usize,
}

impl<T: Payload> Around<T> {
    /// These.
    pub fn new(to_it: impl IntoIterator<Item = Chan<T>>, from_it: impl IntoIterator<Item = Chan<T>>) -> Self {
        let mut links: Vec<_> = to_it.into_iter().collect();
        let inputs = links.len();
        links.extend(from_it);
        Self { links, inputs }
    }

    /// A link to it.
    pub fn input(&mut self, input: usize) -> &mut Chan<T> {
        &mut self.links[input]
    }

    /// A link from it.
    pub fn output(&mut self, output: usize) -> &mut Chan<T> {
        &mut self.links[self.inputs + output]
    }

    /// A link to it and one from it.
    pub fn both(&mut self, input: usize, output: usize) -> (&mut Chan<T>, &mut Chan<T>) {
        let (inputs, outputs) = self.links.split_at_mut(self.inputs);
        (&mut inputs[input], &mut outputs[output])
    }

    /// Its ends.
    pub fn ends(&mut self) -> Ends<'_, T> {
        Ends::of(&mut self.links, self.inputs)
    }
}
