// Owns what a check asks of the TypeScript compiler, and in which words the answer leaves the isolate.
// It runs after the compiler itself, in the isolate of the type checker and in no other. It must never run a program:
// programs and declarations are text here.
(function () {
  "use strict";
  // What TypeScript calls an error and what runs in plenty of programs: values that may be absent or are not known, and
  // classes and functions in the manner of plain JavaScript.
  const DOUBTS = new Set([2362, 2363, 2531, 2532, 2533, 2538, 2571, 2683, 2721, 2722, 2794, 18046, 18047, 18048,
    18049]);
  // Implicit `any`: a program need not be annotated.
  const UNANNOTATED = new Set([7005, 7006, 7008, 7010, 7011, 7015, 7016, 7018, 7019, 7022, 7023, 7024, 7026, 7031, 7034,
    7041, 7043, 7044, 7045, 7046, 7050, 7051, 7055, 7057]);
  const PROGRAM = "/program.ts", SDK = "/sdk.d.ts";
  const MAX_DIAGNOSTICS = 50, MAX_MESSAGE = 2000, MAX_NAMES = 5000, MAX_LISTED = 12;
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

  // Half a character is none: neither one that the program has, nor one that the cut leaves.
  const cut = (text) => (text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE)}...` : text).toWellFormed();
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
  function isNoise({ code, file, start, messageText }) {
    const node = ts.getTokenAtPosition(file, start).parent;
    if (code === 7015) return !(ts.isElementAccessExpression(node) && ts.isStringLiteralLike(node.argumentExpression));
    if (UNANNOTATED.has(code)) return true;
    // A namespace inside of a function: the function is ours.
    if (code === 1235) return true;
    // Implicit `any` behind brackets, unless it is a name that is misspelt.
    const absent = part(code, messageText, [2339, 2551]);
    if (code === 7053 && absent === undefined) return true;
    // `const o = {}; o.a = 1`
    return (absent ?? "").endsWith("on type '{}'.");
  }

  // How much it matters: an error is what cannot be right.
  function severityOf({ code, file, start, messageText }) {
    if (DOUBTS.has(code)) return "warning";
    const text = typeof messageText === "string" ? messageText : messageText.messageText;
    // A list or a variable of which TypeScript knows no more than that it began empty.
    if (/ type '(never|never\[\]|null|undefined)'\.$/.test(text)) return "warning";
    // `error.code`: whoever throws adds what it likes.
    if (code === 2339 && / type '\w*Error'\.$/.test(text)) return "warning";
    if (code === 2339 || code === 2551) {
      const access = ts.getTokenAtPosition(file, start).parent;
      if (!ts.isPropertyAccessExpression(access)) return "error";
      // Members that plain JavaScript adds to an object or to `this`.
      const isTarget = ts.isBinaryExpression(access.parent) && access.parent.left === access
        && access.parent.operatorToken.kind === ts.SyntaxKind.EqualsToken;
      if (isTarget || access.expression.kind === ts.SyntaxKind.ThisKeyword) return "warning";
    }
    // Fewer arguments than a function without annotations names.
    if (code === 2554) {
      const call = ts.findAncestor(ts.getTokenAtPosition(file, start), ts.isCallExpression);
      if (call !== undefined && ts.isIdentifier(call.expression)) return "warning";
    }
    return "error";
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
    const severity = file?.fileName === PROGRAM ? severityOf(diagnostic) : "error";
    return { code: `TS${code}`, severity, message: textOf(messageText), hints, ...where };
  }

  // What else helps: the name that was meant, where the compiler does not say it.
  function helped(finding, { code, file, start, messageText }, checker) {
    const missing = /^Property '(.+?)' is missing/.exec(part(code, messageText, [2741]) ?? "");
    if (missing !== null) {
      const isMeant = (node) => ts.isObjectLiteralExpression(node)
        && checker.getContextualType(node)?.getProperty(missing[1]) !== undefined;
      const literal = ts.findAncestor(ts.getTokenAtPosition(file, start), isMeant);
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
    if (isPromise(owner)) {
      const message = `this is a promise, which has no ${JSON.stringify(name.text)}; write \`await\` before the call`;
      return { ...finding, message, hints: [] };
    }
    const wanted = name.text, near = nearest(wanted, checker.getPropertiesOfType(owner));
    const isTools = ts.isIdentifier(access.expression) && access.expression.text === "tools";
    const message = isTools ? `there is no tool ${JSON.stringify(wanted)}` : finding.message;
    const hints = near === undefined ? finding.hints : [...finding.hints, `did you mean '${near}'?`];
    return { ...finding, message, hints };
  }

  // The name that takes the fewest changes (a letter put in, left out, replaced, or two swapped): one in three letters.
  function nearest(wanted, properties) {
    const most = wanted.length < 3 ? 0 : Math.max(1, Math.floor(wanted.length / 3));
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

  // What TypeScript lets pass, and what the program hardly means.
  function doubtful(file, checker) {
    const found = [];
    const holdsPromise = (type) => isPromise(type)
      || (checker.isArrayType(type) && isPromise(checker.getTypeArguments(type)[0]));
    const plain = (node) => (ts.isParenthesizedExpression(node) ? plain(node.expression) : node);
    const printers = /^(print|String|JSON\.stringify|console\.(log|info|warn|error|debug|table|dir))$/;
    const isAsync = (node) => ts.isFunctionLike(node)
      && (ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Async) !== 0;
    function say(node, code, severity, message) {
      const start = node.getStart(file);
      found.push({ code, severity, message, hints: [], file: PROGRAM, start, ...place(file, start, node.end - start) });
    }
    function unawaited(node, severity, message) {
      const expression = plain(node);
      if (severity === "warning" && !ts.isCallExpression(expression)) return;
      const holds = severity === "warning" ? isPromise : holdsPromise;
      if (holds(checker.getTypeAtLocation(expression))) say(expression, "unawaited", severity, message);
    }
    // A member that only the openness of a type admits: the tool may give it, and says nothing of it.
    function undeclared(name, owner) {
      const type = checker.getApparentType(owner), declared = checker.getPropertiesOfType(type);
      if (declared.length === 0 || !type.isIntersection() || type.getStringIndexType() === undefined) return;
      if (declared.some((member) => member.name === name.text)) return;
      const near = nearest(name.text, declared), listed = declared.slice(0, MAX_LISTED).map((member) => member.name);
      if (declared.length > MAX_LISTED) listed.push("...");
      say(name, "undeclared", "warning", `no member ${JSON.stringify(name.text)} is declared, so it may be anything or`
        + ` nothing; declared are ${listed.join(", ")}${near === undefined ? "" : `; did you mean '${near}'?`}`);
    }
    function look(node) {
      if (ts.isExpressionStatement(node)) {
        unawaited(node.expression, "warning",
          "this call is not awaited: the program may end before it is done; write `await`");
      } else if (ts.isTemplateSpan(node)) {
        unawaited(node.expression, "error", "this is a promise, and its text says nothing; write `await`");
      } else if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
        for (const side of [node.left, node.right]) {
          unawaited(side, "error", "this is a promise, and its text says nothing; write `await`");
        }
      } else if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.name)) {
        const isTarget = ts.isBinaryExpression(node.parent) && node.parent.left === node;
        if (!isTarget) undeclared(node.name, checker.getTypeAtLocation(node.expression));
      } else if (ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent)) {
        const name = node.propertyName ?? node.name, isNamed = ts.isIdentifier(name) && !node.dotDotDotToken;
        if (isNamed) undeclared(name, checker.getTypeAtLocation(node.parent));
      } else if (ts.isCallExpression(node)) {
        const callee = node.expression;
        if (printers.test(callee.getText(file))) {
          for (const argument of node.arguments) {
            unawaited(argument, "error",
              "this is a promise, not its value; write `await`, or `await Promise.all(...)` for a list");
          }
        }
        if (ts.isPropertyAccessExpression(callee) && node.arguments.length > 0 && isAsync(node.arguments[0])) {
          const method = callee.name.text;
          if (method === "forEach") {
            say(callee.name, "unawaited", "warning",
              "nobody waits for these calls: use `for (const x of xs)`, or `await Promise.all(xs.map(...))`");
          } else if (/^(filter|some|every|find|findIndex|sort)$/.test(method)) {
            say(callee.name, "unawaited", "error",
              `a promise is always true, so \`${method}\` decides nothing here; await the values first`);
          }
        }
      }
    }
    // Iterative: a program may be nested more deeply than the stack allows.
    const open = [file];
    while (open.length > 0) {
      const node = open.pop(), children = [];
      look(node);
      ts.forEachChild(node, (child) => { children.push(child); });
      while (children.length > 0) open.push(children.pop());
    }
    return found;
  }

  // By place, but errors before warnings where not all are told.
  function byPlace(one, other) {
    return (one.start ?? 0) - (other.start ?? 0);
  }

  function checkProgram(compiled, program) {
    const checker = compiled.getTypeChecker();
    const raw = [...compiled.getSyntacticDiagnostics(program), ...compiled.getSemanticDiagnostics(program)];
    const judged = raw.filter((one) => !isNoise(one))
      .map((one) => ({ one, severity: severityOf(one), start: one.start }));
    const all = [...judged, ...doubtful(program, checker)];
    const errors = all.filter(({ severity }) => severity === "error").sort(byPlace);
    const warnings = all.filter(({ severity }) => severity !== "error").sort(byPlace);
    // Only what is told is put into words.
    const shown = [...errors, ...warnings].slice(0, MAX_DIAGNOSTICS).sort(byPlace)
      .map(({ one, start, ...finding }) => (one === undefined ? finding : helped(told(one), one, checker)));
    return { diagnostics: shown, found: all.length, errors: errors.length };
  }

  function check({ declarations, program: text, scope }) {
    const { compiled, program } = compile(declarations, text);
    if (scope === "program") return checkProgram(compiled, program);
    const files = scope === "libraries" ? compiled.getSourceFiles() : [sdk, program];
    const raw = files.flatMap((file) =>
      [...compiled.getSyntacticDiagnostics(file), ...compiled.getSemanticDiagnostics(file)]);
    const diagnostics = raw.map((one) => ({ ...told(one), severity: "error" }));
    return { diagnostics, found: diagnostics.length, errors: diagnostics.length };
  }

  return function (request) {
    try {
      // What a name or a literal of the program has, a message has too; the answer is UTF-8.
      return JSON.stringify(check(JSON.parse(request)), (_, value) =>
        (typeof value === "string" ? value.toWellFormed() : value));
    } catch (error) {
      // The compiler recurses; nothing of this check may be left for the next one.
      before = undefined;
      sdk = parse(SDK, "");
      return JSON.stringify({ failed: cut(`${error}`) });
    }
  };
})();
