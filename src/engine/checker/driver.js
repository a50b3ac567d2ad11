// Owns what a check asks of the TypeScript compiler, and in which words the answer leaves the isolate.
// It runs after the compiler itself, in the isolate of the type checker and in no other. It must never run a program:
// programs and declarations are text here.
(function () {
  "use strict";
  const PROGRAM = "/program.ts", SDK = "/sdk.d.ts";
  const MAX_DIAGNOSTICS = 50, MAX_MESSAGE = 2000, MAX_NAMES = 5000;
  const OPTIONS = {
    strict: true,
    // `catch (error) { error.message }` is what models write, and it runs.
    useUnknownInCatchVariables: false,
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.ESNext,
    moduleDetection: ts.ModuleDetectionKind.Force,
    experimentalDecorators: false,
    noEmit: true,
    noLib: true,
    types: [],
  };
  const parse = (name, text) => ts.createSourceFile(name, text,
    { languageVersion: ts.ScriptTarget.ESNext, jsDocParsingMode: ts.JSDocParsingMode.ParseNone });

  const libraries = new Map();
  for (const [name, text] of Object.entries(globalThis.__libraries)) libraries.set(`/${name}`, parse(`/${name}`, text));
  delete globalThis.__libraries;

  // The program before, so that what did not change is neither parsed nor bound again.
  let before, sdk = parse(SDK, "");

  function compile(declarations, text) {
    if (sdk.text !== declarations) sdk = parse(SDK, declarations);
    const program = parse(PROGRAM, text);
    // What is checked is the host's to say: `@ts-ignore` and its like are comments here.
    program.commentDirectives = program.checkJsDirective = undefined;
    const file = (name) => libraries.get(name) ?? (name === SDK ? sdk : name === PROGRAM ? program : undefined);
    const host = {
      getSourceFile: file,
      getDefaultLibFileName: () => "/lib.d.ts",
      getCurrentDirectory: () => "/",
      getCanonicalFileName: (name) => name,
      getNewLine: () => "\n",
      useCaseSensitiveFileNames: () => true,
      fileExists: (name) => file(name) !== undefined,
      readFile: (name) => file(name)?.text,
      directoryExists: () => false,
      getDirectories: () => [],
      writeFile() {},
    };
    const rootNames = [...libraries.keys(), SDK, PROGRAM];
    before = ts.createProgram({ rootNames, options: OPTIONS, host, oldProgram: before });
    return { compiled: before, program };
  }

  const cut = (text) => (text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}...` : text);
  const textOf = (message) => cut(ts.flattenDiagnosticMessageText(message, "\n"));

  // The text of the first part of a message that has one of these numbers.
  function part(code, message, wanted) {
    if (typeof message === "string") return wanted.includes(code) ? message : undefined;
    const open = [message];
    for (let at = 0; at < open.length; at++) {
      if (wanted.includes(open[at].code)) return open[at].messageText;
      open.push(...(open[at].next ?? []));
    }
    return undefined;
  }

  // What TypeScript says about programs that are right when they run.
  function isNoise({ code, messageText }) {
    // Implicit `any`: a program need not be annotated. A name that is misspelt in brackets is said the same way.
    if (code === 7053) return part(code, messageText, [2339, 2551]) === undefined;
    if (code >= 7005 && code <= 7057) return true;
    // A namespace inside of a function: the function is ours.
    if (code === 1235) return true;
    // `const o = {}; o.a = 1`
    return code === 2339 && typeof messageText === "string" && messageText.endsWith("on type '{}'.");
  }

  function place(file, start, length) {
    const from = file.getLineAndCharacterOfPosition(start), to = file.getLineAndCharacterOfPosition(start + length);
    return { line: from.line + 1, column: from.character + 1, endLine: to.line + 1, endColumn: to.character + 1 };
  }

  function told(diagnostic) {
    const { file, start, length, code, messageText, relatedInformation } = diagnostic;
    const hints = (relatedInformation ?? []).filter((related) => related.file === undefined || related.file === file)
      .map((related) => textOf(related.messageText));
    const where = file === undefined ? {} : { file: file.fileName, ...place(file, start, length) };
    return { code: `TS${code}`, severity: "error", message: textOf(messageText), hints, ...where };
  }

  // What else helps: the name that was meant, where the compiler does not say it.
  function helped(finding, { code, file, start, messageText }, checker) {
    const missing = /^Property '(.+?)' is missing/.exec(part(code, messageText, [2741]) ?? "");
    if (missing !== null) {
      const literal = ts.findAncestor(ts.getTokenAtPosition(file, start), ts.isObjectLiteralExpression);
      const wanted = literal && checker.getContextualType(literal);
      const strays = (literal?.properties ?? []).map((property) => ({ name: property.name?.text ?? "" }))
        .filter(({ name }) => wanted?.getProperty(name) === undefined);
      const near = nearest(missing[1], strays);
      const hint = `'${near}' is written for '${missing[1]}'`;
      return near === undefined ? finding : { ...finding, hints: [...finding.hints, hint] };
    }
    if (code !== 2339) return finding;
    const name = ts.getTokenAtPosition(file, start), access = name.parent;
    if (!ts.isPropertyAccessExpression(access) && !ts.isElementAccessExpression(access)) return finding;
    const owner = checker.getApparentType(checker.getTypeAtLocation(access.expression));
    if (isPromise(owner)) return { ...finding, hints: ["it is a promise: write `await` before the call"] };
    const wanted = name.text, near = nearest(wanted, checker.getPropertiesOfType(owner));
    const isTools = ts.isIdentifier(access.expression) && access.expression.text === "tools";
    const message = isTools ? `there is no tool ${JSON.stringify(wanted)}` : finding.message;
    const hints = near === undefined ? finding.hints : [...finding.hints, `did you mean '${near}'?`];
    return { ...finding, message, hints };
  }

  // The name that takes the fewest changes (a letter put in, left out, replaced, or two swapped), at most one in three.
  function nearest(wanted, properties) {
    const most = Math.floor(wanted.length / 3) + (wanted.length < 6 ? 1 : 0);
    let best, least = most + 1;
    for (const { name } of properties.length > MAX_NAMES ? [] : properties) {
      if (Math.abs(name.length - wanted.length) >= least) continue;
      const changes = distance(wanted.toLowerCase(), name.toLowerCase());
      if (changes < least) [best, least] = [name, changes];
    }
    return best;
  }

  function distance(a, b) {
    let older = [], old = Array.from({ length: b.length + 1 }, (_, at) => at);
    for (let i = 1; i <= a.length; i++) {
      const row = [i];
      for (let k = 1; k <= b.length; k++) {
        row[k] = Math.min(old[k] + 1, row[k - 1] + 1, old[k - 1] + (a[i - 1] === b[k - 1] ? 0 : 1));
        const swapped = i > 1 && k > 1 && a[i - 1] === b[k - 2] && a[i - 2] === b[k - 1];
        if (swapped) row[k] = Math.min(row[k], older[k - 2] + 1);
      }
      [older, old] = [old, row];
    }
    return old[b.length];
  }

  const isPromise = (type) => (type.isUnion() ? type.types.some(isPromise) : type.symbol?.escapedName === "Promise");

  // Promises where a value is meant: TypeScript lets them pass, and the program says or does something else.
  function unawaited(file, checker) {
    const found = [];
    const plain = (node) => (ts.isParenthesizedExpression(node) ? plain(node.expression) : node);
    const printers = /^(print|String|JSON\.stringify|console\.(log|info|warn|error|debug|table|dir))$/;
    function look(node, severity, message) {
      const expression = plain(node);
      if (severity === "warning" && !ts.isCallExpression(expression)) return;
      if (!isPromise(checker.getTypeAtLocation(expression))) return;
      const start = expression.getStart(file);
      found.push({ code: "unawaited", severity, message, hints: [], file: PROGRAM,
        ...place(file, start, expression.end - start) });
    }
    // Iterative: a program may be nested more deeply than the stack allows.
    const open = [file];
    while (open.length > 0) {
      const node = open.pop();
      if (ts.isExpressionStatement(node)) {
        look(node.expression, "warning",
          "this call is not awaited: the program may end before it is done; write `await`");
      } else if (ts.isTemplateSpan(node)) {
        look(node.expression, "error", "this is a promise, and its text says nothing; write `await`");
      } else if (ts.isCallExpression(node) && printers.test(node.expression.getText(file))) {
        for (const argument of node.arguments) {
          look(argument, "error", "this is a promise, and not the value it is for; write `await`");
        }
      }
      const children = [];
      ts.forEachChild(node, (child) => { children.push(child); });
      while (children.length > 0) open.push(children.pop());
    }
    return found;
  }

  function check({ declarations, program: text, scope }) {
    const { compiled, program } = compile(declarations, text);
    const files = scope === "libraries" ? compiled.getSourceFiles()
      : scope === "declarations" ? [sdk, program] : [program];
    const checker = compiled.getTypeChecker(), diagnostics = [];
    for (const file of files) {
      for (const one of compiled.getSyntacticDiagnostics(file)) diagnostics.push(told(one));
      for (const one of compiled.getSemanticDiagnostics(file)) {
        if (scope !== "program") diagnostics.push(told(one));
        else if (!isNoise(one)) diagnostics.push(helped(told(one), one, checker));
      }
    }
    if (scope === "program") diagnostics.push(...unawaited(program, checker));
    diagnostics.sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
    const shown = scope === "program" ? diagnostics.slice(0, MAX_DIAGNOSTICS) : diagnostics;
    return { diagnostics: shown, found: diagnostics.length };
  }

  return function (request) {
    try {
      return JSON.stringify(check(JSON.parse(request)));
    } catch (error) {
      // The compiler recurses; nothing of this check may be left for the next one.
      before = undefined;
      return JSON.stringify({ failed: cut(`${error}`) });
    }
  };
})();
