//! What can be asked for.
//!
//! Owns the commands, their options and their help. It never does anything but describe; [`super::values`] reads
//! single values.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

use super::values::{at_least_one, bytes, count, duration, heap};

/// Runs model-written TypeScript programs that call tools as typed functions.
#[derive(Debug, Parser)]
#[command(name = "isolane", version, long_version = long_version(), after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  isolane run -e 'return 1 + 1'
  isolane run program.ts --root ~/project
  isolane check program.ts
  isolane sdk
  isolane call grep '{\"pattern\": \"TODO\"}'
  isolane resume events.jsonl";

const LONG_EXAMPLES: &str = "\
Examples:
  isolane run -e 'return 1 + 1'
  isolane run program.ts --root ~/project
  isolane check program.ts
  isolane sdk
  isolane call grep '{\"pattern\": \"TODO\"}'
  isolane resume events.jsonl

Exit codes:
  0  all went well
  1  the program or the call failed, or a program did otherwise than when it was recorded
  2  the command could not be carried out: usage, configuration, files, or output that could not be written
  128 + n  signal n ended the program or the call, as 130 for Ctrl-C; the events are written all the same;
           141 when the reader of the output went away before the program had ended

Environment:
  ISOLANE_LOG  what to log to standard error, for example `debug` or `isolane=trace`";

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    // What each is for stands at its arguments: a comment here would replace the long form there.
    Run(RunArgs),
    Replay(ReplayArgs),
    Resume(ResumeArgs),
    Check(CheckArgs),
    Sdk(SdkArgs),
    Tools(ToolsArgs),
    Call(CallArgs),
    Doctor(DoctorArgs),
    Completions(CompletionsArgs),
}

impl Command {
    /// Whether standard output is one JSON value, for a program to read.
    pub(super) fn prints_json(&self) -> bool {
        match self {
            Self::Run(args) => args.json,
            Self::Replay(args) => args.json,
            Self::Resume(args) => args.json,
            Self::Check(args) => args.json,
            Self::Sdk(args) => args.json,
            Self::Tools(args) => args.json,
            Self::Call(args) => args.json,
            Self::Doctor(args) => args.json,
            Self::Completions(_) => false,
        }
    }
}

/// Which tools there are.
#[derive(Debug, Args)]
#[command(next_help_heading = "Tools")]
pub(super) struct DeploymentArgs {
    /// Directory that the file tools see; paths are relative to it, and nothing outside of it can be reached.
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(super) root: PathBuf,
    /// Add the tools that change files, `write` and `edit`.
    #[arg(long)]
    pub(super) allow_write: bool,
}

/// Where a program comes from.
#[derive(Debug, Args)]
pub(super) struct ProgramArgs {
    /// File with the program, or `-` for standard input. Default: standard input, unless it is a terminal.
    #[arg(value_name = "PROGRAM", conflicts_with = "code", value_hint = ValueHint::FilePath)]
    pub(super) program: Option<PathBuf>,
    /// The program itself.
    #[arg(short = 'e', long = "eval", value_name = "CODE", allow_hyphen_values = true)]
    pub(super) code: Option<String>,
}

/// What one run may use. Absent: the library's defaults.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(super) struct LimitArgs {
    /// Longest time from start to end, as `30s`, `500ms` or `1m30s` [default: 5m].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) timeout: Option<Duration>,
    /// Longest time executing JavaScript; waiting for tools does not count [default: 10s].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) busy_timeout: Option<Duration>,
    /// Most tool calls that run at the same time; 1 is strictly serial [default: 10].
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(super) max_parallel: Option<NonZeroUsize>,
    /// Most tool calls [default: 10000].
    #[arg(long, value_name = "N", value_parser = count)]
    pub(super) max_calls: Option<u64>,
    /// Most bytes that the program may print and return together, as `65536` or `64KiB` [default: 1MiB].
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(super) max_output: Option<usize>,
    /// Heap of the program, in MiB [default: 128].
    #[arg(long, value_name = "N", value_parser = heap)]
    pub(super) heap_mib: Option<usize>,
}

/// Run a program.
///
/// The program calls the tools as `await tools.NAME({...})`; `isolane sdk` prints their types. What it prints comes
/// at once, then the value that it returns: text as it is, anything else as JSON. Notes and failures go to standard
/// error. Control characters are shown as escapes, such as `\u{1b}`; `--json` keeps them.
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub(super) source: ProgramArgs,
    /// Print one JSON object, `{ok, logs, result, error, stats}`, and nothing else; remarks are in `stats.notes`.
    #[arg(long)]
    pub(super) json: bool,
    /// Append what happens to this file, one JSON event a line, or to an SQLite database if its name ends in .sqlite,
    /// .sqlite3 or .db; it is made if it is not there. What the tools gave is in it, so that `isolane replay` can run the
    /// program again and `isolane resume` can go on with it.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) events: Option<PathBuf>,
    /// Check the types of the program before it runs: `warn` says what it found, `enforce` runs no program with an error.
    #[arg(long, value_enum, value_name = "MODE", default_value_t)]
    pub(super) check: Check,
    #[command(flatten)]
    pub(super) runtime: RuntimeArgs,
    #[command(flatten)]
    pub(super) deployment: DeploymentArgs,
    #[command(flatten)]
    pub(super) limits: LimitArgs,
}

/// What a program runs in.
#[derive(Debug, Args)]
pub(super) struct RuntimeArgs {
    /// Where the program runs.
    #[arg(long, value_enum, value_name = "WHERE", default_value_t)]
    pub(super) isolation: Isolation,
    /// Run nothing unless every layer of the sandbox is on; `isolane doctor` shows them.
    #[arg(long)]
    pub(super) require_sandbox: bool,
    /// Have V8 make no machine code of the program: slower by far, and safer.
    #[arg(long)]
    pub(super) jitless: bool,
}

/// Where a program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Isolation {
    /// In a process of its own, without files, network or environment.
    #[default]
    Process,
    /// In this process: a program that breaks V8 breaks it, too.
    InProcess,
}

/// What a type error of a program means for its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Check {
    /// Nothing is checked.
    #[default]
    Off,
    /// The program runs, with a note for each finding.
    Warn,
    /// A program with an error does not run.
    Enforce,
}

const RUN_EXAMPLES: &str = "\
Examples:
  isolane run -e 'return 1 + 1'
  isolane run program.ts --root ~/project
  isolane run - < program.ts
  isolane run program.ts --json | jq .result
  isolane run program.ts --events events.jsonl --max-parallel 4
  isolane run rename.ts --allow-write --check enforce";

/// Which of the runs in a file of events.
#[derive(Debug, Args)]
pub(super) struct RecordedArgs {
    /// File that `isolane run --events` has written.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) file: PathBuf,
    /// The run, by its session, its call, or both as SESSION/CALL [default: the last one of the file].
    #[arg(long, value_name = "ID")]
    pub(super) run: Option<String>,
}

/// Run a recorded program again, with the outcomes of its tool calls taken from the record.
///
/// No tool is touched and nothing is recorded. The program has the same clock and the same random numbers as then, and must
/// print and return the same; if it does not, the first difference is named and the exit code is 1. Of a run that was
/// interrupted, what there is of it is run.
#[derive(Debug, Args)]
#[command(after_help = REPLAY_EXAMPLES)]
pub(super) struct ReplayArgs {
    #[command(flatten)]
    pub(super) recorded: RecordedArgs,
    /// Print one JSON object, `{ok, logs, result, error, stats, replay}`, and nothing else; `replay` is
    /// `{session, run, whole, divergence}`.
    #[arg(long)]
    pub(super) json: bool,
    /// Show the program the tools that change files, as it was then; none is touched. Where the program called one, it
    /// is shown them anyway.
    #[arg(long)]
    pub(super) allow_write: bool,
    #[command(flatten)]
    pub(super) runtime: RuntimeArgs,
    #[command(flatten)]
    pub(super) limits: LimitArgs,
}

const REPLAY_EXAMPLES: &str = "\
Examples:
  isolane run program.ts --events events.jsonl
  isolane replay events.jsonl
  isolane replay events.jsonl --run cli-1767225600000-4711
  isolane replay events.sqlite --json | jq .replay.divergence";

/// Go on with a run that was interrupted, as by a crash.
///
/// The program runs again, with the outcomes of its tool calls taken from the record as far as they are known; from there
/// it goes on, and what happens is appended to the file. Lines that it printed before are printed again. A call that had
/// started, and of whose end nothing is known, may have had its effects: it is made again only if its tool says that this
/// does no harm, and otherwise the command stops before anything happens, and asks. Give it the tools, the folder and the limits that the
/// run had.
#[derive(Debug, Args)]
#[command(after_help = RESUME_EXAMPLES)]
pub(super) struct ResumeArgs {
    #[command(flatten)]
    pub(super) recorded: RecordedArgs,
    /// What becomes of calls that had started and of whose end nothing is known.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    pub(super) unsettled: Unsettled,
    /// Print one JSON object, `{ok, logs, result, error, stats, replay}`, and nothing else; `replay` is
    /// `{session, run, whole, divergence}`.
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) runtime: RuntimeArgs,
    #[command(flatten)]
    pub(super) deployment: DeploymentArgs,
    #[command(flatten)]
    pub(super) limits: LimitArgs,
}

/// What becomes of a call of whose end nothing is known (L-10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Unsettled {
    /// It is made again if its tool can be called twice without harm; or else the command stops and asks.
    #[default]
    Ask,
    /// It is made again. Its effects may happen twice.
    Retry,
    /// It fails, and the program goes on from there.
    Fail,
}

const RESUME_EXAMPLES: &str = "\
Examples:
  isolane resume events.jsonl
  isolane resume events.jsonl --root ~/project --allow-write
  isolane resume events.jsonl --unsettled fail
  isolane resume events.jsonl --run cli-1767225600000-4711 --json | jq .result";

/// Check the types of a program against the tools, without running it.
///
/// The TypeScript compiler reads the program beside the SDK of the tools. What it finds goes to standard output with the
/// line and a caret. An error is what cannot be right: a wrong call of a tool, a name that does not exist, a missing
/// `await`, what the program's own types rule out. What can be right is a warning, such as a value that may be absent;
/// what is merely not annotated is let pass. Exit code 1 when there is an error; warnings alone are 0.
#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    pub(super) source: ProgramArgs,
    /// Print one JSON object, `{ok, diagnostics, found, errors}`, and nothing else; `error` is there too when there is no
    /// answer, whatever the exit code. Each diagnostic has `code`, `severity`, `message`, `hints`, `line`, `column`, `end_line`,
    /// `end_column` and `frame`.
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) deployment: DeploymentArgs,
}

const CHECK_EXAMPLES: &str = "\
Examples:
  isolane check program.ts
  isolane check -e 'return (await tools.lst({})).entries'
  isolane check - --json < program.ts | jq .diagnostics";

/// Print the SDK that programs are written against.
#[derive(Debug, Args)]
#[command(after_help = SDK_EXAMPLES)]
pub(super) struct SdkArgs {
    /// Language of the SDK.
    #[arg(long, value_enum, default_value_t)]
    pub(super) lang: Language,
    /// Say on standard error how large it is, in bytes and in tokens of the tokenizer `o200k_base`, next to the native
    /// schemas of the same tools: the JSON list of `{name, description, parameters}` that a provider would get, without
    /// white space and without what a provider wraps around it.
    #[arg(long)]
    pub(super) stats: bool,
    /// Print one JSON object, `{lang, text, names, stats}`, and nothing else. `stats` is
    /// `{tools, bytes, tokens, native: {bytes, tokens}, tokenizer}`.
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) deployment: DeploymentArgs,
}

const SDK_EXAMPLES: &str = "\
Examples:
  isolane sdk > isolane.d.ts
  isolane sdk --lang python > isolane_sdk.py
  isolane sdk --allow-write --stats
  isolane sdk --json | jq .stats";

/// A language of programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Language {
    /// TypeScript.
    #[default]
    #[value(alias = "typescript")]
    Ts,
    /// Python.
    #[value(alias = "py")]
    Python,
}

/// List the tools: name, scheduling class, what it does.
#[derive(Debug, Args)]
#[command(after_help = TOOLS_EXAMPLES)]
pub(super) struct ToolsArgs {
    /// Print what a model is shown natively, as a JSON array: name, description, parameters.
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) deployment: DeploymentArgs,
}

const TOOLS_EXAMPLES: &str = "\
Examples:
  isolane tools
  isolane tools --allow-write
  isolane tools --json | jq '.[].name'";

/// Call one tool, as a model would without a program.
///
/// Prints what a model would read. A failure goes to standard error as `CODE: message`. Control characters are
/// shown as escapes, such as `\u{1b}`; `--json` keeps them.
#[derive(Debug, Args)]
#[command(after_help = CALL_EXAMPLES)]
pub(super) struct CallArgs {
    /// Name of the tool; `isolane tools` lists them.
    pub(super) tool: String,
    /// Arguments as a JSON object, or `-` for standard input.
    #[arg(value_name = "JSON", default_value = "{}")]
    pub(super) arguments: String,
    /// Print one JSON object, `{ok, value, content, error, notes}`, and nothing else.
    #[arg(long)]
    pub(super) json: bool,
    /// Append what happens to this file, one JSON event a line, or to an SQLite database if its name ends in .sqlite,
    /// .sqlite3 or .db; it is made if it is not there.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) events: Option<PathBuf>,
    #[command(flatten)]
    pub(super) deployment: DeploymentArgs,
}

const CALL_EXAMPLES: &str = "\
Examples:
  isolane call list
  isolane call read '{\"file_path\": \"README.md\", \"limit\": 20}'
  isolane call grep - --json < arguments.json";

/// Show what this machine lets isolane promise.
///
/// It runs a program in a child process, and shows each layer of that process's sandbox as on, off or unavailable, with
/// the reason. The exit code is 1 when no program runs there, or when a layer is not on.
#[derive(Debug, Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(super) struct DoctorArgs {
    /// Print one JSON object, `{ok, version, v8, process, in_process}`.
    #[arg(long)]
    pub(super) json: bool,
}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  isolane doctor
  isolane doctor --json";

/// Print the completions of a shell.
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(super) struct CompletionsArgs {
    /// The shell.
    pub(super) shell: Shell,
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  isolane completions bash > ~/.local/share/bash-completion/completions/isolane
  isolane completions fish > ~/.config/fish/completions/isolane.fish";

/// The version with that of V8, which says what programs can use.
fn long_version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| format!("{}\nV8 {}", env!("CARGO_PKG_VERSION"), isolane::engine::v8_version()))
}
