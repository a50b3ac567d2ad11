//! What was rendered of the views of one registry.
//!
//! Owns the text of each scope at the registry's generation, and of each tool its entry: an unchanged view costs a
//! lookup, and of a changed one only the changed tools are rendered (SDK-9). Whoever asks for what is being rendered
//! waits for it: nothing is rendered twice. It keeps no tool alive, and never renders or drops anything of a user's
//! while it holds its lock. It calls the renderers, on several threads when there is much to render.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;

use crate::ids::ScopeId;
use crate::registry::RegistryView;
use crate::tool::ToolDefinition;

use super::names::tool_prefixes;
use super::prepare::{Entry, Renderer};
use super::{SdkBundle, SdkLanguage, SdkOptions, SdkTool};

/// How much a cache has rendered since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SdkWork {
    /// Texts that were put together.
    pub texts: u64,
    /// Entries of tools that were rendered.
    pub entries: u64,
}

/// The rendered SDKs of one registry, for any number of threads.
///
/// It holds the texts of one generation, and one entry for each tool that is alive. What belongs to an older generation
/// or to a tool that is gone goes at the first rendering of a newer view.
#[derive(Debug, Default)]
pub struct SdkCache {
    shelf: Mutex<Shelf>,
    texts: AtomicU64,
    entries: AtomicU64,
}

#[derive(Debug, Default)]
struct Shelf {
    /// That of the texts.
    generation: u64,
    scopes: HashMap<(Kind, Option<ScopeId>), Text>,
    /// By the addresses of the tools: scopes that see the same ones share a text.
    texts: HashMap<(Kind, Vec<usize>), Text>,
    /// By the address of a sealed definition, which is no other's as long as `Known` holds on to it.
    entries: HashMap<Kind, HashMap<usize, Known>>,
}

type Kind = (SdkLanguage, SdkOptions);

/// Where something is put by whoever renders it; the others wait for that.
type Slot<T> = Arc<OnceLock<T>>;

type Text = Slot<Arc<SdkBundle>>;

#[derive(Debug)]
struct Known {
    /// Holds the address, not what is there.
    definition: Weak<ToolDefinition>,
    /// It depends on the other tools' names: a text of another prefix is another text.
    prefix: String,
    entry: Slot<Entry>,
}

/// Entries that are missing from which on several threads render them.
const MANY: usize = 64;

/// Threads that render at most.
const MAX_THREADS: usize = 8;

impl SdkCache {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// The SDK of what a view lets programs call (SDK-1). All views that are given must be of one registry.
    pub fn render(&self, language: SdkLanguage, view: &RegistryView, options: &SdkOptions) -> Arc<SdkBundle> {
        let kind = (language, *options);
        let scope = self.scope((kind, view.chain().last().cloned()), view.generation());
        Arc::clone(scope.get_or_init(|| self.assemble(kind, view)))
    }

    /// How much was rendered so far.
    pub fn work(&self) -> SdkWork {
        let [texts, entries] = [&self.texts, &self.entries].map(|count| count.load(Ordering::Relaxed));
        SdkWork { texts, entries }
    }

    /// How many entries of tools are held.
    pub fn held(&self) -> usize {
        self.shelf().entries.values().map(HashMap::len).sum()
    }

    /// Only maps, and texts of older generations, are touched while this is held.
    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn scope(&self, key: (Kind, Option<ScopeId>), generation: u64) -> Text {
        let mut shelf = self.shelf();
        if generation < shelf.generation {
            // Nobody asks for an older view again but whoever still holds it.
            return Text::default();
        }
        if generation > shelf.generation {
            shelf.generation = generation;
            shelf.scopes.clear();
            shelf.texts.clear();
            shelf
                .entries
                .values_mut()
                .for_each(|entries| entries.retain(|_, known| known.definition.strong_count() > 0));
        }
        Arc::clone(shelf.scopes.entry(key).or_default())
    }

    fn assemble(&self, kind: Kind, view: &RegistryView) -> Arc<SdkBundle> {
        let mut definitions: Vec<_> = view.callable().map(|tool| tool.definition()).collect();
        definitions.sort_by(|one, other| one.name().as_str().cmp(other.name().as_str()));
        let (text, entries) = self.slots(kind, &definitions);
        let assemble = || {
            self.render_missing(kind, &definitions, &entries);
            let renderer = Renderer::of(kind.0);
            let entries: Vec<&Entry> = entries.iter().filter_map(|(_, entry)| entry.get()).collect();
            let names = definitions.iter().map(|definition| definition.name().as_str().to_owned()).collect();
            self.texts.fetch_add(1, Ordering::Relaxed);
            Arc::new(renderer.bundle(names, &entries))
        };
        Arc::clone(text.get_or_init(assemble))
    }

    /// The place of the text of these tools, and of the entry of each one with its prefix.
    fn slots(&self, kind: Kind, definitions: &[&Arc<ToolDefinition>]) -> (Text, Vec<(String, Slot<Entry>)>) {
        let names: Vec<&str> = definitions.iter().map(|definition| definition.name().as_str()).collect();
        let prefixes = tool_prefixes(&names);
        let addresses: Vec<usize> =
            definitions.iter().map(|definition| Arc::as_ptr(definition).addr()).collect();
        let mut shelf = self.shelf();
        let known = shelf.entries.entry(kind).or_default();
        let mut entries = Vec::with_capacity(definitions.len());
        for ((definition, address), prefix) in definitions.iter().zip(&addresses).zip(prefixes) {
            let entry = if let Some(known) = known.get(address).filter(|known| known.prefix == prefix) {
                Arc::clone(&known.entry)
            } else {
                let entry = Slot::default();
                let definition = Arc::downgrade(definition);
                let new = Known { definition, prefix: prefix.clone(), entry: Arc::clone(&entry) };
                known.insert(*address, new);
                entry
            };
            entries.push((prefix, entry));
        }
        (Arc::clone(shelf.texts.entry((kind, addresses)).or_default()), entries)
    }

    /// Renders the entries that are missing; when there are many, on as many threads as the machine runs at once.
    fn render_missing(
        &self,
        (language, options): Kind,
        definitions: &[&Arc<ToolDefinition>],
        entries: &[(String, Slot<Entry>)],
    ) {
        let missing: Vec<_> =
            definitions.iter().zip(entries).filter(|(_, (_, entry))| entry.get().is_none()).collect();
        let next = AtomicUsize::new(0);
        let render = || {
            while let Some((definition, (prefix, entry))) = missing.get(next.fetch_add(1, Ordering::Relaxed))
            {
                entry.get_or_init(|| {
                    self.entries.fetch_add(1, Ordering::Relaxed);
                    (Renderer::of(language).entry)(&SdkTool::of(definition), prefix, &options)
                });
            }
        };
        if missing.len() < MANY {
            return render();
        }
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        thread::scope(|scope| {
            for _ in 1..threads {
                // Whatever no other thread does, this one does.
                drop(thread::Builder::new().spawn_scoped(scope, render));
            }
            render();
        });
    }
}
