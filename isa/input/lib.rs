//! # Text of user files
//! Reads, searches and quotes the text of user files in linear time and bounded memory. Every file of a user
//! goes through this crate.
//!
//! | item              | use                                                                         |
//! |-------------------|-----------------------------------------------------------------------------|
//! | [`read_text`]     | reads a whole file as text, up to a size limit: `/dev/zero` has no end      |
//! | [`Text`]          | text with a name; an index converts byte offsets into lines and columns     |
//! | [`escape_hidden`] | escapes characters that control a terminal or reorder its line              |
//! | [`shorten`]       | shortens a message to a few lines, however long the value is that it quotes |
//! | [`visible_line`]  | escapes a text that must stay on one line, such as a name in a table row    |
//! | [`nearest`]       | suggests the correct name for a misspelled one                              |
//! | [`format_count`]  | formats a count with its noun in the singular or plural                     |

mod count;
mod near;
mod read;
mod text;
mod visible;

pub use count::{format_count, format_thousands, noun};
pub use near::{MAX_COMPARED_BYTES, join_names, nearest};
pub use read::{MAX_BYTES, as_text, read_bytes, read_text};
pub use text::Text;
pub use visible::{escape_hidden, shorten, visible_line};
