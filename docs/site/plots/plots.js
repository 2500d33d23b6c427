// The page of plots: one section for each benchmark of docs/benchmarks.json, which ./dev bench --json writes.
//
// plots_data.js sets `allot_benchmarks`, the content of that file. A section draws one of its tables: bars, a group for
// each row and a color for each column of numbers. If rows repeat their name, with another number in the second column,
// it draws lines over that number instead. A table with times and extents has a second plot, of one over the other. Below
// the plots is the table itself. Without Plotly the page has only the tables, and so has a table without numbers.
"use strict";

(function () {
    const titles = {
        instructions: "Instructions",
        include: "Cost of including allot",
        bump: "Bump",
        pool: "Pool",
        best_fit: "Best fit and general allocators",
        guided: "Best fit with a recorded plan",
        plan: "Planners",
        pages: "Page caches",
        ordered: "Several queues",
        containers: "Containers of Boost",
        threads: "Threads",
        malloc: "Programs with allot as malloc",
    };
    // The columns that are visible first: those that match the first pattern that any column matches. The legend shows the
    // others. By default, all are visible.
    const replay = [/^ns, least$/, /^to the first$/];
    const columns_first = {
        instructions: [/^(allocate|deallocate|instructions an operation)$/],
        include: [/, s$/],
        bump: replay,
        pool: replay,
        best_fit: replay,
        plan: [/\/ bound$|ratio$/, /^mean above it/, /^(bound|pages)$/, /^(networks|at the bound)$/, /^(captures|optimal)$/],
        pages: [/^(found %|uniform|cut)$/],
        ordered: [/^(two|four|two apart|four apart)$/],
        threads: [/^ns per pair|^growth/],
    };
    const table_first = /: ns an operation, least$|^lowest in/; // of all traces; of the planner
    const colors = ["#1779c4", "#e07b39", "#3d9970", "#8e63b5", "#c24d5e", "#8a8f3c", "#4f8fa8", "#a8754f", "#5b6fd0",
        "#777"];
    const height_of_bar = 17;
    const color_of = (number) => colors[number % colors.length];

    const element = (kind, text = "") => Object.assign(document.createElement(kind), { textContent: text });
    const is_number = (value) => typeof value === "number";
    const numbers_of = (table) =>
        table.columns.map((_, at) => at).filter((at) => at > 0 && table.rows.some((row) => is_number(row[at])));
    const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

    function options_of(list, texts) {
        for (const [at, text] of texts.entries()) list.add(new Option(text, at));
    }

    /// The first columns of a table: those of its benchmark, and all if it has none of them.
    function visible_columns(name, table) {
        const numbers = numbers_of(table);
        const matching = (pattern) => numbers.filter((at) => pattern.test(table.columns[at]));
        const choices = (columns_first[name] ?? []).map(matching);
        return choices.find((choice) => choice.length) ?? numbers;
    }

    /// The names of the rows. A name that occurs again gets a number, because bars of one name would cover each other.
    function labels_of({ rows }) {
        const counts = new Map();
        return rows.map(([label]) => {
            counts.set(label, (counts.get(label) ?? 0) + 1);
            return counts.get(label) === 1 ? label : `${label} (${counts.get(label)})`;
        });
    }

    function bars(name, table) {
        const visible = visible_columns(name, table);
        const labels = labels_of(table);
        return numbers_of(table).map((at, column) => ({
            type: "bar",
            orientation: "h",
            name: table.columns[at],
            y: labels,
            x: table.rows.map((row) => (is_number(row[at]) ? row[at] : null)),
            visible: visible.includes(at) ? true : "legendonly",
            marker: { color: color_of(visible.includes(at) ? visible.indexOf(at) : visible.length + column) },
            hovertemplate: "%{y}<br>%{fullData.name}: %{x}<extra></extra>",
        }));
    }

    /// Whether names repeat with different numbers in the second column, which then is part of what a row measures.
    function is_series({ rows }) {
        const names = new Set(rows.map((row) => row[0]));
        const pairs = new Set(rows.map((row) => `${row[0]},${row[1]}`));
        return names.size < rows.length && pairs.size === rows.length && rows.every((row) => is_number(row[1]));
    }

    /// The first visible column over the second column, a line for each name.
    function lines(name, table) {
        const at = visible_columns(name, table)[0];
        return [...new Set(table.rows.map((row) => row[0]))].map((label) => {
            const rows = table.rows.filter((row) => row[0] === label);
            return {
                type: "scatter",
                mode: "lines+markers",
                name: label,
                x: rows.map((row) => row[1]),
                y: rows.map((row) => row[at]),
                hovertemplate: `${label}<br>${table.columns[1]}: %{x}<br>${table.columns[at]}: %{y}<extra></extra>`,
            };
        });
    }

    /// Time over extent, if the table has both.
    function scatter(table) {
        const column = (name) => table.columns.findIndex((text) => name.test(text));
        const [time, extent] = [column(/^ns, least/), column(/^extent over peak/)];
        if (time < 0 || extent < 0) return [];
        const rows = table.rows.filter((row) => is_number(row[time]) && is_number(row[extent]));
        if (new Set(rows.map((row) => row[extent])).size < 2) return [];
        return [{
            type: "scatter",
            mode: "markers+text",
            text: rows.map((row) => row[0]),
            textposition: "top center",
            textfont: { size: 10 },
            x: rows.map((row) => row[time]),
            y: rows.map((row) => row[extent]),
            marker: { size: 9, color: colors[0] },
            hovertemplate: "%{text}<br>%{x} ns an operation<br>extent over peak %{y}<extra></extra>",
        }];
    }

    function layout(more) {
        const line = variable("--separator-color") || "#ddd";
        return {
            paper_bgcolor: "rgba(0,0,0,0)",
            plot_bgcolor: "rgba(0,0,0,0)",
            font: { color: variable("--page-foreground-color") || "#2f4153", family: "sans-serif", size: 12 },
            margin: { l: 10, r: 10, t: 10, b: 40 },
            colorway: colors,
            ...more,
            xaxis: { gridcolor: line, zerolinecolor: line, automargin: true, ...more.xaxis },
            yaxis: { gridcolor: line, zerolinecolor: line, automargin: true, ...more.yaxis },
        };
    }

    /// On a narrow screen, the legend has a line for each column.
    const height_of_legend = (table) => 90 + (innerWidth < 768 ? 20 * numbers_of(table).length : 20);

    function draw(section) {
        const { name, table, places, logarithmic } = section;
        const visible = visible_columns(name, table);
        const settings = { responsive: true, displayModeBar: false };
        const type = logarithmic.checked ? "log" : "linear";
        const legend = { orientation: "h", y: 1, yanchor: "bottom", x: 0 };
        if (is_series(table)) {
            Plotly.react(places[0], lines(name, table), layout({
                height: 420,
                showlegend: true,
                legend,
                xaxis: { title: { text: table.columns[1] }, type: "log" },
                yaxis: { title: { text: table.columns[visible[0]] }, type },
            }), settings);
        } else {
            Plotly.react(places[0], bars(name, table), layout({
                height: height_of_legend(table) + height_of_bar * table.rows.length * Math.max(1.2, visible.length * 0.8),
                barmode: "group",
                showlegend: true,
                legend,
                xaxis: { type },
                yaxis: { autorange: "reversed", type: "category" },
            }), settings);
        }
        const points = scatter(table);
        places[1].hidden = !points.length;
        if (!points.length) return;
        Plotly.react(places[1], points, layout({
            height: 460,
            xaxis: { title: { text: "ns an operation, the least" }, type: "log" },
            yaxis: { title: { text: "extent over peak" } },
        }), settings);
    }

    function write_table(place, table) {
        const made = element("table");
        made.className = "markdownTable";
        const row = (kind, cells) => {
            const line = made.insertRow();
            line.append(...cells.map((cell) => element(kind, cell === null ? "" : String(cell))));
        };
        row("th", table.columns);
        for (const cells of table.rows) row("td", cells);
        place.replaceChildren(element("summary", "Table"), made);
    }

    function write_section(place, name, of) {
        const heading = element("h2", titles[name] ?? name);
        heading.id = "plot-" + name;
        const when = `${of.date}, allot ${of.version} (${of.commit}), ${of.processor}, ${of.processors} processors, ` +
            `load ${of.load}, ${of.system}, ${of.compiler}`;
        const choice = element("select"), label = element("label", " logarithmic"), logarithmic = element("input");
        logarithmic.type = "checkbox";
        label.prepend(logarithmic);
        choice.setAttribute("aria-label", "Table of " + heading.textContent);
        options_of(choice, of.tables.map(({ title, columns }) => [title, columns[0]].filter(Boolean).join(" – ") || name));
        const controls = element("p");
        controls.className = "plots-controls";
        controls.append(choice, label);
        const places = [element("div"), element("div")], table = element("details");
        const note = element("p", when);
        note.className = "plots-when";
        place.append(heading, note, controls, ...places, table);
        choice.value = Math.max(0, of.tables.findIndex(({ columns }) => table_first.test(columns[0])));
        const section = { name, note, places, logarithmic, is_near: false };
        section.update = () => {
            section.table = of.tables[choice.value];
            write_table(table, section.table);
            const has_plot = typeof Plotly !== "undefined" && numbers_of(section.table).length > 0;
            for (const plot of places) plot.hidden = !has_plot;
            label.hidden = !has_plot;
            if (!has_plot) table.open = true;
            else if (section.is_near) draw(section);
        };
        choice.onchange = logarithmic.onchange = section.update;
        section.update();
        return section;
    }

    const measured = allot_benchmarks.benchmarks;
    const names = [...new Set([...Object.keys(titles), ...Object.keys(measured)])].filter((name) => name in measured);
    const sections = names.map((name) => write_section(document.getElementById("plots"), name, measured[name]));
    if (typeof Plotly === "undefined") {
        document.getElementById("plots-note").textContent =
            "This copy of the site was built without Plotly, so that it has only the tables. ./dev docs installs Plotly.";
        return;
    }
    // Plots are drawn when they come near, and again when the colors of the page change.
    const near = new IntersectionObserver((entries) => {
        for (const { isIntersecting, target } of entries) {
            const section = sections.find(({ note }) => note === target);
            if (!isIntersecting || section.is_near) continue;
            section.is_near = true;
            section.update();
        }
    }, { rootMargin: "600px" });
    for (const { note } of sections) near.observe(note);
    new MutationObserver(() => sections.filter(({ is_near }) => is_near).forEach(({ update }) => update()))
        .observe(document.documentElement, { attributes: true, attributeFilter: ["class"] });
})();
