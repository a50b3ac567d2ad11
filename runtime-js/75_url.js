// Owns URL and URLSearchParams. The host parses and serialises both; the query list lives here.
// It must never reach the network: a URL is only text.
(function () {
  "use strict";
  const rt = globalThis.__rt;
  const { ReflectApply, StringSlice, StringToWellFormed, TypeError, append, cut, inspect, list, quote } = rt;
  const { queryParse, queryText, url, urlSet } = rt.native;
  const PARTS = ["href", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search",
    "hash", "origin"];
  const SEARCH = 8;
  const textOf = (value) => StringToWellFormed(`${value}`);
  const optional = (value) => (value === undefined ? undefined : `${value}`);
  let attach; // (params, update): calls `update` with the text after each change
  let reload; // (params, text): takes the list from a query string

  class URLSearchParams {
    #items = list(); // of {key, value}
    #update = null;
    constructor(init = undefined) {
      if (init === undefined || init === null) return;
      if (!rt.isObject(init)) {
        const text = `${init}`;
        this.#parse(text[0] === "?" ? StringSlice(text, 1) : text);
      } else if (init[Symbol.iterator] !== undefined) {
        // An iterable of pairs is the program's own object, walked as the language says.
        for (const pair of init) {
          const both = list();
          for (const item of pair) both[both.length++] = item;
          if (both.length !== 2) throw new TypeError("URLSearchParams takes pairs of a name and a value");
          this.#push(both[0], both[1]);
        }
      } else {
        const keys = rt.ObjectKeys(init);
        for (let i = 0; i < keys.length; i++) this.#push(keys[i], init[keys[i]]);
      }
    }
    #push(key, value) { this.#items[this.#items.length++] = { key: textOf(key), value: textOf(value) }; }
    #parse(text) {
      const flat = queryParse(text); // names and values in turn
      this.#items = list();
      for (let i = 0; i < flat.length; i += 2) this.#push(flat[i], flat[i + 1]);
    }
    #keep(test) {
      const kept = list();
      for (let i = 0; i < this.#items.length; i++) if (test(this.#items[i])) kept[kept.length++] = this.#items[i];
      this.#items = kept;
    }
    #text() {
      const flat = [];
      for (let i = 0; i < this.#items.length; i++) {
        append(flat, this.#items[i].key);
        append(flat, this.#items[i].value);
      }
      return queryText(flat);
    }
    #changed() { if (this.#update !== null) this.#update(this.#text()); }
    #all(key) {
      const name = textOf(key), out = [];
      for (let i = 0; i < this.#items.length; i++) if (this.#items[i].key === name) append(out, this.#items[i].value);
      return out;
    }
    get size() { return this.#items.length; }
    append(key, value) {
      this.#push(key, value);
      this.#changed();
    }
    delete(key, value = undefined) {
      const name = textOf(key), only = optional(value);
      this.#keep((item) => item.key !== name || (only !== undefined && item.value !== only));
      this.#changed();
    }
    get(key) {
      const all = this.#all(key);
      return all.length > 0 ? all[0] : null;
    }
    getAll(key) { return this.#all(key); }
    has(key, value = undefined) {
      const all = this.#all(key), only = optional(value);
      for (let i = 0; i < all.length; i++) if (only === undefined || all[i] === only) return true;
      return false;
    }
    set(key, value) {
      const name = textOf(key), text = textOf(value);
      let found = false;
      this.#keep((item) => {
        if (item.key !== name) return true;
        if (found) return false;
        item.value = text;
        return found = true;
      });
      if (!found) this.#push(name, text);
      this.#changed();
    }
    sort() { // by insertion, which is stable
      const items = this.#items;
      for (let i = 1, at; i < items.length; i++) {
        const item = items[i];
        for (at = i; at > 0 && items[at - 1].key > item.key; at--) items[at] = items[at - 1];
        items[at] = item;
      }
      this.#changed();
    }
    forEach(callback, self = undefined) {
      for (let i = 0; i < this.#items.length; i++) {
        ReflectApply(callback, self, [this.#items[i].value, this.#items[i].key, this]);
      }
    }
    *entries() { for (let i = 0; i < this.#items.length; i++) yield [this.#items[i].key, this.#items[i].value]; }
    *keys() { for (let i = 0; i < this.#items.length; i++) yield this.#items[i].key; }
    *values() { for (let i = 0; i < this.#items.length; i++) yield this.#items[i].value; }
    toString() { return this.#text(); }
    static {
      this.prototype[Symbol.iterator] = this.prototype.entries;
      attach = (params, update) => { params.#update = update; };
      reload = (params, text) => params.#parse(text);
      rt.paramsText = (value) => (#items in value ? `URLSearchParams { ${inspect(value.#text())} }` : undefined);
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
        Object.defineProperty(URL.prototype, name, {
          get() { return this.#parts[i]; },
          set: name === "origin" ? undefined : function (value) {
            this.#set(name, `${value}`);
            if (this.#params !== null) reload(this.#params, StringSlice(this.#parts[SEARCH], 1));
          },
          enumerable: true, configurable: true,
        });
      }
      rt.urlText = (value) => (#parts in value ? `URL { ${inspect(value.#parts[0])} }` : undefined);
    }
  }
  rt.globals.URL = URL;
  rt.globals.URLSearchParams = URLSearchParams;
})();
