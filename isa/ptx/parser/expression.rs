//! Parser of constant expressions (PTX ISA, "Constant Expressions"): the operators of C on 64-bit integers.
//! An expression is unsigned if any part of it has the suffix `U`, is too large for a signed integer, or is
//! cast to `.u64`.

use super::super::PtxError;
use super::super::lexer::Token;
use super::Parser;

/// Maximum nesting of operators and parentheses.
const MAX_NESTING: u32 = 64;
/// Precedence of `*`, `/` and `%`, which is above that of `+` and `-`. An offset such as `4*3` in
/// `symbol+4*3-1` is parsed at this precedence, so that it ends at the next sign.
pub(super) const TERM: u8 = 10;
/// Precedence of unary operators, above that of all binary operators.
const UNARY: u8 = 11;

#[derive(Clone, Copy)]
struct Constant {
    bits: u64,
    unsigned: bool,
}

impl Constant {
    fn truth(holds: bool) -> Constant {
        Constant { bits: u64::from(holds), unsigned: false }
    }
}

/// Returns the precedence of a binary operator, or `None` for other tokens.
fn precedence(operator: Token) -> Option<u8> {
    Some(match operator {
        Token::OrOr => 1,
        Token::AndAnd => 2,
        Token::Pipe => 3,
        Token::Caret => 4,
        Token::Ampersand => 5,
        Token::EqualsEquals | Token::NotEquals => 6,
        Token::Less | Token::Greater | Token::LessEquals | Token::GreaterEquals => 7,
        Token::ShiftLeft | Token::ShiftRight => 8,
        Token::Plus | Token::Minus => 9,
        Token::Star | Token::Slash | Token::Percent => TERM,
        _ => return None,
    })
}

impl<'a> Parser<'a> {
    /// Parses a constant expression and returns its low 64 bits. The expression ends at an operator whose
    /// precedence is lower than `least`; 0 allows all operators.
    pub(super) fn expression(&mut self, least: u8, wanted: &str) -> Result<u64, PtxError> {
        Ok(self.constant_expression(least, 0, wanted)?.bits)
    }

    fn constant_expression(&mut self, least: u8, depth: u32, wanted: &str) -> Result<Constant, PtxError> {
        if depth > MAX_NESTING {
            let message = format!("an expression is nested more than {MAX_NESTING} deep");
            return Err(self.error(self.span(), message));
        }
        let mut left = self.primary(depth, wanted)?;
        loop {
            // In `10%3`, the lexer takes `%3` for a name, so a name here stands for the remainder operator
            // and its operand.
            let is_remainder = self.peek() == Some(Token::Word) && self.text(self.span()).starts_with('%');
            let operator = if is_remainder { Some(Token::Percent) } else { self.peek() };
            if operator == Some(Token::Question) && least == 0 {
                self.at += 1;
                let yes = self.constant_expression(0, depth + 1, wanted)?;
                self.expect(Token::Colon, "`:` and the other value")?;
                let no = self.constant_expression(0, depth + 1, wanted)?;
                left = if left.bits != 0 { yes } else { no };
                continue;
            }
            let Some((operator, binds)) = operator.and_then(|token| Some((token, precedence(token)?))) else { break };
            if binds < least {
                break;
            }
            let span = self.span();
            let right = if is_remainder {
                self.remainder_operand()?
            } else {
                self.at += 1;
                self.constant_expression(binds + 1, depth + 1, wanted)?
            };
            left = match apply(operator, left, right) {
                Some(value) => value,
                None => return Err(self.error(span, "division by zero")),
            };
        }
        Ok(left)
    }

    /// Parses the right operand of a remainder: in `10%3`, the lexer takes `%3` for a name.
    fn remainder_operand(&mut self) -> Result<Constant, PtxError> {
        let name = self.word("a number")?;
        let digits = super::Name { text: &name.text[1..], span: name.span };
        Ok(Constant { bits: self.integer_value(digits)?, unsigned: false })
    }

    fn primary(&mut self, depth: u32, wanted: &str) -> Result<Constant, PtxError> {
        let operator = self.peek();
        match operator {
            Some(Token::Plus | Token::Minus | Token::Tilde | Token::Bang) => {
                self.at += 1;
                let value = self.constant_expression(UNARY, depth + 1, wanted)?;
                Ok(match operator {
                    Some(Token::Minus) => Constant { bits: value.bits.wrapping_neg(), ..value },
                    Some(Token::Tilde) => Constant { bits: !value.bits, ..value },
                    Some(Token::Bang) => Constant::truth(value.bits == 0),
                    _ => value,
                })
            }
            Some(Token::OpenParen) => {
                self.at += 1;
                let cast = match self.peek_dotted() {
                    Some("s64") => Some(false),
                    Some("u64") => Some(true),
                    _ => None,
                };
                if let Some(unsigned) = cast {
                    self.at += 1;
                    self.expect(Token::CloseParen, "`)`")?;
                    return Ok(Constant { unsigned, ..self.constant_expression(UNARY, depth + 1, wanted)? });
                }
                let value = self.constant_expression(0, depth + 1, wanted)?;
                self.expect(Token::CloseParen, "`)`")?;
                Ok(value)
            }
            Some(Token::Word) if self.text(self.span()) == "WARP_SZ" => {
                self.at += 1;
                Ok(Constant { bits: 32, unsigned: false })
            }
            Some(Token::Integer) => {
                let name = self.expect(Token::Integer, wanted)?;
                let bits = self.integer_value(name)?;
                Ok(Constant { bits, unsigned: name.text.ends_with('U') || bits > i64::MAX as u64 })
            }
            _ => Err(self.refuse_next(wanted)),
        }
    }
}

/// Returns the value of `a operator b`, or `None` for a division by zero.
fn apply(operator: Token, a: Constant, b: Constant) -> Option<Constant> {
    let unsigned = a.unsigned || b.unsigned;
    let (x, y) = (a.bits, b.bits);
    let order = if unsigned { x.cmp(&y) } else { (x as i64).cmp(&(y as i64)) };
    let bits = match operator {
        Token::Plus => x.wrapping_add(y),
        Token::Minus => x.wrapping_sub(y),
        Token::Star => x.wrapping_mul(y),
        Token::Slash | Token::Percent if y == 0 => return None,
        Token::Slash if unsigned => x / y,
        Token::Slash => (x as i64).wrapping_div(y as i64) as u64,
        Token::Percent if unsigned => x % y,
        Token::Percent => (x as i64).wrapping_rem(y as i64) as u64,
        Token::Ampersand => x & y,
        Token::Pipe => x | y,
        Token::Caret => x ^ y,
        // The result of a shift is signed or unsigned like the left operand.
        Token::ShiftLeft => {
            let bits = u32::try_from(y).ok().and_then(|n| x.checked_shl(n)).unwrap_or(0);
            return Some(Constant { bits, unsigned: a.unsigned });
        }
        Token::ShiftRight => {
            let count = y.min(63) as u32;
            let gone = a.unsigned && y > 63;
            let shifted = if a.unsigned { x >> count } else { ((x as i64) >> count) as u64 };
            return Some(Constant { bits: if gone { 0 } else { shifted }, unsigned: a.unsigned });
        }
        Token::EqualsEquals => return Some(Constant::truth(x == y)),
        Token::NotEquals => return Some(Constant::truth(x != y)),
        Token::Less => return Some(Constant::truth(order.is_lt())),
        Token::LessEquals => return Some(Constant::truth(order.is_le())),
        Token::Greater => return Some(Constant::truth(order.is_gt())),
        Token::GreaterEquals => return Some(Constant::truth(order.is_ge())),
        Token::AndAnd => return Some(Constant::truth(x != 0 && y != 0)),
        Token::OrOr => return Some(Constant::truth(x != 0 || y != 0)),
        _ => x,
    };
    Some(Constant { bits, unsigned })
}
