#!/usr/bin/python3
"""Compiles the sample in the opening comment of each public header: header_samples.py SCRATCH COMPILER [FLAG...]

A sample is a fragment: the first indented lines of the comment. GIVEN declares the objects that a sample uses, and the
sample becomes the body of a function after these declarations. LEFT lists the headers whose sample is not compiled, with
the reason. All samples are written to one file, whose syntax is checked.
"""

import re
import subprocess
import sys
from pathlib import Path

HEADERS = Path(__file__).resolve().parents[3] / "include" / "allot"
NEEDS_SDK = re.compile(r"/(cuda|hip|metal|vulkan|opencl|mpi|shmem|hexagon|gpu)[/.]|/symmetric|on_rank|contiguous_pages")
LEFT = {
    "arena/detail/requirements.hpp": "names parameters of a template",
    "core/result.hpp": "leaves arguments out",
    "host/tightly_coupled.hpp": "two alternatives", "plan/workspace.hpp": "two alternatives",
    "arena/shared_arena.hpp": "two programs", "tensor/copy.hpp": "needs OpenCL", "tensor/texture.hpp": "needs OpenCL",
    "tensor/device_table.hpp": "needs OpenCL",
    "page_cache/copied_pages.hpp": "needs OpenCL", "external/memory.hpp": "needs Vulkan",
    "dma/imported_memory.hpp": "needs Vulkan", "compose/separate.hpp": "needs OpenCL",
    "arena/naive.hpp": "needs OpenCL", "compose/adopted.hpp": "needs OpenCL",
    "compose/block_cache.hpp": "needs CUDA", "compose/indexed.hpp": "needs CUDA",
    "compose/indexed_ordered.hpp": "needs CUDA",
    "compose/graph_pool.hpp": "needs CUDA", "compose/ordered.hpp": "needs CUDA",
}
TOP = """#include <atomic>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <string>
#include <thread>
#include <vector>
#include <boost/container/pmr/string.hpp>
#include <boost/container/pmr/vector.hpp>
#include <boost/container/vector.hpp>
using namespace allot::literals;
using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
struct widget {};
template <class... T> void log(const T&...) {}
template <class... T> void print(const T&...) {}
template <class... T> void report(const T&...) {}
template <class... T> int complain(const T&...) { return 1; }
void write_register(int, std::uint64_t);
void consumer_takes(void*);
"""
HEAP = "heap_arena arena{{}, 1_MiB};\n"
DATA = HEAP + "auto data = *allot::alloc_storage(arena, 8192, 128);\n"
BUFFERS = "static constexpr allot::plan_buffer buffers[] = {{.size = 4096, .live = {0, 2}}, {.size = 1024, .live = {1, 3}}};\n"
PROBLEM = BUFFERS + "const allot::plan_problem problem{.buffers = buffers};\n"
STEPS = "auto run_steps = [](int, int) {};\n"
LIMITS = "const allot::page_cache_limits limits{.bytes = 64};\nstd::vector<std::byte> records;\n"
ORDERED = ("allot::host::job_queue queue, other;\nallot::ordered<heap_arena, allot::host::job_timeline> memory{{}, allot::host::heap{}, 1_MiB};\n"
           "auto *stream = &queue;\nconst auto copies = memory.attach(&other);\n")
GIVEN = {
    "adapt/bad_alloc.hpp": "std::vector<int> values;\n",
    "compose/address_cache.hpp": "struct make_arena {\n"
                                 "    using strategy = allot::best_fit<allot::best_fit_options{.unlocked_capacity = true}>;\n"
                                 "    using arena = allot::arena<allot::host::virtual_memory, strategy,"
                                 " allot::growth::contiguous<>, allot::arena_options{.annotate = false}>;\n"
                                 "    arena operator()(std::size_t) const noexcept { return arena{allot::host::virtual_memory{64_GiB}}; }\n"
                                 "};\nstatic allot::address_heap<make_arena, allot::host::fork_lock> heap;\n",
    "compose/fallback.hpp": "heap_arena tightly_coupled{{}, 1_KiB}, ddr{{}, 1_MiB};\n",
    "compose/paged.hpp": "using rows_of = allot::pool<allot::pool_options{.slot = 2048}>;\n"
                         "using row_arena = allot::arena<allot::host::heap, rows_of>;\nusing table_arena = heap_arena;\n"
                         "row_arena rows{{}, 1_MiB};\ntable_arena tables{{}, 1_MiB};\n",
    "compose/on_queue.hpp": ORDERED + "const auto block = memory.allocate({.size = 64}, copies);\n",
    "compose/queue_id.hpp": ORDERED,
    "core/diagnosis.hpp": HEAP + "allot::layout wanted{64};\n",
    "dma/buffer.hpp": "char from[4096]{};\n",
    "dma/copy.hpp": DATA + "auto host = *allot::alloc_tensor(data, 0, {4}, allot::int32);\n"
                                  "allot::arena<allot::dma::heap<\"reserved\">, allot::best_fit<>> memory{{}, 8_MiB};\n"
                                  "auto &one = memory, &another = memory;\n"
                                  "auto device_data = *allot::alloc_storage(memory, 4096);\n"
                                  "auto in_dma_memory = *allot::alloc_tensor(device_data, 0, {4}, allot::int32);\n"
                                  "auto in_one = in_dma_memory, in_another = in_dma_memory;\n",
    "dma/u_dma_buf.hpp": "int source = 0;\n",
    "windows/error.hpp": "allot::windows::pages<> device;\n",
    "xrt/buffers.hpp": "void* board = nullptr;\nstd::uint32_t bank = 0;\nchar from[4096]{};\n",
    "xrt/imported_memory.hpp": "const auto xrt = allot::xrt::installed();\nvoid* board = nullptr;\n"
                               "allot::arena<allot::dma::heap<\"system\">, allot::best_fit<>> frames{{}, 8_MiB};\n",
    "host/process_barrier.hpp": "std::atomic<bool> inside{false}, stopped{false};\n",
    "host/shared_memory.hpp": "int socket = 0;\n",
    "inspect/format_error.hpp": "std::vector<std::byte> bytes;\n",
    "inspect/report.hpp": HEAP + "auto& memory = arena;\nallot::layout wanted{4096, 64};\n",
    "inspect/trace.hpp": "std::vector<std::byte> bytes;\n",
    "page_cache.hpp": "std::vector<std::byte> records;\n",
    "page_cache/eviction.hpp": LIMITS, "page_cache/page_copies.hpp": LIMITS + "char memory[2][4096];\n",
    **{f"page_cache/{name}_eviction.hpp": LIMITS + "allot::page_content prompt[2];\n"
       for name in ("leaf_first", "priority", "reuse", "s3_fifo")},
    "page_cache/page_cache.hpp": "allot::page_content prompt[2], contents_of_new_pages[2];\nunsigned rest = 40;\n"
                                 "auto run_kernels = [](std::span<const unsigned>) {};\n",
    "page_cache/page_key.hpp": "unsigned tokens[16];\n", "page_cache/page_stack.hpp": "unsigned pages_of_this_machine = 5;\n",
    "plan/check.hpp": PROBLEM, "plan/moves.hpp": BUFFERS, "plan/memories.hpp": BUFFERS, "plan/replan.hpp": PROBLEM,
    "plan/summary.hpp": PROBLEM, "plan/mixed.hpp": BUFFERS, "plan/compiled.hpp": PROBLEM, "plan/memory_plan.hpp": PROBLEM,
    "plan/mixed_violation.hpp": "const allot::mixed_problem problem;\nconst allot::mixed_plan plan;\n"
                                "const std::uint64_t capacity = 4096;\nauto print = [](auto...) {};\n",
    "plan/recompute_tensors.hpp": "const allot::operator_graph graph;\n",
    "plan/order_operators.hpp": "const allot::operator_graph graph;\n",
    "plan/share_bytes.hpp": "const allot::operator_graph graph;\nconst std::vector<std::uint32_t> order;\nconst std::size_t i = 0;\n",
    "plan/validate_graph.hpp": "const allot::operator_graph graph;\nconst std::vector<std::uint32_t> order;\n"
                               "const std::uint64_t capacity = 8;\nauto report = [](auto...) {};\n",
    "plan/share_branches.hpp": "const allot::operator_graph graph;\nconst std::size_t i = 0;\n",
    "plan/validate_branches.hpp": "const allot::operator_graph graph;\nconst std::vector<std::span<const std::uint32_t>> next;\n"
                                  "const std::vector<std::uint64_t> offsets;\nconst std::uint64_t capacity = 8;\n"
                                  "auto report = [](auto...) {};\n",
    "plan/guide.hpp": "std::vector<allot::pass_request> seen;\n",
    "plan/guided.hpp": "const int steps = 3;\nauto run = [](auto&) {};\n",
    "plan/ranged.hpp": HEAP, "plan/replan_at.hpp": STEPS, "plan/moves_violation.hpp": "const allot::moves_problem problem;\nconst allot::moves_plan plan;\n",
    "plan/timed.hpp": BUFFERS + "static constexpr std::uint64_t durations[12]{};\n", "plan/symbolic.hpp": HEAP + STEPS,
    "tensor/discontiguous.hpp": DATA + "auto table = *allot::alloc_storage(arena, 256);\n",
    "tensor/dlpack.hpp": DATA + "auto t = *allot::alloc_tensor(data, 0, {4}, allot::int32);\n"
                                "auto producer_gives = [] { return decltype(allot::dlpack_pointer{}.release()){}; };\n",
    "tensor/policies.hpp": HEAP,
    "tensor/refusal.hpp": HEAP + "auto storage = *allot::alloc_storage(arena, 4096);\n",
    "tensor/row_storage.hpp": "heap_arena memory{{}, 1_MiB}, tables{{}, 1_MiB};\n",
    "tensor/runs.hpp": DATA + "auto tensor = *allot::alloc_tensor(data, 0, {4}, allot::int32);\nlong sum = 0;\n"
                              "auto checksum = [](void*, std::size_t) { return 1; };\n",
    "tensor/dlpack_rows.hpp": DATA + "auto table = *allot::alloc_storage(arena, 256);\nauto rows ="
                              " *allot::alloc_discontiguous_tensor(table, 0, data, {0, 512}, {2, 64}, allot::int32);\n",
    "tensor/row_view.hpp": DATA + "auto table = *allot::alloc_storage(arena, 256);\nauto rows ="
                           " *allot::alloc_discontiguous_tensor(table, 0, data, {0, 512}, {2, 64}, allot::int32);\n",
    "tensor/fork.hpp": DATA + "auto tables = *allot::alloc_storage(arena, 256);\n",
    "tensor/shared_rows.hpp": DATA + "auto tables = *allot::alloc_storage(arena, 256);\n",
    "tensor/storage_list.hpp": DATA + "auto table = *allot::alloc_storage(arena, 256);\nauto fast = data, slow = data;\n",
    "tensor/storage.hpp": HEAP + "allot::scope_map memories{allot::in_scope<allot::scope::vtcm>(arena)};\n",
    "tensor/tensor.hpp": DATA,
    "tensor/scope.hpp": "heap_arena heap{{}, 1_MiB}, first_core{{}, 1_MiB}, second_core{{}, 1_MiB};\nunsigned ordinal = 0;\n",
}
# A class with static members, inline constants.
AT_NAMESPACE_SCOPE = {"core/allocator.hpp", "core/device.hpp", "core/options.hpp", "address/reserving_device.hpp"}


def sample_of(text):
    """Returns the first indented lines of the opening comment if they look like code, or an empty string."""
    lines = []
    for line in text.split("\n"):
        if not line.startswith("//") or (lines and not line.startswith("//     ")):
            break
        if line.startswith("//     "):
            lines.append(line[7:])
    code = [line for line in lines if not re.search("[─│┌└▓◄►]", line)]
    return "\n".join(code) if any(re.search(r"[;{}]\s*(//.*)?$", line) for line in code) else ""


def main(arguments):
    scratch = Path(arguments[0])
    scratch.mkdir(parents=True, exist_ok=True)
    includes, parts, unused = set(), [], set(GIVEN) | set(LEFT) | AT_NAMESPACE_SCOPE
    for path in sorted(HEADERS.rglob("*.hpp")):
        header = str(path.relative_to(HEADERS))
        sample = sample_of(path.read_text(encoding="utf-8"))
        if not sample or NEEDS_SDK.search("/" + header):
            continue
        unused.discard(header)
        if header in LEFT:
            continue
        includes.add(header)
        # Fills in omissions: the rest of a list, and the handling of an error.
        sample = re.sub(r"\{…\}", "{{.size = 64, .live = {0, 1}}}", sample)
        sample = re.sub(r", …\}", "}", sample)
        sample = sample.replace("{ … }", "{ return allot::tensor_result<int>{1}; }")
        sample = re.sub(r"(?<=[)] )…", "{}", sample) + "\n;"
        line = f'#line 1 "{header}: its sample"\n'
        if header in AT_NAMESPACE_SCOPE:
            parts.append(f"namespace sample_{len(parts)} {{\n{line}{sample}\n}}\n")
        else:
            result = "int" if "return " in sample else "void"
            end = "return 0;\n" if result == "int" else ""
            given = f'#line 1 "{header}: what is given"\n' + GIVEN.get(header, "")
            parts.append(f"{result} sample_{len(parts)}() {{\n{given}{line}{sample}\n{end}}}\n")
    source = scratch / "header_samples.cpp"
    included = ["allot.hpp", "object.hpp", "tensor.hpp", "plan.hpp", "dma/heap.hpp", "host/job_queue.hpp",
                "compose/ordered.hpp", *sorted(includes)]
    source.write_text("".join(f"#include <allot/{header}>\n" for header in included) + TOP + "".join(parts), encoding="utf-8")
    if unused:
        print(f"these headers are listed but have no sample: {', '.join(sorted(unused))}")
    done = subprocess.run([*arguments[1:], "-std=c++20", "-fsyntax-only", "-w", str(source)], timeout=600)
    print(f"samples of {len(parts)} headers: exit status {done.returncode}")
    return 1 if unused or done.returncode else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
