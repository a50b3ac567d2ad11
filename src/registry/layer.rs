//! The layers themselves.
//!
//! Owns what was contributed, by number, and the one traversal that turns it into a view. It never
//! notifies anybody: [`super::Registry`] does. It calls `view` to seal the result.
//!
//! Everything here happens under the registry's lock, and tools and guards are other people's code, whose end may call
//! the registry: so nothing here ever drops one. What is added is borrowed, and what is taken out is handed back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::ids::{ScopeId, ToolName};
use crate::registry::view::ViewParts;
use crate::registry::{
    Guard, MAX_NAME_BYTES, PresentationMode, RUN_CODE, RegisteredTool, RegistryError, RegistryView,
    Restriction, Target,
};
use crate::tool::Tool;

#[derive(Default)]
pub(super) struct Layers {
    next_id: u64,
    global: Layer,
    scopes: BTreeMap<ScopeId, Scope>,
    pub(super) default_mode: PresentationMode,
    run_code: Option<Arc<RegisteredTool>>,
}

#[derive(Default)]
struct Layer {
    /// By name: registration order must not show anywhere (SDK-2).
    tools: BTreeMap<ToolName, Arc<RegisteredTool>>,
    guards: BTreeMap<u64, Arc<dyn Guard>>,
}

pub(super) struct Scope {
    /// Tells two scopes apart that are opened one after the other under one name.
    opening: u64,
    parent: Option<ScopeId>,
    layer: Layer,
    restrictions: BTreeMap<u64, Restriction>,
    mode: Option<(u64, PresentationMode)>,
}

/// What was taken out, to be dropped when nothing is locked any more.
#[derive(Default)]
#[must_use = "tools and guards are dropped outside of the registry's lock"]
pub(super) struct Removed {
    tool: Option<Arc<RegisteredTool>>,
    guard: Option<Arc<dyn Guard>>,
}

impl Layers {
    pub(super) fn open_scope(
        &mut self,
        scope: ScopeId,
        parent: Option<ScopeId>,
    ) -> Result<(), RegistryError> {
        if let Some(parent) = parent.as_ref().filter(|parent| !self.scopes.contains_key(*parent)) {
            return Err(RegistryError::UnknownScope { scope: parent.clone() });
        }
        // A parent must be open already, so the chain of parents can never close into a ring.
        if self.scopes.contains_key(&scope) {
            return Err(RegistryError::ScopeTaken { scope });
        }
        let (opening, layer) = (self.take_id(), Layer::default());
        let opened = Scope { opening, parent, layer, restrictions: BTreeMap::new(), mode: None };
        self.scopes.insert(scope, opened);
        Ok(())
    }

    pub(super) fn close_scope(&mut self, scope: &ScopeId) -> Result<Scope, RegistryError> {
        let child = self.scopes.iter().find(|(_, other)| other.parent.as_ref() == Some(scope));
        if let Some((child, _)) = child {
            return Err(RegistryError::ScopeInUse { scope: scope.clone(), child: child.clone() });
        }
        self.scopes.remove(scope).ok_or_else(|| RegistryError::UnknownScope { scope: scope.clone() })
    }

    /// The number of the scope's opening; nothing when it is not open.
    pub(super) fn opening(&self, scope: &ScopeId) -> Option<u64> {
        self.scopes.get(scope).map(|scope| scope.opening)
    }

    pub(super) fn set_run_code(&mut self, tool: Option<Tool>) -> Removed {
        let id = self.take_id();
        let tool = tool.map(|tool| Arc::new(RegisteredTool { id, tool }));
        Removed { tool: std::mem::replace(&mut self.run_code, tool), guard: None }
    }

    pub(super) fn register(&mut self, target: &Target, tool: &Tool) -> Result<u64, RegistryError> {
        let name = tool.definition().name().clone();
        check_name(name.as_str())?;
        let id = self.next_id;
        let layer = self.layer_mut(target)?;
        if layer.tools.contains_key(&name) {
            return Err(RegistryError::NameTaken { name });
        }
        layer.tools.insert(name, Arc::new(RegisteredTool { id, tool: tool.clone() }));
        Ok(self.take_id())
    }

    pub(super) fn restrict(
        &mut self,
        scope: &ScopeId,
        restriction: Restriction,
    ) -> Result<u64, RegistryError> {
        let id = self.next_id;
        let mut outer = self.chain(Some(scope))?;
        outer.pop();
        restriction.check(|name| {
            self.global.tools.contains_key(name)
                || outer.iter().any(|(_, scope)| scope.layer.tools.contains_key(name))
        })?;
        self.scope_mut(scope)?.restrictions.insert(id, restriction);
        Ok(self.take_id())
    }

    pub(super) fn guard(&mut self, target: &Target, guard: &Arc<dyn Guard>) -> Result<u64, RegistryError> {
        let id = self.next_id;
        self.layer_mut(target)?.guards.insert(id, Arc::clone(guard));
        Ok(self.take_id())
    }

    pub(super) fn present_as(
        &mut self,
        scope: &ScopeId,
        mode: PresentationMode,
    ) -> Result<u64, RegistryError> {
        let id = self.next_id;
        let declared = &mut self.scope_mut(scope)?.mode;
        if declared.is_some() {
            return Err(RegistryError::ModeDeclared { scope: scope.clone() });
        }
        *declared = Some((id, mode));
        Ok(self.take_id())
    }

    /// Undoes the contribution of this number, wherever it is; nothing happens when it is gone.
    pub(super) fn remove(&mut self, id: u64) -> Removed {
        let mut removed = Removed::default();
        for layer in
            std::iter::once(&mut self.global).chain(self.scopes.values_mut().map(|scope| &mut scope.layer))
        {
            // At most one: a number is given once.
            if let Some((_, tool)) = layer.tools.extract_if(.., |_, tool| tool.id == id).next() {
                removed.tool = Some(tool);
            }
            if let Some(guard) = layer.guards.remove(&id) {
                removed.guard = Some(guard);
            }
        }
        for scope in self.scopes.values_mut() {
            scope.restrictions.remove(&id);
            scope.mode = scope.mode.filter(|(declared, _)| *declared != id);
        }
        removed
    }

    pub(super) fn exists_anywhere(&self, name: &ToolName) -> bool {
        self.global.tools.contains_key(name)
            || self.scopes.values().any(|scope| scope.layer.tools.contains_key(name))
    }

    /// One traversal: global, farthest ancestor to nearest, filtered by the chain; own layer on top.
    pub(super) fn view(&self, chain: &[(&ScopeId, &Scope)], generation: u64) -> RegistryView {
        let mut inherited: BTreeMap<&ToolName, &Arc<RegisteredTool>> = self.global.tools.iter().collect();
        let mut guards: Vec<_> = self.global.guards.values().cloned().collect();
        let mut restrictions = Vec::new();
        let mut mode = self.default_mode;
        let mut own = None;
        for (index, (_, layer)) in chain.iter().enumerate() {
            guards.extend(layer.layer.guards.values().cloned());
            restrictions.extend(layer.restrictions.values());
            mode = layer.mode.map_or(mode, |(_, declared)| declared);
            if index + 1 == chain.len() {
                own = Some(&layer.layer);
            } else {
                inherited.extend(&layer.layer.tools);
            }
        }
        let restrictable: BTreeSet<ToolName> = inherited.keys().map(|name| (*name).clone()).collect();
        let mut known = restrictable.clone();
        let mut visible: BTreeMap<&ToolName, &Arc<RegisteredTool>> = inherited
            .into_iter()
            .filter(|(name, _)| restrictions.iter().all(|restriction| restriction.passes(name)))
            .collect();
        if let Some(own) = own {
            known.extend(own.tools.keys().cloned());
            visible.extend(&own.tools);
        }
        let mut tools: Vec<_> = visible.into_values().map(Arc::clone).collect();
        let run_code = self.run_code.clone().filter(|_| mode != PresentationMode::Native);
        tools.extend(run_code);
        RegistryView::seal(ViewParts {
            generation,
            openings: chain.iter().map(|(_, scope)| scope.opening).collect(),
            chain: chain.iter().map(|(id, _)| (*id).clone()).collect(),
            mode,
            tools,
            known,
            restrictable,
            guards,
        })
    }

    /// The scope with its ancestors, farthest first.
    pub(super) fn chain(&self, scope: Option<&ScopeId>) -> Result<Vec<(&ScopeId, &Scope)>, RegistryError> {
        let mut chain = Vec::new();
        let mut next = scope;
        while let Some(id) = next {
            let (id, scope) = self
                .scopes
                .get_key_value(id)
                .ok_or_else(|| RegistryError::UnknownScope { scope: id.clone() })?;
            next = scope.parent.as_ref();
            chain.push((id, scope));
        }
        chain.reverse();
        Ok(chain)
    }

    fn layer_mut(&mut self, target: &Target) -> Result<&mut Layer, RegistryError> {
        match target {
            Target::Global => Ok(&mut self.global),
            Target::Scope(scope) => Ok(&mut self.scope_mut(scope)?.layer),
        }
    }

    fn scope_mut(&mut self, scope: &ScopeId) -> Result<&mut Scope, RegistryError> {
        self.scopes.get_mut(scope).ok_or_else(|| RegistryError::UnknownScope { scope: scope.clone() })
    }

    fn take_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }
}

/// Any name is usable but these.
fn check_name(name: &str) -> Result<(), RegistryError> {
    let reason = if name == RUN_CODE {
        return Err(RegistryError::ReservedName);
    } else if name.is_empty() {
        "it is empty"
    } else if name.len() > MAX_NAME_BYTES {
        "it is longer than 128 bytes"
    } else if name.chars().any(char::is_control) {
        "it holds control characters"
    } else {
        return Ok(());
    };
    Err(RegistryError::BadName { name: name.chars().take(40).collect(), reason })
}
