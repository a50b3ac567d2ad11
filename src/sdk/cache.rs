//! What was rendered of the views of one registry.
//!
//! Owns the text of each scope at the registry's generation, and of each tool its entry: an unchanged view costs a
//! lookup, and of a changed one only the changed tools are rendered (SDK-9). It keeps no tool alive, and never renders
//! or drops anything of a user's while it holds its lock. It calls the renderers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

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
}

#[derive(Debug, Default)]
struct Shelf {
    /// That of the texts.
    generation: u64,
    texts: HashMap<TextKey, Slot>,
    entries: HashMap<EntryKey, Known>,
    work: SdkWork,
}

type TextKey = (SdkLanguage, SdkOptions, Option<ScopeId>);

/// Where a text is put by whoever renders it; the others wait for that.
type Slot = Arc<OnceLock<Arc<SdkBundle>>>;

/// A tool by the address of its sealed definition, which is no other's as long as `Known` holds on to it.
type EntryKey = (SdkLanguage, SdkOptions, usize);

/// A tool's definition, and what its types are named with.
type Placed<'a> = (&'a Arc<ToolDefinition>, String);

#[derive(Debug)]
struct Known {
    /// Holds the address, not what is there.
    definition: Weak<ToolDefinition>,
    /// It depends on the other tools' names: a text of another prefix is another text.
    prefix: String,
    entry: Arc<Entry>,
}

impl SdkCache {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// The SDK of what a view lets programs call (SDK-1). All views that are given must be of one registry.
    pub fn render(&self, language: SdkLanguage, view: &RegistryView, options: &SdkOptions) -> Arc<SdkBundle> {
        let slot = self.slot((language, *options, view.chain().last().cloned()), view.generation());
        Arc::clone(slot.get_or_init(|| Arc::new(self.assemble(language, view, options))))
    }

    /// How much was rendered so far.
    pub fn work(&self) -> SdkWork {
        self.shelf().work
    }

    /// How many entries of tools are held.
    pub fn held(&self) -> usize {
        self.shelf().entries.len()
    }

    /// Only maps, counts and texts are touched while this is held.
    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, key: TextKey, generation: u64) -> Slot {
        let mut shelf = self.shelf();
        if generation < shelf.generation {
            // Nobody asks for an older view again but whoever still holds it.
            return Slot::default();
        }
        if generation > shelf.generation {
            shelf.generation = generation;
            shelf.texts.clear();
            shelf.entries.retain(|_, known| known.definition.strong_count() > 0);
        }
        Arc::clone(shelf.texts.entry(key).or_default())
    }

    fn assemble(&self, language: SdkLanguage, view: &RegistryView, options: &SdkOptions) -> SdkBundle {
        let mut definitions: Vec<_> = view.callable().map(|tool| Arc::clone(tool.definition())).collect();
        definitions.sort_by(|one, other| one.name().as_str().cmp(other.name().as_str()));
        let names: Vec<&str> = definitions.iter().map(|definition| definition.name().as_str()).collect();
        let tools: Vec<_> = definitions.iter().zip(tool_prefixes(&names)).collect();
        let entries = self.entries(language, &tools, options);
        let names = names.into_iter().map(str::to_owned).collect();
        Renderer::of(language).bundle(names, &entries.iter().map(AsRef::as_ref).collect::<Vec<_>>())
    }

    /// The entry of each tool with its prefix: those that are known, and the others rendered.
    fn entries(&self, language: SdkLanguage, tools: &[Placed<'_>], options: &SdkOptions) -> Vec<Arc<Entry>> {
        let key = |(definition, _): &Placed<'_>| -> EntryKey {
            (language, *options, Arc::as_ptr(definition).addr())
        };
        let known: Vec<Option<Arc<Entry>>> = {
            let shelf = self.shelf();
            let find = |tool: &Placed<'_>| {
                let known = shelf.entries.get(&key(tool)).filter(|known| known.prefix == tool.1)?;
                Some(Arc::clone(&known.entry))
            };
            tools.iter().map(find).collect()
        };
        let mut rendered = Vec::new();
        let mut entries = Vec::with_capacity(tools.len());
        for (tool, known) in tools.iter().zip(known) {
            let (definition, prefix) = tool;
            entries.push(known.unwrap_or_else(|| {
                let entry =
                    Arc::new((Renderer::of(language).entry)(&SdkTool::of(definition), prefix, options));
                let held = Known {
                    definition: Arc::downgrade(definition),
                    prefix: prefix.clone(),
                    entry: Arc::clone(&entry),
                };
                rendered.push((key(tool), held));
                entry
            }));
        }
        let mut shelf = self.shelf();
        shelf.work.texts += 1;
        shelf.work.entries += u64::try_from(rendered.len()).unwrap_or(u64::MAX);
        shelf.entries.extend(rendered);
        entries
    }
}
