//! JSON Schema to a small intermediate form of types, which renderers print.
//!
//! `compile` never fails, never follows a reference out of the document and never yields a type narrower
//! than the schema: what the form cannot say becomes wider, and [`TypeIr::widenings`] says where and why.
//! Work and result are bounded by [`IrBudget`]; nothing recurses over the input. Renderers (in `sdk`) own
//! the text: names, escaping and whatever their language needs to stay valid.
//!
//! Stages: `keywords` and `document` read the schema, `conjunction`, `graph`, `leaf` and `members` turn it
//! into states, `canon` shares and names them.

mod arena;
mod canon;
mod conjunction;
mod cycles;
mod doc;
mod document;
mod graph;
mod keywords;
mod leaf;
mod members;
mod parts;
mod pattern;
mod sharing;
#[cfg(test)]
mod tests;
mod union;

use serde_json::{Number, Value};

pub use doc::{Doc, DocTag};
pub use pattern::KeyPattern;

/// Bounds of a compilation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IrBudget {
    /// Containers (objects, arrays) inside one another; a deeper one becomes [`Type::Json`]. SDK-8.
    pub max_depth: usize,
    /// Distinct types of one schema; further ones become [`Type::Json`].
    pub max_states: usize,
    /// Branches that one combination of several unions may multiply to. A single union is not limited.
    pub max_variants: usize,
}

impl Default for IrBudget {
    fn default() -> Self {
        Self { max_depth: 16, max_states: 20_000, max_variants: 64 }
    }
}

/// A type of a [`TypeIr`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(u32);

impl TypeId {
    /// The position in [`TypeIr::types`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A named type of a [`TypeIr`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DefinitionId(u32);

impl DefinitionId {
    /// The position in [`TypeIr::definitions`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A compiled schema: types that refer to each other by id, equal ones stored once.
///
/// A type refers to types before it, or to a [`Type::Named`] anywhere, so a renderer needs one pass and no
/// recursion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeIr {
    /// All types.
    pub types: Vec<Type>,
    /// Types with a name: targets of references, types that contain themselves, large types used twice.
    pub definitions: Vec<Definition>,
    /// The type of the schema itself.
    pub root: TypeId,
    /// The documentation of the schema itself.
    pub doc: Doc,
    /// Where a type is wider than its schema, by place: the first hundred or so.
    pub widenings: Vec<Widening>,
}

impl TypeIr {
    /// The type at an id; [`Type::Json`] for an id of another compilation.
    pub fn get(&self, id: TypeId) -> &Type {
        self.types.get(id.index()).unwrap_or(&Type::Json)
    }

    /// The definition at an id; `None` for an id of another compilation.
    pub fn definition(&self, id: DefinitionId) -> Option<&Definition> {
        self.definitions.get(id.index())
    }
}

/// A named type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// What the schema calls it: the key under which it was found. May be empty, repeated, or no
    /// identifier in any language.
    pub hint: String,
    /// The type.
    pub body: TypeId,
    /// Its documentation.
    pub doc: Doc,
    /// Whether it contains itself, so that its name is needed before its body.
    pub recursive: bool,
    /// Whether the root reaches it.
    pub used: bool,
}

/// A type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    /// Any JSON value.
    Json,
    /// No value.
    Never,
    /// `null`.
    Null,
    /// A boolean.
    Boolean,
    /// A number, whole or not.
    Number,
    /// A string.
    String,
    /// One value.
    Literal(Literal),
    /// A list of any length.
    Array(TypeId),
    /// A list whose first elements are told apart.
    Tuple {
        /// The first elements.
        items: Vec<TypeId>,
        /// How many of them must be there.
        required: usize,
        /// What follows them. `None`: nothing may.
        rest: Option<TypeId>,
    },
    /// An object.
    Object(ObjectType),
    /// One of several types, at least two.
    Union(Vec<Variant>),
    /// All of several types: the members that the branches of a union share, and that union.
    Intersection(Vec<TypeId>),
    /// A definition.
    Named(DefinitionId),
}

/// A scalar.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Literal {
    /// `true` or `false`.
    Boolean(bool),
    /// The digits as JSON writes them; whole numbers lie within 2^53.
    Number(String),
    /// A string.
    String(String),
}

impl Literal {
    /// `None` for a number that a double would round.
    pub(crate) fn number(number: &Number) -> Option<Self> {
        const EXACT: u64 = 1 << 53;
        if let Some(whole) = number.as_i64() {
            return (whole.unsigned_abs() <= EXACT).then(|| Self::Number(whole.to_string()));
        }
        let float = number.as_f64().filter(|float| number.is_f64() && float.is_finite())?;
        let text = if float == 0.0 {
            "0".to_owned()
        } else if float.fract() == 0.0 && float.abs() < 1e15 {
            format!("{float}")
        } else {
            number.to_string()
        };
        Some(Self::Number(text))
    }
}

/// An object type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectType {
    /// Required ones first, then optional ones, each by name. SDK-2.
    pub members: Vec<Member>,
    /// Types of keys by the look of the key. A key may match several; then all hold.
    pub patterns: Vec<(KeyPattern, TypeId)>,
    /// All other keys.
    pub rest: Rest,
}

/// The keys that an object type does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rest {
    /// May be there, with any value.
    Open,
    /// Must not be there.
    Closed,
    /// May be there, with this type.
    Of(TypeId),
}

/// A named member of an object type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Member {
    /// The key, as the JSON has it.
    pub name: String,
    /// Its type.
    pub ty: TypeId,
    /// Whether it must be there.
    pub required: bool,
    /// Its documentation.
    pub doc: Doc,
}

/// A branch of a union.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Variant {
    /// Its type.
    pub ty: TypeId,
    /// Its documentation.
    pub doc: Doc,
}

/// A place where a type is wider than its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Widening {
    /// JSON pointer of the schema.
    pub pointer: String,
    /// Why.
    pub reason: Reason,
}

/// Why a type is wider than its schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// A reference to nothing in this document.
    DanglingReference,
    /// A dynamic reference whose target depends on the path to it.
    DynamicReference,
    /// More containers inside one another than [`IrBudget::max_depth`].
    TooDeep,
    /// More types than [`IrBudget::max_states`], or unions of many members that multiply beyond all proportion to the
    /// schema.
    TooLarge,
    /// Unions that multiply beyond [`IrBudget::max_variants`].
    TooManyVariants,
    /// A union that consists of itself.
    Circular,
}

/// Compiles a schema. Any JSON value is taken: what is no schema accepts anything.
pub fn compile(schema: &Value, budget: &IrBudget) -> TypeIr {
    canon::canonical(&graph::Graph::build(schema, false, budget))
}

/// Compiles the schema of a tool's arguments, of which only the objects count: arguments always are one.
pub fn compile_object(schema: &Value, budget: &IrBudget) -> TypeIr {
    canon::canonical(&graph::Graph::build(schema, true, budget))
}
