//! Unions: from a list of branches to one type.
//!
//! Flattens, drops repetitions, recognises "anything", and writes members that all object branches share
//! once, as an intersection that a language distributes over the branches (so that they stay
//! discriminable). Must never change what is accepted. Part of `canon`.

use std::collections::HashSet;

use super::arena::Arena;
use super::parts::member_weight;
use super::{Doc, Literal, Member, ObjectType, Rest, Type, TypeId, Variant};

/// Weight that writing shared members once must save.
const WORTH_SHARING: u64 = 6;

impl Arena {
    /// The union of branches, in their order.
    pub(super) fn union(&mut self, branches: Vec<Variant>) -> TypeId {
        if let [only] = branches.as_slice() {
            return only.ty;
        }
        let mut variants: Vec<Variant> = Vec::with_capacity(branches.len());
        let mut seen: HashSet<TypeId> = HashSet::with_capacity(branches.len());
        for branch in branches {
            match self.get(branch.ty) {
                Type::Json => return self.intern(Type::Json),
                Type::Never => {}
                Type::Union(inner) => {
                    for variant in inner.clone() {
                        if seen.insert(variant.ty) {
                            variants.push(variant);
                        }
                    }
                }
                _ => {
                    if seen.insert(branch.ty) {
                        variants.push(branch);
                    }
                }
            }
        }
        if self.covers_everything(&variants) {
            return self.intern(Type::Json);
        }
        self.join_booleans(&mut variants);
        match variants.as_slice() {
            [] => self.intern(Type::Never),
            [only] => only.ty,
            _ => {
                let variants = self.factor(variants);
                match variants.as_slice() {
                    [only] => only.ty,
                    _ => self.intern(Type::Union(variants)),
                }
            }
        }
    }

    fn covers_everything(&self, variants: &[Variant]) -> bool {
        let mut kinds = [false; 6];
        for variant in variants {
            let kind = match self.get(variant.ty) {
                Type::Null => 0,
                Type::Boolean => 1,
                Type::Number => 2,
                Type::String => 3,
                Type::Array(item) if *self.get(*item) == Type::Json => 4,
                Type::Object(object) if is_bare(object) => 5,
                _ => continue,
            };
            if let Some(kind) = kinds.get_mut(kind) {
                *kind = true;
            }
        }
        kinds.iter().all(|kind| *kind)
    }

    fn join_booleans(&mut self, variants: &mut Vec<Variant>) {
        let literal = |arena: &Self, variant: &Variant, flag: bool| {
            variant.doc.is_empty() && *arena.get(variant.ty) == Type::Literal(Literal::Boolean(flag))
        };
        let both =
            [true, false].iter().all(|flag| variants.iter().any(|variant| literal(self, variant, *flag)));
        if !both {
            return;
        }
        let boolean = self.intern(Type::Boolean);
        let known = variants.iter().any(|variant| variant.ty == boolean);
        let mut replaced = known;
        variants.retain_mut(|variant| {
            if !literal(self, variant, true) && !literal(self, variant, false) {
                return true;
            }
            variant.ty = boolean;
            !std::mem::replace(&mut replaced, true)
        });
    }

    /// Writes members that all object branches share once.
    fn factor(&mut self, variants: Vec<Variant>) -> Vec<Variant> {
        let mut objects: Vec<&ObjectType> = Vec::new();
        for variant in &variants {
            if let Type::Object(object) = self.get(variant.ty) {
                if object.patterns.is_empty() && !matches!(object.rest, Rest::Of(_)) {
                    objects.push(object);
                } else {
                    // A typed index would have to admit the members written elsewhere.
                    return variants;
                }
            }
        }
        let Some((first, others)) = objects.split_first().filter(|(_, others)| !others.is_empty()) else {
            return variants;
        };
        let mut shared: Vec<Member> = first.members.clone();
        for object in others {
            let members: HashSet<&Member> = object.members.iter().collect();
            shared.retain(|member| members.contains(member));
        }
        let saved = shared
            .iter()
            .map(|member| member_weight(member).saturating_add(self.weight(member.ty)))
            .fold(0, u64::saturating_add)
            .saturating_mul(u64::try_from(others.len()).unwrap_or(u64::MAX));
        if saved < WORTH_SHARING {
            return variants;
        }
        let open = objects.iter().all(|object| object.rest == Rest::Open);
        let common: HashSet<Member> = shared.iter().cloned().collect();
        let (mut rests, mut outside) = (Vec::new(), Vec::new());
        let mut place = 0;
        for variant in variants {
            let Type::Object(object) = self.get(variant.ty) else {
                outside.push(variant);
                continue;
            };
            if rests.is_empty() {
                place = outside.len();
            }
            let members = object.members.iter().filter(|member| !common.contains(*member)).cloned().collect();
            let own = ObjectType { members, patterns: Vec::new(), rest: object.rest };
            rests.push((own, variant.doc));
        }
        let rest = if open { Rest::Open } else { Rest::Closed };
        let common = self.intern(Type::Object(ObjectType { members: shared, patterns: Vec::new(), rest }));
        let mut inner: Vec<Variant> = Vec::new();
        for (object, doc) in rests {
            let ty = self.intern(Type::Object(object));
            if !inner.iter().any(|known| known.ty == ty) {
                inner.push(Variant { ty, doc });
            }
        }
        let inner = match inner.as_slice() {
            [only] => only.ty,
            _ => self.intern(Type::Union(inner)),
        };
        let ty = self.intern(Type::Intersection(vec![common, inner]));
        outside.insert(place, Variant { ty, doc: Doc::default() });
        outside
    }
}

/// Any object.
fn is_bare(object: &ObjectType) -> bool {
    object.members.is_empty() && object.patterns.is_empty() && object.rest == Rest::Open
}
