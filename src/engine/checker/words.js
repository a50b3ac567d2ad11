// Owns names, texts and types as the other parts of the check need them: the nearest name, a message cut to its length,
// a place, what is a promise. It runs after the compiler, before the other parts, which find it in `__check`. It must
// never judge.
(function () {
  "use strict";
  const MAX_MESSAGE = 2000, MAX_NAMES = 5000;

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

  // The last parts of a message: what it comes down to. `depth` is 0 where the message has one part.
  function causes(code, message) {
    if (typeof message === "string") return [{ code, text: message, depth: 0 }];
    const open = [{ one: message, depth: 0 }], found = [];
    for (let at = 0; at < open.length; at++) {
      const { one, depth } = open[at], next = one.next ?? [];
      if (next.length === 0) found.push({ code: one.code, text: one.messageText, depth });
      for (const inner of next) open.push({ one: inner, depth: depth + 1 });
    }
    return found;
  }

  function place(file, start, length) {
    const from = file.getLineAndCharacterOfPosition(start), to = file.getLineAndCharacterOfPosition(start + length);
    return { line: from.line + 1, column: from.character + 1, endLine: to.line + 1, endColumn: to.character + 1 };
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
  const plain = (node) => {
    while (ts.isParenthesizedExpression(node) || ts.isNonNullExpression(node)) node = node.expression;
    return node;
  };
  const isAssignment = (node) => ts.isBinaryExpression(node)
    && node.operatorToken.kind >= ts.SyntaxKind.FirstAssignment
    && node.operatorToken.kind <= ts.SyntaxKind.LastAssignment;
  const fileOf = (declaration) => declaration?.getSourceFile();

  // Every node, the outer before the inner. Iterative: a program may be nested more deeply than the stack allows.
  function walk(root, look) {
    const open = [root];
    while (open.length > 0) {
      const node = open.pop(), children = [];
      look(node);
      ts.forEachChild(node, (child) => { children.push(child); });
      while (children.length > 0) open.push(children.pop());
    }
  }

  // What the whole program says about a name: members that it sets, variables that it sets again, names whose presence
  // it asks for.
  function factsOf(program) {
    const members = new Set(), variables = new Set(), asked = new Set();
    function set(target) {
      if (ts.isIdentifier(target)) variables.add(target.text);
      else if (ts.isPropertyAccessExpression(target)) members.add(target.name.text);
      else if (ts.isElementAccessExpression(target) && ts.isStringLiteralLike(target.argumentExpression)) {
        members.add(target.argumentExpression.text);
      } else if (ts.isArrayLiteralExpression(target) || ts.isObjectLiteralExpression(target)) {
        walk(target, (node) => { if (ts.isIdentifier(node)) variables.add(node.text); });
      }
    }
    walk(program, (node) => {
      if (isAssignment(node)) set(plain(node.left));
      else if (ts.isTypeOfExpression(node) && ts.isIdentifier(node.expression)) asked.add(node.expression.text);
      else if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.InKeyword
        && ts.isStringLiteralLike(node.left)) asked.add(node.left.text);
      else if (ts.isForOfStatement(node) && !ts.isVariableDeclarationList(node.initializer)) set(node.initializer);
      else if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)
        && node.expression.name.text === "assign") {
        for (const argument of node.arguments.slice(1).filter(ts.isObjectLiteralExpression)) {
          for (const { name } of argument.properties) if (name?.text !== undefined) members.add(name.text);
        }
      }
    });
    return { members, variables, asked };
  }

  // Whether the program expects that what it reads here may be absent.
  function isGuarded(node) {
    let inner = node, outer = node.parent;
    while (ts.isParenthesizedExpression(outer) || ts.isNonNullExpression(outer) || ts.isAsExpression(outer)) {
      [inner, outer] = [outer, outer.parent];
    }
    const K = ts.SyntaxKind;
    if (ts.isBindingElement(inner)) return inner.initializer !== undefined;
    if ((ts.isPropertyAccessExpression(outer) || ts.isElementAccessExpression(outer) || ts.isCallExpression(outer))
      && outer.expression === inner) return outer.questionDotToken !== undefined;
    if (ts.isPrefixUnaryExpression(outer)) return outer.operator === K.ExclamationToken;
    if (ts.isTypeOfExpression(outer)) return true;
    if (ts.isIfStatement(outer) || ts.isWhileStatement(outer)) return outer.expression === inner;
    if (ts.isConditionalExpression(outer)) return outer.condition === inner;
    if (!ts.isBinaryExpression(outer)) return false;
    const kind = outer.operatorToken.kind, other = outer.left === inner ? outer.right : outer.left;
    if (kind === K.QuestionQuestionToken || kind === K.BarBarToken || kind === K.AmpersandAmpersandToken) {
      // On the right it is the value itself, and whoever asks for that may expect nothing.
      return outer.left === inner || isGuarded(outer);
    }
    const compares = [K.EqualsEqualsToken, K.EqualsEqualsEqualsToken, K.ExclamationEqualsToken,
      K.ExclamationEqualsEqualsToken].includes(kind);
    return compares && (other.kind === K.NullKeyword || (ts.isIdentifier(other) && other.text === "undefined"));
  }

  globalThis.__check = { cut, textOf, part, causes, place, nearest, isPromise, plain, isAssignment, fileOf, walk,
    factsOf, isGuarded };
})();
