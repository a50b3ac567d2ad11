//! What a body returns, what it is given, and what becomes of both (T-10, T-12, T-14).

use super::*;

/// P-16
#[tokio::test]
async fn an_integer_is_one_however_it_is_spelled() {
    let bench = Bench::new(None);
    let echo = Tool::builder("echo")
        .parameters(json!({"type": "object", "properties": {"n": {"type": "integer"}}}))
        .foreign_output(json!({}))
        .handler(|args: Value, _context: ToolContext| async move { Ok(args) })
        .unwrap();
    bench.pipeline.registry().register(&Target::Global, echo).unwrap().keep();
    let success = bench.call("echo", json!({"n": 3.0, "x": [-0.5, 1e3]})).await.unwrap();
    assert_eq!(success.value.to_string(), r#"{"n":3,"x":[-0.5,1000]}"#);
}

/// P-16, T-6
#[tokio::test]
async fn what_fits_the_schema_and_not_the_type_is_an_argument_at_fault() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Args {
        of: Vec<u64>,
    }
    let bench = Bench::new(None);
    let sum = tool::<Args, u64>("sum", "Adds.")
        .handler(|args: Args, _context| async move { Ok(args.of.iter().sum()) })
        .unwrap();
    bench.pipeline.registry().register(&Target::Global, sum).unwrap().keep();
    assert_eq!(*bench.call("sum", json!({"of": [1.0, 2, 3e0]})).await.unwrap().value, json!(6));
    let refused = bench.call("sum", json!({"of": [1, 1e21]})).await.unwrap_err();
    let message = "expected an integer from 0 to 18446744073709551615, got 1e+21";
    assert_eq!(refused.code, ErrorCode::ToolArgsInvalid);
    assert_eq!(refused.message, format!("arguments of `sum`: {message} at /of/1"));
    assert_eq!(
        refused.details,
        Some(json!({"listed": [{"pointer": "/of/1", "message": message}], "more": false}))
    );
}

/// T-10
#[tokio::test]
async fn a_value_that_breaks_its_schema_is_never_a_success() {
    let bench = Bench::new(None);
    bench.tool("bad", |_| Ok(json!("text")));
    let (code, message) = failure(bench.call("bad", json!({})).await);
    assert_eq!(code, ErrorCode::InvalidToolOutput);
    assert_eq!(
        message,
        "the tool `bad` ran, but its value breaks its own output schema: expected integer, got a string. This is a \
         bug of the tool; its effects stand"
    );
}

/// T-10: a value that cannot be shown, or stored, is no success either, whether it fails or panics.
#[tokio::test]
async fn a_value_that_cannot_be_rendered_is_never_a_success() {
    type Shown = Result<Vec<ContentBlock>, String>;
    type Stored = Result<Value, String>;
    let shown = |_: &Value, _: &Value| -> Shown { Ok(vec![ContentBlock::text("3")]) };
    let stored = |_: &Value, _: &Value| -> Stored { Ok(Value::Null) };
    let bench = Bench::new(None);
    let register = |builder: crate::tool::ToolBuilder| {
        let tool =
            builder.handler(|_args: Value, _context: ToolContext| async { Ok::<_, ToolError>(json!(3)) });
        bench.pipeline.registry().register(&Target::Global, tool.unwrap()).unwrap().keep();
    };
    let builder = |name: &str| Tool::builder(name).output(json!({"type": "integer"}));
    register(builder("fine").render(shown).presentation_meta(stored));
    register(builder("unshown").render(|_, _| -> Shown { Err("no words".to_owned()) }));
    register(builder("unstored").presentation_meta(|_, _| -> Stored { Err("no room".to_owned()) }));
    register(builder("panics").render(|_, _| -> Shown { panic!("boom") }));
    assert!(bench.call("fine", json!({})).await.is_ok());
    for name in ["unshown", "unstored", "panics"] {
        let (code, message) = failure(bench.call(name, json!({})).await);
        assert_eq!(code, ErrorCode::InvalidToolOutput, "{name}: {message}");
    }
}

/// T-14
#[tokio::test]
async fn a_body_knows_where_it_stands() {
    struct Heard(Mutex<Vec<String>>);
    impl crate::tool::ProgressSink for Heard {
        fn report(&self, call: &CallId, progress: crate::tool::Progress) {
            self.0.lock().unwrap().push(format!("{call}: {} of {:?}", progress.done, progress.total));
        }
    }
    let bench = Bench::new(None);
    let told = Arc::new(Mutex::new(Vec::new()));
    let tells = Arc::clone(&told);
    bench.tool("look", move |context| {
        let (scope, nested) = (context.scope.as_ref().map(ScopeId::as_str), context.parent.is_some());
        let names = (context.call.as_str(), context.session.as_str(), scope);
        tells.lock().unwrap().push(format!("{names:?} nested {nested} in {:?}", context.root().unwrap()));
        context.progress(crate::tool::Progress { done: 1.0, total: Some(2.0), message: None });
        Ok(json!(1))
    });
    let heard = Arc::new(Heard(Mutex::default()));
    for parent in [None, Some(ParentToken::new(CallId::from("r"), CallId::from("r")))] {
        let mut request = bench.request("look", json!({}));
        request.root = Some(std::path::Path::new("/project").into());
        request.progress = Some(Arc::clone(&heard) as _);
        request.parent = parent;
        bench.pipeline.execute(request).await.unwrap();
    }
    assert_eq!(
        *told.lock().unwrap(),
        [false, true].map(|nested| format!(r#"("c1", "s", Some("agent")) nested {nested} in "/project""#))
    );
    assert_eq!(*heard.0.lock().unwrap(), ["c1: 1 of Some(2.0)"; 2]);
}

/// T-14, T-15: a failure has no place for a conclusion.
#[tokio::test]
async fn only_a_success_can_conclude_the_turn() {
    let bench = Bench::new(None);
    bench.tool("end", |context| {
        context.defer_context("note");
        context.forward_deferred([crate::outcome::DeferredContext::new("of a nested call")]);
        context.conclude_turn();
        Ok(json!(1))
    });
    let success = bench.call("end", json!({})).await.unwrap();
    assert!(success.concludes_turn);
    let deferred: Vec<_> = success.deferred.iter().map(|context| context.text.as_str()).collect();
    assert_eq!(deferred, ["note", "of a nested call"]);
}

/// T-17: the limit is the host's, and holds before anything looks at the arguments.
#[tokio::test]
async fn the_size_of_arguments_is_the_hosts_to_limit() {
    let limits = CallLimits { argument_bytes: 64, depth: 3 };
    let bench = Bench::new(None);
    bench.tool("add", |_| Ok(json!(3)));
    let small = Pipeline::new(bench.pipeline.registry().clone(), limits, None);
    let call = |args: Value| small.execute(bench.request("add", args));
    // Both too large and wrong: it is the size that is told.
    let (code, message) = failure(call(json!({"n": "x".repeat(64)})).await);
    assert_eq!(
        (code, message.as_str()),
        (
            ErrorCode::ToolArgsTooLarge,
            "the arguments of `add` take about 72 bytes; at most 64 are allowed. Pass less, or a path or handle \
             instead of the content"
        )
    );
    assert_eq!(failure(call(json!({"n": [[[1]]]})).await).0, ErrorCode::ToolArgsTooLarge);
    assert_eq!(failure(call(json!({"n": [[1]]})).await).0, ErrorCode::ToolArgsInvalid);
    assert!(call(json!({"n": 1})).await.is_ok());
}
