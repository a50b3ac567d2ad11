//! The registry's rules, one test each.

mod property;
mod sharing;
mod views;

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::*;
use crate::tool::{
    CallInfo, ModelFace, PresentationFace, SchedulerFace, ToolContext, ToolDefinition, ToolError,
};

async fn nothing(_args: Value, _context: ToolContext) -> Result<Value, ToolError> {
    Ok(Value::Null)
}

/// Compiled once: most of what these tests would do otherwise is compiling the same schemas.
fn tool(name: &str, description: &str) -> Tool {
    static BASE: OnceLock<Tool> = OnceLock::new();
    let base =
        BASE.get_or_init(|| Tool::builder("base").output(json!({"type": "null"})).handler(nothing).unwrap());
    let ToolDefinition { model, parameters, output, .. } = &**base.definition();
    let model = ModelFace { name: name.into(), description: description.into(), ..model.clone() };
    let definition = ToolDefinition {
        model,
        parameters: parameters.clone(),
        output: output.clone(),
        presentation: PresentationFace::default(),
        scheduler: SchedulerFace::default(),
    };
    Tool { definition: Arc::new(definition), handler: Arc::clone(base.handler()) }
}

fn names(registry: &Registry, scope: Option<&str>) -> String {
    let scope = scope.map(ScopeId::from);
    let view = registry.view(scope.as_ref()).unwrap();
    let names: Vec<_> = view
        .visible()
        .iter()
        .map(|tool| format!("{}:{}", tool.definition().name(), tool.definition().model().description))
        .collect();
    names.join(" ")
}

/// Global a, b, c; preset scope `p` with b; agent scope `s` in it with d.
fn layered() -> Registry {
    let registry = Registry::new();
    for name in ["c", "a", "b"] {
        registry.register(&Target::Global, tool(name, "global")).unwrap().keep();
    }
    registry.open_scope("p".into(), None).unwrap();
    registry.open_scope("s".into(), Some("p".into())).unwrap();
    registry.register(&Target::Scope("p".into()), tool("b", "preset")).unwrap().keep();
    registry.register(&Target::Scope("s".into()), tool("d", "own")).unwrap().keep();
    registry
}

///
#[test]
fn inner_layers_shadow_outer_ones() {
    let registry = layered();
    assert_eq!(names(&registry, None), "a:global b:global c:global");
    assert_eq!(names(&registry, Some("p")), "a:global b:preset c:global");
    assert_eq!(names(&registry, Some("s")), "a:global b:preset c:global d:own");
}

///
#[test]
fn restrictions_intersect_along_the_chain_and_spare_the_own_layer() {
    let registry = layered();
    let preset = registry.restrict(&Target::Scope("p".into()), Restriction::deny(["a"])).unwrap();
    let own = registry.restrict(&Target::Scope("s".into()), Restriction::allow(["a", "b"])).unwrap();
    assert_eq!(names(&registry, Some("s")), "b:preset d:own");
    let filtered = view(&registry, "s");
    assert!(matches!(filtered.resolve_execution("c", true), Resolution::Hidden));
    let all = |names: &std::collections::BTreeSet<ToolName>| {
        names.iter().map(ToolName::as_str).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(all(filtered.known_names()), "a b c d", "before filtering");
    assert_eq!(all(filtered.restrictable_names()), "a b c", "of the outer layers");
    drop(own);
    assert_eq!(names(&registry, Some("s")), "b:preset c:global d:own");
    drop(preset);
    assert_eq!(names(&registry, Some("s")), "a:global b:preset c:global d:own");
}

fn view(registry: &Registry, scope: &str) -> Arc<RegistryView> {
    registry.view(Some(&scope.into())).unwrap()
}

/// All that a view tells, of the global view and of both scopes, but for the generation.
fn told(registry: &Registry) -> String {
    let scopes = [None, Some("p"), Some("s")].map(|scope| scope.map(ScopeId::from));
    let views = scopes.map(|scope| {
        let view = registry.view(scope.as_ref()).unwrap();
        let tools: Vec<_> =
            view.visible().iter().map(|tool| (tool.id(), tool.definition().model())).collect();
        let names = (view.known_names(), view.restrictable_names());
        format!("{:?} {:?} {tools:?} {names:?} {}", view.chain(), view.mode(), view.guards().len())
    });
    views.join("\n")
}

///
#[test]
fn what_is_disposed_of_leaves_every_view_as_it_was() {
    let registry = layered();
    let before = told(&registry);
    let scope = Target::Scope("s".into());
    let guard = || Arc::new(|_: &CallInfo<'_>| None::<String>);
    let contributions: [&dyn Fn() -> Disposer; 6] = [
        &|| registry.register(&Target::Global, tool("x", "new")).unwrap(),
        &|| registry.register(&scope, tool("a", "shadow")).unwrap(),
        &|| registry.restrict(&scope, Restriction::deny(["a"])).unwrap(),
        &|| registry.guard(&Target::Global, guard()).unwrap(),
        &|| registry.guard(&scope, guard()).unwrap(),
        &|| registry.present_as(&"p".into(), PresentationMode::Code).unwrap(),
    ];
    for (index, contribute) in contributions.iter().enumerate() {
        let mut disposer = contribute();
        assert_ne!(told(&registry), before, "{index}");
        disposer.dispose();
        assert_eq!(told(&registry), before, "{index}");
        // Made again in the meantime, it is another one, which the first disposer does not know.
        let again = contribute();
        disposer.dispose();
        drop(disposer);
        assert_ne!(told(&registry), before, "{index}");
        drop(again);
        assert_eq!(told(&registry), before, "{index}");
    }
}

///
#[test]
fn unusable_names_are_refused() {
    let registry = layered();
    let refuse = |name: &str| registry.register(&Target::Global, tool(name, "")).unwrap_err().to_string();
    assert_eq!(refuse("run_code"), "the name `run_code` is reserved");
    assert_eq!(refuse("a"), "a tool named `a` is already registered in this layer");
    assert_eq!(refuse(""), "the tool name \"\" cannot be used: it is empty");
    assert_eq!(refuse("a\nb"), "the tool name \"a\\nb\" cannot be used: it holds control characters");
    assert!(refuse(&"x".repeat(129)).ends_with("it is longer than 128 bytes"));
    registry.register(&Target::Global, tool(&"x".repeat(128), "")).unwrap().keep();
    // Reserved in every mode, and in an inner layer too; a name of an outer layer is none that is taken.
    for mode in [PresentationMode::Code, PresentationMode::Both] {
        registry.set_default_mode(mode);
        assert_eq!(refuse("run_code"), "the name `run_code` is reserved");
    }
    let scope = Target::Scope("s".into());
    let reserved = registry.register(&scope, tool("run_code", "")).unwrap_err();
    assert_eq!(reserved.to_string(), "the name `run_code` is reserved");
    registry.register(&scope, tool("a", "inner")).unwrap().keep();
}

///
#[test]
fn a_restriction_with_a_typo_names_the_nearest_tool() {
    let registry = layered();
    registry.register(&Target::Global, tool("read_file", "")).unwrap().keep();
    let scope = Target::Scope("s".into());
    let refuse =
        |target: &Target, restriction| registry.restrict(target, restriction).unwrap_err().to_string();
    assert_eq!(
        refuse(&scope, Restriction::deny(["read_fil"])),
        "`read_fil` is not a tool that this scope can restrict; did you mean `read_file`?"
    );
    assert_eq!(
        refuse(&scope, Restriction::deny(["run_code"])),
        "`run_code` is not a tool that this scope can restrict"
    );
    assert_eq!(refuse(&scope, Restriction::default()), "a restriction must allow or deny at least one name");
    assert_eq!(
        refuse(&Target::Global, Restriction::deny(["a"])),
        RegistryError::RestrictOutsideScope.to_string()
    );
    // A scope's own tools are exempt from filtering, so they cannot be named either.
    assert!(refuse(&scope, Restriction::deny(["d"])).starts_with("`d` is not a tool"));
}

///
#[test]
fn every_contribution_but_a_guard_notifies() {
    let registry = layered();
    let mut changes = registry.subscribe();
    let mut changed = || {
        let changed = changes.has_changed().unwrap();
        changes.mark_unchanged();
        changed
    };
    assert!(!changed());
    let added = registry.register(&Target::Global, tool("x", "")).unwrap();
    assert!(changed());
    drop(added);
    assert!(changed());
    let guard = Arc::new(|_: &CallInfo<'_>| None::<String>);
    let guard = registry.guard(&Target::Global, guard).unwrap();
    assert!(!changed());
    drop(guard);
    assert!(!changed());
    registry.present_as(&"s".into(), PresentationMode::Code).unwrap().keep();
    assert!(changed());
    let restriction = registry.restrict(&Target::Scope("s".into()), Restriction::deny(["a"])).unwrap();
    assert!(changed());
    drop(restriction);
    assert!(changed());
}

/// CM-2, CM-5
#[test]
fn modes_decide_what_is_shown_and_what_collapses() {
    let registry = layered();
    registry.set_run_code(tool("run_code", ""));
    assert_eq!(names(&registry, Some("s")), "a:global b:preset c:global d:own");
    registry.present_as(&"p".into(), PresentationMode::Code).unwrap().keep();
    let code = view(&registry, "s");
    assert_eq!(code.visible().last().unwrap().definition().name().as_str(), "run_code");
    assert_eq!(code.schemas().iter().map(|model| model.name.as_str()).collect::<Vec<_>>(), ["run_code"]);
    assert!(matches!(code.resolve_execution("a", false), Resolution::Collapsed(_)));
    assert!(matches!(code.resolve_execution("a", true), Resolution::Tool(_)));
    assert!(matches!(code.resolve_execution("run_code", true), Resolution::Unknown));
    assert!(matches!(code.resolve_execution("run_code", false), Resolution::Tool(_)));
    assert_eq!(&*code.get("b").unwrap().definition().model().description, "preset", "whatever the mode");
    registry.present_as(&"s".into(), PresentationMode::Both).unwrap().keep();
    assert_eq!(view(&registry, "s").schemas().len(), 5);
    let twice = registry.present_as(&"s".into(), PresentationMode::Code).unwrap_err();
    assert_eq!(twice, RegistryError::ModeDeclared { scope: "s".into() });
}

///
#[test]
fn a_view_is_computed_once_per_change() {
    let registry = layered();
    for n in 0..1_000 {
        registry.register(&Target::Global, tool(&format!("tool-{n}"), "")).unwrap().keep();
    }
    let first = view(&registry, "s");
    assert_eq!(first.visible().len(), 1_004);
    assert!(Arc::ptr_eq(&first, &view(&registry, "s")));
    registry.register(&Target::Global, tool("x", "")).unwrap().keep();
    assert!(!Arc::ptr_eq(&first, &view(&registry, "s")));
}

///
#[test]
fn names_that_are_not_identifiers_stay_apart() {
    let registry = Registry::new();
    let odd = ["fetch-url", "get_user", "getUser", "a.b", "then", "__proto__", "constructor", "GETUSER"];
    for name in odd {
        registry.register(&Target::Global, tool(name, name)).unwrap().keep();
    }
    let view = registry.view(None).unwrap();
    for name in odd {
        assert_eq!(&*view.get(name).unwrap().definition().model().description, name);
    }
}
