//! Renders tools as Python: classes of arguments and results, and one class whose methods are the tools.
//!
//! Owns the shape of a tool's entry. The text is a module that compiles, can be imported, and passes strict checkers;
//! nothing here may depend on more than the tools themselves. Types are `printer`'s, foreign text goes through
//! `words`, and what all languages share is `prepare`'s. SDK-7.

mod class;
mod imports;
mod places;
mod printer;
mod text;
mod words;

use std::collections::HashSet;

use crate::schema::ir::{Type, TypeId, TypeIr};

use super::prepare::{Entry, Place, Prepared, Renderer, fill, pieces, prepare};
use super::{SdkOptions, SdkTool};
use imports::used_names;
use printer::print;
use text::Text;
use words::{TYPING, doc_lines, docstring, is_member_name, python_string};

const FRAME: &str = include_str!("../../sdk-templates/python.txt");

/// The type of a tool behind a subscript that may be called without arguments: no `Callable` says that.
const OPTIONAL_CALL: &str = include_str!("../../sdk-templates/python-optional-call.txt");

const INDENT: &str = "        ";

pub(super) static PYTHON: Renderer = Renderer { entry: render_entry, assemble };

fn assemble(entries: &[&Entry]) -> String {
    let types = pieces(entries, |entry| Some(&entry.types));
    let subscripts = pieces(entries, |entry| match &entry.place {
        Place::Subscript(text) => Some(text),
        _ => None,
    });
    let methods = pieces(entries, |entry| match &entry.place {
        Place::Method(text) => Some(text),
        _ => None,
    });
    // A single one is no overload.
    let overload = if subscripts.len() > 1 { "\n    @overload\n" } else { "\n" };
    let methods: Vec<&str> = methods
        .into_iter()
        .flat_map(|method| ["\n", method])
        .chain(subscripts.into_iter().flat_map(|subscript| [overload, subscript]))
        .collect();
    let mut text = [FRAME, &types.concat(), &methods.concat()].join("\n");
    let helpers = if used_names(&["OptionalCall"], &text).is_empty() { "" } else { OPTIONAL_CALL };
    text.push_str(helpers);
    let imports = used_names(TYPING, &text).into_iter().collect::<Vec<_>>().join(", ");
    fill(
        FRAME,
        &[
            ("{{imports}}", vec![&imports]),
            ("{{types}}", types),
            ("{{helpers}}", vec![helpers]),
            ("{{methods}}", methods),
        ],
    )
}

fn render_entry(tool: &SdkTool<'_>, prefix: &str, options: &SdkOptions) -> Entry {
    let prepared = prepare(tool, prefix, options, print);
    let optional = accepts_empty(&prepared.parameters);
    let doc = docstring(&doc_of(&prepared), INDENT);
    let (args, result) = (prepared.args.annotation(), prepared.result.annotation());
    let body = if doc.is_empty() { " ...\n".to_owned() } else { format!("\n{doc}{INDENT}...\n") };
    let place = if is_member_name(tool.name) {
        let default = if optional { " = ..." } else { "" };
        let name = tool.name;
        Place::Method(format!("    async def {name}(self, args: {args}{default}) -> {result}:{body}"))
    } else {
        let name = python_string(tool.name);
        let call = if optional {
            format!("OptionalCall[{args}, {result}]")
        } else {
            format!("Callable[[{args}], Awaitable[{result}]]")
        };
        Place::Subscript(format!("    def __getitem__(self, name: Literal[{name}]) -> {call}:{body}"))
    };
    Entry { types: prepared.types, place }
}

/// The lines of a tool's docstring.
fn doc_of(prepared: &Prepared<Text>) -> Vec<String> {
    let mut lines = doc_lines(&prepared.about);
    lines.extend_from_slice(&prepared.args.notes);
    let mut returned = doc_lines(&prepared.returned);
    returned.extend_from_slice(&prepared.result.notes);
    if let Some(first) = returned.first_mut() {
        *first = format!("Returns: {first}");
        if !lines.is_empty() {
            lines.push(String::new());
        }
    }
    lines.append(&mut returned);
    lines
}

/// Whether the tool can do without arguments.
fn accepts_empty(ir: &TypeIr) -> bool {
    let optional = |id: TypeId| match ir.get(id) {
        Type::Json => true,
        Type::Object(object) => object.members.iter().all(|member| !member.required),
        _ => false,
    };
    let mut seen: HashSet<TypeId> = HashSet::new();
    let mut work = vec![ir.root];
    while let Some(id) = work.pop() {
        match ir.get(id) {
            _ if optional(id) => return true,
            _ if !seen.insert(id) => {}
            Type::Union(variants) => work.extend(variants.iter().map(|variant| variant.ty)),
            // What the branches share comes first: if that asks for a member, all of them do.
            Type::Intersection(parts) => match parts.split_first() {
                Some((shared, branches)) if optional(*shared) => work.extend(branches),
                _ => {}
            },
            Type::Named(definition) => {
                work.extend(ir.definition(*definition).map(|definition| definition.body));
            }
            _ => {}
        }
    }
    false
}
