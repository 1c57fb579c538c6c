//! # Tokens of PTX
//! Splits PTX text into tokens; skips comments, blanks and `@@DWARF` lines.

use logos::Logos;

use super::ast::Span;
use super::{MAX_SOURCE_BYTES, PtxError, Source};

/// Token of PTX. Numbers remain text, since their meaning depends on the context.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n\f]+")]
#[logos(skip r"/\*([^*]|\*+[^*/])*\*+/")]
#[logos(skip(r"(//|@@DWARF)[^\n]*", allow_greedy = true))]
pub enum Token {
    /// Word: `add`, `%r1`, `$L__BB0_2`, `_ZN3fooEv`.
    #[regex(r"[A-Za-z][A-Za-z0-9_$]*")]
    #[regex(r"[_$%][A-Za-z0-9_$]+")]
    Word,
    /// Word with a leading dot: `.visible`, `.global`, `.x`, `.L2::128B`.
    #[regex(r"\.[A-Za-z0-9_$]+(::[A-Za-z0-9_$]+)*")]
    Dotted,
    /// Integer: `12`, `0x1F`, `017`, `0b101`, each with an optional `U` suffix.
    #[regex(r"[0-9]+U?")]
    #[regex(r"0[xX][0-9a-fA-F]+U?")]
    #[regex(r"0[bB][01]+U?")]
    Integer,
    /// Single-precision number, written as its bits in hexadecimal: `0f3F800000`.
    #[regex(r"0[fF][0-9a-fA-F]{8}")]
    SingleBits,
    /// Double-precision number, written as its bits in hexadecimal: `0d3FF0000000000000`.
    #[regex(r"0[dD][0-9a-fA-F]{16}")]
    DoubleBits,
    /// Decimal floating-point number: `1.5`, `2e-3`.
    #[regex(r"[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?")]
    #[regex(r"[0-9]+[eE][+-]?[0-9]+")]
    Decimal,
    /// String: `"nounroll"`.
    #[regex(r#""[^"\n]*""#)]
    Text,
    /// Unused destination: `_`.
    #[token("_")]
    Sink,
    /// Opening brace: `{`.
    #[token("{")]
    OpenBrace,
    /// Closing brace: `}`.
    #[token("}")]
    CloseBrace,
    /// Opening parenthesis: `(`.
    #[token("(")]
    OpenParen,
    /// Closing parenthesis: `)`.
    #[token(")")]
    CloseParen,
    /// Opening bracket: `[`.
    #[token("[")]
    OpenBracket,
    /// Closing bracket: `]`.
    #[token("]")]
    CloseBracket,
    /// Less than, or the start of a family size: `<`.
    #[token("<")]
    Less,
    /// Greater than, or the end of a family size: `>`.
    #[token(">")]
    Greater,
    /// Comma: `,`.
    #[token(",")]
    Comma,
    /// Semicolon: `;`.
    #[token(";")]
    Semicolon,
    /// Colon: `:`.
    #[token(":")]
    Colon,
    /// Equals sign of an initializer: `=`.
    #[token("=")]
    Equals,
    /// Left shift: `<<`.
    #[token("<<")]
    ShiftLeft,
    /// Right shift: `>>`.
    #[token(">>")]
    ShiftRight,
    /// Less or equal: `<=`.
    #[token("<=")]
    LessEquals,
    /// Greater or equal: `>=`.
    #[token(">=")]
    GreaterEquals,
    /// Equal: `==`.
    #[token("==")]
    EqualsEquals,
    /// Not equal: `!=`.
    #[token("!=")]
    NotEquals,
    /// Logical AND: `&&`.
    #[token("&&")]
    AndAnd,
    /// Logical OR: `||`.
    #[token("||")]
    OrOr,
    /// Bitwise AND: `&`.
    #[token("&")]
    Ampersand,
    /// Bitwise exclusive OR: `^`.
    #[token("^")]
    Caret,
    /// Conditional operator: `?`.
    #[token("?")]
    Question,
    /// Multiplication: `*`.
    #[token("*")]
    Star,
    /// Division: `/`.
    #[token("/")]
    Slash,
    /// Remainder: `%` without a name.
    #[token("%")]
    Percent,
    /// Addition or positive sign: `+`.
    #[token("+")]
    Plus,
    /// Subtraction or negative sign: `-`.
    #[token("-")]
    Minus,
    /// Bitwise complement: `~`.
    #[token("~")]
    Tilde,
    /// Logical negation, of a predicate or an expression: `!`.
    #[token("!")]
    Bang,
    /// Bitwise OR, or the separator of two predicates: `|`.
    #[token("|")]
    Pipe,
    /// Start of a guard: `@`.
    #[token("@")]
    At,
}

/// Returns all tokens of the text, with their positions.
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
            Ok(Token::Slash) if source.text[range.start..].starts_with("/*") => {
                return Err(refuse_unknown(source, span));
            }
            Ok(token) => tokens.push((token, span)),
            Err(()) => return Err(refuse_unknown(source, span)),
        }
    }
    Ok(tokens)
}

fn refuse_unknown(source: &Source, span: Span) -> PtxError {
    let rest = &source.text[span.start as usize..];
    let message = match rest.chars().next() {
        Some('"') => "this string does not end on its line".to_string(),
        Some('/') if rest.starts_with("/*") => "this comment does not end".to_string(),
        Some(c) => format!("`{}` does not start a PTX token", c.escape_default()),
        None => "the text ends within a token".to_string(),
    };
    PtxError::new(source, span, "not PTX", message)
}
