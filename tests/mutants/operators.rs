//! Finds the places where a file can be mutated, and the mutations.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, Item, ReturnType, Signature, Stmt, Type};

use crate::context::{assigns, file_of, has_let, is_for_tests, never_returns, short, values};

/// Mutation operator: kind of change that makes a mutant.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub enum Operator {
    #[serde(rename = "statement deleted")]
    Statement,
    #[serde(rename = "condition negated")]
    Condition,
    #[serde(rename = "comparison shifted")]
    Comparison,
    #[serde(rename = "arithmetic swapped")]
    Arithmetic,
    #[serde(rename = "function replaced")]
    Function,
}

impl Operator {
    pub fn name(self) -> &'static str {
        match self {
            Self::Statement => "statement deleted",
            Self::Condition => "condition negated",
            Self::Comparison => "comparison shifted",
            Self::Arithmetic => "arithmetic swapped",
            Self::Function => "function replaced",
        }
    }
}

/// Change of the text that makes a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Deletes the statement.
    Delete,
    /// Negates the condition.
    Negate,
    /// Replaces the operator between two operands.
    Swap { operator: Range<usize>, with: &'static str },
    /// Makes the function return at once. The mutated byte range is empty, directly after the opening brace
    /// of the function.
    Return(&'static str),
}

/// Mutant: a change at one place in a file.
#[derive(Clone, Debug)]
pub struct Mutant {
    pub operator: Operator,
    pub change: Change,
    /// Byte range in the file that the change replaces.
    pub place: Range<usize>,
    /// Line number at which the mutated code begins, counted from 1.
    pub line: usize,
    /// Column number in characters at which the mutated code begins, counted from 1.
    pub column: usize,
    pub original: String,
    pub mutated: String,
    /// Name of the function that contains the mutated code.
    pub function: String,
    /// Name of the trait whose implementation contains the mutated code; empty if there is none.
    pub of_trait: String,
}

/// Mutants and test modules found in a file.
#[derive(Debug, Default)]
pub struct FileScan {
    pub mutants: Vec<Mutant>,
    /// Modules that are compiled only in test builds and have files of their own. Each has its name, and its
    /// path if it has a `path` attribute.
    pub test_modules: Vec<(String, Option<String>)>,
}

/// Returns all mutants of a file, sorted by position. If one mutant encloses others, it precedes them.
///
/// # Errors
/// Returns an error if the file is not valid Rust.
pub fn find(text: &str) -> syn::Result<FileScan> {
    let file = syn::parse_file(text)?;
    let mut finder = Finder { text, function: String::new(), of_trait: String::new(), found: FileScan::default() };
    finder.visit_file(&file);
    let mut found = finder.found;
    let negated: Vec<_> = of(&found.mutants, Operator::Condition).map(|mutant| mutant.place.clone()).collect();
    // Negating the condition `a == b` gives the same mutant as replacing it with `a != b`, so only one of the
    // two is kept.
    let is_double = |mutant: &Mutant| {
        matches!(mutant.change, Change::Swap { with: "==" | "!=", .. }) && negated.contains(&mutant.place)
    };
    found.mutants.retain(|mutant| !is_double(mutant));
    found.mutants.sort_by_key(|mutant| {
        let inner = matches!(mutant.change, Change::Swap { .. });
        (mutant.place.start, std::cmp::Reverse(mutant.place.end), inner)
    });
    Ok(found)
}

fn of(mutants: &[Mutant], operator: Operator) -> impl Iterator<Item = &Mutant> {
    mutants.iter().filter(move |mutant| mutant.operator == operator)
}

struct Finder<'t> {
    text: &'t str,
    function: String,
    of_trait: String,
    found: FileScan,
}

impl Finder<'_> {
    fn add(&mut self, operator: Operator, change: Change, node: &impl Spanned) {
        let span = node.span();
        let place = span.byte_range();
        let original = short(&self.text[place.clone()]);
        let mutated = match &change {
            Change::Delete => "(nothing)".to_owned(),
            Change::Negate => format!("!({original})"),
            Change::Swap { operator, with } => {
                let (left, right) = (&self.text[place.start..operator.start], &self.text[operator.end..place.end]);
                short(&format!("{left}{with}{right}"))
            }
            Change::Return(value) => (*value).to_owned(),
        };
        let (function, of_trait) = (self.function.clone(), self.of_trait.clone());
        let (line, column) = (span.start().line, span.start().column + 1);
        self.found.mutants.push(Mutant {
            operator,
            change,
            place,
            line,
            column,
            original,
            mutated,
            function,
            of_trait,
        });
    }

    fn function(&mut self, attributes: &[syn::Attribute], signature: &Signature, block: &Block) {
        if is_for_tests(attributes) || signature.constness.is_some() || never_returns(attributes, signature) {
            return;
        }
        let outside = std::mem::replace(&mut self.function, signature.ident.to_string());
        self.replace(signature, block);
        self.visit_block(block);
        self.function = outside;
    }

    fn replace(&mut self, signature: &Signature, block: &Block) {
        let only_one = matches!(&block.stmts[..], [Stmt::Expr(one, Some(_))] if is_deletable(one));
        let is_unit = matches!(signature.output, ReturnType::Default);
        if block.stmts.is_empty() || (is_unit && only_one) {
            return;
        }
        let open = block.brace_token.span.open();
        let body = &self.text[open.byte_range().end..block.brace_token.span.close().byte_range().start];
        for value in values(&signature.output).iter().filter(|value| **value != body.trim()) {
            self.add(Operator::Function, Change::Return(value), &signature.ident);
            let mutant = self.found.mutants.last_mut().expect("was just added");
            mutant.place = open.byte_range().end..open.byte_range().end;
            mutant.original = short(&self.text[signature.span().byte_range()]);
        }
    }

    fn condition(&mut self, condition: &Expr) {
        if !has_let(condition) {
            self.add(Operator::Condition, Change::Negate, condition);
        }
    }
}

/// True if a statement can be deleted. Macros, returns, and statements that only contain other statements
/// cannot be deleted.
fn is_deletable(statement: &Expr) -> bool {
    !matches!(statement, Expr::Macro(_) | Expr::Return(_) | Expr::Block(_) | Expr::If(_) | Expr::Match(_))
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Fn(item) => self.function(&item.attrs, &item.sig, &item.block),
            Item::Mod(item) if is_for_tests(&item.attrs) => self.found.test_modules.extend(file_of(item)),
            Item::Impl(item) if is_for_tests(&item.attrs) => {}
            Item::Impl(item) => {
                let name = item.trait_.as_ref().and_then(|(_, path, _)| path.segments.last());
                self.of_trait = name.map(|name| name.ident.to_string()).unwrap_or_default();
                visit::visit_item_impl(self, item);
                self.of_trait.clear();
            }
            Item::Trait(_) | Item::Mod(_) => visit::visit_item(self, item),
            // Items of other kinds contain no code, or only code that is evaluated at compile time.
            _ => {}
        }
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        if let syn::ImplItem::Fn(item) = item {
            self.function(&item.attrs, &item.sig, &item.block);
        }
    }

    fn visit_trait_item(&mut self, item: &'ast syn::TraitItem) {
        if let syn::TraitItem::Fn(item) = item
            && let Some(block) = &item.default
        {
            self.function(&item.attrs, &item.sig, block);
        }
    }

    fn visit_block(&mut self, block: &'ast Block) {
        for statement in &block.stmts {
            if let Stmt::Expr(expression, Some(_)) = statement
                && is_deletable(expression)
            {
                self.add(Operator::Statement, Change::Delete, statement);
            }
            self.visit_stmt(statement);
        }
    }

    fn visit_expr_if(&mut self, expression: &'ast syn::ExprIf) {
        self.condition(&expression.cond);
        visit::visit_expr_if(self, expression);
    }

    fn visit_expr_while(&mut self, expression: &'ast syn::ExprWhile) {
        self.condition(&expression.cond);
        visit::visit_expr_while(self, expression);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if let Some((_, guard)) = &arm.guard {
            self.condition(guard);
        }
        if assigns(&arm.body) {
            self.add(Operator::Statement, Change::Delete, &arm.body);
        }
        visit::visit_arm(self, arm);
    }

    fn visit_expr_binary(&mut self, expression: &'ast syn::ExprBinary) {
        let parts_are_free = !has_let(&expression.left) && !has_let(&expression.right);
        if let Some((operator, with)) = swap(&expression.op)
            && parts_are_free
        {
            self.add(operator, Change::Swap { operator: expression.op.span().byte_range(), with }, expression);
        }
        visit::visit_expr_binary(self, expression);
    }

    fn visit_expr_repeat(&mut self, expression: &'ast syn::ExprRepeat) {
        self.visit_expr(&expression.expr);
    }

    // Types, patterns and constant blocks contain only code that is evaluated at compile time.
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
}

fn swap(operator: &BinOp) -> Option<(Operator, &'static str)> {
    Some(match operator {
        BinOp::Lt(_) => (Operator::Comparison, "<="),
        BinOp::Le(_) => (Operator::Comparison, "<"),
        BinOp::Gt(_) => (Operator::Comparison, ">="),
        BinOp::Ge(_) => (Operator::Comparison, ">"),
        BinOp::Eq(_) => (Operator::Comparison, "!="),
        BinOp::Ne(_) => (Operator::Comparison, "=="),
        BinOp::Add(_) => (Operator::Arithmetic, "-"),
        BinOp::Sub(_) => (Operator::Arithmetic, "+"),
        BinOp::Shl(_) => (Operator::Arithmetic, ">>"),
        BinOp::Shr(_) => (Operator::Arithmetic, "<<"),
        BinOp::And(_) => (Operator::Arithmetic, "||"),
        BinOp::Or(_) => (Operator::Arithmetic, "&&"),
        BinOp::BitAnd(_) => (Operator::Arithmetic, "|"),
        BinOp::BitOr(_) => (Operator::Arithmetic, "&"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
