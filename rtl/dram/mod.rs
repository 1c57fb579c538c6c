//! GDDR5 and HBM: the controller of one channel and the memory behind it.
//!
//! | file        | holds                                                                |
//! |-------------|----------------------------------------------------------------------|
//! | `message`   | messages between L2 bank and channel                                 |
//! | `config`    | size, policies and timing of a channel                               |
//! | `layout`    | configuration of the address mapping                                 |
//! | `mapping`   | burst address to bank, row and column                                |
//! | `command`   | commands on a command bus                                            |
//! | `policy`    | arbitration policies, one per file                                   |
//! | `queue`     | waiting requests, reads and writes together                          |
//! | `bank`      | open row and earliest next commands of one bank                      |
//! | `timing`    | minimum distances between commands to different banks                |
//! | `scheduler` | arbitration for the command bus                                      |
//! | `ranked`    | arbitration for the command bus by ranks                             |
//! | `drain`     | selection of reads or writes                                         |
//! | `refresh`   | refresh of all banks                                                 |
//! | `replies`   | buffer of read data                                                  |
//! | `store`     | contents of the memory                                               |
//! | `recorded`  | contents of the memory behind a trace                                |
//! | `counts`    | statistics                                                           |
//! | `watch`     | events for a checker                                                 |
//! | `channel`   | the hardware block built from these components                       |

pub mod bank;
pub mod channel;
pub mod command;
pub mod config;
pub mod counts;
pub mod drain;
pub mod layout;
pub mod mapping;
pub mod message;
pub mod policy;
pub mod queue;
pub mod ranked;
pub mod recorded;
pub mod refresh;
pub mod replies;
pub mod scheduler;
pub mod store;
pub mod timing;
pub mod watch;
