// Copies of pages in memory that the copier cannot copy.
// refused: allot: the copier of copied_pages must copy within the first memory, and between it and each other one
#include <allot/address/handle_offset.hpp>
#include <allot/page_cache/copied_pages.hpp>

struct memory {
    using address_model = allot::handle_offset<int>;
    static constexpr bool host_accessible = false;
};
#ifdef MISUSE
struct copier {};
#else
struct copier {
    template <class From, class To>
    allot::copied copy(typename From::address_model::address, typename To::address_model::address,
                       std::size_t) noexcept {
        return allot::copy_path::on_device;
    }
};
#endif

int main() {
    allot::copied_pages<copier, memory, memory> copy{copier{}, {}, {}};
    return copy({}, {}) ? 0 : 1;
}
