//! The types of a schema while they are made: equal ones stored once, each after its parts.
//!
//! Owns their ids and weights. Must never look into a schema. Used by `canon` and `union`.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::parts::weigh;
use super::{Type, TypeId};

/// The types so far, each once.
#[derive(Debug, Default)]
pub(super) struct Arena {
    types: Vec<Type>,
    /// About how many words each takes to print, named parts counting one.
    weights: Vec<u64>,
    by_hash: BTreeSet<(u64, TypeId)>,
}

impl Arena {
    pub(super) fn get(&self, id: TypeId) -> &Type {
        self.types.get(id.index()).unwrap_or(&Type::Json)
    }

    pub(super) fn weight(&self, id: TypeId) -> u64 {
        self.weights.get(id.index()).copied().unwrap_or(1)
    }

    pub(super) fn intern(&mut self, ty: Type) -> TypeId {
        let mut hasher = DefaultHasher::new();
        ty.hash(&mut hasher);
        let hash = hasher.finish();
        let mut same = self.by_hash.range((hash, TypeId(0))..=(hash, TypeId(u32::MAX))).map(|(_, id)| *id);
        if let Some(id) = same.find(|id| self.types.get(id.index()) == Some(&ty)) {
            return id;
        }
        let id = TypeId(u32::try_from(self.types.len()).unwrap_or(u32::MAX));
        self.by_hash.insert((hash, id));
        let weight = weigh(&ty, |part| self.weights.get(part.index()).copied().unwrap_or(1));
        self.weights.push(weight);
        self.types.push(ty);
        id
    }

    pub(super) fn into_types(self) -> Vec<Type> {
        self.types
    }
}
