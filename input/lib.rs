//! # Text from outside
//! Every file of a user is read, searched and quoted by this crate, in linear time and bounded memory.
//!
//! | item              | what it is for                                                             |
//! |-------------------|----------------------------------------------------------------------------|
//! | [`read_text`]     | a whole file as text, refused beyond a limit: `/dev/zero` has no end        |
//! | [`Text`]          | a named text that finds line and column of a place by an index              |
//! | [`visible`]       | a text without characters that control a terminal or reorder its line       |
//! | [`cut`]           | a message of a few lines, however long the value is that it quotes          |
//! | [`visible_line`]  | the same on one line: a name in a row of a table                            |
//! | [`nearest`]       | the name that was meant by a misspelt one                                   |
//! | [`counted`]       | a number and what it counts, one or several                                 |

mod count;
mod near;
mod read;
mod text;
mod visible;

pub use count::{counted, grouped, noun};
pub use near::{MOST_COMPARED, listed, nearest};
pub use read::{MOST_BYTES, as_text, read_bytes, read_text};
pub use text::Text;
pub use visible::{cut, visible, visible_line};
