//! A tool that calls other tools.

use super::*;
use crate::outcome::DeferredContext;

/// T-11, T-14, T-15, CM-4: the inner call is nested, stops with the outer one, makes no meta, and what it deferred is
/// delivered with the outer result.
#[tokio::test]
async fn a_compound_tool_forwards_what_its_calls_deferred() {
    let bench = Bench::new(None);
    let metas = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&metas);
    let inner = Tool::builder("inner")
        .output(json!({"type": "string"}))
        .presentation_meta(move |_args, _value| {
            *counted.lock().unwrap() += 1;
            Ok(json!("meta"))
        })
        .handler(|_args: Value, context: ToolContext| async move {
            context.defer_context("from inside");
            context.conclude_turn();
            let parent = context.parent.as_ref().unwrap();
            Ok::<_, ToolError>(json!(format!("{} {} {}", parent.root(), parent.parent(), context.call)))
        })
        .unwrap();
    let pipeline = bench.pipeline.clone();
    let outer = Tool::builder("outer")
        .output(json!({"type": "string"}))
        .handler(move |_args: Value, context: ToolContext| {
            let pipeline = pipeline.clone();
            async move {
                context.defer_context("before");
                let request = CallRequest::nested(&context, "c1:part:1", "inner", json!({}));
                assert_eq!((&request.scope, &request.session), (&context.scope, &context.session));
                let success = pipeline.execute(request).await?;
                assert_eq!((success.concludes_turn, &success.meta), (true, &None));
                context.forward_deferred(success.deferred);
                Ok::<_, ToolError>(success.value.as_ref().clone())
            }
        })
        .unwrap();
    for tool in [inner, outer] {
        bench.pipeline.registry().register(&Target::Global, tool).unwrap().keep();
    }
    let success = bench.call("outer", json!({})).await.unwrap();
    assert_eq!(*success.value, json!("c1 c1 c1:part:1"));
    assert_eq!(success.deferred, ["before", "from inside"].map(DeferredContext::new));
    assert!(!success.concludes_turn, "only the tool itself can ask for that");
    assert_eq!(*metas.lock().unwrap(), 0);
}

/// T-11
#[tokio::test]
async fn a_top_level_call_has_the_meta_that_its_tool_makes() {
    let bench = Bench::new(None);
    let tool = Tool::builder("shown")
        .output(json!({"type": "integer"}))
        .presentation_meta(|args, value| Ok(json!([args, value])))
        .handler(|_args: Value, _context: ToolContext| async { Ok::<_, ToolError>(json!(3)) })
        .unwrap();
    bench.pipeline.registry().register(&Target::Global, tool).unwrap().keep();
    let success = bench.call("shown", json!({"n": 1})).await.unwrap();
    assert_eq!(success.meta, Some(json!([{"n": 1}, 3])));
    let mut nested = bench.request("shown", json!({}));
    nested.parent = Some(ParentToken::new(CallId::from("r"), CallId::from("r")));
    assert_eq!(bench.pipeline.execute(nested).await.unwrap().meta, None);
}

/// P-13, P-14: the outer call's signal is the inner one's too.
#[tokio::test]
async fn stopping_the_outer_call_stops_the_inner_one() {
    let bench = Bench::new(None);
    let waits = Tool::builder("waits")
        .output(json!({"type": "null"}))
        .handler(|_args: Value, context: ToolContext| async move {
            context.cancel.cancelled().await;
            Err::<Value, _>(ToolError::failed("stopped"))
        })
        .unwrap();
    let pipeline = bench.pipeline.clone();
    let codes = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&codes);
    let outer = Tool::builder("outer")
        .output(json!({"type": "null"}))
        .handler(move |_args: Value, context: ToolContext| {
            let (pipeline, seen) = (pipeline.clone(), Arc::clone(&seen));
            async move {
                let request = CallRequest::nested(&context, "n1", "waits", json!({}));
                let stopped = pipeline.execute(request).await.unwrap_err();
                seen.lock().unwrap().push(stopped.code);
                Err::<Value, _>(ToolError::failed("the part was stopped"))
            }
        })
        .unwrap();
    for tool in [waits, outer] {
        bench.pipeline.registry().register(&Target::Global, tool).unwrap().keep();
    }
    let request = bench.request("outer", json!({}));
    let cancel = request.cancel.clone();
    let (result, ()) = tokio::join!(bench.pipeline.execute(request), async { cancel.cancel() });
    assert_eq!(failure(result).0, ErrorCode::Aborted);
    assert_eq!(*codes.lock().unwrap(), [ErrorCode::Aborted]);
}
