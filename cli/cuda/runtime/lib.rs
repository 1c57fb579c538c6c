//! # The CUDA runtime of a simulated machine
//! Replaces `libcudart.so` in a CUDA program. Each exported function has the name and the C interface of a
//! function of the CUDA runtime. It sends requests to the command `warpsieve exec` ([`cuda::wire`]).
//!
//! All work is done when it is issued: a launch returns when the kernel has ended, and a copy when the data
//! have arrived. The CUDA programming model permits this order for any streams and events.
//!
//! | module       | content                                                                      |
//! |--------------|------------------------------------------------------------------------------|
//! | `state`      | what the process has registered and created, behind one lock                 |
//! | `connection` | requests to the simulator, and the end of the process after a refusal        |
//! | `pointers`   | the accesses to memory of the program: nearly all `unsafe` blocks            |
//! | `managed`    | memory at the same address in the program and on the device                  |
//! | `register`   | fat binaries, kernels and variables                                          |
//! | `launch`     | kernel launches                                                              |
//! | `memory`     | allocations, copies and fills                                                |
//! | `device`     | device properties                                                            |
//! | `kernel`     | kernel attributes and occupancy                                              |
//! | `streams`    | streams and events                                                           |
//! | `errors`     | error codes                                                                  |
//!
//! The process ends with status 3 if the program needs something that neither this library nor the model
//! supports.

mod connection;
mod device;
mod errors;
mod kernel;
mod launch;
mod managed;
mod memory;
mod pointers;
mod register;
mod state;
mod streams;
