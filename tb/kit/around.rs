//! Links between a testbench and a device under test that forwards the payloads it receives, such as a
//! crossbar.

use rtl::kernel::{Chan, Ends, Payload};

/// Input links and output links of a device under test.
pub struct DeviceLinks<T: Payload> {
    links: Vec<Chan<T>>,
    inputs: usize,
}

impl<T: Payload> DeviceLinks<T> {
    /// Creates the set of links of a device. `to_it` are the links into the device, and `from_it` are the
    /// links out of it.
    pub fn new(to_it: impl IntoIterator<Item = Chan<T>>, from_it: impl IntoIterator<Item = Chan<T>>) -> Self {
        let mut links: Vec<_> = to_it.into_iter().collect();
        let inputs = links.len();
        links.extend(from_it);
        Self { links, inputs }
    }

    /// Returns the link into the device's input port number `input`.
    pub fn input(&mut self, input: usize) -> &mut Chan<T> {
        &mut self.links[input]
    }

    /// Returns the link out of the device's output port number `output`.
    pub fn output(&mut self, output: usize) -> &mut Chan<T> {
        &mut self.links[self.inputs + output]
    }

    /// Returns the link into input port `input` and the link out of output port `output`.
    pub fn both(&mut self, input: usize, output: usize) -> (&mut Chan<T>, &mut Chan<T>) {
        let (inputs, outputs) = self.links.split_at_mut(self.inputs);
        (&mut inputs[input], &mut outputs[output])
    }

    /// Returns the ends of all links that the device under test uses: it receives from its inputs and sends
    /// to its outputs.
    pub fn ends(&mut self) -> Ends<'_, T> {
        Ends::of(&mut self.links, self.inputs)
    }
}
