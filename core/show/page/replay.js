/* The replay: its steps, and painting the page for each of them. */

const page = name => document.getElementById(name), json = page("replay").textContent;
const replay = JSON.parse(json), values = replay.values;
replay.size = json.length;
assignScopes(replay);
const still = matchMedia("(prefers-reduced-motion: reduce)");

/* ---- the steps: start, one per value, the seed, one per rule, end ---- */

replay.seed = {
  dims: values[replay.loss].picture.dims,
  values: ["1"]
};
replay.zeros = new Map(replay.untouched.map(leaf => [leaf.id, leaf.picture]));
const SEED = values.length + 1, END = SEED + replay.sweep.length + 1;
const ruleStep = new Map(replay.sweep.map((rule, i) => [rule.id, SEED + 1 + i]));
replay.skipped = new Set(values.map((value, id) => id).filter(id => values[id].op && !ruleStep.has(id)));
replay.sweep.forEach((rule, i) => {
  const above = i ? replay.sweep[i - 1].id : values.length;
  rule.skipped = [];
  for (let id = above - 1; id > rule.id; id--)
    if (replay.skipped.has(id)) rule.skipped.push(id);
});

/* The gradients in memory before step s, by id: those of values whose rule has not run. */
function gradientsBefore(s) {
  const gradients = new Map();
  if (s > SEED) gradients.set(replay.loss, replay.seed);
  for (const rule of replay.sweep.slice(0, Math.max(0, s - SEED - 1))) applyRule(rule, gradients);
  return gradients;
}

function applyRule(rule, gradients) {
  for (const part of rule.parts) gradients.set(values[rule.id].inputs[part.input], part.sum ?? part.picture);
  gradients.delete(rule.id);
}

const gradientsShown = s => gradientsUpTo(predicting(s) ? s - 1 : s);

/* The gradients computed up to step s, which the listing shows after their release too. */
function gradientsUpTo(s) {
  const seen = new Map();
  if (s >= SEED) seen.set(replay.loss, replay.seed);
  for (const rule of replay.sweep.slice(0, Math.max(0, s - SEED)))
    for (const part of rule.parts) seen.set(values[rule.id].inputs[part.input], part.sum ?? part.picture);
  if (s === END)
    for (const [id, picture] of replay.zeros) seen.set(id, picture);
  return seen;
}

function describe(s) {
  if (s === 0) return describeStart(replay);
  if (s < SEED) return values[s - 1].op ? describeNode(replay, values[s - 1]) : describeLeaf(replay, values[s - 1]);
  if (s === SEED) return describeSeed(replay);
  if (s < END) return describeRule(replay, replay.sweep[s - SEED - 1], gradientsBefore(s), s);
  return describeEnd(replay, gradientsBefore(s));
}

/* The value that a step is about, or -1. */
function subject(s) {
  if (s === 0 || s === END) return -1;
  return s < SEED ? s - 1 : s === SEED ? replay.loss : replay.sweep[s - SEED - 1].id;
}

/* ---- graph and listing of the values around one ---- */

const MAX_SHOWN = 800, AROUND = 150;
let shown = {from: 0, to: 0, graph: null, rows: new Map()};
let open = openAtFirst(replay);

function shownText(from, to) {
  return to - from === values.length ? "" : `Values ${from + 1} to ${to} of ${values.length} are shown.`;
}

function listingRow(id) {
  const value = values[id],
        from = (value.inputs ?? []).filter(input => input !== null).map(input => nameOf(replay, input)).join(", ");
  const row = element(
      "tr", {"data-id": id}, element("th", {scope: "row", title: value.name}, element("button", {type: "button"}, value.name)),
      element("td", {}, value.op ?? value.kind), element("td", {}, shapeText(value.picture.dims)), element("td", {}, from),
      element("td", {class: "v"}), element("td", {class: "g"}),
      element("td", {class: "scope"}, scopeName(replay, value)),
      element("td", {title: value.source || null}, value.file ? `${value.file.replace(/.*\//, "")}:${value.line}` : ""));
  row.addEventListener("click", () => choose(id));
  return row;
}

function showPart(around) {
  const all = values.length <= MAX_SHOWN, from = all ? 0 : Math.max(0, around - AROUND),
        to = all ? values.length : Math.min(values.length, around + AROUND + 1);
  const ids = Array.from({length: to - from}, (_, i) => from + i);
  shown = {
    from,
    to,
    graph: drawGraph(replay, from, to, open, choose, enter),
    rows: new Map(ids.map(id => [id, listingRow(id)]))
  };
  document.querySelector("#graph .scroll").replaceChildren(shown.graph.svg);
  zoomApply();
  document.querySelector("#listing tbody").replaceChildren(...shown.rows.values());
  for (const note of document.querySelectorAll(".range")) note.textContent = shownText(from, to);
}

/* ---- zoom, and scopes that open ---- */

const MIN_SCALE = 0.7; /* for a graph that is too wide, unless it was asked to fit */
let zoom = "width"; /* to the frame's width, "fit" to the frame, or a number */

function zoomScale() {
  const frame = document.querySelector("#graph .scroll"), {width, height} = shown.graph;
  const wide = (frame.clientWidth - 14) / width, high = (frame.clientHeight - 4) / height, limit = document.body.classList.contains("presenting") ? 1.5 : 1;
  return zoom === "fit" ? Math.min(limit, wide, high) : zoom === "width" ? Math.min(limit, Math.max(MIN_SCALE, wide)) : zoom;
}

function zoomApply() {
  const scale = shown.graph.scale = zoomScale();
  shown.graph.svg.setAttribute("width", shown.graph.width * scale);
  shown.graph.svg.setAttribute("height", shown.graph.height * scale);
  page("fit").setAttribute("aria-pressed", String(zoom === "fit"));
}

/* The point of the graph at (x, y) of the frame stays there. */
function zoomBy(factor, x, y) {
  const frame = document.querySelector("#graph .scroll"), before = shown.graph.scale;
  zoom = Math.max(0.08, Math.min(3, before * factor));
  zoomApply();
  const ratio = shown.graph.scale / before;
  frame.scrollTo((frame.scrollLeft + x) * ratio - x, (frame.scrollTop + y) * ratio - y);
}

function zoomToggle() {
  zoom = zoom === "fit" ? "width" : "fit";
  zoomApply();
  follow(subject(now));
}

function redraw() {
  shown.graph = null;
  paint(now);
}

function enter(scope) {
  open.add(scope);
  redraw();
}

function scopesToggle() {
  const every = replay.scopes.map((_, i) => i + 1);
  open = every.every(scope => open.has(scope)) ? new Set() : new Set(every);
  redraw();
}

/* Goes to a value's forward step, or in the sweep to the step of its rule. */
function choose(id) {
  jump(now >= SEED && ruleStep.has(id) ? ruleStep.get(id) : id + 1);
}

function paintRow(id, row, seen, s) {
  const value = values[id], there = s > id, gradient = seen.get(id), skipped = s === END && replay.skipped.has(id);
  row.className = `${there ? "" : "later"} ${id === subject(s) ? "now" : ""}`;
  row.querySelector(".v").textContent = there ? minus(shortText(value.picture, 36)) : "";
  const cell = row.querySelector("td:nth-child(6)");
  cell.className = skipped ? "g skipped" : "g";
  cell.textContent = gradient ? minus(shortText(gradient, 36)) : skipped ? "skipped" : "";
}

/* Only while they can be seen. */
function paintRows(seen, s) {
  if (!page("listing").hidden)
    for (const [id, row] of shown.rows) paintRow(id, row, seen, s);
}

const edgeClass = names => names.filter(Boolean).join(" ");

/* A closed scope shows how far it is. */
function paintScope(box, seen, s) {
  const nodes = box.item.ids.filter(id => values[id].op), computed = nodes.filter(id => s > id).length, swept = nodes.filter(id => seen.has(id)).length;
  box.number.textContent = computed < nodes.length ? `${computed} of ${countText(nodes.length, "node", "nodes")}` : countText(nodes.length, "node", "nodes");
  box.g.textContent = s >= SEED && swept ? `∂ of ${swept === nodes.length ? "all" : swept}` : "";
}

function paintValue(id, box, seen, s) {
  const value = values[id], there = s > id, gradient = seen.get(id);
  const roomBeside = margin => Math.floor((box.wide - margin) / 7.3), texts = room => [
    minus(there ? shortText(value.picture, room) : shapeText(value.picture.dims)), gradient ? minus(`∂ ${shortText(gradient, room - 2)}`) : ""
  ];
  let address = there ? thumbnailOf(value.picture) : "", room = roomBeside(address ? 50 : 18);
  if (address && texts(room).some(text => text.length > room)) [address, room] = ["", roomBeside(18)]; /* no room for a picture */
  [box.number.textContent, box.g.textContent] = texts(room);
  if (address) box.image.setAttribute("href", address);
  else box.image.removeAttribute("href");
}

function paintBox(box, seen, s, touched) {
  const {ids, leaf, scope} = box.item, any = test => ids.some(test), every = test => ids.every(test);
  box.group.setAttribute("class", edgeClass([
    "box", leaf && "leaf", scope && "closed", !any(id => s > id) && "later", any(id => id === subject(s)) && "now", any(id => seen.has(id)) && "has-gradient",
    any(id => touched.has(id)) && "touched", every(id => replay.skipped.has(id)) && "skipped", s >= SEED && "swept", any(id => live.faults?.has(id)) && "fault"
  ]));
  if (scope) paintScope(box, seen, s);
  else paintValue(ids[0], box, seen, s);
}

function paintEdges(s) {
  const id = subject(s),
        ran = new Map(replay.sweep.slice(0, Math.max(0, s - SEED))
                          .map(rule => [rule.id, new Set(rule.parts.map(part => values[rule.id].inputs[part.input]))]));
  for (const edge of shown.graph.edges) {
    const isBack = ([input, to]) => ran.get(to)?.has(input), back = edge.pairs.some(isBack), there = edge.pairs.some(([, to]) => s > to);
    const current = s !== SEED && edge.pairs.some(pair => pair[1] === id && (s < SEED || isBack(pair)));
    edge.path.setAttribute("class", edgeClass(["edge", !there && "later", back && "back", edge.long && "long", current && "now"]));
    const [end, other] = back ? ["marker-start", "marker-end"] : ["marker-end", "marker-start"]; /* gradients go back */
    edge.path.setAttribute(end, `url(#head-${current ? "current" : back ? "swept" : "plain"})`);
    edge.path.removeAttribute(other);
  }
}

function scrollTo(frame, left, top) {
  frame.scrollTo({left, top, behavior: still.matches || playing || !settled ? "auto" : "smooth"});
}

function follow(id) {
  const graph = document.querySelector("#graph .scroll"), listing = document.querySelector("#listing .scroll");
  const box = shown.graph.boxes.get(id), row = shown.rows.get(id);
  const {scale} = shown.graph;
  if (box) scrollTo(graph, box.x * scale - graph.clientWidth / 2, (box.y + BOX.height / 2) * scale - graph.clientHeight / 2);
  if (row) scrollTo(listing, listing.scrollLeft, row.offsetTop - listing.clientHeight / 2);
}

/* ---- memory ---- */

/* Bytes in use: the maximum during a step, and at its end. Leaves count from the next node on. */
const memory = Array.from({length: END + 1}, () => null);
values.forEach((value, id) => {
  if (value.op) memory[id + 1] = {high: value.bytes, after: value.bytes};
});
replay.sweep.forEach((rule, i) => memory[SEED + 1 + i] = {
  high: Math.max(rule.before, rule.high),
  after: rule.after
});
const known = memory.map((point, s) => ({s, ...point})).filter(point => point.high !== undefined);

let marker = null;
function drawCurve() {
  const frame = page("curve"), width = Math.max(240, frame.clientWidth), height = Math.max(60, frame.clientHeight), foot = 16,
        head = 8;
  const max = known.reduce((high, point) => Math.max(high, point.high), 1), x = s => 4 + (width - 8) * s / END,
        y = bytes => head + (height - foot - head) * (1 - bytes / max);
  let line = "";
  for (const point of known)
    line += `${line ? "H" : "M"}${x(point.s - 0.5)}${line ? "V" : ","}${y(point.high)}H${x(point.s)}V${y(point.after)}`;
  if (line) line += `H${x(END)}`;
  const area = line ? `${line}V${y(0)}H${x(known[0].s - 0.5)}Z` : "";
  const clip = (id, from, to) => svgElement("clipPath", {id}, svgElement("rect", {x: from, y: 0, width: Math.max(0, to - from), height}));
  const svg = svgElement(
      "svg", {
        viewBox: `0 0 ${width} ${height}`,
        role: "img",
        "aria-label": `Memory in use over the ${END} steps, ${bytesText(max)} at most`
      },
      clip("before", 0, x(SEED - 0.5)), clip("behind", x(SEED - 0.5), width));
  for (const [part, color] of [["before", "--forward"], ["behind", "--backward"]])
    svg.append(
        svgElement("path", {d: area, "clip-path": `url(#${part})`, style: `fill:var(${color}-soft)`}),
        svgElement("path", {d: line, "clip-path": `url(#${part})`, style: `fill:none;stroke:var(${color});stroke-width:1.6`}));
  const divide = x(SEED - 0.5), most = `${bytesText(max)} at most`, letters = text => 7.2 * text.length + 8; /* about their width */
  const room = width - letters(most) - divide;
  svg.append(
      svgElement("line", {x1: divide, x2: divide, y1: 0, y2: height - foot, style: "stroke:var(--line)"}),
      divide > letters("forward") ? svgElement("text", {x: 4, y: height - 3}, "forward") : "",
      room > letters("backward") ? svgElement("text", {x: divide + 4, y: height - 3}, "backward") : "",
      svgElement("text", {x: width - 4, y: height - 3, "text-anchor": "end"}, most));
  marker = {
    line: svgElement("line", {y1: 0, y2: height - foot, style: "stroke:var(--text);stroke-width:1.5"}),
    dot: svgElement("circle", {r: 4, style: "fill:var(--text)"}),
    text: svgElement("text", {class: "at", y: 12}),
    x,
    y,
    width
  };
  svg.append(marker.line, marker.dot, marker.text);
  svg.addEventListener(
      "click", event => jump(Math.round((event.clientX - svg.getBoundingClientRect().left - 4) / (width - 8) * END)));
  frame.replaceChildren(svg);
}

function paintCurve(s) {
  let last = s;
  while (last > 0 && !memory[last]) last--;
  const bytes = memory[last]?.after, at = marker.x(s), right = at > marker.width / 2;
  marker.line.setAttribute("x1", at);
  marker.line.setAttribute("x2", at);
  marker.dot.setAttribute("cx", at);
  marker.dot.setAttribute("cy", marker.y(bytes ?? 0));
  marker.text.setAttribute("x", right ? at - 8 : at + 8);
  marker.text.setAttribute("text-anchor", right ? "end" : "start");
  marker.text.textContent = bytes === undefined ? "" : bytesText(bytes);
}

/* ---- navigation ---- */

let now = -1, playing = null, settled = false;

function touchedAt(s) {
  if (s > SEED && s < END) return new Set(replay.sweep[s - SEED - 1].parts.map(part => values[subject(s)].inputs[part.input]));
  return new Set(s > 0 && s < SEED ? inputsOf(values[s - 1]) : []);
}

const FITS = [1.3, 1, 0.8, 0.64, 0.5, 0.4, 0.35, 0.28, 0.22];

/* Makes the pictures of a step, and then its text, smaller until it needs no scrolling. There is no limit in a narrow window. */
function fitPanel() {
  const panel = page("panel"), canvases = [...panel.querySelectorAll("canvas")], tables = [...panel.querySelectorAll(".numbers")],
        narrow = innerWidth <= 900;
  const fits = level => {
    panel.dataset.fit = level;
    for (const canvas of canvases) scaleCanvas(canvas, FITS[level]);
    return panel.scrollHeight <= panel.clientHeight && tables.every(table => table.scrollWidth <= table.clientWidth);
  };
  if (fits(narrow ? 1 : 0) || narrow) return;
  let low = 1, high = FITS.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (fits(middle)) high = middle;
    else low = middle + 1;
  }
  for (let level = fits(low) ? FITS.length : 1; level < FITS.length && !fits(level); level++); /* in rare cases larger fits, and smaller not */
}

function paint(s) {
  const description = describe(s), seen = gradientsShown(s), touched = touchedAt(s), id = subject(s);
  document.body.dataset.phase = s < SEED ? "forward" : "backward";
  document.documentElement.dataset.step = s;
  page("slider").value = s;
  page("slider").setAttribute("aria-valuetext", `Step ${s} of ${END}: ${description.title}`);
  page("position").replaceChildren(
      `Step ${s} of ${END} · `,
      element(
          "b", {},
          s === 0       ? "start" :
              s === END ? "end" :
              s < SEED  ? "forward" :
                          "backward"));
  page("step-title").textContent = description.title;
  page("step").replaceChildren(...description.body.flat().filter(Boolean));
  if (!playing && document.activeElement !== page("slider")) page("announcement").textContent = description.announcement; /* the slider announces itself */
  page("panel").scrollTop = 0;
  fitPanel();
  if (!shown.graph || (id >= 0 && (id < shown.from || id >= shown.to))) showPart(Math.max(0, id));
  paintRows(seen, s);
  for (const box of shown.graph.items) paintBox(box, seen, s, touched);
  paintEdges(s);
  paintCurve(s);
  if (id >= 0) follow(id);
  else
    for (const frame of document.querySelectorAll(".scroll"))
      scrollTo(frame, frame.closest("#graph") ? (frame.scrollWidth - frame.clientWidth) / 2 : 0, 0);
}

function go(s) {
  const to = Math.max(0, Math.min(END, s));
  if (to === now) return;
  now = to;
  if (now === END) play(false);
  paint(now);
  clearTimeout(addressLater);
  addressLater = setTimeout(addressSet, 100); /* browsers limit how often it may change */
}

let addressLater = 0;

function addressSet() {
  try {
    history.replaceState(null, "", now === END ? "#end" : `#step=${now}`);
  } catch { /* not allowed where the page came from */
  }
}

function play(on) {
  clearInterval(playing);
  if (on && now === END) go(0);
  playing = on ? setInterval(() => go(now + 1), Number(page("speed").value)) : null;
  page("play").classList.toggle("playing", Boolean(on));
  page("play").setAttribute("aria-label", on ? "Pause" : "Play");
}

/* Choosing a step pauses. */
function jump(s) {
  play(false);
  go(s);
}

function step(by) {
  jump(now + by);
}

const keys = {
  ArrowLeft: () => step(-1),
  ArrowRight: () => step(1),
  Home: () => step(-Infinity),
  End: () => step(Infinity),
  " ": () => play(!playing),
  p: () => predictSet(!predict.on),
  f: () => zoomToggle(),
  l: () => present(!document.body.classList.contains("presenting"))
};

document.addEventListener("keydown", event => {
  const own = event.target.closest?.("input, select, button, summary");
  if (!keys[event.key] || event.ctrlKey || event.altKey || event.metaKey) return;
  if (own && (own.matches("select, summary, input[type=text], input[type=checkbox]") || (own.matches("button") && event.key === " ") || (own.matches("input") && event.key !== " ")))
    return;
  event.preventDefault();
  keys[event.key]();
});

/* ---- tabs, and the large view ---- */

const TABS = ["panel", "listing", "live"];

function tabChoose(name) {
  for (const tab of TABS) {
    page(tab).hidden = tab !== name;
    page(`tab-${tab}`).setAttribute("aria-selected", String(tab === name));
  }
  if (name === "live") livePanel();
  if (now >= 0) {
    paintRows(gradientsShown(now), now);
    fitPanel();
    follow(subject(now));
  }
}

for (const tab of TABS) page(`tab-${tab}`).addEventListener("click", () => tabChoose(tab));

/* Large text, only graph and step: for a projector. */
function present(on) {
  document.body.classList.toggle("presenting", on);
  document.documentElement.classList.toggle("large", on);
  page("present").setAttribute("aria-pressed", String(on));
  if (on && document.documentElement.requestFullscreen) document.documentElement.requestFullscreen().catch(() => {});
  if (!on && document.fullscreenElement) document.exitFullscreen();
  tabChoose("panel");
  drawCurve();
  redraw();
}

/* Dragging moves the graph; the wheel with Ctrl zooms. */
function panning(frame) {
  let from = null, moved = false;
  frame.addEventListener("pointerdown", event => {
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    from = {x: event.clientX, y: event.clientY, left: frame.scrollLeft, top: frame.scrollTop};
    moved = false;
  });
  addEventListener("pointermove", event => {
    if (!from) return;
    const dx = event.clientX - from.x, dy = event.clientY - from.y;
    moved = moved || Math.hypot(dx, dy) > 5;
    if (moved) frame.scrollTo(from.left - dx, from.top - dy);
  });
  addEventListener("pointerup", () => from = null);
  frame.addEventListener("click", event => {
    if (moved) event.stopPropagation();
    moved = false;
  }, true);
  frame.addEventListener("wheel", event => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = frame.getBoundingClientRect();
    zoomBy(event.deltaY < 0 ? 1.15 : 1 / 1.15, event.clientX - box.left, event.clientY - box.top);
  }, {passive: false});
}

function fromAddress() {
  const found = /^#(?:(end)|step=(\d+))$/.exec(location.hash);
  return found ? (found[1] ? END : Number(found[2])) : 0;
}

document.title = replay.title;
page("title").textContent = page("title").title = replay.title;
page("about").textContent = `${countText(values.filter(value => value.op).length, "node", "nodes")}, ${
    countText(values.filter(value => !value.op).length, "leaf", "leaves")}, ${replay.number}`;
page("slider").max = END;
document.documentElement.dataset.steps = END;
page("first").addEventListener("click", () => step(-Infinity));
page("back").addEventListener("click", () => step(-1));
page("play").addEventListener("click", () => play(!playing));
page("forward").addEventListener("click", () => step(1));
page("last").addEventListener("click", () => step(Infinity));
page("speed").addEventListener("change", () => playing && play(true));
page("slider").addEventListener("input", event => jump(Number(event.target.value)));
page("predict").addEventListener("click", () => predictSet(!predict.on));
page("present").addEventListener("click", () => present(!document.body.classList.contains("presenting")));
page("fit").addEventListener("click", zoomToggle);
page("zoom-in").addEventListener("click", () => zoomBy(1.25, 0, 0));
page("zoom-out").addEventListener("click", () => zoomBy(0.8, 0, 0));
page("scopes").hidden = !replay.scopes.length;
document.body.classList.toggle("without-scopes", !replay.scopes.length);
page("scopes").addEventListener("click", scopesToggle);
panning(document.querySelector("#graph .scroll"));
addEventListener("hashchange", () => {
  clearTimeout(addressLater);
  jump(fromAddress());
});
let wide = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === wide && innerWidth < 900) return; /* a phone's address bar appeared or disappeared */
  wide = innerWidth;
  drawCurve();
  redraw();
});
darkness.addEventListener("change", () => paint(now));
tabChoose("panel");
drawCurve();
go(fromAddress());
settled = true;
