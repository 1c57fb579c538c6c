//! Parser of declarations and directives.

use super::super::PtxError;
use super::super::ast::{Directive, Initial, OperandKind, Storage, Variable};
use super::super::lexer::Token;
use super::{FILE_LEVEL, Parser, storage};
use isa::types::Type;

impl<'a> Parser<'a> {
    /// Parses a parameter list: `(.param .u64 a, .param .align 8 .b8 b[16])`.
    pub(super) fn parameters(&mut self) -> Result<Vec<Variable<'a>>, PtxError> {
        let mut params = Vec::new();
        self.expect(Token::OpenParen, "`(`")?;
        while !self.eat(Token::CloseParen) {
            let head = self.declaration_head(false)?;
            params.push(self.declarator(&head)?);
            if !self.eat(Token::Comma) && self.peek() != Some(Token::CloseParen) {
                return Err(self.refuse_next("`,` or `)` after a parameter"));
            }
        }
        Ok(params)
    }

    /// Parses a declaration of one or more names, up to the semicolon.
    pub(super) fn variables(&mut self, is_extern: bool) -> Result<Vec<Variable<'a>>, PtxError> {
        let head = self.declaration_head(is_extern)?;
        let mut variables = vec![self.declarator(&head)?];
        while self.eat(Token::Comma) {
            variables.push(self.declarator(&head)?);
        }
        self.expect(Token::Semicolon, "`;` after a declaration")?;
        Ok(variables)
    }

    /// Parses the first part of a declaration: state space, alignment and type. All names of the declaration
    /// share them.
    fn declaration_head(&mut self, is_extern: bool) -> Result<Variable<'a>, PtxError> {
        let space = self.parse_dotted("a state space such as `.reg`")?;
        let Some(storage) = storage(space.text) else {
            return Err(self.error(space.span, format!("`.{}` is not a state space", space.text)));
        };
        let mut head = Variable {
            storage,
            is_extern,
            ty: None,
            opaque: None,
            vector: 1,
            align: None,
            name: space,
            family: None,
            elements: None,
            extents: Vec::new(),
            initial: Vec::new(),
        };
        while let Some(word) = self.peek_dotted() {
            let span = self.span();
            self.at += 1;
            match word {
                "align" => {
                    let align = self.small_integer("an alignment")?;
                    if !align.is_power_of_two() || align > 1 << 16 {
                        let message = format!("alignment {align}, expected a power of two up to 65536");
                        return Err(self.error(self.last_span(), message));
                    }
                    head.align = Some(align);
                }
                "v2" => head.vector = 2,
                "v4" => head.vector = 4,
                "attribute" => self.skip_parentheses()?,
                "b128" => {
                    let help = "use two elements of `.b64` instead";
                    return Err(self.error(span, "`.b128` is not modeled").with_help(help));
                }
                "texref" | "samplerref" | "surfref" => {
                    head.opaque = Some(word);
                    return Ok(head);
                }
                _ => match Type::from_name(word).filter(|ty| ty.is_declarable()) {
                    Some(ty) if head.ty.is_none() => {
                        // A pointer parameter has `.ptr` after its type, followed by properties of the memory
                        // to which it points.
                        head.ty = Some(ty);
                        if self.eat_dotted("ptr") {
                            self.pointee()?;
                        }
                    }
                    _ => {
                        let message = format!("unknown type `.{word}`");
                        return Err(self.error(span, message));
                    }
                },
            }
        }
        Ok(head)
    }

    /// Parses the text after `.ptr`, such as `.global .align 4`: properties of the memory to which a pointer
    /// parameter points.
    fn pointee(&mut self) -> Result<(), PtxError> {
        while let Some(word) = self.peek_dotted() {
            match word {
                "align" => {
                    self.at += 1;
                    self.integer("an alignment")?;
                }
                "global" | "shared" | "const" | "local" => self.at += 1,
                _ => break,
            }
        }
        Ok(())
    }

    /// Parses one name of a declaration, with its array extents and initializer: `name`, `name<10>`,
    /// `name[4][4]`, `name[] = {..}`.
    fn declarator(&mut self, head: &Variable<'a>) -> Result<Variable<'a>, PtxError> {
        let mut variable = head.clone();
        // A parameter of a function prototype may have `_` instead of a name.
        variable.name = match self.peek() {
            Some(Token::Sink) => self.expect(Token::Sink, "a name")?,
            _ => self.word("a name")?,
        };
        if self.eat(Token::Less) {
            variable.family = Some(self.integer("a number of registers")?);
            self.expect(Token::Greater, "`>`")?;
        }
        while self.eat(Token::OpenBracket) {
            let size = match self.peek() {
                Some(Token::CloseBracket) => 0,
                _ => self.expression(0, "an array size")?,
            };
            self.expect(Token::CloseBracket, "`]`")?;
            let elements = variable.elements.unwrap_or(1).checked_mul(size);
            variable.extents.push(size);
            let too_large = || self.error(variable.name.span, "the array has over 2^64 elements");
            variable.elements = Some(elements.ok_or_else(too_large)?);
        }
        if self.peek() == Some(Token::Equals) {
            self.check_initialised(&variable)?;
            self.at += 1;
            variable.initial = self.initialiser()?;
        }
        Ok(variable)
    }

    /// Checks that a variable may have an initializer. The variable must be defined in this file, and must be
    /// in memory that exists before the launch.
    fn check_initialised(&self, variable: &Variable<'a>) -> Result<(), PtxError> {
        let space = match variable.storage {
            Storage::Global | Storage::Const | Storage::Tex if !variable.is_extern => return Ok(()),
            Storage::Global | Storage::Const | Storage::Tex => ".extern",
            Storage::Shared => ".shared",
            Storage::Local => ".local",
            Storage::Param => ".param",
            Storage::Reg => ".reg",
        };
        let message = format!("`{}` is `{space}`, which takes no initial value", variable.name.text);
        let help = match space {
            ".extern" => "the file that defines it gives the value",
            _ => "only `.global` and `.const` variables have one: store the value in the kernel",
        };
        Err(self.error(self.span(), message).with_help(help))
    }

    /// Parses an initializer: a value, or values in braces.
    fn initialiser(&mut self) -> Result<Vec<Initial<'a>>, PtxError> {
        let mut parts = Vec::new();
        let mut depth = 0u32;
        loop {
            match self.peek() {
                Some(Token::OpenBrace) => {
                    self.at += 1;
                    depth += 1;
                    parts.push(Initial::Open);
                    continue;
                }
                Some(Token::CloseBrace) if depth > 0 => {}
                Some(_) => parts.push(self.constant()?),
                None => return Err(self.refuse_next("a value")),
            }
            while depth > 0 && self.eat(Token::CloseBrace) {
                depth -= 1;
                parts.push(Initial::Close);
            }
            if depth == 0 {
                return Ok(parts);
            }
            if !self.eat(Token::Comma) {
                return Err(self.refuse_next("`,` or `}` in an initializer"));
            }
        }
    }

    /// Parses an element of an initializer: `-1`, `0f00000000`, `symbol+4`, `generic(symbol)+4`,
    /// `0xFF(symbol)`.
    fn constant(&mut self) -> Result<Initial<'a>, PtxError> {
        let mut mask = None;
        let mut generic = false;
        if self.peek() != Some(Token::Word) || self.text(self.span()) == "WARP_SZ" {
            let value = self.scalar()?;
            match value.kind {
                OperandKind::Integer(bits) if self.peek() == Some(Token::OpenParen) => mask = Some(bits),
                OperandKind::Integer(_) | OperandKind::Single(_) | OperandKind::Double(_) => {
                    return Ok(Initial::Value(value));
                }
                _ => return Err(self.error(value.span, "expected a number or a name in an initializer")),
            }
        } else if self.peek_at(1) == Some(Token::OpenParen) {
            let word = self.word("`generic`")?;
            if word.text != "generic" {
                return Err(self.error(word.span, format!("`{}(...)`, expected `generic(...)`", word.text)));
            }
            generic = true;
        }
        let bracketed = self.eat(Token::OpenParen);
        let mut name = self.word("a name")?;
        if !bracketed && self.eat(Token::Equals) {
            self.at += 1;
            return Ok(Initial::Field);
        }
        // `generic` may also be inside the parentheses of a mask: `0xFF(generic(symbol))`.
        let inner = bracketed && !generic && name.text == "generic" && self.eat(Token::OpenParen);
        if inner {
            generic = true;
            name = self.word("a name")?;
        }
        let mut offset = 0i64;
        if let Some(Token::Plus | Token::Minus) = self.peek() {
            offset = self.offset()?;
        }
        for _ in 0..u32::from(bracketed) + u32::from(inner) {
            self.expect(Token::CloseParen, "`)`")?;
        }
        if let Some(Token::Plus | Token::Minus) = self.peek() {
            offset = offset.wrapping_add(self.offset()?);
        }
        Ok(Initial::Address { name, offset, generic, mask })
    }

    /// Parses directives such as `.maxntid 256, 1, 1` between the header and the body of a function.
    pub(super) fn performance_directives(&mut self) -> Result<Vec<Directive<'a>>, PtxError> {
        let mut directives = Vec::new();
        while self.peek_dotted().is_some_and(|word| !FILE_LEVEL.contains(&word)) {
            let name = self.parse_dotted("a directive")?;
            let mut values = Vec::new();
            match name.text {
                "maxntid"
                | "reqntid"
                | "minnctapersm"
                | "maxnctapersm"
                | "maxnreg"
                | "reqnctapercluster"
                | "maxclusterrank"
                | "abi_preserve"
                | "abi_preserve_control" => {
                    values.push(self.integer("a number")?);
                    while self.eat(Token::Comma) {
                        values.push(self.integer("a number")?);
                    }
                }
                "noreturn" | "explicitcluster" | "blocksareclusters" => {}
                "pragma" => {
                    self.at -= 1;
                    self.debug_directive()?;
                }
                "attribute" => self.skip_parentheses()?,
                other => {
                    let message = format!("unknown directive `.{other}` before a body");
                    return Err(self.error(name.span, message));
                }
            }
            directives.push(Directive { name, values });
        }
        Ok(directives)
    }

    /// Skips a directive for debuggers or for the assembler, which has no effect on execution.
    pub(super) fn debug_directive(&mut self) -> Result<(), PtxError> {
        match self.parse_dotted("a directive")?.text {
            "file" => {
                self.integer("a file number")?;
                self.expect(Token::Text, "a file name in quotes")?;
                while self.eat(Token::Comma) {
                    self.integer("a time stamp or a size")?;
                }
            }
            "loc" => {
                for what in ["a file number", "a line", "a column"] {
                    self.integer(what)?;
                }
                while self.eat(Token::Comma) {
                    self.inlining()?;
                }
            }
            "section" => {
                if !matches!(self.peek(), Some(Token::Dotted | Token::Word)) {
                    return Err(self.refuse_next("a section name"));
                }
                self.at += 1;
                self.expect(Token::OpenBrace, "`{`")?;
                self.skip_past(Token::CloseBrace)?;
            }
            _ => self.skip_to_semicolon()?,
        }
        Ok(())
    }

    /// Skips the optional end of a `.loc` directive: `function_name $L__info_string0+4` or `inlined_at 1 2
    /// 3`.
    fn inlining(&mut self) -> Result<(), PtxError> {
        if self.word("`function_name` or `inlined_at`")?.text == "inlined_at" {
            for what in ["a file number", "a line", "a column"] {
                self.integer(what)?;
            }
            return Ok(());
        }
        match self.peek() {
            Some(Token::Dotted | Token::Word) => self.at += 1,
            _ => return Err(self.refuse_next("a label")),
        }
        if self.eat(Token::Plus) {
            self.integer("an offset")?;
        }
        Ok(())
    }

    pub(super) fn skip_to_semicolon(&mut self) -> Result<(), PtxError> {
        self.skip_past(Token::Semicolon)
    }

    /// Skips `( ... )`, including nested parentheses.
    pub(super) fn skip_parentheses(&mut self) -> Result<(), PtxError> {
        let start = self.span();
        self.expect(Token::OpenParen, "`(`")?;
        let mut depth = 1u32;
        while depth > 0 {
            match self.peek() {
                Some(Token::OpenParen) => depth += 1,
                Some(Token::CloseParen) => depth -= 1,
                Some(_) => {}
                None => return Err(self.error(start, "the text ends within this directive")),
            }
            self.at += 1;
        }
        Ok(())
    }

    pub(super) fn skip_past(&mut self, end: Token) -> Result<(), PtxError> {
        let start = self.last_span().to(self.span());
        while let Some(token) = self.peek() {
            self.at += 1;
            if token == end {
                return Ok(());
            }
        }
        Err(self.error(start, "the text ends within this directive"))
    }
}
