//! What the cache renders again, and that nobody can tell its text from a fresh one.
//!
//! Owns a registry of tools whose schemas differ by a number. It asks for texts through views alone, as a host does.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::ids::ScopeId;
use crate::registry::{Disposer, Registry, RegistryView, Restriction, Target};
use crate::schema::ir::IrBudget;
use crate::sdk::{SdkBundle, SdkCache, SdkLanguage, SdkOptions, SdkTool, SdkWork, render};
use crate::tool::{Tool, ToolContext, ToolError};

const OPTIONS: SdkOptions =
    SdkOptions { budget: IrBudget { max_depth: 16, max_states: 100, max_variants: 64 } };

/// A tool whose text is another one for each number.
fn tool(name: &str, number: u8) -> Tool {
    tool_with(name, number, ())
}

/// The same with something that its handler owns.
fn tool_with(name: &str, number: u8, owned: impl Send + Sync + 'static) -> Tool {
    let point = json!({"type": "object", "required": ["x"], "properties": {"x": {"const": number}, "y": {"type": "null"}}});
    let owned = Arc::new(owned);
    Tool::builder(name)
        .description(format!("Number {number}."))
        .foreign_parameters(
            json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/p"}}, "$defs": {"p": point}}),
        )
        .foreign_output(json!({"const": number}))
        .handler(move |_args: Value, _context: ToolContext| {
            let owned = Arc::clone(&owned);
            async move {
                drop(owned);
                Ok::<_, ToolError>(Value::Null)
            }
        })
        .unwrap()
}

fn fresh(view: &RegistryView) -> SdkBundle {
    fresh_in(SdkLanguage::TypeScript, view)
}

fn fresh_in(language: SdkLanguage, view: &RegistryView) -> SdkBundle {
    let tools: Vec<_> = view.callable().map(|tool| SdkTool::of(tool.definition())).collect();
    render(language, &tools, &OPTIONS)
}

const LANGUAGES: [SdkLanguage; 2] = [SdkLanguage::TypeScript, SdkLanguage::Python];

fn view(registry: &Registry) -> Arc<RegistryView> {
    registry.view(None).unwrap()
}

fn filled(names: &[&str]) -> (Registry, Vec<Disposer>) {
    let registry = Registry::new();
    let register = |name: &&str| registry.register(&Target::Global, tool(name, 0)).unwrap();
    let disposers = names.iter().map(register).collect();
    (registry, disposers)
}

/// SDK-9
#[test]
fn an_unchanged_view_costs_a_lookup() {
    let (registry, _disposers) = filled(&["a", "b"]);
    let cache = SdkCache::new();
    let first = cache.render(SdkLanguage::TypeScript, &view(&registry), &OPTIONS);
    let again = cache.render(SdkLanguage::TypeScript, &view(&registry), &OPTIONS);
    assert!(Arc::ptr_eq(&first, &again));
    assert_eq!(cache.work(), SdkWork { texts: 1, entries: 2 });
}

/// SDK-9
#[test]
fn one_changed_tool_renders_one_entry() {
    let (registry, mut disposers) = filled(&["a", "b", "c", "d"]);
    let cache = SdkCache::new();
    let before = cache.render(SdkLanguage::TypeScript, &view(&registry), &OPTIONS);
    drop(disposers.remove(2));
    let _changed = registry.register(&Target::Global, tool("c", 1)).unwrap();
    let after = cache.render(SdkLanguage::TypeScript, &view(&registry), &OPTIONS);
    assert_eq!(cache.work(), SdkWork { texts: 2, entries: 5 });
    assert_ne!(before.text, after.text);
    assert_eq!(*after, fresh(&view(&registry)));
}

/// SDK-9: a tool that is taken out leaves nothing to render.
#[test]
fn a_tool_that_is_gone_is_forgotten() {
    let (registry, mut disposers) = filled(&["a", "b", "c"]);
    let cache = SdkCache::new();
    let definition = Arc::downgrade(view(&registry).get("b").unwrap().definition());
    cache.render(SdkLanguage::TypeScript, &view(&registry), &OPTIONS);
    drop(disposers.remove(1));
    assert_eq!(definition.strong_count(), 0, "the cache keeps no tool alive");
    let bundle = cache.render(SdkLanguage::TypeScript, &view(&registry), &OPTIONS);
    assert_eq!((&bundle.names[..], cache.held()), (&["a".to_owned(), "c".to_owned()][..], 2));
    assert_eq!(cache.work(), SdkWork { texts: 2, entries: 3 });
}

/// SDK-9: scopes that see the same tools share their text, and the others the entries.
#[test]
fn scopes_share_texts_and_entries() {
    let (registry, _disposers) = filled(&["a", "b", "c"]);
    let scopes: [ScopeId; 2] = ["one".into(), "two".into()];
    for scope in &scopes {
        registry.open_scope(scope.clone(), None).unwrap();
    }
    registry.restrict(&Target::Scope(scopes[1].clone()), Restriction::deny(["a"])).unwrap().keep();
    let cache = SdkCache::new();
    let sdk = |scope| cache.render(SdkLanguage::TypeScript, &registry.view(scope).unwrap(), &OPTIONS);
    let [global, one, two] = [None, Some(&scopes[0]), Some(&scopes[1])].map(sdk);
    assert!(Arc::ptr_eq(&global, &one));
    assert_eq!(two.tools, 2);
    assert_eq!(cache.work(), SdkWork { texts: 2, entries: 3 });
}

/// SDK-9: what a tool's types are named with is part of its text.
#[test]
fn a_tool_that_sounds_like_another_is_named_anew() {
    let (registry, _disposers) = filled(&["get_x"]);
    let cache = SdkCache::new();
    cache.render(SdkLanguage::TypeScript, &view(&registry), &OPTIONS);
    let _first = registry.register(&Target::Global, tool("get-x", 0)).unwrap();
    assert_eq!(*cache.render(SdkLanguage::TypeScript, &view(&registry), &OPTIONS), fresh(&view(&registry)));
    assert_eq!(cache.work(), SdkWork { texts: 2, entries: 3 });
}

/// SDK-8, SDK-9: other bounds are another text.
#[test]
fn bounds_are_part_of_the_key() {
    let (registry, _disposers) = filled(&["a"]);
    let cache = SdkCache::new();
    let shallow = SdkOptions { budget: IrBudget { max_depth: 1, ..IrBudget::default() } };
    let [deep, cut] =
        [OPTIONS, shallow].map(|options| cache.render(SdkLanguage::TypeScript, &view(&registry), &options));
    assert_ne!(deep.text, cut.text);
    assert_eq!(cache.work(), SdkWork { texts: 2, entries: 2 });
}

/// SDK-9: whoever holds on to an older view gets that view's text, and nobody else does.
#[test]
fn an_older_view_keeps_its_own_text() {
    let (registry, mut disposers) = filled(&["a", "b"]);
    let cache = SdkCache::new();
    let old = view(&registry);
    drop(disposers.pop());
    let new = cache.render(SdkLanguage::TypeScript, &view(&registry), &OPTIONS);
    assert_eq!(*cache.render(SdkLanguage::TypeScript, &old, &OPTIONS), fresh(&old));
    assert!(Arc::ptr_eq(&new, &cache.render(SdkLanguage::TypeScript, &view(&registry), &OPTIONS)));
}

/// SDK-7, SDK-9: each language has texts of its own.
#[test]
fn languages_are_kept_apart() {
    let (registry, _disposers) = filled(&["a", "b"]);
    let cache = SdkCache::new();
    for language in LANGUAGES {
        let cached = cache.render(language, &view(&registry), &OPTIONS);
        assert_eq!(*cached, fresh_in(language, &view(&registry)));
    }
    assert_eq!(cache.work(), SdkWork { texts: 2, entries: 4 });
}

/// Asks the cache when it is dropped, as a tool that owns a part of its host may.
struct AsksAtItsEnd(Arc<SdkCache>, Registry, Arc<AtomicU64>);

impl Drop for AsksAtItsEnd {
    fn drop(&mut self) {
        self.0.render(SdkLanguage::TypeScript, &view(&self.1), &OPTIONS);
        self.2.fetch_add(1, Ordering::SeqCst);
    }
}

/// SDK-9: a tool ends where it is taken out, not when the cache next looks; there it may ask the cache.
#[test]
fn the_end_of_a_tool_may_ask_the_cache() {
    let (registry, _disposers) = filled(&["a"]);
    let (cache, asked) = (Arc::new(SdkCache::new()), Arc::new(AtomicU64::new(0)));
    let owned = AsksAtItsEnd(Arc::clone(&cache), registry.clone(), Arc::clone(&asked));
    let disposer = registry.register(&Target::Global, tool_with("b", 0, owned)).unwrap();
    cache.render(SdkLanguage::TypeScript, &view(&registry), &OPTIONS);
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    drop(disposer);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    assert_eq!(cache.work().texts, 2, "the tool itself asked for the new text");
    assert_eq!(cache.render(SdkLanguage::TypeScript, &view(&registry), &OPTIONS).tools, 1);
    assert_eq!(cache.work().texts, 2);
}

/// SDK-9: whoever asks for what is being rendered waits for it.
#[test]
fn many_who_ask_at_once_get_one_rendering() {
    let names: Vec<String> = (0..200).map(|number| format!("t{number}")).collect();
    let (registry, _disposers) = filled(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let scopes: Vec<ScopeId> = (0..4).map(|number| format!("s{number}").as_str().into()).collect();
    for (scope, hidden) in scopes.iter().zip(&names) {
        registry.open_scope(scope.clone(), None).unwrap();
        registry
            .restrict(&Target::Scope(scope.clone()), Restriction::deny([hidden.as_str()]))
            .unwrap()
            .keep();
    }
    let views: Vec<_> = scopes.iter().map(|scope| registry.view(Some(scope)).unwrap()).collect();
    let cache = SdkCache::new();
    let barrier = Barrier::new(views.len());
    std::thread::scope(|threads| {
        for view in &views {
            let (cache, barrier) = (&cache, &barrier);
            threads.spawn(move || {
                barrier.wait();
                assert_eq!(*cache.render(SdkLanguage::TypeScript, view, &OPTIONS), fresh(view));
            });
        }
    });
    assert_eq!(cache.work(), SdkWork { texts: 4, entries: 200 });
}

/// SDK-9
#[test]
fn threads_get_the_text_of_the_view_that_they_ask_about() {
    let (registry, _disposers) = filled(&["a", "b", "c"]);
    let cache = SdkCache::new();
    std::thread::scope(|threads| {
        for number in 0..4 {
            let (registry, cache) = (&registry, &cache);
            threads.spawn(move || {
                for _ in 0..20 {
                    let _own =
                        registry.register(&Target::Global, tool(&format!("own-{number}"), number)).unwrap();
                    let view = view(registry);
                    assert_eq!(*cache.render(SdkLanguage::TypeScript, &view, &OPTIONS), fresh(&view));
                }
            });
        }
    });
}

#[derive(Clone, Debug)]
enum Step {
    /// Registers a tool of a layer, or replaces what is there.
    Register(usize, &'static str, u8),
    Dispose(usize),
    Ask(usize),
}

const LAYERS: usize = 3;

fn step() -> impl Strategy<Value = Step> {
    let name = prop::sample::select(&["a", "b", "get-x", "get_x", "getX", "GetX", "get_x2"][..]);
    prop_oneof![
        3 => (0..LAYERS, name, 0..3_u8).prop_map(|(layer, name, number)| Step::Register(layer, name, number)),
        2 => (0..12_usize).prop_map(Step::Dispose),
        4 => (0..LAYERS).prop_map(Step::Ask),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// SDK-2, SDK-9
    #[test]
    fn cached_and_fresh_texts_are_the_same_bytes(steps in prop::collection::vec(step(), 1..30)) {
        let registry = Registry::new();
        let scopes: [Option<ScopeId>; LAYERS] = [None, Some("outer".into()), Some("inner".into())];
        registry.open_scope("outer".into(), None).unwrap();
        registry.open_scope("inner".into(), Some("outer".into())).unwrap();
        let cache = SdkCache::new();
        let mut disposers: Vec<Disposer> = Vec::new();
        for step in steps {
            match step {
                Step::Register(layer, name, number) => {
                    let target = scopes[layer].clone().map_or(Target::Global, Target::Scope);
                    disposers.extend(registry.register(&target, tool(name, number)));
                }
                Step::Dispose(index) if index < disposers.len() => drop(disposers.swap_remove(index)),
                Step::Dispose(_) => {}
                Step::Ask(layer) => {
                    let view = registry.view(scopes[layer].as_ref()).unwrap();
                    for language in LANGUAGES {
                        prop_assert_eq!(&*cache.render(language, &view, &OPTIONS), &fresh_in(language, &view));
                    }
                }
            }
        }
        for scope in &scopes {
            let view = registry.view(scope.as_ref()).unwrap();
            for language in LANGUAGES {
                prop_assert_eq!(&*cache.render(language, &view, &OPTIONS), &fresh_in(language, &view));
            }
        }
        prop_assert!(cache.held() <= LANGUAGES.len() * disposers.len(), "{} of {}", cache.held(), disposers.len());
    }
}
