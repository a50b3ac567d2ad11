//! URLs, by the `url` crate.
//!
//! Owns the parts of a URL in the order that the runtime JavaScript reads them. It never opens one.

use url::Url;

use crate::engine::natives::{MAX_TEXT, give_text, give_texts, interrupted, text, throw_range};

/// href, protocol, username, password, host, hostname, port, pathname, search, hash, origin
fn give_parts(scope: &mut v8::PinScope<'_, '_>, value: &mut v8::ReturnValue<'_, v8::Value>, url: &Url) {
    use url::quirks;
    let parts = [
        quirks::href(url),
        quirks::protocol(url),
        quirks::username(url),
        quirks::password(url),
        quirks::host(url),
        quirks::hostname(url),
        quirks::port(url),
        quirks::pathname(url),
        quirks::search(url),
        quirks::hash(url),
        &quirks::origin(url),
    ];
    give_texts(scope, value, parts);
}

/// `url(href, base) -> string[] | null`
pub(super) fn parse(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let href = text(scope, args, 0).unwrap_or_default();
    let parsed = match text(scope, args, 1) {
        None => Url::parse(&href),
        Some(base) => Url::parse(&base).and_then(|base| base.join(&href)),
    };
    match parsed {
        Ok(url) => give_parts(scope, value, &url),
        Err(_) => value.set_null(),
    }
}

/// `urlSet(href, part, text) -> string[] | null`: null when the change is refused.
pub(super) fn set(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    use url::quirks;
    let href = text(scope, args, 0).unwrap_or_default();
    let part = text(scope, args, 1).unwrap_or_default();
    let new = text(scope, args, 2).unwrap_or_default();
    let Ok(mut url) = Url::parse(&href) else { return value.set_null() };
    let accepted = match part.as_str() {
        "href" => quirks::set_href(&mut url, &new).is_ok(),
        "protocol" => quirks::set_protocol(&mut url, &new).is_ok(),
        "username" => quirks::set_username(&mut url, &new).is_ok(),
        "password" => quirks::set_password(&mut url, &new).is_ok(),
        "host" => quirks::set_host(&mut url, &new).is_ok(),
        "hostname" => quirks::set_hostname(&mut url, &new).is_ok(),
        "port" => quirks::set_port(&mut url, &new).is_ok(),
        "pathname" => {
            quirks::set_pathname(&mut url, &new);
            true
        }
        "search" => {
            quirks::set_search(&mut url, &new);
            true
        }
        "hash" => {
            quirks::set_hash(&mut url, &new);
            true
        }
        _ => false,
    };
    if accepted {
        give_parts(scope, value, &url);
    } else {
        value.set_null();
    }
}

/// `queryParse(text) -> list`: names and values in turn, in an object with a length and no prototype.
pub(super) fn query_parse(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let query = text(scope, args, 0).unwrap_or_default();
    let none = v8::null(scope).into();
    let list = v8::Object::with_prototype_and_properties(scope, none, &[], &[]);
    let mut length = 0;
    for (name, text) in form_urlencoded::parse(query.as_bytes()) {
        if interrupted(scope) {
            return;
        }
        // Handles of its own for each pair, of which there may be millions.
        v8::scope!(let scope, scope);
        for part in [name, text] {
            let stored =
                v8::String::new(scope, &part).and_then(|part| list.set_index(scope, length, part.into()));
            if stored.is_none() {
                return;
            }
            length += 1;
        }
    }
    let Some(key) = v8::String::new(scope, "length") else { return };
    let length = v8::Integer::new_from_unsigned(scope, length);
    if list.set(scope, key.into(), length.into()).is_some() {
        value.set(list.into());
    }
}

/// `queryText(list) -> string`: the list has a length and indices, names and values in turn.
pub(super) fn query_text(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let Some(list) = args.get(0).to_object(scope) else { return };
    let Some(key) = v8::String::new(scope, "length") else { return };
    let length = list.get(scope, key.into()).and_then(|length| length.uint32_value(scope)).unwrap_or(0);
    let mut query = String::new();
    for index in (0..length).step_by(2) {
        if interrupted(scope) {
            return;
        }
        v8::scope!(let scope, scope);
        let at = |index| {
            list.get_index(scope, index).and_then(|part| v8::Local::<v8::String>::try_from(part).ok())
        };
        let (Some(name), Some(text)) = (at(index), at(index + 1)) else { return };
        // Judged before copying out, and again after, since the form with percent signs is longer.
        if name.length() + text.length() + query.len() > MAX_TEXT {
            return throw_range(scope, "the text is too long");
        }
        let (name, text) = (name.to_rust_string_lossy(scope), text.to_rust_string_lossy(scope));
        query = form_urlencoded::Serializer::for_suffix(query, 0).append_pair(&name, &text).finish();
    }
    if query.len() > MAX_TEXT {
        return throw_range(scope, "the text is too long");
    }
    give_text(scope, value, &query);
}
