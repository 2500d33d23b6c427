// The page that plans a table of buffers. The planner is compiled to WebAssembly and runs in a worker (worker.js).
//
// planner_parts.js sets `allot_planner`: the module as base64 and the worker's text, because a page that was opened as
// a file may not fetch either. It is null if the site was built without a compiler for WebAssembly.
"use strict";

(function () {
    const part = (name) => document.getElementById("planner-" + name);
    const most_rectangles = 20000; // a browser draws more of them too slowly
    const most_lines = 5000, first_lines = 500; // and more lines in a field

    const examples = {
        five: () => "id,lower,upper,size\na,0,3,4\nb,3,9,4\nc,0,9,4\nd,9,21,4\ne,0,21,4\n",
        random300: () => random_table(300),
        random20000: () => random_table(20000),
    };

    /// The same table for each visitor: short lives and a few long ones, as in programs.
    function random_table(count) {
        let state = 12345;
        const below = (bound) => {
            state = (Math.imul(state, 1103515245) + 12345) >>> 0;
            return Math.floor((state / 2 ** 32) * bound);
        };
        const rows = ["id,lower,upper,size,alignment"];
        for (let i = 0; i !== count; ++i) {
            const lower = below(count);
            const length = 1 + (below(10) === 0 ? below(count / 4) : below(12));
            rows.push(`b${i},${lower},${lower + length},${64 * (1 + below(4096))},64`);
        }
        return rows.join("\n") + "\n";
    }

    /// The options of ./dev plan that the form states.
    function options_of_form() {
        const made = [];
        for (const name of ["capacity", "align", "pages"]) {
            const value = part(name).value.trim();
            if (value) made.push(`--${name}`, value);
        }
        for (const memory of part("memories").value.split(/\s+/)) if (memory) made.push("--memory", memory);
        if (part("moves").checked) made.push("--moves");
        return made;
    }

    /// Numbers above 2^53 stay exact as text.
    const parse = (json) => JSON.parse(json.replace(/: (\d{16,})(?=[,}\]])/g, ': "$1"'));
    const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");

    let module_made, worker, shown;
    let held; // a table with more lines than the field shows

    /// Puts a table into the field, or the first lines of a long one.
    function set_table(text) {
        const lines = text.split("\n", most_lines + 1);
        held = lines.length > most_lines ? text : undefined;
        part("table").value = held ? lines.slice(0, first_lines).join("\n") + "\n" : text;
        part("table").readOnly = Boolean(held);
        part("part").textContent = held
            ? `The field shows the first ${first_lines} of more than ${grouped(most_lines)} lines. Choose another table to edit it.` : "";
    }

    /// The module, compiled once.
    function module() {
        const bytes = () => Uint8Array.from(atob(allot_planner.module), (each) => each.charCodeAt(0));
        return (module_made ??= WebAssembly.compile(bytes()));
    }

    function say(text, refused = "") {
        part("status").textContent = text;
        part("message").textContent = refused;
    }

    function end_worker() {
        worker?.terminate();
        worker = undefined;
        part("plan").disabled = false;
        part("stop").disabled = true;
    }

    async function start() {
        end_worker();
        shown = undefined;
        part("result").hidden = true;
        say("planning…");
        part("plan").disabled = true;
        const task = {
            module: await module(),
            arguments: [...options_of_form(), "table.csv"],
            table: held ?? part("table").value,
            keep_on: part("keep-on").checked,
        };
        const source = URL.createObjectURL(new Blob([allot_planner.worker], { type: "text/javascript" }));
        worker = new Worker(source);
        URL.revokeObjectURL(source);
        worker.onmessage = ({ data }) => answer(data);
        worker.onerror = (event) => answer({ refused: "the planner failed in this browser: " + event.message });
        worker.postMessage(task);
        part("stop").disabled = false;
    }

    function answer({ progress, plan, done, refused }) {
        if (progress) say(`searching: ${grouped(progress.peak)}, lower bound ${grouped(progress.bound)}`);
        if (plan) show(plan);
        if (!done && refused === undefined) return;
        end_worker();
        say(refused === undefined ? "done" : "", refused);
    }

    function stop() {
        end_worker();
        say(shown ? "stopped; the last plan is shown" : "stopped before the first plan");
    }

    function show(plan) {
        shown = plan;
        const found = parse(plan.json);
        const numbers = [["Status", found.status.replaceAll("_", " ")], ["Peak", grouped(found.peak) + " bytes"]];
        if ("lower_bound" in found) numbers.push(["Lower bound", grouped(found.lower_bound) + " bytes"]);
        if ("cost" in found) {
            numbers.push(["Cost", grouped(found.cost)], ["Lower bound of the cost", grouped(found.lower_bound_of_cost)]);
        }
        if ("pages" in found) numbers.push(["Pages", `${grouped(found.pages)} of ${grouped(found.page_size)} bytes`]);
        numbers.push(["Buffers", grouped(found.buffers)], ["Time", found.seconds.toFixed(3) + " s"]);
        part("numbers").replaceChildren(...numbers.map(([name, value]) => {
            const [pair, term, text] = ["div", "dt", "dd"].map((kind) => document.createElement(kind));
            [term.textContent, text.textContent] = [name, value];
            pair.append(term, text);
            return pair;
        }));
        part("line").textContent = plan.line.trim();
        part("command").textContent = "$ " + ["./dev plan", ...options_of_form(), "table.csv"].join(" ");
        for (const button of document.querySelectorAll("[data-download]")) {
            button.disabled = button.dataset.download !== "svg" && !plan.fits;
        }
        draw(plan.svg);
        part("result").hidden = false;
    }

    /// Draws the picture in a root of its own, so that its style applies to it alone.
    function draw(svg) {
        const place = part("picture");
        const root = place.shadowRoot ?? place.attachShadow({ mode: "open" });
        const count = (svg.match(/<title>/g) ?? []).length;
        if (count > most_rectangles) {
            root.innerHTML = `<p>The picture has ${grouped(count)} rectangles. Download it to open it.</p>`;
            return;
        }
        root.innerHTML = svg;
        const style = document.createElement("style");
        style.textContent = allot_planner.style;
        root.append(style);
        const drawn = root.querySelector("svg");
        drawn.removeAttribute("width");
        drawn.removeAttribute("height");
        drawn.setAttribute("role", "img");
        drawn.onpointermove = ({ target }) => {
            const title = target.querySelector?.(":scope > title");
            if (title) part("hover").textContent = title.textContent;
        };
    }

    /// The plan as JSON: the summary of ./dev plan --json, and the rows of the table.
    function json_of({ json, table }) {
        const [header, ...rows] = table.trimEnd().split("\n").map((line) => line.split(","));
        const texts = ["id", "buffer", "buffer_id", "pages"]; // also if they look like numbers
        const is_number = (name, text) => /^-?\d+$/.test(text) && !texts.includes(name);
        const value = (name, text) => (text === "" ? "null" : is_number(name, text) ? text : JSON.stringify(text));
        const member = (text, i) => `${JSON.stringify(header[i])}: ${value(header[i], text)}`;
        const buffers = rows.map((row) => `  {${row.map(member).join(", ")}}`);
        return `${json.trimEnd().slice(0, -1)}, "places": [\n${buffers.join(",\n")}\n]}\n`;
    }

    function download(kind) {
        const [name, text, type] = {
            table: () => ["plan.csv", shown.table, "text/csv"],
            json: () => ["plan.json", json_of(shown), "application/json"],
            svg: () => ["plan.svg", shown.svg, "image/svg+xml"],
        }[kind]();
        const link = document.createElement("a");
        link.href = URL.createObjectURL(new Blob([text], { type }));
        link.download = name;
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    }

    if (allot_planner === null) {
        say("", "The planner is missing, because this copy of the site was built without a compiler for WebAssembly. " +
            "The command ./dev docs installs the compiler and builds the site again.");
        return;
    }
    part("table").closest("form").hidden = false;
    part("table").closest("form").onsubmit = (event) => {
        event.preventDefault();
        start();
    };
    part("stop").onclick = stop;
    part("file").onchange = async ({ target }) => {
        if (target.files.length) set_table(await target.files[0].text());
    };
    part("example").onchange = ({ target }) => {
        if (target.value) set_table(examples[target.value]());
    };
    for (const button of document.querySelectorAll("[data-download]")) {
        button.onclick = () => download(button.dataset.download);
    }
})();
