// Owns what a check asks of the TypeScript compiler, and in which words the answer leaves the isolate.
// It runs after the compiler itself, in the isolate of the type checker and in no other. It must never run a program:
// programs and declarations are text here.
(function () {
  "use strict";
  const { cut, textOf, part, place, nearest, isPromise, plain, factsOf, judge: judgeOf, doubtful, isPromiseAmiss,
    isAwaitForgotten, tokenOf, KINDS } = globalThis.__check;
  const { SHAPES, NAMES, COUNTS, LISTS, MEMBERS } = KINDS;
  delete globalThis.__check;
  const PROGRAM = "/program.ts", SDK = "/sdk.d.ts";
  const MAX_DIAGNOSTICS = 50, MAX_NAME = 80;
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

  // A JSON value of which nothing is declared may be anything, and so a program may take it for what it is.
  const loosened = (declarations) => declarations.replace(/^type JsonValue = [^;]*;$/m, "type JsonValue = any;");

  // What a program declares of what it has anyway: blank, so that the names mean what they do.
  const GIVEN = new Set(["tools", "state", "console", "print", "ToolCallError"]);
  function withoutDeclarations(program) {
    const own = program.statements.filter(ts.isFunctionDeclaration).flatMap((one) => [...(one.body?.statements ?? [])]);
    const isGiven = (statement) => {
      if ((ts.getCombinedModifierFlags(statement) & ts.ModifierFlags.Ambient) === 0) return false;
      const names = ts.isVariableStatement(statement) ? statement.declarationList.declarations : [statement];
      return names.every(({ name }) => GIVEN.has(name?.text));
    };
    const given = own.filter((statement) => ts.canHaveModifiers(statement) && statement.modifiers !== undefined
      && isGiven(statement));
    if (given.length === 0) return program;
    let text = program.text;
    for (const { end, ...statement } of given) {
      const start = ts.skipTrivia(text, statement.pos);
      text = text.slice(0, start) + text.slice(start, end).replace(/[^\r\n\u2028\u2029]/g, " ") + text.slice(end);
    }
    return parse(PROGRAM, text);
  }

  function compile(declarations, text) {
    if (sdk.text !== declarations) sdk = parse(SDK, declarations);
    const program = withoutDeclarations(parse(PROGRAM, text));
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

  // What only says where something is declared, without the place.
  const DECLARED_HERE = new Set([2728, 6203, 6500]);

  function told(diagnostic, severity) {
    const { file, start, length, code, messageText, relatedInformation } = diagnostic;
    const hints = (relatedInformation ?? [])
      .filter((related) => !DECLARED_HERE.has(related.code) && (related.file === undefined || related.file === file))
      .map((related) => textOf(related.messageText));
    const where = file === undefined ? {} : { file: file.fileName, ...place(file, start, length) };
    return { code: `TS${code}`, severity, message: textOf(messageText), hints, ...where };
  }

  // A call whose arguments are not one object, as the host words it.
  function misgiven(call, checker) {
    const given = call.arguments.map((argument) => checker.getTypeAtLocation(argument));
    const kind = (type) => {
      const { flags } = type, F = ts.TypeFlags;
      return flags & F.StringLike ? "a string" : flags & F.NumberLike ? "a number" : flags & F.BooleanLike ? "a boolean"
        : flags & F.Null ? "null" : checker.isArrayType(type) || checker.isTupleType(type) ? "an array"
          : checker.getSignaturesOfType(type, ts.SignatureKind.Call).length > 0 ? "a function" : "an object";
    };
    if (given.length === 0) return { first: undefined, more: 0 };
    const first = kind(given[0]);
    return given.length > 1 || first !== "an object" ? { first, more: given.length - 1 } : undefined;
  }

  // What else helps: the name that was meant, where the compiler does not say it, and what the host knows to say.
  function helped(finding, one, checker, judge) {
    const { code, messageText } = one, token = tokenOf(one);
    if (NAMES.has(code) && finding.severity === "error" && token.text.length <= MAX_NAME) {
      return { ...finding, about: { missing: token.text } };
    }
    if (isPromiseAmiss(one)) {
      return { ...finding, code: "unawaited", hints: [],
        message: "this is a promise, not its value; write `await`, or `await Promise.all(...)` for a list" };
    }
    if (LISTS.has(code) && isAwaitForgotten(one)) {
      return { ...finding, hints: [], message: "this is a promise, not a list; write `await`" };
    }
    if (code === 2801) {
      return { ...finding, hints: [], message: "this is a promise, which is always true; write `await`" };
    }
    if (code === 2349 && judge.isTools(token)) {
      return { ...finding, message: "`tools` is no function: call a tool as `await tools.name({...})`" };
    }
    if (SHAPES.has(code) || COUNTS.has(code)) return ofArguments(finding, one, checker, judge);
    return MEMBERS.has(code) ? ofMember(finding, one, checker, judge) : finding;
  }

  function ofArguments(finding, one, checker, judge) {
    const { code, messageText } = one, token = tokenOf(one);
    const call = COUNTS.has(code) ? ts.findAncestor(token, ts.isCallExpression) : judge.goal(token).call;
    const isTool = call !== undefined && ts.isCallExpression(call) && judge.isToolCall(call);
    const tool = isTool ? judge.toolOf(call) : undefined;
    const given = tool === undefined ? undefined : misgiven(call, checker);
    if (given !== undefined) return { ...finding, about: { arguments: { tool, ...given } } };
    const text = part(code, messageText, [2741, 2739, 2740]);
    if (text === undefined) return finding;
    const about = tool === undefined ? {} : { about: { call: tool } };
    const missing = /^Property '(.+?)' is missing/.exec(text);
    const isMeant = (node) => ts.isObjectLiteralExpression(node)
      && checker.getContextualType(node)?.getProperty(missing[1]) !== undefined;
    const literal = missing === null ? undefined : ts.findAncestor(token, isMeant);
    const wanted = literal && checker.getContextualType(literal);
    const strays = (literal?.properties ?? []).map((property) => ({ name: property.name?.text ?? "" }))
      .filter(({ name }) => wanted?.getProperty(name) === undefined);
    const near = missing === null ? undefined : nearest(missing[1], strays);
    if (near === undefined) return { ...finding, ...about };
    return { ...finding, hints: [...finding.hints, `'${near}' is written for '${missing[1]}'`] };
  }

  function ofMember(finding, one, checker, judge) {
    const found = judge.accessOf(one);
    if (found === undefined) return finding;
    const { wanted, from, access } = found;
    if (from !== undefined && judge.isTools(from)) {
      const tool = wanted.length > MAX_NAME ? `${wanted.slice(0, MAX_NAME)}...` : wanted;
      return { ...finding, hints: [], about: { tool } };
    }
    const owner = judge.ownerOf(found);
    if (isPromise(owner)) {
      return { ...finding, message: ofPromise(wanted, from, access), hints: [] };
    }
    if (one.code !== 2339) return finding;
    const near = nearest(wanted, checker.getPropertiesOfType(owner));
    return near === undefined ? finding : { ...finding, hints: [...finding.hints, `did you mean '${near}'?`] };
  }

  // Where the `await` belongs that a member of a promise lacks.
  function ofPromise(wanted, from, access) {
    const message = `this is a promise, which has no ${JSON.stringify(wanted)}`;
    if (from === undefined) return `${message}; write \`await\` before the call`;
    if (!ts.isCallExpression(plain(from))) return `${message}; write \`await\` where it comes from`;
    const callee = cut(plain(from).expression.getText());
    const call = `${callee.length > 80 || /\s/.test(callee) ? "call" : callee}(...)`;
    let chain = access;
    while ((ts.isPropertyAccessExpression(chain.parent) || ts.isElementAccessExpression(chain.parent)
      || ts.isCallExpression(chain.parent)) && chain.parent.expression === chain) chain = chain.parent;
    const why = ts.isAwaitExpression(chain.parent) ? "`await` takes the whole chain; " : "";
    const member = ts.isPropertyAccessExpression(access) ? `.${wanted}` : `[${JSON.stringify(wanted)}]`;
    return `${message}; ${why}write \`(await ${call})${member}\``;
  }

  // By place, but errors before warnings where not all are told.
  function byPlace(one, other) {
    return (one.start ?? 0) - (other.start ?? 0);
  }

  function checkProgram(compiled, program) {
    const checker = compiled.getTypeChecker(), facts = factsOf(program);
    const judge = judgeOf({ checker, program, sdk, facts });
    const doubts = doubtful({ program, file: PROGRAM, sdk, checker, facts, judge });
    // What is said in plain words is not said twice.
    const covered = doubts.filter(({ code }) => code === "unawaited").sort(byPlace);
    function isCovered({ code, start, length }) {
      if (!SHAPES.has(code) && !LISTS.has(code) && ![2365, 2367, 2801].includes(code)) return false;
      let at = 0, past = covered.length;
      while (at < past) {
        const middle = (at + past) >> 1;
        if (covered[middle].start < start) at = middle + 1;
        else past = middle;
      }
      return at < covered.length && covered[at].end <= start + length;
    }
    const judged = [
      ...compiled.getSyntacticDiagnostics(program).map((one) => ({ one, severity: "error", start: one.start })),
      ...compiled.getSemanticDiagnostics(program)
        .map((one) => ({ one, severity: judge.severityOf(one), start: one.start }))
        .filter(({ one, severity }) => severity !== undefined && !isCovered(one)),
    ];
    const all = [...judged, ...doubts];
    const errors = all.filter(({ severity }) => severity === "error").sort(byPlace);
    const warnings = all.filter(({ severity }) => severity !== "error").sort(byPlace);
    // Only what is told is put into words.
    const shown = [...errors, ...warnings].slice(0, MAX_DIAGNOSTICS).sort(byPlace)
      .map(({ one, start, end, severity, ...finding }) => (one === undefined ? { ...finding, severity }
        : helped(told(one, severity), one, checker, judge)));
    return { diagnostics: shown, found: all.length, errors: errors.length };
  }

  function check({ declarations, program: text, scope }) {
    const isProgram = scope === "program";
    const { compiled, program } = compile(isProgram ? loosened(declarations) : declarations, text);
    if (isProgram) return checkProgram(compiled, program);
    const files = scope === "libraries" ? compiled.getSourceFiles() : [sdk, program];
    const raw = files.flatMap((file) =>
      [...compiled.getSyntacticDiagnostics(file), ...compiled.getSemanticDiagnostics(file)]);
    const diagnostics = raw.map((one) => told(one, "error"));
    return { diagnostics, found: diagnostics.length, errors: diagnostics.length };
  }

  // What the compiler's own recursion does not take, and an engine may.
  const tooDeep = { code: "unchecked", severity: "warning", hints: [], file: PROGRAM,
    message: "the program is nested too deeply for the type check, so its types were not checked" };

  return function (request) {
    const asked = JSON.parse(request);
    // What a name or a literal of the program has, a message has too; the answer is UTF-8.
    const answer = (value) => JSON.stringify(value, (_, inner) =>
      (typeof inner === "string" ? inner.toWellFormed() : inner));
    try {
      return answer(check(asked));
    } catch (error) {
      // The compiler recurses; nothing of this check may be left for the next one.
      before = undefined;
      sdk = parse(SDK, "");
      if (error instanceof RangeError && asked.scope === "program") {
        return answer({ diagnostics: [tooDeep], found: 1, errors: 0 });
      }
      return answer({ failed: cut(`${error}`) });
    }
  };
})();
