//! The definition of a tool: four faces and a handler.
//!
//! Owns the data that is registered (1.1). Only [`ModelFace`] is ever shown to a model. It never runs a handler.
//! It calls `schema` through its builder. The functions of a definition get arguments as the body does: `1.0` has
//! become `1`.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::content::ContentBlock;
use crate::ids::ToolName;
use crate::json::{depth_exceeds, whole_numbers_spelled};
use crate::ledger::MAX_VALUE_DEPTH;
use crate::outcome::CallResult;
use crate::schema::Schema;
use crate::tool::{CallCard, CallInfo, ResultCard, ToolBuilder, ToolHandler};

/// Whether a call may run beside others (T-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concurrency {
    /// May run beside other parallel calls.
    Parallel,
    /// Runs alone.
    Exclusive,
}

/// Classifies one call by its arguments.
pub type ClassifyFn = Arc<dyn Fn(&Value) -> Result<Concurrency, String> + Send + Sync>;

/// How a call is classified.
#[derive(Clone, Default)]
pub enum ConcurrencyRule {
    /// Nothing was declared: exclusive (T-5).
    #[default]
    Undeclared,
    /// The same for every call.
    Always(Concurrency),
    /// By the arguments. An error or a panic means exclusive (T-5).
    Classify(ClassifyFn),
}

impl ConcurrencyRule {
    /// The class of a call with these arguments; exclusive whenever there is any doubt (T-5). The rule gets them as
    /// the body would.
    pub fn classify(&self, args: &Value) -> Concurrency {
        match self {
            Self::Undeclared => Concurrency::Exclusive,
            Self::Always(class) => *class,
            Self::Classify(rule) => {
                let Some(args) = as_the_body_gets(args) else { return Concurrency::Exclusive };
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rule(&args)))
                    .ok()
                    .and_then(Result::ok)
                    .unwrap_or(Concurrency::Exclusive)
            }
        }
    }
}

/// Arguments in the one spelling that a body gets; nothing for those that are too deep to reach one.
fn as_the_body_gets(args: &Value) -> Option<Cow<'_, Value>> {
    (!depth_exceeds(args, MAX_VALUE_DEPTH)).then(|| whole_numbers_spelled(args))
}

impl fmt::Debug for ConcurrencyRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Undeclared => f.write_str("Undeclared"),
            Self::Always(class) => f.debug_tuple("Always").field(class).finish(),
            Self::Classify(_) => f.write_str("Classify(..)"),
        }
    }
}

/// What a model is shown in native presentation, and nothing else (T-1).
#[derive(Clone, Debug, Serialize)]
pub struct ModelFace {
    /// The registered name.
    pub name: ToolName,
    /// What the tool does.
    pub description: Arc<str>,
    /// JSON Schema of the arguments, an object.
    pub parameters: Arc<Value>,
}

/// Turns a value into what a model reads. An error makes the call `INVALID_TOOL_OUTPUT` (T-10).
pub type RenderFn = Arc<dyn Fn(&Value, &Value) -> Result<Vec<ContentBlock>, String> + Send + Sync>;

/// Makes what a user interface stores with a top-level result (T-11).
pub type MetaFn = Arc<dyn Fn(&Value, &Value) -> Result<Value, String> + Send + Sync>;

/// The mandatory output contract (T-2).
#[derive(Clone)]
pub struct OutputContract {
    /// Schema of the value.
    pub schema: Schema,
    /// `render(args, value)`.
    pub render: RenderFn,
    /// `presentation_meta(args, value)`; absent when a user interface needs none.
    pub presentation_meta: Option<MetaFn>,
}

impl fmt::Debug for OutputContract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputContract").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// Shows a call; pure (T-3).
pub type PresentCallFn = Arc<dyn Fn(&Value) -> Option<CallCard> + Send + Sync>;

/// Shows a result; pure (T-3).
pub type PresentResultFn = Arc<dyn Fn(&Value, &CallResult) -> Option<ResultCard> + Send + Sync>;

/// What people see (T-3).
#[derive(Clone, Default)]
pub struct PresentationFace {
    pub(crate) call: Option<PresentCallFn>,
    pub(crate) result: Option<PresentResultFn>,
}

impl fmt::Debug for PresentationFace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PresentationFace").finish_non_exhaustive()
    }
}

/// `finalize_content(call, result)` (T-4): replaces the content of a normalised result; may change nothing else (P-9).
pub type FinalizeFn = Arc<dyn Fn(&CallInfo<'_>, &CallResult) -> Option<Vec<ContentBlock>> + Send + Sync>;

/// What the scheduler knows of a tool; never sent to a model (T-4).
#[derive(Clone, Default)]
pub struct SchedulerFace {
    /// Declaring one promises that the tool honours cancellation; absent: no timeout.
    pub timeout: Option<Duration>,
    /// How calls are classified.
    pub concurrency: ConcurrencyRule,
    /// Labels for policies.
    pub tags: BTreeSet<String>,
    /// Argument members whose values must not be written to a ledger (L-11).
    pub sensitive: BTreeSet<String>,
    /// Whether a call may be repeated after a crash without being asked (L-10).
    pub idempotent: bool,
    pub(crate) finalize_content: Option<FinalizeFn>,
}

impl fmt::Debug for SchedulerFace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchedulerFace")
            .field("timeout", &self.timeout)
            .field("concurrency", &self.concurrency)
            .field("tags", &self.tags)
            .finish_non_exhaustive()
    }
}

/// A tool's definition: data, apart from the pure functions of its contracts.
pub struct ToolDefinition {
    pub(crate) model: ModelFace,
    pub(crate) parameters: Schema,
    pub(crate) output: OutputContract,
    pub(crate) presentation: PresentationFace,
    pub(crate) scheduler: SchedulerFace,
}

impl ToolDefinition {
    /// The registered name.
    pub fn name(&self) -> &ToolName {
        &self.model.name
    }

    /// What a model is shown (T-1).
    pub fn model(&self) -> &ModelFace {
        &self.model
    }

    /// The compiled parameters.
    pub fn parameters(&self) -> &Schema {
        &self.parameters
    }

    /// The output contract (T-2).
    pub fn output(&self) -> &OutputContract {
        &self.output
    }

    /// What the scheduler knows (T-4).
    pub fn scheduler(&self) -> &SchedulerFace {
        &self.scheduler
    }

    /// The card of a call; nothing when the arguments do not fit or the tool draws none (T-3).
    pub fn present_call(&self, args: &Value) -> Option<CallCard> {
        let present = self.presentation.call.as_ref()?;
        let args = self.fitting(args)?;
        contain(|| present(&args))
    }

    /// The card of a result; nothing when the arguments do not fit or the tool draws none (T-3).
    pub fn present_result(&self, args: &Value, result: &CallResult) -> Option<ResultCard> {
        let present = self.presentation.result.as_ref()?;
        let args = self.fitting(args)?;
        contain(|| present(&args, result))
    }

    fn fitting<'a>(&self, args: &'a Value) -> Option<Cow<'a, Value>> {
        let args = as_the_body_gets(args)?;
        self.parameters.validate(&args).ok()?;
        Some(args)
    }
}

/// A card never fails a replay: a panic in a presenter is an absent card.
fn contain<T>(present: impl FnOnce() -> Option<T>) -> Option<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(present)).ok().flatten()
}

impl fmt::Debug for ToolDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolDefinition").field("model", &self.model).finish_non_exhaustive()
    }
}

/// A definition with its handler, ready to be registered. Cloning shares both.
#[derive(Clone)]
pub struct Tool {
    pub(crate) definition: Arc<ToolDefinition>,
    pub(crate) handler: Arc<dyn ToolHandler>,
}

impl Tool {
    /// Starts the definition of a tool from JSON Schemas; see [`crate::tool::tool`] for the typed way.
    ///
    /// Parameters are JSON Schema of a small subset (T-7), or a list of properties. Both give the same schema:
    ///
    /// ```
    /// use isolane::schema::{Property, PropertyKind};
    /// use isolane::tool::{Tool, ToolContext, ToolError};
    /// use serde_json::{Value, json};
    ///
    /// async fn forecast(args: Value, _context: ToolContext) -> Result<Value, ToolError> {
    ///     Ok(json!(format!("sun in {}", args["city"])))
    /// }
    ///
    /// let builder = || Tool::builder("forecast").description("Tells the weather.").output(json!({"type": "string"}));
    /// let by_schema = builder()
    ///     .parameters(json!({
    ///         "type": "object",
    ///         "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 1}},
    ///         "required": ["city"],
    ///     }))
    ///     .handler(forecast)?;
    /// let by_properties = builder()
    ///     .properties(vec![
    ///         Property::new("city", PropertyKind::String).required(),
    ///         Property::new("days", PropertyKind::Integer).default(json!(1)),
    ///     ])
    ///     .handler(forecast)?;
    /// assert_eq!(by_schema.definition().parameters().source(), by_properties.definition().parameters().source());
    /// # Ok::<(), isolane::tool::DefinitionError>(())
    /// ```
    pub fn builder(name: impl Into<String>) -> ToolBuilder {
        ToolBuilder::new(name.into())
    }

    /// The definition.
    pub fn definition(&self) -> &Arc<ToolDefinition> {
        &self.definition
    }

    /// The handler.
    pub fn handler(&self) -> &Arc<dyn ToolHandler> {
        &self.handler
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tool").field(&self.definition.model.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::outcome::{CallFailure, ErrorCode};
    use crate::tool::{CardKind, ToolContext, ToolError};

    async fn nothing(_args: Value, _context: ToolContext) -> Result<Value, ToolError> {
        Ok(Value::Null)
    }

    fn generic(title: &str) -> CallCard {
        CallCard::Generic {
            title: title.to_owned(),
            kind: CardKind::Read,
            raw_input: Value::Null,
            locations: Vec::new(),
        }
    }

    fn done(title: &str) -> ResultCard {
        ResultCard::Generic {
            title: title.to_owned(),
            kind: CardKind::Read,
            raw_input: Value::Null,
            locations: Vec::new(),
        }
    }

    /// T-3: with arguments of an old schema, or with a presenter that breaks, there is no card and no failure.
    #[test]
    fn cards_are_made_from_fitting_arguments_or_not_at_all() {
        let tool = Tool::builder("t")
            .parameters(
                json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
            )
            .output(json!({"type": "null"}))
            .present_call(|args| match args["path"].as_str().unwrap() {
                "boom" => panic!("boom"),
                "plain" => None,
                path => Some(generic(path)),
            })
            .present_result(|args, result| {
                let title = format!("{} {}", args["path"].as_str().unwrap(), result.is_ok());
                Some(done(&title))
            })
            .handler(nothing)
            .unwrap();
        let definition = tool.definition();
        let call = |args: Value| definition.present_call(&args);
        assert_eq!(call(json!({"path": "a"})), Some(generic("a")));
        // The same again when an old session is replayed.
        assert_eq!(call(json!({"path": "a"})), call(json!({"path": "a"})));
        assert_eq!(call(json!({"path": "plain"})), None);
        for unfit in
            [json!({}), json!({"path": 1}), json!({"file": "a"}), json!("a"), json!({"path": "boom"})]
        {
            assert_eq!(call(unfit.clone()), None, "{unfit}");
        }
        let failed = Err(CallFailure::new(ErrorCode::ToolFailed, "gone"));
        let shown = |args: Value| definition.present_result(&args, &failed);
        assert_eq!(shown(json!({"path": "a"})), Some(done("a false")));
        assert_eq!(shown(json!({"path": 1})), None);
        let without = Tool::builder("t").output(json!({"type": "null"})).handler(nothing).unwrap();
        assert_eq!(without.definition().present_call(&json!({})), None);
        assert_eq!(without.definition().present_result(&json!({}), &failed), None);
    }

    /// T-3, T-5: the functions of a definition read integers as the body does, and no depth of arguments harms them.
    #[test]
    fn cards_and_classes_are_made_of_what_the_body_gets() {
        let one = |args: &Value| args["n"].as_u64() == Some(1);
        let tool = Tool::builder("t")
            .foreign_parameters(json!({"type": "object"}))
            .output(json!({"type": "null"}))
            .present_call(move |args| one(args).then(|| generic("one")))
            .present_result(move |args, _| one(args).then(|| done("one")))
            .classify(move |args| if one(args) { Ok(Concurrency::Parallel) } else { Err("no".to_owned()) })
            .handler(nothing)
            .unwrap();
        let definition = tool.definition();
        let failed = Err(CallFailure::new(ErrorCode::ToolFailed, "gone"));
        let seen = |args: &Value| {
            let card = definition.present_call(args).is_some();
            assert_eq!(definition.present_result(args, &failed).is_some(), card);
            let class = definition.scheduler().concurrency.classify(args);
            assert_eq!(class == Concurrency::Parallel, card);
            card
        };
        assert!(seen(&json!({"n": 1})) && seen(&json!({"n": 1.0})));
        assert!(!seen(&json!({"n": 1.5})));
        let mut deep = json!({"n": 1.0});
        deep["deep"] = crate::json::nested(100_000);
        assert!(!seen(&deep));
        crate::json::dismantle(deep);
    }

    /// T-4, T-1: what is for the scheduler is kept, and no part of it is in what a model is shown.
    #[test]
    fn the_schedulers_face_is_not_the_models() {
        let tool = Tool::builder("t")
            .description("does")
            .output(json!({"type": "null"}))
            .timeout(Duration::from_secs(7))
            .concurrency(Concurrency::Parallel)
            .tag("net")
            .sensitive("password")
            .idempotent()
            .finalize_content(|_call, _result| None)
            .handler(nothing)
            .unwrap();
        let scheduler = tool.definition().scheduler();
        assert_eq!(scheduler.timeout, Some(Duration::from_secs(7)));
        assert_eq!(scheduler.concurrency.classify(&json!({})), Concurrency::Parallel);
        assert!(
            scheduler.tags.contains("net")
                && scheduler.sensitive.contains("password")
                && scheduler.idempotent
        );
        assert!(scheduler.finalize_content.is_some());
        let shown = serde_json::to_value(tool.definition().model()).unwrap();
        assert_eq!(shown, json!({"name": "t", "description": "does", "parameters": {"type": "object"}}));
    }
}
