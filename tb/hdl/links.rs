//! # Links of a block at the pins of its module
//! A block, unlike its components, talks to other blocks through ready/valid links ([`Chan`]). Its module has
//! a group of pins for each link, named after the port of the Rust block:
//!
//! | port  | pins of the module                                                                          |
//! |-------|---------------------------------------------------------------------------------------------|
//! | `In`  | `NAME_valid_i`, `NAME_FIELD_i` for each field of a beat, `NAME_ready_o`                      |
//! | `Out` | `NAME_valid_o`, `NAME_FIELD_o` for each field of a beat, `NAME_ready_i`                      |
//!
//! A beat passes in a cycle in which valid and ready are both set. The fields are those that the beat lists
//! (`Payload::fields`), with the widths that the shape of the link gives them.
//!
//! Both functions read a link *after* the block was evaluated at an edge, and before the next edge. They work
//! for a link of a testbench ([`link`]) and for a link of a running machine. A testbench of a block evaluates
//! it in [`Bench::cycle`](super::Bench::cycle) as follows:
//! 1. Push beats into the input links and pop beats of the output links, as random traffic demands.
//! 2. Evaluate the block at the edge (`Block::eval`), with the ends of the links.
//! 3. Call [`input`] or [`output`] for each link.
//!
//! A beat that is pushed at an edge is visible to the block at the next edge. The Rust block shows `ready`
//! only for a visible beat, and `valid` only while its receiver has room; in other cycles, these pins are
//! not compared. The module can therefore drive `ready` independently of `valid`, and `valid` of `ready`.

use rtl::kernel::{BlockId, Chan, Field, Fields, FieldsExt as _, Payload};

use super::ports::{Ports, append_bits};

/// Block at either end of a link of a testbench. A testbench evaluates its block at every edge, so nobody
/// needs to be woken.
pub(super) const ANY: BlockId = BlockId { domain: 0, slot: 0 };

/// Creates a link between a block and its testbench. Beats and freed slots are visible at the next edge.
pub(super) fn link<T: Payload>(name: &str, depth: u32, shape: T::Shape) -> Chan<T> {
    rtl::kernel::link(name, depth, &[1], ANY, ANY, shape)
}

/// Records the pins of an input port at edge `tick`: drives the beat that the block sees, and expects `ready`
/// if the block took it. Without a visible beat, all fields are driven with their reset values.
pub(super) fn input<T: Payload>(ports: &mut Ports, name: &str, link: &Chan<T>, tick: u64) {
    let seen = link.beat_seen_at(tick);
    ports.input(&pin(ports, name, "valid"), 1, seen.is_some());
    for (field, width, bytes) in fields_of(link, seen) {
        ports.wide_input(&pin(ports, name, field), width, &bytes);
    }
    ports.output_if(&pin(ports, name, "ready"), 1, seen.map(|_| link.beat_taken_at(tick).is_some()));
}

/// Records the pins of an output port at edge `tick`: drives `ready` if the link has room, and expects the
/// beat that the block sent.
pub(super) fn output<T: Payload>(ports: &mut Ports, name: &str, link: &Chan<T>, tick: u64) {
    let (is_ready, sent) = (link.has_room_at(tick), link.beat_sent_at(tick));
    ports.input(&pin(ports, name, "ready"), 1, is_ready);
    ports.output_if(&pin(ports, name, "valid"), 1, is_ready.then_some(sent.is_some()));
    for (field, width, bytes) in fields_of(link, sent) {
        ports.wide_output(&pin(ports, name, field), width, sent.map(|_| &bytes[..]));
    }
}

/// Returns a value as the word that a module stores for it: all fields in order, the first one highest. The
/// result is the width of the word in bits, and the word, least significant byte first.
pub(super) fn word<T: Payload>(shape: &T::Shape, value: &T) -> (u32, Vec<u8>) {
    let mut bits = Bits::default();
    value.fields(shape, &mut bits);
    let mut bytes = vec![0; bits.0.len().div_ceil(8)];
    for (at, bit) in bits.0.iter().rev().enumerate() {
        bytes[at / 8] |= u8::from(*bit) << (at % 8);
    }
    (bits.0.len() as u32, bytes)
}

/// Bits of a value: all its fields in order, each with its most significant bit first.
#[derive(Default)]
struct Bits(Vec<bool>);

impl Fields for Bits {
    fn field(&mut self, field: Field) {
        self.0.extend((0..field.width).rev().map(|bit| field.value >> bit & 1 != 0));
    }
    fn wide(&mut self, name: &'static str, bytes: &[u8]) {
        bytes.iter().rev().for_each(|byte| self.bits(name, *byte));
    }
}

/// Returns the name of a pin, which is needed only in the first cycle.
fn pin(ports: &Ports, name: &str, field: &str) -> String {
    if ports.is_known { String::new() } else { format!("{name}_{field}") }
}

/// Returns name, width and value of each field of a beat, or of the reset value of a beat.
fn fields_of<T: Payload>(link: &Chan<T>, beat: Option<&T>) -> Vec<(&'static str, u32, Vec<u8>)> {
    let mut fields = Collected::default();
    match beat {
        Some(beat) => beat.fields(link.shape(), &mut fields),
        None => T::default().fields(link.shape(), &mut fields),
    }
    fields.0
}

/// Visitor that collects the fields of a beat. Fields in succession with the same name are the parts of one
/// value, the first in the lowest bits.
#[derive(Default)]
struct Collected(Vec<(&'static str, u32, Vec<u8>)>);

impl Collected {
    /// Returns the width and the bytes of the value with this name that the visitor is collecting.
    fn value(&mut self, name: &'static str) -> (&mut u32, &mut Vec<u8>) {
        if self.0.last().is_none_or(|(last, ..)| *last != name) {
            self.0.push((name, 0, Vec::new()));
        }
        let Some((_, width, bytes)) = self.0.last_mut() else { unreachable!("it was just pushed") };
        (width, bytes)
    }
}

impl Fields for Collected {
    fn field(&mut self, Field { name, width, value, .. }: Field) {
        let (at, bytes) = self.value(name);
        append_bits(bytes, *at, value, width);
        *at += width;
    }
    fn wide(&mut self, name: &'static str, value: &[u8]) {
        let (width, bytes) = self.value(name);
        bytes.extend_from_slice(value);
        *width += value.len() as u32 * 8;
    }
}
