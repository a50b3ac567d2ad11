//! What a model was given, against what its session's events give back (L-6).
//!
//! Owns tools of every way to answer, interceptors that override what they said, a runtime that makes sub-calls, and
//! random steps of all of these. What the model was given is taken from the outcomes alone. It runs no engine.

use proptest::prelude::*;
use proptest::sample::select;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::codemode::lane::{LaneDriver, LaneHandle};
use crate::codemode::{RunReport, RunRequest};
use crate::content::ContentBlock;
use crate::json::nested;
use crate::ledger::{LedgerEvent, Message, MessageCall, bound_value, derive_messages};
use crate::pipeline::{BoxFuture, PostDecision, PostExecute, PostNext};
use crate::step::{BatchRule, StepCall, StepConfig, StepOutcome};
use crate::tool::{
    CallCard, CardKind, Concurrency, RecordedCall, ResultCard, ToolBuilder, ToolDefinition, derive_cards,
};

/// Makes a sub-call of each kind and returns nothing.
#[derive(Debug)]
struct Calls;

impl CodeRuntime for Calls {
    fn language(&self) -> &'static str {
        "typescript"
    }

    fn run(&self, _: RunRequest, handle: LaneHandle, driver: LaneDriver) -> BoxFuture<'static, RunReport> {
        let program = async move {
            for (tool, args) in
                [("echo", json!({"say": "inside"})), ("fails", json!({})), ("defers", json!({}))]
            {
                handle.submit(tool.into(), args).unwrap();
                std::future::poll_fn(|context| handle.poll_settled(context)).await;
            }
            handle.close();
        };
        Box::pin(async move {
            let (lane, ()) = tokio::join!(driver.drive(), program);
            let logs = vec!["printed".to_owned()];
            RunReport {
                result: Ok(None),
                logs,
                notes: Vec::new(),
                inputs: String::new(),
                stray: None,
                lane,
                busy: Duration::from_millis(3),
            }
        })
    }
}

/// Overrides results as the call's arguments say.
#[derive(Debug)]
struct Overrides;

impl PostExecute for Overrides {
    fn review<'a>(
        &'a self,
        call: &'a Call,
        _result: &'a CallResult,
        next: PostNext<'a>,
    ) -> BoxFuture<'a, PostDecision> {
        let decision = match call.args.get("review").and_then(Value::as_str) {
            Some("spill") => PostDecision::AcceptContent(vec![ContentBlock::text("the rest is in a file")]),
            Some("value") => PostDecision::AcceptValue(json!({"say": "replaced"})),
            Some("block") => {
                let deferred = vec![crate::outcome::DeferredContext::new("blocked")];
                PostDecision::Block { feedback: "not like this".to_owned(), deferred }
            }
            _ => return next.review(),
        };
        Box::pin(std::future::ready(decision))
    }
}

/// The signal of the step that is under way, for a tool that ends it.
type Signal = Arc<Mutex<CancellationToken>>;

fn builder(name: &str) -> ToolBuilder {
    Tool::builder(name)
        .parameters(json!({"type": "object", "properties": {
            "say": {"type": "string"}, "review": {"type": "string"}, "yields": {"type": "integer"},
        }}))
        .output(json!({}))
        .render(|_, value| Ok(vec![ContentBlock::text(value["say"].as_str().unwrap_or("nothing"))]))
        .presentation_meta(|_, value| Ok(json!({"letters": value["say"].as_str().map(str::len)})))
        .present_call(|args| {
            let title = args.get("say").and_then(Value::as_str)?.to_owned();
            let (kind, raw_input) = (CardKind::Think, args.clone());
            Some(CallCard::Generic { title, kind, raw_input, locations: Vec::new() })
        })
        .present_result(|args, result| {
            // Of all that it may draw from, what is in the events.
            let drawn = match result {
                Ok(success) => {
                    json!([success.content, success.meta, success.concludes_turn, success.deferred])
                }
                Err(failure) => json!([failure.code, failure.details, failure.content, failure.deferred]),
            };
            let raw_input = json!([args, drawn]);
            let kind = CardKind::Think;
            Some(ResultCard::Generic { title: "drawn".to_owned(), kind, raw_input, locations: Vec::new() })
        })
        .concurrency(Concurrency::Parallel)
}

async fn body(
    name: &'static str,
    args: Value,
    context: ToolContext,
    signal: Signal,
) -> Result<Value, ToolError> {
    for _ in 0..args["yields"].as_u64().unwrap_or(0) {
        tokio::task::yield_now().await;
    }
    match name {
        "fails" => return Err(ToolError::failed("no").with_details(json!({"why": [1, null]}))),
        "panics" => panic!("scripted"),
        "defers" => context.defer_context(format!("later of {}", context.call)),
        "concludes" => context.conclude_turn(),
        "fails_late" => {
            context.defer_context("it had said");
            return Err(ToolError::failed("no"));
        }
        "ends" if context.parent.is_none() => signal.lock().unwrap().cancel(),
        "pictures" => {
            let image = ContentBlock::Image { data: "AA==".to_owned(), mime_type: "image/png".to_owned() };
            context
                .set_content(vec![image, ContentBlock::Json { value: json!({"f": [0.1, 1e300, u64::MAX]}) }]);
        }
        _ => {}
    }
    Ok(args)
}

const TOOLS: &[&str] = &[
    "echo",
    "fails",
    "panics",
    "defers",
    "concludes",
    "fails_late",
    "ends",
    "pictures",
    "alone",
    "finalized",
];

fn world() -> (Host, Signal) {
    let signal = Signal::default();
    let tools = TOOLS.iter().map(|name| {
        let signal = Arc::clone(&signal);
        let builder = match *name {
            "alone" => builder(name).concurrency(Concurrency::Exclusive),
            "finalized" => builder(name).finalize_content(|call, _| {
                Some(vec![ContentBlock::text(format!("final \u{2028} of {}", call.id))])
            }),
            _ => builder(name),
        };
        builder
            .handler(move |args: Value, context: ToolContext| body(name, args, context, Arc::clone(&signal)))
    });
    let host = Host::builder()
        .tools(tools.map(Result::unwrap))
        .runtime(Calls)
        .mode(PresentationMode::Both)
        .clock(Arc::new(ManualClock::new()))
        .build()
        .unwrap();
    host.pipeline().add_post(None, Arc::new(Overrides)).keep();
    host.pipeline().add_pre(None, Arc::new(AskAbout("asked".into()))).keep();
    (host, signal)
}

/// One call of a plan.
#[derive(Clone, Debug)]
struct Planned {
    tool: &'static str,
    args: Value,
}

fn planned() -> impl Strategy<Value = Planned> {
    let mut tools = TOOLS.to_vec();
    tools.extend(["echo", "nothing", "asked", "run_code", "run_code"]);
    let args = prop_oneof![
        8 => (any::<String>(), select(vec!["", "", "spill", "value", "block"]), 0..4_u64)
            .prop_map(|(say, review, yields)| json!({"say": say, "review": review, "yields": yields})),
        1 => Just(json!({"say": 5})),
        1 => Just(json!("not JSON {")),
        1 => Just(nested(400)),
        1 => any::<f64>().prop_map(|float| json!({"say": "x", "more": float})),
    ];
    (select(tools), args, any::<bool>()).prop_map(|(tool, args, titled)| match (tool, titled) {
        ("run_code", true) => Planned { tool, args: json!({"code": "1", "description": "one"}) },
        ("run_code", false) => Planned { tool, args: json!({"code": "1"}) },
        _ => Planned { tool, args },
    })
}

#[derive(Clone, Debug)]
enum Turn {
    Step(Vec<Planned>, StepConfig),
    Single(Planned),
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let rule = select(vec![BatchRule::Groups, BatchRule::AllOrSerial]);
    let config = (select(vec![1, 2, 10]), rule).prop_map(|(max_parallel, batch_rule)| StepConfig {
        max_parallel,
        batch_rule,
        drain: None,
    });
    let step =
        (prop::collection::vec(planned(), 1..6), config).prop_map(|(plan, config)| Turn::Step(plan, config));
    prop::collection::vec(prop_oneof![3 => step, 1 => planned().prop_map(Turn::Single)], 1..5)
}

/// What the model was given, and what people were shown of it at the time.
#[derive(Default)]
struct Given {
    messages: Vec<Message>,
    cards: Vec<RecordedCall>,
}

impl Given {
    /// Notes the calls as the model made them, and what the host was told of each.
    fn note(&mut self, host: &Host, calls: Vec<StepCall>, outcome: &StepOutcome) {
        assert_eq!(calls.len(), outcome.results.len());
        for (call, result) in calls.iter().zip(&outcome.results) {
            let definition = definition(host, &call.tool);
            let shown = definition.as_ref().and_then(|definition| definition.present_call(&call.args));
            let drawn = definition
                .as_ref()
                .and_then(|definition| definition.present_result(&call.args, &result.result));
            self.cards.push(RecordedCall {
                call: call.id.clone(),
                tool: call.tool.clone(),
                parent: None,
                shown: shown.unwrap_or_else(|| CallCard::generic(&call.tool, &call.args)),
                result: Some(drawn.unwrap_or_else(|| ResultCard::generic(&call.tool, &call.args))),
                is_error: result.result.is_err(),
            });
        }
        let calls = calls.into_iter().map(|StepCall { id, tool, args }| MessageCall {
            call: id,
            tool,
            arguments: Arc::new(args),
        });
        self.messages.push(Message::Assistant { calls: calls.collect() });
        for result in &outcome.results {
            self.messages.push(Message::Tool {
                call: result.id.clone(),
                tool: result.tool.clone(),
                is_error: result.result.is_err(),
                content: match &result.result {
                    Ok(success) => success.content.clone(),
                    Err(failure) => failure.content.clone(),
                },
            });
        }
        let deferred = outcome.deferred().map(|context| Message::Context { text: context.text.clone() });
        self.messages.extend(deferred);
    }
}

fn definition(host: &Host, tool: &ToolName) -> Option<Arc<ToolDefinition>> {
    host.registry()
        .view(Some(&"agent".into()))
        .unwrap()
        .get(tool.as_str())
        .map(|tool| tool.definition().clone())
}

/// The arguments as far as a value of any depth may be held.
fn held(mut args: Value) -> Value {
    bound_value(&mut args);
    args
}

/// The events as they come from a file.
fn read_back(events: &[LedgerEvent]) -> Vec<LedgerEvent> {
    events.iter().map(|event| serde_json::from_str(&serde_json::to_string(event).unwrap()).unwrap()).collect()
}

fn text(messages: &[Message]) -> String {
    messages.iter().map(|message| serde_json::to_string(message).unwrap() + "\n").collect()
}

async fn play(turns: Vec<Turn>) {
    let (host, signal) = world();
    host.registry().open_scope("agent".into(), None).unwrap();
    let (ledger, store) = Ledger::in_memory("s".into(), Arc::clone(host.clock()));
    let session = host.session(SessionOptions::new("s").scope("agent").ledger(ledger)).unwrap();
    let (mut given, mut single, mut number) = (Given::default(), 0, 0);
    for turn in turns {
        match turn {
            Turn::Step(plan, config) => {
                *signal.lock().unwrap() = CancellationToken::new();
                let cancel = Some(signal.lock().unwrap().clone());
                let calls: Vec<_> = plan
                    .iter()
                    .map(|planned| {
                        number += 1;
                        // Models give an id twice now and then.
                        let id = format!("c-{}", number - number % 2);
                        StepCall::new(id, planned.tool, planned.args.clone())
                    })
                    .collect();
                let held =
                    calls.iter().cloned().map(|call| StepCall { args: held(call.args), ..call }).collect();
                let options = StepOptions { config, cancel, progress: None };
                let outcome = session.execute_step_with(calls, options).await.unwrap();
                given.note(&host, held, &outcome);
            }
            Turn::Single(Planned { tool, args }) => {
                single += 1;
                let result = session.call(tool, args.clone()).await;
                let call = StepCall::new(format!("call-{single}"), tool, held(args));
                let result = crate::step::StepResult { id: call.id.clone(), tool: call.tool.clone(), result };
                given.note(&host, vec![call], &StepOutcome { results: vec![result] });
            }
        }
        // Whatever comes later, what was said stays as it was.
        let events = read_back(&store.events());
        assert_eq!(text(&derive_messages(&events)), text(&given.messages));
        let cards = derive_cards(&events, |tool| definition(&host, tool));
        let own: Vec<_> = cards.iter().filter(|card| card.parent.is_none()).cloned().collect();
        assert_eq!(own, given.cards);
        let inside = cards.len() - own.len();
        let started =
            events.iter().filter(|event| matches!(event.body, EventBody::CodeDispatchStart(_))).count();
        assert_eq!(inside, started);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// L-6, T-3: byte for byte, with spilled, replaced and blocked results, failures, panics, calls that were never
    /// started, programs with sub-calls, and steps that were ended; and the cards of all calls.
    #[test]
    fn what_a_model_was_given_is_what_the_events_give_back(turns in turns()) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(play(turns));
    }
}

/// L-6: a history that breaks off anywhere gives back a part of the messages, and a call without a result has none.
#[tokio::test]
async fn a_history_that_breaks_off_makes_up_no_answer() {
    let (host, _) = world();
    let (ledger, store) = Ledger::in_memory("s".into(), Arc::clone(host.clock()));
    let session = host.session(SessionOptions::new("s").ledger(ledger)).unwrap();
    let calls = ["echo", "run_code", "defers"].map(|tool| StepCall::new(tool, tool, json!({"code": "1"})));
    session.execute_step(calls.to_vec()).await.unwrap();
    let events = store.events();
    let whole = derive_messages(&events);
    assert_eq!(derive_messages(&[]), []);
    for end in 1..events.len() {
        let part = derive_messages(&events[..end]);
        let Some((Message::Assistant { calls }, results)) = part.split_first() else { panic!("{part:?}") };
        let Message::Assistant { calls: all } = &whole[0] else { panic!("{whole:?}") };
        assert_eq!(calls[..], all[..calls.len()]);
        assert!(results.iter().all(|message| whole.contains(message)));
        let open = crate::ledger::unsettled(&events[..end]);
        let open = open.iter().filter(|event| matches!(event.body, EventBody::ToolCall(_))).count();
        let answers = results.iter().filter(|message| matches!(message, Message::Tool { .. })).count();
        assert_eq!(answers + open, calls.len());
    }
}

/// L-6, T-3: a definition that is gone or has changed has generic cards, and is no failure.
#[tokio::test]
async fn a_tool_that_is_gone_has_generic_cards() {
    let (host, _) = world();
    let (ledger, store) = Ledger::in_memory("s".into(), Arc::clone(host.clock()));
    let session = host.session(SessionOptions::new("s").ledger(ledger)).unwrap();
    session.call("echo", json!({"say": "hi"})).await.unwrap();
    session.call("run_code", json!({"code": "1", "description": "one"})).await.unwrap();
    let shown = |cards: Vec<RecordedCall>| -> Vec<_> {
        let title = |card: &RecordedCall| match (&card.shown, &card.result) {
            (CallCard::Generic { title: call, .. }, Some(ResultCard::Generic { title: result, .. })) => {
                format!("{call}, {result}")
            }
            other => panic!("{other:?}"),
        };
        cards.iter().map(title).collect()
    };
    let events = store.events();
    let today =
        |tool: &ToolName| session.view().unwrap().get(tool.as_str()).map(|tool| tool.definition().clone());
    assert_eq!(
        shown(derive_cards(&events, today)),
        ["hi, drawn", "one, run_code", "inside, drawn", "fails, drawn", "defers, drawn"]
    );
    assert_eq!(
        shown(derive_cards(&events, |_| None)),
        ["echo, echo", "run_code, run_code", "echo, echo", "fails, fails", "defers, defers"]
    );
    let changed = Tool::builder("echo")
        .parameters(json!({"type": "object", "properties": {"say": {"type": "integer"}}}))
        .output(json!({}))
        .present_call(|_| panic!("a call that does not fit is not shown to it"))
        .handler(|args: Value, _: ToolContext| async move { Ok::<_, ToolError>(args) })
        .unwrap();
    let changed = |tool: &ToolName| (tool.as_str() == "echo").then(|| changed.definition().clone());
    assert_eq!(shown(derive_cards(&events[..2], changed)), ["echo, echo"]);
}
