/* Where each number of a value or a gradient comes from: sums of terms over cells of other tensors. One description of each op serves to
 * show a cell's sum, to light the cells in it, and to compute everything again (live mode).
 *
 * A figure of a node is named by a key: "g" (the gradient at its result), "out", or the number of an input. A term is {tree, cells}: a
 * formula, and for each of its names the key and index of the cell that the name stands for, or a number. */

const sizeOf = dims => dims.reduce((product, size) => product * size, 1);

function coordinates(dims, index) {
  const at = [];
  for (let i = dims.length - 1; i >= 0; i--) {
    at[i] = index % dims[i];
    index = Math.floor(index / dims[i]);
  }
  return at;
}

const indexOf = (dims, at) => dims.reduce((index, size, i) => index * size + at[i], 0);

/* The cell of a smaller tensor that was repeated to the cell `index` of `dims`. */
function repeatedFrom(small, dims, index) {
  const at = coordinates(dims, index).slice(dims.length - small.length);
  return indexOf(small, at.map((position, i) => small[i] === 1 ? 0 : position));
}

const all = count => Array.from({length: count}, (_, i) => i);

/* The cells of `dims` that are added up, or compete, with cell `index`: those that differ only along the axes. */
function groupAlong(dims, axes, index) {
  const at = coordinates(dims, index);
  return all(sizeOf(dims)).filter(other => coordinates(dims, other).every((position, i) => axes.includes(i) || position === at[i]));
}

/* The index of a cell after the axes were reduced. */
function reducedIndex(dims, axes, index) {
  const at = coordinates(dims, index), kept = dims.map((_, i) => i).filter(i => !axes.includes(i));
  return indexOf(kept.map(i => dims[i]), kept.map(i => at[i]));
}

/* "ln(e^a0 + e^a1)" and such, with cells for a0, a1, ... */
function over(group, name, key) {
  return Object.fromEntries(group.map((index, i) => [`${name}${i}`, [key, index]]));
}

const sumOf = (group, text) => group.map((_, i) => text.replaceAll("#", i)).join(" + ");
const term = (text, cells) => ({tree: parseFormula(text), cells});

/* ---- ops of one cell at a time, from the formulas of the library ---- */

/* The names of inputs in formulas: those of the rule's parts, or letters. */
function placeholdersOf(node) {
  const parts = [...(node.rule ?? "").matchAll(/(?:^|; )([A-Za-z]\w*|op\([a-z]\)): /g)].map(found => found[1]);
  const letters = !parts.length || parts.every(name => /^[abc]$|^op/.test(name));
  return node.inputs.map((_, i) => letters ? "abc"[i] ?? "" : parts[i] ?? "");
}

/* The rule for input i as text, or null. */
function ruleText(node, i) {
  const rule = node.rule;
  if (!rule) return null;
  const name = placeholdersOf(node)[i], parts = rule.split("; ");
  const found = parts.find(part => part.startsWith(`${name}: `) || part.startsWith(`op(${name}): `));
  if (found) return found.slice(found.indexOf(": ") + 2);
  return parts.length === 1 && !/^\S+: /.test(rule) ? rule : null;
}

function elementwise(node, text, more) {
  const tree = text && parseFormula(text);
  const known = new Set([...placeholdersOf(node), ...Object.keys(node.attributes), ...more]);
  return tree && [...namesIn(tree)].every(name => known.has(name)) ? tree : null;
}

/* A scale of 1 and a shift of 0 need not be written. */
function formulaOf(node) {
  const {scale, shift} = node.attributes;
  if (node.op !== "affine") return node.formula;
  return shift === "0" ? "scale a" : scale === "1" ? "a + shift" : node.formula;
}

function ruleOf(node, i) {
  return node.op === "affine" && node.attributes.scale === "1" ? "g" : ruleText(node, i);
}

function elementwiseTerm(node, tree, outDims, index) {
  const names = placeholdersOf(node), cells = {};
  for (const name of namesIn(tree)) {
    const i = names.indexOf(name);
    cells[name] = i >= 0                                ? [i, repeatedFrom(dimsOf(node, i), outDims, index)] :
                  name === "g" || name === "out" ? [name, index] :
                                                          Number(node.attributes[name]);
  }
  return {tree, cells};
}

function dimsOf(node, key) {
  return key === "out" || key === "g" ? node.picture.dims : pictureOf(replay, node.inputs[key]).dims;
}

/* ---- the other ops ---- */

/* Row i and column j of a (transposed) matrix in a batch. */
function matrixCell(node, key, batch, i, j) {
  const dims = dimsOf(node, key), flip = node.attributes.transposed[key], lead = dims.slice(0, -2);
  const at = batch.slice(batch.length - lead.length).map((position, k) => lead[k] === 1 ? 0 : position);
  return [key, indexOf(dims, [...at, ...(flip ? [j, i] : [i, j])])];
}

function matmulParts(node, index) {
  const dims = node.picture.dims, at = coordinates(dims, index), a = dimsOf(node, 0);
  return {batch: at.slice(0, -2), row: at.at(-2), column: at.at(-1), inner: a.at(node.attributes.transposed[0] ? -2 : -1)};
}

const OPS = {
  sum: {
    out: (node, index) => reducedFrom(node, index).map(cell => term("a", {a: [0, cell]})),
    back: (node, index) => [term("g", {g: ["g", reducedIndex(dimsOf(node, 0), node.attributes.axes, index)]})]
  },
  reshape: {out: (_, index) => [term("a", {a: [0, index]})], back: (_, index) => [term("g", {g: ["g", index]})]},
  broadcast_to: {
    out: (node, index) => [term("a", {a: [0, repeatedFrom(dimsOf(node, 0), node.picture.dims, index)]})],
    back: (node, index) => usesOf(node, 0, index).map(cell => term("g", {g: ["g", cell]}))
  },
  matmul: {
    out: (node, index) => {
      const {batch, row, column, inner} = matmulParts(node, index);
      return all(inner).map(k => term("a b", {a: matrixCell(node, 0, batch, row, k), b: matrixCell(node, 1, batch, k, column)}));
    },
    back: (node, index, input) => all(countOf(node.picture)).flatMap(cell => {
      const {batch, row, column, inner} = matmulParts(node, cell);
      return all(inner)
          .map(k => [matrixCell(node, 0, batch, row, k), matrixCell(node, 1, batch, k, column)])
          .filter(pair => pair[input][1] === index)
          .map(pair => input === 0 ? term("g b", {g: ["g", cell], b: pair[1]}) : term("g a", {g: ["g", cell], a: pair[0]}));
    })
  },
  max: {
    out: (node, index) => {
      const group = reducedFrom(node, index);
      return [term(`max(${group.map((_, i) => `a${i}`).join(", ")})`, over(group, "a", 0))];
    },
    back: (node, index, _, get) => {
      const dims = dimsOf(node, 0), r = reducedIndex(dims, node.attributes.axes, index);
      const n = groupAlong(dims, node.attributes.axes, index).filter(cell => get(0)[cell] === get("out")[r]).length;
      return [term("a == out ? g / n : 0", {a: [0, index], out: ["out", r], g: ["g", r], n})];
    }
  },
  logsumexp: {
    out: (node, index) => {
      const group = reducedFrom(node, index);
      return [term(`ln(${sumOf(group, "e^a#")})`, over(group, "a", 0))];
    },
    back: (node, index) => {
      const r = reducedIndex(dimsOf(node, 0), node.attributes.axes, index);
      return [term("g e^(a - out)", {g: ["g", r], a: [0, index], out: ["out", r]})];
    }
  },
  softmax: {
    out: (node, index) => {
      const group = groupAlong(node.picture.dims, node.attributes.axes, index);
      return [term(`e^a / (${sumOf(group, "e^a#")})`, {a: [0, index], ...over(group, "a", 0)})];
    },
    back: (node, index) => {
      const group = groupAlong(node.picture.dims, node.attributes.axes, index);
      return [term(`out (g - (${sumOf(group, "g# out#")}))`,
                   {out: ["out", index], g: ["g", index], ...over(group, "g", "g"), ...over(group, "out", "out")})];
    }
  },
  log_softmax: {
    out: (node, index) => {
      const group = groupAlong(node.picture.dims, node.attributes.axes, index);
      return [term(`a - ln(${sumOf(group, "e^a#")})`, {a: [0, index], ...over(group, "a", 0)})];
    },
    back: (node, index) => {
      const group = groupAlong(node.picture.dims, node.attributes.axes, index);
      return [term(`g - e^out (${sumOf(group, "g#")})`, {g: ["g", index], out: ["out", index], ...over(group, "g", "g")})];
    }
  },
  cross_entropy: {
    out: node => node.attributes.labels.map((label, row) => {
      const classes = dimsOf(node, 0)[1], group = all(classes).map(c => row * classes + c), n = node.attributes.labels.length;
      return term(`(ln(${sumOf(group, "e^a#")}) - a${label}) / ${n}`, over(group, "a", 0));
    }),
    back: (node, index) => {
      const [rows, classes] = dimsOf(node, 0), row = Math.floor(index / classes), group = all(classes).map(c => row * classes + c);
      const hot = Number(node.attributes.labels[row] === index % classes);
      return [term(`g (e^a / (${sumOf(group, "e^a#")}) - ${hot}) / ${rows}`, {g: ["g", 0], a: [0, index], ...over(group, "a", 0)})];
    }
  }
};

function reducedFrom(node, index) {
  const dims = dimsOf(node, 0);
  return all(sizeOf(dims)).filter(cell => reducedIndex(dims, node.attributes.axes, cell) === index);
}

/* The cells of the result that read cell `index` of an input. */
function usesOf(node, input, index) {
  const dims = node.picture.dims, small = dimsOf(node, input);
  return all(sizeOf(dims)).filter(cell => repeatedFrom(small, dims, cell) === index);
}

/* ---- for all ops ---- */

/* A function index -> terms for the cells of a node's result, or null. */
function forwardTerms(node) {
  if (OPS[node.op]) return index => OPS[node.op].out(node, index);
  const tree = elementwise(node, formulaOf(node), []);
  return tree && (index => [elementwiseTerm(node, tree, node.picture.dims, index)]);
}

/* The same for the gradient that input i gets; `get` gives the numbers of a figure. */
function backwardTerms(node, input) {
  if (OPS[node.op]) return (index, get) => OPS[node.op].back(node, index, input, get);
  const tree = elementwise(node, ruleOf(node, input), ["g", "out"]);
  return tree && (index => usesOf(node, input, index).map(cell => elementwiseTerm(node, tree, node.picture.dims, cell)));
}

function valueOfTerm({tree, cells}, get) {
  return evaluate(tree, name => typeof cells[name] === "number" ? cells[name] : get(cells[name][0])[cells[name][1]]);
}
