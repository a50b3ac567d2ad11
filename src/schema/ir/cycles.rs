//! How the states of a graph refer to each other, and which unions consist of themselves.
//!
//! Must never recurse. Used by `canon`.

use super::graph::{Graph, Part, RestShape, Shape, StateId};

/// Calls with each state that the parts refer to, and whether as a branch.
pub(super) fn for_each_child(parts: &[Part<'_>], mut visit: impl FnMut(StateId, bool)) {
    for part in parts {
        match part {
            Part::Array { item, .. } => visit(*item, false),
            Part::Tuple { items, rest, .. } => {
                for item in items.iter().chain(rest) {
                    visit(*item, false);
                }
            }
            Part::Object(object) => {
                for member in &object.members {
                    visit(member.state, false);
                }
                for (_, state) in &object.patterns {
                    visit(*state, false);
                }
                if let RestShape::Of(states) = &object.rest {
                    for state in states {
                        visit(*state, false);
                    }
                }
            }
            Part::State { state, .. } => visit(*state, true),
            Part::Null | Part::Boolean | Part::Number { .. } | Part::String | Part::Literal(_) => {}
        }
    }
}

/// States that reach themselves through branches of unions alone: no type alias can say that.
pub(super) fn circular_unions(graph: &Graph<'_>) -> Vec<bool> {
    let mut circular = vec![false; graph.states.len()];
    // 0 new, 1 open, 2 done
    let mut marks = vec![0_u8; graph.states.len()];
    let branches = |state: usize| {
        let mut branches = Vec::new();
        if let Some(Shape::Parts(parts)) = graph.states.get(state).and_then(|state| state.shape.as_ref()) {
            for_each_child(parts, |child, branch| {
                if branch && child.0 as usize != state {
                    branches.push(child.0 as usize);
                }
            });
        }
        branches
    };
    for start in 0..graph.states.len() {
        let mut stack = vec![(start, None::<Vec<usize>>)];
        while let Some((state, pending)) = stack.last_mut() {
            let state = *state;
            if pending.is_none() {
                if marks.get(state) != Some(&0) {
                    stack.pop();
                    continue;
                }
                set(&mut marks, state, 1);
            }
            match pending.get_or_insert_with(|| branches(state)).pop() {
                Some(child) if marks.get(child) == Some(&1) => set(&mut circular, child, true),
                Some(child) => stack.push((child, None)),
                None => {
                    set(&mut marks, state, 2);
                    stack.pop();
                }
            }
        }
    }
    circular
}

fn set<T>(list: &mut [T], index: usize, value: T) {
    if let Some(slot) = list.get_mut(index) {
        *slot = value;
    }
}
