//! # Tokens of PTX
//! Comments, blanks and `@@DWARF` lines are dropped here.

use logos::Logos;

use super::ast::Span;
use super::{MAX_SOURCE_BYTES, PtxError, Source};

/// A token; numbers are still text, since their meaning depends on where they stand.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n\f]+")]
#[logos(skip r"/\*([^*]|\*+[^*/])*\*+/")]
#[logos(skip(r"(//|@@DWARF)[^\n]*", allow_greedy = true))]
pub enum Token {
    /// `add`, `%r1`, `$L__BB0_2`, `_ZN3fooEv`.
    #[regex(r"[A-Za-z][A-Za-z0-9_$]*")]
    #[regex(r"[_$%][A-Za-z0-9_$]+")]
    Word,
    /// `.visible`, `.global`, `.x`, `.L2::128B`.
    #[regex(r"\.[A-Za-z0-9_$]+(::[A-Za-z0-9_$]+)*")]
    Dotted,
    /// `12`, `0x1F`, `017`, `0b101`, each perhaps with a trailing `U`.
    #[regex(r"[0-9]+U?")]
    #[regex(r"0[xX][0-9a-fA-F]+U?")]
    #[regex(r"0[bB][01]+U?")]
    Integer,
    /// `0f3F800000`: the bits of a single.
    #[regex(r"0[fF][0-9a-fA-F]{8}")]
    SingleBits,
    /// `0d3FF0000000000000`: the bits of a double.
    #[regex(r"0[dD][0-9a-fA-F]{16}")]
    DoubleBits,
    /// `1.5`, `2e-3`.
    #[regex(r"[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?")]
    #[regex(r"[0-9]+[eE][+-]?[0-9]+")]
    Decimal,
    /// `"nounroll"`.
    #[regex(r#""[^"\n]*""#)]
    Text,
    /// `_`: a result that nobody wants.
    #[token("_")]
    Sink,
    /// `{`
    #[token("{")]
    OpenBrace,
    /// `}`
    #[token("}")]
    CloseBrace,
    /// `(`
    #[token("(")]
    OpenParen,
    /// `)`
    #[token(")")]
    CloseParen,
    /// `[`
    #[token("[")]
    OpenBracket,
    /// `]`
    #[token("]")]
    CloseBracket,
    /// `<`
    #[token("<")]
    Less,
    /// `>`
    #[token(">")]
    Greater,
    /// `,`
    #[token(",")]
    Comma,
    /// `;`
    #[token(";")]
    Semicolon,
    /// `:`
    #[token(":")]
    Colon,
    /// `=`
    #[token("=")]
    Equals,
    /// `<<`
    #[token("<<")]
    ShiftLeft,
    /// `>>`
    #[token(">>")]
    ShiftRight,
    /// `<=`
    #[token("<=")]
    LessEquals,
    /// `>=`
    #[token(">=")]
    GreaterEquals,
    /// `==`
    #[token("==")]
    EqualsEquals,
    /// `!=`
    #[token("!=")]
    NotEquals,
    /// `&&`
    #[token("&&")]
    AndAnd,
    /// `||`
    #[token("||")]
    OrOr,
    /// `&`
    #[token("&")]
    Ampersand,
    /// `^`
    #[token("^")]
    Caret,
    /// `?`
    #[token("?")]
    Question,
    /// `*`
    #[token("*")]
    Star,
    /// `/`
    #[token("/")]
    Slash,
    /// `%` alone
    #[token("%")]
    Percent,
    /// `+`
    #[token("+")]
    Plus,
    /// `-`
    #[token("-")]
    Minus,
    /// `~`
    #[token("~")]
    Tilde,
    /// `!`
    #[token("!")]
    Bang,
    /// `|`
    #[token("|")]
    Pipe,
    /// `@`
    #[token("@")]
    At,
}

/// All tokens of the text with their places.
pub fn tokens(source: &Source) -> Result<Vec<(Token, Span)>, PtxError> {
    let len = source.text.len();
    if len > MAX_SOURCE_BYTES {
        let message = format!("the text has {len} bytes, expected at most {MAX_SOURCE_BYTES}");
        return Err(PtxError::new(source, Span::default(), "here", message));
    }
    let mut tokens = Vec::new();
    for (token, range) in Token::lexer(&source.text).spanned() {
        let span = Span { start: range.start as u32, end: range.end as u32 };
        match token {
            Ok(Token::Slash) if source.text[range.start..].starts_with("/*") => return Err(unknown(source, span)),
            Ok(token) => tokens.push((token, span)),
            Err(()) => return Err(unknown(source, span)),
        }
    }
    Ok(tokens)
}

fn unknown(source: &Source, span: Span) -> PtxError {
    let rest = &source.text[span.start as usize..];
    let message = match rest.chars().next() {
        Some('"') => "this string does not end on its line".to_string(),
        Some('/') if rest.starts_with("/*") => "this comment does not end".to_string(),
        Some(c) => format!("`{}` starts no PTX token", c.escape_default()),
        None => "the text ends within a token".to_string(),
    };
    PtxError::new(source, span, "not PTX", message)
}
