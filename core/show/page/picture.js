/* Tensors as numbers and as heat maps. */

const SVG = "http://www.w3.org/2000/svg";
const darkness = matchMedia("(prefers-color-scheme: dark)");

/* Strings among the children become text, never markup. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  return fill(made, attributes, children);
}

function svgElement(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  return fill(made, attributes, children);
}

function fill(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined && value !== null) made.setAttribute(key, value);
  made.append(...children.flat().filter(child => child !== null && child !== undefined && child !== ""));
  return made;
}

function shapeText(dims) {
  return `(${dims.join(", ")})`;
}

function countOf(picture) {
  return picture.dims.reduce((product, size) => product * size, 1);
}

/* All values of a small tensor, or its range. */
function fullText(picture) {
  if (picture.released) return "released";
  if (picture.values) return picture.values.join(" ");
  return `${picture.low} .. ${picture.high}, mean ${picture.mean}` + (picture.nan ? `, ${picture.nan} NaN` : "") +
      (picture.infinite ? `, ${picture.infinite} infinite` : "");
}

function briefNumber(value, digits) {
  const rounded = Number(value.toPrecision(digits));
  return rounded !== 0 && Math.abs(rounded) < 1e-3 ? rounded.toExponential() : String(rounded);
}

/* The same in at max `room` characters, if possible. */
function shortText(picture, room) {
  if (picture.released) return "released";
  if (picture.values && !picture.values.length) return "empty";
  if (picture.values && picture.values.join(" ").length <= room) return picture.values.join(" ");
  const nans = picture.nan ?? picture.values?.filter(text => text === "nan").length;
  if (nans) return `${nans} NaN`;
  if (picture.infinite || picture.values?.some(text => /inf/.test(text))) return "with infinities";
  const finite = (picture.values ?? [picture.low, picture.high]).map(Number);
  for (let digits = 4;; digits--) {
    const [low, high] = [Math.min(...finite), Math.max(...finite)].map(value => briefNumber(value, digits));
    if (digits === 1 || low.length + high.length + 3 <= room) return low === high ? low : `${low} … ${high}`;
  }
}

/* ---- colors: a diverging scale around 0 ---- */

function colorOf(t) {
  const [low, zero, high] =
      darkness.matches ? [[88, 150, 255], [44, 49, 57], [255, 112, 92]] : [[37, 99, 190], [244, 245, 247], [200, 48, 40]];
  const end = t < 0 ? low : high, share = Math.min(1, Math.abs(t));
  return zero.map((from, i) => Math.round(from + (end[i] - from) * share));
}

const NAN_COLOR = [242, 194, 0];

function infinityColor(negative) {
  return darkness.matches ? (negative ? [200, 120, 255] : [255, 255, 255]) : (negative ? [90, 0, 130] : [0, 0, 0]);
}

/* Black or white, for the better contrast. */
function textColorOn(color) {
  const [r, g, b] = color.map(part => part / 255).map(part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}

function css(color) {
  return `rgb(${color.join(",")})`;
}

function cellColor(byte) {
  if (byte === 0) return NAN_COLOR;
  if (byte === 1 || byte === 255) return infinityColor(byte === 1);
  return colorOf((byte - 128) / 126);
}

/* The colors of all 256 bytes, four bytes each. */
function palette() {
  if (palette.dark !== darkness.matches) {
    palette.dark = darkness.matches;
    palette.colors = Uint8Array.from({length: 1024}, (_, i) => i % 4 === 3 ? 255 : cellColor(i >> 2)[i % 4]);
  }
  return palette.colors;
}

/* ---- layout: tiles of rows of columns ---- */

/* Of a small tensor: {tiles, rows, columns, at(tile, row, column)}. */
function layoutOf({dims, layout}) {
  const last = dims[dims.length - 1] ?? 1, before = dims[dims.length - 2] ?? 1;
  const count = dims.reduce((product, size) => product * size, 1);
  if (!layout)
    return {tiles: count / (before * last) || 0, rows: before, columns: last, at: (t, r, c) => (t * before + r) * last + c};
  if (layout === "windows") {
    const windows = dims[2] * dims[3];
    return {tiles: windows, rows: dims[0], columns: dims[1], at: (t, r, c) => (r * dims[1] + c) * windows + t};
  }
  const [h, w, channels] = dims.slice(-3), image = h * w * channels;
  return {
    tiles: count / (h * w),
    rows: h,
    columns: w,
    at: (t, r, c) => Math.floor(t / channels) * image + (r * w + c) * channels + t % channels
  };
}

function bytesOf(picture) {
  picture.bytes = picture.bytes ?? Uint8Array.from(atob(picture.cells), character => character.charCodeAt(0));
  return picture.bytes;
}

/* The same bytes for a small tensor. */
function bytesOfValues(picture, layout) {
  const numbers = picture.values.map(text => ({inf: Infinity, "-inf": -Infinity}[text] ?? Number(text)));
  const scale = Math.max(0, ...numbers.filter(Number.isFinite).map(Math.abs));
  const bytes = [];
  for (let t = 0; t < layout.tiles; t++)
    for (let r = 0; r < layout.rows; r++)
      for (let c = 0; c < layout.columns; c++) {
        const value = numbers[layout.at(t, r, c)];
        bytes.push(
            Number.isNaN(value)     ? 0 :
                value === Infinity  ? 255 :
                value === -Infinity ? 1 :
                                      128 + (scale ? Math.round(126 * value / scale) : 0));
      }
  return bytes;
}

/* ---- heat maps ---- */

/* Tiles in about a square, one pixel per cell and one between tiles. A single line is broken after `max` cells, a tall matrix into
 * strips of `max` rows. */
function heatMap(tiles, rows, columns, bytes, max) {
  const count = tiles * rows * columns, line = tiles === 1 && Math.min(rows, columns) === 1 && count > max;
  if (tiles === 1 && columns > 1 && rows > Math.max(max, columns)) [tiles, rows] = [Math.ceil(rows / max), max];
  const wide = Math.min(tiles, Math.max(1, Math.round(Math.sqrt(tiles * rows / columns * 1.6)))),
        across = Math.ceil(tiles / Math.ceil(tiles / wide));
  const width = line ? max : across * (columns + 1) - 1;
  const height = line ? Math.ceil(count / max) : Math.ceil(tiles / across) * (rows + 1) - 1;
  const canvas = element("canvas", {width, height});
  const context = canvas.getContext("2d"), image = context.createImageData(width, height), colors = palette();
  for (let i = 0; i < count; i++) {
    const tile = Math.floor(i / (rows * columns)), row = Math.floor(i / columns) % rows, column = i % columns;
    const x = line ? i % max : tile % across * (columns + 1) + column;
    const y = line ? Math.floor(i / max) : Math.floor(tile / across) * (rows + 1) + row;
    for (let part = 0, at = 4 * (y * width + x); part < 4; part++) image.data[at + part] = colors[4 * bytes[i] + part];
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

function heatMapOf(picture, max) {
  if (picture.cells) return heatMap(picture.tiles, picture.rows, picture.columns, bytesOf(picture), max);
  const layout = layoutOf(picture);
  return heatMap(layout.tiles, layout.rows, layout.columns, bytesOfValues(picture, layout), max);
}

/* A data URL for a box of the graph; "" without a picture. */
function thumbnailOf(picture) {
  const dark = darkness.matches;
  if (picture.released || !(picture.cells || picture.values?.length > 1)) return "";
  if (picture.thumbnail?.dark !== dark)
    picture.thumbnail = {dark, address: heatMapOf(picture, Math.max(4, Math.ceil(Math.sqrt(countOf(picture))))).toDataURL()};
  return picture.thumbnail.address;
}

/* ---- figures ---- */

const lineLength = () => innerWidth > 900 ? 8 : 4; /* numbers before a single row is broken */

const minus = text => text.replaceAll("-", "\u2212");

/* With a key the cells can be found: data-cell is the key and the index. */
function numbersTable(picture, key) {
  const layout = layoutOf(picture), bytes = bytesOfValues(picture, layout), tables = [];
  let i = 0;
  for (let t = 0; t < layout.tiles; t++) {
    const body = element("tbody");
    for (let r = 0; r < layout.rows; r++) {
      let row = null;
      for (let c = 0; c < layout.columns; c++, i++) {
        if (c === 0 || (layout.rows === 1 && c % lineLength() === 0)) body.append(row = element("tr"));
        const index = layout.at(t, r, c), text = picture.values[index], color = cellColor(bytes[i]);
        const kind = text === "nan" ? "nan" : /inf/.test(text) ? "infinite" : null;
        const single = picture.values.length === 1;
        const cell = element(
            "td", {class: kind ?? (single ? "single" : null), "data-cell": key === undefined ? null : `${key}:${index}`},
            minus(text));
        if (!kind && !single) cell.style.cssText = `background:${css(color)};color:${textColorOn(color)}`;
        row.append(cell);
      }
    }
    tables.push(element("table", {}, body));
  }
  return element("div", {class: "numbers"}, tables);
}

function swatch(color) {
  const made = element("span", {class: "swatch"});
  made.style.background = css(color);
  return made;
}

function legend(picture) {
  const bar = element("span", {class: "bar"});
  bar.style.background = `linear-gradient(90deg, ${css(colorOf(-1))}, ${css(colorOf(0))}, ${css(colorOf(1))})`;
  const parts = [`\u2212${picture.scale}`, bar, picture.scale];
  if (picture.nan) parts.push(" ", swatch(NAN_COLOR), ` ${picture.nan} NaN`);
  if (picture.infinite) parts.push(" ", swatch(infinityColor(false)), swatch(infinityColor(true)), ` ${picture.infinite} infinite`);
  return element("div", {class: "under"}, parts);
}

const FEW_CELLS = 12; /* of which a crowded step still shows the numbers */

/* What a crowded step shows instead of many numbers. */
function mapInstead(picture) {
  const finite = picture.values.map(Number).filter(Number.isFinite), scale = Math.max(0, ...finite.map(Math.abs));
  return element("div", {class: "map-instead"}, heatMapOf(picture, 16), legend({scale: briefNumber(scale, 4)}));
}

/* `limit` is a share of the largest size. */
function scaleCanvas(canvas, limit) {
  const scale = Math.min(14, 260 * limit / canvas.width, 176 * limit / canvas.height);
  canvas.style.width = `${canvas.width * (scale > 1 ? Math.floor(scale) : scale)}px`;
}

function bodyOf(picture, key) {
  if (picture.released) return element("p", {class: "note"}, "Its values were released early.");
  if (picture.values?.length > FEW_CELLS) return element("div", {class: "many"}, numbersTable(picture, key), mapInstead(picture));
  if (picture.values) return picture.values.length ? numbersTable(picture, key) : element("p", {class: "note"}, "It has no values.");
  const numbers = minus(`${countOf(picture).toLocaleString("en")} values, ${picture.low} to ${picture.high}, mean ${picture.mean}`);
  const below = element("div", {class: "under extra"}, numbers);
  if (!picture.cells) return element("div", {class: "under"}, numbers);
  const canvas = heatMapOf(picture, 64);
  scaleCanvas(canvas, 1);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `Heat map: ${numbers}; shown: ${picture.part}`);
  return element("div", {}, canvas, legend(picture), below, element("div", {class: "under extra"}, `shown: ${picture.part}`));
}

function figureOf(picture, name, what, isGradient, key) {
  return element(
      "figure", {class: isGradient ? "gradient" : null},
      element("figcaption", {}, element("b", {}, name), ` ${shapeText(picture.dims)} ${what}`), bodyOf(picture, key));
}
