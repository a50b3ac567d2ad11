//! What the modes show, allow and refuse (5.1), and who gets to see a refused call.
//!
//! Owns one deployment per mode, with scopes that have modes of their own. It never looks at how a program runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use isolane::host::Prompt;
use isolane::pipeline::{
    ApprovalAnswer, ApprovalQuestion, ApprovalService, BoxFuture, Call, Decision, PreExecute, PreNext,
};
use isolane::registry::{Restriction, Target};
use isolane::sdk::SdkLanguage;
use isolane::tool::CallInfo;
use tokio_util::sync::CancellationToken;

use super::*;

const MODES: [PresentationMode; 3] =
    [PresentationMode::Native, PresentationMode::Code, PresentationMode::Both];

fn names(prompt: &Prompt) -> Vec<&str> {
    prompt.schemas.iter().map(|schema| schema.name.as_str()).collect()
}

/// CM-1, CM-5, SDK-1: the mode decides what the model is shown; a program has the functions of its SDK in any mode,
/// odd names included, and `run_code` is none of them.
#[tokio::test]
async fn run_code_is_no_function_of_a_program_in_any_mode() {
    const CODE: &str = "const found = [];
for (const call of [() => tools.run_code({}), () => tools['run_code']({ code: 'return 1', description: 'x' })]) {
  try { found.push(await call()); } catch (error) { found.push(error.message); }
}
return { own: Object.getOwnPropertyNames(tools), within: 'run_code' in tools, found };";
    for mode in MODES {
        let odd = ["my-tool", "constructor"].map(|name| tool(name, &json!({}), &[], Ok));
        let session = host(mode, RunLimits::default(), odd.into()).session(SessionOptions::new("s")).unwrap();
        let (prompt, sdk) = (session.prompt().unwrap(), session.sdk(SdkLanguage::TypeScript).unwrap());
        let declared: Vec<_> = sdk.names.iter().map(String::as_str).collect();
        let shown = match mode {
            PresentationMode::Native => declared.clone(),
            PresentationMode::Code => vec!["run_code"],
            PresentationMode::Both => [&declared[..], &["run_code"]].concat(),
        };
        assert_eq!(names(&prompt), shown, "{mode:?}");
        assert_eq!(prompt.sdk, (mode != PresentationMode::Native).then_some(sdk.clone()), "{mode:?}");
        let outcome = session.run(CODE).await.result.unwrap().unwrap();
        let mut own: Vec<_> = outcome["own"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        own.sort_unstable();
        assert_eq!((own, &outcome["within"]), (declared, &json!(false)), "{mode:?}");
        for found in outcome["found"].as_array().unwrap() {
            let found = found.as_str().unwrap();
            assert!(found.starts_with("there is no tool \"run_code\""), "{mode:?}: {found}");
        }
        let direct = session.call("run_code", json!({"code": "return 1", "description": "One"})).await;
        match mode {
            PresentationMode::Native => assert_eq!(failed(direct).code, ErrorCode::UnknownTool),
            PresentationMode::Code | PresentationMode::Both => assert_eq!(read(&direct), "1"),
        }
    }
}

/// Counts what it gets to see, and asks for approval of everything.
#[derive(Debug, Default)]
struct Watch {
    policy: AtomicUsize,
    guard: AtomicUsize,
    approval: AtomicUsize,
}

impl Watch {
    fn seen(&self) -> [usize; 3] {
        [&self.policy, &self.guard, &self.approval].map(|count| count.swap(0, Ordering::Relaxed))
    }
}

struct Watching(Arc<Watch>);

impl PreExecute for Watching {
    fn decide<'a>(&'a self, _call: &'a Call, _next: PreNext<'a>) -> BoxFuture<'a, Decision> {
        self.0.policy.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(Decision::Ask { reason: None }))
    }
}

impl ApprovalService for Watching {
    fn ask<'a>(&'a self, _question: ApprovalQuestion<'a>) -> BoxFuture<'a, ApprovalAnswer> {
        self.0.approval.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(ApprovalAnswer::AllowedOnce))
    }
}

/// CM-3: a direct call of a collapsed tool is refused before anybody sees it, and shows the way; one that was
/// cancelled before is reported as cancelled.
#[tokio::test]
async fn a_collapsed_call_is_refused_before_anybody_sees_it() {
    let watch = Arc::new(Watch::default());
    let runtime = InProcessRuntime::new(&InProcessOptions { ready: 1, ..InProcessOptions::default() });
    let host = Host::builder()
        .tools(tools())
        .runtime(runtime)
        .mode(PresentationMode::Code)
        .approval(Arc::new(Watching(Arc::clone(&watch))))
        .build()
        .unwrap();
    host.registry().open_scope("agent".into(), None).unwrap();
    host.pipeline().add_pre(None, Arc::new(Watching(Arc::clone(&watch)))).keep();
    let guarding = Arc::clone(&watch);
    let guard = move |_: &CallInfo<'_>| {
        guarding.guard.fetch_add(1, Ordering::Relaxed);
        None::<String>
    };
    host.registry().guard(&Target::Global, Arc::new(guard)).unwrap().keep();
    let session = host.session(SessionOptions::new("s").scope("agent")).unwrap();
    let call = async |tool: &str, args: Value, cancel: &CancellationToken| {
        failed(session.call_with(tool, args, cancel.clone()).await)
    };
    let (open, cancelled) = (CancellationToken::new(), CancellationToken::new());
    cancelled.cancel();
    // Arguments that do not fit change nothing: the call is refused for what it is.
    for (tool, way) in
        [("add", "tools.add"), ("fetch-url", "tools[\"fetch-url\"]"), ("__proto__", "tools.__proto__")]
    {
        let refused = call(tool, json!({"a": "x"}), &open).await;
        assert_eq!(refused.code, ErrorCode::Collapsed);
        assert_eq!(
            refused.message,
            format!("`{tool}` can be called from a program only: inside run_code, `await {way}({{...}})`")
        );
        let aborted = call(tool, json!({}), &cancelled).await;
        assert_eq!(aborted.code, ErrorCode::AbortedBeforeDispatch);
    }
    assert_eq!(watch.seen(), [0, 0, 0]);
    // The same call from a program is seen by all of them, and so is the program.
    let result = run_code(&session, "return await tools.add({ a: 1, b: 2 })").await;
    assert_eq!((read(&result).as_str(), watch.seen()), ("3", [2, 2, 2]));
}

/// CM-2: what the prompt says about direct calls is what the executor does, for every tool in every scope and mode.
#[tokio::test]
async fn the_prompt_states_no_rule_that_is_not_enforced() {
    for mode in MODES {
        let host = host(mode, RunLimits::default(), Vec::new());
        host.registry().open_scope("narrow".into(), None).unwrap();
        let narrow = Target::Scope("narrow".into());
        host.registry().restrict(&narrow, Restriction::deny(["panics", "slow", "big"])).unwrap().keep();
        let mut scopes = vec![None, Some("narrow".to_owned())];
        for own in MODES {
            let scope = format!("{own:?}");
            host.registry().open_scope(scope.as_str().into(), Some("narrow".into())).unwrap();
            host.registry().present_as(&scope.as_str().into(), own).unwrap().keep();
            scopes.push(Some(scope));
        }
        for scope in scopes {
            let mut options = SessionOptions::new("s");
            options.scope = scope.as_deref().map(Into::into);
            let session = host.session(options).unwrap();
            assert_enforced(&session, &format!("{mode:?} {scope:?}")).await;
        }
    }
}

async fn assert_enforced(session: &Session, of: &str) {
    let prompt = session.prompt().unwrap();
    // Cancelled by nobody and with arguments that fit nothing: no body runs, and the code says who refused.
    let direct = async |name: &str| failed(session.call(name, json!([])).await).code;
    let mode = session.view().unwrap().mode();
    let says = |text: &str| prompt.rule.is_some_and(|rule| rule.contains(text));
    assert_eq!(says("no tool but `run_code` directly"), mode == PresentationMode::Code, "{of}");
    assert_eq!(says("Call a tool directly, or"), mode == PresentationMode::Both, "{of}");
    assert_eq!(prompt.rule.is_none(), mode == PresentationMode::Native, "{of}");
    for name in &session.sdk(SdkLanguage::TypeScript).unwrap().names {
        let expected = if says("no tool but") { ErrorCode::Collapsed } else { ErrorCode::ToolArgsInvalid };
        assert_eq!(direct(name).await, expected, "{of}: {name}");
        assert_eq!(names(&prompt).contains(&name.as_str()), expected != ErrorCode::Collapsed, "{of}: {name}");
    }
    for name in names(&prompt) {
        assert_eq!(direct(name).await, ErrorCode::ToolArgsInvalid, "{of}: {name} is shown");
    }
    // What is not shown is not there, whatever the mode.
    if session.view().unwrap().get("slow").is_none() {
        assert_eq!(direct("slow").await, ErrorCode::UnknownTool, "{of}");
    }
    if prompt.sdk.is_some() {
        let code = "const all = Object.getOwnPropertyNames(tools); const refused = [];
for (const name of all) { try { await tools[name]({}); } catch (error) { refused.push(error.code); } }
return [all.length, refused.includes('COLLAPSED'), refused.includes('UNKNOWN_TOOL')];";
        let declared = prompt.sdk.as_ref().map_or(0, |sdk| sdk.tools);
        let result = run_code(session, code).await.unwrap();
        assert_eq!(result.value["result"], json!([declared, false, false]), "{of}");
    }
}
