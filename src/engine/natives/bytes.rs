//! Bytes: randomness, digests, encodings.
//!
//! Owns what needs native code. It reads and writes only the views that it is handed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use sha1::Digest;

use crate::engine::natives::{give_text, state, stop, text, throw};
use crate::engine::state::Trip;

/// `random(bytes)`: fills a `Uint8Array`.
pub(super) fn random(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    _value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let Ok(view) = v8::Local::<v8::Uint8Array>::try_from(args.get(0)) else { return };
    let mut bytes = vec![0; view.byte_length()];
    let Some(state) = state(scope) else { return };
    state.feed.fill(&mut bytes);
    let offset = view.byte_offset();
    let Some(buffer) = view.buffer(scope) else { return };
    let store = buffer.get_backing_store();
    for (cell, byte) in store.iter().skip(offset).zip(bytes) {
        cell.set(byte);
    }
}

/// `chance() -> number`: 32 bits.
pub(super) fn chance(
    scope: &mut v8::PinScope<'_, '_>,
    _args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let Some(state) = state(scope) else { return };
    let mut bytes = [0; 4];
    state.feed.fill(&mut bytes);
    value.set_int32(i32::from_le_bytes(bytes));
}

/// `uuid() -> string`: of version 4.
pub(super) fn uuid(
    scope: &mut v8::PinScope<'_, '_>,
    _args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let Some(state) = state(scope) else { return };
    let mut bytes = [0; 16];
    state.feed.fill(&mut bytes);
    let version = 4_u128 << 76 | 2_u128 << 62;
    let bits = u128::from_be_bytes(bytes) & !(0xf_u128 << 76 | 3_u128 << 62) | version;
    let digits = format!("{bits:032x}");
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    let parts = [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)];
    give_text(scope, value, &parts.join("-"));
}

/// `toBase64(text) -> string | undefined`: nothing for a text with a character past U+00FF.
pub(super) fn to_base64(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let Some(text) = text(scope, args, 0) else { return };
    let bytes: Option<Vec<u8>> = text.chars().map(|letter| u8::try_from(letter).ok()).collect();
    if let Some(bytes) = bytes {
        give_text(scope, value, &STANDARD.encode(bytes));
    }
}

/// `fromBase64(text) -> string | undefined`: each byte as a character; nothing for what is not base64.
pub(super) fn from_base64(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let Some(mut text) = text(scope, args, 0) else { return };
    text.retain(|letter| !matches!(letter, ' ' | '\t' | '\n' | '\u{c}' | '\r'));
    // All of the padding or none of it.
    if text.len() % 4 == 0 {
        let padding = text.bytes().rev().take(2).take_while(|byte| *byte == b'=').count();
        text.truncate(text.len() - padding);
    }
    if let Ok(bytes) = FORGIVING.decode(text) {
        give_text(scope, value, &bytes.into_iter().map(char::from).collect::<String>());
    }
}

/// As browsers read what is left without its padding: spare bits may be set.
const FORGIVING: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

fn contents(args: &v8::FunctionCallbackArguments<'_>, index: i32) -> Option<Vec<u8>> {
    let view = v8::Local::<v8::ArrayBufferView>::try_from(args.get(index)).ok()?;
    let mut bytes = vec![0; view.byte_length()];
    let copied = view.copy_contents(&mut bytes);
    bytes.truncate(copied);
    Some(bytes)
}

/// Whether so many bytes can be had, after a collection if need be. V8 does not forgive a refusal where the host asks
/// for a buffer, so this asks first; like V8 itself, it ends the run where there is no room.
pub(super) fn make_room(scope: &mut v8::PinScope<'_, '_>, bytes: usize) -> bool {
    let Some(buffers) = state(scope).map(|state| std::sync::Arc::clone(&state.buffers)) else { return false };
    if buffers.has_room_for(bytes) {
        return true;
    }
    scope.low_memory_notification();
    let found = buffers.has_room_for(bytes);
    if !found {
        stop(scope, Trip::Buffers);
    }
    found
}

fn give_bytes(scope: &mut v8::PinScope<'_, '_>, value: &mut v8::ReturnValue<'_, v8::Value>, bytes: &[u8]) {
    // Through the isolate's own allocator, so that it is counted.
    if !make_room(scope, bytes.len()) {
        return;
    }
    let store = v8::ArrayBuffer::new_backing_store(scope, bytes.len());
    for (cell, byte) in store.iter().zip(bytes) {
        cell.set(*byte);
    }
    let buffer = v8::ArrayBuffer::with_backing_store(scope, &store.make_shared());
    match v8::Uint8Array::new(scope, buffer, 0, bytes.len()) {
        Some(view) => value.set(view.into()),
        None => throw(scope, "the bytes do not fit into an array"),
    }
}

/// `digest(name, bytes) -> Uint8Array`
pub(super) fn digest(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let (Some(name), Some(bytes)) = (text(scope, args, 0), contents(args, 1)) else { return };
    let hash = match name.as_str() {
        "SHA-1" => sha1::Sha1::digest(&bytes).to_vec(),
        "SHA-256" => sha2::Sha256::digest(&bytes).to_vec(),
        "SHA-384" => sha2::Sha384::digest(&bytes).to_vec(),
        "SHA-512" => sha2::Sha512::digest(&bytes).to_vec(),
        _ => return throw(scope, "unknown digest"),
    };
    give_bytes(scope, value, &hash);
}

/// `utf8Encode(text) -> Uint8Array`
pub(super) fn utf8_encode(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let Ok(text) = v8::Local::<v8::String>::try_from(args.get(0)) else { return };
    // Before copying out: UTF-8 is never shorter than UTF-16 units.
    if make_room(scope, text.length()) {
        let text = text.to_rust_string_lossy(scope);
        give_bytes(scope, value, text.as_bytes());
    }
}

/// `encoding(label) -> string | null`: the canonical name of an encoding, in lower case.
pub(super) fn encoding(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let label = text(scope, args, 0).unwrap_or_default();
    match encoding_rs::Encoding::for_label_no_replacement(label.as_bytes()) {
        Some(encoding) => give_text(scope, value, &encoding.name().to_ascii_lowercase()),
        None => value.set_null(),
    }
}

/// `decode(bytes, name, fatal, ignoreBom) -> string | undefined`
pub(super) fn decode(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let (Some(bytes), Some(name)) = (contents(args, 0), text(scope, args, 1)) else { return };
    let (fatal, keep_bom) = (args.get(2).is_true(), args.get(3).is_true());
    let Some(encoding) = encoding_rs::Encoding::for_label(name.as_bytes()) else { return };
    let (decoded, malformed) = if keep_bom {
        encoding.decode_without_bom_handling(&bytes)
    } else {
        encoding.decode_with_bom_removal(&bytes)
    };
    if !(fatal && malformed) {
        give_text(scope, value, &decoded);
    }
}
