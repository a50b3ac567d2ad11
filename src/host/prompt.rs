//! What a scope's model is shown.
//!
//! Owns the assembly of schemas and SDK text from one view (I-1). It adds no prose of its own. It calls the
//! registry's view and the SDK renderer.

use std::sync::Arc;

use crate::registry::{PresentationMode, RegistryError, RegistryView};
use crate::sdk::{SdkBundle, SdkOptions, SdkTool, render_typescript};
use crate::tool::ModelFace;

use super::Session;

/// What a model is shown at one moment.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The native schemas: all visible tools, `run_code` alone, or both, by the scope's mode.
    pub schemas: Vec<ModelFace>,
    /// The SDK that programs are written against; absent in native mode.
    pub sdk: Option<SdkBundle>,
}

/// The SDK of what a view lets programs call (SDK-1).
pub(super) fn sdk(view: &RegistryView) -> SdkBundle {
    let definitions: Vec<_> = view.callable().map(|tool| Arc::clone(tool.definition())).collect();
    let tools: Vec<_> = definitions
        .iter()
        .map(|definition| SdkTool {
            name: definition.name().as_str(),
            description: &definition.model().description,
            parameters: &definition.model().parameters,
            output: definition.output().schema.source(),
        })
        .collect();
    render_typescript(&tools, &SdkOptions::default())
}

impl Session {
    /// What this session's model is shown now.
    pub fn prompt(&self) -> Result<Prompt, RegistryError> {
        let view = self.view()?;
        let schemas = view.schemas().into_iter().cloned().collect();
        let sdk = (view.mode() != PresentationMode::Native).then(|| sdk(&view));
        Ok(Prompt { schemas, sdk })
    }

    /// The SDK of the tools that this session's programs may call, whatever the presentation mode.
    pub fn sdk(&self) -> Result<SdkBundle, RegistryError> {
        Ok(sdk(&*self.view()?))
    }
}
