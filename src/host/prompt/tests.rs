//! The SDK against the bindings (SDK-1), and the sentence against the executor (CM-2).
//!
//! Owns random registries of three layers with restrictions and modes. The names are read from the text itself, as a
//! model would, and never taken from what the renderer says of it. It runs no program.

use proptest::prelude::*;
use proptest::sample::subsequence;
use serde_json::{Value, json};

use super::*;
use crate::codemode::bindings::Bindings;
use crate::registry::{Registry, Resolution, Restriction, Target};
use crate::sdk::{SdkCache, SdkLanguage};
use crate::tool::{Tool, ToolContext, ToolError};

const ODD_NAMES: &[&str] = &[
    "then",
    "__proto__",
    "constructor",
    "my-tool",
    "a.b",
    "toString",
    "read",
    "Read",
    "class",
    "run_code2",
    "it's \"quoted\"",
    "back\\slash",
    "*/ };",
    "```",
    "${x}",
    "naïve",
    "道具",
    "  ",
    "0",
    "\u{202e}cod\u{200b}e",
];

const SCOPES: [&str; 2] = ["parent", "agent"];

/// What is registered, restricted and declared, layer by layer.
#[derive(Clone, Debug)]
struct Deployment {
    global: Vec<String>,
    /// The tools of each scope, the names that it allows and denies, and its mode.
    scopes: [(Vec<String>, Restriction, Option<PresentationMode>); 2],
    mode: PresentationMode,
    description: String,
}

fn names() -> impl Strategy<Value = Vec<String>> {
    let odd: Vec<String> = ODD_NAMES.iter().map(|name| (*name).to_owned()).collect();
    let most = odd.len();
    (subsequence(odd, 0..=most), prop::collection::btree_set("[a-zA-Z_$][a-zA-Z0-9_$-]{0,12}", 0..6))
        .prop_map(|(odd, plain)| {
            let mut names: Vec<String> = odd.into_iter().chain(plain).collect();
            names.sort();
            names.dedup();
            names.retain(|name| name != RUN_CODE);
            names
        })
}

fn mode() -> impl Strategy<Value = PresentationMode> {
    prop::sample::select(vec![PresentationMode::Native, PresentationMode::Code, PresentationMode::Both])
}

/// What a scope may name in a restriction: a subset of what is above it.
fn restriction(above: &[String]) -> BoxedStrategy<Restriction> {
    let most = above.len();
    (subsequence(above.to_vec(), 0..=most), subsequence(above.to_vec(), 0..=most), 0..4_u8)
        .prop_map(|(allow, deny, which)| {
            let of = |names: &[String]| names.iter().map(|name| name.as_str().into()).collect();
            Restriction {
                allow: if which & 1 == 0 { of(&allow) } else { of(&[]) },
                deny: if which & 2 == 0 { of(&deny) } else { of(&[]) },
            }
        })
        .boxed()
}

fn deployment() -> impl Strategy<Value = Deployment> {
    (names(), names(), names()).prop_flat_map(|(global, parents, own)| {
        let above: Vec<String> = global.iter().chain(&parents).cloned().collect();
        let modes = (mode(), prop::option::of(mode()), prop::option::of(mode()));
        let hostile =
            prop::sample::select(vec!["", "Reads.", "*/\n  evil: string;", "a\n  other(): void;\n}\nb"]);
        (Just((global.clone(), parents, own)), restriction(&global), restriction(&above), modes, hostile)
            .prop_map(|((global, parents, own), outer, inner, (mode, parents_mode, own_mode), hostile)| {
                Deployment {
                    global,
                    scopes: [(parents, outer, parents_mode), (own, inner, own_mode)],
                    mode,
                    description: hostile.to_owned(),
                }
            })
    })
}

fn tool(name: &str, description: &str) -> Tool {
    let schema =
        json!({"type": "object", "properties": {"b": {"type": "string"}, "a-b": {}}, "required": ["b"]});
    Tool::builder(name)
        .description(description)
        .foreign_parameters(schema.clone())
        .foreign_output(schema)
        .handler(|_args: Value, _context: ToolContext| async { Ok::<_, ToolError>(Value::Null) })
        .unwrap()
}

fn registry(deployment: &Deployment) -> Registry {
    let registry = Registry::new();
    registry.set_run_code(tool(RUN_CODE, ""));
    registry.set_default_mode(deployment.mode);
    let register = |target: &Target, names: &[String]| {
        for name in names {
            registry.register(target, tool(name, &deployment.description)).unwrap().keep();
        }
    };
    register(&Target::Global, &deployment.global);
    let mut parent = None;
    for (scope, (names, restriction, mode)) in SCOPES.iter().zip(&deployment.scopes) {
        registry.open_scope((*scope).into(), parent).unwrap();
        let target = Target::Scope((*scope).into());
        register(&target, names);
        if *restriction != Restriction::default() {
            registry.restrict(&target, restriction.clone()).unwrap().keep();
        }
        if let Some(mode) = mode {
            registry.present_as(&(*scope).into(), *mode).unwrap().keep();
        }
        parent = Some((*scope).into());
    }
    registry
}

/// The keys of an interface in the text, in their order.
fn declared(text: &str, interface: &str) -> Vec<String> {
    let (_, after) = text.split_once(&format!("\ninterface {interface} {{")).expect("the interface is there");
    let (body, _) = after.split_once("\n}\n").unwrap_or_default();
    // Members stand two spaces in; comments and what belongs to a member's type do not begin with a key.
    let members = body.lines().filter_map(|line| line.strip_prefix("  "));
    members
        .filter(|line| !line.starts_with([' ', '/', '}', '|', '&', ')', ']', '>']))
        .map(|line| {
            if line.starts_with('"') {
                let mut key = serde_json::Deserializer::from_str(line).into_iter::<String>();
                key.next().expect("a key").expect("a string")
            } else {
                line.split(':').next().unwrap_or_default().to_owned()
            }
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// SDK-1, CM-2, CM-5: for each scope, what the text declares is what a program is given, and what the sentence
    /// says is what the executor does.
    #[test]
    fn a_program_can_call_exactly_what_its_sdk_declares(deployment in deployment()) {
        let registry = registry(&deployment);
        for scope in [None, Some(SCOPES[0]), Some(SCOPES[1])] {
            let view = registry.view(scope.map(Into::into).as_ref()).unwrap();
            let bound: Vec<_> = Bindings::new(&view, 1024).names().iter().map(ToString::to_string).collect();
            let sdk = SdkCache::new().render(SdkLanguage::TypeScript, &view, &SdkOptions::default());
            prop_assert_eq!(&declared(&sdk.text, "ToolArgsMap"), &bound);
            prop_assert_eq!(&declared(&sdk.text, "ToolOutputMap"), &bound);
            prop_assert_eq!((&sdk.names, sdk.tools), (&bound, bound.len()));
            prop_assert!(!bound.iter().any(|name| name == RUN_CODE));
            for name in &bound {
                prop_assert!(matches!(view.resolve_execution(name, true), Resolution::Tool(_)), "{name}");
                let refused = matches!(view.resolve_execution(name, false), Resolution::Collapsed(_));
                prop_assert_eq!(refused, rule(&view) == Some(FROM_PROGRAMS_ONLY), "{}", name);
            }
            for model in view.schemas() {
                let name = model.name.as_str();
                prop_assert!(matches!(view.resolve_execution(name, false), Resolution::Tool(_)), "{name}");
            }
            let told = view.mode() != PresentationMode::Native && !bound.is_empty();
            prop_assert_eq!(rule(&view).is_some(), told);
        }
    }
}
