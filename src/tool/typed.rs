//! Tools from Rust types (T-6, T-18).
//!
//! Owns the way from an async function over derived types to a definition. Schemas come from `schemars`, values
//! through `serde`. It never changes a schema itself: [`derived`] does. What is derived is not held to the subset of
//! T-7, which is for what authors write by hand: a type has bounds, recursion and `null`, and its schema must not
//! promise more than it reads. It calls the builder.

mod derived;
mod place;

use std::future::Future;

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use derived::{Use, derived_schema};
use place::read_arguments;

use crate::tool::{Tool, ToolBuilder, ToolContext, ToolError, ToolHandler};

/// Starts a tool whose arguments and value are Rust types; finish it with `.handler(body)`.
///
/// Doc comments of members and of variants become descriptions. An `Option` of the arguments is a member that
/// may be left out; `null` is refused like any other wrong type, so that the type stays simple. Arguments are
/// open to unknown members unless the type has `#[serde(deny_unknown_fields)]`.
///
/// ```
/// use isolane::tool::{ToolContext, ToolError, tool};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Forecast {
///     /// Name of the city.
///     city: String,
///     days: Option<u8>,
/// }
///
/// async fn forecast(args: Forecast, _context: ToolContext) -> Result<String, ToolError> {
///     Ok(format!("{} days of sun in {}", args.days.unwrap_or(1), args.city))
/// }
///
/// let tool = tool::<Forecast, String>("forecast", "Tells the weather.").handler(forecast)?;
/// let parameters = tool.definition().parameters();
/// assert_eq!(parameters.source()["properties"]["city"]["description"], "Name of the city.");
/// assert_eq!(parameters.source()["required"], serde_json::json!(["city"]));
/// # Ok::<(), isolane::tool::DefinitionError>(())
/// ```
pub fn tool<Args, Output>(name: impl Into<String>, description: impl Into<String>) -> TypedTool<Args, Output>
where
    Args: DeserializeOwned + JsonSchema + 'static,
    Output: Serialize + JsonSchema + 'static,
{
    let builder = Tool::builder(name)
        .description(description)
        .foreign_parameters(derived_schema::<Args>(Use::Arguments))
        .foreign_output(derived_schema::<Output>(Use::Value));
    TypedTool { builder, types: std::marker::PhantomData }
}

/// A [`ToolBuilder`] that knows the types of its body.
pub struct TypedTool<Args, Output> {
    builder: ToolBuilder,
    types: std::marker::PhantomData<fn(Args) -> Output>,
}

impl<Args, Output> TypedTool<Args, Output>
where
    Args: DeserializeOwned + JsonSchema + 'static,
    Output: Serialize + JsonSchema + 'static,
{
    /// Sets anything else that the builder offers.
    pub fn with(mut self, change: impl FnOnce(ToolBuilder) -> ToolBuilder) -> Self {
        self.builder = change(self.builder);
        self
    }

    /// Joins the definition with its body.
    pub fn handler<F, Fut>(self, body: F) -> Result<Tool, crate::tool::DefinitionError>
    where
        F: Fn(Args, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Output, ToolError>> + Send + 'static,
    {
        self.builder.handler(TypedHandler { body, types: std::marker::PhantomData })
    }
}

impl<Args, Output> std::fmt::Debug for TypedTool<Args, Output> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TypedTool").field(&self.builder).finish()
    }
}

struct TypedHandler<F, Args> {
    body: F,
    types: std::marker::PhantomData<fn(Args)>,
}

impl<F, Fut, Args, Output> ToolHandler for TypedHandler<F, Args>
where
    F: Fn(Args, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Output, ToolError>> + Send + 'static,
    Args: DeserializeOwned + 'static,
    Output: Serialize,
{
    fn call(&self, args: Value, context: ToolContext) -> crate::tool::HandlerFuture {
        // The arguments fit the schema; a type may still refuse more than its schema says.
        let body = match read_arguments(&args) {
            Ok(args) => (self.body)(args, context),
            Err(error) => return Box::pin(std::future::ready(Err(error))),
        };
        Box::pin(async move {
            let output = body.await?;
            serde_json::to_value(output)
                .map_err(|error| ToolError::failed(format!("the tool's value is not JSON: {error}")))
        })
    }
}

#[cfg(test)]
mod tests {
    /// T-18: what the README and the crate's own page show is one and the same, is short, and is compiled as a doc test.
    #[test]
    fn the_shortest_complete_tool_is_under_15_lines() {
        let example = |page: &str, start: &str| {
            let (_, rest) = page.split_once(start).unwrap();
            rest.split_once("```").unwrap().0.to_owned()
        };
        let page: Vec<_> = include_str!("../lib.rs")
            .lines()
            .map_while(|line| line.strip_prefix("//!"))
            .map(|line| line.strip_prefix(' ').unwrap_or(line))
            .collect();
        let compiled = example(&page.join("\n"), "```\n");
        assert_eq!(example(include_str!("../../README.md"), "## A tool in Rust\n\n```rust\n"), compiled);
        assert!(compiled.lines().filter(|line| !line.trim().is_empty()).count() < 15, "{compiled}");
        assert!(compiled.contains("tool::<Add, Sum>"), "{compiled}");
    }
}
