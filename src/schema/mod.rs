//! JSON Schema: compiled once, used for every call.
//!
//! Owns the compiled form of a schema and the text of validation problems. Validation itself is the
//! `jsonschema` crate's. It never fetches a schema from anywhere. It hands type rendering to [`ir`].

mod draft;
mod dsl;
mod explain;
pub mod ir;
mod marks;
mod metered;
mod order;
mod problems;
mod room;
mod subset;
#[cfg(test)]
pub(crate) mod tests;
mod work;

use std::fmt;
use std::sync::Arc;

use jsonschema::ReferencingError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

pub(crate) use dsl::repeated_property;
pub use dsl::{Property, PropertyKind, object};
pub(crate) use order::in_order;
pub use problems::{Problem, Problems};
pub use subset::{SubsetError, check_subset};

use draft::Draft;
use metered::{Look, Metered};
use room::Shape;
use work::{Budget, Stopped, within};

use crate::json::Extent;

/// A schema that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// The schema itself is malformed or uses something that cannot be resolved.
    #[error("the schema is not valid JSON Schema at `{pointer}`: {reason}")]
    Malformed {
        /// JSON pointer into the schema.
        pointer: String,
        /// What the validator says of it.
        reason: String,
    },
    /// The schema refers to something that is not in it.
    #[error(
        "the schema refers to `{reference}`, which is not in it; nothing is fetched, so it has to be under `$defs`"
    )]
    Elsewhere {
        /// What it refers to, as an absolute URI.
        reference: String,
    },
    /// The schema is written in a language of its own.
    #[error("the schema is of `{name}`, which is not known; use draft 2020-12 or draft-07")]
    UnknownDraft {
        /// What `$schema` says.
        name: String,
    },
    /// The schema uses a keyword outside the author-side subset (T-7).
    #[error(transparent)]
    Subset(#[from] SubsetError),
    /// The schema is nested deeper than can be compiled.
    #[error("the schema is nested more than {limit} levels deep")]
    TooDeep {
        /// The deepest nesting that is compiled.
        limit: usize,
    },
}

/// Deepest nesting of a schema that is handed to the validator, whose compiler recurses.
pub const MAX_SCHEMA_DEPTH: usize = 512;

/// Deepest nesting of a value that is handed to the validator, which recurses where the schema does.
pub const MAX_VALUE_DEPTH: usize = 512;

/// A schema with its validator, compiled once per definition (T-9). Cloning shares both.
#[derive(Clone)]
pub struct Schema {
    source: Arc<Value>,
    validator: Arc<jsonschema::Validator<Metered>>,
    shape: Shape,
}

impl Schema {
    /// Compiles a schema that may use all of JSON Schema 2020-12 or draft-07 (T-7).
    ///
    /// `$schema` says which of the two it is. Without it the schema is of 2020-12, or of draft-07 if it has a list of
    /// schemas as `items` or an anchor as `$id`, as only that has. References to anything outside the schema are
    /// refused; nothing is ever fetched.
    pub fn compile(source: Value) -> Result<Self, SchemaError> {
        Self::build(within_depth(source)?)
    }

    /// Compiles a schema written by a tool's author: the subset of T-7 and nothing else.
    ///
    /// Its keywords are put in one order, so that the same contract reads the same however it was written (T-6).
    pub fn compile_author(source: Value) -> Result<Self, SchemaError> {
        let source = within_depth(source)?;
        check_subset(&source)?;
        Self::build(in_order(source))
    }

    fn build(source: Value) -> Result<Self, SchemaError> {
        #[cfg(test)]
        tests::COMPILED.with(|compiled| compiled.set(compiled.get() + 1));
        let mut options = jsonschema::options_for::<Metered>().offline();
        if source.get("$schema").is_none() && Draft::of(&source) == Draft::Draft7 {
            options = options.with_draft(jsonschema::Draft::Draft7);
        }
        let shape = Shape::of(&source);
        let marked = marks::marked(&source);
        let compiled = marked.as_ref().unwrap_or(&source);
        let built = shape.with_room_to_compile(|| options.build(compiled));
        let validator = built.map_err(|error| refusal(&error))?;
        Ok(Self { source: Arc::new(source), validator: Arc::new(validator), shape })
    }

    /// The schema as JSON.
    pub fn source(&self) -> &Arc<Value> {
        &self.source
    }

    /// Checks a value; what is wrong with it comes as at most [`Problems::MAX`] problems.
    ///
    /// The work is bounded by the value, whatever the schema asks for. A value that would take more is refused.
    pub fn validate(&self, value: &Value) -> Result<(), Problems> {
        let limit = self.shape.deepest_value(MAX_VALUE_DEPTH);
        let extent = Extent::of(value);
        if extent.depth > limit {
            return Err(Problems::too_deep(limit));
        }
        let budget = Budget::for_value(extent);
        self.shape.with_room_to_validate(extent.depth, || {
            match within(budget, || self.validator.is_valid(Look(value))) {
                Ok(true) => Ok(()),
                Ok(false) => Err(explain::explain(&self.source, &self.validator, value, budget)),
                Err(Stopped::Spent) => Err(Problems::too_much_work()),
                Err(Stopped::Panicked) => Err(Problems::validator_failed()),
            }
        })
    }
}

fn refusal(error: &jsonschema::ValidationError<'_>) -> SchemaError {
    match error.kind() {
        ValidationErrorKind::Referencing(ReferencingError::Unretrievable { uri, .. }) => {
            SchemaError::Elsewhere { reference: uri.clone() }
        }
        ValidationErrorKind::Referencing(ReferencingError::UnknownSpecification { specification }) => {
            SchemaError::UnknownDraft { name: specification.clone() }
        }
        _ => SchemaError::Malformed {
            pointer: error.instance_path().as_str().to_owned(),
            reason: error.to_string(),
        },
    }
}

/// The schema itself, unless no stack would do for it. Deep ones are taken apart: dropping them would recurse too.
fn within_depth(source: Value) -> Result<Value, SchemaError> {
    if crate::json::depth_exceeds(&source, MAX_SCHEMA_DEPTH) {
        crate::json::dismantle(source);
        return Err(SchemaError::TooDeep { limit: MAX_SCHEMA_DEPTH });
    }
    Ok(source)
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.source).finish()
    }
}
