//! Functions of a program, and how to call them.
//!
//! Owns finding a function behind a name or an expression, and the arguments that it is called with when
//! it is the program. It must never call a generator or a class. `shape` decides what is called.

use swc_ecma_ast::{Decl, Expr, Function, Module, ModuleDecl, ModuleItem, ObjectPatProp, Param, Pat, Stmt};

/// The expression without parentheses and types.
pub(super) fn bare(mut expression: &Expr) -> &Expr {
    loop {
        expression = match expression {
            Expr::Paren(inner) => &inner.expr,
            Expr::TsAs(inner) => &inner.expr,
            Expr::TsSatisfies(inner) => &inner.expr,
            Expr::TsNonNull(inner) => &inner.expr,
            Expr::TsConstAssertion(inner) => &inner.expr,
            Expr::TsTypeAssertion(inner) => &inner.expr,
            Expr::TsInstantiation(inner) => &inner.expr,
            other => return other,
        };
    }
}

fn declaration(item: &ModuleItem) -> Option<&Decl> {
    match item {
        ModuleItem::Stmt(Stmt::Decl(declaration)) => Some(declaration),
        ModuleItem::ModuleDecl(ModuleDecl::ExportDecl(export)) => Some(&export.decl),
        _ => None,
    }
}

/// Whether an item is the declaration of a function, which does nothing by itself.
pub(super) fn is_function(item: &ModuleItem) -> bool {
    matches!(declaration(item), Some(Decl::Fn(_)))
}

/// The name of a function that an item declares, and how to call it.
pub(super) fn declared_function(item: &ModuleItem) -> Option<(String, Call)> {
    match declaration(item)? {
        Decl::Fn(function) => Some((function.ident.sym.to_string(), call_of(&function.function)?)),
        Decl::Var(variable) => {
            let [only] = variable.decls.as_slice() else { return None };
            let Pat::Ident(name) = &only.name else { return None };
            Some((name.id.sym.to_string(), call_of_expression(bare(only.init.as_deref()?))?))
        }
        _ => None,
    }
}

pub(super) fn call_of_name(module: &Module, name: &str) -> Option<Call> {
    module
        .body
        .iter()
        .filter_map(declared_function)
        .find(|(declared, _)| declared == name)
        .map(|(_, call)| call)
}

/// How to call a function of the program.
pub(super) struct Call {
    /// With the parentheses.
    pub(super) arguments: String,
    /// Whether every parameter gets an argument.
    pub(super) complete: bool,
}

pub(super) fn text_of(call: Option<Call>) -> String {
    call.map(|call| call.arguments).unwrap_or_default()
}

/// The argument list that calls a function or arrow; `None` for anything else, and for generators.
pub(super) fn call_of_expression(expression: &Expr) -> Option<Call> {
    match expression {
        Expr::Arrow(arrow) => Some(arguments(arrow.params.iter())),
        Expr::Fn(function) => call_of(&function.function),
        _ => None,
    }
}

pub(super) fn call_of(function: &Function) -> Option<Call> {
    let Function { is_generator: false, body: Some(_), params, .. } = function else { return None };
    Some(arguments(params.iter().map(|Param { pat, .. }| pat)))
}

/// Programs that expect their globals as parameters get them: `async ({tools}) => ...`.
fn arguments<'a>(parameters: impl Iterator<Item = &'a Pat> + Clone) -> Call {
    const GIVEN: [&str; 4] = ["tools", "console", "state", "print"];
    let argument = |pattern: &Pat| match pattern {
        Pat::Ident(name) => {
            GIVEN.iter().find(|given| name.id.sym == ***given).map(|given| (*given).to_owned())
        }
        Pat::Object(object) => {
            let keys: Option<Vec<&str>> =
                object.props.iter().map(|property| given_key(property, &GIVEN)).collect();
            keys.filter(|keys| !keys.is_empty()).map(|keys| format!("{{{}}}", keys.join(",")))
        }
        _ => None,
    };
    let given: Vec<String> = parameters.clone().map_while(argument).collect();
    Call { complete: given.len() == parameters.count(), arguments: format!("({})", given.join(",")) }
}

fn given_key(property: &ObjectPatProp, given: &'static [&'static str]) -> Option<&'static str> {
    let key = match property {
        ObjectPatProp::Assign(assign) => assign.key.id.sym.as_str(),
        ObjectPatProp::KeyValue(pair) => pair.key.as_ident()?.sym.as_str(),
        ObjectPatProp::Rest(_) => return None,
    };
    given.iter().find(|name| **name == key).copied()
}
