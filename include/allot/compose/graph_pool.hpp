// SPDX-License-Identifier: BSL-1.0
// graph_pool: memory for a captured graph of a device's work, such as a CUDA graph. Its blocks keep their bytes as long
// as the graph exists.
//
//     allot::graph_pool pool{memory};                            // memory: an indexed_ordered
//     pool.begin_capture();
//     cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
//     void* const bytes = pool.allocate({.size = 4096, .align = 256}, stream).address;
//     kernel<<<…, stream>>>(bytes);
//     pool.deallocate(bytes, stream);                            // later work of the capture reuses the bytes
//     cudaStreamEndCapture(stream, &graph);
//     cudaGraphLaunch(executable, stream);                       // uses the same bytes each time
//     if (!pool.launched(stream)) cudaStreamSynchronize(stream);  // the stream cannot be attached
//
//     memory   │ other blocks │ region of the pool: a b a c │ other blocks │
//                               └── returns when the pool ends, behind the queues of `launched`
//
// The pool takes regions from the memory that no pending work uses, and divides them as `ordered` does. In a capture, a
// queue reuses its own freed bytes. Freed bytes of another queue, and bytes with a use on another queue, are not reused
// before the next capture, because the order of two queues in a graph is not known. The pool makes no call of the
// driver on a queue that captures.
//
// A later capture may use the same pool, if the graphs never run at once: it reuses what is free then. Work with the
// results of a graph, also with blocks that were freed since, is also never at once with another graph of the pool.
//
// When to use: for each capture of a graph, and for graphs that run one after the other.
// When not to use: for memory that a graph only reads or writes as its argument. Allocate that from the memory.
//
// Call `begin_capture` before the capture begins: it records points on the queues whose freed memory the pool may need.
// One capture at a time uses a pool. Destroy the graphs before the pool. The memory outlives the pool.
//
// Complexity: that of `indexed_ordered`. `launched` is O(regions).
// Memory: that of an `indexed_ordered`. Regions are as large as the growth policy says, and stay until the pool ends.
// Thread safety: each call holds `Lock`. `no_lock` needs external synchronization.
#pragma once

#include <allot/compose/detail/capture_line.hpp>
#include <allot/compose/indexed_ordered.hpp>
#include <allot/core/detail/compiler.hpp>

#include <memory>

namespace allot {
inline namespace v1 {

/// Memory of graphs that never run at once, inside an `indexed_ordered`.
template <class Memory, class Growth = growth::geometric<>, class Lock = no_lock>
class graph_pool {
    static_assert(
        requires { typename Memory::ordered_type; },
        "allot: a graph_pool takes its regions from an indexed_ordered: "
        "graph_pool<indexed_ordered<ordered<Arena, Timeline>>>");
    using regions_type = detail::regions_of_memory<Memory>;
    using arena_type = arena<regions_type, best_fit<>, Growth>;
    using line_type = detail::capture_line<typename Memory::native_queue>;
    static constexpr ordered_options options{.waits = wait_policy::never};
    using private_memory = indexed_ordered<ordered<arena_type, line_type, options>, no_lock>;

public:
    using native_queue = typename Memory::native_queue;      ///< The driver's handle of a queue.
    using address_type = typename Memory::address_type;      ///< The type of addresses.
    using block_type = typename private_memory::block_type;  ///< The type of blocks.

    /// Constructs an empty pool that takes regions from `memory`.
    explicit graph_pool(Memory& memory) noexcept
        : memory_{std::addressof(memory)}, blocks_{line_type{}, regions_type{memory}} {}
    graph_pool(graph_pool&&) = delete;
    graph_pool& operator=(graph_pool&&) = delete;
    /// Returns all regions to the memory, behind the work of the queues of `launched`. The graphs no longer exist.
    ~graph_pool() { blocks_.abandon(); }

    /// Prepares for a capture, before the driver begins it. All freed blocks of the pool can be reused then.
    void begin_capture() noexcept {
        const std::lock_guard alone{lock_};
        blocks_.abandon();
        memory_->cover();
    }
    /// Allocates a block for work of the capture on a queue. Returns an empty block on failure.
    [[nodiscard]] block_type allocate(layout wanted, native_queue queue) noexcept {
        const std::lock_guard alone{lock_};
        return blocks_.allocate(wanted, queue);
    }
    /// Frees the block at an address, which work of the capture on a queue used. Returns false and changes nothing if
    /// no block of the pool is live there, or if the queue is one too many of this capture (`ordered_options::queues`).
    bool deallocate(address_type at, native_queue queue) noexcept {
        const std::lock_guard alone{lock_};
        return blocks_.deallocate(at, queue);
    }
    /// States that work on another queue uses the block at an address. Returns false and changes nothing if no block of
    /// the pool is live there, or if the queue is one too many.
    [[nodiscard]] bool used_on(address_type at, native_queue queue) noexcept {
        const std::lock_guard alone{lock_};
        return blocks_.used_on(at, queue);
    }
    /// States that a graph of the pool was launched on a queue. When the pool ends, its memory also waits for that
    /// queue. Returns false if the memory cannot attach the queue. Wait for the graph before the pool ends, then.
    [[nodiscard]] bool launched(native_queue queue) noexcept {
        const std::lock_guard alone{lock_};
        return blocks_.locked([&](auto& of) {
            bool attached = true;
            for (const auto& each : of.arena().regions())
                if (each.size != 0 && !memory_->used_on(each.base, queue)) attached = false;
            return attached;
        });
    }

    /// Returns the reason for which `allocate` would fail.
    [[nodiscard]] diagnosis diagnose(layout wanted, native_queue queue) noexcept {
        const std::lock_guard alone{lock_};
        return blocks_.diagnose(wanted, queue);
    }
    /// Returns the live block of the pool at an address, or an empty block.
    [[nodiscard]] block_type block_at(address_type at) const noexcept {
        const std::lock_guard alone{lock_};
        return blocks_.block_at(at);
    }
    /// Calls `f(address, size)` for every live block while it holds the lock. `f` must not call this pool.
    template <class Function>
    void for_each_block(Function f) const noexcept {
        const std::lock_guard alone{lock_};
        blocks_.for_each_block(f);
    }
    /// Returns the number of bytes that the pool holds of the memory.
    [[nodiscard]] std::size_t size() const noexcept {
        const std::lock_guard alone{lock_};
        return blocks_.size();
    }

private:
    Memory* memory_;
    private_memory blocks_;
    ALLOT_NO_UNIQUE_ADDRESS mutable Lock lock_{};
};

/// Deduces the memory.
template <class Memory>
graph_pool(Memory&) -> graph_pool<Memory>;

}  // namespace v1
}  // namespace allot
