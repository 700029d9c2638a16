/* What happens in a step, in words, formulas and tensors. */

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

function madeText(replay, value) {
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

/* A formula that has an equals sign of its own needs no name. */
function formula(name, text) {
  if (text?.includes(" = ") && name === "out =") name = "";
  return text ? element("span", {class: "formula"}, element("small", {}, `${name} `), text) : null;
}

function keepsText(value) {
  return value.keeps.length ? `For its gradient rule it keeps ${listText([...new Set(value.keeps)])}.` :
                              "Its gradient rule needs none of the values, so it keeps nothing.";
}

/* ---- forward ---- */

function tellStart(replay) {
  const nodes = replay.values.filter(value => value.op).length, leaves = replay.values.length - nodes;
  const counts = `${countText(leaves, "leaf", "leaves")} and ${countText(nodes, "node", "nodes")}`;
  return {
    title: "The record",
    say: "Start of the replay.",
    body: [
      paragraph(
          `This tape has ${counts}, in the order in which they were made. Step forward, and their values appear as they were ` +
          "computed. Then the reverse sweep goes back over the same nodes and gives every leaf its gradient."),
      replay.frozen ? paragraph("The tape is frozen: parameters count as constants, and only variables get gradients.") : null,
      replay.brief ? paragraph(
                         "The tape is long: tensors of more than 64 values are told by range and mean, without heat maps. The page " +
                         `grows with every node all the same; the replay in it has ${bytesText(replay.size)}.`) :
                     null,
    ],
  };
}

function tellLeaf(replay, value) {
  return {
    title: `${value.name} is a ${value.kind}`,
    say: `${value.name}, a ${value.kind} of shape ${shapeText(value.picture.dims)}: ${shortText(value.picture, 40)}.`,
    body: [
      paragraph(
          value.kind === "variable" ?
              "A leaf: its values are given, and it can be asked for its gradient." :
              "A leaf: a parameter, whose values outlive the tape. The record knows it from its first use on."),
      element("div", {class: "row"}, figureOf(value.picture, value.name, "its values")),
    ],
  };
}

function tellNode(replay, value) {
  const inputs = new Set(value.inputs.filter(input => input !== null)); /* different ones may have the same name */
  const figures = [...inputs].map(
      input => figureOf(pictureOf(replay, input), nameOf(replay, input), Number.isInteger(input) ? "" : "taken as a constant"));
  return {
    title: `${value.name} = ${madeText(replay, value)}`,
    say: `${value.name} is ${madeText(replay, value)}: ${shortText(value.picture, 40)}.`,
    body: [
      element("p", {}, formula("out =", value.formula)),
      sourceOf(value),
      element("div", {class: "row"}, figures, sign("→"), figureOf(value.picture, value.name, "the result")),
      paragraph(keepsText(value) + ` When it was recorded, ${bytesText(value.bytes)} were in use.`, "note"),
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

function passedText(replay, ids, why) {
  if (!ids.length) return null;
  return paragraph(`It will pass by ${namesText(replay, ids)}, ${why}.`);
}

function tellSeed(replay) {
  const loss = replay.values[replay.loss], needed = ancestorsOf(replay, replay.loss), passed = [...replay.passed];
  return {
    title: `The gradient of ${loss.name} is 1`,
    say: `The sweep begins: the gradient of ${loss.name} with respect to itself is 1.`,
    body: [
      formula("seed", `d ${loss.name} / d ${loss.name} = 1`),
      paragraph(
          "The sweep starts at the end of the record. From there it goes back, node by node; each rule turns the gradient of " +
          "its result into gradients of its inputs."),
      passedText(replay, passed.filter(id => !needed.has(id)), `on which ${loss.name} does not depend`),
      passedText(replay, passed.filter(id => needed.has(id)), "behind which lies no leaf that is asked for"),
      element("div", {class: "row"}, figureOf(replay.seed, loss.name, "its gradient", true)),
    ],
  };
}

/* A part that meets an earlier one. */
function tellSum(name, part, earlier) {
  return element(
      "div", {class: "part"}, paragraph(`${name} is used more than once, so the parts of its gradient add up.`),
      element(
          "div", {class: "row"}, figureOf(earlier, name, "had already", true), sign("+"),
          figureOf(part.picture, name, "gets this part", true), sign("="), figureOf(part.sum, name, "has now", true)));
}

function releasedText(replay, rule, value) {
  const heirs = rule.heirs.map(id => replay.values[id].name), freed = rule.high - rule.after,
        have = heirs.length > 1 ? "have" : "has";
  const fate = rule.released ?
      `The gradient of ${value.name} is not needed any more and is released.` :
      `The gradient of ${value.name} stays in memory: ${listText(heirs) || "another value"} ${have} the same.`;
  const memory =
      freed > 0 ? `${bytesText(freed)} are given back, with what the rule made on the way` : "Nothing else is given back";
  return `${fate} ${memory}; ${bytesText(rule.after)} stay in use.`;
}

function tellRule(replay, rule, before) {
  const value = replay.values[rule.id], names = rule.parts.map(part => replay.values[value.inputs[part.input]].name);
  const reached = new Set(rule.parts.map(part => part.input));
  const left =
      value.inputs.filter((input, i) => Number.isInteger(input) && !reached.has(i)).map(input => replay.values[input].name);
  const earlier = new Map(before), firsts = [], sums = [];
  for (const part of rule.parts) {
    const input = value.inputs[part.input], name = replay.values[input].name;
    if (part.sum) sums.push(tellSum(name, part, earlier.get(input)));
    else firsts.push(figureOf(part.picture, name, "gets", true));
    earlier.set(input, part.sum ?? part.picture);
  }
  return {
    title: `Back through ${value.name} = ${madeText(replay, value)}`,
    say: `Back through ${value.name}, ${value.op}: ${
        rule.parts.map((part, i) => `${names[i]} ${part.sum ? "now has" : "gets"} ${shortText(part.sum ?? part.picture, 40)}`)
            .join("; ")}.`,
    body: [
      element("p", {}, formula("out =", value.formula), " ", formula("rule", value.rule)),
      paragraph(value.words ?? "Nobody wrote this op's rule in words."),
      sourceOf(value),
      rule.passed.length ? paragraph(`Passed by on the way here: ${namesText(replay, rule.passed)}.`, "note") : null,
      element(
          "div", {class: "row"}, figureOf(before.get(rule.id), "g", `the incoming gradient, of ${value.name}`, true),
          firsts.length ? sign("→") : "", firsts),
      sums,
      left.length ? paragraph(`Nothing is asked for at or behind ${listText(left)}: no gradient goes there.`, "note") : null,
      paragraph(releasedText(replay, rule, value), "note"),
    ],
  };
}

function tellEnd(replay, gradients) {
  const loss = replay.values[replay.loss].name;
  const rows = replay.values.map((value, id) => ({value, id})).filter(({value}) => !value.op && value.asked).map(({value, id}) => {
    const picture = gradients.get(id) ?? replay.zeros.get(id);
    return element(
        "tr", {"data-leaf": value.name, "data-gradient": fullText(picture)},
        element("th", {scope: "row"}, `d ${loss} / d ${value.name}`),
        element("td", {}, figureOf(picture, "", gradients.has(id) ? "" : `zeros: ${loss} does not depend on it`, true)));
  });
  return {
    title: "The gradients of all leaves",
    say: `The sweep is over. ${countText(rows.length, "gradient is", "gradients are")} complete.`,
    body: [
      paragraph(
          "The sweep is over. This is what cp_grad returns. The values of the forward computation stay in memory until " +
          `cp_tape_reset${replay.values.some(value => value.picture.gone) ? ", but for those that were given back early" : ""}.`),
      element("table", {class: "results"}, element("tbody", {}, rows)),
    ],
  };
}
