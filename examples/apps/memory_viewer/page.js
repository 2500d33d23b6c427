"use strict";
// Draws the history or the snapshot that page.hpp writes. The chart is Plotly's. The map of the memory is a heatmap of the
// visible part: each zoom computes the cells again from the blocks, so the cost depends on the pixels and on the number of
// blocks. A snapshot has no time. Its map shows the addresses in rows, like lines of text from the bottom to the top.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

function decode(text, type) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new type(bytes.buffer);
}
const starts = decode(data.starts, Uint32Array), ends = decode(data.ends, Uint32Array);
const positions = decode(data.positions, Uint32Array), blockTags = decode(data.blockTags, Uint8Array);
const sizes = Float64Array.from(decode(data.sizes, Uint32Array));
for (let i = 0, large = 0; i < sizes.length; ++i) {
  if (sizes[i] === 0xFFFFFFFF) sizes[i] = data.largeSizes[large++];
}

// The rectangles of the map: one for each block, or one for each part of a block in a row.
const rowBytes = data.state && 2 ** Math.ceil(Math.log2(Math.max(data.extent, 1) / 96));
function rectangles() {
  const left = [], right = [], bottom = [], top = [], block = [];
  const add = (...values) => [left, right, bottom, top, block].forEach((array, i) => array.push(values[i]));
  for (let i = 0; i < starts.length; ++i) {
    const from = positions[i] * data.granule, end = from + sizes[i];
    if (!data.state) add(data.start + starts[i] * data.timeUnit, data.start + ends[i] * data.timeUnit, from, end, i);
    for (let at = from; data.state && at < end;) {
      const row = Math.floor(at / rowBytes) * rowBytes, stop = Math.min(end, row + rowBytes);
      add(at - row, stop - row, row, row + rowBytes, i);
      at = stop;
    }
  }
  const numbers = [left, right, bottom, top].map((array) => Float64Array.from(array));
  return [...numbers, Int32Array.from(block)];
}
const [rectLeft, rectRight, rectBottom, rectTop, rectBlock] = rectangles();

function inUnits(value, units, factor) {
  let unit = 0;
  for (; Math.abs(value) >= factor && unit + 1 < units.length; value /= factor) ++unit;
  return `${Number.isInteger(value) ? value : value.toPrecision(4)} ${units[unit]}`;
}
const bytesText = (value) => inUnits(value, ["B", "KiB", "MiB", "GiB", "TiB"], 1024);
const timeText = (value) => data.unit === "ns" ? inUnits(value, ["ns", "µs", "ms", "s"], 1000) : `${Math.round(value)}`;
function addressText(position) {
  let part = data.axis[0];
  for (const each of data.axis) if (each[2] <= position) part = each;
  return "0x" + Math.max(0, Math.round(part[0] + position - part[2])).toString(16);
}

// Tags by their greatest live bytes. The first ones have a color each, and the others share the last color.
const palette = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#ee8866", "#44bb99", "#99a3ff",
                 "#9c755f", "#bbbbbb"];
const greatest = data.byTag.map((values) => values.reduce((most, value) => Math.max(most, value), 0));
const tagsByBytes = data.tags.map((_, tag) => tag).filter((tag) => greatest[tag] > 0)
                        .sort((one, other) => greatest[other] - greatest[one]);
const rank = new Uint8Array(data.tags.length).fill(palette.length - 1);
tagsByBytes.slice(0, palette.length - 1).forEach((tag, i) => { rank[tag] = i; });
// The plotting library reads markup in texts.
const asText = (text) => text.replace(/[&<>]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[letter]);
const tagName = (tag) => asText(data.tags[tag] || "(no name)");

const colorings = {
  tag: { of: (i) => rank[blockTags[i]], least: -0.5, most: palette.length - 0.5,
         scale: palette.flatMap((color, i) => [[i / palette.length, color], [(i + 1) / palette.length, color]]) },
  size: { of: (i) => Math.log2(sizes[i]), scale: "Viridis" },
  life: { of: (i) => Math.log2(1 + (ends[i] - starts[i]) * data.timeUnit), scale: "Viridis" },
};
for (const name of ["size", "life"]) {
  const coloring = colorings[name];
  coloring.least = Infinity, coloring.most = -Infinity;
  for (let i = 0; i < sizes.length; ++i) {
    const value = coloring.of(i);
    coloring.least = Math.min(coloring.least, value), coloring.most = Math.max(coloring.most, value);
  }
}

// The numbers of the blocks in the cells of the visible part: -1 for no block.
const raster = { width: 0, height: 0, blocks: new Int32Array(0), x: [0, 1], y: [0, 1] };
function rasterize(x, y, width, height) {
  Object.assign(raster, { width, height, x, y });
  if (raster.blocks.length !== width * height) raster.blocks = new Int32Array(width * height);
  const cells = raster.blocks.fill(-1);
  const perTime = width / (x[1] - x[0]), perByte = height / (y[1] - y[0]);
  for (let i = 0; i < rectBlock.length; ++i) {
    const left = (rectLeft[i] - x[0]) * perTime, right = (rectRight[i] - x[0]) * perTime;
    const bottom = (rectBottom[i] - y[0]) * perByte, top = (rectTop[i] - y[0]) * perByte;
    if (right < 0 || left >= width || top < 0 || bottom >= height) continue;
    const fromX = Math.max(0, Math.floor(left)), toX = Math.min(width, Math.max(Math.round(right), fromX + 1));
    const fromY = Math.max(0, Math.floor(bottom)), toY = Math.min(height, Math.max(Math.round(top), fromY + 1));
    for (let row = fromY; row < toY; ++row) cells.fill(rectBlock[i], row * width + fromX, row * width + toX);
  }
}
function heat(coloring) {
  const rows = [];
  for (let row = 0; row < raster.height; ++row) {
    const values = new Array(raster.width);
    for (let column = 0; column < raster.width; ++column) {
      const block = raster.blocks[row * raster.width + column];
      values[column] = block < 0 ? null : coloring.of(block);
    }
    rows.push(values);
  }
  return rows;
}

const rows = data.state && Math.max(1, Math.ceil(data.extent / rowBytes));
const whole = data.state ? { x: [0, rowBytes], y: [0, rows * rowBytes] } : { x: [data.start, Math.max(data.end, data.start + 1)], y: [0, Math.max(data.extent, 1)] };
const chart = byId("chart");
function visible() {
  const layout = chart._fullLayout;
  return layout ? { x: layout.xaxis.range.slice(), y: layout.yaxis.range.slice() } : whole;
}
function mapTrace() {
  const coloring = colorings[byId("color").value], { x, y } = visible();
  const width = Math.max(100, Math.min(1200, chart.clientWidth - 160)), height = 400;
  rasterize(x, y, width, height);
  const dx = (x[1] - x[0]) / width, dy = (y[1] - y[0]) / height;
  return { z: heat(coloring), x0: x[0] + dx / 2, dx, y0: y[0] + dy / 2, dy, zmin: coloring.least, zmax: coloring.most,
           colorscale: coloring.scale };
}

function tickTexts(range, text) {
  const [from, to] = range, step = (to - from) / 5;
  const values = [0, 1, 2, 3, 4, 5].map((i) => from + i * step);
  return { tickvals: values, ticktext: values.map(text) };
}
const xTicks = (range) => data.state ? tickTexts(range, (offset) => bytesText(Math.round(offset))) : data.unit === "ns" ? tickTexts(range, (time) => timeText(time - data.start)) : {};
function bytesAxis(title, domain, most) {
  return { title: { text: title }, domain, range: [0, 1.05 * Math.max(most, 1)], fixedrange: true,
           ...tickTexts([0, Math.max(most, 1)], (value) => bytesText(Math.round(value))) };
}
function lines() {
  const line = (name, x, y, yaxis, more) => ({ type: "scatter", mode: "lines", name, x, y, yaxis, ...more });
  const step = { line: { shape: "hv", width: 1.5 } };
  const fragmentation = data.free.map((free, i) => free === 0 ? 0 : 1 - data.largestHole[i] / free);
  const shown = tagsByBytes.slice(0, palette.length - 1), others = tagsByBytes.slice(palette.length - 1);
  const stacked = shown.map((tag, i) => line(tagName(tag), data.times, data.byTag[tag], "y4",
    { stackgroup: "tags", line: { width: 0, shape: "hv" }, fillcolor: palette[i] }));
  if (others.length > 0) {
    const sums = data.times.map((_, i) => others.reduce((sum, tag) => sum + data.byTag[tag][i], 0));
    stacked.push(line("other tags", data.times, sums, "y4",
      { stackgroup: "tags", line: { width: 0, shape: "hv" }, fillcolor: palette[palette.length - 1] }));
  }
  return [
    line("held", data.times, data.held, "y2", { ...step, line: { ...step.line, color: "#999999" } }),
    line("live", data.times, data.live, "y2", { ...step, line: { ...step.line, color: "#4477aa" } }),
    line("largest hole", data.sampleTimes, data.largestHole, "y2",
      { ...step, line: { ...step.line, color: "#228833", dash: "dot" } }),
    line("fragmentation", data.sampleTimes, fragmentation, "y3", { line: { color: "#ee6677", width: 1.5 } }),
    ...stacked,
  ];
}

// A snapshot: the map, the bytes of each tag, and the number of holes of each size class.
function drawState() {
  const bars = (names, values, axis, colors) =>
    ({ type: "bar", x: names, y: values, xaxis: `x${axis}`, yaxis: `y${axis}`, marker: { color: colors } });
  const shown = tagsByBytes.slice(0, 24), bytes = shown.map((tag) => greatest[tag]);
  const classes = data.sizeClasses.map((_, i) => i).filter((i) => data.state.holeClasses[i] > 0);
  const title = (text) => ({ title: { text } });
  const layout = {
    margin: { l: 150, r: 10, t: 10, b: 60 }, hovermode: "closest", dragmode: "zoom", plot_bgcolor: "#f7f7f7",
    showlegend: false,
    xaxis: { range: whole.x.slice(), ...title("offset in the row"), ...xTicks(whole.x) },
    yaxis: { domain: [0.42, 1], range: whole.y.slice(), ...title("address of the row"), ...tickTexts(whole.y, addressText) },
    xaxis2: { domain: [0, 0.46], anchor: "y2", type: "category", fixedrange: true },
    yaxis2: { ...bytesAxis("bytes by tag or size class", [0, 0.3], Math.max(0, ...bytes)), anchor: "x2" },
    xaxis3: { domain: [0.56, 1], anchor: "y3", type: "category", fixedrange: true },
    yaxis3: { ...title("holes"), domain: [0, 0.3], anchor: "x3", fixedrange: true },
  };
  const traces = [mapOf(), bars(shown.map(tagName), bytes, 2, shown.map((tag) => palette[rank[tag]])),
                  bars(classes.map((i) => data.sizeClasses[i]), classes.map((i) => data.state.holeClasses[i]), 3, "#777777")];
  return Plotly.newPlot(chart, traces, layout, { scrollZoom: true, responsive: true, displaylogo: false });
}
const mapOf = () =>
  ({ type: "heatmap", showscale: false, hoverinfo: "none", hoverongaps: true, zsmooth: false, ...mapTrace() });

function draw() {
  const most = data.held.concat(data.live).reduce((one, other) => Math.max(one, other), 0);
  const layout = {
    margin: { l: 150, r: 10, t: 10, b: 40 }, hovermode: "closest", dragmode: "zoom", plot_bgcolor: "#f7f7f7",
    legend: { x: 1.01, y: 0.55 },
    xaxis: { range: whole.x.slice(), anchor: "y4", title: { text: data.unit === "ns" ? "time" : "event" },
             ...xTicks(whole.x) },
    yaxis: { domain: [0.5, 1], range: whole.y.slice(), title: { text: "address" }, ...tickTexts(whole.y, addressText) },
    yaxis2: bytesAxis("bytes", [0.32, 0.47], most),
    yaxis3: { title: { text: "fragmentation" }, domain: [0.18, 0.29], range: [0, 1.02], fixedrange: true },
    yaxis4: bytesAxis("by tag", [0, 0.15], data.live.reduce((one, other) => Math.max(one, other), 0)),
  };
  return Plotly.newPlot(chart, [mapOf(), ...lines()], layout, { scrollZoom: true, responsive: true, displaylogo: false });
}

// Computes the map and the labels of the visible part, at most once for each frame.
let waiting = false;
window.redraws = 0;
async function update() {
  waiting = false;
  const begin = performance.now(), { x, y } = visible();
  const { z, colorscale, ...numbers } = mapTrace();
  const change = { z: [z], colorscale: [colorscale] };
  for (const [name, value] of Object.entries(numbers)) change[name] = [value];
  const labels = {};
  for (const [name, value] of Object.entries(xTicks(x))) labels[`xaxis.${name}`] = value;
  for (const [name, value] of Object.entries(tickTexts(y, addressText))) labels[`yaxis.${name}`] = value;
  await Plotly.update(chart, change, labels, [0]);
  window.lastRedraw = performance.now() - begin;
  ++window.redraws;
}
function schedule() {
  if (!waiting) requestAnimationFrame(update);
  waiting = true;
}

function showTip(event) {
  const point = event.points.find((each) => each.curveNumber === 0);
  const tip = byId("tip");
  if (!point) { tip.style.display = "none"; return; }
  const column = Math.floor((point.x - raster.x[0]) / (raster.x[1] - raster.x[0]) * raster.width);
  const row = Math.floor((point.y - raster.y[0]) / (raster.y[1] - raster.y[0]) * raster.height);
  const block = raster.blocks[row * raster.width + column];
  if (block === undefined || block < 0) {
    const position = data.state ? Math.floor(point.y / rowBytes) * rowBytes + point.x : point.y;
    tip.textContent = `${addressText(Math.min(position, data.extent))}: no block`;
  } else {
    const begin = starts[block] * data.timeUnit, end = ends[block] * data.timeUnit;
    tip.textContent = `${addressText(positions[block] * data.granule)}: ${bytesText(sizes[block])}\n` +
      `tag: ${tagName(blockTags[block])}` +
      (data.state ? "" : `\nlive from ${timeText(begin)} to ${timeText(end)} (${timeText(end - begin)})`);
  }
  tip.style.display = "block";
  tip.style.left = `${Math.min(event.event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
  tip.style.top = `${Math.min(event.event.clientY + 14, innerHeight - tip.offsetHeight - 8)}px`;
}

byId("title").textContent = document.title = data.title;
byId("summary").textContent = (data.state ?
  `${data.allBlocks} blocks of ${bytesText(data.peak)}, ${data.state.holes} holes of ${bytesText(data.state.free)}, ` +
  `the largest of ${bytesText(data.state.largestHole)}, fragmentation ${data.state.fragmentation.toFixed(2)}` :
  `${data.events} events, ${data.allBlocks} blocks, peak ${bytesText(data.peak)}`) +
  (data.refusals ? `, ${data.refusals} refused requests` : "") +
  (data.unknown ? `, ${data.unknown} events of unknown blocks` : "") +
  (starts.length < data.allBlocks ? `. The map shows the ${starts.length} blocks with the largest size × lifetime.` : ".") +
  " A block covers at least one pixel.";
if (data.state) byId("color").querySelector("[value=life]").remove();
(data.state ? drawState() : draw()).then(() => {
  chart.on("plotly_relayout", (change) => {
    if (Object.keys(change).some((name) => /range|autosize/.test(name))) schedule();
  });
  chart.on("plotly_doubleclick", () => { byId("all").click(); return false; });
  chart.on("plotly_hover", showTip);
  chart.on("plotly_unhover", () => { byId("tip").style.display = "none"; });
  byId("color").addEventListener("change", schedule);
  byId("all").addEventListener("click", () => {
    Plotly.relayout(chart, { "xaxis.range": whole.x.slice(), "yaxis.range": whole.y.slice() });
  });
  window.ready = true;
});
