// A handle beside an offset is nothing that the host can write through, mapped or not.
// refused: allot: the host writes the table: use a table allocator of memory that the host can access
#include <allot/allot.hpp>

struct mapped_buffer {
    using address_model = allot::handle_offset<int>;
    using error = int;
    static constexpr bool host_accessible = true;
    static constexpr auto offsets = allot::offset_use::carried;
    static constexpr std::size_t min_align = 64;
    static constexpr std::size_t granularity = 1;
    static constexpr allot::dl_device_type dl_device = allot::dl_device_type::cpu;
    allot::acquired<mapped_buffer> acquire(allot::layout) noexcept {
        return allot::acquired<mapped_buffer>::failure(1);
    }
    void release(allot::region<address_model::address>) noexcept {}
};

int main() {
    using rows = allot::arena<allot::host::heap, allot::bump<>>;
#ifdef MISUSE
    using tables = allot::arena<mapped_buffer, allot::bump<>>;
    tables names{mapped_buffer{}, 64};
#else
    using tables = allot::arena<allot::host::heap, allot::bump<>>;
    tables names{{}, 64};
#endif
    rows pages{{}, 64};
    allot::paged<rows&, tables&, allot::pointer_table<64>> paged{pages, names};
    return paged.allocate({64}) ? 1 : 0;
}
