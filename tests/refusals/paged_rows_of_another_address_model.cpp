// The rows have no addresses, and the table names rows that have.
// refused: allot: the row model of the table differs from the address model of the row allocator
#include <allot/allot.hpp>

struct buffer {
    using address_model = allot::handle_offset<int>;
    using error = int;
    static constexpr bool host_accessible = false;
    static constexpr auto offsets = allot::offset_use::carried;
    static constexpr std::size_t min_align = 64;
    static constexpr std::size_t granularity = 1;
    static constexpr allot::dl_device_type dl_device = allot::dl_device_type::cpu;
    allot::acquired<buffer> acquire(allot::layout) noexcept { return allot::acquired<buffer>::failure(1); }
    void release(allot::region<address_model::address>) noexcept {}
};

int main() {
    using rows = allot::arena<buffer, allot::bump<>>;
    using tables = allot::arena<allot::host::heap, allot::bump<>>;
    rows pages{buffer{}, 64};
    tables names{{}, 64};
#ifdef MISUSE
    using table = allot::pointer_table<64, allot::row_offset<>>;
#else
    using table = allot::pointer_table<64, allot::row_offset<>, allot::handle_offset<int>>;
#endif
    allot::paged<rows&, tables&, table> paged{pages, names};
    return paged.allocate({64}) ? 1 : 0;
}
