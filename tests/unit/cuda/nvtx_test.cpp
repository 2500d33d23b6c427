// The calls of cuda::nvtx, recorded by a tool that is linked into this program.
#include <allot/allot.hpp>
#include <allot/cuda/nvtx.hpp>
#include <allot/host/virtual_memory.hpp>

#include <doctest/doctest.h>

#include <map>
#include <vector>

using namespace allot::literals;

namespace {

/// The heaps and blocks that a tool knows.
struct tool {
    struct heap {
        const char* base;
        std::size_t size;
        std::map<const void*, std::size_t> blocks;
    };
    std::map<nvtxMemHeapHandle_t, heap> heaps;
    int wrong = 0;  // calls for an unknown heap or block
    std::size_t next = 1;

    [[nodiscard]] std::size_t blocks() const {
        std::size_t sum = 0;
        for (const auto& [handle, in] : heaps) sum += in.blocks.size();
        return sum;
    }
    /// Returns the number of accessible bytes of the block at an address.
    [[nodiscard]] std::size_t size_of(const void* block) const {
        for (const auto& [handle, in] : heaps)
            if (in.blocks.contains(block)) return in.blocks.at(block);
        return 0;
    }
} seen;

nvtxMemHeapHandle_t NVTX_API heap_register(nvtxDomainHandle_t, const nvtxMemHeapDesc_t* described) {
    if (described->extCompatID != NVTX_EXT_COMPATID_MEM || described->structSize != sizeof *described ||
        described->usage != NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR ||
        described->typeSpecificDescSize != sizeof(nvtxMemVirtualRangeDesc_t))
        ++seen.wrong;
    const auto& range = *static_cast<const nvtxMemVirtualRangeDesc_t*>(described->typeSpecificDesc);
    const auto handle = reinterpret_cast<nvtxMemHeapHandle_t>(seen.next++);
    seen.heaps[handle] = {static_cast<const char*>(range.ptr), range.size, {}};
    return handle;
}
void NVTX_API heap_unregister(nvtxDomainHandle_t, nvtxMemHeapHandle_t heap) {
    seen.wrong += seen.heaps.erase(heap) != 1;
}
void NVTX_API heap_reset(nvtxDomainHandle_t, nvtxMemHeapHandle_t heap) { seen.heaps.at(heap).blocks.clear(); }
void NVTX_API regions_register(nvtxDomainHandle_t, const nvtxMemRegionsRegisterBatch_t* batch) {
    const auto& range = *static_cast<const nvtxMemVirtualRangeDesc_t*>(batch->regionDescElements);
    const auto in = seen.heaps.find(batch->heap);
    if (in == seen.heaps.end() || batch->regionCount != 1 || batch->regionDescElementSize != sizeof range ||
        static_cast<const char*>(range.ptr) < in->second.base ||
        static_cast<const char*>(range.ptr) + range.size > in->second.base + in->second.size ||
        !in->second.blocks.emplace(range.ptr, range.size).second)
        ++seen.wrong;
}
void NVTX_API regions_resize(nvtxDomainHandle_t, const nvtxMemRegionsResizeBatch_t* batch) {
    const auto& range = *static_cast<const nvtxMemVirtualRangeDesc_t*>(batch->regionDescElements);
    for (auto& [handle, in] : seen.heaps)
        if (const auto block = in.blocks.find(range.ptr); block != in.blocks.end()) {
            block->second = range.size;
            return;
        }
    ++seen.wrong;
}
void NVTX_API regions_unregister(nvtxDomainHandle_t, const nvtxMemRegionsUnregisterBatch_t* batch) {
    if (batch->refType != NVTX_MEM_REGION_REF_TYPE_POINTER || batch->refCount != 1) ++seen.wrong;
    for (auto& [handle, in] : seen.heaps)
        if (in.blocks.erase(batch->refElements->pointer) == 1) return;
    ++seen.wrong;
}

}  // namespace

extern "C" int start_nvtx_tool(nvtxExtModuleInfo_t* module);  // named in nvtx_tool.cpp
int start_nvtx_tool(nvtxExtModuleInfo_t* module) {
    if (module->moduleId != NVTX_EXT_MODULEID_MEM) return 0;
    intptr_t* const slots = module->segments->functionSlots;
    slots[NVTX3EXT_CBID_nvtxMemHeapRegister] = reinterpret_cast<intptr_t>(&heap_register);
    slots[NVTX3EXT_CBID_nvtxMemHeapUnregister] = reinterpret_cast<intptr_t>(&heap_unregister);
    slots[NVTX3EXT_CBID_nvtxMemHeapReset] = reinterpret_cast<intptr_t>(&heap_reset);
    slots[NVTX3EXT_CBID_nvtxMemRegionsRegister] = reinterpret_cast<intptr_t>(&regions_register);
    slots[NVTX3EXT_CBID_nvtxMemRegionsResize] = reinterpret_cast<intptr_t>(&regions_resize);
    slots[NVTX3EXT_CBID_nvtxMemRegionsUnregister] = reinterpret_cast<intptr_t>(&regions_unregister);
    return 1;
}

using side_table = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>;

TEST_CASE("nvtx: a region is a heap, and exactly its live blocks are accessible") {
    using arena = allot::arena<allot::host::heap, side_table>;
    {
        allot::cuda::nvtx<arena> memory{arena{{}, 10'007}};
        REQUIRE(seen.heaps.size() == 1);
        CHECK(seen.heaps.begin()->second.base == memory.regions()[0].base);
        CHECK(seen.heaps.begin()->second.size == memory.regions()[0].size);
        auto first = memory.allocate({.size = 1003});
        const auto second = memory.allocate({.size = 77, .align = 256});
        CHECK(seen.blocks() == 2);
        CHECK(seen.size_of(first.address) == 1003);
        CHECK(seen.size_of(second.address) == 77);
        CHECK(memory.resize(first, 500));
        CHECK(seen.size_of(first.address) == 500);
        CHECK_FALSE(memory.allocate({.size = 20'000}));
        memory.deallocate(second);
        CHECK(seen.size_of(second.address) == 0);
        memory.deallocate({});
        const auto exact = memory.allocate_at({6000, 10});
        CHECK(seen.size_of(exact.address) == 10);

        allot::cuda::nvtx<arena> moved{std::move(memory)};
        moved.deallocate(first);
        CHECK(seen.blocks() == 1);
    }
    CHECK(seen.heaps.empty());
    CHECK(seen.wrong == 0);
}

TEST_CASE("nvtx: an arena that grows states each region, and withdraws those that trim releases") {
    using arena = allot::arena<allot::host::heap, side_table,
                               allot::growth::fixed<allot::growth_options{.step = 4096, .regions = 8}>>;
    {
        allot::cuda::nvtx<arena> memory{arena{}};
        CHECK(seen.heaps.empty());
        std::vector<decltype(memory)::block_type> blocks;
        for (int i = 0; i != 7; ++i) blocks.push_back(memory.allocate({.size = 1501}));
        CHECK(seen.heaps.size() == 4);
        CHECK(seen.blocks() == 7);
        for (std::size_t i = 1; i != 7; ++i) memory.deallocate(blocks[i]);
        CHECK(memory.trim() != 0);
        CHECK(seen.heaps.size() == 1);
        CHECK(seen.size_of(blocks[0].address) == 1501);
    }
    CHECK(seen.heaps.empty());
    CHECK(seen.wrong == 0);
}

TEST_CASE("nvtx: reset leaves the heap without blocks") {
    using arena = allot::arena<allot::host::static_storage<1_KiB>, allot::bump<>>;
    {
        allot::cuda::nvtx<arena> memory;
        static_assert(!allot::markable_allocator<decltype(memory)>);
        REQUIRE(memory.allocate({.size = 100}));
        CHECK(seen.blocks() == 1);
        memory.reset();
        CHECK(seen.blocks() == 0);
        CHECK(memory.allocate({.size = 1000}));
        CHECK(seen.blocks() == 1);
    }
    CHECK(seen.wrong == 0);
}

TEST_CASE("nvtx: a region that grows in place is stated again with its blocks") {
    using arena = allot::arena<allot::host::virtual_memory, side_table,
                               allot::growth::contiguous<allot::growth_options{.step = 64_KiB, .regions = 1}>>;
    {
        allot::cuda::nvtx<arena> memory{arena{allot::host::virtual_memory{1_MiB}}};
        const auto first = memory.allocate({.size = 60'001});
        auto last = memory.allocate({.size = 60'001});
        const auto top = memory.allocate({.size = 1001});
        CHECK(seen.heaps.size() == 1);
        CHECK(seen.heaps.begin()->second.size == memory.size());
        CHECK(seen.blocks() == 3);
        memory.deallocate(top);
        CHECK(memory.resize(last, 200'000));
        CHECK(seen.heaps.begin()->second.size == memory.size());
        CHECK(seen.blocks() == 2);
        CHECK(seen.size_of(last.address) == 200'000);
        CHECK(seen.size_of(first.address) >= 60'001);
    }
    CHECK(seen.heaps.empty());
    CHECK(seen.wrong == 0);
}
