//! The named types of one schema while it is printed, whatever the language.
//!
//! Owns when a name is given: before the body for a type that contains itself, after it for others, and none
//! anew for a type that the tool declares already. Must never look into a body, which is text of a language.
//! Used by the printers; names come from `names`.

use crate::schema::ir::{Definition, DefinitionId, TypeIr};

use super::names::DeclaredNames;

/// The definitions of a schema, and the declarations written so far.
#[derive(Debug)]
pub(super) struct Definitions<'a, 'n> {
    ir: &'a TypeIr,
    fallback: &'static str,
    names: Vec<Option<String>>,
    allocator: &'a mut DeclaredNames<'n>,
    declarations: &'a mut String,
    /// Names of recursive types are those of declared ones, still to be compared.
    assumed: bool,
}

impl<'a, 'n> Definitions<'a, 'n> {
    /// Declarations of named types are appended to `declarations`; `fallback` names one without a hint.
    pub(super) fn new(
        ir: &'a TypeIr,
        fallback: &'static str,
        allocator: &'a mut DeclaredNames<'n>,
        declarations: &'a mut String,
    ) -> Self {
        let names = vec![None; ir.definitions.len()];
        Self { ir, fallback, names, allocator, declarations, assumed: false }
    }

    /// Prints the schema: `print` declares all definitions and gives up when one cannot be declared, which
    /// happens at most once. `None`: it gave up of itself.
    pub(super) fn settle<T>(mut self, print: impl Fn(&mut Self) -> Option<T>) -> Option<T> {
        if self.assume_repeated() {
            let kept = (self.allocator.clone(), self.declarations.len());
            if let Some(printed) = print(&mut self) {
                return Some(printed);
            }
            *self.allocator = kept.0;
            self.declarations.truncate(kept.1);
        }
        self.assumed = false;
        self.names = vec![None; self.ir.definitions.len()];
        for (index, definition) in recursive(self.ir) {
            let name = self.allocator.reserve(&definition.hint, self.fallback);
            self.set_name(index, name);
        }
        print(&mut self)
    }

    /// Supposes that every recursive type repeats one that is declared already: the result of a tool often
    /// holds the types of its arguments.
    fn assume_repeated(&mut self) -> bool {
        let mut found = false;
        for (index, definition) in recursive(self.ir) {
            let known = self.allocator.recursive(&definition.hint, self.fallback);
            let Some((name, _)) = known.cloned() else { return false };
            self.set_name(index, name);
            found = true;
        }
        self.assumed = found;
        found
    }

    fn set_name(&mut self, index: usize, name: String) {
        if let Some(slot) = self.names.get_mut(index) {
            *slot = Some(name);
        }
    }

    /// The definitions that each type is the body of, by the position of the type.
    pub(super) fn bodies(&self) -> Vec<Vec<usize>> {
        let mut bodies: Vec<Vec<usize>> = vec![Vec::new(); self.ir.types.len()];
        for (index, definition) in self.ir.definitions.iter().enumerate().filter(|(_, known)| known.used) {
            if let Some(definitions) = bodies.get_mut(definition.body.index()) {
                definitions.push(index);
            }
        }
        bodies
    }

    /// The name of a definition; `None` before it has one.
    pub(super) fn name(&self, id: DefinitionId) -> Option<&str> {
        self.names.get(id.index()).and_then(Option::as_deref)
    }

    /// Declares a definition and returns its name. `text` is all of it but the name, `write` the declaration
    /// under a name. `None`: it is not the recursive type that it was taken for.
    pub(super) fn declare(
        &mut self,
        index: usize,
        text: String,
        write: impl FnOnce(&str) -> String,
    ) -> Option<String> {
        let definition = self.ir.definitions.get(index)?;
        let (hint, fallback) = (&definition.hint, self.fallback);
        if !definition.recursive {
            let name = self.declare_part(hint, &text, write);
            self.set_name(index, name.clone());
            return Some(name);
        }
        let name = self.names.get(index).cloned().flatten().unwrap_or_default();
        if self.assumed {
            let declared = (name, text);
            return (self.allocator.recursive(hint, fallback) == Some(&declared)).then_some(declared.0);
        }
        self.allocator.remember(hint, fallback, &name, &text);
        self.declarations.push_str(&write(&name));
        Some(name)
    }

    /// The same for a type that the language wants named and that is no definition.
    pub(super) fn declare_part(
        &mut self,
        hint: &str,
        text: &str,
        write: impl FnOnce(&str) -> String,
    ) -> String {
        let (name, new) = self.allocator.declare(hint, self.fallback, text);
        if new {
            self.declarations.push_str(&write(&name));
        }
        name
    }
}

/// The definitions whose names are needed before their bodies.
fn recursive(ir: &TypeIr) -> impl Iterator<Item = (usize, &Definition)> {
    ir.definitions.iter().enumerate().filter(|(_, definition)| definition.used && definition.recursive)
}
