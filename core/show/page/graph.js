/* The graph: values in layers, each below its inputs. The values of a closed scope, such as a network's layer, are one box. */

const BOX = {
  width: 172,
  leaf: 158,
  height: 62,
  across: 18,
  down: 38
};

function inputsOf(value) {
  return (value.inputs ?? []).filter(input => Number.isInteger(input));
}

/* ---- scopes ---- */

/* The scopes of a node from the outermost on, as numbers from 1. */
function scopesOf(replay, scope) {
  return scope ? [...scopesOf(replay, replay.scopes[scope - 1].parent), scope] : [];
}

/* A parameter belongs to the scope of its first use. */
function assignScopes(replay) {
  for (const value of replay.values) value.scopes = scopesOf(replay, value.scope ?? 0);
  for (const value of [...replay.values].reverse())
    for (const input of inputsOf(value))
      if (replay.values[input].kind === "parameter") replay.values[input].scopes = value.scopes;
}

const FEW_VALUES = 30, FEW_BOXES = 4;

/* All scopes of a short tape are open at first, and none of a long one, unless that would leave hardly anything to see. */
function openAtFirst(replay) {
  const scopes = replay.scopes.map((_, i) => i + 1), count = replay.values.length;
  if (count <= FEW_VALUES) return new Set(scopes);
  return new Set(itemsOf(replay, 0, count, new Set()).length < FEW_BOXES ? scopes.filter(scope => !replay.scopes[scope - 1].parent) : []);
}

function scopeName(replay, value) {
  return value.scopes.length ? replay.scopes[value.scopes.at(-1) - 1].name : "";
}

/* The boxes of the values [from, to): {key, ids, scope}, with a scope for a closed one. */
function itemsOf(replay, from, to, open) {
  const items = new Map();
  for (let id = from; id < to; id++) {
    const scope = replay.values[id].scopes.find(each => !open.has(each)), key = scope ? `scope ${scope}` : id;
    if (!items.has(key)) items.set(key, {key, ids: [], scope});
    items.get(key).ids.push(id);
  }
  for (const item of items.values()) item.leaf = !item.ids.some(id => replay.values[id].op);
  return [...items.values()];
}

/* The edges between boxes: {from, to, pairs of [input, id]}; an op that reads a value twice has two edges, told apart by `turn` of `turns`. */
function edgesOf(replay, items) {
  const owner = new Map(items.flatMap(item => item.ids.map(id => [id, item]))), edges = [], bundles = new Map();
  for (const item of items)
    for (const id of item.ids)
      for (const input of inputsOf(replay.values[id])) {
        const source = owner.get(input);
        if (!source || source === item) continue;
        const bundled = source.scope || item.scope, key = `${source.key}>${item.key}`;
        if (!bundles.has(key)) bundles.set(key, []);
        const same = bundles.get(key);
        if (bundled && same.length) {
          same[0].pairs.push([input, id]);
          continue;
        }
        const edge = {from: source, to: item, pairs: [[input, id]], turn: same.length, siblings: same};
        same.push(edge);
        edges.push(edge);
      }
  return edges;
}

/* ---- layout ---- */

/* The layer of each box: one below the lowest of its inputs, and for a leaf right above its first use. */
function layersOf(items, edges) {
  const layer = new Map(), firstUse = new Map(), into = new Map(items.map(item => [item, []]));
  for (const edge of edges) into.get(edge.to).push(edge.from);
  const first = item => item.ids.find(id => values[id].op) ?? item.ids[0];
  for (const item of [...items].sort((a, b) => first(a) - first(b))) {
    if (item.leaf) continue;
    const above = into.get(item).filter(source => !source.leaf && layer.has(source));
    layer.set(item, 1 + Math.max(0, ...above.map(source => layer.get(source))));
    for (const source of into.get(item))
      if (source.leaf) firstUse.set(source, Math.min(firstUse.get(source) ?? Infinity, layer.get(item)));
  }
  for (const item of items)
    if (item.leaf) layer.set(item, (firstUse.get(item) ?? 1) - 1);
  return layer;
}

/* Edges across layers keep a place free in each of them, up to this span. */
const MAX_SPAN = 12;

function placesOf(items, edges) {
  const layer = layersOf(items, edges), rows = [], chains = [];
  const put = (row, place) => {
    rows[row] = rows[row] ?? [];
    rows[row].push(place);
    return place;
  };
  const boxes = new Map();
  for (const item of items) boxes.set(item, put(layer.get(item), {item, leaf: item.leaf, x: 0, row: layer.get(item), near: []}));
  for (const edge of edges) {
    const from = boxes.get(edge.from), to = boxes.get(edge.to), span = to.row - from.row, chain = [from];
    if (span <= MAX_SPAN && !edge.turn)
      for (let row = from.row + 1; row < to.row; row++) chain.push(put(row, {x: 0, row, near: []}));
    chain.push(to);
    for (let i = 1; i < chain.length; i++) {
      if (span > MAX_SPAN || edge.turn) break;
      chain[i].near.push(chain[i - 1]);
      chain[i - 1].near.push(chain[i]);
    }
    edge.chain = edge.turn ? edge.siblings[0].chain : chain;
    chains.push(edge);
  }
  return {rows: Array.from(rows, row => row ?? []), boxes, chains};
}

function widthOf(place) {
  return place.item === undefined ? 14 : place.leaf ? BOX.leaf : BOX.width;
}

/* Keeps the end of a long name, which says more than its start. */
function shortName(name, room) {
  return name.length > room ? `…${name.slice(1 - room)}` : name;
}

/* Moves the places of a row close to their targets, in the order of the targets, without overlap. */
function settle(row, target) {
  for (const place of row) place.target = target(place);
  row.sort((a, b) => a.target - b.target);
  let edge = -Infinity;
  for (const place of row) {
    place.x = Math.max(place.target, edge + widthOf(place) / 2);
    edge = place.x + widthOf(place) / 2 + BOX.across;
  }
  const drift = row.reduce((sum, place) => sum + place.x - place.target, 0) / row.length;
  for (const place of row) place.x -= drift;
}

const PULL = 0.95; /* toward the middle, so that nothing drifts away */

function arrange(rows) {
  rows.forEach(row => row.forEach((place, i) => place.x = (i - (row.length - 1) / 2) * (BOX.width + BOX.across)));
  const middle = (places, otherwise) => places.length ? places.reduce((sum, other) => sum + other.x, 0) / places.length : otherwise;
  const above = place => place.near.filter(other => other.row < place.row),
        below = place => place.near.filter(other => other.row > place.row);
  for (let round = 0; round < 4; round++) {
    for (const row of rows) settle(row, place => PULL * middle(above(place), middle(below(place), place.x / 2)));
    for (const row of [...rows].reverse()) settle(row, place => PULL * middle(below(place), middle(above(place), place.x / 2)));
  }
  for (const row of rows) settle(row, place => middle(above(place), place.x)); /* a value with one input is drawn straight below it */
}

function curveThrough(points) {
  let path = `M${points[0].x},${points[0].y}`;
  for (let i = 1; i < points.length; i++) {
    const a = points[i - 1], b = points[i], bend = (b.y - a.y) / 2;
    path += `C${a.x},${a.y + bend} ${b.x},${b.y - bend} ${b.x},${b.y}`;
  }
  return path;
}

/* ---- drawing ---- */

const MARKERS = ["plain", "swept", "current"], HEAD = 9;

/* One arrowhead for each color of edges; at the start of an edge it points back. */
function markers() {
  return svgElement("defs", {}, MARKERS.map(name => svgElement(
      "marker", {id: `head-${name}`, class: `head-${name}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: HEAD, markerHeight: HEAD,
                 markerUnits: "userSpaceOnUse", orient: "auto-start-reverse"},
      svgElement("path", {d: "M0,0L8,4L0,8z"}))));
}

function boxOf(replay, item, place, wide, x, y) {
  const value = replay.values[item.ids[0]], scope = item.scope && replay.scopes[item.scope - 1];
  const nodes = item.ids.filter(id => replay.values[id].op).length;
  const title = scope ? scope.name : value.name, op = scope ? "" : value.op ?? value.kind;
  const name = shortName(title, Math.floor((wide - 16) / 7.4)), room = Math.floor((wide - 16) / 7.4) - name.length;
  const first = svgElement("text", {x: 10, y: 18}, name);
  if (op) first.append(svgElement("tspan", {class: "op"}, room > 4 ? ` ${op.length > room - 1 ? op.slice(0, room - 2) + "…" : op}` : ""));
  return svgElement(
      "g", {class: "box", transform: `translate(${x - wide / 2},${y})`},
      svgElement("title", {}, scope ? `${scope.name}: ${countText(nodes, "node", "nodes")}; click to open` :
                                      `${[value.name, op, shapeText(value.picture.dims), scopeName(replay, value)].filter(Boolean).join(" ")}`),
      scope ? svgElement("rect", {class: "body behind", x: 4, y: 4, width: wide, height: BOX.height, rx: 10}) : "",
      svgElement("rect", {class: "body front", width: wide, height: BOX.height, rx: item.leaf ? 3 : 10}), first,
      svgElement("text", {x: 10, y: 35, class: "number"}), svgElement("text", {x: 10, y: 52, class: "g"}),
      scope ? "" : svgElement("image", {x: wide - 36, y: 26, width: 30, height: 30, preserveAspectRatio: "none"}));
}

/* Draws the values [from, to); returns {svg, width, height, boxes by value, items, edges}, which the replay updates. `choose` gets a value,
 * `enter` a closed scope. */
function drawGraph(replay, from, to, open, choose, enter) {
  const items = itemsOf(replay, from, to, open), {rows, boxes, chains} = placesOf(items, edgesOf(replay, items));
  const made = {boxes: new Map(), items: [], edges: []};
  arrange(rows);
  const sides = rows.flat().flatMap(place => [place.x - widthOf(place) / 2, place.x + widthOf(place) / 2]);
  const left = sides.reduce((a, b) => Math.min(a, b), Infinity) - 8;
  made.width = sides.reduce((a, b) => Math.max(a, b), -Infinity) + 10 - left;
  made.height = rows.length * (BOX.height + BOX.down) - BOX.down + 16;
  const top = place => place.row * (BOX.height + BOX.down) + 6;
  made.svg = svgElement("svg", {
    viewBox: `0 0 ${made.width} ${made.height}`,
    role: "img",
    "aria-label": `Graph of ${to - from} values; the listing has the same as text`
  });
  made.svg.append(markers());
  for (const {chain, pairs, turn, siblings} of chains) {
    const aside = siblings.length > 1 ? (turn - (siblings.length - 1) / 2) * 26 : 0;
    const points = chain.flatMap((place, i) => {
      const x = place.x - left + aside, y = top(place);
      if (i === 0) return [{x, y: y + BOX.height + 2}];
      return i === chain.length - 1 ? [{x, y: y - 2}] : [{x, y}, {x, y: y + BOX.height}];
    });
    const path = svgElement("path", {class: "edge", d: curveThrough(points)});
    made.edges.push({pairs, path, long: chain.length === 2 && chain[1].row - chain[0].row > 1});
    made.svg.append(path);
  }
  for (const [item, place] of boxes) {
    const wide = widthOf(place), x = place.x - left, y = top(place), group = boxOf(replay, item, place, wide, x, y);
    group.addEventListener("click", () => item.scope ? enter(item.scope) : choose(item.ids[0]));
    const box = {item, group, wide, x, y, number: group.querySelector(".number"), g: group.querySelector(".g"), image: group.querySelector("image")};
    for (const id of item.ids) made.boxes.set(id, box);
    made.items.push(box);
    made.svg.append(group);
  }
  return made;
}
