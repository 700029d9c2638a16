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

function callText(replay, value) {
  return `${value.op}(${value.inputs.filter(input => input !== null).map(input => nameOf(replay, input)).join(", ")})`;
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

/* A formula with an equals sign needs no name. */
function formula(name, text) {
  if (text?.includes(" = ") && name === "out =") name = "";
  return text ? element("span", {class: "formula"}, element("small", {}, `${name} `), text) : null;
}

function keepsText(value) {
  return value.keeps.length ? `It keeps ${listText([...new Set(value.keeps)])} for its gradient rule.` :
                              "Its gradient rule reads no values, so it keeps nothing.";
}

/* ---- forward ---- */

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
  const inputs = new Set(value.inputs.filter(input => input !== null)); /* different inputs may have the same name */
  const figures = [...inputs].map(
      input => figureOf(pictureOf(replay, input), nameOf(replay, input), Number.isInteger(input) ? "" : "used as a constant"));
  return {
    title: `${value.name} = ${callText(replay, value)}`,
    announcement: `${value.name} is ${callText(replay, value)}: ${shortText(value.picture, 40)}.`,
    body: [
      element("p", {}, formula("out =", value.formula)),
      sourceOf(value),
      element("div", {class: "row"}, figures, sign("→"), figureOf(value.picture, value.name, "the result")),
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
      formula("seed", `d ${loss.name} / d ${loss.name} = 1`),
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
      "div", {class: "part"}, paragraph(`${name} is used more than once, so the parts of its gradient are added.`),
      element(
          "div", {class: "row"}, figureOf(earlier, name, "before", true), sign("+"),
          figureOf(part.picture, name, "this part", true), sign("="), figureOf(part.sum, name, "now", true)));
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

function describeRule(replay, rule, before) {
  const value = replay.values[rule.id], names = rule.parts.map(part => replay.values[value.inputs[part.input]].name);
  const reached = new Set(rule.parts.map(part => part.input));
  const left =
      value.inputs.filter((input, i) => Number.isInteger(input) && !reached.has(i)).map(input => replay.values[input].name);
  const earlier = new Map(before), firsts = [], sums = [];
  for (const part of rule.parts) {
    const input = value.inputs[part.input], name = replay.values[input].name;
    if (part.sum) sums.push(sumFigures(name, part, earlier.get(input)));
    else firsts.push(figureOf(part.picture, name, "gets", true));
    earlier.set(input, part.sum ?? part.picture);
  }
  return {
    title: `Back through ${value.name} = ${callText(replay, value)}`,
    announcement: `Back through ${value.name}, ${value.op}: ${
        rule.parts.map((part, i) => `${names[i]} ${part.sum ? "now has" : "gets"} ${shortText(part.sum ?? part.picture, 40)}`)
            .join("; ")}.`,
    body: [
      element("p", {}, formula("out =", value.formula), " ", formula("rule", value.rule)),
      paragraph(value.words ?? "This op has no description of its rule."),
      sourceOf(value),
      rule.skipped.length ? paragraph(`Skipped on the way here: ${namesText(replay, rule.skipped)}.`, "note") : null,
      element(
          "div", {class: "row"}, figureOf(before.get(rule.id), "g", `the incoming gradient at ${value.name}`, true),
          firsts.length ? sign("→") : "", firsts),
      sums,
      left.length ? paragraph(`No gradient is needed at ${listText(left)}.`, "note") : null,
      paragraph(releasedText(replay, rule, value), "note"),
    ],
  };
}

function describeEnd(replay, gradients) {
  const loss = replay.values[replay.loss].name;
  const rows = replay.values.map((value, id) => ({value, id})).filter(({value}) => !value.op && value.requested).map(({value, id}) => {
    const picture = gradients.get(id) ?? replay.zeros.get(id);
    return element(
        "tr", {"data-leaf": value.name, "data-gradient": fullText(picture)},
        element("th", {scope: "row"}, `d ${loss} / d ${value.name}`),
        element("td", {}, figureOf(picture, "", gradients.has(id) ? "" : `zeros: ${loss} does not depend on it`, true)));
  });
  return {
    title: "The gradients of all leaves",
    announcement: `The sweep is complete. ${countText(rows.length, "gradient", "gradients")}.`,
    body: [
      paragraph(
          "The sweep is complete, and this is what cp_grad returns. The forward values stay in memory until " +
          `cp_tape_reset${replay.values.some(value => value.picture.released) ? ", except those released early" : ""}.`),
      element("table", {class: "results"}, element("tbody", {}, rows)),
    ],
  };
}
