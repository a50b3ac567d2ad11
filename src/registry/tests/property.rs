//! Random contributions and disposals, held against the contract written down a second time.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

const SCOPES: [Option<&str>; 4] = [None, Some("p"), Some("s"), Some("q")];
const NAMES: [&str; 5] = ["alpha", "beta", "gamma", "delta", "epsilon"];

/// `s` stands on `p`; `q` stands alone.
fn chain(scope: Option<&str>) -> &'static [&'static str] {
    match scope {
        Some("p") => &["p"],
        Some("s") => &["p", "s"],
        Some("q") => &["q"],
        _ => &[],
    }
}

/// One contribution, by its place in [`SCOPES`].
#[derive(Clone, Debug)]
enum Contribution {
    Register { scope: usize, name: usize, variant: u8 },
    Restrict { scope: usize, allow: bool, names: BTreeSet<usize> },
    Guard { scope: usize, reason: u8 },
    Present { scope: usize, mode: PresentationMode },
}

#[derive(Clone, Debug)]
enum Step {
    Contribute(Contribution),
    /// The live contribution at this place, counted around.
    Dispose(usize),
}

fn contribution() -> impl Strategy<Value = Contribution> {
    let scope = 0..SCOPES.len();
    let inner = 1..SCOPES.len();
    let mode =
        prop::sample::select(&[PresentationMode::Native, PresentationMode::Code, PresentationMode::Both][..]);
    prop_oneof![
        4 => (scope.clone(), 0..NAMES.len(), 0..3_u8)
            .prop_map(|(scope, name, variant)| Contribution::Register { scope, name, variant }),
        2 => (inner.clone(), any::<bool>(), prop::collection::btree_set(0..NAMES.len(), 0..3))
            .prop_map(|(scope, allow, names)| Contribution::Restrict { scope, allow, names }),
        1 => (scope, 0..9_u8).prop_map(|(scope, reason)| Contribution::Guard { scope, reason }),
        1 => (inner, mode).prop_map(|(scope, mode)| Contribution::Present { scope, mode }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![2 => contribution().prop_map(Step::Contribute), 1 => any::<usize>().prop_map(Step::Dispose)]
}

fn target(scope: usize) -> Target {
    SCOPES[scope].map_or(Target::Global, |scope| Target::Scope(scope.into()))
}

fn contribute(registry: &Registry, contribution: &Contribution) -> Result<Disposer, RegistryError> {
    match contribution {
        Contribution::Register { scope, name, variant } => {
            registry.register(&target(*scope), tool(NAMES[*name], &format!("{name}.{variant}.{scope}")))
        }
        Contribution::Restrict { scope, allow, names } => {
            let names = names.iter().map(|name| NAMES[*name]);
            let restriction = if *allow { Restriction::allow(names) } else { Restriction::deny(names) };
            registry.restrict(&target(*scope), restriction)
        }
        Contribution::Guard { scope, reason } => {
            let reason = reason.to_string();
            registry.guard(&target(*scope), Arc::new(move |_: &CallInfo<'_>| Some(reason.clone())))
        }
        Contribution::Present { scope, mode } => registry.present_as(&SCOPES[*scope].unwrap().into(), *mode),
    }
}

/// All that a view tells, in text.
fn text(registry: &Registry, scope: Option<&str>) -> String {
    let view = registry.view(scope.map(ScopeId::from).as_ref()).unwrap();
    let tools: Vec<_> = view
        .visible()
        .iter()
        .map(|tool| format!("{}:{}", tool.definition().name(), tool.definition().model().description))
        .collect();
    let (id, tool, session) = ("c".into(), "x".into(), "s".into());
    let call =
        CallInfo { id: &id, tool: &tool, args: &Value::Null, session: &session, scope: None, parent: None };
    let vetoes: Vec<_> = view.guards().iter().filter_map(|guard| guard.veto(&call)).collect();
    let names =
        |names: &BTreeSet<ToolName>| names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    format!(
        "{:?} | {} | {} | {} | {}",
        view.mode(),
        tools.join(" "),
        names(view.known_names()),
        names(view.restrictable_names()),
        vetoes.join(" ")
    )
}

/// The same by the letter of R-8, from nothing but the contributions that are live, in the order of their making.
fn expected<'a>(live: impl Iterator<Item = &'a Contribution> + Clone, scope: Option<&str>) -> String {
    let chain = chain(scope);
    let own = chain.last().copied();
    let layers: Vec<Option<&str>> =
        std::iter::once(None).chain(chain.iter().map(|scope| Some(*scope))).collect();
    let mut inherited: BTreeMap<&str, String> = BTreeMap::new();
    let (mut own_tools, mut vetoes) = (BTreeMap::new(), Vec::new());
    let mut mode = PresentationMode::Native;
    for layer in layers {
        for contribution in live.clone() {
            match contribution {
                Contribution::Register { scope, name, variant } if SCOPES[*scope] == layer => {
                    let into = if layer.is_some() && layer == own { &mut own_tools } else { &mut inherited };
                    into.insert(NAMES[*name], format!("{name}.{variant}.{scope}"));
                }
                Contribution::Guard { scope, reason } if SCOPES[*scope] == layer => {
                    vetoes.push(reason.to_string());
                }
                Contribution::Present { scope, mode: declared } if SCOPES[*scope] == layer => {
                    mode = *declared;
                }
                _ => {}
            }
        }
    }
    let restrictable: Vec<_> = inherited.keys().copied().collect();
    let known: BTreeSet<_> = restrictable.iter().copied().chain(own_tools.keys().copied()).collect();
    let mut visible = inherited.clone();
    for contribution in live {
        if let Contribution::Restrict { scope, allow, names } = contribution
            && SCOPES[*scope].is_some_and(|scope| chain.contains(&scope))
        {
            visible.retain(|name, _| names.iter().any(|listed| NAMES[*listed] == *name) == *allow);
        }
    }
    visible.extend(own_tools);
    let mut tools: Vec<_> = visible.into_iter().map(|(name, text)| format!("{name}:{text}")).collect();
    if mode != PresentationMode::Native {
        tools.push("run_code:runs".to_owned());
    }
    let known: Vec<_> = known.into_iter().collect();
    format!(
        "{mode:?} | {} | {} | {} | {}",
        tools.join(" "),
        known.join(" "),
        restrictable.join(" "),
        vetoes.join(" ")
    )
}

/// Whether the contract lets the contribution in.
fn admissible(live: &[(Contribution, Disposer)], wanted: &Contribution) -> bool {
    match wanted {
        Contribution::Register { scope, name, .. } => !live.iter().any(|(other, _)| {
            matches!(other, Contribution::Register { scope: at, name: called, .. } if at == scope && called == name)
        }),
        Contribution::Restrict { scope, names, .. } => {
            let chain = chain(SCOPES[*scope]);
            let outer = |at: usize| SCOPES[at].is_none_or(|at| chain.iter().rev().skip(1).any(|outer| *outer == at));
            !names.is_empty()
                && names.iter().all(|wanted| {
                    live.iter().any(|(other, _)| {
                        matches!(other, Contribution::Register { scope, name, .. } if name == wanted && outer(*scope))
                    })
                })
        }
        Contribution::Guard { .. } => true,
        Contribution::Present { scope, .. } => !live
            .iter()
            .any(|(other, _)| matches!(other, Contribution::Present { scope: at, .. } if at == scope)),
    }
}

fn digests(registry: &Registry) -> Vec<String> {
    SCOPES.iter().map(|scope| registry.view(scope.map(ScopeId::from).as_ref()).unwrap().digest()).collect()
}

proptest! {
    /// whatever is contributed and disposed of, in whatever order, each view is what the
    /// live contributions make of it, and without any it is byte for byte what it was.
    #[test]
    fn views_follow_contributions_and_disposals(
        steps in prop::collection::vec(step(), 0..40),
        end in prop::collection::vec(any::<usize>(), 40),
    ) {
        let registry = Registry::new();
        registry.open_scope("p".into(), None).unwrap();
        registry.open_scope("s".into(), Some("p".into())).unwrap();
        registry.open_scope("q".into(), None).unwrap();
        registry.set_run_code(tool("run_code", "runs"));
        let before: Vec<_> = SCOPES.iter().map(|scope| text(&registry, *scope)).collect();
        let digests_before = digests(&registry);
        let mut live: Vec<(Contribution, Disposer)> = Vec::new();
        let last = end.into_iter().map(Step::Dispose);
        for step in steps.into_iter().chain(last) {
            match step {
                Step::Contribute(contribution) => {
                    let admissible = admissible(&live, &contribution);
                    let outcome = contribute(&registry, &contribution);
                    prop_assert_eq!(outcome.is_ok(), admissible, "{:?}: {:?}", contribution, outcome);
                    live.extend(outcome.ok().map(|disposer| (contribution, disposer)));
                }
                Step::Dispose(place) => {
                    let Some(place) = place.checked_rem(live.len()) else { continue };
                    let (_, mut disposer) = live.remove(place);
                    disposer.dispose();
                    // Once more changes nothing, nor does the drop.
                    disposer.dispose();
                }
            }
            for scope in SCOPES {
                let live = live.iter().map(|(contribution, _)| contribution);
                prop_assert_eq!(text(&registry, scope), expected(live, scope));
            }
        }
        prop_assert!(live.is_empty());
        let after: Vec<_> = SCOPES.iter().map(|scope| text(&registry, *scope)).collect();
        prop_assert_eq!(after, before);
        prop_assert_eq!(digests(&registry), digests_before);
    }
}
