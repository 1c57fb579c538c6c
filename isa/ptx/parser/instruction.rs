//! Parser of instructions and operands.

use super::super::PtxError;
use super::super::ast::{Instruction, Name, Operand, OperandKind};
use super::super::lexer::Token;
use super::Parser;
use super::expression::TERM;

impl<'a> Parser<'a> {
    /// Parses an instruction with its guard, such as `@!%p1 add.s32 %r1, %r2, 3;`.
    pub(super) fn instruction(&mut self) -> Result<Instruction<'a>, PtxError> {
        let guard = if self.eat(Token::At) {
            let negated = self.eat(Token::Bang);
            Some((self.word("a predicate")?, negated))
        } else {
            None
        };
        let opcode = self.word("an instruction")?;
        let mut modifiers = Vec::new();
        while self.peek() == Some(Token::Dotted) {
            modifiers.push(self.parse_dotted("a modifier")?);
        }
        let mut operands = Vec::new();
        if self.peek() != Some(Token::Semicolon) {
            let calls = opcode.text == "call";
            operands.push(self.operand(calls)?);
            while self.eat(Token::Comma) {
                operands.push(self.operand(calls)?);
            }
        }
        let span = opcode.span.to(self.last_span());
        if !self.eat(Token::Semicolon) {
            // The error is reported at the end of the instruction, not at the next token, which may be on a
            // later line.
            let at = super::super::ast::Span { start: span.end, end: span.end };
            let found = match self.peek() {
                Some(_) => format!("found `{}`", self.text(self.span())),
                None => "the text ends".to_string(),
            };
            let message = format!("expected `,` or `;` after `{}`, {found}", opcode.text);
            return Err(self.error(at, message));
        }
        Ok(Instruction { guard, opcode, modifiers, operands, span })
    }

    /// Parses an operand. In a call, parentheses enclose a list of arguments; elsewhere they enclose an
    /// expression.
    fn operand(&mut self, calls: bool) -> Result<Operand<'a>, PtxError> {
        let start = self.span();
        let kind = match self.peek() {
            Some(Token::OpenBrace) => {
                self.at += 1;
                let elements = self.scalars(Token::CloseBrace, "`}`")?;
                match self.eat(Token::Pipe) {
                    true => OperandKind::Resident(elements, self.word("a predicate")?),
                    false => OperandKind::Vector(elements),
                }
            }
            Some(Token::OpenParen) if calls => {
                self.at += 1;
                OperandKind::List(self.scalars(Token::CloseParen, "`)`")?)
            }
            Some(Token::OpenBracket) => self.address()?,
            _ => {
                let scalar = self.scalar()?;
                return Ok(if calls { scalar } else { self.elements(scalar) });
            }
        };
        Ok(Operand { kind, span: start.to(self.last_span()) })
    }

    /// Replaces the name of a vector register by the list of its elements; returns any other operand
    /// unchanged.
    fn elements(&self, operand: Operand<'a>) -> Operand<'a> {
        let span = operand.span;
        let OperandKind::Name(name, None) = operand.kind else { return operand };
        let lanes = self.lanes(name.text) as usize;
        if lanes == 1 {
            return operand;
        }
        let element = |text| Operand { kind: OperandKind::Name(name, Some(Name { text, span })), span };
        let elements = ["x", "y", "z", "w"].into_iter().take(lanes).map(element);
        Operand { kind: OperandKind::Vector(elements.collect()), span }
    }

    /// Parses scalar operands that are separated by commas, up to the token `close`.
    fn scalars(&mut self, close: Token, wanted: &str) -> Result<Vec<Operand<'a>>, PtxError> {
        let mut scalars = Vec::new();
        while !self.eat(close) {
            scalars.push(self.scalar()?);
            if !self.eat(Token::Comma) && self.peek() != Some(close) {
                return Err(self.refuse_next(&format!("`,` or {wanted}")));
            }
        }
        Ok(scalars)
    }

    pub(super) fn scalar(&mut self) -> Result<Operand<'a>, PtxError> {
        let start = self.span();
        let kind = match self.peek() {
            Some(Token::Bang) if self.peek_at(1) == Some(Token::Word) => {
                self.at += 1;
                OperandKind::Not(self.word("a predicate")?)
            }
            Some(Token::Sink) => {
                self.at += 1;
                if self.eat(Token::Pipe) {
                    OperandKind::Pair(None, Some(self.word("a predicate")?))
                } else {
                    OperandKind::Sink
                }
            }
            Some(Token::Minus) if self.peek_at(1) == Some(Token::Word) && !self.is_constant(1) => {
                self.at += 1;
                OperandKind::Minus(self.word("a register")?)
            }
            Some(Token::Word) if !self.is_constant(0) => self.parse_named()?,
            _ => self.number()?,
        };
        Ok(Operand { kind, span: start.to(self.last_span()) })
    }

    /// True if the token `ahead` places after the next one is the named constant `WARP_SZ`.
    fn is_constant(&self, ahead: usize) -> bool {
        self.tokens.get(self.at + ahead).is_some_and(|(_, span)| self.text(*span) == "WARP_SZ")
    }

    /// Parses an operand that begins with a name: `%r1`, `%tid.x`, `symbol+4`, `%p1|%p2`.
    fn parse_named(&mut self) -> Result<OperandKind<'a>, PtxError> {
        let name = self.word("a name")?;
        Ok(match self.peek() {
            Some(Token::Dotted) => OperandKind::Name(name, Some(self.parse_dotted("a component")?)),
            Some(Token::Pipe) => {
                self.at += 1;
                let second = match self.peek() {
                    Some(Token::Sink) => {
                        self.at += 1;
                        None
                    }
                    _ => Some(self.word("a predicate")?),
                };
                OperandKind::Pair(Some(name), second)
            }
            Some(Token::Plus | Token::Minus) => OperandKind::Sum(name, self.offset()?),
            _ => OperandKind::Name(name, None),
        })
    }

    /// Parses a floating-point number with any signs before it, or a constant expression.
    fn number(&mut self) -> Result<OperandKind<'a>, PtxError> {
        let mut signs = 0;
        while let Some(Token::Minus | Token::Plus) = self.peek_at(signs) {
            signs += 1;
        }
        let number = self.peek_at(signs);
        if !matches!(number, Some(Token::SingleBits | Token::DoubleBits | Token::Decimal)) {
            return Ok(OperandKind::Integer(self.expression(0, "an operand")?));
        }
        let minus = (0..signs).filter(|&at| self.peek_at(at) == Some(Token::Minus)).count();
        let negative = minus % 2 == 1;
        self.at += signs;
        let span = self.span();
        let name = Name { text: self.text(span), span };
        self.at += 1;
        Ok(match number {
            Some(Token::SingleBits) => {
                let bits = self.bits(name)? as u32;
                OperandKind::Single(if negative { bits ^ 1 << 31 } else { bits })
            }
            Some(Token::DoubleBits) => {
                let bits = self.bits(name)?;
                OperandKind::Double(if negative { bits ^ 1 << 63 } else { bits })
            }
            _ => {
                let value: f64 =
                    name.text.parse().map_err(|_| self.error(span, format!("`{}` is not a number", name.text)))?;
                OperandKind::Double((if negative { -value } else { value }).to_bits())
            }
        })
    }

    /// Parses the hexadecimal digits after `0f` or `0d`.
    fn bits(&self, name: Name<'a>) -> Result<u64, PtxError> {
        u64::from_str_radix(&name.text[2..], 16)
            .map_err(|_| self.error(name.span, format!("`{}` is not a number", name.text)))
    }

    /// Parses an offset in bytes after a name or register: `+4`, `-4`, `+-4`, `+4*3-1`.
    pub(super) fn offset(&mut self) -> Result<i64, PtxError> {
        let mut sum = 0i64;
        while let Some(sign @ (Token::Plus | Token::Minus)) = self.peek() {
            self.at += 1;
            let value = self.expression(TERM, "an offset in bytes")? as i64;
            sum = if sign == Token::Minus { sum.wrapping_sub(value) } else { sum.wrapping_add(value) };
        }
        Ok(sum)
    }

    /// Parses the operand in brackets of a memory access or a texture access: `[%rd1+-4]`, `[x]`, `[16]`,
    /// `[tex, {%f1, %f2}]`.
    fn address(&mut self) -> Result<OperandKind<'a>, PtxError> {
        self.expect(Token::OpenBracket, "`[`")?;
        let base = match self.peek() {
            Some(Token::Word) => Some(self.word("a name")?),
            _ => None,
        };
        let offset = match self.peek() {
            Some(Token::Integer | Token::OpenParen) if base.is_none() => self.expression(0, "an address")? as i64,
            Some(Token::Plus | Token::Minus) => self.offset()?,
            _ if base.is_none() => return Err(self.refuse_next("an address")),
            _ => 0,
        };
        if self.peek() != Some(Token::Comma) {
            self.expect(Token::CloseBracket, "`]`")?;
            return Ok(OperandKind::Address(base, offset));
        }
        let mut names = Vec::new();
        if let Some(name) = base {
            names.push(Operand { kind: OperandKind::Name(name, None), span: name.span });
        }
        let mut coordinates = Vec::new();
        while self.eat(Token::Comma) {
            if self.eat(Token::OpenBrace) {
                coordinates = self.scalars(Token::CloseBrace, "`}`")?;
            } else {
                names.push(self.scalar()?);
            }
        }
        // A single texture coordinate may be written without braces.
        if coordinates.is_empty() && names.len() > 1 {
            coordinates.extend(names.pop());
        }
        self.expect(Token::CloseBracket, "`]`")?;
        Ok(OperandKind::Texture(names, coordinates))
    }
}
