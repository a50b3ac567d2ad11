// Owns what TypeScript lets pass, and what the program hardly means: promises where their values are meant, members
// that a result does not declare, objects as texts. It must never say what the compiler says.
(function () {
  "use strict";
  const { cut, fileOf, isAssignment, isGuarded, isPromise, nearest, place, plain, walk } = globalThis.__check;
  const MAX_LISTED = 12, MAX_DEPTH = 4, MAX_MEMBERS = 50;
  const K = ts.SyntaxKind;
  const NOT_ITS_VALUE = "this is a promise, not its value; write `await`, or `await Promise.all(...)` for a list";
  const NO_TEXT = "this is a promise, and its text says nothing; write `await`";
  // What takes a value, and does nothing useful with a promise.
  const TAKERS = new Map([["JSON", /^parse$/], ["Object", /^(entries|keys|values|fromEntries|assign)$/], ["Math", /^/],
    ["Array", /^(from|isArray)$/]]);
  const FUNCTIONS = /^(String|Number|Boolean|parseInt|parseFloat|isNaN|isFinite)$/;
  // What takes a whole value, and shows or keeps the promises in it as nothing.
  const PRINTERS = new Map([["console", /^(log|info|warn|error|debug|table|dir)$/], ["JSON", /^stringify$/],
    ["state", /^set$/]]);
  const DECIDERS = /^(filter|some|every|find|findIndex|findLast|findLastIndex|sort|toSorted)$/;
  const TEXT = new Set(Object.getOwnPropertyNames(String.prototype));
  const LIST = new Set(Object.getOwnPropertyNames(Array.prototype));
  const ANY = new Set(Object.getOwnPropertyNames(Object.prototype));
  // Operators that take values.
  const OPERATORS = new Set([K.PlusToken, K.MinusToken, K.AsteriskToken, K.SlashToken, K.PercentToken,
    K.AsteriskAsteriskToken, K.LessThanToken, K.LessThanEqualsToken, K.GreaterThanToken, K.GreaterThanEqualsToken,
    K.EqualsEqualsToken, K.EqualsEqualsEqualsToken, K.ExclamationEqualsToken, K.ExclamationEqualsEqualsToken,
    K.PlusEqualsToken, K.MinusEqualsToken]);

  // Only these can be promises: a chain of operators is not asked about again for each of its links.
  const mayBePromise = (node) => ts.isIdentifier(node) || ts.isCallExpression(node) || ts.isNewExpression(node)
    || ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node) || ts.isConditionalExpression(node);

  function doubtful({ program: file, file: name, sdk, checker, facts, judge }) {
    // What is found, and of those that are about a member its name.
    const found = [], members = new Map();
    const typeOf = (node) => checker.getTypeAtLocation(node);
    const awaited = (type) => checker.getAwaitedType(type) ?? type;
    const isList = (type) => checker.isArrayType(type) || checker.isTupleType(type);
    const holdsPromise = (type) => isPromise(type)
      || (checker.isArrayType(type) && isPromise(checker.getTypeArguments(type)[0]));
    // Whether a promise is in what would be printed or returned.
    function hides(type, depth = 0) {
      if (isPromise(type)) return true;
      if (depth > MAX_DEPTH) return false;
      if (type.isUnion()) return type.types.slice(0, MAX_MEMBERS).some((one) => hides(one, depth + 1));
      if (isList(type)) return checker.getTypeArguments(type).some((one) => hides(one, depth + 1));
      const { symbol } = type;
      if (symbol === undefined || fileOf(symbol.declarations?.[0]) !== file) return false;
      if ((symbol.flags & (ts.SymbolFlags.ObjectLiteral | ts.SymbolFlags.TypeLiteral)) === 0) return false;
      return checker.getPropertiesOfType(type).slice(0, MAX_MEMBERS)
        .some((member) => hides(checker.getTypeOfSymbol(member), depth + 1));
    }
    // The innermost part of a literal that holds the promise.
    function hiding(expression) {
      const node = plain(expression);
      const parts = ts.isArrayLiteralExpression(node) ? node.elements : !ts.isObjectLiteralExpression(node) ? []
        : node.properties.map((one) => (ts.isPropertyAssignment(one) ? one.initializer
          : ts.isShorthandPropertyAssignment(one) ? one.name : undefined)).filter((one) => one !== undefined);
      const inner = parts.find((one) => hides(typeOf(one)));
      return inner === undefined ? node : hiding(inner);
    }
    function say(node, code, severity, text) {
      const start = node.getStart(file), message = cut(text);
      found.push({ code, severity, message, hints: [], file: name, start, end: node.end,
        ...place(file, start, node.end - start) });
    }
    function valued(expression) {
      if (hides(typeOf(plain(expression)))) say(hiding(expression), "unawaited", "error", NOT_ITS_VALUE);
    }
    function textual(expression) {
      const node = plain(expression);
      if (!mayBePromise(node)) return;
      const type = typeOf(node);
      if (holdsPromise(type)) say(node, "unawaited", "error", NO_TEXT);
      else if (isTextless(type)) {
        say(node, "object-text", "warning",
          `the text of this object is "[object Object]"; take a member of it${listed(type)}, or \`JSON.stringify\` it`);
      }
    }
    // An object without a text of its own.
    function isTextless(type) {
      const parts = type.isIntersection() ? type.types : [type];
      if (!parts.every(({ flags }) => (flags & ts.TypeFlags.Object) !== 0) || isList(type)) return false;
      const symbol = parts[0].symbol, declaration = symbol?.declarations?.[0];
      const isPlain = fileOf(declaration) === sdk || (fileOf(declaration) === file && !ts.isFunctionLike(declaration));
      if (!isPlain || checker.getSignaturesOfType(type, ts.SignatureKind.Call).length > 0) return false;
      const writes = (member) => {
        const at = checker.getPropertyOfType(type, member)?.declarations?.[0];
        return at !== undefined && (fileOf(at) === file || fileOf(at) === sdk);
      };
      const { Class, Enum, Module } = ts.SymbolFlags;
      return !/Error$/.test(symbol.name) && !writes("toString") && (symbol.flags & (Class | Enum | Module)) === 0;
    }
    function listed(type) {
      const members = checker.getPropertiesOfType(type).map((member) => member.name);
      const more = members.length > MAX_LISTED ? ", ..." : "";
      return members.length === 0 ? "" : ` (${members.slice(0, MAX_LISTED).join(", ")}${more})`;
    }
    // A promise that is there for certain, whatever was done before.
    function always(expression) {
      const node = plain(expression);
      let there = ts.isCallExpression(node);
      if (ts.isIdentifier(node)) {
        const declaration = checker.getSymbolAtLocation(node)?.valueDeclaration;
        there = declaration !== undefined && ts.isVariableDeclaration(declaration)
          && (declaration.parent.flags & ts.NodeFlags.Const) !== 0 && declaration.initializer !== undefined
          && !ts.isElementAccessExpression(plain(declaration.initializer));
      }
      if (!there) return;
      const type = typeOf(node);
      if (!type.isUnion() && isPromise(type)) {
        say(node, "unawaited", "error", "this is a promise, which is always true; write `await`");
      }
    }
    // A member that only the openness of a type admits: the tool may give it, and says nothing of it.
    function undeclared(node, wanted, owner, access) {
      if (facts.members.has(wanted) || ANY.has(wanted)) return;
      const type = checker.getApparentType(owner);
      if (!type.isIntersection() || type.getStringIndexType() === undefined || !judge.isResult(type)) return;
      const declared = checker.getPropertiesOfType(type);
      if (declared.length === 0 || declared.some((member) => member.name === wanted)) return;
      const near = nearest(wanted, declared), isText = TEXT.has(wanted), isOfList = LIST.has(wanted);
      const tell = (one) => (isOfList && isList(checker.getTypeOfSymbol(one)) ? `${one.name} (a list)` : one.name);
      const names = declared.slice(0, MAX_LISTED).map(tell);
      if (declared.length > MAX_LISTED) names.push("...");
      const kind = isText && isOfList ? "a text or a list" : isText ? "a text" : isOfList ? "a list" : undefined;
      const why = kind === undefined ? ", so it may be anything or nothing" : `: this is an object, not ${kind}`;
      // Who sets a variable again knows better what is in it.
      const root = ts.isBindingElement(access) ? undefined : plain(access.expression);
      const isOther = root !== undefined && ts.isIdentifier(root) && facts.variables.has(root.text);
      if (isGuarded(access)) facts.asked.add(wanted);
      say(node, "undeclared", isOther ? "warning" : "error",
        `no member ${JSON.stringify(wanted)} is declared${why}; declared are ${names.join(", ")}`
        + (near === undefined ? "" : `; did you mean '${near}'?`));
      members.set(found.at(-1), wanted);
    }
    // Calls of what a function does not wait for.
    function callback(callee, call) {
      const method = callee.name.text, [first] = call.arguments;
      if (first === undefined || !(method === "forEach" || DECIDERS.test(method))) return;
      const signatures = checker.getSignaturesOfType(typeOf(first), ts.SignatureKind.Call);
      if (!signatures.some((signature) => isPromise(checker.getReturnTypeOfSignature(signature)))) return;
      const owner = checker.getApparentType(typeOf(callee.expression));
      const isAny = (owner.flags & ts.TypeFlags.Any) !== 0;
      if (!isAny && !isList(owner) && !/^(Map|Set)$/.test(owner.symbol?.name ?? "")) return;
      if (method === "forEach") {
        say(callee.name, "unawaited", callsTool(first) ? "error" : "warning",
          "nobody waits for these calls: use `for (const x of xs)`, or `await Promise.all(xs.map(...))`");
      } else {
        say(callee.name, "unawaited", "error",
          `a promise is always true, so \`${method}\` decides nothing here; await the values first`);
      }
    }
    const isOneOf = (methods, functions, callee) => (ts.isIdentifier(callee) ? functions.test(callee.text)
      : ts.isPropertyAccessExpression(callee) && ts.isIdentifier(callee.expression)
        && (methods.get(callee.expression.text)?.test(callee.name.text) ?? false));
    function taken(expression) {
      const node = plain(expression);
      if (mayBePromise(node) && isPromise(typeOf(node))) say(node, "unawaited", "error", NOT_ITS_VALUE);
    }
    function operands(node) {
      const left = plain(node.left), right = plain(node.right), kind = node.operatorToken.kind;
      if (kind === K.AmpersandAmpersandToken || kind === K.BarBarToken) always(left);
      else if (kind === K.PlusToken || kind === K.PlusEqualsToken) {
        // A number is no text: there the compiler says enough.
        for (const side of kind === K.PlusToken ? [left, right] : [right]) textual(side);
      } else if (OPERATORS.has(kind)) {
        const isNothing = (side) => side.kind === K.NullKeyword || (ts.isIdentifier(side) && side.text === "undefined");
        if (isNothing(left) || isNothing(right)) return;
        const amiss = [left, right].filter((side) => mayBePromise(side) && isPromise(typeOf(side)));
        // Two promises can be compared.
        if (amiss.length === 1) say(amiss[0], "unawaited", "error", NOT_ITS_VALUE);
      } else if (kind === K.InKeyword && ts.isStringLiteral(left) && !/^(\d+|length)$/.test(left.text)
        && isList(typeOf(right))) {
        say(node, "in-list", "warning", "`in` looks for an index of a list; write `xs.includes(x)`");
      }
    }
    // Whether a tool is called somewhere in there: what is not awaited then may have no effect, or have one too late.
    function callsTool(node) {
      if (ts.isCallExpression(node)) {
        const { expression: callee } = node;
        const isMember = ts.isPropertyAccessExpression(callee) || ts.isElementAccessExpression(callee);
        if (isMember && ts.isIdentifier(callee.expression) && callee.expression.text === "tools") return true;
      }
      return ts.forEachChild(node, (child) => callsTool(child) || undefined) ?? false;
    }
    const isOutermost = (node) => ts.findAncestor(node.parent, ts.isFunctionLike)?.parent === file;
    function look(node) {
      if (ts.isExpressionStatement(node)) {
        const expression = plain(node.expression);
        if (ts.isCallExpression(expression) && isPromise(typeOf(expression))) {
          say(expression, "unawaited", callsTool(expression) ? "error" : "warning",
            "this call is not awaited: the program may end before it is done; write `await`");
        }
      } else if (ts.isTemplateSpan(node)) textual(node.expression);
      else if (ts.isBinaryExpression(node)) operands(node);
      else if (ts.isIfStatement(node) || ts.isWhileStatement(node) || ts.isDoStatement(node)) always(node.expression);
      else if (ts.isConditionalExpression(node)) always(node.condition);
      else if (ts.isPrefixUnaryExpression(node)) {
        if (node.operator === K.ExclamationToken) always(node.operand);
      } else if (ts.isSpreadAssignment(node)) {
        taken(node.expression);
      } else if (ts.isReturnStatement(node)) {
        if (node.expression !== undefined && isOutermost(node) && hides(awaited(typeOf(node.expression)))) {
          say(hiding(node.expression), "unawaited", "error", NOT_ITS_VALUE);
        }
      } else if (ts.isPropertyAccessExpression(node)) {
        const isTarget = isAssignment(node.parent) && node.parent.left === node;
        if (!isTarget && ts.isIdentifier(node.name)) {
          undeclared(node.name, node.name.text, typeOf(node.expression), node);
        }
      } else if (ts.isElementAccessExpression(node)) {
        const isTarget = isAssignment(node.parent) && node.parent.left === node, key = node.argumentExpression;
        if (!isTarget && ts.isStringLiteralLike(key)) undeclared(key, key.text, typeOf(node.expression), node);
      } else if (ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent)) {
        const key = node.propertyName ?? node.name;
        if (ts.isIdentifier(key) && !node.dotDotDotToken) undeclared(key, key.text, typeOf(node.parent), node);
      } else if (ts.isCallExpression(node)) {
        const callee = node.expression;
        if (isOneOf(PRINTERS, /^print$/, callee)) node.arguments.forEach(valued);
        else if (isOneOf(TAKERS, FUNCTIONS, callee)) node.arguments.forEach(taken);
        if (!ts.isPropertyAccessExpression(callee)) return;
        callback(callee, node);
        if (callee.name.text !== "join" || node.arguments.length > 1) return;
        const owner = typeOf(callee.expression);
        const item = checker.isArrayType(owner) ? checker.getTypeArguments(owner)[0] : undefined;
        if (item !== undefined && isTextless(item)) {
          say(callee.name, "object-text", "warning",
            `the text of each of these objects is "[object Object]"; map them to a member${listed(item)} first`);
        }
      }
    }
    walk(file, look);
    // Where the program asks whether a member is there, it may rely on that elsewhere.
    for (const [one, wanted] of members) if (facts.asked.has(wanted)) one.severity = "warning";
    return found;
  }

  Object.assign(globalThis.__check, { doubtful });
})();
