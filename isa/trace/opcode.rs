//! Lookup of the opcodes that occur in a trace.

use isa::recorded::code::{Code, MAX_OPCODES};
use isa::recorded::opcode::{OpcodeTable, first_token};

use super::error::Fault;
use super::fields::Word;

/// Returns the number of the opcode that `word` contains. Adds the opcode to `code` if it is new.
pub(super) fn number_of(code: &mut Code, word: Word<'_>) -> Result<u16, Fault> {
    if let Some(number) = code.known_opcode(word.text) {
        return Ok(number);
    }
    let text = String::from_utf8_lossy(word.text);
    code.add_opcode(&text).ok_or_else(|| refuse_unknown(code, word, &text))
}

/// Returns the error for a trace with more opcodes than the maximum number.
pub(super) fn too_many(word: Word<'_>) -> Fault {
    word.refuse(&format!("one of the {MAX_OPCODES} opcodes seen before, the maximum number per kernel"))
}

fn refuse_unknown(code: &Code, word: Word<'_>, text: &str) -> Fault {
    if code.opcodes().len() >= MAX_OPCODES {
        return too_many(word);
    }
    let token = first_token(text);
    let whose = match code.table().architecture() {
        Some(architecture) => format!("an opcode of {architecture}"),
        None => "an opcode of any architecture".to_owned(),
    };
    let fault = word.refuse(&whose);
    let others = OpcodeTable::new(None);
    if others.class(token).is_some() {
        return fault.with_help(format!(
            "`{token}` is an opcode of another architecture: is `-binary version` in the header right?"
        ));
    }
    let near = |known: &&&str| strsim::damerau_levenshtein(known, token);
    if token.len() > input::MAX_COMPARED_BYTES {
        return fault;
    }
    let tokens = code.table().tokens();
    match tokens.iter().min_by_key(near) {
        Some(known) if near(&known) <= 2 => fault.with_help(format!("did you mean `{known}`?")),
        _ => fault,
    }
}
