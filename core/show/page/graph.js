/* The graph: values in layers, each below its inputs. */

const BOX = {
  width: 172,
  leaf: 158,
  height: 62,
  across: 18,
  down: 34
};

function inputsOf(value) {
  return (value.inputs ?? []).filter(input => Number.isInteger(input));
}

/* The layer of each value in [from, to): one below the lowest of its inputs, and for a leaf right above its first use. */
function layersOf(values, from, to) {
  const layer = new Map(), firstUse = new Map();
  for (let id = from; id < to; id++) {
    if (!values[id].op) continue;
    const above = inputsOf(values[id]).filter(input => values[input].op && layer.has(input));
    layer.set(id, 1 + Math.max(0, ...above.map(input => layer.get(input))));
    for (const input of inputsOf(values[id]))
      if (!values[input].op && input >= from) firstUse.set(input, Math.min(firstUse.get(input) ?? Infinity, layer.get(id)));
  }
  for (let id = from; id < to; id++)
    if (!values[id].op) layer.set(id, (firstUse.get(id) ?? 1) - 1);
  return layer;
}

/* Edges across layers keep a place free in each of them, up to this span. */
const MAX_SPAN = 12;

function placesOf(values, from, to) {
  const layer = layersOf(values, from, to), rows = [], chains = [];
  const put = (row, place) => {
    rows[row] = rows[row] ?? [];
    rows[row].push(place);
    return place;
  };
  const boxes = new Map();
  for (let id = from; id < to; id++)
    boxes.set(id, put(layer.get(id), {id, leaf: !values[id].op, x: 0, row: layer.get(id), near: []}));
  for (let id = from; id < to; id++)
    for (const input of new Set(inputsOf(values[id]))) {
      if (!boxes.has(input)) continue;
      const span = layer.get(id) - layer.get(input), chain = [boxes.get(input)];
      if (span <= MAX_SPAN)
        for (let row = layer.get(input) + 1; row < layer.get(id); row++) chain.push(put(row, {x: 0, row, near: []}));
      chain.push(boxes.get(id));
      for (let i = 1; i < chain.length; i++) {
        if (span > MAX_SPAN) break;
        chain[i].near.push(chain[i - 1]);
        chain[i - 1].near.push(chain[i]);
      }
      chains.push({from: input, to: id, chain});
    }
  return {rows: Array.from(rows, row => row ?? []), boxes, chains};
}

function widthOf(place) {
  return place.id === undefined ? 14 : place.leaf ? BOX.leaf : BOX.width;
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

/* The smallest scale for a graph that is too wide. */
const MIN_SCALE = 0.7;

/* Draws the values [from, to) for a frame `space` pixels wide; returns {svg, scale, boxes, edges}, which the replay updates. */
function drawGraph(values, from, to, choose, space) {
  const {rows, boxes, chains} = placesOf(values, from, to), made = {boxes: new Map(), edges: []};
  arrange(rows);
  const edges = rows.flat().flatMap(place => [place.x - widthOf(place) / 2, place.x + widthOf(place) / 2]);
  const left = edges.reduce((a, b) => Math.min(a, b), Infinity) - 6,
        width = edges.reduce((a, b) => Math.max(a, b), -Infinity) + 6 - left;
  const top = place => place.row * (BOX.height + BOX.down) + 6;
  const height = rows.length * (BOX.height + BOX.down) - BOX.down + 12;
  made.scale = Math.min(1, Math.max(MIN_SCALE, space / width));
  made.svg = svgElement("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width: width * made.scale,
    height: height * made.scale,
    role: "img",
    "aria-label": `Graph of ${to - from} values; the listing has the same as text`
  });
  for (const {from: input, to: id, chain} of chains) {
    const points = chain.flatMap((place, i) => {
      const x = place.x - left, y = top(place);
      if (i === 0) return [{x, y: y + BOX.height}];
      return i === chain.length - 1 ? [{x, y}] : [{x, y}, {x, y: y + BOX.height}];
    });
    const path = svgElement("path", {class: "edge", d: curveThrough(points)});
    made.edges.push({input, id, path, long: chain.length === 2 && boxes.get(id).row - boxes.get(input).row > 1});
    made.svg.append(path);
  }
  for (const [id, place] of boxes) {
    const value = values[id], wide = widthOf(place),
          group = svgElement(
              "g", {class: value.op ? "box" : "box leaf", transform: `translate(${place.x - left - wide / 2},${top(place)})`});
    const name = shortName(value.name, Math.floor((wide - 14) / 7.3)), room = Math.floor((wide - 14) / 7.3) - name.length,
          op = value.op ?? value.kind;
    const first = svgElement("text", {x: 10, y: 18}, name);
    first.append(svgElement("tspan", {class: "op"}, room > 4 ? ` ${op.length > room ? op.slice(0, room - 1) + "…" : op}` : ""));
    group.append(
        svgElement("title", {}, `${value.name} ${op} ${shapeText(value.picture.dims)}`),
        svgElement("rect", {class: "body", width: wide, height: BOX.height, rx: value.op ? 10 : 3}), first,
        svgElement("text", {x: 10, y: 35, class: "number"}), svgElement("text", {x: 10, y: 52, class: "g"}),
        svgElement("image", {x: wide - 36, y: 26, width: 30, height: 30, preserveAspectRatio: "none"}));
    group.addEventListener("click", () => choose(id));
    made.boxes.set(id, {
      group,
      wide,
      x: place.x - left,
      y: top(place),
      number: group.querySelector(".number"),
      g: group.querySelector(".g"),
      image: group.querySelector("image")
    });
    made.svg.append(group);
  }
  return made;
}
