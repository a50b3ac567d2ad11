//! What happens at the same time: changes beside views, and contributions whose end comes back to the registry.

use std::collections::HashMap;
use std::sync::{Barrier, Mutex, mpsc};

use super::*;

/// Something that calls the registry when it is dropped.
struct LastWord(Registry, Option<Disposer>);

impl Drop for LastWord {
    fn drop(&mut self) {
        drop(self.1.take());
        self.0.register(&Target::Global, tool("last_word", "")).unwrap().keep();
    }
}

/// A tool whose handler owns it.
fn owning(name: &str, owned: LastWord) -> Tool {
    let owned = Arc::new(owned);
    let handler = move |_args: Value, _context: ToolContext| {
        let owned = Arc::clone(&owned);
        async move {
            drop(owned);
            Ok::<_, ToolError>(Value::Null)
        }
    };
    Tool::builder(name).output(json!({"type": "null"})).handler(handler).unwrap()
}

/// a contribution may own the disposer of another one, and call the registry when it goes, however it goes.
#[test]
fn a_contribution_may_own_the_disposer_of_another() {
    type Contribute = fn(&Registry, LastWord) -> Option<Disposer>;
    type End = fn(&Registry, Option<Disposer>);
    let scope = || Target::Scope("s".into());
    let contributions: [(&str, Contribute, End); 5] = [
        (
            "tool",
            |registry, owned| registry.register(&Target::Global, owning("x", owned)).ok(),
            |_, it| drop(it),
        ),
        (
            "refused",
            |registry, owned| registry.register(&Target::Global, owning("a", owned)).ok(),
            |_, it| assert!(it.is_none()),
        ),
        (
            "guard",
            |registry, owned| {
                let guard = move |_: &CallInfo<'_>| owned.1.is_none().then(String::new);
                registry.guard(&Target::Global, Arc::new(guard)).ok()
            },
            |_, it| drop(it),
        ),
        (
            "run_code",
            |registry, owned| {
                registry.set_run_code(owning("run_code", owned));
                None
            },
            |registry, _| registry.clear_run_code(),
        ),
        (
            "scope",
            |registry, owned| registry.register(&Target::Scope("s".into()), owning("x", owned)).ok(),
            |registry, it| {
                it.unwrap().keep();
                registry.close_scope(&"s".into()).unwrap();
            },
        ),
    ];
    for (name, contribute, end) in contributions {
        let registry = layered();
        let owned = registry.register(&scope(), tool("owned", "")).unwrap();
        let contribution = contribute(&registry, LastWord(registry.clone(), Some(owned)));
        // A view must not be what keeps it.
        if registry.view(Some(&"s".into())).is_ok() {
            assert_eq!(registry.exists_anywhere(&"owned".into()), name != "refused");
        }
        end(&registry, contribution);
        assert!(!registry.exists_anywhere(&"owned".into()), "{name}");
        assert!(registry.exists_anywhere(&"last_word".into()), "{name}");
    }
}

/// a contribution whose end panics is gone all the same, and every view knows.
#[test]
fn a_contribution_whose_end_panics_is_gone() {
    struct Boom;
    impl Drop for Boom {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "dropped");
        }
    }
    let registry = layered();
    let boom = Boom;
    let guard = move |_: &CallInfo<'_>| Some(format!("{}", size_of_val(&boom)));
    let disposer = registry.guard(&Target::Global, Arc::new(guard)).unwrap();
    let before = view(&registry, "s");
    let generation = before.generation();
    assert_eq!(before.guards().len(), 1);
    drop(before);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(disposer))).is_err());
    let after = view(&registry, "s");
    assert!(after.guards().is_empty() && after.generation() > generation);
    registry.register(&Target::Global, tool("later", "")).unwrap().keep();
}

/// what was taken back is not kept by the views of scopes that nobody asks about.
#[test]
fn idle_scopes_keep_nothing_that_is_gone() {
    let registry = layered();
    let held = Arc::new(());
    let holds = Arc::clone(&held);
    let guard = move |_: &CallInfo<'_>| (Arc::strong_count(&holds) == 0).then(String::new);
    let disposer = registry.guard(&Target::Global, Arc::new(guard)).unwrap();
    for scope in ["p", "s"] {
        view(&registry, scope);
    }
    assert_eq!(Arc::strong_count(&held), 2);
    drop(disposer);
    assert_eq!(Arc::strong_count(&held), 1);
}

/// readers of many threads beside a writer all get the one view of a generation, and a scope that is closed has
/// none.
#[test]
fn a_generation_has_one_view_for_all_threads() {
    const ROUNDS: usize = 60;
    const READERS: usize = 4;
    let registry = Registry::new();
    for n in 0..200 {
        registry.register(&Target::Global, tool(&format!("t{n}"), "")).unwrap().keep();
    }
    let seen: Mutex<HashMap<u64, Arc<RegistryView>>> = Mutex::default();
    let start = Barrier::new(READERS + 1);
    std::thread::scope(|threads| {
        for _ in 0..READERS {
            threads.spawn(|| {
                for _ in 0..ROUNDS {
                    start.wait();
                    for _ in 0..4 {
                        let Ok(view) = registry.view(Some(&"s".into())) else { continue };
                        let mut seen = seen.lock().unwrap();
                        let first = seen.entry(view.generation()).or_insert_with(|| Arc::clone(&view));
                        assert!(Arc::ptr_eq(first, &view), "computed twice for {}", view.generation());
                    }
                    start.wait();
                }
            });
        }
        for round in 0..ROUNDS {
            registry.open_scope("s".into(), None).unwrap();
            start.wait();
            registry.register(&Target::Global, tool(&format!("r{round}"), "")).unwrap().keep();
            registry.close_scope(&"s".into()).unwrap();
            start.wait();
            assert!(registry.view(Some(&"s".into())).is_err());
            let mut seen = seen.lock().unwrap();
            assert!(seen.values().all(|view| Arc::strong_count(view) == 1), "the registry keeps a view");
            seen.clear();
        }
    });
}

/// what a contribution does when it goes keeps nobody from reading, or from changing something else.
#[test]
fn nobody_waits_for_the_end_of_a_contribution() {
    struct Slow {
        begun: mpsc::Sender<()>,
        go_on: Mutex<mpsc::Receiver<()>>,
    }
    impl Drop for Slow {
        fn drop(&mut self) {
            let _ = self.begun.send(());
            let _ = self.go_on.lock().unwrap().recv();
        }
    }
    let registry = layered();
    let ((begun, begins), (tell, go_on)) = (mpsc::channel(), mpsc::channel::<()>());
    let slow = Slow { begun, go_on: Mutex::new(go_on) };
    let guard = move |_: &CallInfo<'_>| (size_of_val(&slow) == 0).then(String::new);
    let disposer = registry.guard(&Target::Global, Arc::new(guard)).unwrap();
    drop(view(&registry, "s"));
    std::thread::scope(|threads| {
        // Dropped on every way out of here, which lets the contribution go.
        let _tell = tell;
        threads.spawn(|| drop(disposer));
        begins.recv().unwrap();
        assert!(view(&registry, "s").guards().is_empty());
        registry.register(&Target::Global, tool("x", "")).unwrap().keep();
        assert!(view(&registry, "s").get("x").is_some());
    });
}

/// whatever the order in which changes are told, a subscriber ends with the number of the last one.
#[test]
fn the_number_that_subscribers_see_never_goes_back() {
    let registry = Registry::new();
    let numbers = registry.subscribe();
    std::thread::scope(|threads| {
        for thread in 0..4 {
            let registry = &registry;
            threads.spawn(move || {
                for n in 0..100 {
                    registry.register(&Target::Global, tool(&format!("{thread}.{n}"), "")).unwrap().keep();
                }
            });
        }
        let mut last = 0;
        while last < 400 {
            let now = *numbers.borrow();
            assert!(now >= last, "{now} after {last}");
            last = now;
            std::thread::yield_now();
        }
    });
    assert_eq!(*numbers.borrow(), registry.view(None).unwrap().generation());
}
