//! Links around a device under test that forwards the payload it receives.

use rtl::kernel::{Chan, Ends, Payload};

/// Input links and output links of a device under test.
pub struct DeviceLinks<T: Payload> {
    links: Vec<Chan<T>>,
    inputs: usize,
}

impl<T: Payload> DeviceLinks<T> {
    /// Creates the set of links from the device's inputs and outputs.
    pub fn new(to_it: impl IntoIterator<Item = Chan<T>>, from_it: impl IntoIterator<Item = Chan<T>>) -> Self {
        let mut links: Vec<_> = to_it.into_iter().collect();
        let inputs = links.len();
        links.extend(from_it);
        Self { links, inputs }
    }

    /// Returns the link to input `input` of the device.
    pub fn input(&mut self, input: usize) -> &mut Chan<T> {
        &mut self.links[input]
    }

    /// Returns the link from output `output` of the device.
    pub fn output(&mut self, output: usize) -> &mut Chan<T> {
        &mut self.links[self.inputs + output]
    }

    /// Returns the link to input `input` and the link from output `output`.
    pub fn both(&mut self, input: usize, output: usize) -> (&mut Chan<T>, &mut Chan<T>) {
        let (inputs, outputs) = self.links.split_at_mut(self.inputs);
        (&mut inputs[input], &mut outputs[output])
    }

    /// Returns the device's ends of all links.
    pub fn ends(&mut self) -> Ends<'_, T> {
        Ends::of(&mut self.links, self.inputs)
    }
}
