//! Random chains of guards and interceptors.

use proptest::prelude::*;

use super::*;
use crate::outcome::CallSuccess;

/// What one pre-execute interceptor does.
#[derive(Clone, Debug)]
enum Judge {
    Delegates,
    Says(Decision),
    /// Delegates, and allows whatever the rest denied.
    Overrules,
}

impl PreExecute for Judge {
    fn decide<'a>(&'a self, _call: &'a Call, next: PreNext<'a>) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            match self {
                Self::Delegates => next.decide().await,
                Self::Says(decision) => decision.clone(),
                Self::Overrules => {
                    let _ = next.decide().await;
                    Decision::Allow
                }
            }
        })
    }
}

/// What one wrapper does.
#[derive(Clone, Copy, Debug)]
enum Wrap {
    Runs,
    RunsTwice,
    MakesUp,
}

impl AroundDispatch for Wrap {
    fn around<'a>(&'a self, _call: &'a Call, next: AroundNext<'a>) -> BoxFuture<'a, CallResult> {
        Box::pin(async move {
            match self {
                Self::Runs => next.run().await,
                Self::RunsTwice => {
                    let _ = next.run().await;
                    next.run().await
                }
                Self::MakesUp => Ok(CallSuccess {
                    value: Arc::new(json!(9)),
                    content: vec![ContentBlock::text("made up")],
                    meta: None,
                    deferred: Vec::new(),
                    concludes_turn: true,
                }),
            }
        })
    }
}

#[derive(Clone, Debug)]
struct Chains {
    judges: Vec<Judge>,
    /// Scope or global, and the veto.
    guards: Vec<(bool, Option<String>)>,
    wraps: Vec<Wrap>,
    reviews: Vec<Option<PostDecision>>,
    answer: Option<ApprovalAnswer>,
}

struct Review(Option<PostDecision>);

impl PostExecute for Review {
    fn review<'a>(
        &'a self,
        _call: &'a Call,
        _result: &'a CallResult,
        next: PostNext<'a>,
    ) -> BoxFuture<'a, PostDecision> {
        match &self.0 {
            Some(decision) => Box::pin(std::future::ready(decision.clone())),
            None => next.review(),
        }
    }
}

fn answers() -> impl Strategy<Value = Option<ApprovalAnswer>> {
    prop_oneof![
        Just(None),
        Just(Some(ApprovalAnswer::AllowedOnce)),
        Just(Some(ApprovalAnswer::Rejected { note: None })),
        Just(Some(ApprovalAnswer::Cancelled)),
        Just(Some(ApprovalAnswer::Unavailable { reason: "away".to_owned() })),
    ]
}

fn chains() -> impl Strategy<Value = Chains> {
    let judge = prop_oneof![
        3 => Just(Judge::Delegates),
        1 => Just(Judge::Says(Decision::Allow)),
        1 => Just(Judge::Says(Decision::Deny { reason: "denied".to_owned() })),
        1 => Just(Judge::Says(Decision::Ask { reason: None })),
        1 => Just(Judge::Overrules),
    ];
    let guard = (any::<bool>(), prop::option::weighted(0.3, Just("veto".to_owned())));
    let wrap = prop_oneof![Just(Wrap::Runs), Just(Wrap::RunsTwice), Just(Wrap::MakesUp)];
    let review = prop_oneof![
        Just(None),
        Just(Some(PostDecision::Accept)),
        Just(Some(PostDecision::AcceptContent(vec![ContentBlock::text("fine")]))),
        Just(Some(PostDecision::AcceptValue(json!(1)))),
        Just(Some(PostDecision::Block { feedback: "no".to_owned(), deferred: Vec::new() })),
    ];
    (
        prop::collection::vec(judge, 0..4),
        prop::collection::vec(guard, 0..4),
        prop::collection::vec(wrap, 0..3),
        prop::collection::vec(review, 0..3),
        answers(),
    )
        .prop_map(|(judges, guards, wraps, reviews, answer)| Chains {
            judges,
            guards,
            wraps,
            reviews,
            answer,
        })
}

/// Whether the call may run, by the letter of the contract.
fn admitted(chains: &Chains) -> bool {
    let mut decision = Decision::Allow;
    for judge in &chains.judges {
        match judge {
            Judge::Delegates => {}
            Judge::Says(said) => {
                decision = said.clone();
                break;
            }
            Judge::Overrules => {
                decision = Decision::Allow;
                break;
            }
        }
    }
    let allowed = match decision {
        Decision::Allow => true,
        Decision::Ask { .. } => chains.answer == Some(ApprovalAnswer::AllowedOnce),
        Decision::Deny { .. } => false,
    };
    allowed && chains.guards.iter().all(|(_, veto)| veto.is_none())
}

proptest! {
    /// P-1, P-2, P-4, P-5, R-6: no order of interceptors, answers, wrappers and reviewers turns a veto into a success,
    /// and what is not admitted never reaches the body.
    #[test]
    fn a_veto_is_never_turned_into_a_success(chains in chains()) {
        let service = chains.answer.clone().map(|answer| Arc::new(Answer(answer)) as Arc<dyn ApprovalService>);
        let bench = Bench::new(service);
        bench.tool("add", |_| Ok(json!(3)));
        for judge in &chains.judges {
            bench.pipeline.add_pre(None, Arc::new(judge.clone())).keep();
        }
        for (scoped, veto) in chains.guards.clone() {
            let target = if scoped { Target::Scope("agent".into()) } else { Target::Global };
            let guard = move |_: &CallInfo<'_>| veto.clone();
            bench.pipeline.registry().guard(&target, Arc::new(guard)).unwrap().keep();
        }
        for wrap in &chains.wraps {
            bench.pipeline.add_around(None, Arc::new(*wrap)).keep();
        }
        for review in &chains.reviews {
            bench.pipeline.add_post(None, Arc::new(Review(review.clone()))).keep();
        }
        // A scheduler that dispatches whatever the route, and twice, runs no body more than one that does not.
        let reckless = async {
            let prepared = bench.pipeline.prepare(bench.request("add", json!({}))).await;
            let first = (bench.pipeline.dispatch(&prepared).await, bench.log());
            (first, (bench.pipeline.dispatch(&prepared).await, bench.log()))
        };
        let (first, second) = futures_util::FutureExt::now_or_never(reckless).unwrap();
        let host_bug = |result: &CallResult| {
            result.as_ref().is_err_and(|failure| failure.code == ErrorCode::HostBug)
        };
        prop_assert_eq!(host_bug(&first.0), !admitted(&chains));
        prop_assert!(admitted(&chains) || first.1.is_empty());
        prop_assert!(host_bug(&second.0) && second.1.is_empty(), "{:?}", second);
        let result = futures_util::FutureExt::now_or_never(bench.call("add", json!({}))).unwrap();
        let reached_body = !bench.log().is_empty();
        if admitted(&chains) {
            let blocked = chains.reviews.iter().flatten().next();
            let blocked = matches!(blocked, Some(PostDecision::Block { .. }));
            prop_assert_eq!(result.is_ok(), !blocked);
            prop_assert_eq!(reached_body, !chains.wraps.iter().any(|wrap| matches!(wrap, Wrap::MakesUp)));
        } else {
            prop_assert!(result.is_err());
            prop_assert!(!reached_body);
            let code = result.unwrap_err().code;
            let denials = [
                ErrorCode::Denied,
                ErrorCode::ApprovalRejected,
                ErrorCode::ApprovalCancelled,
                ErrorCode::ApprovalUnavailable,
            ];
            prop_assert!(denials.contains(&code), "{}", code);
        }
    }
}
