// Write one TypeScript program; top-level `await` and `return` work. No imports, no files, no network.
// - Call tools as `await tools.name(args)` or `await tools["odd-name"](args)`. Await every call; run independent calls together with `Promise.all`.
// - Only what you print with `console.log` and what you `return` comes back.
// - `state.set(key, value)` keeps JSON for later programs of this session, `state.get(key)` reads it; a program that fails keeps nothing.
// - A failed call throws a `ToolCallError`.
// - Integers beyond 2^53 arrive as `BigInt`, though their type says `number`.

type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
type JsonObject = { [key: string]: JsonValue };

interface ToolArgsMap {
  /** Finds files by their path, sorted. Hidden and ignored names are left out unless asked for. */
  glob: {
    /** Glob that the path relative to `path` must match. `*` and `?` do not match `/`; `**\/*.rs` matches at every depth, `*.rs` only directly in `path`. `[ab]` and `{a,b}` are alternatives. */
    pattern: string;
    /** Search names that start with a dot too. Implied by a pattern with such a name, as `.github/*`. @default false */
    hidden?: boolean;
    /** Search what `.gitignore` and `.ignore` files leave out too, and `.git`. @default false */
    ignored?: boolean;
    /** Most paths to return. Default: as many as the host allows. @minimum 0 */
    limit?: number;
    /** Directory to search, relative to the root. Default: the root. */
    path?: string;
  };
  /** Finds lines of text files that match a regular expression, sorted by path and line. Binary files are skipped; hidden and ignored ones too, unless asked for. */
  grep: {
    /** Regular expression that a line must match somewhere (syntax of the Rust `regex` crate: no look-around, no back-references). Matches never span lines. */
    pattern: string;
    /** Ignore upper and lower case. @default false */
    case_insensitive?: boolean;
    /** Lines of context before and after each match. Default: 0. @minimum 0 */
    context?: number;
    /** Search only files that match this glob: one without `/` is matched against the name, as `*.rs`; one with `/` against the path below `path`, as `src/**\/*.rs`. */
    glob?: string;
    /** Search names that start with a dot too. @default false */
    hidden?: boolean;
    /** Search what `.gitignore` and `.ignore` files leave out too, and `.git`. @default false */
    ignored?: boolean;
    /** Most matches, or files when counting, to return. Default: as many as the host allows. @minimum 0 */
    limit?: number;
    /** Take `pattern` as plain text instead of a regular expression. @default false */
    literal?: boolean;
    /**
     * What to return. Default: `matches`.
     * - `matches`: The matching lines, in `matches`.
     * - `count`: Only how many lines match in each file, in `counts`.
     * - `count_matches`: Only how many matches there are in each file, in `counts`; a line may hold several.
     * @default "matches"
     */
    mode?: "matches" | "count" | "count_matches";
    /** File or directory to search, relative to the root. Default: the root. */
    path?: string;
  };
  /** Lists a directory, sorted by path. Hidden and ignored names are left out unless asked for. */
  list: {
    /** Levels to list: 1 is the directory itself, 2 also what its directories hold. Default: 1. @minimum 1 */
    depth?: number;
    /** List names that start with a dot too. @default false */
    hidden?: boolean;
    /** List what `.gitignore` and `.ignore` files leave out too, and `.git`. @default false */
    ignored?: boolean;
    /** Directory to list, relative to the root. Default: the root. */
    path?: string;
  };
  /** Reads a UTF-8 text file by lines. For a part of it give `offset` and `limit`. */
  read: {
    /** File to read, relative to the root. */
    file_path: string;
    /** Most lines to read. Default: up to the end of the file. @minimum 0 */
    limit?: number;
    /** First line to read, counted from 1. Default: 1. @minimum 1 */
    offset?: number;
  };
}

interface ToolOutputMap {
  /** Files whose path matches. */
  glob: {
    /** Paths of regular files relative to the root, sorted. */
    paths: string[];
    /** Whether paths are missing because there are too many. */
    truncated: boolean;
    /** Those of `paths` whose names are not UTF-8: they show U+FFFD and cannot be opened. */
    lossy_paths?: string[];
    /** Directories that could not be read, whose files are missing; absent when there are none. @minimum 0 */
    unreadable?: number;
  } & JsonObject;
  /** What a search found. */
  grep: {
    /** Files with matching lines, sorted by path; empty unless counting. @items How many lines of a file match, or how many matches it holds. */
    counts: ({
      /** Matching lines, or matches, at least 1. @minimum 1 */
      count: number;
      /** File, relative to the root. */
      path: string;
    } & JsonObject)[];
    /** Files that were searched, with or without a match. @minimum 0 */
    files_searched: number;
    /** The matching lines, sorted by path and line; empty when counting. @items A line that matches. */
    matches: ({
      /** Where in the line the first match starts, in characters counted from 1. @minimum 1 */
      column: number;
      /** Line number, counted from 1. @minimum 1 */
      line: number;
      /** File, relative to the root. */
      path: string;
      /** The line without its line ending; bytes that are not UTF-8 show as U+FFFD. */
      text: string;
      /** The lines after it, if `context` was given. */
      after?: string[];
      /** The lines before it, if `context` was given. */
      before?: string[];
      /** Set when `text` is only the part of a long line around the match. */
      cut?: boolean;
    } & JsonObject)[];
    /** What should have been searched and was not. */
    skipped: {
      /** Files that are not text: a NUL byte was found. @minimum 0 */
      binary: number;
      /** Files larger than the host allows. @minimum 0 */
      too_large: number;
      /** Files and directories that could not be read, or vanished. @minimum 0 */
      unreadable: number;
    } & JsonObject;
    /** Whether matches or files are missing because there are too many. */
    truncated: boolean;
    /** Paths in the result whose names are not UTF-8: they show U+FFFD and cannot be opened. */
    lossy_paths?: string[];
  } & JsonObject;
  /** A directory listing. */
  list: {
    /** The entries, sorted by path; a directory comes right before what is in it. @items One entry of a directory. */
    entries: ({
      /**
       * What it is.
       * - `file`: A regular file.
       * - `dir`: A directory.
       * - `symlink`: A symbolic link; it cannot be opened.
       * - `other`: A pipe, device or socket; it cannot be opened.
       */
      kind: "file" | "dir" | "symlink" | "other";
      /** Path relative to the root. */
      path: string;
      /** Set when the name is not UTF-8: `path` then shows U+FFFD for the bytes that are not, and cannot be opened. */
      lossy?: boolean;
      /** Size in bytes; regular files only. @minimum 0 */
      size?: number;
    } & JsonObject)[];
    /** Whether entries are missing because there are too many. */
    truncated: boolean;
    /** Directories whose entries are missing because they could not be read; absent when there are none. @minimum 0 */
    unreadable?: number;
  } & JsonObject;
  /**
   * The lines of a file.
   *
   * The exact content of a file is every `text` of it, joined with `\r\n` if `line_ending` is `crlf` and with `\n` otherwise, and once more that at the end if `final_newline` is set.
   */
  read: {
    /** Whether the last line of the file ends with a line ending too. */
    final_newline: boolean;
    /**
     * How the lines of the file end.
     * - `lf`: `\n`.
     * - `crlf`: `\r\n`, every line.
     * - `mixed`: Some of each: lines are split at `\n`, and a `\r` before it is kept in `text`.
     */
    line_ending: "lf" | "crlf" | "mixed";
    /** The lines read; empty when `offset` is past the end. @items One line of a file. */
    lines: ({
      /** Line number, counted from 1. @minimum 1 */
      number: number;
      /** The line without its line ending. */
      text: string;
    } & JsonObject)[];
    /** The line that reading started at, counted from 1. @minimum 1 */
    offset: number;
    /** The file, relative to the root. */
    path: string;
    /** Lines in the whole file; 0 for an empty file. @minimum 0 */
    total_lines: number;
  } & JsonObject;
}

type ToolName = keyof ToolArgsMap;

declare class ToolCallError extends Error {
  readonly toolName: string;
  readonly code: string;
  readonly details: JsonValue;
}

declare const tools: {
  readonly [K in ToolName]: {} extends ToolArgsMap[K]
    ? (args?: ToolArgsMap[K]) => Promise<ToolOutputMap[K]>
    : (args: ToolArgsMap[K]) => Promise<ToolOutputMap[K]>;
};

declare const state: {
  get(key: string): JsonValue | undefined;
  set(key: string, value: JsonValue): void;
  delete(key: string): boolean;
  keys(): string[];
  /** Makes what was set so far permanent, even if the program fails later. */
  commit(): void;
};
