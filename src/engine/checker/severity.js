// Owns how much a finding of the compiler matters: what cannot be right is an error, all else a warning, and what runs
// in plenty of programs is not told. It must never find anything itself.
//
// An error is: a call of a tool that is wrong in its name, its arguments or its `await`; a name that does not exist; a
// call of what is not callable and a loop over what is no list; a member that a primitive or a built-in object does not
// have; and what the program's own annotations rule out. A value that may be absent is a doubt, wherever it goes.
(function () {
  "use strict";
  const { causes, fileOf, isAssignment, isGuarded, isPromise, part, plain } = globalThis.__check;
  // Implicit `any`: a program need not be annotated.
  const UNANNOTATED = new Set([2683, 7005, 7006, 7008, 7009, 7010, 7011, 7015, 7016, 7018, 7019, 7022, 7023, 7024, 7026,
    7031, 7034, 7041, 7043, 7044, 7045, 7046, 7050, 7051, 7055, 7057]);
  // Declarations of what is there, and what stands where a compiler does not want it and an engine does not mind: the
  // function around the program is ours. A property that the constructor does not set, `delete` of one that is not
  // optional, `resolve()` without a value.
  const HARMLESS = new Set([1036, 1038, 1046, 1184, 1234, 1235, 2564, 2790, 2794]);
  const NAMES = new Set([2304, 2552, 2503, 2580, 2581, 2582, 2583, 2584, 2591, 2592, 2593, 2662, 2663, 18004]);
  const MEMBERS = new Set([2339, 2550, 2551, 2568, 2570, 2576, 7053]);
  const SHAPES = new Set([1360, 2322, 2326, 2345, 2353, 2375, 2379, 2412, 2418, 2559, 2560, 2561, 2739, 2740, 2741,
    2769, 2819, 2820]);
  const COUNTS = new Set([2554, 2555]);
  const LISTS = new Set([2461, 2488, 2495, 2504, 2548, 2549]);
  const CALLS = new Set([2348, 2349, 2350, 2351, 2507, 6234]);
  // Names before their declaration, constants that are set, a type for a value, `super` and private members amiss, and
  // classes that are not what they say they are.
  const WRONG = new Set([2341, 2355, 2377, 2416, 2420, 2445, 2448, 2449, 2450, 2451, 2511, 2515, 2540, 2588, 2654, 2655,
    2693, 2801, 17009, 18013]);
  // What is said on top when a promise is where its value is meant.
  const FORGOTTEN_AWAIT = 2773;

  const isAwaitForgotten = ({ relatedInformation }) =>
    (relatedInformation ?? []).some(({ code }) => code === FORGOTTEN_AWAIT);
  const tokenOf = ({ file, start }) => ts.getTokenAtPosition(file, start);
  const isAny = (type) => (type.flags & ts.TypeFlags.AnyOrUnknown) !== 0;

  // Whether the message comes down to a promise where something else is meant.
  function isPromiseAmiss({ code, messageText }) {
    const amiss = /^(Type|Argument of type) 'Promise<.* is not assignable to (parameter of )?type '(?!Promise)/s;
    return SHAPES.has(code) && causes(code, messageText).some(({ text }) => amiss.test(text));
  }

  // Where a value goes that does not fit: the nearest call, declaration or `return` around it.
  function goal(node) {
    for (let inner = node, outer = node.parent; outer !== undefined; [inner, outer] = [outer, outer.parent]) {
      if (ts.isCallExpression(outer) || ts.isNewExpression(outer)) {
        if (outer.arguments?.includes(inner)) return { call: outer, argument: inner };
      } else if (ts.isVariableDeclaration(outer) || ts.isParameter(outer) || ts.isPropertyDeclaration(outer)) {
        return { written: outer.type !== undefined };
      } else if (isAssignment(outer)) return { target: outer.left };
      else if (ts.isSatisfiesExpression(outer)) return { written: true };
      else if (ts.isReturnStatement(outer) || (ts.isArrowFunction(outer) && outer.body === inner)) {
        const within = ts.isArrowFunction(outer) ? outer : ts.findAncestor(outer, ts.isFunctionLike);
        if (within?.type !== undefined) return { written: true };
        if (within === undefined || !(ts.isArrowFunction(within) || ts.isFunctionExpression(within))) return {};
        // What it returns may be what it is passed or assigned for.
        outer = within;
      } else if (ts.isStatement(outer) && !ts.isBlock(outer)) return {};
    }
    return {};
  }

  // The judge of one program. `facts` are those of `factsOf`.
  function judge({ checker, program, sdk, facts }) {
    const symbolAt = (node) => checker.getSymbolAtLocation(node);
    const isOwn = (declaration) => fileOf(declaration) === program;
    const isConst = (type) => type !== undefined && ts.isTypeReferenceNode(type) && type.typeName.text === "const";
    const signatureOf = (call) => checker.getResolvedSignature(call)?.declaration;

    // Whether the program itself says what this holds.
    function isWritten(expression) {
      const node = plain(expression);
      if (ts.isElementAccessExpression(node)) return isWritten(node.expression);
      if (ts.isCallExpression(node)) {
        return ts.isPropertyAccessExpression(node.expression) && isWritten(node.expression.expression);
      }
      if (ts.isPropertyAccessExpression(node) && isWritten(node.expression)) return true;
      const declaration = symbolAt(ts.isPropertyAccessExpression(node) ? node.name : node)?.valueDeclaration;
      if (declaration === undefined || !isOwn(declaration)) return false;
      const value = declaration.initializer;
      return (declaration.type !== undefined && !isConst(declaration.type)) || (value !== undefined
        && ((ts.isNewExpression(value) || ts.isCallExpression(value)) ? value.typeArguments !== undefined
          : (ts.isAsExpression(value) || ts.isSatisfiesExpression(value)) && !isConst(value.type)));
    }

    // Whether this is the object `tools`, by whichever name.
    function isTools(expression) {
      const type = checker.getTypeAtLocation(expression), declaration = type.symbol?.declarations?.[0];
      return declaration !== undefined && fileOf(declaration) === sdk && ts.isMappedTypeNode(declaration);
    }
    // Whether a call is one of a tool: its type comes out of the declaration of `tools`.
    function isToolCall(call) {
      const declaration = signatureOf(call);
      return declaration !== undefined && fileOf(declaration) === sdk && ts.isFunctionTypeNode(declaration)
        && ts.findAncestor(declaration, ts.isMappedTypeNode) !== undefined;
    }
    // The name of the tool that a call is of, where the program has it.
    function toolOf(call) {
      const callee = plain(call.expression);
      if (ts.isPropertyAccessExpression(callee) && isTools(callee.expression)) return callee.name.text;
      if (ts.isElementAccessExpression(callee) && ts.isStringLiteralLike(callee.argumentExpression)
        && isTools(callee.expression)) return callee.argumentExpression.text;
      const declaration = ts.isIdentifier(callee) ? symbolAt(callee)?.valueDeclaration : undefined;
      if (declaration === undefined) return undefined;
      if (ts.isBindingElement(declaration)) return (declaration.propertyName ?? declaration.name).text;
      const value = ts.isVariableDeclaration(declaration) ? declaration.initializer : undefined;
      return value !== undefined && ts.isPropertyAccessExpression(value) ? value.name.text : undefined;
    }

    // What a value is turned into on its way, or what the program knows and the compiler does not.
    function isDoubt({ code, messageText }) {
      const isOne = ({ code: number, text, depth }) => {
        if (depth > 0 && /^Type '(undefined|null)' is not assignable/.test(text)) return true;
        // An interface for a JSON object; a list whose length nobody declared; one that may not be changed.
        if (number === 2329 || number === 2620 || number === 4104) return true;
        if (/^(Type|Argument of type) '(Date|URL|unknown)' is not assignable to/.test(text)) return true;
        if (/^(Type|Argument of type) 'never/.test(text) || / type 'never(\[\])?'\.$/.test(text)) return true;
        // `{ mode: "count" }` in a variable has a `mode` of type `string`.
        const widened = /^(Type|Argument of type) '(string|number|boolean)' is not assignable to .*?type '(.*)'\.$/s;
        const wanted = widened.exec(text)?.[3];
        return wanted !== undefined && isLiteral(wanted);
      };
      const all = causes(code, messageText);
      return all.length > 0 && all.every(isOne);
    }
    function isLiteral(text) {
      if (/^(?:["`\d-]|(?:true|false|undefined|null) \|)/.test(text)) return true;
      if (!/^[\w$]+$/.test(text)) return false;
      const type = checker.resolveName(text, program, ts.SymbolFlags.Type, false);
      const declared = type === undefined ? undefined : checker.getDeclaredTypeOfSymbol(type);
      const parts = declared === undefined ? [] : declared.isUnion() ? declared.types : [declared];
      return parts.length > 0 && parts.every((one) => (one.flags & (ts.TypeFlags.Literal | ts.TypeFlags.Null
        | ts.TypeFlags.Undefined)) !== 0);
    }

    function ofShape(one) {
      if (isPromiseAmiss(one)) return "error";
      if (isDoubt(one)) return "warning";
      const { call, argument, target, written } = goal(tokenOf(one));
      if (target !== undefined) return isWritten(target) ? "error" : "warning";
      if (call === undefined) return written ? "error" : "warning";
      if (ts.isCallExpression(call) && isToolCall(call)) return "error";
      const declaration = signatureOf(call);
      if (isOwn(declaration)) {
        const at = call.arguments.indexOf(argument), all = declaration.parameters ?? [];
        const parameter = all[at] ?? all.at(-1);
        return parameter?.type !== undefined ? "error" : "warning";
      }
      // What is called back has to be a function, and a text that is read as JSON a text.
      const given = checker.getTypeAtLocation(argument), wanted = checker.getContextualType(argument);
      const calls = (type) =>
        checker.getSignaturesOfType(checker.getNonNullableType(type), ts.SignatureKind.Call).length > 0;
      if (wanted !== undefined && calls(wanted) && !calls(given) && !isAny(given)) return "error";
      if (isResult(given) && call.expression.getText(program) === "JSON.parse") return "error";
      const callee = plain(call.expression);
      return ts.isPropertyAccessExpression(callee) && isWritten(callee.expression) ? "error" : "warning";
    }
    // A type of the SDK: what a tool gives, or a part of it.
    function isResult(type) {
      const parts = type.isIntersection() ? type.types : [type];
      return parts.some(({ symbol, aliasSymbol }) =>
        fileOf((aliasSymbol ?? symbol)?.declarations?.[0]) === sdk || fileOf(symbol?.declarations?.[0]) === sdk);
    }

    function ofCount(one) {
      const call = ts.findAncestor(tokenOf(one), (node) => ts.isCallExpression(node) || ts.isNewExpression(node));
      if (call === undefined) return "warning";
      if (ts.isCallExpression(call) && isToolCall(call)) return "error";
      const declaration = signatureOf(call), parameters = declaration?.parameters ?? [];
      const isDeclared = parameters.length > 0 && parameters.every(({ type }) => type !== undefined);
      return isOwn(declaration) && isDeclared ? "error" : "warning";
    }

    function ofName(one) {
      const token = tokenOf(one);
      // What is erased is not looked for; what is asked for may be absent.
      if (ts.isPartOfTypeNode(token) || ts.findAncestor(token, ts.isTypeNode) !== undefined) return "warning";
      return facts.asked.has(token.text) ? "warning" : "error";
    }

    function ofCall(one) {
      const text = causes(one.code, one.messageText).map((cause) => cause.text).join("\n");
      return /type 'never'|Not all constituents/i.test(text) ? "warning" : "error";
    }

    function ofList(one) {
      const text = part(one.code, one.messageText, [...LISTS]) ?? "";
      const what = /^Type '(.*)' (?:must have|is not)/s.exec(text)?.[1] ?? "";
      if (/(^|\| )(undefined|null|unknown|never|\{\})$/.test(what)) return "warning";
      const type = checker.getTypeAtLocation(tokenOf(one).parent);
      return type.isUnion() && !isPromise(type) ? "warning" : "error";
    }

    // Where a member is looked for.
    function accessOf(one) {
      const name = tokenOf(one), access = name.parent;
      // Behind brackets the compiler means the whole of it.
      const bracketed = one.code !== 7053 ? access : ts.findAncestor(name, (node) =>
        ts.isElementAccessExpression(node) && node.end === one.start + one.length);
      if (bracketed === undefined) return undefined;
      if (ts.isElementAccessExpression(bracketed) && ts.isStringLiteralLike(bracketed.argumentExpression)) {
        return { name, access: bracketed, wanted: bracketed.argumentExpression.text, from: bracketed.expression };
      }
      if (ts.isPropertyAccessExpression(access)) return { name, access, wanted: name.text, from: access.expression };
      if (!ts.isBindingElement(access) || !ts.isObjectBindingPattern(access.parent)) return undefined;
      return { name, access, wanted: (access.propertyName ?? access.name).text, pattern: access.parent };
    }
    const ownerOf = ({ from, pattern }) => checker.getApparentType(checker.getTypeAtLocation(from ?? pattern));

    function ofMember(one) {
      const found = accessOf(one);
      if (found === undefined) return "error";
      const { access, wanted, from } = found;
      if (from !== undefined && isTools(from)) return "error";
      const owner = ownerOf(found);
      if (isPromise(owner)) return "error";
      const text = part(one.code, one.messageText, [...MEMBERS]) ?? "";
      if (/ type '(never|never\[\]|null|undefined|unknown|object|typeof globalThis)'/.test(text)) return "warning";
      if (/\| (undefined|null)'\./.test(text)) return "warning";
      // A member that the program sets somewhere, or a class that inherits.
      const isOwnClass = from?.kind === ts.SyntaxKind.ThisKeyword;
      if (facts.members.has(wanted)) return isOwnClass ? undefined : "warning";
      if (isOwnClass) return "warning";
      const called = ts.isCallExpression(access.parent) && access.parent.expression === access;
      const parts = owner.isUnion() ? owner.types : [owner];
      // A primitive or a list has what it has; of other things a program may ask what they have.
      const isKnown = parts.every((type) => isValue(type) || checker.isArrayType(type) || checker.isTupleType(type));
      if (isGuarded(access) && !(isKnown && one.code === 2551)) return "warning";
      const holds = (type) => checker.getPropertyOfType(checker.getApparentType(type), wanted) !== undefined;
      if (parts.some(holds)) return "warning";
      return parts.every((type) => isClosed(type, called || one.code === 2551)) ? "error" : "warning";
    }
    // A primitive, as it is or as its members are looked for.
    function isValue(type) {
      const name = type.symbol?.name ?? "", { Object } = ts.TypeFlags;
      return (type.flags & Object) === 0 || /^(String|Number|Boolean|BigInt|Symbol)$/.test(name);
    }
    // Whether a type has no members but those that it says. One that is inferred can be wrong about that.
    function isClosed(type, isSure) {
      if ((type.flags & ts.TypeFlags.Object) === 0 && !type.isIntersection()) return true;
      const declaration = type.symbol?.declarations?.[0];
      if (declaration === undefined || checker.isArrayType(type) || checker.isTupleType(type)) return true;
      // Whoever throws adds what it likes.
      if (/Error$/.test(type.symbol.name) && fileOf(declaration) !== sdk && !isOwn(declaration)) return false;
      const isInferred = ts.isObjectLiteralExpression(declaration) || ts.isFunctionLike(declaration);
      return isSure || !isOwn(declaration) || !isInferred;
    }

    // Nothing for what is not told.
    function severityOf(one) {
      const { code, messageText } = one;
      if (HARMLESS.has(code) || isNoise(one)) return undefined;
      if (isAwaitForgotten(one) || WRONG.has(code)) return "error";
      if (NAMES.has(code)) return ofName(one);
      if (MEMBERS.has(code)) return ofMember(one);
      if (SHAPES.has(code)) return ofShape(one);
      if (COUNTS.has(code)) return ofCount(one);
      if (LISTS.has(code)) return ofList(one);
      if (CALLS.has(code)) return ofCall(one);
      // A name for two values; two types are erased.
      if (code !== 2300) return "warning";
      const declaration = tokenOf(one).parent;
      return ts.isTypeAliasDeclaration(declaration) || ts.isInterfaceDeclaration(declaration) ? "warning" : "error";
    }

    // What TypeScript says about programs that are right when they run.
    function isNoise(one) {
      const { code, messageText } = one;
      if (code === 7015) {
        const node = tokenOf(one).parent;
        return !(ts.isElementAccessExpression(node) && ts.isStringLiteralLike(node.argumentExpression));
      }
      if (UNANNOTATED.has(code)) return true;
      // Implicit `any` behind brackets, unless it is a name that is misspelt.
      const absent = part(code, messageText, [2339, 2551]);
      if (code === 7053 && absent === undefined) return true;
      // The difference of two dates.
      if (code === 2362 || code === 2363) {
        const operand = ts.findAncestor(tokenOf(one), (up) => ts.isBinaryExpression(up.parent));
        return operand !== undefined && checker.getTypeAtLocation(operand).symbol?.name === "Date";
      }
      // `const o = {}; o.a = 1`
      return (absent ?? "").endsWith("on type '{}'.");
    }

    return { severityOf, accessOf, ownerOf, isTools, isToolCall, toolOf, isResult, goal };
  }

  const KINDS = { SHAPES, NAMES, COUNTS, LISTS, MEMBERS };
  Object.assign(globalThis.__check, { judge, isPromiseAmiss, isAwaitForgotten, tokenOf, KINDS });
})();
