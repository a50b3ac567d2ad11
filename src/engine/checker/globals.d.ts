// What a program has beside the ECMAScript standard library and the SDK: the same names as `runtime-js/` defines,
// and no other. `tests/it/checker.rs` compares the names.

interface Console {
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
  debug(...values: unknown[]): void;
  trace(...values: unknown[]): void;
  dir(value: unknown, options?: { depth?: number | null }): void;
  table(data: unknown, columns?: readonly string[]): void;
  assert(condition?: unknown, ...values: unknown[]): void;
  count(label?: string): void;
  countReset(label?: string): void;
  time(label?: string): void;
  timeLog(label?: string, ...values: unknown[]): void;
  timeEnd(label?: string): void;
  group(...values: unknown[]): void;
  groupCollapsed(...values: unknown[]): void;
  groupEnd(): void;
}
declare var console: Console;
declare function print(...values: unknown[]): void;

declare function setTimeout(callback: (...args: any[]) => void, delay?: number, ...args: any[]): number;
declare function setInterval(callback: (...args: any[]) => void, delay?: number, ...args: any[]): number;
declare function clearTimeout(id?: number): void;
declare function clearInterval(id?: number): void;
declare function queueMicrotask(callback: () => void): void;
declare function structuredClone<T>(value: T): T;

declare function atob(text: string): string;
declare function btoa(text: string): string;

type BufferSource = ArrayBufferView | ArrayBuffer;
interface TextEncoder {
  readonly encoding: "utf-8";
  encode(text?: string): Uint8Array<ArrayBuffer>;
}
declare var TextEncoder: { readonly prototype: TextEncoder; new (): TextEncoder };
interface TextDecoder {
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  decode(bytes?: BufferSource): string;
}
declare var TextDecoder: {
  readonly prototype: TextDecoder;
  new (label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean }): TextDecoder;
};

interface URLSearchParams {
  readonly size: number;
  append(name: string, value: unknown): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: unknown): void;
  forEach(callback: (value: string, name: string, all: URLSearchParams) => void, self?: unknown): void;
  entries(): IteratorObject<[string, string], undefined>;
  keys(): IteratorObject<string, undefined>;
  values(): IteratorObject<string, undefined>;
  [Symbol.iterator](): IteratorObject<[string, string], undefined>;
  toString(): string;
}
declare var URLSearchParams: {
  readonly prototype: URLSearchParams;
  new (init?: string | URLSearchParams | Iterable<readonly [string, unknown]> | Record<string, unknown>): URLSearchParams;
};
interface URL {
  href: string;
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  hash: string;
  readonly origin: string;
  readonly searchParams: URLSearchParams;
  toString(): string;
  toJSON(): string;
}
declare var URL: {
  readonly prototype: URL;
  new (url: string | URL, base?: string | URL): URL;
  canParse(url: string | URL, base?: string | URL): boolean;
  parse(url: string | URL, base?: string | URL): URL | null;
};

declare var crypto: {
  randomUUID(): `${string}-${string}-${string}-${string}-${string}`;
  getRandomValues<T extends ArrayBufferView>(array: T): T;
  readonly subtle: {
    digest(algorithm: string | { name: string }, data: BufferSource): Promise<ArrayBuffer>;
  };
};
declare var performance: { now(): number };

interface AbortEvent {
  readonly type: "abort";
  readonly target: AbortSignal;
  readonly currentTarget: AbortSignal;
}
interface AbortSignal {
  readonly aborted: boolean;
  readonly reason: any;
  onabort: ((event: AbortEvent) => void) | null;
  throwIfAborted(): void;
  addEventListener(type: "abort", listener: (event: AbortEvent) => void, options?: unknown): void;
  removeEventListener(type: "abort", listener: (event: AbortEvent) => void, options?: unknown): void;
}
declare var AbortSignal: {
  readonly prototype: AbortSignal;
  abort(reason?: unknown): AbortSignal;
  timeout(milliseconds: number): AbortSignal;
};
interface AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}
declare var AbortController: { readonly prototype: AbortController; new (): AbortController };

interface DOMException extends Error {}
declare var DOMException: {
  readonly prototype: DOMException;
  new (message?: string, name?: string): DOMException;
};

// What this V8 has beyond the libraries.
interface ErrorConstructor {
  captureStackTrace(target: object, above?: Function): void;
  stackTraceLimit: number;
}
interface Math {
  sumPrecise(values: Iterable<number>): number;
}
