//! `isolane sdk` (I-4).
//!
//! Owns how the SDK and its size are printed. The text itself is the renderer's, which is printed byte for byte, and the
//! counts are the library's.

use serde::Serialize;

use isolane::host::SessionOptions;
use isolane::sdk::{SdkLanguage, TOKENIZER, TextSize, native_schemas};

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

/// The keys are a contract; `SdkArgs` documents them.
#[derive(Serialize)]
struct Stats {
    tools: usize,
    #[serde(flatten)]
    sdk: TextSize,
    native: TextSize,
    tokenizer: &'static str,
}

/// Prints the SDK.
pub(super) fn sdk(args: &SdkArgs) -> anyhow::Result<Ending> {
    let host = Deployment::open(&args.deployment)?.host()?;
    let session = host.session(SessionOptions::new("cli"))?;
    let language = match args.lang {
        Language::Ts => SdkLanguage::TypeScript,
        Language::Python => SdkLanguage::Python,
    };
    let bundle = session.sdk(language)?;
    if !args.json && !args.stats {
        say(&bundle.text)?;
        return Ok(Ending::Success);
    }
    let stats = Stats {
        tools: bundle.tools,
        sdk: TextSize::of(&bundle.text),
        native: TextSize::of(&native_schemas(&*session.view()?)),
        tokenizer: TOKENIZER,
    };
    if args.stats {
        let Stats { tools, sdk, native, tokenizer } = &stats;
        complain(&format!(
            "{tools} tools: {} bytes, {} tokens ({tokenizer}); as native schemas {} bytes, {} tokens",
            sdk.bytes, sdk.tokens, native.bytes, native.tokens
        ));
    }
    if args.json {
        let report = Report { lang: language.name(), text: &bundle.text, names: &bundle.names, stats };
        say(&json_line(&report)?)?;
    } else {
        say(&bundle.text)?;
    }
    Ok(Ending::Success)
}
