//! What a view holds, and how views follow changes.

use std::sync::atomic::AtomicBool;

use super::*;
use crate::clock::{Clock, SystemClock};

fn told(names: &std::collections::BTreeSet<ToolName>) -> String {
    names.iter().map(ToolName::as_str).collect::<Vec<_>>().join(" ")
}

/// known names are those before filtering; what can be restricted is what comes from further out.
#[test]
fn a_view_tells_known_and_restrictable_names_apart() {
    let registry = layered();
    registry.restrict(&Target::Scope("p".into()), Restriction::allow(["a"])).unwrap().keep();
    let own = view(&registry, "s");
    assert_eq!((told(own.known_names()), told(own.restrictable_names())), ("a b c d".into(), "a b c".into()));
    assert_eq!(names(&registry, Some("s")), "a:global d:own");
    let preset = view(&registry, "p");
    assert_eq!(
        (told(preset.known_names()), told(preset.restrictable_names())),
        ("a b c".into(), "a b c".into())
    );
    // A name that another restriction hides can still be restricted.
    assert!(registry.restrict(&Target::Scope("s".into()), Restriction::deny(["c"])).is_ok());
    assert_eq!(own.chain(), ["p".into(), "s".into()]);
    assert_eq!(registry.view(None).unwrap().chain(), []);
}

/// what the own layer holds is exempt from every filter on the chain, also when it shadows a name that is denied.
#[test]
fn the_own_layer_is_exempt_though_it_shadows() {
    let registry = layered();
    registry.restrict(&Target::Scope("p".into()), Restriction::deny(["a"])).unwrap().keep();
    registry.register(&Target::Scope("s".into()), tool("a", "own")).unwrap().keep();
    assert_eq!(names(&registry, Some("s")), "a:own b:preset c:global d:own");
    registry.open_scope("t".into(), Some("s".into())).unwrap();
    assert_eq!(
        names(&registry, Some("t")),
        "b:preset c:global d:own",
        "one scope further in it is inherited"
    );
}

/// `run_code` comes last and outside of every filter, exactly when the mode is not native.
#[test]
fn run_code_is_outside_of_every_filter() {
    let registry = layered();
    registry.set_run_code(tool("run_code", "runs"));
    registry.register(&Target::Global, tool("zebra", "global")).unwrap().keep();
    registry.restrict(&Target::Scope("p".into()), Restriction::allow(["a"])).unwrap().keep();
    assert_eq!(names(&registry, Some("s")), "a:global d:own");
    for (mode, expected) in [
        (PresentationMode::Code, "a:global d:own run_code:runs"),
        (PresentationMode::Both, "a:global d:own run_code:runs"),
        (PresentationMode::Native, "a:global d:own"),
    ] {
        let declared = registry.present_as(&"s".into(), mode).unwrap();
        assert_eq!(names(&registry, Some("s")), expected);
        drop(declared);
    }
    let both = Restriction { allow: ["run_code".into()].into(), deny: std::collections::BTreeSet::new() };
    assert!(registry.restrict(&Target::Scope("s".into()), both).is_err());
}

/// shown, resolved and allowed are three questions with three answers.
#[test]
fn shown_resolved_and_allowed_are_three_questions() {
    let registry = layered();
    registry.set_run_code(tool("run_code", ""));
    registry.present_as(&"s".into(), PresentationMode::Code).unwrap().keep();
    registry.restrict(&Target::Scope("p".into()), Restriction::deny(["c"])).unwrap().keep();
    let view = view(&registry, "s");
    let mut told = Vec::new();
    for name in ["a", "c", "run_code", "nothing"] {
        let shown = view.schemas().iter().any(|model| model.name.as_str() == name);
        let allowed = [false, true].map(|nested| match view.resolve_execution(name, nested) {
            Resolution::Tool(_) => "yes",
            Resolution::Collapsed(_) => "collapsed",
            Resolution::Hidden => "hidden",
            Resolution::Unknown => "unknown",
        });
        told.push(format!("{name} {shown} {} {}", view.get(name).is_some(), allowed.join("/")));
    }
    assert_eq!(
        told,
        [
            "a false true collapsed/yes",
            "c false false hidden/hidden",
            "run_code true true yes/unknown",
            "nothing false false unknown/unknown"
        ]
    );
}

/// R-9, T-1: what is shown has three members and none that belongs to the host.
#[test]
fn schemas_hold_what_a_model_is_shown_and_no_more() {
    let registry = layered();
    let shown = serde_json::to_value(view(&registry, "s").schemas()).unwrap();
    for model in shown.as_array().unwrap() {
        let keys: Vec<_> = model.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["name", "description", "parameters"]);
    }
    assert_eq!(shown.as_array().unwrap().len(), 4);
}

/// a scope that is closed takes its contributions with it; disposers of them are harmless.
#[test]
fn a_closed_scope_is_gone_with_all_that_it_held() {
    let registry = layered();
    let before = view(&registry, "p").digest();
    let in_use = registry.close_scope(&"p".into()).unwrap_err();
    assert_eq!(in_use.to_string(), "the scope `p` cannot be closed: `s` stands on it");
    let late = registry.register(&Target::Scope("s".into()), tool("e", "own")).unwrap();
    registry.close_scope(&"s".into()).unwrap();
    assert_eq!(
        registry.view(Some(&"s".into())).unwrap_err(),
        RegistryError::UnknownScope { scope: "s".into() }
    );
    assert!(registry.close_scope(&"s".into()).is_err());
    drop(late);
    assert!(!registry.exists_anywhere(&"d".into()));
    assert_eq!(view(&registry, "p").digest(), before);
    registry.open_scope("s".into(), Some("p".into())).unwrap();
    assert_eq!(names(&registry, Some("s")), "a:global b:preset c:global", "opened anew, it is empty");
    registry.close_scope(&"s".into()).unwrap();
    registry.close_scope(&"p".into()).unwrap();
}

/// restrictions and their disposal notify, as do scopes, whoever listens.
#[test]
fn every_subscriber_hears_of_every_scope() {
    let registry = layered();
    let (mut one, mut two) = (registry.subscribe(), registry.subscribe());
    let mut heard = || {
        let heard = (one.has_changed().unwrap(), two.has_changed().unwrap());
        one.mark_unchanged();
        two.mark_unchanged();
        heard
    };
    let restriction = registry.restrict(&Target::Scope("s".into()), Restriction::deny(["a"])).unwrap();
    assert_eq!(heard(), (true, true));
    drop(restriction);
    assert_eq!(heard(), (true, true));
    registry.close_scope(&"s".into()).unwrap();
    assert_eq!(heard(), (true, true));
    assert_eq!(heard(), (false, false));
    assert!(registry.register(&Target::Global, tool("a", "")).is_err());
    assert_eq!(heard(), (false, false), "what was refused changed nothing");
}

/// readers beside a writer see whole generations only: each change adds one tool.
#[test]
fn readers_see_one_generation_at_a_time() {
    const TOOLS: u64 = 300;
    let registry = Registry::new();
    let start = registry.view(None).unwrap().generation();
    let done = AtomicBool::new(false);
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                let mut last = start;
                while !done.load(Ordering::Relaxed) {
                    let view = registry.view(None).unwrap();
                    assert_eq!(view.visible().len() as u64, view.generation() - start);
                    assert_eq!(view.known_names().len(), view.visible().len());
                    assert!(view.generation() >= last, "a reader never goes back");
                    last = view.generation();
                }
            });
        }
        for n in 0..TOOLS {
            registry.register(&Target::Global, tool(&format!("t{n}"), "")).unwrap().keep();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(registry.view(None).unwrap().visible().len() as u64, TOOLS);
}

/// looking a name up costs no more among ten thousand tools than among ten. Linear work would cost a thousand
/// times as much; the smallest of many rounds leaves out what else the machine does.
#[test]
fn looking_a_name_up_does_not_depend_on_the_number_of_tools() {
    let clock = SystemClock::new();
    let cost = |count: usize| {
        let registry = Registry::new();
        for n in 0..count {
            registry.register(&Target::Global, tool(&format!("t{n}"), "")).unwrap().keep();
        }
        let wanted: Vec<_> = (0..10).map(|n| format!("t{}", n * count / 10)).collect();
        let rounds = (0..50).map(|_| {
            let began = clock.monotonic();
            for _ in 0..20 {
                for name in &wanted {
                    let view = registry.view(None).unwrap();
                    assert!(matches!(view.resolve_execution(name, false), Resolution::Tool(_)));
                }
            }
            clock.monotonic().saturating_sub(began)
        });
        rounds.min().unwrap()
    };
    let (few, many) = (cost(10), cost(10_000));
    assert!(many < few * 50, "{many:?} among ten thousand, {few:?} among ten");
}
