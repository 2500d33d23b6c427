// The offsets of two arenas in buffers are equal. Without the regions, a snapshot cannot tell them apart.
// refused: allot: a snapshot of memory with handles needs the regions of the allocator: take a snapshot of each arena
#include <allot/allot.hpp>
#include <allot/inspect/snapshot.hpp>

struct buffers {
    using address_model = allot::handle_offset<int>;
    using error = int;
    static constexpr bool host_accessible = false;
    static constexpr auto offsets = allot::offset_use::carried;
    static constexpr std::size_t min_align = 64;
    static constexpr std::size_t granularity = 1;
    static constexpr allot::dl_device_type dl_device = allot::dl_device_type::opencl;
    allot::acquired<buffers> acquire(allot::layout) noexcept { return allot::acquired<buffers>::failure(1); }
    void release(allot::region<address_model::address>) noexcept {}
};

int main() {
    using arena = allot::arena<buffers, allot::best_fit<>>;
    arena fast{buffers{}, 4096}, slow{buffers{}, 4096};
#ifdef MISUSE
    const allot::fallback memory{fast, slow};
#else
    const arena& memory = fast;
#endif
    return allot::take_snapshot(memory).regions.empty() ? 0 : 1;
}
