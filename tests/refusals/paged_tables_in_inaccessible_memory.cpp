// The host writes the table, so that it has to lie where the host can write.
// refused: allot: the host writes the table: use a table allocator of memory that the host can access
#include <allot/allot.hpp>

struct unreachable {
    using address_model = allot::raw_pointer;
    using error = int;
    static constexpr bool host_accessible = false;
    static constexpr auto offsets = allot::offset_use::arithmetic;
    static constexpr std::size_t min_align = 64;
    static constexpr std::size_t granularity = 1;
    static constexpr allot::dl_device_type dl_device = allot::dl_device_type::cpu;
    allot::acquired<unreachable> acquire(allot::layout) noexcept { return allot::acquired<unreachable>::failure(1); }
    void release(allot::region<address_model::address>) noexcept {}
};

int main() {
    using rows = allot::arena<unreachable, allot::bump<>>;
#ifdef MISUSE
    using tables = allot::arena<unreachable, allot::bump<>>;
    tables names{unreachable{}, 64};
#else
    using tables = allot::arena<allot::host::heap, allot::bump<>>;
    tables names{{}, 64};
#endif
    rows pages{unreachable{}, 64};
    allot::paged<rows&, tables&, allot::pointer_table<64>> paged{pages, names};
    return paged.allocate({64}) ? 1 : 0;
}
