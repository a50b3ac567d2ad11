//! One attempt to read a text as a program.
//!
//! Owns the order of the stages (measure, parse, shape, edit, emit) on a stack that is large enough,
//! and the two kinds of text that parse only as an expression: an object, and a function without a
//! name. It must never let a panic of the parser out. `prepare` decides what to attempt and words the
//! errors.

use serde::{Deserialize, Serialize};
use swc_ecma_ast::{
    BinaryOp, Decl, Expr, Lit, MemberProp, Module, ModuleItem, Prop, PropName, PropOrSpread, Stmt, UnaryOp,
};

use super::contain::contained;
use super::depth::{Stop, measure};
use super::edits::{Edits, Undo};
use super::emit::{Map, emit};
use super::facts::{Facts, gather};
use super::hints::ToolHints;
use super::parse::{self, Fault};
use super::position::{Lines, Position};
use super::shape::{VALUE, plan};
use super::{refuse, stack};

/// A script and the way back to the text.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Built {
    pub(super) script: String,
    pub(super) map: Map,
    /// What the script was made from, types and all, with the statement that gives its value on a line of its own.
    pub(super) typed: String,
    /// How many lines of it are the author's.
    pub(super) typed_lines: usize,
    /// To be undone in this order.
    pub(super) undo: Vec<Undo>,
    pub(super) notes: Vec<String>,
    /// Where the program may wait for ever, the likeliest places first.
    pub(super) waits: Vec<Position>,
    /// Where the nesting is deepest.
    pub(super) deepest: Position,
}

/// Why a text is not a program, with places in the text.
#[derive(Debug)]
pub(super) enum Refusal {
    /// Refused before parsing.
    TooDeep(Position, String),
    /// It does not parse.
    Syntax(Position, String),
    /// It parses, and asks for a module.
    Import(Position, String),
    /// It parses by accident; the message says what it is.
    NotAProgram(String),
    /// It parses by accident: Markdown.
    Fence,
}

/// Reads a text as a program.
pub(super) fn attempt(text: &str, max_nesting: usize, hints: &ToolHints<'_>) -> Result<Built, Refusal> {
    let place = |offset| Lines::new(text).position(text, offset);
    let depth = measure(text, max_nesting).map_err(|stop| match stop {
        Stop::TooMuch { offset, what, limit } => Refusal::TooDeep(
            place(offset),
            format!("the program is too complex: more than {limit} {what}; split it into steps"),
        ),
        Stop::HtmlComment { offset } => Refusal::Syntax(
            place(offset),
            "HTML-like comments are not part of the language; write `//`, or put spaces between the operators".to_owned(),
        ),
    })?;
    let work = || contained(|| read(text, hints));
    match stack::with_room(depth, text.len(), work) {
        Some(Some(read)) => read.map(|built| Built { deepest: place(depth.chain_at), ..built }),
        Some(None) => Err(Refusal::Syntax(
            place(0),
            "the program cannot be parsed; look for a missing `,` or closing bracket".to_owned(),
        )),
        None => Err(Refusal::TooDeep(
            place(depth.unclear_at),
            format!(
                "a program of more than {} bytes must be clear here: put a regular expression in parentheses, \
                 write names without escapes",
                stack::MAX_UNCLEAR_BYTES
            ),
        )),
    }
}

fn read(text: &str, hints: &ToolHints<'_>) -> Result<Built, Refusal> {
    let start = first_token(text);
    let beginning = text.get(start..).unwrap_or_default();
    if beginning.starts_with('{')
        && let Some((named, module)) = parse_named(text, start)
        && let Some(object) = whole_object(&module)
    {
        if object.iter().all(
            |property| matches!(property, PropOrSpread::Prop(property) if is_constant_property(property)),
        ) {
            let given: Vec<&str> = object.iter().filter_map(key_of).collect();
            return Err(Refusal::NotAProgram(refuse::literal(None, &given, hints)));
        }
        if !object
            .iter()
            .all(|property| matches!(property, PropOrSpread::Prop(property) if property.is_shorthand()))
        {
            return finish(&named, &module, hints);
        }
    }
    match parse::parse(text) {
        Ok(module) => finish(&Source { text: text.to_owned(), undo: None }, &module, hints),
        Err(fault) => {
            if (beginning.starts_with("function") || beginning.starts_with("async"))
                && let Some((named, module)) = parse_named(text, start)
            {
                return finish(&named, &module, hints);
            }
            let fault = jsx(text).unwrap_or(fault);
            Err(Refusal::Syntax(Lines::new(text).position(text, fault.offset), fault.message))
        }
    }
}

/// A text to be read, and the way back when something was put in already.
struct Source {
    text: String,
    undo: Option<Undo>,
}

impl Source {
    fn position(&self, offset: usize) -> Position {
        self.place(&Lines::new(&self.text), offset)
    }

    fn positions(&self, offsets: impl Iterator<Item = usize>) -> Vec<Position> {
        let lines = Lines::new(&self.text);
        offsets.map(|offset| self.place(&lines, offset)).collect()
    }

    fn place(&self, lines: &Lines, offset: usize) -> Position {
        let position = lines.position(&self.text, offset);
        self.undo.as_ref().map_or(position, |undo| undo.position(position))
    }
}

/// Parses the text as the value of a constant.
fn parse_named(text: &str, start: usize) -> Option<(Source, Module)> {
    let mut edits = Edits::default();
    edits.insert(start, format!("const {VALUE}="));
    let (text, undo) = edits.apply(text);
    let module = parse::parse(&text).ok()?;
    Some((Source { text, undo: Some(undo) }, module))
}

fn finish(source: &Source, module: &Module, hints: &ToolHints<'_>) -> Result<Built, Refusal> {
    let facts = gather(module);
    accident(source, module, &facts, hints)?;
    if let Some(offset) = facts.bad_target {
        let message =
            "The left-hand side of an assignment expression must be a variable or a property access.";
        return Err(Refusal::Syntax(source.position(offset), message.to_owned()));
    }
    let shaped = plan(&source.text, module, &facts, source.undo.is_some(), hints);
    let shaped = shaped.map_err(|fault| Refusal::Import(source.position(fault.offset), fault.message))?;
    let (body, undo) = shaped.edits.apply(&source.text);
    let (script, map) = emit(&body, &shaped.value, facts.needs_emit).map_err(|fault: Fault| {
        let position = undo.position(Lines::new(&body).position(&body, fault.offset));
        let position = source.undo.as_ref().map_or(position, |undo| undo.position(position));
        Refusal::Syntax(position, fault.message)
    })?;
    let undo = std::iter::once(undo).chain(source.undo.clone()).collect();
    let mut waits = facts.waits.clone();
    waits.sort_by_key(|wait| !wait.bare);
    let waits = source.positions(waits.iter().map(|wait| wait.offset));
    let deepest = Position { line: 1, column: 1 };
    let typed_lines = Lines::new(&body).count();
    let typed = format!("{body}\n{}\n", shaped.value);
    let built = Built { script, map, typed, typed_lines, undo, notes: shaped.notes, waits, deepest };
    // What the TypeScript parser lets pass, such as decorators of nothing, must not reach V8.
    if let Err(fault) = parse::parse_javascript(&built.script) {
        let place = Lines::new(&built.script).position(&built.script, fault.offset);
        let position = built.locate(place).unwrap_or(Position { line: 1, column: 1 });
        return Err(Refusal::Syntax(position, fault.message));
    }
    Ok(built)
}

impl Built {
    /// Where a place of the script is in the text; the text may be shorter than that.
    pub(super) fn locate(&self, place: Position) -> Option<Position> {
        Some(self.before_edits(self.map.origin(place)?))
    }

    /// Where a place of the edited text is in the text.
    pub(super) fn before_edits(&self, place: Position) -> Position {
        self.undo.iter().fold(place, |position, undo| undo.position(position))
    }
}

/// The offset of the first character that is neither white space nor comment.
fn first_token(text: &str) -> usize {
    let mut at = 0;
    while let Some(rest) = text.get(at..) {
        let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        at += rest.len() - trimmed.len();
        let comment = if trimmed.starts_with("//") {
            trimmed.find(['\n', '\r', '\u{2028}', '\u{2029}']).unwrap_or(trimmed.len())
        } else if trimmed.starts_with("/*") {
            trimmed.find("*/").map_or(trimmed.len(), |end| end + 2)
        } else {
            return at;
        };
        at += comment;
    }
    at
}

/// The error of a program with JSX.
fn jsx(text: &str) -> Option<Fault> {
    if !text.contains("</") && !text.contains("/>") {
        return None;
    }
    let offset = gather(&parse::parse_jsx(text).ok()?).jsx?;
    Some(Fault {
        offset,
        message: "JSX is not available in a program; build strings or plain objects".to_owned(),
    })
}

/// The properties of an object that is the whole program.
fn whole_object(module: &Module) -> Option<&[PropOrSpread]> {
    let [ModuleItem::Stmt(Stmt::Decl(Decl::Var(variable)))] = module.body.as_slice() else { return None };
    let [only] = variable.decls.as_slice() else { return None };
    match only.init.as_deref()? {
        Expr::Object(object) => Some(&object.props),
        _ => None,
    }
}

fn key_of(property: &PropOrSpread) -> Option<&str> {
    let PropOrSpread::Prop(property) = property else { return None };
    match &property.as_key_value()?.key {
        PropName::Ident(name) => Some(&name.sym),
        PropName::Str(text) => text.value.as_str(),
        _ => None,
    }
}

fn is_constant_property(property: &Prop) -> bool {
    matches!(property, Prop::KeyValue(pair) if !pair.key.is_computed() && is_constant(&pair.value))
}

fn is_constant(expression: &Expr) -> bool {
    match expression {
        Expr::Lit(literal) => !matches!(literal, Lit::Regex(_)),
        Expr::Tpl(template) => template.exprs.is_empty(),
        Expr::Unary(unary) => unary.op == UnaryOp::Minus && is_constant(&unary.arg),
        Expr::Array(array) => {
            array.elems.iter().flatten().all(|item| item.spread.is_none() && is_constant(&item.expr))
        }
        Expr::Object(object) => object.props.iter().all(
            |property| matches!(property, PropOrSpread::Prop(property) if is_constant_property(property)),
        ),
        _ => false,
    }
}

/// Texts that parse and yet are no program.
fn accident(source: &Source, module: &Module, facts: &Facts, hints: &ToolHints<'_>) -> Result<(), Refusal> {
    if module.body.is_empty() {
        return Err(Refusal::NotAProgram(refuse::empty(hints)));
    }
    if facts.fence {
        return Err(Refusal::Fence);
    }
    if let Some(offset) = facts.stray_hash {
        let message = "`#` is neither a comment nor a heading here; a comment begins with `//`".to_owned();
        return Err(Refusal::Syntax(source.position(offset), message));
    }
    if let Some((offset, name)) = &facts.keyword {
        let message =
            format!("the arguments of a tool are one object: write `({{{name}: ...}})`, not `({name}=...)`");
        return Err(Refusal::Syntax(source.position(*offset), message));
    }
    if let [ModuleItem::Stmt(Stmt::Expr(only))] = module.body.as_slice()
        && quoted(&only.expr).is_some_and(|text| PROGRAM_WORDS.iter().any(|word| text.contains(word)))
    {
        let message =
            "the program is in quotes, so that it would only return its own text; pass it without them";
        return Err(Refusal::NotAProgram(message.to_owned()));
    }
    let commands = module.body.iter().all(|item| match item {
        ModuleItem::Stmt(Stmt::Expr(statement)) => command(&statement.expr)
            .is_some_and(|name| refuse::is_command(name) && !hints.names.contains(&name)),
        _ => false,
    });
    if commands { Err(Refusal::NotAProgram(refuse::shell(hints))) } else { Ok(()) }
}

/// What programs say, and texts hardly do.
const PROGRAM_WORDS: [&str; 4] = ["tools.", "return ", "await ", "console.log("];

/// The text of a literal that holds nothing else.
fn quoted(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Lit(Lit::Str(text)) => text.value.as_str(),
        Expr::Tpl(template) => match template.quasis.as_slice() {
            [only] => Some(&only.raw),
            _ => None,
        },
        _ => None,
    }
}

/// The first word of an expression that a command line can be by accident: `ls -la`, `ls | wc`.
fn command(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Ident(name) => Some(&name.sym),
        Expr::Bin(binary) => {
            let shell = matches!(
                binary.op,
                BinaryOp::Sub
                    | BinaryOp::Div
                    | BinaryOp::BitOr
                    | BinaryOp::Gt
                    | BinaryOp::Lt
                    | BinaryOp::LogicalAnd
                    | BinaryOp::LogicalOr
                    | BinaryOp::BitAnd
            );
            (shell && is_word(&binary.right)).then_some(())?;
            command(&binary.left)
        }
        _ => None,
    }
}

/// Whether an expression can be a word of a command line: `la`, `out.txt`, `5`, `-n`.
fn is_word(expression: &Expr) -> bool {
    match expression {
        Expr::Ident(_) | Expr::Lit(_) => true,
        Expr::Member(member) => matches!(member.prop, MemberProp::Ident(_)) && is_word(&member.obj),
        Expr::Unary(unary) => unary.op == UnaryOp::Minus && is_word(&unary.arg),
        Expr::Bin(_) => command(expression).is_some(),
        _ => false,
    }
}
