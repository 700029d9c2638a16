/* Formulas of ops as the library writes them, such as "-g out / b", "1/(1 + e^-a)" or "a > 0 ? g : slope g": parsed, printed with names or
 * with numbers, and evaluated. A formula that is only a description, such as "sum over axes", gives null. */

/* By its series, and for large arguments by a continued fraction. */
function erf(x) {
  let sum = x, part = x;
  if (Math.abs(x) > 3) {
    let fraction = x;
    for (let k = 40; k > 0; k--) fraction = x + k / 2 / fraction;
    return Math.sign(x) - Math.exp(-x * x) / fraction / Math.sqrt(Math.PI);
  }
  for (let k = 1; k < 60; k++) sum += (part *= -x * x / k) / (2 * k + 1);
  return 2 / Math.sqrt(Math.PI) * sum;
}

const CONSTANTS = {e: Math.E, pi: Math.PI};

const FUNCTIONS = {
  erf,
  sqrt: Math.sqrt,
  tanh: Math.tanh,
  ln: Math.log,
  sigmoid: x => 1 / (1 + Math.exp(-x)),
  sign: Math.sign,
  sin: Math.sin,
  cos: Math.cos,
  min: Math.min,
  max: Math.max
};

function tokensOf(text) {
  const pattern = /\s*(?:((?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)|([A-Za-z_]\w*)|(<=|>=|==|!=|[-+*/^()?:,<>|]))\s*/y, tokens = [];
  while (pattern.lastIndex < text.length) {
    const found = pattern.exec(text);
    if (!found) return null;
    const [, number, name, sign] = found;
    tokens.push(number ? {kind: "number", text: number} : name ? {kind: "name", name} : {kind: "sign", sign});
  }
  return tokens;
}

function parser(tokens) {
  let i = 0;
  const at = sign => tokens[i]?.sign === sign, take = sign => at(sign) && Boolean(++i);
  const need = sign => {
    if (!take(sign)) throw new SyntaxError(sign);
  };
  function choice() {
    const condition = comparison();
    if (!take("?")) return condition;
    const yes = choice();
    need(":");
    return {kind: "choose", parts: [condition, yes, choice()]};
  }
  function comparison() {
    const parts = [sum()], signs = [];
    while (["<", ">", "<=", ">=", "==", "!="].includes(tokens[i]?.sign)) {
      signs.push(tokens[i++].sign);
      parts.push(sum());
    }
    return signs.length ? {kind: "compare", signs, parts} : parts[0];
  }
  function sum() {
    let left = product();
    while (at("+") || at("-")) left = {kind: "pair", sign: tokens[i++].sign, parts: [left, product()]};
    return left;
  }
  function product() {
    let left = unary();
    for (;;) {
      if (take("*")) left = {kind: "pair", sign: "*", parts: [left, unary()]};
      else if (take("/")) left = {kind: "pair", sign: "/", parts: [left, unary()]};
      else if (tokens[i] && (tokens[i].kind !== "sign" || at("("))) left = {kind: "pair", sign: "*", parts: [left, power()]};
      else return left;
    }
  }
  function unary() {
    return take("-") ? {kind: "negative", parts: [unary()]} : power();
  }
  function power() {
    const base = primary();
    return take("^") ? {kind: "pair", sign: "^", parts: [base, unary()]} : base;
  }
  function primary() {
    const token = tokens[i++];
    if (token?.kind === "number") return token;
    if (token?.kind === "name") return Object.hasOwn(FUNCTIONS, token.name) ? call(token.name) : token;
    if (token?.sign !== "(" && token?.sign !== "|") throw new SyntaxError("value");
    const inside = choice();
    need(token.sign === "(" ? ")" : "|");
    return {kind: token.sign, parts: [inside]};
  }
  function call(name) {
    if (!take("(")) return {kind: "call", name, parts: [power()]};
    const parts = [choice()];
    while (take(",")) parts.push(choice());
    need(")");
    return {kind: "call", name, parts};
  }
  const whole = choice();
  if (i < tokens.length) throw new SyntaxError("end");
  return whole;
}

const parsed = new Map();

/* The tree of a formula, or null. "F with s = S" has the tree of F, and that of S as `let`. What follows " = " says the same again. */
function parseFormula(text) {
  if (!parsed.has(text)) {
    const [main, name, value] = (/^(.*) with (\w+) = (.*)$/.exec(text) ?? [0, text.split(" = ")[0]]).slice(1);
    let tree = null;
    try {
      tree = parser(tokensOf(main) ?? [{}]);
      if (name) tree = {kind: "let", name, parts: [tree, parser(tokensOf(value) ?? [{}])]};
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      tree = null;
    }
    parsed.set(text, tree);
  }
  return parsed.get(text);
}

function namesIn(tree, found = new Set()) {
  if (tree.kind === "name" && !Object.hasOwn(CONSTANTS, tree.name)) found.add(tree.name);
  for (const part of tree.parts ?? []) namesIn(part, found);
  if (tree.kind === "let") found.delete(tree.name);
  return found;
}

function compare(a, sign, b) {
  return sign === "<" ? a < b : sign === ">" ? a > b : sign === "<=" ? a <= b : sign === ">=" ? a >= b : sign === "==" ? a === b : a !== b;
}

/* `value` gives the number of a name. */
function evaluate(tree, value) {
  const part = i => evaluate(tree.parts[i], value);
  switch (tree.kind) {
  case "number": return Number(tree.text);
  case "name": return CONSTANTS[tree.name] ?? value(tree.name);
  case "(": return part(0);
  case "|": return Math.abs(part(0));
  case "negative": return -part(0);
  case "call": return FUNCTIONS[tree.name](...tree.parts.map((_, i) => part(i)));
  case "choose": return part(0) ? part(1) : part(2);
  case "compare": return Number(tree.signs.every((sign, i) => compare(part(i), sign, part(i + 1))));
  case "let": {
    const set = part(1);
    return evaluate(tree.parts[0], name => name === tree.name ? set : value(name));
  }
  }
  const a = part(0), b = part(1);
  if (tree.sign === "^") return tree.parts[0].name === "e" ? Math.exp(b) : a ** b;
  return tree.sign === "+" ? a + b : tree.sign === "-" ? a - b : tree.sign === "*" ? a * b : a / b;
}

const bare = tree => tree.kind === "(" ? tree.parts[0] : tree;

/* The formula as pieces of text and elements; `show` gives the piece for a name. Negative numbers get parentheses where they need them. */
function printFormula(tree, show, first = true) {
  const part = (i, leads = false) => printFormula(tree.parts[i], show, leads);
  switch (tree.kind) {
  case "number": return [tree.text];
  case "name": {
    const piece = Object.hasOwn(CONSTANTS, tree.name) ? tree.name : show(tree.name);
    return !first && /^[-\u2212]/.test(piece.textContent ?? piece) ? ["(", piece, ")"] : [piece];
  }
  case "(": return ["(", ...part(0, true), ")"];
  case "|": return ["|", ...part(0, true), "|"];
  case "negative": return ["\u2212", ...part(0)];
  case "call": return [tree.name, "(", ...tree.parts.flatMap((_, i) => i ? [", ", ...part(i, true)] : part(i, true)), ")"];
  case "choose": return [...part(0, true), " ? ", ...part(1, true), " : ", ...part(2, true)];
  case "compare": return tree.parts.flatMap((_, i) => i ? [` ${tree.signs[i - 1]} `, ...part(i)] : part(i, true));
  case "let": return [...part(0, first), ` with ${tree.name} = `, ...part(1, true)];
  }
  if (tree.sign === "^" && tree.parts[0].name === "e") return ["exp(", ...printFormula(bare(tree.parts[1]), show), ")"]; /* a value may be called e */
  const signs = {"+": " + ", "-": " \u2212 ", "*": " \u00d7 ", "/": " / ", "^": "^"};
  return [...part(0, first && tree.sign !== "^"), signs[tree.sign], ...part(1)];
}
