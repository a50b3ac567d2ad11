//! The file functions as tools: `read`, `list`, `glob`, `grep`, and where it is allowed `write` and `edit`.
//!
//! Owns the definitions (B-1 to B-4): descriptions, scheduling, tags, and the way from a call to a function of
//! [`super`] and back. It uses the public definition API alone and must never open a file itself.
//! [`render`] words what a model reads, [`cards`] what people see, [`failure`] the errors; [`blocking`] finds
//! the functions a thread.

mod blocking;
mod cards;
mod failure;
mod render;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::edit::{EditArgs, EditOutput, edit};
use super::error::FileError;
use super::glob::{GlobArgs, GlobOutput, glob};
use super::grep::{GrepArgs, GrepOutput, grep};
use super::limits::FileLimits;
use super::list::{ListArgs, ListOutput, list};
use super::read::{ReadArgs, ReadOutput, read};
use super::root::Root;
use super::write::{WriteArgs, WriteOutput, write};
use crate::tool::{Concurrency, DefinitionError, Tool, ToolBuilder, ToolContext, ToolError, tool};

use blocking::off_thread;
use failure::tool_error;

/// Most bytes of text, before and after together, that a diff card holds. Larger changes are told, not shown.
const MAX_DIFF_BYTES: usize = 128 * 1024;

/// What a host decides about the file tools. The default reads only.
#[derive(Clone, Debug, Default)]
pub struct FileToolOptions {
    /// Whether there are `write` and `edit`.
    pub allow_write: bool,
    /// Bounds of every call.
    pub limits: FileLimits,
}

/// The file tools over a root (B-1): `read`, `list`, `glob`, `grep`; and with `allow_write` also `write`, `edit`.
///
/// The first four may run beside each other, may be repeated, and are tagged `fs` and `read`. The other two run
/// alone and are tagged `fs` and `write`. A failed call has `details` with a `kind`, for example `not_found`.
///
/// ```
/// use isolane::builtin::files::{FileToolOptions, Root, file_tools};
///
/// let root = Root::open(std::path::Path::new("."))?;
/// let tools = file_tools(root, FileToolOptions::default())?;
/// let names: Vec<_> = tools.iter().map(|tool| tool.definition().name().as_str()).collect();
/// assert_eq!(names, ["read", "list", "glob", "grep"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`DefinitionError`] when a schema does not compile, which no argument of this function can bring about.
pub fn file_tools(root: Root, options: FileToolOptions) -> Result<Vec<Tool>, DefinitionError> {
    let files = Arc::new(Files { root, limits: options.limits });
    let mut tools = vec![read_tool(&files)?, list_tool(&files)?, glob_tool(&files)?, grep_tool(&files)?];
    if options.allow_write {
        tools.push(write_tool(&files)?);
        tools.push(edit_tool(&files)?);
    }
    Ok(tools)
}

/// What the bodies work on.
#[derive(Debug)]
struct Files {
    root: Root,
    limits: FileLimits,
}

/// One of the file functions.
type Work<Args, Output> = fn(&Files, &Args, &ToolContext) -> Result<Output, FileError>;

async fn run<Args, Output>(
    files: Arc<Files>,
    args: Args,
    context: ToolContext,
    work: Work<Args, Output>,
) -> Result<Output, ToolError>
where
    Args: Send + 'static,
    Output: Send + 'static,
{
    off_thread(move || work(&files, &args, &context)).await?.map_err(|error| tool_error(&error))
}

/// Reads a value of this tool, or arguments of it, in the type that it was made from.
fn typed<'a, T: Deserialize<'a>>(value: &'a Value) -> Result<T, String> {
    T::deserialize(value).map_err(|error| error.to_string())
}

fn reading(builder: ToolBuilder) -> ToolBuilder {
    builder.tag("fs").tag("read").concurrency(Concurrency::Parallel).idempotent()
}

fn writing(builder: ToolBuilder) -> ToolBuilder {
    builder.tag("fs").tag("write").concurrency(Concurrency::Exclusive)
}

fn read_tool(files: &Arc<Files>) -> Result<Tool, DefinitionError> {
    let files = Arc::clone(files);
    let description = "Reads a UTF-8 text file by lines. For a part of it give `offset` and `limit`.";
    tool::<ReadArgs, ReadOutput>("read", description)
        .with(reading)
        .with(|builder| {
            builder
                .render(render::read)
                .presentation_meta(cards::read_meta)
                .present_call(cards::read_call)
                .present_result(cards::read_result)
        })
        .handler(move |args, context| {
            run(Arc::clone(&files), args, context, |files, args, _| read(&files.root, args, &files.limits))
        })
}

fn list_tool(files: &Arc<Files>) -> Result<Tool, DefinitionError> {
    let files = Arc::clone(files);
    let description =
        "Lists a directory, sorted by path. Hidden and ignored names are left out unless asked for.";
    tool::<ListArgs, ListOutput>("list", description)
        .with(reading)
        .with(|builder| {
            builder.render(render::list).present_call(cards::list_call).present_result(cards::list_result)
        })
        .handler(move |args, context| {
            run(Arc::clone(&files), args, context, |files, args, context| {
                list(&files.root, args, &files.limits, &|| context.cancel.is_cancelled())
            })
        })
}

fn glob_tool(files: &Arc<Files>) -> Result<Tool, DefinitionError> {
    let files = Arc::clone(files);
    let description =
        "Finds files by their path, sorted. Hidden and ignored names are left out unless asked for.";
    tool::<GlobArgs, GlobOutput>("glob", description)
        .with(reading)
        .with(|builder| {
            builder.render(render::glob).present_call(cards::glob_call).present_result(cards::glob_result)
        })
        .handler(move |args, context| {
            run(Arc::clone(&files), args, context, |files, args, context| {
                glob(&files.root, args, &files.limits, &|| context.cancel.is_cancelled())
            })
        })
}

fn grep_tool(files: &Arc<Files>) -> Result<Tool, DefinitionError> {
    let files = Arc::clone(files);
    let description = "Finds lines of text files that match a regular expression, sorted by path and line. \
        Binary files are skipped; hidden and ignored ones too, unless asked for.";
    tool::<GrepArgs, GrepOutput>("grep", description)
        .with(reading)
        .with(|builder| {
            builder.render(render::grep).present_call(cards::grep_call).present_result(cards::grep_result)
        })
        .handler(move |args, context| {
            run(Arc::clone(&files), args, context, |files, args, context| {
                grep(&files.root, args, &files.limits, &|| context.cancel.is_cancelled())
            })
        })
}

/// What `write` did.
// A diff card needs the text that was replaced, and `presentation_meta` sees nothing but arguments and value.
// So the text travels in the value, but only where a card is drawn from it: in a top-level call, whose value no
// program gets (T-11, T-12). In a program the member is always absent, so the schema does not declare it: what
// a program is told is what it gets, and leave to write is no way to read.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct WriteValue {
    #[serde(flatten)]
    output: WriteOutput,
    /// Absent also when there was no file, and when it was no text or is too large for a card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    replaced: Option<String>,
}

fn write_value(files: &Files, args: &WriteArgs, context: &ToolContext) -> Result<WriteValue, FileError> {
    let (output, diff) = write(&files.root, args, &files.limits)?;
    let room = MAX_DIFF_BYTES.saturating_sub(args.content.len());
    let replaced = diff.old.filter(|old| context.parent.is_none() && old.len() <= room);
    Ok(WriteValue { output, replaced })
}

fn write_tool(files: &Arc<Files>) -> Result<Tool, DefinitionError> {
    let files = Arc::clone(files);
    let description = "Writes a whole file: makes it, or replaces what it held. To change a part use `edit`.";
    tool::<WriteArgs, WriteValue>("write", description)
        .with(writing)
        .with(|builder| {
            builder
                .render(render::write)
                .presentation_meta(cards::write_meta)
                .present_call(cards::write_call)
                .present_result(cards::write_result)
        })
        .handler(move |args, context| run(Arc::clone(&files), args, context, write_value))
}

fn edit_tool(files: &Arc<Files>) -> Result<Tool, DefinitionError> {
    let files = Arc::clone(files);
    let description = "Replaces exact text in a file; `read` it first.";
    tool::<EditArgs, EditOutput>("edit", description)
        .with(writing)
        .with(|builder| {
            builder
                .render(render::edit)
                .presentation_meta(cards::edit_meta)
                .present_call(cards::edit_call)
                .present_result(cards::edit_result)
        })
        .handler(move |args, context| {
            run(Arc::clone(&files), args, context, |files, args, _| {
                // The card is drawn from the arguments: what was replaced and by what, not two whole files.
                edit(&files.root, args, &files.limits).map(|(output, _)| output)
            })
        })
}
