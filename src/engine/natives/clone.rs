//! Structured clones.
//!
//! Owns the walk over a value and its copy. V8's own serialiser writes everything into native memory that no limit
//! counts, a text once more for each place that refers to it; this one copies object by object, shares texts, and
//! keeps what it works with in V8's heap, where the heap limit sees it. It never recurses and never reads a property
//! twice. It calls V8's serialiser for kinds that refer to nothing, and to tell plain objects from all that has no copy.

use v8::{ValueDeserializerHelper, ValueSerializerHelper};

use crate::engine::natives::bytes::make_room;
use crate::engine::natives::{MAX_TEXT, interrupted, throw_range};

/// `clone(value, refusal) -> value`: a structured clone. For what cannot be cloned, what `refusal(text)` gives is
/// thrown.
pub(super) fn clone(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let Ok(refusal) = v8::Local::<v8::Function>::try_from(args.get(1)) else { return };
    let none = v8::null(scope).into();
    let walk = Walk {
        seen: v8::Map::new(scope),
        open: v8::Object::with_prototype_and_properties(scope, none, &[], &[]),
        frames: Vec::new(),
        refusal,
    };
    // Nothing means that an exception is on its way.
    if let Some(copy) = walk.run(scope, args.get(0)) {
        value.set(copy);
    }
}

/// What is left to copy of one object. Its handles are in `Walk::open`; this is a tenth of what those take.
#[derive(Clone, Copy)]
struct Frame {
    kind: Kind,
    next: u32,
    count: u32,
}

#[derive(Clone, Copy)]
enum Kind {
    /// Items are the names of own properties.
    Object,
    /// The same, and the length that the copy is to have.
    Array { length: u32 },
    /// Items are keys and values in turn; a key gives way to its copy.
    Map,
    /// Items are the members.
    Set,
    /// The one item is the cause.
    Error,
}

struct Walk<'s> {
    /// From each object to its copy. A map looks at no property and asks no prototype.
    seen: v8::Local<'s, v8::Map>,
    /// Source, copy and items of every frame. Without a prototype, so that storing is defining.
    open: v8::Local<'s, v8::Object>,
    frames: Vec<Frame>,
    refusal: v8::Local<'s, v8::Function>,
}

/// The own properties that are copied: enumerable ones with a text for a name, indices as numbers.
fn names<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    object: v8::Local<'_, v8::Object>,
) -> Option<v8::Local<'s, v8::Array>> {
    object.get_own_property_names(
        scope,
        v8::GetPropertyNamesArgs {
            mode: v8::KeyCollectionMode::OwnOnly,
            property_filter: v8::PropertyFilter::ONLY_ENUMERABLE | v8::PropertyFilter::SKIP_SYMBOLS,
            index_filter: v8::IndexFilter::IncludeIndices,
            key_conversion: v8::KeyConversionMode::KeepNumbers,
        },
    )
}

impl Walk<'_> {
    fn run<'s>(
        mut self,
        scope: &mut v8::PinScope<'s, '_>,
        root: v8::Local<'_, v8::Value>,
    ) -> Option<v8::Local<'s, v8::Value>> {
        let root = v8::Local::new(scope, root);
        let copy = self.copy(scope, root)?;
        while let Some(depth) = self.frames.len().checked_sub(1) {
            v8::scope!(let scope, scope);
            self.advance(scope, depth)?;
        }
        Some(copy)
    }

    /// Goes on with the innermost frame until it is done or has led to another one.
    fn advance(&mut self, scope: &mut v8::PinScope<'_, '_>, depth: usize) -> Option<()> {
        let slot = u32::try_from(depth).ok()?.checked_mul(3)?;
        let source = self.open.get_index(scope, slot)?.cast::<v8::Object>();
        let copy = self.open.get_index(scope, slot + 1)?.cast::<v8::Object>();
        let items = self.open.get_index(scope, slot + 2)?.cast::<v8::Array>();
        loop {
            if interrupted(scope) {
                return None;
            }
            let frame = self.frames.get_mut(depth)?;
            let (kind, index) = (frame.kind, frame.next);
            if index >= frame.count {
                break;
            }
            frame.next += 1;
            v8::scope!(let scope, scope);
            self.step(scope, kind, source, copy, items, index)?;
            if self.frames.len() > depth + 1 {
                return Some(());
            }
        }
        let frame = self.frames.pop()?;
        if let Kind::Array { length } = frame.kind
            && copy.cast::<v8::Array>().length() != length
        {
            // An array's own property: no setter of the program is asked.
            let key = v8::String::new(scope, "length")?;
            let length = v8::Integer::new_from_unsigned(scope, length);
            copy.set(scope, key.into(), length.into())?;
        }
        Some(())
    }

    /// Copies one item of a frame.
    fn step(
        &mut self,
        scope: &mut v8::PinScope<'_, '_>,
        kind: Kind,
        source: v8::Local<'_, v8::Object>,
        copy: v8::Local<'_, v8::Object>,
        items: v8::Local<'_, v8::Array>,
        index: u32,
    ) -> Option<()> {
        let item = items.get_index(scope, index)?;
        match kind {
            Kind::Object | Kind::Array { .. } => {
                let name = match v8::Local::<v8::Name>::try_from(item) {
                    Ok(name) => name,
                    Err(_) => item.to_string(scope)?.into(),
                };
                // A getter that ran before may have taken it away.
                if source.has_own_property(scope, name)? {
                    let value = source.get(scope, name.into())?;
                    let value = self.copy(scope, value)?;
                    copy.create_data_property(scope, name, value)?;
                }
            }
            Kind::Map if index.is_multiple_of(2) => {
                let key = self.copy(scope, item)?;
                items.set_index(scope, index, key)?;
            }
            Kind::Map => {
                let key = items.get_index(scope, index - 1)?;
                let value = self.copy(scope, item)?;
                copy.cast::<v8::Map>().set(scope, key, value)?;
            }
            Kind::Set => {
                let member = self.copy(scope, item)?;
                copy.cast::<v8::Set>().add(scope, member)?;
            }
            Kind::Error => {
                let cause = self.copy(scope, item)?;
                define_hidden(scope, copy, "cause", cause)?;
            }
        }
        Some(())
    }

    /// The copy of a value; that of an object with contents is empty as yet and filled in by its frame.
    fn copy<'s>(
        &mut self,
        scope: &mut v8::PinScope<'s, '_>,
        value: v8::Local<'s, v8::Value>,
    ) -> Option<v8::Local<'s, v8::Value>> {
        let Ok(source) = v8::Local::<v8::Object>::try_from(value) else {
            if value.is_symbol() {
                self.require_plain(scope, value)?;
            }
            return Some(value);
        };
        let known = self.seen.get(scope, value)?;
        if known.is_object() {
            return Some(known);
        }
        if value.is_array() {
            let length = value.cast::<v8::Array>().length();
            let items = names(scope, source)?;
            let copy = v8::Array::new(scope, 0).into();
            self.begin(scope, Kind::Array { length }, source, copy, items)
        } else if value.is_map() {
            let items = value.cast::<v8::Map>().as_array(scope);
            let copy = v8::Map::new(scope).into();
            self.begin(scope, Kind::Map, source, copy, items)
        } else if value.is_set() {
            let items = value.cast::<v8::Set>().as_array(scope);
            let copy = v8::Set::new(scope).into();
            self.begin(scope, Kind::Set, source, copy, items)
        } else if value.is_native_error() {
            self.error(scope, source)
        } else if value.is_array_buffer() {
            let copy = self.buffer(scope, value.cast())?;
            self.remember(scope, value, copy)
        } else if value.is_array_buffer_view() {
            let copy = self.view(scope, value.cast())?;
            self.remember(scope, value, copy)
        } else if value.is_date() {
            let copy = v8::Date::new(scope, value.cast::<v8::Date>().value_of())?.into();
            self.remember(scope, value, copy)
        } else if value.is_reg_exp()
            || value.is_string_object()
            || value.is_number_object()
            || value.is_boolean_object()
            || value.is_big_int_object()
        {
            let copy = leaf(scope, source)?;
            self.remember(scope, value, copy)
        } else {
            self.require_plain(scope, value)?;
            let items = names(scope, source)?;
            let copy = v8::Object::new(scope);
            self.begin(scope, Kind::Object, source, copy, items)
        }
    }

    fn remember<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        value: v8::Local<'_, v8::Value>,
        copy: v8::Local<'s, v8::Value>,
    ) -> Option<v8::Local<'s, v8::Value>> {
        self.seen.set(scope, value, copy)?;
        Some(copy)
    }

    fn begin<'s>(
        &mut self,
        scope: &mut v8::PinScope<'s, '_>,
        kind: Kind,
        source: v8::Local<'_, v8::Object>,
        copy: v8::Local<'s, v8::Object>,
        items: v8::Local<'_, v8::Array>,
    ) -> Option<v8::Local<'s, v8::Value>> {
        let slot = u32::try_from(self.frames.len()).ok()?.checked_mul(3)?;
        self.open.set_index(scope, slot, source.into())?;
        self.open.set_index(scope, slot + 1, copy.into())?;
        self.open.set_index(scope, slot + 2, items.into())?;
        self.frames.push(Frame { kind, next: 0, count: items.length() });
        self.remember(scope, source.into(), copy.into())
    }

    fn error<'s>(
        &mut self,
        scope: &mut v8::PinScope<'s, '_>,
        source: v8::Local<'s, v8::Object>,
    ) -> Option<v8::Local<'s, v8::Value>> {
        let name = read(scope, source, "name")?.to_string(scope)?;
        let message = own_data(scope, source, "message")?;
        let message = if message.is_undefined() { None } else { Some(message.to_string(scope)?) };
        let cause = own_data(scope, source, "cause")?;
        let stack = read(scope, source, "stack")?;
        let name = if name.length() > 20 { String::new() } else { name.to_rust_string_lossy(scope) };
        // An error without anything, as V8's serialiser writes it: the constructors are not to be had from here.
        let mut bytes = vec![b'r'];
        bytes.extend(match name.as_str() {
            "EvalError" => Some(b'E'),
            "RangeError" => Some(b'R'),
            "ReferenceError" => Some(b'F'),
            "SyntaxError" => Some(b'S'),
            "TypeError" => Some(b'T'),
            "URIError" => Some(b'U'),
            _ => None,
        });
        bytes.push(b'.');
        let context = scope.get_current_context();
        let header = v8::ValueSerializer::new(scope, Box::new(Cloner));
        header.write_header();
        let copy = deserialize(scope, context, &[header.release(), bytes].concat())?;
        let copy = v8::Local::<v8::Object>::try_from(copy).ok()?;
        if let Some(message) = message {
            define_hidden(scope, copy, "message", message.into())?;
        }
        if stack.is_string() {
            define_hidden(scope, copy, "stack", stack)?;
        }
        if cause.is_undefined() {
            return self.remember(scope, source.into(), copy.into());
        }
        let items = v8::Array::new_with_elements(scope, &[cause]);
        self.begin(scope, Kind::Error, source, copy, items)
    }

    fn buffer<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        source: v8::Local<'_, v8::ArrayBuffer>,
    ) -> Option<v8::Local<'s, v8::Value>> {
        if source.was_detached() {
            self.refuse(scope, "An ArrayBuffer is detached and could not be cloned.");
            return None;
        }
        let length = source.byte_length();
        if !make_room(scope, length) {
            return None;
        }
        let store = v8::ArrayBuffer::new_backing_store(scope, length);
        for (cell, byte) in store.iter().zip(source.get_backing_store().iter()) {
            cell.set(byte.get());
        }
        Some(v8::ArrayBuffer::with_backing_store(scope, &store.make_shared()).into())
    }

    fn view<'s>(
        &mut self,
        scope: &mut v8::PinScope<'s, '_>,
        source: v8::Local<'s, v8::ArrayBufferView>,
    ) -> Option<v8::Local<'s, v8::Value>> {
        // A small one has no buffer before somebody asks for it.
        if !source.has_buffer() && !make_room(scope, source.byte_length()) {
            return None;
        }
        let own = source.buffer(scope)?;
        let buffer = self.copy(scope, own.into())?.cast::<v8::ArrayBuffer>();
        // V8's serialiser passes over a buffer that is said to be transferred, so that only the view is written.
        let context = scope.get_current_context();
        let serializer = v8::ValueSerializer::new(scope, Box::new(Cloner));
        serializer.write_header();
        serializer.transfer_array_buffer(0, own);
        if serializer.write_value(context, source.into()) != Some(true) {
            return None;
        }
        let bytes = serializer.release();
        let deserializer = v8::ValueDeserializer::new(scope, Box::new(Cloner), &bytes);
        deserializer.transfer_array_buffer(0, buffer);
        if deserializer.read_header(context) != Some(true) {
            return None;
        }
        deserializer.read_value(context)
    }

    /// Refuses what is not a plain object or one of a class of the program. V8 decides, and finds the words.
    fn require_plain(&self, scope: &mut v8::PinScope<'_, '_>, value: v8::Local<'_, v8::Value>) -> Option<()> {
        let context = scope.get_current_context();
        v8::tc_scope!(let scope, scope);
        let serializer = v8::ValueSerializer::new(scope, Box::new(Cloner));
        if serializer.write_value(context, value) == Some(true) {
            return Some(());
        }
        match scope.exception().map(v8::Local::<v8::String>::try_from) {
            Some(Ok(text)) if !scope.has_terminated() => {
                let text = text.to_rust_string_lossy(scope);
                scope.reset();
                self.refuse(scope, &text);
            }
            _ => {}
        }
        scope.rethrow();
        None
    }

    /// Throws that something cannot be cloned.
    fn refuse(&self, scope: &mut v8::PinScope<'_, '_>, text: &str) {
        let Some(text) = v8::String::new(scope, text) else { return };
        let receiver = v8::undefined(scope).into();
        // It may run out of stack, and has thrown then.
        if let Some(error) = self.refusal.call(scope, receiver, &[text.into()]) {
            scope.throw_exception(error);
        }
    }
}

/// A copy by V8's serialiser, of what refers to nothing.
fn leaf<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    source: v8::Local<'s, v8::Object>,
) -> Option<v8::Local<'s, v8::Value>> {
    let units = if source.is_string_object() {
        // An own property that cannot be changed.
        read(scope, source, "length")?.uint32_value(scope).map(|length| length as usize)
    } else if source.is_reg_exp() {
        Some(source.cast::<v8::RegExp>().get_source(scope).length())
    } else {
        None
    };
    if units.is_some_and(|units| units > MAX_TEXT) {
        throw_range(scope, "the text is too long");
        return None;
    }
    let context = scope.get_current_context();
    let serializer = v8::ValueSerializer::new(scope, Box::new(Cloner));
    serializer.write_header();
    if serializer.write_value(context, source.into()) != Some(true) {
        return None;
    }
    deserialize(scope, context, &serializer.release())
}

fn deserialize<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    context: v8::Local<'s, v8::Context>,
    bytes: &[u8],
) -> Option<v8::Local<'s, v8::Value>> {
    let deserializer = v8::ValueDeserializer::new(scope, Box::new(Cloner), bytes);
    if deserializer.read_header(context) != Some(true) {
        return None;
    }
    deserializer.read_value(context)
}

fn read<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    object: v8::Local<'_, v8::Object>,
    name: &str,
) -> Option<v8::Local<'s, v8::Value>> {
    let key = v8::String::new(scope, name)?;
    object.get(scope, key.into())
}

/// The value of an own property; undefined where there is none, or a getter instead.
fn own_data<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    object: v8::Local<'_, v8::Object>,
    name: &str,
) -> Option<v8::Local<'s, v8::Value>> {
    let key = v8::String::new(scope, name)?;
    let descriptor = object.get_own_property_descriptor(scope, key.into())?;
    let key = v8::String::new(scope, "value")?;
    match v8::Local::<v8::Object>::try_from(descriptor) {
        Ok(descriptor) if descriptor.has_own_property(scope, key.into())? => {
            descriptor.get(scope, key.into())
        }
        _ => Some(v8::undefined(scope).into()),
    }
}

fn define_hidden(
    scope: &mut v8::PinScope<'_, '_>,
    object: v8::Local<'_, v8::Object>,
    name: &str,
    value: v8::Local<'_, v8::Value>,
) -> Option<bool> {
    let key = v8::String::new(scope, name)?;
    object.define_own_property(scope, key.into(), value, v8::PropertyAttribute::DONT_ENUM)
}

/// V8's serialiser, which writes nothing of an object's contents and throws its refusals as texts.
struct Cloner;

impl v8::ValueSerializerImpl for Cloner {
    fn throw_data_clone_error<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        message: v8::Local<'s, v8::String>,
    ) {
        scope.throw_exception(message.into());
    }

    fn has_custom_host_object(&self, _isolate: &v8::Isolate) -> bool {
        true
    }

    fn is_host_object<'s>(
        &self,
        _scope: &mut v8::PinScope<'s, '_>,
        _object: v8::Local<'s, v8::Object>,
    ) -> Option<bool> {
        Some(true)
    }

    fn write_host_object<'s>(
        &self,
        _scope: &mut v8::PinScope<'s, '_>,
        _object: v8::Local<'s, v8::Object>,
        _serializer: &dyn ValueSerializerHelper,
    ) -> Option<bool> {
        Some(true)
    }
}

impl v8::ValueDeserializerImpl for Cloner {}
