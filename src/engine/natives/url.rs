//! URLs, by the `url` crate.
//!
//! Owns the parts of a URL in the order that the runtime JavaScript reads them. It never opens one.

use url::Url;

use crate::engine::natives::{give_text, give_texts, text};

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

/// `queryParse(text) -> string[]`: names and values in turn.
pub(super) fn query_parse(
    scope: &mut v8::PinScope<'_, '_>,
    args: &v8::FunctionCallbackArguments<'_>,
    value: &mut v8::ReturnValue<'_, v8::Value>,
) {
    let query = text(scope, args, 0).unwrap_or_default();
    let pairs: Vec<_> = form_urlencoded::parse(query.as_bytes()).collect();
    give_texts(scope, value, pairs.iter().flat_map(|(name, text)| [&**name, &**text]));
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
    let mut query = form_urlencoded::Serializer::new(String::new());
    for index in (0..length).step_by(2) {
        let at = |index| list.get_index(scope, index).map(|text| text.to_rust_string_lossy(scope));
        let (name, text) = (at(index).unwrap_or_default(), at(index + 1).unwrap_or_default());
        query.append_pair(&name, &text);
    }
    give_text(scope, value, &query.finish());
}
