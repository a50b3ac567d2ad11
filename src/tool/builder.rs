//! Writing a definition.
//!
//! Owns the builder and what it refuses: a definition without an output contract cannot be built (T-2). It
//! never registers. It calls `schema` to compile the contracts, once (T-9).

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::content::ContentBlock;
use crate::outcome::CallResult;
use crate::schema::{Property, Schema, SchemaError, repeated_property};
use crate::tool::definition::{FinalizeFn, MetaFn, PresentCallFn, PresentResultFn, RenderFn};
use crate::tool::{
    CallCard, CallInfo, Concurrency, ConcurrencyRule, ModelFace, OutputContract, PresentationFace,
    ResultCard, SchedulerFace, Tool, ToolDefinition, ToolHandler,
};

/// A definition that cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    /// The parameters are no usable schema.
    #[error("tool `{tool}`: parameters: {source}")]
    Parameters {
        /// The tool's name.
        tool: String,
        /// What is wrong with them.
        source: SchemaError,
    },
    /// Two properties of one object have the same name.
    #[error(
        "tool `{tool}`: parameters: the property `{property}` is there twice; give each a name of its own"
    )]
    PropertyTwice {
        /// The tool's name.
        tool: String,
        /// The property's name.
        property: String,
    },
    /// The parameters do not describe an object.
    #[error("tool `{tool}`: parameters must be a JSON Schema of type `object`")]
    ParametersNotObject {
        /// The tool's name.
        tool: String,
    },
    /// There is no output contract.
    #[error("tool `{tool}`: the output contract is missing; call `.output(schema)`")]
    OutputMissing {
        /// The tool's name.
        tool: String,
    },
    /// The output schema is no usable schema.
    #[error("tool `{tool}`: output: {source}")]
    Output {
        /// The tool's name.
        tool: String,
        /// What is wrong with it.
        source: SchemaError,
    },
}

#[derive(Clone, Copy)]
enum Origin {
    /// Written here: the subset of T-7.
    Author,
    /// Derived from a type or received from a server: all of JSON Schema. A derived schema says what the type reads,
    /// which the subset of T-7 cannot: bounds of integers, types that refer to themselves, `null` beside another kind.
    Any,
}

impl Origin {
    fn compile(self, source: Value) -> Result<Schema, SchemaError> {
        match self {
            Self::Author => Schema::compile_author(source),
            Self::Any => Schema::compile(source),
        }
    }
}

/// Builds a [`Tool`]. Without parameters the tool takes an empty open object.
pub struct ToolBuilder {
    name: String,
    description: String,
    parameters: Option<(Value, Origin)>,
    /// A name that two of the properties have.
    repeated: Option<String>,
    output: Option<(Value, Origin)>,
    render: Option<RenderFn>,
    meta: Option<MetaFn>,
    presentation: PresentationFace,
    scheduler: SchedulerFace,
}

impl ToolBuilder {
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            description: String::new(),
            parameters: None,
            repeated: None,
            output: None,
            render: None,
            meta: None,
            presentation: PresentationFace::default(),
            scheduler: SchedulerFace::default(),
        }
    }

    /// What the tool does, for the model.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Parameters as JSON Schema of the author-side subset (T-7).
    pub fn parameters(mut self, schema: Value) -> Self {
        self.parameters = Some((schema, Origin::Author));
        self.repeated = None;
        self
    }

    /// Parameters in the compact property form (T-6). Two properties of one object must not have the same name.
    pub fn properties(mut self, properties: Vec<Property>) -> Self {
        self.repeated = repeated_property(&properties).map(str::to_owned);
        self.parameters = Some((crate::schema::object(properties), Origin::Author));
        self
    }

    /// Parameters that come from elsewhere and may use all of JSON Schema (T-7).
    pub fn foreign_parameters(mut self, schema: Value) -> Self {
        self.parameters = Some((schema, Origin::Any));
        self.repeated = None;
        self
    }

    /// Schema of the value, of the author-side subset (T-7).
    pub fn output(mut self, schema: Value) -> Self {
        self.output = Some((schema, Origin::Author));
        self
    }

    /// Schema of the value that comes from elsewhere and may use all of JSON Schema (T-7).
    pub fn foreign_output(mut self, schema: Value) -> Self {
        self.output = Some((schema, Origin::Any));
        self
    }

    /// How a model reads the value, from the arguments and the value. Absent: strings raw, other values as JSON.
    pub fn render<F>(mut self, render: F) -> Self
    where
        F: Fn(&Value, &Value) -> Result<Vec<ContentBlock>, String> + Send + Sync + 'static,
    {
        self.render = Some(Arc::new(render));
        self
    }

    /// What a user interface stores with a top-level result, from the arguments and the value (T-11).
    pub fn presentation_meta<F>(mut self, meta: F) -> Self
    where
        F: Fn(&Value, &Value) -> Result<Value, String> + Send + Sync + 'static,
    {
        self.meta = Some(Arc::new(meta));
        self
    }

    /// The card of a call (T-3).
    pub fn present_call<F>(mut self, present: F) -> Self
    where
        F: Fn(&Value) -> Option<CallCard> + Send + Sync + 'static,
    {
        self.presentation.call = Some(Arc::new(present) as PresentCallFn);
        self
    }

    /// The card of a result (T-3).
    pub fn present_result<F>(mut self, present: F) -> Self
    where
        F: Fn(&Value, &CallResult) -> Option<ResultCard> + Send + Sync + 'static,
    {
        self.presentation.result = Some(Arc::new(present) as PresentResultFn);
        self
    }

    /// Sets a timeout and promises that the body heeds cancellation (T-4).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.scheduler.timeout = Some(timeout);
        self
    }

    /// Classifies every call the same. Absent: exclusive (T-5).
    pub fn concurrency(mut self, class: Concurrency) -> Self {
        self.scheduler.concurrency = ConcurrencyRule::Always(class);
        self
    }

    /// Classifies calls by their arguments.
    pub fn classify<F>(mut self, rule: F) -> Self
    where
        F: Fn(&Value) -> Result<Concurrency, String> + Send + Sync + 'static,
    {
        self.scheduler.concurrency = ConcurrencyRule::Classify(Arc::new(rule));
        self
    }

    /// Changes the content of every normalised result, failures included (P-9), from the call and its result.
    pub fn finalize_content<F>(mut self, finalize: F) -> Self
    where
        F: Fn(&CallInfo<'_>, &CallResult) -> Option<Vec<ContentBlock>> + Send + Sync + 'static,
    {
        self.scheduler.finalize_content = Some(Arc::new(finalize) as FinalizeFn);
        self
    }

    /// Adds a label for policies.
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.scheduler.tags.insert(tag.into());
        self
    }

    /// Names an argument member whose value must not be written to a ledger (L-11).
    pub fn sensitive(mut self, member: impl Into<String>) -> Self {
        self.scheduler.sensitive.insert(member.into());
        self
    }

    /// Declares that a call may be repeated after a crash without asking (L-10).
    pub fn idempotent(mut self) -> Self {
        self.scheduler.idempotent = true;
        self
    }

    /// Compiles the contracts and joins them with the body.
    pub fn handler(self, handler: impl ToolHandler) -> Result<Tool, DefinitionError> {
        let tool = self.name.clone();
        let (source, origin) = self.parameters.unwrap_or_else(|| (json!({"type": "object"}), Origin::Author));
        if source.get("type").and_then(Value::as_str) != Some("object") {
            // Of any depth; dropping it would recurse.
            crate::json::dismantle(source);
            return Err(DefinitionError::ParametersNotObject { tool });
        }
        if let Some(property) = self.repeated {
            crate::json::dismantle(source);
            return Err(DefinitionError::PropertyTwice { tool, property });
        }
        let parameters = origin
            .compile(source)
            .map_err(|source| DefinitionError::Parameters { tool: tool.clone(), source })?;
        let (source, origin) = self.output.ok_or(DefinitionError::OutputMissing { tool: tool.clone() })?;
        let schema = origin.compile(source).map_err(|source| DefinitionError::Output { tool, source })?;
        let definition = ToolDefinition {
            model: ModelFace {
                name: self.name.as_str().into(),
                description: self.description.into(),
                parameters: Arc::clone(parameters.source()),
            },
            parameters,
            output: OutputContract {
                schema,
                render: self.render.unwrap_or_else(|| Arc::new(render_plainly)),
                presentation_meta: self.meta,
            },
            presentation: self.presentation,
            scheduler: self.scheduler,
        };
        Ok(Tool { definition: Arc::new(definition), handler: Arc::new(handler) })
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of RenderFn")]
fn render_plainly(_args: &Value, value: &Value) -> Result<Vec<ContentBlock>, String> {
    let text = match value {
        Value::String(text) => text.clone(),
        other => format!("{other:#}"),
    };
    Ok(vec![ContentBlock::text(text)])
}

impl std::fmt::Debug for ToolBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::PropertyKind;
    use crate::tool::ToolContext;

    async fn nothing(_args: Value, _context: ToolContext) -> Result<Value, crate::tool::ToolError> {
        Ok(Value::Null)
    }

    /// T-2
    #[test]
    fn a_definition_without_an_output_contract_is_refused() {
        let error = Tool::builder("t").handler(nothing).unwrap_err();
        assert_eq!(error.to_string(), "tool `t`: the output contract is missing; call `.output(schema)`");
    }

    /// T-6
    #[test]
    fn a_property_that_is_there_twice_is_refused_at_any_depth() {
        let twice = || vec![Property::new("a", PropertyKind::String), Property::new("a", PropertyKind::Null)];
        let inner = PropertyKind::Array(Box::new(PropertyKind::OneOf(vec![PropertyKind::Object(twice())])));
        let a = || Property::new("a", PropertyKind::Object(vec![Property::new("a", PropertyKind::Any)]));
        let builder = || Tool::builder("t").output(json!({"type": "null"}));
        for properties in [twice(), vec![a(), Property::new("b", inner)]] {
            let error = builder().properties(properties).handler(nothing).unwrap_err().to_string();
            assert_eq!(
                error,
                "tool `t`: parameters: the property `a` is there twice; give each a name of its own"
            );
        }
        assert!(builder().properties(vec![a()]).handler(nothing).is_ok());
        assert!(builder().properties(twice()).parameters(json!({"type": "object"})).handler(nothing).is_ok());
    }

    /// T-8
    #[test]
    fn a_tool_with_a_schema_of_any_depth_is_refused() {
        let object =
            |name: &str, member: Value| Value::Object([(name.to_owned(), member)].into_iter().collect());
        let deep = || {
            // Moved in, not copied: `json!` would copy level by level.
            let wrap = |items: Value, _| {
                let mut array = object("items", items);
                array["type"] = json!("array");
                array
            };
            (0..30_000).fold(json!({"type": "string"}), wrap)
        };
        let parameters = || {
            let mut parameters = object("properties", object("a", deep()));
            parameters["type"] = json!("object");
            parameters
        };
        let builder = || Tool::builder("t").output(json!({"type": "null"}));
        assert!(builder().parameters(parameters()).handler(nothing).is_err());
        assert!(builder().foreign_parameters(parameters()).handler(nothing).is_err());
        assert!(builder().foreign_parameters(deep()).handler(nothing).is_err(), "not an object either");
        assert!(Tool::builder("t").output(deep()).handler(nothing).is_err());
    }

    /// T-1
    #[test]
    fn a_model_is_shown_three_members_and_no_more() {
        let tool = Tool::builder("t")
            .description("does")
            .output(json!({"type": "null"}))
            .tag("secret")
            .timeout(Duration::from_secs(1))
            .handler(nothing)
            .unwrap();
        let shown = serde_json::to_value(tool.definition().model()).unwrap();
        assert_eq!(shown, json!({"name": "t", "description": "does", "parameters": {"type": "object"}}));
    }

    /// T-7
    #[test]
    fn what_comes_from_outside_may_use_all_of_the_language() {
        let schema = json!({
            "type": "object",
            "properties": {"name": {"type": "string", "pattern": "^[a-z]+$"}},
            "dependentRequired": {"name": ["id"]},
        });
        let builder = || Tool::builder("t").output(json!({"type": "null"}));
        let tool = builder().foreign_parameters(schema.clone()).handler(nothing).unwrap();
        let valid = |args: Value| tool.definition().parameters().validate(&args).is_ok();
        assert!(valid(json!({"name": "abc", "id": 1})) && valid(json!({})));
        assert!(!valid(json!({"name": "ABC", "id": 1})) && !valid(json!({"name": "abc"})));
        let refused = builder().parameters(schema).handler(nothing).unwrap_err().to_string();
        assert!(refused.contains("is not supported"), "{refused}");
    }

    /// T-5
    #[test]
    fn classification_fails_closed() {
        let rule = |rule: ConcurrencyRule| rule.classify(&json!({}));
        assert_eq!(rule(ConcurrencyRule::default()), Concurrency::Exclusive);
        assert_eq!(
            rule(ConcurrencyRule::Classify(Arc::new(|_| Err("no".to_owned())))),
            Concurrency::Exclusive
        );
        assert_eq!(rule(ConcurrencyRule::Classify(Arc::new(|_| panic!("boom")))), Concurrency::Exclusive);
        assert_eq!(rule(ConcurrencyRule::Always(Concurrency::Parallel)), Concurrency::Parallel);
    }
}
