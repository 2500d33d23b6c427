// Shows what is under the pointer: the buffer, the step, and the bytes that are live at that step.
"use strict";
const lives = JSON.parse(document.getElementById("data").textContent); // [memory, bytes, from, until, group]
const chart = document.querySelector("#chart svg"), tip = document.getElementById("tip");
const grouped = (count) => count.toString().replace(/\B(?=(\d{3})+$)/g, ",");

// The title of a shape would appear beside the tip.
for (const title of chart.querySelectorAll("[data-buffer] > title")) {
  title.parentNode.dataset.title = title.textContent;
  title.remove();
}

function mark(buffer) {
  for (const shape of chart.querySelectorAll(".marked")) shape.classList.remove("marked");
  if (buffer !== undefined)
    for (const shape of chart.querySelectorAll(`[data-buffer="${buffer}"]`)) shape.classList.add("marked");
}

function stepAt(event, panel) {
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.getScreenCTM().inverse());
  const share = (at.x - Number(panel.dataset.x)) / Number(panel.dataset.wide);
  if (share < 0 || share >= 1) return undefined;
  return Number(panel.dataset.from) + Math.floor(share * Number(panel.dataset.steps));
}

chart.addEventListener("mousemove", (event) => {
  const panel = event.target.closest("g[data-memory]"), shape = event.target.closest("[data-buffer]");
  const step = panel ? stepAt(event, panel) : undefined;
  mark(shape?.dataset.buffer);
  if (step === undefined) return void (tip.style.display = "none");
  let count = 0;
  const largest = new Map(); // by group: of buffers that are together, one counts
  for (const [memory, bytes, from, until, group] of lives)
    if (memory === Number(panel.dataset.memory) && from <= step && step < until)
      largest.set(group, Math.max(largest.get(group) ?? 0, bytes)), ++count;
  const live = [...largest.values()].reduce((sum, bytes) => sum + bytes, 0);
  tip.textContent = (shape ? shape.dataset.title + "\n" : "") + `step ${step}: ${count} buffers, ${grouped(live)} bytes`;
  tip.style.display = "block";
  tip.style.left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8) + "px";
  tip.style.top = Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 8) + "px";
});
chart.addEventListener("mouseleave", () => {
  tip.style.display = "none";
  mark(undefined);
});
for (const row of document.querySelectorAll("tr[data-buffer]")) {
  row.addEventListener("mouseenter", () => mark(row.dataset.buffer));
  row.addEventListener("mouseleave", () => mark(undefined));
}
