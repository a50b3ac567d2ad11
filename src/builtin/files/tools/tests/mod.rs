//! The file tools as a caller meets them: through the pipeline.
//!
//! Owns the bench that the test files share.

use std::fs;

use serde_json::{Value, json};

use super::super::tests::Fixture;
use super::*;
use crate::content::ContentBlock;
use crate::ids::{CallId, ParentToken};
use crate::limits::CallLimits;
use crate::outcome::{CallFailure, CallResult, CallSuccess};
use crate::pipeline::{CallRequest, Pipeline};
use crate::registry::{Registry, Target};

mod contract;
mod shown;

struct Bench {
    fixture: Fixture,
    tools: Vec<Tool>,
    pipeline: Pipeline,
}

impl Bench {
    /// All six tools over these files.
    fn new(files: &[(&str, &str)]) -> Self {
        Self::with(files, FileToolOptions { allow_write: true, ..FileToolOptions::default() })
    }

    fn with(files: &[(&str, &str)], options: FileToolOptions) -> Self {
        let fixture = Fixture::new(files);
        let tools = file_tools(fixture.root.clone(), options).unwrap();
        let registry = Registry::new();
        for tool in &tools {
            registry.register(&Target::Global, tool.clone()).unwrap().keep();
        }
        Self { fixture, tools, pipeline: Pipeline::new(registry, CallLimits::default(), None) }
    }

    fn tool(&self, name: &str) -> &Tool {
        self.tools.iter().find(|tool| tool.definition().name().as_str() == name).unwrap()
    }

    async fn call(&self, name: &str, args: Value) -> CallResult {
        self.pipeline.execute(CallRequest::new("c", name, args, "s".into())).await
    }

    /// The call as a program makes it.
    async fn nested(&self, name: &str, args: Value) -> CallSuccess {
        let mut request = CallRequest::new("c", name, args, "s".into());
        request.parent = Some(ParentToken::new(CallId::from("p"), CallId::from("p")));
        self.pipeline.execute(request).await.unwrap()
    }

    async fn success(&self, name: &str, args: Value) -> CallSuccess {
        self.call(name, args).await.unwrap()
    }

    async fn failure(&self, name: &str, args: Value) -> CallFailure {
        self.call(name, args).await.unwrap_err()
    }

    /// What a model reads.
    async fn text(&self, name: &str, args: Value) -> String {
        match self.success(name, args).await.content.as_slice() {
            [ContentBlock::Text { text }] => text.clone(),
            other => panic!("{other:?}"),
        }
    }

    fn content(&self, name: &str) -> String {
        fs::read_to_string(self.fixture.path(name)).unwrap()
    }

    /// The card of a call.
    fn call_card(&self, name: &str, args: &Value) -> Value {
        json!(self.tool(name).definition().present_call(args))
    }

    /// The card of a result.
    fn result_card(&self, name: &str, args: &Value, result: &CallResult) -> Value {
        json!(self.tool(name).definition().present_result(args, result))
    }
}
