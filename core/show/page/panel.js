/* The panel: describes a step in words, formulas and tensors. */

function bytesText(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(2)} MB`;
}

function countText(count, one, many) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

function listText(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

function nameOf(replay, input) {
  return Number.isInteger(input) ? replay.values[input].name : input.name;
}

function pictureOf(replay, input) {
  return Number.isInteger(input) ? replay.values[input].picture : input.picture;
}

function inputNames(replay, value) {
  return value.inputs.filter(input => input !== null).map(input => nameOf(replay, input));
}

function callText(replay, value) {
  return `${value.op}(${inputNames(replay, value).join(", ")})`;
}

function paragraph(text, kind) {
  return element("p", {class: kind ?? null}, text);
}

function sign(text) {
  return element("span", {class: "sign", "aria-hidden": "true"}, text);
}

function sourceOf(value) {
  if (!value.file) return null;
  return element(
      "div", {class: "source"}, element("span", {}, `${value.file.replace(/^(\.\.\/)+/, "")}:${value.line}`),
      value.source ? [element("br"), element("code", {}, value.source)] : "");
}

/* ---- formulas with names and numbers in place of the library's a, b and out ---- */

const MAX_TERMS = 6; /* of a sum that is printed */

/* The gradient at the result: "g", unless a value here has that name. */
function gradientName(replay, value) {
  return [...inputNames(replay, value), value.name].includes("g") ? `\u2202${value.name}` : "g";
}

function nameElement(replay, value, word) {
  const i = placeholdersOf(value).indexOf(word);
  if (word === "g") return element("i", {class: "gradient"}, gradientName(replay, value));
  if (word === "out") return element("b", {}, value.name);
  if (i >= 0 && value.inputs[i] !== null) return element("b", {}, nameOf(replay, value.inputs[i]));
  const attribute = value.attributes[word];
  return attribute === undefined || Array.isArray(attribute) ? word : minus(Number(Number(attribute).toPrecision(4)).toString());
}

/* Of op(a) op(b), where op transposes or not: the factors, and the gradient of each. */
function matmulText(value, key) {
  const [a, b] = ["a", "b"].map((name, i) => value.attributes.transposed[i] ? `${name}\u1d40` : name),
        [at, bt] = ["a", "b"].map((name, i) => value.attributes.transposed[i] ? name : `${name}\u1d40`);
  if (key === "out") return `${a} \u00b7 ${b}`;
  const text = key === 0 ? `g \u00b7 ${bt}` : `${at} \u00b7 g`;
  return value.attributes.transposed[key] ? `(${text})\u1d40` : text;
}

/* Optional inputs that were not given leave the text. */
function withoutOmitted(value, text) {
  placeholdersOf(value).forEach((name, i) => {
    if (value.inputs[i] !== null || !name || !text) return;
    text = text.replace(new RegExp(` \\+ ${name}\\b`), "").replace(new RegExp(`\\b${name}(\\[\\w\\])? (\\+ )?`), "");
  });
  return text?.replace(/^(\w+) with \1 = /, "");
}

/* The formula of a result ("out") or of the gradient of an input, with names. */
function namedFormula(replay, value, key) {
  const text = withoutOmitted(value, value.op === "matmul" ? matmulText(value, key) : key === "out" ? formulaOf(value) : ruleOf(value, key));
  if (!text) return null;
  const tree = OPS[value.op] ? null : elementwise(value, text, ["g", "out"]);
  if (tree) return printFormula(tree, word => nameElement(replay, value, word));
  return text.split(/([A-Za-z_]\w*)/).map((word, i) => i % 2 ? nameElement(replay, value, word) : word).filter(Boolean);
}

/* The terms of a cell with numbers: "0.7269 \u00d7 1.5". `figures` gives the picture of a key. */
function numbersText(terms, figures) {
  const shown = terms.slice(0, MAX_TERMS).map(({tree, cells}) => printFormula(tree, name => {
    const cell = cells[name];
    return minus(typeof cell === "number" ? Number(cell.toPrecision(4)).toString() : figures(cell[0]).values[cell[1]]);
  }).map(piece => piece.textContent ?? piece).join(""));
  const more = terms.length - shown.length;
  const only = terms.length === 1 && terms[0].tree.kind === "name" && Object.values(terms[0].cells)[0];
  if (Array.isArray(only) && only[0] === "g") return `g${figures("g").dims.length ? cellText("", figures("g").dims, only[1]) : ""} = ${shown[0]}`;
  const joined = shown.map((text, i) => !i ? text : /^\u2212[^+\u2212?]*$/.test(text) ? ` \u2212 ${text.slice(1)}` : ` + ${/^\u2212/.test(text) ? `(${text})` : text}`);
  return joined.join("") + (more ? ` + \u2026 (${more} more)` : "");
}

/* The picture that a key of cells.js stands for. */
function figuresOf(replay, value, gradient) {
  return key => key === "g" ? gradient : key === "out" ? value.picture : pictureOf(replay, value.inputs[key]);
}

const keysOf = terms => new Set(terms.flatMap(({cells}) => Object.values(cells).filter(Array.isArray).map(([key]) => key)));

/* The terms of a cell of the result ("out") or of the gradient of an input; null if the op or a tensor is too large for that. */
function termsOf(replay, value, key, index, figures) {
  const make = key === "out" ? forwardTerms(value) : backwardTerms(value, key);
  const involved = [value.picture, ...value.inputs.filter(input => input !== null).map(input => pictureOf(replay, input))];
  if (!make || involved.some(picture => !picture.values)) return null;
  const terms = make(index, key => figures(key).values.map(numberOf));
  return [...keysOf(terms)].every(key => figures(key)?.values) ? terms : null;
}

const numberOf = text => ({inf: Infinity, "-inf": -Infinity}[text] ?? Number(text));

/* "w: g x = 0.7269 \u00d7 1.5 = 1.09", with numbers where the tensor has one cell. */
function formulaLine(replay, value, key, picture, figures, hidden) {
  const pieces = namedFormula(replay, value, key);
  if (!pieces) return null;
  const name = key === "out" ? value.name : nameOf(replay, value.inputs[key]);
  const own = key === "out" && /^(y|out)\[.*\] \+?= /.test(value.formula); /* "y[i] = ..." */
  const line = element("div", {class: "formula"}, element("b", {}, name), own ? pieces.slice(1) : [key === "out" ? " = " : ": ", ...pieces]);
  const terms = !hidden && picture.values?.length === 1 ? termsOf(replay, value, key, 0, figures) : null;
  if (terms) {
    const text = sumText(terms, figures, minus(picture.values[0]));
    line.append(" = ", element("span", {class: "substituted"}, text.replace(/^g = /, "")));
  }
  if (hidden) line.append(" = ?");
  return line;
}

/* ---- a chosen cell ---- */

function cellText(name, dims, index) {
  return dims.length ? `${name}[${coordinates(dims, index).join(", ")}]` : name;
}

/* Where a single number stands for a cell, the number is the result. */
function sumText(terms, figures, result) {
  const text = numbersText(terms, figures);
  return text.endsWith(`= ${result}`) || text === result ? text : `${text} = ${result}`;
}

/* Makes the cells of a figure buttons: a chosen one lights the cells of its terms, and `line` prints their sum. */
function pickable(replay, value, key, figure, picture, figures, line) {
  if (!picture.values || picture.values.length < 2 || !termsOf(replay, value, key, 0, figures)) return figure;
  const name = key === "out" ? value.name : `\u2202${nameOf(replay, value.inputs[key])}`;
  for (const cell of figure.querySelectorAll("td[data-cell]")) {
    const index = Number(cell.dataset.cell.split(":")[1]);
    cell.tabIndex = 0;
    cell.setAttribute("role", "button");
    cell.setAttribute("aria-label", `${cellText(name, picture.dims, index)}, ${picture.values[index]}`);
    const choose = () => {
      const terms = termsOf(replay, value, key, index, figures), step = figure.closest("#step");
      for (const other of step.querySelectorAll(".lit, .chosen")) other.classList.remove("lit", "chosen");
      cell.classList.add("chosen");
      for (const {cells} of terms)
        for (const from of Object.values(cells))
          if (Array.isArray(from)) step.querySelector(`td[data-cell="${from[0]}:${from[1]}"]`)?.classList.add("lit");
      line.textContent = `${cellText(name, picture.dims, index)} = ${sumText(terms, figures, minus(picture.values[index]))}`;
      if (!terms.length) line.textContent = `${cellText(name, picture.dims, index)} = 0: nothing reads this cell.`;
      fitPanel();
    };
    cell.addEventListener("click", choose);
    cell.addEventListener("keydown", event => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      choose();
    });
  }
  figure.classList.add("pick");
  return figure;
}

/* The line is filled when a cell is chosen. */
function sumLine() {
  return element("p", {class: "cell-sum", "aria-live": "polite"});
}

function hintAt(line, figures) {
  if (figures.some(figure => figure.classList.contains("pick"))) line.textContent = "Choose an underlined number to see where it comes from.";
  return line;
}

/* ---- what a rule reads ---- */

/* Labels and axes; formulas have the single numbers, and what is transposed. */
function savedText(value) {
  return Object.entries(value.attributes)
      .filter(([name, saved]) => Array.isArray(saved) && name !== "transposed")
      .map(([name, saved]) => `${name} ${saved.join(", ")}`)
      .join("; ");
}

function keepsText(value) {
  const words = {out: "the result", saved: savedText(value) ? `what the op saved (${savedText(value)})` : "what the op saved"};
  const kept = value.keeps.map(item => words[item] ?? nameOf(replay, value.inputs[item]));
  return kept.length ? `It keeps ${listText([...new Set(kept)])} for its gradient rule.` :
                       "Its gradient rule reads no values, so it keeps nothing.";
}

/* The values that the rule reads besides the gradient. */
function readFigures(replay, value) {
  const figures = [], seen = new Set();
  for (const item of value.keeps) {
    const input = item === "out" || item === "saved" ? item : value.inputs[item];
    if (item === "saved" || seen.has(input)) continue;
    seen.add(input);
    figures.push(item === "out" ? figureOf(value.picture, value.name, "the result", false, "out") :
                                  figureOf(pictureOf(replay, input), nameOf(replay, input), "read", false, item));
  }
  if (savedText(value))
    figures.push(element("figure", {}, element("figcaption", {}, element("b", {}, value.op), " with"), element("div", {class: "saved"}, savedText(value))));
  return figures;
}

/* ---- forward ---- */

function keysText() {
  const keys = [
    [["←", "→"], "move one step"], [["space"], "plays and pauses"], [["Home", "End"], "go to the start and the end"],
    [["p"], "hides what the inputs get, to predict it"], [["f"], "fits the graph into its window"], [["l"], "shows everything larger, for a projector"]
  ];
  const rows = keys.map(([names, what]) => element("li", {}, names.map(name => [element("kbd", {}, name), " "]).flat(), what));
  return element(
      "ul", {class: "keys"}, rows, element("li", {}, "Click a value to go to its step, and a number to see where it comes from."),
      element("li", {}, "Live computes everything again from numbers that you edit."));
}

function describeStart(replay) {
  const nodes = replay.values.filter(value => value.op).length, leaves = replay.values.length - nodes;
  const counts = `${countText(leaves, "leaf", "leaves")} and ${countText(nodes, "node", "nodes")}`;
  return {
    title: "The record",
    announcement: "Start of the replay.",
    body: [
      paragraph(
          `This tape has ${counts}, in the order in which they were recorded. Step forward to see each value as it was ` +
          "computed. Then the reverse sweep visits the same nodes from last to first and computes the gradient of every leaf."),
      keysText(),
      replay.frozen ? paragraph("The tape is frozen: parameters are constants, and only variables get gradients.") : null,
      replay.brief ? paragraph(
                         "The tape is long: tensors with more than 64 values are shown by range and mean, without heat maps. The replay " +
                         `takes ${bytesText(replay.size)} of this page.`) :
                     null,
    ],
  };
}

function describeLeaf(replay, value) {
  return {
    title: `${value.name} is a ${value.kind}`,
    announcement: `${value.name}, a ${value.kind} of shape ${shapeText(value.picture.dims)}: ${shortText(value.picture, 40)}.`,
    body: [
      paragraph(
          value.kind === "variable" ?
              "A leaf: its values are given, and cp_grad can compute its gradient." :
              "A leaf: a parameter, which outlives the tape. It is on the record from its first use on."),
      element("div", {class: "row"}, figureOf(value.picture, value.name, "its values")),
    ],
  };
}

function describeNode(replay, value) {
  const inputs = new Map(); /* different inputs may have the same name */
  value.inputs.forEach((input, i) => input !== null && !inputs.has(input) && inputs.set(input, i));
  const pictures = figuresOf(replay, value), line = sumLine();
  const figures = [...inputs].map(
      ([input, i]) => figureOf(pictureOf(replay, input), nameOf(replay, input), Number.isInteger(input) ? "" : "used as a constant", false, i));
  const result = pickable(replay, value, "out", figureOf(value.picture, value.name, "the result", false, "out"), value.picture, pictures, line);
  return {
    title: `${value.name} = ${callText(replay, value)}`,
    announcement: `${value.name} is ${callText(replay, value)}: ${shortText(value.picture, 40)}.`,
    body: [
      formulaLine(replay, value, "out", value.picture, pictures),
      sourceOf(value),
      element("div", {class: "row"}, figures, sign("\u2192"), result),
      hintAt(line, [result]),
      paragraph(keepsText(value) + ` The tape then used ${bytesText(value.bytes)}.`, "note"),
    ],
  };
}

/* ---- backward ---- */

function ancestorsOf(replay, id) {
  const found = new Set([id]);
  for (let at = id; at >= 0; at--)
    if (found.has(at)) inputsOf(replay.values[at]).forEach(input => found.add(input));
  return found;
}

const FEW_NAMES = 12;

function namesText(replay, ids) {
  return ids.length <= FEW_NAMES ? listText(ids.map(id => replay.values[id].name)) : countText(ids.length, "node", "nodes");
}

function skippedText(replay, ids, why) {
  if (!ids.length) return null;
  return paragraph(`It skips ${namesText(replay, ids)}, ${why}.`);
}

function describeSeed(replay) {
  const loss = replay.values[replay.loss], needed = ancestorsOf(replay, replay.loss), skipped = [...replay.skipped];
  return {
    title: `The gradient of ${loss.name} is 1`,
    announcement: `The sweep starts: the gradient of ${loss.name} with respect to itself is 1.`,
    body: [
      element("div", {class: "formula"}, element("b", {}, `\u2202${loss.name}`), " = ", `d ${loss.name} / d ${loss.name} = 1`),
      paragraph(
          "The sweep starts at the end of the record and visits the nodes in reverse. Each rule turns the gradient of its " +
          "result into gradients of its inputs."),
      skippedText(replay, skipped.filter(id => !needed.has(id)), `on which ${loss.name} does not depend`),
      skippedText(replay, skipped.filter(id => needed.has(id)), "which lead to no leaf that needs a gradient"),
      element("div", {class: "row"}, figureOf(replay.seed, loss.name, "its gradient", true)),
    ],
  };
}

/* A part that is added to an earlier one. */
function sumFigures(name, part, earlier) {
  return element(
      "div", {class: "part"}, paragraph(`${name} is used more than once: the parts of its gradient are added.`),
      element(
          "div", {class: "row"}, figureOf(earlier, name, "before", true), sign("+ this part ="), figureOf(part.sum, name, "now", true)));
}

function releasedText(replay, rule, value) {
  const sharers = rule.shared_with.map(id => replay.values[id].name), freed = rule.high - rule.after;
  const fate = rule.released ?
      `The gradient of ${value.name} is no longer needed and is released.` :
      `The gradient of ${value.name} stays in memory, shared with ${listText(sharers) || "another value"}.`;
  const memory =
      freed > 0 ? `${bytesText(freed)} are released, including what the rule used on the way` : "Nothing else is released";
  return `${fate} ${memory}; ${bytesText(rule.after)} remain in use.`;
}

/* The last sentence of some ops is about inputs that were repeated. */
function wordsOf(replay, value) {
  const same = value.inputs.every(input => input === null || shapeText(pictureOf(replay, input).dims) === shapeText(value.picture.dims));
  const words = value.words ?? "This op has no description of its rule.";
  return same ? words.replace(/ Where an input was repeated.*$/, "") : words;
}

function describeRule(replay, rule, before, step) {
  const value = replay.values[rule.id], names = rule.parts.map(part => replay.values[value.inputs[part.input]].name);
  const reached = new Set(rule.parts.map(part => part.input)), hidden = predicting(step);
  const left =
      value.inputs.filter((input, i) => Number.isInteger(input) && !reached.has(i)).map(input => replay.values[input].name);
  const incoming = before.get(rule.id), pictures = figuresOf(replay, value, incoming), line = sumLine();
  const earlier = new Map(before), gets = [], sums = [], lines = [];
  for (const part of rule.parts) {
    const input = value.inputs[part.input], name = replay.values[input].name;
    if (part.sum && !hidden) sums.push(sumFigures(name, part, earlier.get(input)));
    const figure = figureOf(part.picture, name, part.sum ? "gets this part" : "gets", true, `get${part.input}`);
    gets.push(hidden ? questionOf(part.picture, name, step, part.input) :
                       pickable(replay, value, part.input, figure, part.picture, pictures, line));
    lines.push(formulaLine(replay, value, part.input, part.picture, pictures, hidden));
    earlier.set(input, part.sum ?? part.picture);
  }
  return {
    title: `Back through ${value.name} = ${callText(replay, value)}`,
    announcement: hidden ? `Back through ${value.name}, ${value.op}: predict what ${listText(names)} ${names.length > 1 ? "get" : "gets"}.` :
                           `Back through ${value.name}, ${value.op}: ${
                               rule.parts.map((part, i) => `${names[i]} ${part.sum ? "now has" : "gets"} ${shortText(part.sum ?? part.picture, 40)}`)
                                   .join("; ")}.`,
    body: [
      element("div", {class: "formulas"}, formulaLine(replay, value, "out", value.picture, pictures), lines),
      paragraph(wordsOf(replay, value)),
      sourceOf(value),
      rule.skipped.length ? paragraph(`Skipped on the way here: ${namesText(replay, rule.skipped)}.`, "note") : null,
      element(
          "div", {class: "row"}, figureOf(incoming, gradientName(replay, value), `the gradient at ${value.name}`, true, "g"),
          readFigures(replay, value), gets.length ? sign("\u2192") : "", hidden ? questionForm(gets, rule, step) : gets),
      hidden ? null : hintAt(line, gets),
      answerText(step),
      sums,
      left.length ? paragraph(`No gradient is needed at ${listText(left)}.`, "note") : null,
      paragraph(releasedText(replay, rule, value), "note"),
    ],
  };
}

/* A leaf's gradient: the numbers if they are few, else a line that opens. */
const FEW_NUMBERS = 8;

function resultOf(picture, key) {
  if (picture.values?.length <= FEW_NUMBERS) return bodyOf(picture);
  const address = thumbnailOf(picture);
  return element(
      "details", {}, element("summary", {}, address ? element("img", {src: address, alt: "", class: "thumbnail"}) : "", minus(shortText(picture, 24))),
      bodyOf(picture));
}

function describeEnd(replay, gradients) {
  const loss = replay.values[replay.loss].name;
  const rows = replay.values.map((value, id) => ({value, id})).filter(({value}) => !value.op && value.requested).map(({value, id}) => {
    const picture = gradients.get(id) ?? replay.zeros.get(id);
    return element(
        "li", {"data-leaf": value.name, "data-gradient": fullText(picture)},
        element("div", {class: "leaf-name"}, `\u2202${value.name} `, element("small", {}, shapeText(picture.dims))),
        gradients.has(id) ? "" : paragraph(`zeros: ${loss} does not depend on it`, "note"), resultOf(picture));
  });
  return {
    title: "The gradients of all leaves",
    announcement: `The sweep is complete. ${countText(rows.length, "gradient", "gradients")}.`,
    body: [
      paragraph(
          `The sweep is complete, and this is what cp_grad returns; \u2202 stands for d ${loss} / d. The forward values stay in memory until ` +
          `cp_tape_reset${replay.values.some(value => value.picture.released) ? ", except those released early" : ""}.`),
      element("ul", {class: "results"}, rows),
    ],
  };
}
