//! What a scope's model is shown.
//!
//! Owns the assembly of schemas and SDK text from one view (I-1), and the one sentence about who may call what
//! (CM-2). It never states a rule that the executor does not hold: both ask `registry::collapses`. It calls the
//! registry's view and the host's cache of SDKs.

use std::sync::Arc;

use crate::registry::{PresentationMode, RUN_CODE, RegistryError, RegistryView, collapses};
use crate::sdk::{SdkBundle, SdkLanguage, SdkOptions};
use crate::tool::ModelFace;

use super::Session;

/// What a model is shown at one moment.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The native schemas: all visible tools, `run_code` alone, or both, by the scope's mode.
    pub schemas: Vec<ModelFace>,
    /// Who may call the functions of the SDK, in a sentence for the model (CM-2); absent when there is no SDK, or when
    /// it has no function.
    pub rule: Option<&'static str>,
    /// The SDK that programs are written against, shared with every prompt of the same view (SDK-9); absent in native
    /// mode.
    pub sdk: Option<Arc<SdkBundle>>,
}

const FROM_PROGRAMS_ONLY: &str = "Call no tool but `run_code` directly: every other one is a function that only a \
    program can call, as the SDK declares it. A direct call is refused.";

const FROM_BOTH: &str = "Call a tool directly, or as a function of a program that `run_code` runs, as the SDK declares \
    it; a program is better for more than one call.";

/// What is true of every function of the SDK.
fn rule(view: &RegistryView) -> Option<&'static str> {
    view.get(RUN_CODE)?;
    let name = view.callable().next()?.definition().name();
    Some(if collapses(name.as_str(), view.mode(), false) { FROM_PROGRAMS_ONLY } else { FROM_BOTH })
}

impl Session {
    /// What this session's model is shown now.
    pub fn prompt(&self) -> Result<Prompt, RegistryError> {
        let view = self.view()?;
        let schemas = view.schemas().into_iter().cloned().collect();
        let sdk =
            (view.mode() != PresentationMode::Native).then(|| self.rendered(SdkLanguage::TypeScript, &view));
        Ok(Prompt { schemas, rule: rule(&view), sdk })
    }

    /// The SDK of the tools that this session's programs may call, whatever the presentation mode.
    pub fn sdk(&self, language: SdkLanguage) -> Result<Arc<SdkBundle>, RegistryError> {
        Ok(self.rendered(language, &*self.view()?))
    }

    fn rendered(&self, language: SdkLanguage, view: &RegistryView) -> Arc<SdkBundle> {
        self.inner.host.shared.sdks.render(language, view, &SdkOptions::default())
    }
}

#[cfg(test)]
mod tests;
