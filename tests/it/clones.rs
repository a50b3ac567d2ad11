//! What `structuredClone` copies, shares and refuses (CM-9).
//!
//! Owns a table of programs with their exact values. What it may use of memory is in `hostile`.

use std::fmt::Write as _;

use crate::support::{Host, said};

async fn check(rows: &[(&str, &str)]) {
    let host = Host::new();
    let mut report = String::new();
    for (program, expected) in rows {
        let actual = said(&host.run(program).await);
        if actual != *expected {
            let _ = write!(report, "\n{program}\n  expected {expected}\n  actual   {actual}\n");
        }
    }
    assert!(report.is_empty(), "{report}");
}

/// CM-9, E-6
#[tokio::test]
async fn values_and_what_holds_none_other_are_copied() {
    check(&[
        (
            "const v = [1, -0, NaN, Infinity, 'text', true, null, undefined, 10n ** 30n, '']; const c = structuredClone(v); \
             return [c !== v, v.every((it, i) => Object.is(it, c[i])), c.length, 7 in c]",
            "value [true,true,10,true]",
        ),
        ("return [structuredClone(-0) === 0, 1 / structuredClone(-0), structuredClone()].map(String)", r#"value ["true","-Infinity","undefined"]"#),
        (
            "const v = [new Number(-0), new String('s'), new Boolean(false), Object(5n)]; v[0].x = 1; const c = structuredClone(v); \
             return [c.map((it) => [typeof it, Object.prototype.toString.call(it), String(it)]), Object.is(c[0].valueOf(), -0), c[0].x ?? 'none', c[1] !== v[1]]",
            r#"value [[["object","[object Number]","0"],["object","[object String]","s"],["object","[object Boolean]","false"],["object","[object BigInt]","5"]],true,"none",true]"#,
        ),
        (
            "const d = new Date(86400000); d.x = 1; const [c, bad] = structuredClone([d, new Date(NaN)]); \
             return [c.toISOString(), c !== d, c instanceof Date, 'x' in c, Number.isNaN(bad.getTime())]",
            r#"value ["1970-01-02T00:00:00.000Z",true,true,false,true]"#,
        ),
        (
            "const r = /a(?<n>b)\\//dgimsy; r.lastIndex = 3; const c = structuredClone(r); \
             return [String(c), c.lastIndex, c instanceof RegExp, c !== r, String(structuredClone(/\\p{L}/v))]",
            r#"value ["/a(?<n>b)\\//dgimsy",0,true,true,"/\\p{L}/v"]"#,
        ),
    ])
    .await;
}

/// CM-9, E-6
#[tokio::test]
async fn arrays_and_objects_are_copied_with_their_own_properties() {
    check(&[
        (
            "const a = [1, , 3]; a.extra = 'e'; a.length = 10; const c = structuredClone(a); return [c.length, 1 in c, c[2], c.extra, Object.keys(c)]",
            r#"value [10,false,3,"e",["0","2","extra"]]"#,
        ),
        (
            "const a = []; a[4294967294 - 1] = 1; const c = structuredClone(a); return [c.length, Object.keys(c), structuredClone(new Array(1e9)).length]",
            r#"value [4294967294,["4294967293"],1000000000]"#,
        ),
        (
            "class P { constructor() { this.own = 1 } #hidden = 2; get g() { return 3 } } class Q extends P { list = [1] } \
             const q = new Q(); q[Symbol('s')] = 1; Object.defineProperty(q, 'quiet', { value: 1 }); const c = structuredClone(q); \
             return [Object.getPrototypeOf(c) === Object.prototype, Reflect.ownKeys(c), c.list !== q.list, c.list]",
            r#"value [true,["own","list"],true,[1]]"#,
        ),
        (
            "const c = structuredClone(JSON.parse('{\"b\":1,\"__proto__\":{\"x\":1},\"2\":2,\"1\":1}')); \
             return [Object.keys(c), Object.getPrototypeOf(c) === Object.prototype, c.x ?? 'none', Object.getOwnPropertyDescriptor(c, '__proto__').writable]",
            r#"value [["1","2","b","__proto__"],true,"none",true]"#,
        ),
        (
            "const c = structuredClone(Object.assign(Object.create(null), Object.freeze({ a: Object.freeze([1]) }))); c.a.push(2); return [c, c instanceof Object]",
            r#"value [{"a":[1,2]},true]"#,
        ),
        (
            "const m = new Map([[{ k: 1 }, new Set([[1], NaN])], [NaN, -0], ['self', 0]]); m.set('self', m).extra = 1; const c = structuredClone(m); \
             const [[key, set]] = c; return [c.size, key, [...set].map(String), c.get(NaN), c.get('self') === c, 'extra' in c, [...c.keys()].map(String)]",
            r#"value [3,{"k":1},["1","NaN"],0,true,false,["[object Object]","NaN","self"]]"#,
        ),
        (
            "const o = { name: 'o' }; o.self = o; o.list = [o, o]; o.twin = o.list; const c = structuredClone(o); \
             return [c !== o, c.self === c, c.list[0] === c, c.list[1] === c, c.twin === c.list, c.list !== o.list]",
            "value [true,true,true,true,true,true]",
        ),
        (
            "let o = { end: [] }; for (let i = 0; i < 1e5; i++) o = i % 2 ? { o } : [o]; let c = structuredClone(o), n = 0; \
             for (; !c.end; n++) c = c.o ?? c[0]; return [n, c.end]",
            "value [100000,[]]",
        ),
    ])
    .await;
}

/// CM-9, E-6
#[tokio::test]
async fn errors_are_copied_with_name_message_stack_and_cause() {
    check(&[
        (
            "const all = [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError].map((E) => new E(`of ${E.name}`)); \
             return structuredClone(all).map((c, i) => [c instanceof all[i].constructor, c.name, c.message, c.stack === all[i].stack, Reflect.ownKeys(c).sort().join(), Object.keys(c)])",
            r#"value [[true,"Error","of Error",true,"message,stack",[]],[true,"EvalError","of EvalError",true,"message,stack",[]],[true,"RangeError","of RangeError",true,"message,stack",[]],[true,"ReferenceError","of ReferenceError",true,"message,stack",[]],[true,"SyntaxError","of SyntaxError",true,"message,stack",[]],[true,"TypeError","of TypeError",true,"message,stack",[]],[true,"URIError","of URIError",true,"message,stack",[]]]"#,
        ),
        (
            "class Own extends TypeError { name = 'Own'; extra = 1 } const c = structuredClone(new Own('m')); \
             return [Object.getPrototypeOf(c) === Error.prototype, c.name, c.message, 'extra' in c]",
            r#"value [true,"Error","m",false]"#,
        ),
        (
            "const e = new Error('e', { cause: { list: [1] } }); e.cause.of = e; const c = structuredClone(e); \
             return [c.cause.list, c.cause.of === c, c.cause !== e.cause, Object.keys(c), 'message' in structuredClone(new Error()), Object.hasOwn(structuredClone(new Error()), 'message')]",
            "value [[1],true,true,[],true,false]",
        ),
        (
            "const e = new Error('x'); e.name = { toString() { throw new Error('mine') } }; structuredClone(e)",
            "exception: Error: mine",
        ),
    ])
    .await;
}

/// CM-9, E-6
#[tokio::test]
async fn bytes_are_copied_once_for_all_views_on_them() {
    check(&[
        (
            "const b = new ArrayBuffer(16); new Uint8Array(b).fill(7); \
             const kinds = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float16Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array]; \
             const v = [b, ...kinds.map((K) => new K(b, 8, 1)), new DataView(b, 3, 5)], c = structuredClone(v); \
             new Uint8Array(b).fill(1); \
             return [c[0] !== b, c.slice(1).every((it) => it.buffer === c[0]), c.slice(1, -1).every((it, i) => it instanceof kinds[i] && it.length === 1 && it.byteOffset === 8), \
             [c[13].byteOffset, c[13].byteLength, c[13].getUint8(0)], [...new Uint8Array(c[0])].join('')]",
            r#"value [true,true,true,[3,5,7],"7777777777777777"]"#,
        ),
        (
            "const c = structuredClone({ small: Uint8Array.of(1, 2), empty: new Float64Array(0), part: new Uint16Array(8).subarray(2, 4) }); \
             return [[...c.small], c.empty.length, c.part.length, c.part.byteOffset, c.part.buffer.byteLength]",
            "value [[1,2],0,2,4,16]",
        ),
        (
            "const b = new ArrayBuffer(8), v = new Uint8Array(b); b.transfer(); const said = []; \
             for (const it of [b, v]) try { structuredClone(it) } catch (e) { said.push(`${e.name}: ${e.message}`) } return said",
            r#"value ["DataCloneError: An ArrayBuffer is detached and could not be cloned.","DataCloneError: An ArrayBuffer is detached and could not be cloned."]"#,
        ),
    ])
    .await;
}

/// CM-9: what has no copy is refused, whatever it pretends to be.
#[tokio::test]
async fn what_has_no_copy_is_refused() {
    let program = "
        const kinds = {
            function: () => 1, class: class A {}, symbol: Symbol('s'), boxed: Object(Symbol('s')), promise: Promise.resolve(1),
            proxy: new Proxy({}, { get() { throw 'trap' }, ownKeys() { throw 'trap' } }), list: new Proxy([], {}), tools,
            weakMap: new WeakMap(), weakSet: new WeakSet(), weakRef: new WeakRef({}), registry: new FinalizationRegistry(() => {}),
            generator: (function* () {})(), async: (async function* () {})(), entries: [].values(), keys: new Map().keys(),
            letters: ''[Symbol.iterator](), helper: [].values().map((it) => it), format: new Intl.NumberFormat(),
            segments: new Intl.Segmenter().segment('a'), stack: new DisposableStack(), arguments: (function () { return arguments })(),
        };
        const wrong = [];
        for (const [kind, value] of Object.entries(kinds)) {
            for (const given of [value, { deep: [value] }, new Map([[value, 1]])]) {
                try { structuredClone(given); wrong.push(kind) } catch (e) {
                    if (!(e instanceof DOMException) || e.name !== 'DataCloneError' || !e.message.endsWith(' could not be cloned.')) wrong.push(`${kind}: ${e}`);
                }
            }
            if (Object(value) === value && kind !== 'tools') {
                try { Object.setPrototypeOf(value, Object.prototype); structuredClone(value); wrong.push(`${kind} in disguise`) } catch {}
            }
        }
        return wrong";
    check(&[
        (program, "value []"),
        ("structuredClone([Symbol('s')])", "exception: DataCloneError: Symbol(s) could not be cloned."),
        (
            "structuredClone({ f() { return 1 } })",
            "exception: DataCloneError: f() { return 1 } could not be cloned.",
        ),
        ("structuredClone(Promise.resolve())", "exception: DataCloneError: #<Promise> could not be cloned."),
        (
            "structuredClone({ get a() { throw new Error('x could not be cloned.') } })",
            "exception: Error: x could not be cloned.",
        ),
        (
            "structuredClone({ get a() { throw 'x could not be cloned.' } })",
            "exception: thrown value is not an Error: 'x could not be cloned.'",
        ),
    ])
    .await;
}

/// CM-9, E-9: getters run once and in order, and what they change is as the language says. Patched built-ins are not
/// asked.
#[tokio::test]
async fn code_of_the_program_runs_only_in_getters() {
    check(&[
        (
            "const ran = []; const o = { get a() { ran.push('a'); return { get b() { ran.push('b'); return 1 } } }, get c() { ran.push('c'); return 2 } }; \
             const c = structuredClone([o, o]); return [ran, c[0], c[0] === c[1]]",
            r#"value [["a","b","c"],{"a":{"b":1},"c":2},true]"#,
        ),
        (
            "const o = { get a() { delete this.b; this.c = 'changed'; this.d = 'new'; return 1 }, b: 2, c: 3 }; return structuredClone(o)",
            r#"value {"a":1,"c":"changed"}"#,
        ),
        (
            "const a = [0, 1, 2]; Object.defineProperty(a, 0, { get() { a.length = 2; return 'first' }, enumerable: true, configurable: true }); Array.prototype[2] = 'evil'; \
             const c = structuredClone(a); return [c.length, Object.keys(c)]",
            r#"value [3,["0","1"]]"#,
        ),
        (
            "const m = new Map([['a', { get x() { m.set('late', 1); m.delete('b'); return 1 } }], ['b', 2]]); return [...structuredClone(m)]",
            r#"value [["a",{"x":1}],["b",2]]"#,
        ),
        (
            "const ran = []; try { structuredClone([{ get a() { ran.push(1); throw new TypeError('mine') } }, { get b() { ran.push(2) } }]) } catch (e) { return [ran, e.name, e.message] }",
            r#"value [[1],"TypeError","mine"]"#,
        ),
        (
            "const ran = []; Object.defineProperty(Object.prototype, 'p', { get() { ran.push(1); return [1] }, enumerable: true }); const c = structuredClone(Object.prototype); \
             return [ran.length, Object.hasOwn(c, 'p'), Object.hasOwn(c, 'p') && c !== Object.prototype]",
            "value [1,true,true]",
        ),
        (
            "const v = { list: [1, [2]], map: new Map([[1, { b: 1 }]]), set: new Set([1]), e: new Error('e') }; for (const p of [Array.prototype, Object.prototype]) for (const key of [0, 1, 'a', 'value', 'get', 'length2', 'cause']) Object.defineProperty(p, key, { __proto__: null, get() { throw 'get' }, set() { throw 'set' } }); \
             Map.prototype.set = Map.prototype.get = Set.prototype.add = Array.prototype[Symbol.iterator] = () => { throw 'patched' }; \
             const c = structuredClone(v); return [c.list, c.map.size, c.set.size, c.e.message]",
            r#"value [[1,[2]],1,1,"e"]"#,
        ),
        (
            "const o = { toString() { return 'x' } }; const e = new Error(); Object.defineProperty(e, 'message', { value: o }); return structuredClone(e).message",
            r#"value "x""#,
        ),
    ])
    .await;
}
