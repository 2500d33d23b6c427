// SPDX-License-Identifier: BSL-1.0
// ExecuTorch's runtime from its wheel with memory of allot: equal outputs, planned bytes, counters, and failures.
#include <allot_executorch.hpp>

#include <allot/allot.hpp>

#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <optional>

namespace {

using namespace allot::literals;
using executorch::extension::FileDataLoader;
using executorch::runtime::Error;
using executorch::runtime::MemoryManager;
using executorch::runtime::Method;
using executorch::runtime::Program;

using arena = allot::counted<allot::arena<allot::host::heap, allot::best_fit<>>>;
using outputs = std::array<float, 12>;

/// A program of the network that export.py describes, planned by ExecuTorch's `greedy` or by `allot`.
struct program {
    explicit program(const char* planner)
        : loader{FileDataLoader::from((std::string{ALLOT_PROGRAMS "/keywords_"} + planner + ".pte").c_str())} {}

    [[nodiscard]] auto load(MemoryManager& manager) const { return loaded->load_method("forward", &manager); }

    executorch::runtime::Result<FileDataLoader> loader;
    executorch::runtime::Result<Program> loaded = Program::load(&loader.get());
    executorch::runtime::MethodMeta meta = *loaded->method_meta("forward");
};

outputs run(Method& method, unsigned seed) {
    std::array<float, 490> sound;
    for (std::size_t i = 0; i != sound.size(); ++i) sound[i] = static_cast<float>((i * seed) % 17) / 17 - 0.5F;
    const auto input = executorch::extension::from_blob(sound.data(), {1, 1, 49, 10});
    REQUIRE(method.set_input(*input, 0) == Error::Ok);
    REQUIRE(method.execute() == Error::Ok);
    outputs made;
    const auto tensor = method.get_output(0).toTensor();
    REQUIRE(tensor.nbytes() == sizeof made);
    std::memcpy(made.data(), tensor.const_data_ptr(), sizeof made);
    return made;
}

/// Runs a program with ExecuTorch's own malloc, as Module does.
outputs run_with_malloc(const program& of, unsigned seed) {
    executorch::extension::MallocMemoryAllocator objects, temporary;
    std::vector<std::vector<std::uint8_t>> bytes;
    std::vector<executorch::runtime::Span<std::uint8_t>> spans;
    for (std::size_t i = 0; i != of.meta.num_memory_planned_buffers(); ++i)
        bytes.emplace_back(static_cast<std::size_t>(*of.meta.memory_planned_buffer_size(i)));
    for (auto& each : bytes) spans.emplace_back(each.data(), each.size());
    executorch::runtime::HierarchicalAllocator planned{{spans.data(), spans.size()}};
    MemoryManager manager{&objects, &planned, &temporary};
    auto method = of.load(manager);
    REQUIRE(method.ok());
    return run(*method, seed);
}

struct started {
    started() { executorch::runtime::runtime_init(); }
} const start;

}  // namespace

TEST_CASE("executorch: a method in an arena has equal outputs, and allot's plan needs fewer bytes") {
    std::size_t planned[2] = {};
    outputs results[2];
    for (const int which : {0, 1}) {
        const program of{which == 0 ? "greedy" : "allot"};
        arena memory{{{}, 1_MiB}};
        {
            allot_executorch::method_memory held{of.meta, memory};
            REQUIRE(held.status() == Error::Ok);
            auto method = of.load(held.manager());
            REQUIRE(method.ok());
            results[which] = run(*method, 3);
            CHECK(run(*method, 5) == run_with_malloc(of, 5));
            CHECK(run(*method, 3) == results[which]);
            planned[which] = held.planned_bytes();
            CHECK(held.objects().statistics().used > 0);
            CHECK(held.objects().statistics().refusals == 0);
            CHECK(held.temporary().statistics().count == 0);  // reset after each kernel
        }
        CHECK(memory.statistics().used == 0);
    }
    CHECK(results[0] == results[1]);
    CHECK(results[0] == run_with_malloc(program{"greedy"}, 3));
    CHECK(planned[0] == 96000);
    CHECK(planned[1] == 84000);
}

TEST_CASE("executorch: two methods share an arena") {
    const program of{"allot"};
    arena memory{{{}, 1_MiB}};
    allot_executorch::method_memory first{of.meta, memory}, second{of.meta, memory};
    auto one = of.load(first.manager()), two = of.load(second.manager());
    REQUIRE(one.ok());
    REQUIRE(two.ok());
    const outputs alone = run(*one, 7);
    CHECK(run(*two, 9) != alone);
    CHECK(run(*two, 7) == alone);
    CHECK(run(*one, 9) == run(*two, 9));
}

TEST_CASE("executorch: the planned buffers of two memories are in two arenas") {
    using fast_memory = allot::arena<allot::host::static_storage<48_KiB>, allot::bump<>>;
    const program of{"two"};
    fast_memory fast;
    arena slow{{{}, 1_MiB}};
    allot_executorch::method_memory held{of.meta, fast, slow};
    REQUIRE(held.status() == Error::Ok);
    CHECK(held.planned_bytes() > slow.statistics().used);
    CHECK(slow.statistics().used == static_cast<std::size_t>(*of.meta.memory_planned_buffer_size(1)));
    auto method = of.load(held.manager());
    REQUIRE(method.ok());
    CHECK(run(*method, 3) == run_with_malloc(program{"greedy"}, 3));

    arena one{{{}, 1_MiB}};
    const allot_executorch::method_memory together{of.meta, one};
    CHECK(together.status() == Error::Ok);
    CHECK(one.statistics().used == held.planned_bytes());
    const allot_executorch::method_memory apart{of.meta, one, slow};
    CHECK(apart.planned_bytes() == held.planned_bytes());
}

TEST_CASE("executorch: planned buffers that do not fit are refused") {
    const program of{"allot"};
    arena memory{{{}, 64_KiB}};
    {
        const allot_executorch::method_memory held{of.meta, memory};
        CHECK(held.status() == Error::MemoryAllocationFailed);
    }
    CHECK(memory.statistics().used == 0);
}

TEST_CASE("executorch: the interface of an allocator") {
    using small = allot::arena<allot::host::heap, allot::bump<>>;
    allot_executorch::allocator<small> memory{allot::host::heap{}, 4_KiB};
    executorch::runtime::MemoryAllocator& plain = memory;
    CHECK(plain.base_address() == nullptr);
    CHECK(plain.size() == 4096);
    std::size_t used = 0;
    for (const std::size_t align : {1u, 2u, 8u, 64u, 256u}) {
        const std::size_t size = 3 * align + 1;
        void* const fresh = plain.allocate(size, align);
        REQUIRE(fresh != nullptr);
        CHECK(reinterpret_cast<std::uintptr_t>(fresh) % align == 0);
        std::memset(fresh, 1, size);
        used += size;
    }
    CHECK(plain.used_size() == used);
    CHECK(plain.free_size() == 4096 - used);
    CHECK(plain.allocate(8, 3) == nullptr);
    CHECK(plain.allocate(8, 0) == nullptr);
    CHECK(plain.allocate(5000) == nullptr);
    CHECK(plain.allocate(0) != nullptr);
    CHECK(plain.allocateList<std::uint64_t>(std::numeric_limits<std::size_t>::max() / 2) == nullptr);
    CHECK(plain.allocateInstance<double>() != nullptr);
    plain.reset();
    CHECK(plain.used_size() == 0);
    CHECK(plain.allocate(4096, 1) != nullptr);
    CHECK(memory.statistics().refusals == 3);
}
