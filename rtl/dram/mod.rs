//! GDDR5 and HBM: the controller of one channel and the memory behind it.
//!
//! | file        | holds                                                                |
//! |-------------|----------------------------------------------------------------------|
//! | `message`   | what the L2 bank and the channel say to each other                   |
//! | `config`    | size, policy and timing of a channel                                 |
//! | `mapping`   | burst address to bank, row and column                                |
//! | `command`   | what stands on a command bus                                         |
//! | `queue`     | requests that wait, reads and writes together                        |
//! | `bank`      | open row and earliest next commands of one bank                      |
//! | `timing`    | distances that banks of a group or of the channel owe each other     |
//! | `scheduler` | which request gets a command bus                                     |
//! | `drain`     | whether reads or writes are in turn                                  |
//! | `refresh`   | when all banks stop for a refresh                                    |
//! | `replies`   | read data until they leave                                           |
//! | `store`     | the contents of the memory                                           |
//! | `recorded`  | the same behind a trace                                              |
//! | `counts`    | statistics                                                           |
//! | `channel`   | the block made of these parts                                        |

pub mod bank;
pub mod channel;
pub mod command;
pub mod config;
pub mod counts;
pub mod drain;
pub mod mapping;
pub mod message;
pub mod queue;
pub mod recorded;
pub mod refresh;
pub mod replies;
pub mod scheduler;
pub mod store;
pub mod timing;
