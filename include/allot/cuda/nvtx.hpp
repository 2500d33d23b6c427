// SPDX-License-Identifier: BSL-1.0
// nvtx: an allocator that states its regions and blocks to tools through NVTX. compute-sanitizer then checks accesses
// of kernels inside the regions of an arena.
//
//     using gpu_arena = allot::arena<allot::cuda::device_memory, allot::best_fit<>>;
//     allot::cuda::nvtx<gpu_arena> memory{gpu_arena{allot::cuda::device_memory{}, 64_MiB}};
//     auto block = memory.allocate({.size = 4096, .align = 256});  // a kernel may access these bytes, and no others
//
//     compute-sanitizer --nvtx yes PROGRAM
//
//     region of the arena ─► nvtxMemHeapRegister: no access        block ─► nvtxMemRegionsRegister: access
//
// A kernel that accesses freed bytes, bytes that were never allocated, or bytes past the end of a block is reported.
// Blocks that touch each other are one range of accessible bytes: request larger blocks to separate them.
//
// When to use: to find wrong accesses of kernels. The arena inside is unchanged, so a build for release uses it without
// this class.
// When not to use: for host memory. Sanitizers of the host need no wrapper (docs/sanitizers.md).
//
// Marks are not passed on, because the blocks that a rollback frees are not known. A region that grows in place becomes
// a new heap with the blocks that the strategy lists, which have their usable sizes.
//
// The header `nvtx3/nvToolsExtMem.h` is part of the CUDA Toolkit and of the package nvidia-nvtx. Without a tool, a call
// reads one pointer.
//
// Complexity: that of the allocator and O(regions). Memory: 32 bytes for each region of the arena, and a pointer.
//
// Thread safety: requires external synchronization.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/compose/detail/forwarding.hpp>

#include <nvtx3/nvToolsExtMem.h>

#include <type_traits>
#include <utility>

namespace allot {
inline namespace v1 {
namespace cuda {

/// An arena whose regions and blocks NVTX describes to tools.
template <class Arena>
class nvtx : public detail::forwarding<Arena> {
    using base = detail::forwarding<Arena>;
    using base::inner_;
    using typename base::allocator_type;
    static_assert(std::same_as<typename allocator_type::address_model, raw_pointer>,
                  "allot: NVTX describes memory by pointers: use an arena of memory with pointers, such as "
                  "cuda::device_memory");
    static_assert(
        requires(const allocator_type& arena) { arena.regions(); },
        "allot: cuda::nvtx states the regions of an arena: put it directly around the arena");

    static_assert(!extensible_device<typename allocator_type::device_type> || block_walkable_allocator<allocator_type>,
                  "allot: a region that grows in place is stated again with its blocks, which this strategy does not "
                  "list: use best_fit or pool");

public:
    using typename base::block_type;

    /// Constructs the arena with its default constructor.
    nvtx() noexcept
        requires std::default_initializable<Arena>
    {
        note_regions();
    }
    /// Moves the arena in, or refers to it. It has no live block.
    explicit nvtx(Arena&& arena) noexcept : base{std::forward<Arena>(arena)} { note_regions(); }
    /// Moves the arena and what NVTX knows of it.
    nvtx(nvtx&& other) noexcept : base{std::move(other)}, domain_{other.domain_} {
        for (std::size_t i = 0; i != most; ++i) heaps_[i] = std::exchange(other.heaps_[i], {});
    }
    nvtx& operator=(nvtx&&) = delete;
    /// Withdraws the statements, then destroys the arena.
    ~nvtx() {
        for (heap& each : heaps_) withdraw(each);
    }

    /// Allocates a block. Returns an empty block on failure.
    [[nodiscard]] block_type allocate(layout wanted) noexcept { return note(inner_.allocate(wanted)); }
    /// Allocates exactly these bytes. Returns an empty block if they are not free.
    [[nodiscard]] block_type allocate_at(extent wanted) noexcept
        requires positional_allocator<allocator_type>
    {
        return note(inner_.allocate_at(wanted));
    }
    /// Deallocates an unchanged block. Does nothing for an empty block.
    void deallocate(block_type held) noexcept {
        if (!this->is_freeable(held)) return;
        unregister(held.address);
        if (!this->give_back(held)) register_block(held.address, held.size);
    }
    /// Resizes a block in place and updates `held`. Returns false and changes nothing on failure.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires resizable_allocator<allocator_type>
    {
        if (!inner_.resize(held, size)) return false;
        if (!is_known(held)) {  // a region grew in place
            note_regions(held.address);
            register_block(held.address, held.size);
            return true;
        }
        const nvtxMemVirtualRangeDesc_t range{held.size, held.address};
        const nvtxMemRegionsResizeBatch_t batch{NVTX_EXT_COMPATID_MEM, sizeof batch, NVTX_MEM_TYPE_VIRTUAL_ADDRESS, 1,
                                                sizeof range,          &range};
        nvtxMemRegionsResize(domain_, &batch);
        return true;
    }
    /// Releases memory without live blocks. Returns the number of released bytes.
    std::size_t trim() noexcept
        requires trimmable_allocator<allocator_type>
    {
        const std::size_t released = inner_.trim();
        note_regions();
        return released;
    }
    /// Frees every block.
    void reset() noexcept
        requires resettable_allocator<allocator_type>
    {
        inner_.reset();
        for (const heap& each : heaps_)
            if (each.size != 0) nvtxMemHeapReset(domain_, each.handle);
    }
    /// Releases the memory that was acquired since `held()`. Precondition: it has no live block, and `trim` was not
    /// called since.
    template <class Held>
        requires requires(allocator_type& of, const Held& to) { of.shrink_to(to); }
    void shrink_to(const Held& to) noexcept {
        inner_.shrink_to(to);
        note_regions();
    }
    /// Not available.
    void mark() = delete;
    /// Not available.
    template <class Mark>
    void rollback(Mark) = delete;

private:
    struct heap {
        void* start = nullptr;
        std::size_t size = 0;
        nvtxMemHeapHandle_t handle = nullptr;
        bool is_held = false;
    };
    using regions_type = std::remove_cvref_t<decltype(std::declval<const allocator_type&>().regions())>;
    static constexpr std::size_t most = [] {
        if constexpr (std::is_array_v<regions_type>) return std::extent_v<regions_type>;
        else return std::size_t{1};
    }();

    /// Compares the heaps with the regions of the arena, withdraws the released ones, and registers the new ones. A
    /// region that grew in place is new: its blocks are registered again, except one.
    void note_regions(const void* except = nullptr) noexcept {
        for (heap& each : heaps_) each.is_held = false;
        for (const auto& held : inner_.regions())
            for (heap& each : heaps_)
                if (held && each.start == held.base && each.size == held.size) each.is_held = true;
        for (heap& each : heaps_)
            if (!each.is_held) withdraw(each);
        for (const auto& held : inner_.regions())
            if (held && heap_of(held.base) == nullptr) register_heap(held.base, held.size, except);
    }
    void register_heap(void* start, std::size_t size, const void* except) noexcept {
        heap* fresh = heaps_;
        while (fresh->size != 0) ++fresh;
        const nvtxMemVirtualRangeDesc_t range{size, start};
        nvtxMemHeapDesc_t described{};
        described.extCompatID = NVTX_EXT_COMPATID_MEM;
        described.structSize = sizeof described;
        described.usage = NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR;
        described.type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
        described.typeSpecificDescSize = sizeof range;
        described.typeSpecificDesc = &range;
        described.messageType = NVTX_MESSAGE_TYPE_ASCII;
        described.message.ascii = "allot::arena";
        *fresh = {start, size, nvtxMemHeapRegister(domain_, &described), true};
        if constexpr (extensible_device<typename allocator_type::device_type>)
            inner_.for_each_block([&](void* address, std::size_t room) {
                if (address != except && heap_of(address) == fresh) register_block(address, room);
            });
    }
    void withdraw(heap& gone) noexcept {
        if (gone.size != 0) nvtxMemHeapUnregister(domain_, gone.handle);
        gone = {};
    }
    [[nodiscard]] const heap* heap_of(const void* address) const noexcept {
        const std::size_t at = raw_pointer::position(address);
        for (const heap& each : heaps_)
            if (at - raw_pointer::position(each.start) < each.size) return &each;
        return nullptr;
    }

    block_type note(const block_type& fresh) noexcept {
        if (!fresh) return fresh;
        if (!is_known(fresh)) note_regions(fresh.address);
        register_block(fresh.address, fresh.size);
        return fresh;
    }
    /// Returns true if the block is inside one heap.
    [[nodiscard]] bool is_known(const block_type& held) const noexcept {
        const heap* const in = heap_of(held.address);
        return in != nullptr &&
               held.size <= in->size - (raw_pointer::position(held.address) - raw_pointer::position(in->start));
    }
    void register_block(const void* address, std::size_t size) noexcept {
        const nvtxMemVirtualRangeDesc_t range{size, address};
        const nvtxMemRegionsRegisterBatch_t batch{NVTX_EXT_COMPATID_MEM,
                                                  sizeof batch,
                                                  NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                                  heap_of(address)->handle,
                                                  1,
                                                  sizeof range,
                                                  &range,
                                                  nullptr};
        nvtxMemRegionsRegister(domain_, &batch);
    }
    void unregister(const void* address) noexcept {
        const nvtxMemRegionRef_t block{address};
        const nvtxMemRegionsUnregisterBatch_t batch{
            NVTX_EXT_COMPATID_MEM, sizeof batch, NVTX_MEM_REGION_REF_TYPE_POINTER, 1, sizeof block, &block};
        nvtxMemRegionsUnregister(domain_, &batch);
    }

    nvtxDomainHandle_t domain_ = nvtxDomainCreateA("allot");
    heap heaps_[most]{};
};

}  // namespace cuda
}  // namespace v1
}  // namespace allot
