// A library that gives allot's planners to Python as the global function "allot.plan_memory". It needs TVM's FFI and no
// other part of TVM. The planner runs when a model is compiled. A program that runs the compiled model does not need
// it.
//
//     plan = tvm_ffi.get_global_func("allot.plan_memory")
//     #                 size, align, uses, memories, from, until, ...       capacity, align, cost
//     status, memory, offset, peak, bound, spilled = plan([(600, 64, 2, 0b11, 0, 3), (300, 64, 2, 0b11, 2, 5)],
//                                                         [(1024, 64, 0), (-1, 64, 1)], 150_000)
//
// A buffer is a shape: its size, its alignment, its number of uses, the memories in which it is allowed (bit m is
// memory m), and one or more lifetimes as pairs of steps. A memory is a shape: its capacity (-1 is no limit), its
// alignment and its cost. Memories are in ascending order of cost. The result is the status of the plan, and for each
// buffer its memory and offset, and for each memory its peak, and then the lower bound and the number of bytes outside
// the first memory. The bound is in bytes if there is one memory, and a cost if there are several.
//
// Complexity and memory: those of allot::plan and allot::plan_memories. Thread safety: calls may be concurrent.
#include <allot/plan.hpp>

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using tvm::ffi::Array;
using tvm::ffi::Error;
using tvm::ffi::Shape;
using tvm::ffi::String;
using answer = tvm::ffi::Tuple<String, Shape, Shape, Shape, std::int64_t, std::int64_t>;

/// The arrays that a problem of the planner views.
struct problem {
    std::vector<allot::plan_buffer> buffers;
    std::vector<allot::plan_revival> revivals;
    std::vector<std::uint64_t> uses, allowed;
    std::vector<allot::plan_memory> memories;

    [[nodiscard]] allot::memories_problem view() const {
        return {.buffers = {.buffers = buffers, .revivals = revivals},
                .memories = memories,
                .uses = uses,
                .allowed = allowed};
    }
};

[[nodiscard]] std::uint64_t natural(std::int64_t value, const char* name, std::size_t index) {
    if (value < 0)
        throw Error{"ValueError", "allot: " + std::string{name} + " " + std::to_string(index) + " is negative", ""};
    return static_cast<std::uint64_t>(value);
}

[[nodiscard]] problem read(const Array<Shape>& buffers, const Array<Shape>& memories) {
    problem made;
    for (std::size_t i = 0; i != buffers.size(); ++i) {
        const Shape given = buffers[i];
        if (given.size() < 6 || given.size() % 2 != 0)
            throw Error{"ValueError",
                        "allot: buffer " + std::to_string(i) +
                            " needs a size, an alignment, uses, memories, and pairs of steps",
                        ""};
        made.buffers.push_back({.size = natural(given[0], "the size of buffer", i),
                                .live = {given[4], given[5]},
                                .align = natural(given[1], "the alignment of buffer", i)});
        made.uses.push_back(natural(given[2], "the number of uses of buffer", i));
        made.allowed.push_back(static_cast<std::uint64_t>(given[3]));
        for (std::size_t life = 6; life != given.size(); life += 2)
            made.revivals.push_back({i, {given[life], given[life + 1]}});
    }
    for (std::size_t m = 0; m != memories.size(); ++m) {
        const Shape given = memories[m];
        if (given.size() != 3)
            throw Error{"ValueError",
                        "allot: memory " + std::to_string(m) + " needs a capacity, an alignment and a cost", ""};
        allot::plan_memory memory{.align = natural(given[1], "the alignment of memory", m),
                                  .cost = natural(given[2], "the cost of memory", m)};
        if (given[0] >= 0) memory.capacity = static_cast<std::uint64_t>(given[0]);
        made.memories.push_back(memory);
    }
    return made;
}

[[noreturn]] void refuse(allot::plan_error error) {
    throw Error{"ValueError", "allot: " + std::string{error.what()} + " (index " + std::to_string(error.which) + ")",
                ""};
}

[[noreturn]] void no_room(std::string text) { throw Error{"MemoryError", "allot: no plan: " + text, ""}; }

[[nodiscard]] Shape shape_of(const std::vector<std::int64_t>& values) { return Shape{values.begin(), values.end()}; }

/// Plans the buffers of memory `m` alone, and takes that plan if its peak is lower.
///
/// `plan_memories` minimizes costs. It stops at the first packing that fits, so a memory without a limit can have a
/// higher peak than necessary.
void lower_peak(const problem& given, std::uint32_t m, std::uint64_t effort, allot::memories_plan& made) {
    problem part;
    std::vector<std::size_t> index(given.buffers.size()), chosen;
    for (std::size_t i = 0; i != given.buffers.size(); ++i) {
        if (made.places[i].memory != m) continue;
        index[i] = part.buffers.size();
        chosen.push_back(i);
        part.buffers.push_back(given.buffers[i]);
        part.buffers.back().align = std::max(given.buffers[i].align, given.memories[m].align);
    }
    for (const allot::plan_revival& revival : given.revivals)
        if (made.places[revival.buffer].memory == m) part.revivals.push_back({index[revival.buffer], revival.live});
    const auto alone = allot::plan({.buffers = part.buffers, .revivals = part.revivals}, {.effort = effort});
    if (!alone) refuse(alone.error());
    if (alone->peak >= made.needs[m].peak) return;
    made.needs[m].peak = alone->peak;
    for (std::size_t i = 0; i != chosen.size(); ++i) made.places[chosen[i]].offset = alone->places[i].offset;
}

[[nodiscard]] answer answer_of(const allot::memories_plan& made, std::uint64_t bound) {
    std::vector<std::int64_t> memory, offset, peak;
    for (const allot::memory_place& place : made.places) {
        memory.push_back(place.memory);
        offset.push_back(static_cast<std::int64_t>(place.offset));
    }
    for (const allot::memory_needs& need : made.needs) peak.push_back(static_cast<std::int64_t>(need.peak));
    return answer{String{to_string(made.status)},
                  shape_of(memory),
                  shape_of(offset),
                  shape_of(peak),
                  static_cast<std::int64_t>(bound),
                  static_cast<std::int64_t>(made.spilled)};
}

[[nodiscard]] answer plan_one(problem& given, std::uint64_t effort) {
    for (allot::plan_buffer& buffer : given.buffers) buffer.align = std::max(buffer.align, given.memories[0].align);
    const auto made = allot::plan(given.view().buffers, {.capacity = given.memories[0].capacity, .effort = effort});
    if (!made) refuse(made.error());
    if (made->peak > given.memories[0].capacity)
        no_room("the best plan has " + std::to_string(made->peak) + " bytes and the memory has " +
                std::to_string(given.memories[0].capacity) + "; no plan has less than " + std::to_string(made->bound) +
                " bytes, which are live at step " + std::to_string(made->step) + ": " + to_string(made->status));
    allot::memories_plan all;
    all.status = made->status;
    all.needs = {{made->peak, made->align}};
    for (const allot::plan_place& place : made->places) all.places.push_back({0, place.offset, place.size});
    return answer_of(all, made->bound);
}

[[nodiscard]] answer plan_several(const problem& given, std::uint64_t effort) {
    auto made = allot::plan_memories(given.view(), {.effort = effort});
    if (!made) refuse(made.error());
    if (made->unplaced != 0 && made->which < given.buffers.size())
        no_room("buffer " + std::to_string(made->which) + " has " + std::to_string(given.buffers[made->which].size) +
                " bytes and fits none of its memories");
    if (made->unplaced != 0)
        no_room(std::to_string(made->unplaced) + " of " + std::to_string(given.buffers.size()) +
                " buffers fit no memory; the most bytes are live at step " + std::to_string(made->step) + ": " +
                to_string(made->status));
    for (std::uint32_t m = 0; m != given.memories.size(); ++m) lower_peak(given, m, effort, *made);
    return answer_of(*made, made->bound);
}

[[nodiscard]] answer plan_memory(const Array<Shape>& buffers, const Array<Shape>& memories, std::int64_t effort) {
    if (effort < 0) throw Error{"ValueError", "allot: the effort is negative", ""};
    problem given = read(buffers, memories);
    if (const auto error = allot::check_problem(given.view().buffers); error.reason != allot::plan_refusal::none)
        refuse(error);
    const auto work = static_cast<std::uint64_t>(effort);
    const bool one = given.memories.size() == 1 &&
                     std::ranges::all_of(given.allowed, [](std::uint64_t memories_of) { return memories_of & 1; });
    return one ? plan_one(given, work) : plan_several(given, work);
}

TVM_FFI_STATIC_INIT_BLOCK() { tvm::ffi::reflection::GlobalDef().def("allot.plan_memory", plan_memory); }

}  // namespace
