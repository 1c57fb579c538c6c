//! Litmus tests: small racing programs with one thread per SM. Their outcomes on the machine must be among
//! those that the memory model allows (`tb/litmus.rs`). `warpsieve soak litmus` runs more of them.
//!
//! | testpoint | intent                                                                                             |
//! |-----------|----------------------------------------------------------------------------------------------------|
//! | shapes    | the enumeration must allow and forbid the outcomes that the literature states for the named shapes |
//! | random    | random programs, on machines with different L1s and L2s, must show only allowed outcomes           |
//! | bite      | the tests must detect a machine that ignores fences                                                |

use tb::kit::is_thorough;
use tb::litmus::{LOCATIONS, Op, Program, machines, run_on_machine};

const fn store(at: usize, value: u32) -> Op {
    Op::Store { at, value }
}

const fn load(at: usize) -> Op {
    Op::Load { at, is_coherent: true }
}

const fn weak(at: usize) -> Op {
    Op::Load { at, is_coherent: false }
}

const FENCE: Op = Op::Fence;

fn program(threads: &[&[Op]]) -> Program {
    Program(threads.iter().map(|ops| ops.to_vec()).collect())
}

/// True if the memory model allows the threads to read these values, whatever the final contents of memory
/// are.
fn may_read(program: &Program, read: &[u32]) -> bool {
    program.allowed_outcomes().iter().any(|seen| seen[..seen.len() - LOCATIONS] == *read)
}

/// True if the memory model allows the memory locations to have these final values.
fn may_leave(program: &Program, last: [u32; LOCATIONS]) -> bool {
    program.allowed_outcomes().iter().any(|seen| seen[seen.len() - LOCATIONS..] == last)
}

/// Returns the litmus test "store buffering": each of two threads stores to one location, then loads the
/// location to which the other thread stores.
fn store_buffering() -> Program {
    program(&[&[store(0, 1), FENCE, load(1)], &[store(1, 1), FENCE, load(0)]])
}

/// Returns the litmus test "message passing": one thread stores data and then a flag, and the other loads the
/// flag and then the data.
fn message_passing() -> Program {
    program(&[&[store(0, 1), FENCE, store(1, 1)], &[load(1), FENCE, load(0)]])
}

#[test]
fn fences_forbid_what_the_shapes_with_a_name_show_without_them() {
    let load_buffering = program(&[&[load(0), FENCE, store(1, 1)], &[load(1), FENCE, store(0, 1)]]);
    let independent_reads =
        program(&[&[store(0, 1)], &[store(1, 1)], &[load(0), FENCE, load(1)], &[load(1), FENCE, load(0)]]);
    let shapes: [(Program, &[u32]); 4] = [
        (store_buffering(), &[0, 0]),
        (message_passing(), &[1, 0]),
        (load_buffering, &[1, 1]),
        (independent_reads, &[1, 0, 1, 0]),
    ];
    for (shape, read) in shapes {
        assert!(!may_read(&shape, read), "{shape}");
        assert!(may_read(&shape.remove_fences(), read), "{shape}");
    }
    // Litmus test "2+2W": two threads store to the same two locations, in opposite orders.
    let crossed = program(&[&[store(0, 1), FENCE, store(1, 2)], &[store(1, 1), FENCE, store(0, 2)]]);
    assert!(!may_leave(&crossed, [1, 1, 0]) && may_leave(&crossed.remove_fences(), [1, 1, 0]));
    assert!(may_leave(&crossed, [2, 2, 0]));
}

#[test]
fn one_location_has_one_order_for_all_who_read_it_in_memory() {
    let twice = |read: fn(usize) -> Op| program(&[&[store(0, 1)], &[read(0), read(0)]]);
    assert!(!may_read(&twice(load), &[1, 0]) && may_read(&twice(load), &[0, 1]));
    // A weak load may hit a stale copy in an L1. It may therefore return an older value than an earlier load
    // of the same location.
    assert!(may_read(&twice(weak), &[1, 0]));
    for read in [load, weak] {
        let own = program(&[&[store(0, 1), read(0)], &[store(0, 2)]]);
        assert!(!may_read(&own, &[0]), "a thread sees its own store");
        assert!(may_read(&own, &[1]) && may_read(&own, &[2]));
    }
    let add = Op::Add { at: 0, value: 1 };
    let both = program(&[&[add], &[add]]);
    assert_eq!(both.allowed_outcomes().into_iter().collect::<Vec<_>>(), [vec![0, 1, 2, 0, 0], vec![1, 0, 2, 0, 0]]);
}

/// Number of random litmus programs in a normal run and in a thorough run.
const PROGRAMS: [u64; 2] = [10, 45];

#[test]
fn random_programs_show_only_what_is_allowed() {
    let machines = machines();
    let (mut unordered, mut outcomes) = (0, 0);
    let programs = PROGRAMS[usize::from(is_thorough())];
    for seed in 0..programs {
        let program = Program::draw(seed);
        let machine = &machines[seed as usize % machines.len()];
        let allowed = program.allowed_outcomes();
        let in_order = program.in_order();
        for (seen, times) in run_on_machine(&program, seed as u32, machine).unwrap().seen {
            let of = || format!("seed {seed}, designs {:?}, {:?}\n{program}", machine.designs, machine.sets);
            assert!(allowed.contains(&seen), "{seen:?}, {times} times, is not allowed: {}", of());
            unordered += u32::from(!in_order.contains(&seen));
            outcomes += 1;
        }
    }
    // The programs must contain races that take effect: there must be several outcomes per program, and some
    // outcomes that sequential consistency does not allow.
    assert!(outcomes > 3 * programs && unordered > 5, "{outcomes} outcomes, {unordered} of them out of order");
}

#[test]
fn a_machine_that_ignored_fences_would_be_found_out() {
    let shape = store_buffering();
    let allowed = shape.allowed_outcomes();
    let forbidden = |program: &Program| {
        let seen = (0..4).flat_map(|seed| run_on_machine(program, seed, &machines()[0]).unwrap().seen);
        seen.filter(|(seen, _)| !allowed.contains(seen)).count()
    };
    assert_eq!(forbidden(&shape), 0);
    assert!(forbidden(&shape.remove_fences()) > 0, "nothing out of order was seen");
}
