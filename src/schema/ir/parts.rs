//! The types that a type is made of, and how much it takes to write it.
//!
//! Owns the one list of where a type refers to others. Must never follow a reference further than one step. Used by
//! `canon`, `sharing` and `union`.

use super::{Literal, Member, Rest, Type, TypeId};

/// Writes a walk over the parts of a type, once to read and once to change them.
macro_rules! walk {
    ($(#[$doc:meta])* $name:ident, $iter:ident $(, $mutable:tt)?) => {
        $(#[$doc])*
        pub(super) fn $name(ty: &$($mutable)? Type, mut visit: impl FnMut(&$($mutable)? TypeId)) {
            match ty {
                Type::Array(item) => visit(item),
                Type::Tuple { items, rest, .. } => items.$iter().chain(rest).for_each(visit),
                Type::Object(object) => {
                    object.members.$iter().for_each(|member| visit(&$($mutable)? member.ty));
                    object.patterns.$iter().for_each(|(_, part)| visit(part));
                    if let Rest::Of(part) = &$($mutable)? object.rest {
                        visit(part);
                    }
                }
                Type::Union(variants) => variants.$iter().for_each(|variant| visit(&$($mutable)? variant.ty)),
                Type::Intersection(parts) => parts.$iter().for_each(visit),
                Type::Json
                | Type::Never
                | Type::Null
                | Type::Boolean
                | Type::Number
                | Type::String
                | Type::Literal(_)
                | Type::Named(_) => {}
            }
        }
    };
}

walk! {
    /// Calls with each type that this one holds. A name holds none.
    for_each_part, iter
}
walk! {
    /// The same, to put others in their places.
    for_each_part_mut, iter_mut, mut
}

/// About how many words a type takes to print, given what its parts take.
pub(super) fn weigh(ty: &Type, of: impl Fn(TypeId) -> u64) -> u64 {
    let mut weight = match ty {
        Type::Object(object) => {
            let signatures = object.patterns.len() + usize::from(matches!(object.rest, Rest::Of(_)));
            let signatures = u64::try_from(signatures).unwrap_or(u64::MAX);
            object.members.iter().map(member_weight).fold(signatures.saturating_add(1), u64::saturating_add)
        }
        Type::Union(_) => 0,
        Type::Literal(Literal::String(text)) => 1 + long(text.len()),
        _ => 1,
    };
    for_each_part(ty, |part| weight = weight.saturating_add(of(*part)));
    weight
}

/// What a text adds that is so long that it is better written once.
pub(super) fn long(bytes: usize) -> u64 {
    u64::try_from(bytes / 256).unwrap_or(u64::MAX)
}

/// What a member weighs without its type.
pub(super) fn member_weight(member: &Member) -> u64 {
    let doc = member.doc.text.as_ref().map_or(0, |text| text.len() / 16) + 2 * member.doc.tags.len();
    u64::try_from(doc).unwrap_or(u64::MAX).saturating_add(1)
}
