/* Live mode: the page computes the record and the sweep again, in double precision, from leaves that can be edited. The formulas are those
 * that the page shows (cells.js); before anything can be edited, all results are compared with the recorded ones. */

const live = {faults: null, leaves: new Map(), differences: false};

/* As C's %.4g writes it. */
function fourDigits(value) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value < 0 ? "-inf" : "inf";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [digits, exponent] = value.toExponential(3).split("e").map(Number);
  if (exponent >= -4 && exponent < 4) return String(Number(value.toPrecision(4)));
  return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/* ---- computing ---- */

const termCache = new Map();

/* The terms of all cells; those of a maximum depend on the numbers. */
function termsOfAll(key, make, count, get) {
  if (key.startsWith("max ")) return all(count).map(index => make(index, get));
  if (!termCache.has(key)) termCache.set(key, all(count).map(index => make(index, get)));
  return termCache.get(key);
}

function sumsOf(key, make, count, get) {
  return termsOfAll(key, make, count, get).map(terms => terms.reduce((sum, each) => sum + valueOfTerm(each, get), 0));
}

function inputNumbers(numbers, input) {
  if (Number.isInteger(input)) return numbers.get(input);
  return input.value !== undefined ? numbers.get(input.value) : input.exact.map(numberOf);
}

/* The values that the loss depends on, in order. */
const needed = () => [...ancestorsOf(replay, replay.loss)].sort((a, b) => a - b);

function liveForward(leaves, ids) {
  const numbers = new Map();
  for (const id of ids) {
    const value = values[id];
    numbers.set(id, leaves.get(id) ?? sumsOf(`${value.op} ${id}`, forwardTerms(value), countOf(value.picture), key => inputNumbers(numbers, value.inputs[key])));
  }
  return numbers;
}

/* For each rule the parts and sums, as arrays. */
function liveBackward(numbers) {
  const gradients = new Map([[replay.loss, [1]]]);
  return replay.sweep.map(rule => {
    const value = values[rule.id], incoming = gradients.get(rule.id);
    const get = key => key === "g" ? incoming : key === "out" ? numbers.get(rule.id) : inputNumbers(numbers, value.inputs[key]);
    gradients.delete(rule.id);
    return rule.parts.map(({input}) => {
      const id = value.inputs[input], before = gradients.get(id);
      const part = sumsOf(`${value.op} ${rule.id} ${input}`, backwardTerms(value, input), countOf(values[id].picture), get);
      const sum = before?.map((number, i) => number + part[i]);
      gradients.set(id, sum ?? part);
      return {part, sum};
    });
  });
}

/* ---- what it cannot do ---- */

function faultOf(id) {
  const value = values[id];
  if (value.picture.released) return "its values were released";
  if (!value.picture.values) return "it has more than 64 values, whose numbers are not in this page";
  if (!value.op) return value.exact ? null : "its numbers are not in this page";
  if (!forwardTerms(value)) return `the page cannot compute ${value.op}`;
  const constant = value.inputs.find(input => input !== null && !Number.isInteger(input) && input.value === undefined && !input.exact);
  if (constant) return `the numbers of ${constant.name} are not in this page`;
  const rule = replay.sweep.find(each => each.id === id);
  return rule?.parts.every(part => backwardTerms(value, part.input)) ?? true ? null : `the page cannot compute the rule of ${value.op}`;
}

/* float computes with 7 digits, and cancellation may cost some of the 4 that were recorded. */
function agrees(numbers, picture) {
  const truth = picture.values.map(numberOf), largest = Math.max(0, ...truth.filter(Number.isFinite).map(Math.abs));
  return numbers.every((number, i) => Object.is(number, truth[i]) || Math.abs(number - truth[i]) <= 6e-4 * Math.abs(truth[i]) + 2e-6 * largest + 1e-12);
}

/* The values that it computes otherwise than the library did, with the reason; also what stops it. */
function liveFaults(ids) {
  const faults = new Map(ids.map(id => [id, faultOf(id)]).filter(([, why]) => why));
  if (faults.size) return faults;
  const numbers = liveForward(recordedLeaves(), ids);
  for (const id of ids)
    if (!agrees(numbers.get(id), values[id].picture)) faults.set(id, `the page computes ${shortText(pictureWith(id, numbers.get(id)), 40)}`);
  liveBackward(numbers).forEach((parts, i) => parts.forEach(({part, sum}, k) => {
    const recorded = replay.sweep[i].parts[k];
    if (!agrees(part, recorded.picture) || (sum && !agrees(sum, recorded.sum))) faults.set(replay.sweep[i].id, "the page computes another gradient");
  }));
  return faults;
}

function recordedLeaves() {
  return new Map(needed().filter(id => !values[id].op && values[id].exact).map(id => [id, values[id].exact.map(numberOf)]));
}

/* ---- showing ---- */

const pictureWith = (id, numbers) => ({dims: values[id].picture.dims, layout: values[id].picture.layout, values: numbers.map(fourDigits)});

/* Puts what was computed in the place of what was recorded, which stays in `recorded`. */
function liveApply() {
  const numbers = liveForward(live.leaves, needed()), parts = liveBackward(numbers);
  for (const [id, computed] of numbers) {
    values[id].recorded = values[id].recorded ?? values[id].picture;
    values[id].picture = pictureWith(id, computed);
  }
  parts.forEach((computed, i) => computed.forEach(({part, sum}, k) => {
    const shown = replay.sweep[i].parts[k], id = values[replay.sweep[i].id].inputs[shown.input];
    shown.recorded = shown.recorded ?? {picture: shown.picture, sum: shown.sum};
    shown.picture = pictureWith(id, part);
    if (sum) shown.sum = pictureWith(id, sum);
  }));
  live.numbers = numbers;
  paint(now);
}

function liveReset() {
  live.leaves = recordedLeaves();
  for (const value of values) value.picture = value.recorded ?? value.picture;
  for (const rule of replay.sweep)
    for (const part of rule.parts) Object.assign(part, part.recorded);
  live.numbers = liveForward(live.leaves, needed());
  paint(now);
  livePanel();
}

function difference(id, index) {
  const leaves = new Map(live.leaves), ids = needed(), x = live.leaves.get(id)[index], h = 1e-4 * Math.max(1, Math.abs(x));
  const at = number => {
    leaves.set(id, live.leaves.get(id).with(index, number));
    return liveForward(leaves, ids).get(replay.loss)[0];
  };
  return (at(x + h) - at(x - h)) / (2 * h);
}

function paintLive() {
  const gradients = gradientsUpTo(END), loss = values[replay.loss], recorded = (loss.recorded ?? loss.picture).values[0];
  page("live-loss").replaceChildren(
      element("b", {}, loss.name), ` = ${minus(fourDigits(live.numbers.get(replay.loss)[0]))}`, element("small", {}, ` recorded: ${minus(recorded)}`));
  for (const cell of document.querySelectorAll("#live [data-gradient-of]")) {
    const [id, index] = cell.dataset.gradientOf.split(":").map(Number);
    cell.textContent = minus(gradients.get(id).values[index]);
  }
  for (const cell of document.querySelectorAll("#live [data-difference-of]")) {
    const [id, index] = cell.dataset.differenceOf.split(":").map(Number);
    cell.parentElement.hidden = !live.differences;
    if (live.differences) cell.textContent = minus(fourDigits(difference(id, index)));
  }
}

function liveCell(id, index) {
  const name = cellText(values[id].name, values[id].picture.dims, index);
  const input = element("input", {type: "text", inputmode: "decimal", autocomplete: "off", "aria-label": name, "data-leaf-cell": `${id}:${index}`, size: 8,
                                  value: fourDigits(live.leaves.get(id)[index])});
  input.addEventListener("input", () => {
    const number = input.value.trim() === "" ? NaN : Number(input.value.replace("\u2212", "-"));
    input.setAttribute("aria-invalid", String(!Number.isFinite(number)));
    if (!Number.isFinite(number)) return;
    live.leaves.set(id, live.leaves.get(id).with(index, number));
    liveApply();
    paintLive();
  });
  return element("td", {}, input, element("div", {class: "live-line"}, "\u2202 ", element("span", {class: "gradient", "data-gradient-of": `${id}:${index}`})),
                 element("div", {class: "live-line"}, "\u0394 ", element("span", {"data-difference-of": `${id}:${index}`})));
}

function liveLeaf(id) {
  const {picture, name} = values[id], layout = layoutOf(picture), body = element("tbody");
  let row = null;
  for (let i = 0; i < picture.values.length; i++) {
    const r = Math.floor(i / layout.columns);
    if (i % layout.columns === 0 || (layout.rows === 1 && i % 4 === 0)) body.append(row = element("tr"));
    row.append(liveCell(id, layout.at(Math.floor(r / layout.rows), r % layout.rows, i % layout.columns)));
  }
  return element("figure", {}, element("figcaption", {}, element("b", {}, name), ` ${shapeText(picture.dims)}`), element("table", {}, body));
}

function refusal() {
  const items = [...live.faults].map(([id, why]) => element("li", {}, element("b", {}, values[id].name), values[id].op ? ` (${values[id].op}): ` : ": ", why));
  const shown = items.slice(0, 8);
  return [
    paragraph("Live mode is not possible for this tape: the page computes elementwise ops, matrix products, sums and the softmax family, on tensors of at " +
              "most 64 values. These values stop it; the graph marks them."),
    element("ul", {class: "faults"}, shown),
    items.length > shown.length ? paragraph(`\u2026 and ${items.length - shown.length} more.`, "note") : "",
  ];
}

function livePanel() {
  live.faults = live.faults ?? liveFaults(needed());
  document.body.classList.toggle("live-refused", live.faults.size > 0);
  if (live.faults.size) {
    page("live-body").replaceChildren(...refusal());
    paint(now);
    return;
  }
  if (!live.numbers) {
    live.leaves = recordedLeaves();
    live.numbers = liveForward(live.leaves, needed());
  }
  const toggle = element("input", {type: "checkbox", id: "differences"}), reset = element("button", {type: "button", class: "text", id: "live-reset"}, "Reset");
  toggle.checked = live.differences;
  toggle.addEventListener("change", () => {
    live.differences = toggle.checked;
    paintLive();
  });
  reset.addEventListener("click", liveReset);
  const constants = needed().some(id => values[id].inputs?.some(input => input !== null && !Number.isInteger(input) && input.value === undefined));
  page("live-body").replaceChildren(
      element("div", {class: "live-head"}, element("output", {id: "live-loss"}), reset, element("label", {}, toggle, " finite differences \u0394")),
      element("div", {class: "row"}, [...live.leaves.keys()].filter(id => gradientsUpTo(END).has(id)).map(liveLeaf)),
      paragraph("Edit a number: values and gradients change here and in all steps. \u2206".replace("\u2206", "\u0394") + " is (f(x + h) \u2212 f(x \u2212 h)) / 2h with h = 0.0001 max(1, |x|). " +
                `The page computes in double precision; with the recorded leaves it got all recorded numbers again, to 4 digits.${
                    constants ? " Constants keep their recorded numbers." : ""}`, "note"));
  paintLive();
}
