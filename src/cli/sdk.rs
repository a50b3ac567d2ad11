//! `isolane sdk` (I-4).
//!
//! Owns how the SDK and its size are printed. The text itself is the renderer's; it is printed byte for byte.

use serde::Serialize;

use isolane::host::SessionOptions;

use super::Ending;
use super::args::{Language, SdkArgs};
use super::deployment::Deployment;
use super::output::{complain, say};
use super::text::json_line;

#[derive(Serialize)]
struct Report<'a> {
    lang: &'static str,
    text: &'a str,
    names: &'a [String],
    stats: Stats,
}

#[derive(Serialize)]
struct Stats {
    tools: usize,
    bytes: usize,
}

/// Prints the SDK.
pub(super) fn sdk(args: &SdkArgs) -> anyhow::Result<Ending> {
    let host = Deployment::open(&args.deployment)?.host()?;
    let session = host.session(SessionOptions::new("cli"))?;
    let bundle = match args.lang {
        Language::Ts => session.sdk()?,
    };
    let stats = Stats { tools: bundle.tools, bytes: bundle.bytes };
    if args.stats {
        complain(&format!("{} tools, {} bytes", stats.tools, stats.bytes));
    }
    if args.json {
        let report = Report { lang: args.lang.name(), text: &bundle.text, names: &bundle.names, stats };
        say(&json_line(&report)?)?;
    } else {
        say(&bundle.text)?;
    }
    Ok(Ending::Success)
}
