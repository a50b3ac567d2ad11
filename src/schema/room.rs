//! Room on the stack for the validator, which recurses (T-8).
//!
//! Owns the translation of a schema's and a value's shape into bytes of stack, and moves to a larger stack when the
//! present one is too small. It must never let work begin for which the room is not known to suffice: a schema from
//! outside must not be able to end the process. It calls nobody.

use serde_json::Value;

/// Stack that one level of nesting takes when a schema is compiled, at least three times what was measured.
const PER_LEVEL: usize = if cfg!(debug_assertions) { 16 << 10 } else { 8 << 10 };

/// Stack that one step of the validator takes, from a schema to one inside it or to one that it refers to.
const PER_STEP: usize = if cfg!(debug_assertions) { 3 << 10 } else { 2 << 10 };

/// What everything around that takes.
const BASE: usize = 128 << 10;

/// The largest stack that is made. It is address space until it is touched.
const MOST: usize = 1 << 30;

/// How far the validator can recurse.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Containers in containers.
    depth: usize,
    /// Steps that it takes at most between one level of a value and the next.
    steps: usize,
}

impl Shape {
    pub(super) fn of(schema: &Value) -> Self {
        let (mut depth, mut containers, mut references) = (0_usize, 0_usize, 0_usize);
        let mut open = vec![(schema, 1_usize)];
        while let Some((value, level)) = open.pop() {
            match value {
                Value::Array(items) => open.extend(items.iter().map(|item| (item, level + 1))),
                Value::Object(members) => {
                    references += ["$ref", "$dynamicRef", "$recursiveRef"]
                        .iter()
                        .filter(|keyword| members.contains_key(**keyword))
                        .count();
                    open.extend(members.values().map(|member| (member, level + 1)));
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => continue,
            }
            depth = depth.max(level);
            containers += 1;
        }
        // Between two references it goes down; no schema is met twice before the value goes a level down too.
        let steps = containers.min(depth.saturating_mul(references + 1)).max(1);
        Self { depth, steps }
    }

    /// Runs `work`, which compiles the schema, with enough stack.
    pub(super) fn with_room_to_compile<R>(self, work: impl FnOnce() -> R) -> R {
        let room = BASE + self.depth.saturating_mul(PER_LEVEL);
        stacker::maybe_grow(room, room, work)
    }

    /// The deepest value that can be validated, if it is less than `limit`.
    pub(super) fn deepest_value(self, limit: usize) -> usize {
        limit.min((MOST - BASE) / PER_STEP / self.steps)
    }

    /// Runs `work`, which validates a value of this depth, with enough stack.
    pub(super) fn with_room_to_validate<R>(self, depth: usize, work: impl FnOnce() -> R) -> R {
        let room = BASE + self.steps.saturating_mul(depth + 1).saturating_mul(PER_STEP);
        let room = room.min(MOST);
        stacker::maybe_grow(room, room, work)
    }
}
