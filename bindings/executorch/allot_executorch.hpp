// SPDX-License-Identifier: BSL-1.0
// allot_executorch: memory of allot for the methods of ExecuTorch.
//
//     allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::geometric<>> arena;       // for all methods
//     const auto meta = program.method_meta("forward");
//     allot_executorch::method_memory memory{*meta, arena};
//     if (memory.status() != executorch::runtime::Error::Ok) …               // the arena is full
//     auto method = program.load_method("forward", &memory.manager());      // the method ends before its memory
//
//     MemoryManager ─┬─► method allocator         a bump arena: the objects of the loaded method
//                    ├─► HierarchicalAllocator    one block of an arena of yours for each planned buffer
//                    └─► temporary allocator      a bump arena, which ExecuTorch resets after each kernel
//
// The planned buffers have the sizes that the memory planning of the export has written into the program. Plan them
// with allot, too (allot_executorch.py). A program with two memories can have two arenas: method_memory{meta, fast,
// slow}. The bump arenas acquire memory from the device when it is needed, in place of pools of a fixed size.
//
// When to use: to run several methods in one memory, with its limit and its counters, or to place the planned buffers
// in memory of a device of your own.
// When not to use: where Module of ExecuTorch with its malloc suffices.
//
// Complexity: O(1) for each object of a method; that of the arena for each planned buffer.
// Memory: the regions of the arenas. `temporary_options` and `object_options` have the steps in which they grow.
// Thread safety: that of ExecuTorch: one method runs in one thread at a time. Synchronize an arena of several threads.
#pragma once

#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method_meta.h>

#include <allot/arena/arena.hpp>
#include <allot/arena/growth.hpp>
#include <allot/compose/counted.hpp>
#include <allot/host/heap.hpp>
#include <allot/object/unique_block.hpp>
#include <allot/strategy/bump.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

namespace allot_executorch {

/// The alignment of a planned buffer, in bytes. It is that of ExecuTorch's memory planning.
inline constexpr std::size_t planned_alignment = 16;

/// A MemoryAllocator of ExecuTorch over an allot allocator that can free all blocks at once.
template <allot::resettable_allocator Memory>
class allocator final : public executorch::runtime::MemoryAllocator {
    static_assert(std::same_as<typename Memory::address_model, allot::raw_pointer> && Memory::host_accessible,
                  "allot: ExecuTorch reads and writes the bytes: use a device of host memory");

public:
    /// Constructs the allocator from the arguments.
    template <class... Arguments>
    explicit allocator(Arguments&&... arguments)
        : MemoryAllocator{0, nullptr}, memory_{Memory(std::forward<Arguments>(arguments)...)} {}

    /// Allocates bytes. Returns null on failure and for an invalid alignment.
    void* allocate(std::size_t size, std::size_t alignment = kDefaultAlignment) override {
        return memory_.allocate({size == 0 ? 1 : size, alignment}).address;
    }
    /// Frees all blocks.
    void reset() override { memory_.reset(); }
    /// Returns null: the blocks are in several regions.
    [[nodiscard]] std::uint8_t* base_address() const override { return nullptr; }
    /// Returns the size of all regions, or the maximum of the type.
    [[nodiscard]] std::uint32_t size() const override {
        return static_cast<std::uint32_t>(
            std::min<std::size_t>(memory_.size(), std::numeric_limits<std::uint32_t>::max()));
    }
    /// Returns the requested bytes of all blocks.
    [[nodiscard]] std::size_t used_size() const override { return statistics().used; }
    /// Returns the bytes of the regions that no block has.
    [[nodiscard]] std::size_t free_size() const override { return memory_.size() - used_size(); }
    /// Returns the counters.
    [[nodiscard]] allot::allocator_statistics statistics() const noexcept { return memory_.statistics(); }

private:
    allot::counted<Memory> memory_;
};

/// The options of the arena for the objects of a loaded method.
inline constexpr allot::growth_options object_options{.step = 16 * 1024};
/// The options of the arena for temporary bytes of kernels.
inline constexpr allot::growth_options temporary_options{.step = 64 * 1024};
/// The arena of an allocator of ExecuTorch.
template <allot::growth_options Options>
using bump_arena = allot::arena<allot::host::heap, allot::bump<>, allot::growth::geometric<Options>>;

/// The memory of one method: its planned buffers, and the arenas of its objects and temporary bytes. The first buffer
/// is in the first memory, the second one in the second, and so on. The last memory has the remaining ones.
template <allot::allocator... Memories>
class method_memory {
    using buffer = executorch::runtime::Span<std::uint8_t>;
    using error = executorch::runtime::Error;
    static_assert(sizeof...(Memories) != 0, "allot: give the memory of the planned buffers");
    static_assert((std::same_as<typename Memories::address_model, allot::raw_pointer> && ...) &&
                      (Memories::host_accessible && ...),
                  "allot: ExecuTorch reads and writes the bytes: use a device of host memory");

public:
    /// Allocates the planned buffers of a method. The memories must outlive this object.
    explicit method_memory(const executorch::runtime::MethodMeta& of, Memories&... planned)
        : status_{allocate(of, std::index_sequence_for<Memories...>{}, planned...)} {}
    method_memory(const method_memory&) = delete;
    method_memory& operator=(const method_memory&) = delete;

    /// Returns Error::MemoryAllocationFailed if a planned buffer does not fit, and Error::Ok otherwise.
    [[nodiscard]] error status() const noexcept { return status_; }
    /// Returns the manager for `Program::load_method`. Precondition: `status()` is Error::Ok.
    [[nodiscard]] executorch::runtime::MemoryManager& manager() noexcept { return manager_; }
    /// Returns the bytes of the planned buffers.
    [[nodiscard]] std::size_t planned_bytes() const noexcept {
        std::size_t sum = 0;
        for (const buffer& each : buffers_) sum += each.size();
        return sum;
    }
    /// Returns the allocator of the objects of the method.
    [[nodiscard]] const auto& objects() const noexcept { return objects_; }
    /// Returns the allocator of temporary bytes.
    [[nodiscard]] const auto& temporary() const noexcept { return temporary_; }

private:
    template <std::size_t... Indices>
    [[nodiscard]] error allocate(const executorch::runtime::MethodMeta& of, std::index_sequence<Indices...>,
                                 Memories&... planned) {
        for (std::size_t i = 0; i != of.num_memory_planned_buffers(); ++i) {
            const auto size = of.memory_planned_buffer_size(i);
            if (!size.ok()) return size.error();
            const auto bytes = static_cast<std::size_t>(*size);
            void* address = nullptr;
            const auto allocate_in = [&](auto& memory, auto& blocks) {
                address = blocks.emplace_back(allot::allocate_unique(memory, {bytes, planned_alignment})).address();
            };
            const std::size_t chosen = std::min(i, sizeof...(Memories) - 1);
            ((Indices == chosen ? allocate_in(planned, std::get<Indices>(blocks_)) : void()), ...);
            if (bytes != 0 && address == nullptr) return error::MemoryAllocationFailed;
            buffers_.emplace_back(static_cast<std::uint8_t*>(address), bytes);
        }
        return error::Ok;
    }

    std::tuple<std::vector<allot::unique_block<Memories>>...> blocks_;
    std::vector<buffer> buffers_;
    error status_;
    allocator<bump_arena<object_options>> objects_;
    allocator<bump_arena<temporary_options>> temporary_;
    executorch::runtime::HierarchicalAllocator planned_{{buffers_.data(), buffers_.size()}};
    executorch::runtime::MemoryManager manager_{&objects_, &planned_, &temporary_};
};

}  // namespace allot_executorch
