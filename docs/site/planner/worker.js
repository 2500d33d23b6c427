// The worker of the page that plans: runs planner.wasm, and answers with plans, each at least as good as the one before.
//
//     {module, arguments, table, keep_on} ──►  {progress: {peak, bound}} … {plan: {line, json, table, svg, fits}} … {done}
//                                              or {refused: a sentence}
//
// A large table gets a plan after a quarter of a second first, then that of the fixed effort, as ./dev plan makes it.
// With `keep_on` the search goes on, with four times the time for each further plan. The page stops it by ending the
// worker, and keeps the last plan.
"use strict";

class Refusal extends Error {}

/// Makes an instance. `progress(peak, bound)` returns whether to end the search.
async function instance_of(module, progress) {
    let memory;
    const text_at = (at, size) => new TextDecoder().decode(new Uint8Array(memory.buffer, at, size).slice());
    const imports = {
        page: {
            progress,
            refuse: (at, size) => {
                throw new Refusal(text_at(at, size));
            },
        },
        wasi_snapshot_preview1: {
            clock_time_get: (clock, precision, at) => {
                new DataView(memory.buffer).setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
                return 0;
            },
        },
    };
    const not_supported = 52; // ENOSYS: the planner reads and writes no files
    for (const { module: from, name } of WebAssembly.Module.imports(module)) imports[from][name] ??= () => not_supported;
    const { exports } = await WebAssembly.instantiate(module, imports);
    memory = exports.memory;
    exports._initialize();
    return { exports, text_at };
}

/// Plans once. `until` is the time at which the search ends, or nothing for the fixed effort.
async function plan({ module, arguments: given, table }, until) {
    let next = 0;
    const progress = (peak, bound) => {
        const now = performance.now();
        if (now > next) {
            next = now + 100;
            postMessage({ progress: { peak: String(peak), bound: String(bound) } });
        }
        return until !== undefined && now > until;
    };
    const { exports, text_at } = await instance_of(module, progress);
    const all = until === undefined ? given : [...given, "--budget=0"]; // `until` ends the search, not the number
    const text = new TextEncoder().encode(all.map((each) => each + "\0").join("") + table);
    const at = exports.room(text.length);
    new Uint8Array(exports.memory.buffer, at, text.length).set(text);
    const fits = Boolean(exports.plan());
    const [line, json, csv, svg] = [0, 1, 2, 3].map((which) => text_at(exports.output(which), exports.output_size(which)));
    return { line, json, table: csv, svg, fits };
}

const is_final = ({ json }) => /"status": "(optimal|infeasible)"/.test(json);

async function run(task) {
    const many = 500; // lines
    if (task.table.split("\n", many).length === many) {
        postMessage({ plan: await plan(task, performance.now() + 250) });
    }
    const started = performance.now();
    let made = await plan(task);
    postMessage({ plan: made });
    let time = performance.now() - started;
    while (task.keep_on && !is_final(made)) {
        time = 4 * time + 100;
        made = await plan(task, performance.now() + time);
        postMessage({ plan: made });
    }
}

onmessage = async ({ data }) => {
    try {
        await run(data);
        postMessage({ done: true });
    } catch (error) {
        const refused = error instanceof Refusal ? error.message : "the planner failed in this browser: " + error;
        postMessage({ refused });
    }
};
