/* Predict mode: a step of the sweep hides what the inputs get until they were typed in, or shown on request. */

const predict = {on: false, done: new Map() /* step -> {right, asked}, or null if it was only shown */};
const MAX_QUESTIONS = 12; /* cells of a tensor that are asked for; of more, one */

function predicting(step) {
  return predict.on && step > SEED && step < END && !predict.done.has(step);
}

/* 1 % of the number, and 0.1 % of the largest number of the tensor, so that a rounded 0 counts. */
function isRight(typed, picture, index) {
  const truth = numberOf(picture.values[index]), tree = parseFormula(typed.trim().toLowerCase().replaceAll("\u2212", "-"));
  if (!Number.isFinite(truth)) return typed.trim().toLowerCase() === picture.values[index];
  if (!tree || namesIn(tree).size) return false;
  const largest = Math.max(...picture.values.map(numberOf).filter(Number.isFinite).map(Math.abs));
  return Math.abs(evaluate(tree, () => NaN) - truth) <= Math.max(0.01 * Math.abs(truth), 0.001 * largest, 1e-6);
}

const sameShape = (typed, picture) => (typed.match(/\d+/g) ?? []).join() === picture.dims.join();

function question(judge, label) {
  const input = element("input", {type: "text", autocomplete: "off", spellcheck: "false", "aria-label": label, size: 7});
  input.judge = () => judge(input.value);
  return input;
}

/* Inputs in place of the numbers of a small tensor, for one number of a larger one, or for the shape of one without numbers. */
function questionOf(picture, name, step, input) {
  const caption = element("figcaption", {}, element("b", {}, name), " gets"), figure = element("figure", {class: "gradient question"}, caption);
  if (!picture.values?.length) {
    figure.append("a gradient of shape ", question(typed => sameShape(typed, picture), `shape of the gradient of ${name}`));
    return figure;
  }
  caption.append(` ${shapeText(picture.dims)}`);
  if (picture.values.length > MAX_QUESTIONS) {
    const index = (7 * step + 3 * input) % picture.values.length, cell = cellText(`\u2202${name}`, picture.dims, index);
    figure.append(element("label", {}, `${cell} = `, question(typed => isRight(typed, picture, index), cell)));
    return figure;
  }
  const layout = layoutOf(picture), body = element("tbody");
  for (let r = 0; r < layout.tiles * layout.rows; r++) {
    const row = element("tr");
    for (let c = 0; c < layout.columns; c++) {
      const index = layout.at(Math.floor(r / layout.rows), r % layout.rows, c);
      row.append(element("td", {}, question(typed => isRight(typed, picture, index), cellText(`\u2202${name}`, picture.dims, index))));
    }
    body.append(row);
  }
  figure.append(element("table", {}, body));
  return figure;
}

function questionForm(questions, rule, step) {
  const verdict = element("p", {class: "verdict", role: "status"}),
        show = element("button", {type: "button", class: "text", id: "show-answer"}, "Show");
  const form = element(
      "form", {class: "questions", autocomplete: "off"}, element("div", {class: "row"}, questions),
      element("div", {class: "actions"}, element("button", {type: "submit", class: "text main", id: "check-answer"}, "Check"), show), verdict);
  form.addEventListener("submit", event => {
    event.preventDefault();
    const inputs = [...form.querySelectorAll("input")], judged = inputs.map(input => input.judge()), right = judged.filter(Boolean).length;
    inputs.forEach((input, i) => {
      input.className = input.value.trim() ? (judged[i] ? "right" : "wrong") : "";
      input.setAttribute("aria-invalid", String(!judged[i]));
    });
    form.first = form.first ?? {right, asked: inputs.length};
    verdict.textContent = `${right} of ${inputs.length} right, to within 1 %.`;
    if (right === inputs.length) reveal(step, form.first);
    fitPanel();
  });
  show.addEventListener("click", () => reveal(step, form.first ?? null));
  return form;
}

function reveal(step, score) {
  predict.done.set(step, score);
  paint(step);
  paintScore();
  page("panel").focus({preventScroll: true}); /* so that the arrow keys go on */
}

function answerText(step) {
  const score = predict.on ? predict.done.get(step) : undefined;
  if (score === undefined) return null;
  const text = !score ? "Shown without an answer." :
      score.right === score.asked ? "Right at the first try." :
                                    `${score.right} of ${score.asked} right at the first try.`;
  return element("p", {class: "verdict"}, text);
}

function paintScore() {
  const scores = [...predict.done.values()].filter(Boolean), right = scores.reduce((sum, score) => sum + score.right, 0),
        asked = scores.reduce((sum, score) => sum + score.asked, 0);
  page("score").textContent = predict.on && asked ? ` ${right} of ${asked}` : "";
}

function predictSet(on) {
  predict.on = on;
  predict.done.clear();
  page("predict").setAttribute("aria-pressed", String(on));
  paintScore();
  if (on) tabChoose("panel");
  if (on && now <= SEED && SEED + 1 < END) jump(SEED + 1);
  else paint(now);
}
