//! What the value of a program is, and what must change at its top level.
//!
//! Owns the shapes that programs come in (CM-7): a body with `return`, a last expression, one function,
//! `export default`, a lone `main`; and the refusal of modules (CM-8). It must never change anything
//! below the top level, nor add or remove a line. `edits` makes the changes, `emit` adds the value.

use swc_common::{Span, Spanned};
use swc_ecma_ast::{
    AssignOp, Decl, DefaultDecl, ExportDecl, Expr, ExprStmt, ImportDecl, ImportSpecifier, Lit, Module,
    ModuleDecl, ModuleExportName, ModuleItem, Stmt, TsModuleRef,
};

use super::calls::{
    bare, call_of, call_of_expression, call_of_name, declared_function, is_function, text_of,
};
use super::edits::Edits;
use super::facts::{Facts, is_bare_tool_call};
use super::hints::{GLOBALS, ToolHints, instead_of_module};
use super::parse::{Fault, offset};

/// The name under which a value waits that has none.
pub(super) const VALUE: &str = "__default_export";

/// What to do with a program.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) edits: Edits,
    /// The statement at the end that gives the value; empty when the program does it itself.
    pub(super) value: String,
    pub(super) notes: Vec<String>,
}

/// Finds the shape of a program, or the import that it must not have.
///
/// `named` tells that the text before was put into a constant called [`VALUE`], which is the value.
pub(super) fn plan(
    text: &str,
    module: &Module,
    facts: &Facts,
    named: bool,
    hints: &ToolHints<'_>,
) -> Result<Plan, Fault> {
    let mut shaper = Shaper { text, plan: Plan::default(), default: None };
    for item in &module.body {
        shaper.module_item(module, item, hints)?;
    }
    if let Some(dynamic) = &facts.dynamic_import {
        let message = match (&dynamic.specifier, dynamic.meta) {
            (_, true) => {
                format!("`import.meta` is not available: a program is not a module. It has {GLOBALS}")
            }
            (Some(specifier), _) => no_module(&format!("`import({specifier:?})`"), specifier, hints),
            (None, _) => {
                format!("`import()` is not available: there are no modules to load. A program has {GLOBALS}")
            }
        };
        return Err(Fault { offset: dynamic.offset, message });
    }
    if let Some(value) = shaper.default.take() {
        shaper.plan.value = value;
    } else if named {
        shaper.plan.value = Shaper::named_value(module);
    } else if !facts.returns {
        shaper.last_value(module, facts);
    }
    Ok(shaper.plan)
}

struct Shaper<'a> {
    text: &'a str,
    plan: Plan,
    /// The statement that gives the value of `export default`.
    default: Option<String>,
}

impl Shaper<'_> {
    fn module_item(
        &mut self,
        module: &Module,
        item: &ModuleItem,
        hints: &ToolHints<'_>,
    ) -> Result<(), Fault> {
        let ModuleItem::ModuleDecl(declaration) = item else {
            if let ModuleItem::Stmt(Stmt::Decl(Decl::TsModule(inner))) = item
                && (inner.declare || inner.global)
            {
                self.plan.edits.blank_statement(range(inner.span));
            }
            if let ModuleItem::Stmt(Stmt::Expr(statement)) = item
                && let Some(exported) = module_exports(&statement.expr)
            {
                let span = statement.span;
                self.plan.edits.blank(offset(span.lo)..offset(exported.span_lo()));
                self.default_expression(module, span, exported, &[]);
            }
            return Ok(());
        };
        let span = declaration.span();
        match declaration {
            ModuleDecl::Import(import) => self.import(import, hints)?,
            ModuleDecl::ExportDecl(export) => {
                if let Decl::TsModule(inner) = &export.decl
                    && inner.declare
                {
                    self.plan.edits.blank_statement(range(span));
                } else {
                    self.erase_keywords(span, &["export"]);
                }
            }
            ModuleDecl::ExportNamed(export) => {
                if let Some(source) = &export.src {
                    return Err(import_fault(
                        span,
                        "export ... from",
                        &source.value.to_string_lossy(),
                        hints,
                    ));
                }
                for specifier in &export.specifiers {
                    if let swc_ecma_ast::ExportSpecifier::Named(named) = specifier
                        && named.exported.as_ref().is_some_and(|name| *name.atom() == "default")
                        && let ModuleExportName::Ident(name) = &named.orig
                    {
                        self.default = Some(value_of_name(module, &name.sym));
                    }
                }
                self.plan.edits.blank_statement(range(span));
            }
            ModuleDecl::ExportDefaultDecl(export) => self.default_declaration(span, &export.decl),
            ModuleDecl::ExportDefaultExpr(export) => {
                self.default_expression(module, span, &export.expr, &["export", "default"]);
            }
            ModuleDecl::TsExportAssignment(export) => {
                self.default_expression(module, span, &export.expr, &["export", "="]);
            }
            ModuleDecl::ExportAll(export) => {
                return Err(import_fault(span, "export * from", &export.src.value.to_string_lossy(), hints));
            }
            ModuleDecl::TsImportEquals(import) => match &import.module_ref {
                _ if import.is_type_only => self.plan.edits.blank_statement(range(span)),
                TsModuleRef::TsExternalModuleRef(module) => {
                    return Err(import_fault(span, "import", &module.expr.value.to_string_lossy(), hints));
                }
                TsModuleRef::TsEntityName(_) => {
                    let message = "`import x = y` is not available; write `const x = y`".to_owned();
                    return Err(Fault { offset: offset(span.lo), message });
                }
            },
            ModuleDecl::TsNamespaceExport(_) => self.plan.edits.blank_statement(range(span)),
        }
        Ok(())
    }

    fn import(&mut self, import: &ImportDecl, hints: &ToolHints<'_>) -> Result<(), Fault> {
        let types = !import.specifiers.is_empty()
            && import
                .specifiers
                .iter()
                .all(|one| matches!(one, ImportSpecifier::Named(named) if named.is_type_only));
        let specifier = import.src.value.to_string_lossy();
        if !import.type_only && !types {
            return Err(import_fault(import.span, "import", &specifier, hints));
        }
        self.plan.edits.blank_statement(range(import.span));
        self.plan
            .notes
            .push(format!("left out the import of types from {:?}: there are no modules", &*specifier));
        Ok(())
    }

    /// Blanks keywords at the start of a statement, or after its decorators.
    fn erase_keywords(&mut self, span: Span, words: &[&str]) {
        let (mut at, end) = (offset(span.lo), offset(span.hi));
        if !self.text.get(at..end).is_some_and(|text| text.starts_with("export")) {
            // Decorators come first; the keyword is the first `export` after them that is a word.
            let Some(found) = self.text.get(at..end).and_then(find_export) else { return };
            at += found;
        }
        for word in words {
            at = self.skip_trivia(at, end);
            if self.text.get(at..end).is_some_and(|text| text.starts_with(word)) {
                self.plan.edits.blank(at..at + word.len());
                at += word.len();
            }
        }
    }

    /// The offset after white space and comments.
    fn skip_trivia(&self, mut at: usize, end: usize) -> usize {
        while let Some(rest) = self.text.get(at..end) {
            let trimmed = rest.trim_start();
            at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") {
                at += trimmed.find(['\n', '\r', '\u{2028}', '\u{2029}']).unwrap_or(trimmed.len());
            } else if trimmed.starts_with("/*") {
                at += trimmed.find("*/").map_or(trimmed.len(), |length| length + 2);
            } else {
                break;
            }
        }
        at
    }

    fn default_declaration(&mut self, span: Span, declaration: &DefaultDecl) {
        self.erase_keywords(span, &["export", "default"]);
        let (name, call) = match declaration {
            DefaultDecl::Fn(function) => (function.ident.as_ref(), call_of(&function.function)),
            DefaultDecl::Class(class) => (class.ident.as_ref(), None),
            DefaultDecl::TsInterfaceDecl(_) => return,
        };
        let call = text_of(call);
        if let Some(name) = name {
            self.default = Some(format!("return {}{call}", name.sym));
        } else {
            self.plan.edits.insert(offset(span.lo), format!("const {VALUE}="));
            self.plan.edits.insert(offset(span.hi), ";");
            self.default = Some(format!("return {VALUE}{call}"));
        }
    }

    fn default_expression(&mut self, module: &Module, span: Span, expression: &Expr, words: &[&str]) {
        self.erase_keywords(span, words);
        self.plan.edits.insert(offset(span.lo), format!("const {VALUE}="));
        let call = match bare(expression) {
            Expr::Ident(name) => call_of_name(module, &name.sym),
            other => call_of_expression(other),
        };
        self.default = Some(format!("return {VALUE}{}", text_of(call)));
    }

    fn named_value(module: &Module) -> String {
        let call = match module.body.first() {
            Some(ModuleItem::Stmt(Stmt::Decl(Decl::Var(variable)))) => {
                variable.decls.first().and_then(|first| call_of_expression(bare(first.init.as_deref()?)))
            }
            _ => None,
        };
        format!("return {VALUE}{}", text_of(call))
    }

    /// The last expression, or a function that nobody calls.
    fn last_value(&mut self, module: &Module, facts: &Facts) {
        let significant = || module.body.iter().filter(|item| is_significant(item));
        if let Some(ModuleItem::Stmt(Stmt::Expr(last))) = significant().rfind(|item| !is_function(item)) {
            // A bare call at the end is a step, not an answer: its whole value in the model's context is seldom
            // meant, and the notes of the run tell what was dropped.
            if !is_bare_tool_call(bare(&last.expr)) {
                self.return_expression(last);
            }
            return;
        }
        if significant().any(|item| matches!(item, ModuleItem::Stmt(Stmt::Expr(_)))) {
            return;
        }
        let lone = significant().count() == 1;
        let uncalled = significant().find_map(|item| {
            let (name, call) = declared_function(item)?;
            let wanted = (lone && call.complete) || matches!(name.as_str(), "main" | "run");
            (wanted && !facts.used.contains(&name)).then_some((name, call.arguments))
        });
        if let Some((name, call)) = uncalled {
            self.plan.value = format!("return {name}{call}");
        }
    }

    fn return_expression(&mut self, statement: &ExprStmt) {
        let start = offset(statement.expr.span_lo());
        match call_of_expression(bare(&statement.expr)) {
            Some(call) => {
                self.plan.edits.insert(start, "return (");
                self.plan.edits.insert(offset(statement.expr.span_hi()), format!("){}", call.arguments));
            }
            None => self.plan.edits.insert(start, "return "),
        }
    }
}

/// `value` in `module.exports = value`, which is how programs of Node.js say `export default value`.
fn module_exports(expression: &Expr) -> Option<&Expr> {
    let Expr::Assign(assign) = expression else { return None };
    let member = assign.left.as_simple()?.as_member()?;
    let is_module = matches!(&*member.obj, Expr::Ident(name) if name.sym == "module");
    let is_exports = member.prop.as_ident().is_some_and(|name| name.sym == "exports");
    (assign.op == AssignOp::Assign && is_module && is_exports).then_some(&*assign.right)
}

fn range(span: Span) -> std::ops::Range<usize> {
    offset(span.lo)..offset(span.hi)
}

/// Where the word `export` stands outside of parentheses, after decorators.
fn find_export(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    text.char_indices().find_map(|(at, character)| {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            'e' if depth == 0 && text.get(at..)?.starts_with("export") => {
                let before = text.get(..at)?.chars().next_back()?;
                return (before.is_whitespace() || matches!(before, ')' | '/')).then_some(at);
            }
            _ => {}
        }
        None
    })
}

fn import_fault(span: Span, what: &str, specifier: &str, hints: &ToolHints<'_>) -> Fault {
    let written = if what == "import" {
        format!("`import` from {specifier:?}")
    } else {
        format!("`{what} {specifier:?}`")
    };
    Fault { offset: offset(span.lo), message: no_module(&written, specifier, hints) }
}

fn no_module(written: &str, specifier: &str, hints: &ToolHints<'_>) -> String {
    let instead = instead_of_module(specifier, hints);
    format!("{written} is not available: there are no modules to load; {instead}. A program has {GLOBALS}")
}

/// Whether an item does anything at run time, a prologue `"use strict"` aside.
fn is_significant(item: &ModuleItem) -> bool {
    match item {
        ModuleItem::Stmt(Stmt::Empty(_) | Stmt::Decl(Decl::TsInterface(_) | Decl::TsTypeAlias(_)))
        | ModuleItem::ModuleDecl(ModuleDecl::ExportDecl(ExportDecl {
            decl: Decl::TsInterface(_) | Decl::TsTypeAlias(_),
            ..
        })) => false,
        ModuleItem::Stmt(Stmt::Decl(Decl::Var(variable))) => !variable.declare,
        ModuleItem::Stmt(Stmt::Decl(Decl::Fn(function))) => function.function.body.is_some(),
        ModuleItem::Stmt(Stmt::Decl(Decl::TsModule(module))) => !module.declare && !module.global,
        ModuleItem::Stmt(Stmt::Expr(statement)) => {
            !matches!(&*statement.expr, Expr::Lit(Lit::Str(text)) if text.value.to_string_lossy() == "use strict")
        }
        ModuleItem::ModuleDecl(declaration) => matches!(declaration, ModuleDecl::ExportDecl(_)),
        ModuleItem::Stmt(_) => true,
    }
}

fn value_of_name(module: &Module, name: &str) -> String {
    format!("return {name}{}", text_of(call_of_name(module, name)))
}
