//! List of the modifiers of an instruction. The lowering removes the modifiers that it supports; the first
//! one that remains is reported in an error.

use super::super::PtxError;
use super::super::ast::{Instruction, Name, Span};
use super::Lowering;
use isa::types::{Rounding, Scope, Space, Type};

pub(super) struct Modifiers<'a> {
    opcode: Name<'a>,
    left: Vec<Name<'a>>,
}

impl<'a> Modifiers<'a> {
    pub(super) fn new(inst: &Instruction<'a>) -> Self {
        Modifiers { opcode: inst.opcode, left: inst.modifiers.clone() }
    }

    /// Removes the modifier `word` from the list. Returns true if it was present.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let found = self.left.iter().position(|m| m.text == word);
        found.map(|at| self.left.remove(at)).is_some()
    }

    /// True if `word` is among the remaining modifiers.
    pub(super) fn has(&self, word: &str) -> bool {
        self.left.iter().any(|m| m.text == word)
    }

    /// True if no modifier remains.
    pub(super) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Removes all remaining modifiers.
    pub(super) fn clear(&mut self) {
        self.left.clear();
    }

    /// Removes all modifiers that are in the list `words`, and returns them in the order of the instruction.
    pub(super) fn take_all(&mut self, words: &[&str]) -> Vec<&'a str> {
        self.left.extract_if(.., |m| words.contains(&m.text)).map(|m| m.text).collect()
    }

    /// Replaces each packed type among the modifiers by its element type. Returns the last packed type.
    pub(super) fn unpack(&mut self) -> Option<Type> {
        let mut packed = None;
        for word in &mut self.left {
            if let Some(ty) = Type::from_name(word.text).filter(|ty| ty.is_packed()) {
                packed = Some(ty);
                word.text = ty.element().name();
            }
        }
        packed
    }

    /// Removes the modifier that names a state space, and returns the space. Without such a modifier, returns
    /// the generic space.
    pub(super) fn space(&mut self) -> Space {
        let space = self.take_one(&[
            ("param", Space::Param),
            ("param::entry", Space::Param),
            ("param::func", Space::Param),
            ("global", Space::Global),
            ("shared", Space::Shared),
            ("shared::cta", Space::Shared),
            ("const", Space::Const),
            ("local", Space::Local),
        ]);
        space.unwrap_or(Space::Generic)
    }

    /// Removes the modifier that names the scope of a memory order, and returns the scope.
    pub(super) fn scope(&mut self) -> Option<Scope> {
        self.take_one(&[
            ("cta", Scope::Cta),
            ("cluster", Scope::Device),
            ("gpu", Scope::Device),
            ("sys", Scope::System),
        ])
    }

    /// Removes the first modifier that is in the list `words`, and returns the value that `words` gives for
    /// it.
    pub(super) fn take_one<T: Copy>(&mut self, words: &[(&str, T)]) -> Option<T> {
        let meaning = |m: &Name<'_>| words.iter().find(|(w, _)| *w == m.text).map(|(_, t)| *t);
        let at = self.left.iter().position(|m| meaning(m).is_some())?;
        meaning(&self.left.remove(at))
    }

    /// Removes the last modifier that is a type, and returns the type if it is in the list `legal`.
    pub(super) fn ty(&mut self, lowering: &Lowering<'_, 'a>, legal: &[Type]) -> Result<Type, PtxError> {
        self.ty_of(lowering, self.opcode.text, legal)
    }

    /// Removes the last modifier that is a type, and returns the type if it is in the list `legal`. `name` is
    /// the name of the instruction in error messages. The legal types may depend on modifiers, so `name` can
    /// be more than the opcode.
    pub(super) fn ty_of(&mut self, lowering: &Lowering<'_, 'a>, name: &str, legal: &[Type]) -> Result<Type, PtxError> {
        let at = self.left.iter().rposition(|m| Type::from_name(m.text).is_some());
        let last = at.or(self.left.len().checked_sub(1)).map(|at| self.left.remove(at));
        let ty = last.and_then(|m| Type::from_name(m.text));
        if let Some(ty) = ty.filter(|ty| legal.contains(ty)) {
            return Ok(ty);
        }
        let names: Vec<String> = legal.iter().map(Type::to_string).collect();
        let (span, found): (Span, String) = match last {
            Some(word) => (word.span, format!("`.{}`", word.text)),
            None => (self.opcode.span, "no type".to_string()),
        };
        let message = format!("`{name}` with {found}, expected a type");
        Err(lowering.error(span, "here", message).with_help(format!("`{name}` takes {}", names.join(" "))))
    }

    /// Removes the modifier that names a floating-point rounding mode, and returns the mode.
    pub(super) fn rounding(&mut self) -> Option<Rounding> {
        self.take_one(&[
            ("rn", Rounding::Nearest),
            ("rz", Rounding::Zero),
            ("rm", Rounding::Down),
            ("rp", Rounding::Up),
        ])
    }

    /// Returns an error if a modifier remains; the error names the first one.
    pub(super) fn finish(&self, lowering: &Lowering<'_, 'a>) -> Result<(), PtxError> {
        match self.left.first() {
            None => Ok(()),
            Some(word) => {
                let message = format!("`.{}` is not supported on `{}`", word.text, self.opcode.text);
                Err(lowering.error(word.span, "this modifier", message))
            }
        }
    }
}
