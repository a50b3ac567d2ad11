//! Which types are reached, and names for large types that are used more than once.
//!
//! Must never change a type: only where it is written. The last step of `canon`.

use std::collections::HashSet;

use super::parts::{for_each_part, for_each_part_mut, weigh};
use super::{Definition, DefinitionId, Doc, Type, TypeId, TypeIr};

/// Weight from which an unnamed type that is used twice is given a name.
const SHARED_WEIGHT: u64 = 8;

/// Names large types with several uses and marks the definitions that the root reaches.
pub(super) fn name_shared(ir: &mut TypeIr, hint: impl Fn(TypeId) -> String) {
    let uses = uses(ir);
    // A renderer writes these together with what they share.
    let mut together = HashSet::new();
    for ty in &ir.types {
        if let Type::Intersection(parts) = ty {
            together.extend(parts.iter().copied());
        }
    }
    let mut named: Vec<Option<TypeId>> = vec![None; ir.types.len()];
    let mut weights: Vec<u64> = Vec::with_capacity(ir.types.len());
    let bodies: HashSet<TypeId> = ir.definitions.iter().map(|definition| definition.body).collect();
    for index in 0..named.len() {
        let id = TypeId(u32::try_from(index).unwrap_or(u32::MAX));
        let Some(ty) = ir.types.get_mut(index) else { break };
        for_each_part_mut(ty, |part| {
            if let Some(Some(name)) = named.get(part.index()) {
                *part = *name;
            }
        });
        let mut weight = weigh(ty, |part| weights.get(part.index()).copied().unwrap_or(1));
        let shared = uses.get(index).is_some_and(|uses| *uses > 1) && weight >= SHARED_WEIGHT;
        if shared && !bodies.contains(&id) && !together.contains(&id) {
            let definition = DefinitionId(u32::try_from(ir.definitions.len()).unwrap_or(u32::MAX));
            ir.definitions.push(Definition {
                hint: hint(id),
                body: id,
                doc: Doc::default(),
                recursive: false,
                used: false,
            });
            let name = TypeId(u32::try_from(ir.types.len()).unwrap_or(u32::MAX));
            ir.types.push(Type::Named(definition));
            if let Some(slot) = named.get_mut(index) {
                *slot = Some(name);
            }
            weight = 1;
        }
        weights.push(weight);
    }
    mark_used(ir);
}

/// How often each type is written: once for each distinct type that holds it, more if that holds it twice.
fn uses(ir: &TypeIr) -> Vec<u32> {
    let mut uses = vec![0_u32; ir.types.len()];
    let mut reached = vec![false; ir.types.len()];
    let mut work = vec![ir.root];
    while let Some(id) = work.pop() {
        if let Some(count) = uses.get_mut(id.index()) {
            *count = count.saturating_add(1);
        }
        if reached.get(id.index()) != Some(&false) {
            continue;
        }
        if let Some(reached) = reached.get_mut(id.index()) {
            *reached = true;
        }
        match ir.get(id) {
            Type::Named(definition) => work.extend(ir.definition(*definition).map(|known| known.body)),
            ty => for_each_part(ty, |part| work.push(*part)),
        }
    }
    uses
}

fn mark_used(ir: &mut TypeIr) {
    let uses = uses(ir);
    for (ty, _) in ir.types.iter().zip(uses).filter(|(_, uses)| *uses > 0) {
        if let Type::Named(definition) = ty
            && let Some(definition) = ir.definitions.get_mut(definition.index())
        {
            definition.used = true;
        }
    }
}
