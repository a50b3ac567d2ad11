//! What a syntax tree contains, found in one walk.
//!
//! Owns the questions that need the whole tree: imports anywhere, `return` at the top level, constructs
//! that need emission, names that are used. It must only be called with enough stack (`stack`) and
//! decides nothing; `shape` and `attempt` do.

use std::collections::BTreeSet;

use swc_common::Spanned;
use swc_ecma_ast::{
    ArrowExpr, AssignOp, AutoAccessor, AwaitExpr, BinExpr, BinaryOp, BindingIdent, Callee, Constructor,
    Decorator, Expr, FnDecl, Function, GetterProp, Ident, JSXElement, JSXFragment, MetaPropExpr,
    MetaPropKind, Module, ReturnStmt, SetterProp, SimpleAssignTarget, StaticBlock, TaggedTpl, TsImportType,
};
use swc_ecma_visit::{Visit, VisitWith};

use super::calls::bare;
use super::parse::offset;

/// The answers; offsets are the first in the text.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) dynamic_import: Option<Dynamic>,
    pub(super) returns: bool,
    pub(super) needs_emit: bool,
    /// A template is the tag of a template: nothing but Markdown fences looks so.
    pub(super) fence: bool,
    pub(super) jsx: Option<usize>,
    /// `#` and a name, and not before `in`: the parser lets it pass.
    pub(super) stray_hash: Option<usize>,
    /// Something other than a variable or a property, with a type around it, is assigned to.
    pub(super) bad_target: Option<usize>,
    /// Every `await` of something that is not simply a call of a tool, up to [`MAX_WAITS`].
    pub(super) waits: Vec<Wait>,
    /// Where a tool is called as in Python, `tools.read(path="a")`, and the first of the names.
    pub(super) keyword: Option<(usize, String)>,
    /// Names in use; declaring a name is no use, nor is what a declared function says of itself.
    pub(super) used: BTreeSet<String>,
}

/// An `await` that may wait for ever: a call of a tool never does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    pub(super) offset: usize,
    /// The awaited promise is made by hand on the spot.
    pub(super) bare: bool,
}

/// More places to wait than this help nobody.
const MAX_WAITS: usize = 64;

/// `import()` or `import.meta`.
#[derive(Debug)]
pub(super) struct Dynamic {
    pub(super) offset: usize,
    /// The module, when it is written as a string.
    pub(super) specifier: Option<String>,
    pub(super) meta: bool,
}

/// Walks a tree.
pub(super) fn gather(module: &Module) -> Facts {
    let mut walk =
        Walk { facts: Facts::default(), functions: 0, inside: Vec::new(), declared: BTreeSet::new() };
    module.visit_with(&mut walk);
    let Walk { mut facts, declared, .. } = walk;
    // To a variable that there is, an assignment means what it says.
    facts.keyword = facts.keyword.filter(|(_, name)| !declared.contains(name));
    facts
}

/// A word in front of two backticks: with a third one and lines behind it, it is prose before a Markdown fence.
fn is_empty_template_call(expression: &Expr) -> bool {
    matches!(expression, Expr::TaggedTpl(inner)
        if inner.tpl.exprs.is_empty() && inner.tpl.quasis.iter().all(|part| part.raw.is_empty()))
}

/// `tools.name(...)` or `tools["name"](...)`.
fn is_tool_call(expression: &Expr) -> bool {
    let Expr::Call(call) = expression else { return false };
    let Callee::Expr(callee) = &call.callee else { return false };
    is_tool(callee)
}

fn is_tool(callee: &Expr) -> bool {
    matches!(callee, Expr::Member(member) if is_named(&member.obj, "tools"))
}

/// `name` in `name = value`.
fn assigned_name(expression: &Expr) -> Option<&str> {
    let Expr::Assign(assign) = expression else { return None };
    (assign.op == AssignOp::Assign).then_some(())?;
    Some(&assign.left.as_ident()?.id.sym)
}

/// A call of a tool, awaited or not, and nothing around it.
pub(super) fn is_bare_tool_call(expression: &Expr) -> bool {
    match expression {
        Expr::Await(awaited) => is_tool_call(&awaited.arg),
        other => is_tool_call(other),
    }
}

fn is_named(expression: &Expr, name: &str) -> bool {
    matches!(expression, Expr::Ident(ident) if *ident.sym == *name)
}

struct Walk {
    facts: Facts,
    functions: usize,
    /// Declared functions that are being walked.
    inside: Vec<String>,
    /// Names of variables and parameters.
    declared: BTreeSet<String>,
}

impl Walk {
    fn nested<N: VisitWith<Self>>(&mut self, node: &N) {
        self.functions += 1;
        node.visit_children_with(self);
        self.functions -= 1;
    }

    fn import(&mut self, offset: usize, specifier: Option<String>, meta: bool) {
        self.facts.dynamic_import.get_or_insert(Dynamic { offset, specifier, meta });
    }
}

impl Visit for Walk {
    fn visit_return_stmt(&mut self, node: &ReturnStmt) {
        self.facts.returns |= self.functions == 0;
        node.visit_children_with(self);
    }

    fn visit_function(&mut self, node: &Function) {
        self.nested(node);
    }

    fn visit_arrow_expr(&mut self, node: &ArrowExpr) {
        self.nested(node);
    }

    fn visit_constructor(&mut self, node: &Constructor) {
        self.nested(node);
    }

    fn visit_getter_prop(&mut self, node: &GetterProp) {
        self.nested(node);
    }

    fn visit_setter_prop(&mut self, node: &SetterProp) {
        self.nested(node);
    }

    fn visit_static_block(&mut self, node: &StaticBlock) {
        self.nested(node);
    }

    fn visit_fn_decl(&mut self, node: &FnDecl) {
        self.inside.push(node.ident.sym.to_string());
        node.function.visit_with(self);
        self.inside.pop();
    }

    /// A declaration; its type is not walked.
    fn visit_binding_ident(&mut self, node: &BindingIdent) {
        self.declared.insert(node.id.sym.to_string());
    }

    fn visit_ident(&mut self, node: &Ident) {
        if !self.facts.used.contains(&*node.sym) && !self.inside.iter().any(|name| *name == *node.sym) {
            self.facts.used.insert(node.sym.to_string());
        }
    }

    fn visit_callee(&mut self, node: &Callee) {
        if let Callee::Import(import) = node {
            self.import(offset(import.span.lo), None, false);
        }
        node.visit_children_with(self);
    }

    fn visit_call_expr(&mut self, node: &swc_ecma_ast::CallExpr) {
        if let Callee::Import(import) = &node.callee {
            let specifier = node.args.first().and_then(|argument| match &*argument.expr {
                Expr::Lit(swc_ecma_ast::Lit::Str(text)) => Some(text.value.to_string_lossy().into_owned()),
                _ => None,
            });
            self.import(offset(import.span.lo), specifier, false);
        }
        if let Callee::Expr(callee) = &node.callee
            && is_tool(callee)
            && node.args.iter().all(|argument| assigned_name(&argument.expr).is_some())
            && let Some(first) = node.args.first()
            && let Some(name) = assigned_name(&first.expr)
        {
            self.facts.keyword.get_or_insert_with(|| (offset(first.expr.span_lo()), name.to_owned()));
        }
        node.visit_children_with(self);
    }

    fn visit_meta_prop_expr(&mut self, node: &MetaPropExpr) {
        if matches!(node.kind, MetaPropKind::ImportMeta) {
            self.import(offset(node.span.lo), None, true);
        }
    }

    fn visit_await_expr(&mut self, node: &AwaitExpr) {
        if !is_tool_call(&node.arg) && self.facts.waits.len() < MAX_WAITS {
            let bare = matches!(&*node.arg, Expr::New(made) if is_named(&made.callee, "Promise"));
            self.facts.waits.push(Wait { offset: offset(node.span.lo), bare });
        }
        node.visit_children_with(self);
    }

    fn visit_simple_assign_target(&mut self, node: &SimpleAssignTarget) {
        let typed = match node {
            // Neither a declaration nor a use.
            SimpleAssignTarget::Ident(_) => return,
            SimpleAssignTarget::TsAs(inner) => Some(&inner.expr),
            SimpleAssignTarget::TsNonNull(inner) => Some(&inner.expr),
            SimpleAssignTarget::TsTypeAssertion(inner) => Some(&inner.expr),
            SimpleAssignTarget::TsInstantiation(inner) => Some(&inner.expr),
            SimpleAssignTarget::TsSatisfies(inner) => Some(&inner.expr),
            _ => None,
        };
        // The emission of types panics over others.
        let good =
            |expression: &Expr| matches!(expression, Expr::Ident(_) | Expr::Member(_) | Expr::SuperProp(_));
        if let Some(expression) = typed.filter(|expression| !good(bare(expression))) {
            self.facts.bad_target.get_or_insert(offset(expression.span_lo()));
        }
        node.visit_children_with(self);
    }

    fn visit_bin_expr(&mut self, node: &BinExpr) {
        if node.op != BinaryOp::In || !matches!(*node.left, Expr::PrivateName(_)) {
            node.left.visit_with(self);
        }
        node.right.visit_with(self);
    }

    /// Members have their private names elsewhere.
    fn visit_expr(&mut self, node: &Expr) {
        if let Expr::PrivateName(name) = node {
            self.facts.stray_hash.get_or_insert(offset(name.span.lo));
        }
        node.visit_children_with(self);
    }

    fn visit_decorator(&mut self, node: &Decorator) {
        self.facts.needs_emit = true;
        node.visit_children_with(self);
    }

    fn visit_auto_accessor(&mut self, node: &AutoAccessor) {
        self.facts.needs_emit = true;
        node.visit_children_with(self);
    }

    fn visit_tagged_tpl(&mut self, node: &TaggedTpl) {
        self.facts.fence |= node.tag.is_tpl()
            || (is_empty_template_call(&node.tag)
                && node.tpl.quasis.first().is_some_and(|part| part.raw.contains('\n')));
        node.visit_children_with(self);
    }

    fn visit_jsx_element(&mut self, node: &JSXElement) {
        self.facts.jsx.get_or_insert(offset(node.span_lo()));
    }

    fn visit_jsx_fragment(&mut self, node: &JSXFragment) {
        self.facts.jsx.get_or_insert(offset(node.span_lo()));
    }

    /// Only types: erased with everything in it.
    fn visit_ts_import_type(&mut self, _: &TsImportType) {}
}
