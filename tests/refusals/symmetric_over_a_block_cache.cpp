// symmetric over an allocator whose `diagnose` would free blocks on one rank alone.
// refused: allot: block_cache and quarantined free their blocks in diagnose
#include <allot/allot.hpp>
#include <allot/compose/symmetric.hpp>

struct file {
    using address_model = allot::handle_offset<int>;
    using error = int;
    static constexpr bool host_accessible = false;
    static constexpr auto offsets = allot::offset_use::carried;
    static constexpr std::size_t min_align = 64;
    static constexpr std::size_t granularity = 1;
    static constexpr allot::dl_device_type dl_device = allot::dl_device_type::ext_dev;
    allot::acquired<file> acquire(allot::layout) noexcept { return allot::acquired<file>::failure(1); }
    void release(allot::region<address_model::address>) noexcept {}
};
struct alone {
    int rank() const noexcept { return 0; }
    int size() const noexcept { return 1; }
    long maximum(std::span<std::uint64_t>) noexcept { return 0; }
};

int main() {
    alone ranks;
    allot::arena<file, allot::best_fit<>> arena{{}, 4096};
#ifdef MISUSE
    allot::counted inner{allot::block_cache{arena}};
#else
    allot::counted inner{arena};
#endif
    allot::symmetric memory{inner, ranks};
    memory.deallocate({});
}
