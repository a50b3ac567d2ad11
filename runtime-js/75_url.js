// Owns URL and URLSearchParams. The host parses and serialises both; the query list lives here.
// It must never reach the network: a URL is only text.
(function () {
  "use strict";
  const rt = globalThis.__rt;
  const { StringSlice, StringToWellFormed, TypeError, append, cut, inspect, list, quote } = rt;
  const { queryParse, queryText, url, urlSet } = rt.native;
  const PARTS = "href protocol username password host hostname port pathname search hash origin".split(" ");
  const SEARCH = 8;
  const textOf = (value) => StringToWellFormed(`${value}`);
  const optional = (value) => (value === undefined ? undefined : `${value}`);
  let attach; // (params, update): calls `update` with the text after each change
  let reload; // (params, text): takes the list from a query string

  class URLSearchParams {
    #flat = list(); // names and values in turn
    #update = null;
    constructor(init = undefined) {
      if (init === undefined || init === null) return;
      if (!rt.isObject(init)) {
        const text = `${init}`;
        this.#parse(text[0] === "?" ? StringSlice(text, 1) : text);
      } else if (init[Symbol.iterator] !== undefined) {
        // An iterable of pairs is the program's own object, walked as the language says.
        for (const pair of init) {
          const before = this.#flat.length;
          for (const item of pair) this.#push(item);
          if (this.#flat.length !== before + 2) throw new TypeError("URLSearchParams takes [name, value] pairs");
        }
      } else {
        const keys = rt.ObjectKeys(init);
        for (let i = 0; i < keys.length; i++) this.#push(keys[i]), this.#push(init[keys[i]]);
      }
    }
    #push(value) { this.#flat[this.#flat.length++] = textOf(value); }
    #parse(text) { this.#flat = queryParse(text); }
    // Takes out the pairs for which `test` holds, with the place of the first in the new list.
    #remove(test) {
      const old = this.#flat;
      let first = -1;
      this.#flat = list();
      for (let i = 0; i < old.length; i += 2) {
        if (!test(old[i], old[i + 1])) this.#push(old[i]), this.#push(old[i + 1]);
        else if (first < 0) first = this.#flat.length;
      }
      return first;
    }
    #changed() { if (this.#update !== null) this.#update(queryText(this.#flat)); }
    #all(key) {
      const name = textOf(key), out = [];
      for (let i = 0; i < this.#flat.length; i += 2) if (this.#flat[i] === name) append(out, this.#flat[i + 1]);
      return out;
    }
    get size() { return this.#flat.length / 2; }
    append(key, value) {
      this.#push(key), this.#push(value);
      this.#changed();
    }
    delete(key, value = undefined) {
      const name = textOf(key), only = optional(value);
      this.#remove((k, v) => k === name && (only === undefined || v === only));
      this.#changed();
    }
    get(key) { return rt.own(this.#all(key), 0) ?? null; }
    getAll(key) { return this.#all(key); }
    has(key, value = undefined) {
      const all = this.#all(key), only = optional(value);
      for (let i = 0; i < all.length; i++) if (only === undefined || all[i] === only) return true;
      return false;
    }
    set(key, value) {
      const name = textOf(key), text = textOf(value), at = this.#remove((k) => k === name), flat = this.#flat;
      for (let i = flat.length - 1; at >= 0 && i >= at; i--) flat[i + 2] = flat[i];
      flat[at < 0 ? flat.length : at] = name;
      flat[(at < 0 ? flat.length : at) + 1] = text;
      flat.length += 2;
      this.#changed();
    }
    forEach(callback, self = undefined) {
      for (let i = 0; i < this.#flat.length; i += 2) {
        rt.ReflectApply(callback, self, [this.#flat[i + 1], this.#flat[i], this]);
      }
    }
    *entries() { for (let i = 0; i < this.#flat.length; i += 2) yield [this.#flat[i], this.#flat[i + 1]]; }
    *keys() { for (let i = 0; i < this.#flat.length; i += 2) yield this.#flat[i]; }
    *values() { for (let i = 0; i < this.#flat.length; i += 2) yield this.#flat[i + 1]; }
    toString() { return queryText(this.#flat); }
    static {
      this.prototype[Symbol.iterator] = this.prototype.entries;
      attach = (params, update) => { params.#update = update; };
      reload = (params, text) => params.#parse(text);
      rt.paramsText = (it) => (#flat in it ? `URLSearchParams { ${inspect(queryText(it.#flat))} }` : undefined);
    }
  }

  class URL {
    #parts; #params = null;
    constructor(href, base = undefined) {
      const text = `${href}`;
      this.#parts = url(text, optional(base));
      if (this.#parts === null) throw new TypeError(`${quote(cut(text, 200))} is not a valid URL`);
    }
    #set(name, value) {
      const parts = urlSet(this.#parts[0], name, value);
      if (parts !== null) this.#parts = parts;
      else if (name === "href") throw new TypeError(`${quote(cut(value, 200))} is not a valid URL`);
    }
    get searchParams() {
      if (this.#params === null) {
        this.#params = new URLSearchParams(this.#parts[SEARCH]);
        attach(this.#params, (text) => this.#set("search", text));
      }
      return this.#params;
    }
    toString() { return this.#parts[0]; }
    toJSON() { return this.#parts[0]; }
    static canParse(href, base = undefined) { return url(`${href}`, optional(base)) !== null; }
    static parse(href, base = undefined) { return URL.canParse(href, base) ? new URL(href, base) : null; }
    static {
      for (let i = 0; i < PARTS.length; i++) {
        const name = PARTS[i];
        const set = name === "origin" ? undefined : function (value) {
          this.#set(name, `${value}`);
          if (this.#params !== null) reload(this.#params, StringSlice(this.#parts[SEARCH], 1));
        };
        Object.defineProperty(URL.prototype, name,
          { get() { return this.#parts[i]; }, set, enumerable: true, configurable: true });
      }
      rt.urlText = (value) => (#parts in value ? `URL { ${inspect(value.#parts[0])} }` : undefined);
    }
  }
  rt.globals.URL = URL;
  rt.globals.URLSearchParams = URLSearchParams;
})();
