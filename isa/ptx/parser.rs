//! # Parser
//! Parses PTX by recursive descent, but with bounded recursion. The syntax tree does not nest blocks of code,
//! braces of initializers are only counted, and constant expressions have a maximum depth.

mod declare;
mod expression;
mod instruction;

use rustc_hash::FxHashMap;

use super::ast::{Function, Module, Name, Span, Statement, Storage, Variable};
use super::lexer::{Token, tokens};
use super::{PtxError, Source, duplicates};

/// Maximum nesting of blocks of code. The limit bounds the time of a name lookup, which searches all
/// enclosing blocks.
const MAX_DEPTH: u32 = 256;

/// Parses a whole file.
pub fn parse(source: &Source) -> Result<Module<'_>, PtxError> {
    let mut parser =
        Parser { source, tokens: tokens(source)?, at: 0, depth: 0, vectors: FxHashMap::default(), noted: Vec::new() };
    let module = parser.module()?;
    duplicates::refuse(source, &module)?;
    Ok(module)
}

/// Parser state: a position in the list of tokens.
struct Parser<'a> {
    source: &'a Source,
    tokens: Vec<(Token, Span)>,
    at: usize,
    /// Number of blocks of code that are open at the next token.
    depth: u32,
    /// Declarations of vector registers, and of names that shadow a vector register, that are visible at the
    /// next token. They are indexed by register name, with the innermost declaration last. A register family
    /// `%q<4>` has the key `%q`.
    vectors: FxHashMap<&'a str, Vec<VectorName>>,
    /// Names in `vectors`, each with the nesting depth of the block of code that declares it.
    noted: Vec<(&'a str, u32)>,
}

/// Declaration of a register, as needed to look up vector registers.
struct VectorName {
    /// Number of registers if the declaration is a family, for example 4 for `%q<4>`.
    family: Option<u64>,
    /// Number of vector elements: 2 or 4, or 1 for a declaration that shadows a vector register.
    lanes: u32,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<Token> {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> Option<Token> {
        self.tokens.get(self.at + ahead).map(|(token, _)| *token)
    }

    /// Returns the position of the next token, or that of the end of the text.
    fn span(&self) -> Span {
        match self.tokens.get(self.at) {
            Some((_, span)) => *span,
            None => {
                let end = self.source.text.trim_end().len() as u32;
                Span { start: end, end }
            }
        }
    }

    fn text(&self, span: Span) -> &'a str {
        &self.source.text[span.start as usize..span.end as usize]
    }

    /// Returns the position of the last token that has been consumed.
    fn last_span(&self) -> Span {
        match self.at.checked_sub(1).and_then(|at| self.tokens.get(at)) {
            Some((_, span)) => *span,
            None => Span::default(),
        }
    }

    fn error(&self, span: Span, message: impl Into<String>) -> PtxError {
        PtxError::new(self.source, span, "here", message.into())
    }

    /// Returns an error at the next token. It says that the grammar requires `wanted` there.
    fn refuse_next(&self, wanted: &str) -> PtxError {
        let span = self.span();
        let found = match self.peek() {
            Some(_) => format!("found `{}`", self.text(span)),
            None => "the text ends".to_string(),
        };
        self.error(span, format!("expected {wanted}, {found}"))
    }

    fn eat(&mut self, token: Token) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, token: Token, wanted: &str) -> Result<Name<'a>, PtxError> {
        if self.peek() != Some(token) {
            return Err(self.refuse_next(wanted));
        }
        let span = self.span();
        self.at += 1;
        Ok(Name { text: self.text(span), span })
    }

    fn word(&mut self, wanted: &str) -> Result<Name<'a>, PtxError> {
        self.expect(Token::Word, wanted)
    }

    /// Parses a token with a leading dot, and returns it without the dot.
    fn parse_dotted(&mut self, wanted: &str) -> Result<Name<'a>, PtxError> {
        let name = self.expect(Token::Dotted, wanted)?;
        Ok(Name { text: &name.text[1..], span: name.span })
    }

    /// Returns the next token without the dot, or `None` if it has no leading dot.
    fn peek_dotted(&self) -> Option<&'a str> {
        match self.peek() {
            Some(Token::Dotted) => Some(&self.text(self.span())[1..]),
            _ => None,
        }
    }

    fn eat_dotted(&mut self, name: &str) -> bool {
        let found = self.peek_dotted() == Some(name);
        self.at += usize::from(found);
        found
    }

    /// Parses an unsigned integer.
    fn integer(&mut self, wanted: &str) -> Result<u64, PtxError> {
        let name = self.expect(Token::Integer, wanted)?;
        self.integer_value(name)
    }

    fn integer_value(&self, name: Name<'a>) -> Result<u64, PtxError> {
        let text = name.text.trim_end_matches('U');
        let (digits, radix) = match text.as_bytes() {
            [b'0', b'x' | b'X', ..] => (&text[2..], 16),
            [b'0', b'b' | b'B', ..] => (&text[2..], 2),
            [b'0', _, ..] => (&text[1..], 8),
            _ => (text, 10),
        };
        u64::from_str_radix(digits, radix).map_err(|_| {
            let message = format!("`{}` is not an integer of at most 64 bits", name.text);
            self.error(name.span, message)
        })
    }

    /// Parses an integer that must fit in 32 bits.
    fn small_integer(&mut self, wanted: &str) -> Result<u32, PtxError> {
        let span = self.span();
        let value = self.integer(wanted)?;
        u32::try_from(value)
            .map_err(|_| self.error(span, format!("{value} is too large, expected {wanted} below 2^32")))
    }

    fn module(&mut self) -> Result<Module<'a>, PtxError> {
        let mut module = Module::default();
        if self.peek_dotted() != Some("version") {
            return Err(self
                .refuse_next("`.version` as the first directive")
                .with_help("a PTX file opens with .version, .target and .address_size"));
        }
        while self.peek().is_some() {
            let start = self.span();
            let Some(directive) = self.peek_dotted() else {
                return Err(self.refuse_next("a directive at file level"));
            };
            match directive {
                "version" => {
                    self.at += 1;
                    let number = self.expect(Token::Decimal, "a version such as 7.1")?;
                    module.version = self.version(number)?;
                }
                "target" => {
                    self.at += 1;
                    module.target.push(self.word("a target such as sm_35")?);
                    while self.eat(Token::Comma) {
                        module.target.push(self.word("a target")?);
                    }
                }
                "address_size" => {
                    self.at += 1;
                    module.address_size = self.small_integer("32 or 64")?;
                    if !matches!(module.address_size, 32 | 64) {
                        let message = format!("address size {}, expected 32 or 64", module.address_size);
                        return Err(self.error(self.last_span(), message));
                    }
                }
                "file" | "loc" | "section" | "pragma" => self.debug_directive()?,
                "alias" => {
                    self.at += 1;
                    let new = self.word("a function name")?;
                    self.expect(Token::Comma, "`,`")?;
                    module.aliases.push((new, self.word("a function name")?));
                    self.expect(Token::Semicolon, "`;`")?;
                }
                "visible" | "extern" | "weak" | "common" | "entry" | "func" | "global" | "const" | "shared"
                | "local" | "tex" | "param" | "reg" => {
                    self.top_level(&mut module)?;
                }
                other => {
                    let message = format!("unknown directive `.{other}` at file level");
                    return Err(self.error(start, message));
                }
            }
        }
        if module.address_size == 0 {
            // Before PTX version 2.3, a file could not state its address size, so 64 bits are assumed. In
            // later versions, a file without the directive has 32-bit addresses.
            module.address_size = if module.version < (2, 3) { 64 } else { 32 };
        }
        module.list_functions();
        Ok(module)
    }

    fn version(&self, number: Name<'a>) -> Result<(u32, u32), PtxError> {
        let parts = number.text.split_once('.');
        match parts.map(|(major, minor)| (major.parse(), minor.parse())) {
            Some((Ok(major), Ok(minor))) => Ok((major, minor)),
            _ => Err(self.error(number.span, format!("`{}` is not a version", number.text))),
        }
    }

    /// Parses a function or variable at file level, including linkage directives such as `.visible`.
    fn top_level(&mut self, module: &mut Module<'a>) -> Result<(), PtxError> {
        let mut is_extern = false;
        while let Some("visible" | "extern" | "weak" | "common") = self.peek_dotted() {
            is_extern |= self.peek_dotted() == Some("extern");
            self.at += 1;
        }
        match self.peek_dotted() {
            Some("entry" | "func") => {
                let function = self.function()?;
                module.functions.push(function);
            }
            Some(_) => {
                let mut variables = self.variables(is_extern)?;
                module.variables.append(&mut variables);
            }
            None => return Err(self.refuse_next("`.entry`, `.func` or a state space")),
        }
        Ok(())
    }

    fn function(&mut self) -> Result<Function<'a>, PtxError> {
        let is_entry = self.parse_dotted("`.entry` or `.func`")?.text == "entry";
        let mut returns = Vec::new();
        while let Some("noreturn" | "attribute") = self.peek_dotted() {
            if self.parse_dotted("a directive")?.text == "attribute" {
                self.skip_parentheses()?;
            }
        }
        if !is_entry && self.peek() == Some(Token::OpenParen) {
            returns = self.parameters()?;
        }
        let name = self.word("a function name")?;
        let params = match self.peek() {
            Some(Token::OpenParen) => self.parameters()?,
            _ => Vec::new(),
        };
        let directives = self.performance_directives()?;
        let mut body = Vec::new();
        let has_body = self.peek() == Some(Token::OpenBrace);
        if has_body {
            self.body(&mut body)?;
        } else if !self.eat(Token::Semicolon) {
            // The semicolon after a function declaration may be missing if a directive at file level follows.
            let ends = self.peek().is_none() || self.peek_dotted().is_some_and(|word| FILE_LEVEL.contains(&word));
            if is_entry || !ends {
                return Err(self.refuse_next("a body in braces, or `;`"));
            }
        }
        Ok(Function { is_entry, name, returns, params, directives, has_body, body })
    }

    /// Records the declaration of a vector register, or a declaration that shadows a vector register.
    fn note_vector(&mut self, variable: &Variable<'a>) {
        let lanes = if variable.storage == Storage::Reg { variable.vector } else { 1 };
        if lanes > 1 || !self.vectors.is_empty() {
            let name = variable.name.text;
            self.vectors.entry(name).or_default().push(VectorName { family: variable.family, lanes });
            self.noted.push((name, self.depth));
        }
    }

    /// Returns the number of elements of the vector register `name`; returns 1 for any other name.
    fn lanes(&self, name: &str) -> u32 {
        const MAX_DIGITS: usize = 19;
        let innermost = |name: &str| self.vectors.get(name).and_then(|all| all.last());
        if let Some(vector) = innermost(name).filter(|vector| vector.family.is_none()) {
            return vector.lanes;
        }
        // Tries all ways to split the name: for example, `%q3` may be register number 3 of the family
        // `%q<4>`.
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count().min(MAX_DIGITS);
        let stems = (name.len() - digits..name.len()).filter_map(|at| {
            let vector = innermost(&name[..at])?;
            (name[at..].parse::<u64>().ok()? < vector.family?).then_some(vector.lanes)
        });
        stems.into_iter().next().unwrap_or(1)
    }

    /// Parses a function body `{ ... }`. Blocks of code inside it are not nested in the syntax tree.
    fn body(&mut self, body: &mut Vec<Statement<'a>>) -> Result<(), PtxError> {
        let open = self.span();
        self.expect(Token::OpenBrace, "`{`")?;
        self.depth = 1;
        while self.depth > 0 {
            match self.peek() {
                Some(Token::OpenBrace) => {
                    self.at += 1;
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        let message = format!("blocks are nested more than {MAX_DEPTH} deep");
                        return Err(self.error(self.last_span(), message));
                    }
                    body.push(Statement::Open);
                }
                Some(Token::CloseBrace) => {
                    self.at += 1;
                    self.depth -= 1;
                    let depth = self.depth;
                    while let Some((name, _)) = self.noted.pop_if(|(_, declared)| *declared > depth) {
                        self.vectors.get_mut(name).and_then(Vec::pop);
                    }
                    if depth > 0 {
                        body.push(Statement::Close);
                    }
                }
                Some(Token::Semicolon) => self.at += 1,
                Some(Token::Word) if self.peek_at(1) == Some(Token::Colon) => {
                    body.push(Statement::Label(self.word("a label")?));
                    self.at += 1;
                }
                Some(Token::Word | Token::At) => {
                    body.push(Statement::Instruction(self.instruction()?));
                }
                Some(Token::Dotted) => self.body_directive(body)?,
                Some(_) => return Err(self.refuse_next("an instruction, a directive or a label")),
                None => return Err(self.error(open, "this `{` is never closed")),
            }
        }
        Ok(())
    }

    fn body_directive(&mut self, body: &mut Vec<Statement<'a>>) -> Result<(), PtxError> {
        let span = self.span();
        match self.peek_dotted().unwrap_or_default() {
            "loc" | "file" | "section" | "pragma" => self.debug_directive(),
            "callprototype" | "calltargets" => self.skip_to_semicolon(),
            "branchtargets" => {
                self.at += 1;
                let mut targets = vec![self.word("a label")?];
                while self.eat(Token::Comma) {
                    targets.push(self.word("a label")?);
                }
                self.expect(Token::Semicolon, "`,` or `;`")?;
                body.push(Statement::Targets(targets));
                Ok(())
            }
            "visible" | "weak" => {
                self.at += 1;
                Ok(())
            }
            "extern" => {
                self.at += 1;
                let variables = self.variables(true)?;
                body.extend(variables.into_iter().map(Statement::Declare));
                Ok(())
            }
            name if storage(name).is_some() => {
                let variables = self.variables(false)?;
                variables.iter().for_each(|variable| self.note_vector(variable));
                body.extend(variables.into_iter().map(Statement::Declare));
                Ok(())
            }
            name => Err(self.error(span, format!("unknown directive `.{name}` in a body"))),
        }
    }
}

/// Names of the directives with which an item at file level can begin.
const FILE_LEVEL: [&str; 17] = [
    "version",
    "target",
    "address_size",
    "file",
    "section",
    "alias",
    "visible",
    "extern",
    "weak",
    "common",
    "entry",
    "func",
    "global",
    "const",
    "shared",
    "local",
    "tex",
];

/// Returns the state space with the PTX name `name`.
fn storage(name: &str) -> Option<Storage> {
    Some(match name {
        "reg" => Storage::Reg,
        "param" => Storage::Param,
        "global" => Storage::Global,
        "shared" => Storage::Shared,
        "const" => Storage::Const,
        "local" => Storage::Local,
        "tex" => Storage::Tex,
        _ => return None,
    })
}
