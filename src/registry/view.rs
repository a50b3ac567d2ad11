//! One scope's view: immutable, ordered, sealed.
//!
//! Owns what a scope is shown and may call at one generation. It never changes after it is sealed.
//! It calls `mode` for the collapse rule.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use serde_json::json;

use crate::ids::{ScopeId, ToolName};
use crate::json;
use crate::registry::{Guard, PresentationMode, RUN_CODE, collapses};
use crate::tool::{ModelFace, Tool, ToolDefinition};

/// A tool in a layer. Its number tells two registrations of one name apart.
#[derive(Debug)]
pub struct RegisteredTool {
    pub(super) id: u64,
    pub(super) tool: Tool,
}

impl RegisteredTool {
    /// The number of the registration, unique in its registry.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The definition.
    pub fn definition(&self) -> &Arc<ToolDefinition> {
        self.tool.definition()
    }

    /// The tool with its handler.
    pub fn tool(&self) -> &Tool {
        &self.tool
    }
}

/// Whether a call may run.
#[derive(Clone, Debug)]
pub enum Resolution {
    /// It may, and this is what it runs.
    Tool(Arc<RegisteredTool>),
    /// It must be made from a program (CM-3).
    Collapsed(Arc<RegisteredTool>),
    /// The name exists in the scope's chain and is filtered out.
    Hidden,
    /// The name means nothing here.
    Unknown,
}

/// What one scope sees and may call.
pub struct RegistryView {
    generation: u64,
    chain: Vec<ScopeId>,
    openings: Vec<u64>,
    mode: PresentationMode,
    tools: Vec<Arc<RegisteredTool>>,
    index: HashMap<ToolName, usize>,
    known: BTreeSet<ToolName>,
    restrictable: BTreeSet<ToolName>,
    guards: Vec<Arc<dyn Guard>>,
}

pub(super) struct ViewParts {
    pub(super) generation: u64,
    pub(super) chain: Vec<ScopeId>,
    pub(super) openings: Vec<u64>,
    pub(super) mode: PresentationMode,
    pub(super) tools: Vec<Arc<RegisteredTool>>,
    pub(super) known: BTreeSet<ToolName>,
    pub(super) restrictable: BTreeSet<ToolName>,
    pub(super) guards: Vec<Arc<dyn Guard>>,
}

impl RegistryView {
    pub(super) fn seal(parts: ViewParts) -> Self {
        let index = parts
            .tools
            .iter()
            .enumerate()
            .map(|(index, tool)| (tool.definition().name().clone(), index))
            .collect();
        Self {
            generation: parts.generation,
            chain: parts.chain,
            openings: parts.openings,
            mode: parts.mode,
            tools: parts.tools,
            index,
            known: parts.known,
            restrictable: parts.restrictable,
            guards: parts.guards,
        }
    }

    /// The change of the registry that this view belongs to.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The scope's ancestors and itself, farthest first; empty for the global view.
    pub fn chain(&self) -> &[ScopeId] {
        &self.chain
    }

    /// The chain with the number of each scope's opening: a scope that is opened anew is another one.
    pub(crate) fn openings(&self) -> impl Iterator<Item = (&ScopeId, u64)> {
        self.chain.iter().zip(self.openings.iter().copied())
    }

    /// The presentation mode in force.
    pub fn mode(&self) -> PresentationMode {
        self.mode
    }

    /// What is visible, by name in byte order, `run_code` last when the mode has it.
    pub fn visible(&self) -> &[Arc<RegisteredTool>] {
        &self.tools
    }

    /// What a program can call: everything visible but `run_code` (CM-5).
    pub fn callable(&self) -> impl Iterator<Item = &Arc<RegisteredTool>> {
        self.tools.iter().filter(|tool| tool.definition().name().as_str() != RUN_CODE)
    }

    /// Every name on the chain before filtering.
    pub fn known_names(&self) -> &BTreeSet<ToolName> {
        &self.known
    }

    /// The names that a restriction of this scope may mention.
    pub fn restrictable_names(&self) -> &BTreeSet<ToolName> {
        &self.restrictable
    }

    /// What the model is shown: everything, `run_code` alone, or both, by the mode.
    pub fn schemas(&self) -> Vec<&ModelFace> {
        self.tools
            .iter()
            .map(|tool| tool.definition().model())
            .filter(|model| !collapses(model.name.as_str(), self.mode, false))
            .collect()
    }

    /// What a name resolves to, whatever the presentation.
    pub fn get(&self, name: &str) -> Option<&Arc<RegisteredTool>> {
        self.index.get(name).and_then(|index| self.tools.get(*index))
    }

    /// Whether a call may run (R-9, CM-2, CM-5).
    pub fn resolve_execution(&self, name: &str, nested: bool) -> Resolution {
        match self.get(name) {
            Some(_) if nested && name == RUN_CODE => Resolution::Unknown,
            Some(tool) if collapses(name, self.mode, nested) => Resolution::Collapsed(Arc::clone(tool)),
            Some(tool) => Resolution::Tool(Arc::clone(tool)),
            None if self.known.contains(name) => Resolution::Hidden,
            None => Resolution::Unknown,
        }
    }

    /// A digest of what the scope is shown and may call: the mode, and of every visible tool what a model reads and the
    /// schema of its value. Guards do not show and do not count.
    ///
    /// Equal digests mean equal prompts. It reads every schema, so ask once and keep it.
    pub fn digest(&self) -> String {
        let tools: Vec<_> = self
            .tools
            .iter()
            .map(|tool| json!([tool.definition().model(), tool.definition().output().schema.source()]))
            .collect();
        json::digest(&json!([self.mode, tools]))
    }

    /// The guards of the global layer and of the whole chain (P-4).
    pub fn guards(&self) -> &[Arc<dyn Guard>] {
        &self.guards
    }
}

impl fmt::Debug for RegistryView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.tools.iter().map(|tool| tool.definition().name().as_str()).collect();
        f.debug_struct("RegistryView")
            .field("generation", &self.generation)
            .field("chain", &self.chain)
            .field("mode", &self.mode)
            .field("visible", &names)
            .finish_non_exhaustive()
    }
}
