//! Why a value does not fit, in words a model can act on (P-16).
//!
//! Owns the way from the validator's errors to problems: expectation, kind of the value, nearest property name. It
//! finds no more problems than are listed, and never lets the validator collect errors without a budget: where unions
//! refer to themselves there are exponentially many. It calls `work`, `json` and `ids`.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use super::metered::{Look, Metered};
use super::problems::{Problem, Problems, excerpt};
use super::work::{Budget, address, take_blamed, within};
use crate::ids::nearest;
use crate::json;

/// Most unknown members of an object that are looked through for what was meant.
const MOST_STRANGERS: usize = 1_000;

/// The problems of a value that is known not to fit.
///
/// All of its errors if they can be had, else the first one, else the deepest place that any error was about.
pub(super) fn explain(
    schema: &Value,
    validator: &Validator<Metered>,
    value: &Value,
    budget: Budget,
) -> Problems {
    take_blamed();
    if let Ok(errors) = within(budget, || validator.iter_errors(Look(value))) {
        let problems = Problems::collect(schema, errors);
        if !problems.listed.is_empty() {
            take_blamed();
            return problems;
        }
    }
    if let Ok(Err(error)) = within(budget, || validator.validate(Look(value))) {
        take_blamed();
        return Problems { more: true, ..Problems::collect(schema, std::iter::once(error)) };
    }
    let (pointer, place) = deepest_of(value, take_blamed());
    let message = format!("fits no form that the schema allows here (got {})", json::kind(place));
    let hint = "; it can be wrong in too many ways to list them".to_owned();
    Problems { listed: vec![Problem { pointer, message, hint }], more: true }
}

impl Problems {
    fn collect<'a>(schema: &Value, errors: impl Iterator<Item = ValidationError<'a>>) -> Self {
        let mut listed = Vec::new();
        for error in errors {
            listed.extend(explain_error(schema, &error, Self::MAX + 1 - listed.len()));
            if listed.len() > Self::MAX {
                break;
            }
        }
        let more = listed.len() > Self::MAX;
        listed.truncate(Self::MAX);
        Self { listed, more }
    }
}

/// A part of a value, and the way to it.
struct Part<'a> {
    value: &'a Value,
    depth: usize,
    /// The index of the part that it is in.
    within: usize,
    step: Step<'a>,
}

enum Step<'a> {
    Start,
    Item(usize),
    Member(&'a str),
}

/// The deepest part of `value` whose address is among `blamed`, the first of them, with its pointer; else the whole.
fn deepest_of(value: &Value, mut blamed: Vec<usize>) -> (String, &Value) {
    blamed.sort_unstable();
    blamed.dedup();
    let mut parts = vec![Part { value, depth: 0, within: 0, step: Step::Start }];
    let (mut deepest, mut found, mut next) = (0, value, 0);
    let mut way = 0;
    // Level by level, so that no part is followed by one that is less deep.
    while let Some(&Part { value, depth, .. }) = parts.get(next) {
        if depth > deepest && blamed.binary_search(&address(value)).is_ok() {
            (deepest, found, way) = (depth, value, next);
        }
        let part = |value, step| Part { value, depth: depth + 1, within: next, step };
        match value {
            Value::Array(items) => {
                parts.extend(items.iter().enumerate().map(|(index, item)| part(item, Step::Item(index))));
            }
            Value::Object(members) => {
                parts.extend(members.iter().map(|(name, member)| part(member, Step::Member(name))));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        next += 1;
    }
    let mut steps = Vec::new();
    while let Some(Part { within, step, .. }) = parts.get(way) {
        match step {
            Step::Start => break,
            Step::Item(index) => steps.push(format!("/{index}")),
            Step::Member(name) => steps.push(format!("/{}", json::pointer_step(name))),
        }
        way = *within;
    }
    steps.reverse();
    (steps.concat(), found)
}

/// At most `most` problems of one error.
fn explain_error(schema: &Value, error: &ValidationError<'_>, most: usize) -> Vec<Problem> {
    let pointer = error.instance_path().as_str();
    let instance = error.instance().as_ref();
    let problem =
        |message: String| vec![Problem { pointer: pointer.to_owned(), message, hint: String::new() }];
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let known = declared_properties(schema, error);
            let unknown = unexpected.iter().take(most);
            unknown.map(|name| unknown_property(pointer, instance, name, &known)).collect()
        }
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let known = declared_properties(schema, error);
            let strangers = instance.as_object().map(|members| {
                let names = members.keys().map(String::as_str).take(MOST_STRANGERS);
                names.filter(|key| known.binary_search(key).is_err())
            });
            let hint = strangers
                .and_then(|strangers| nearest(name, strangers))
                .map(|near| format!(" (you passed `{}`)", excerpt(near)))
                .unwrap_or_default();
            problem(format!("required property `{}` is missing{hint}", excerpt(name)))
        }
        ValidationErrorKind::Type { kind } => {
            let expected = match kind {
                TypeKind::Single(single) => format!("{single}"),
                TypeKind::Multiple(set) => {
                    set.iter().map(|single| single.to_string()).collect::<Vec<_>>().join(" or ")
                }
            };
            problem(format!("expected {expected}, got {}", json::kind(instance)))
        }
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            let shown: Vec<_> = options.iter().take(12).map(|option| excerpt(&option.to_string())).collect();
            let rest = if options.len() > shown.len() { ", ..." } else { "" };
            problem(format!(
                "expected one of {}{rest}, got {}",
                shown.join(", "),
                excerpt(&instance.to_string())
            ))
        }
        ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
            explain_union(schema, error)
        }
        ValidationErrorKind::OneOfMultipleValid { context } => {
            let fitting = context.iter().filter(|branch| branch.is_empty()).count();
            problem(format!(
                "fits {fitting} of the {} allowed forms; exactly one is wanted (got {})",
                context.len(),
                json::kind(instance)
            ))
        }
        _ => problem(format!("{} (got {})", excerpt(&error.masked().to_string()), json::kind(instance))),
    }
}

fn unknown_property(pointer: &str, instance: &Value, name: &str, known: &[&str]) -> Problem {
    let unused = known.iter().copied().filter(|known| instance.get(known).is_none());
    let hint = nearest(name, unused)
        .map(|near| format!("; did you mean `{}`?", excerpt(near)))
        .or_else(|| known_list(known))
        .unwrap_or_default();
    Problem {
        pointer: format!("{pointer}/{}", json::pointer_step(name)),
        message: format!("unknown property `{}`", excerpt(name)),
        hint,
    }
}

/// What is wrong in the branch that comes nearest says more than "fits none".
fn explain_union(schema: &Value, union: &ValidationError<'_>) -> Vec<Problem> {
    let mut union = union;
    let context = loop {
        let Some(context) = branches(union) else { return explain_error(schema, union, 1) };
        match nearest_branch(union, context) {
            // A union in a union, as in types that refer to themselves.
            Some(inner) => union = inner,
            None => break context,
        }
    };
    let expected: Vec<_> = context
        .iter()
        .filter_map(|branch| branch.first())
        .flat_map(|inner| match branches(inner) {
            // Named, not unfolded: none of its branches comes near.
            Some(_) => vec![union_problem(inner, "fits none of the allowed forms".to_owned())],
            None => explain_error(schema, inner, 1),
        })
        .map(|problem| problem.message)
        .take(3)
        .collect();
    let detail = if expected.is_empty() { String::new() } else { format!(": {}", expected.join(", or ")) };
    let message = format!("fits none of the {} allowed forms{detail}", context.len().max(2));
    vec![union_problem(union, message)]
}

fn union_problem(union: &ValidationError<'_>, message: String) -> Problem {
    Problem { pointer: union.instance_path().as_str().to_owned(), message, hint: String::new() }
}

/// The errors of a union's branches, if the error is that none of them fits.
fn branches<'a>(error: &'a ValidationError<'_>) -> Option<&'a [Vec<ValidationError<'static>>]> {
    match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            Some(context)
        }
        _ => None,
    }
}

/// The first error of the branch whose first error lies deepest, if it is inside the value at all.
fn nearest_branch<'a>(
    union: &ValidationError<'_>,
    context: &'a [Vec<ValidationError<'static>>],
) -> Option<&'a ValidationError<'static>> {
    let depth = |error: &ValidationError<'_>| error.instance_path().as_str().matches('/').count();
    let inside = |error: &ValidationError<'_>| {
        error.instance_path().as_str().len() > union.instance_path().as_str().len()
    };
    context
        .iter()
        .filter(|branch| !branch.is_empty())
        .max_by_key(|branch| branch.iter().map(depth).min())
        .filter(|branch| branch.iter().any(inside))?
        .first()
}

/// The property names that the schema around the failing keyword declares, sorted; empty when it cannot be found.
fn declared_properties<'a>(schema: &'a Value, error: &ValidationError<'_>) -> Vec<&'a str> {
    let path = error.schema_path().as_str();
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let properties = schema.pointer(parent).and_then(|object| object.get("properties"));
    let mut names: Vec<_> =
        properties.and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names
}

fn known_list(known: &[&str]) -> Option<String> {
    if known.is_empty() {
        return None;
    }
    let shown: Vec<_> = known.iter().take(12).map(|name| format!("`{}`", excerpt(name))).collect();
    let rest = if known.len() > shown.len() { ", ..." } else { "" };
    Some(format!("; the properties are {}{rest}", shown.join(", ")))
}
