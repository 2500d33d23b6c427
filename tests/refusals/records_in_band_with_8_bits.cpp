// Records inside memory with 8-bit offsets, which cannot hold a record's flags.
// refused: allot: records in band need offsets of at least 16 bits: use node_store::side_table with 8 bits
#include <allot/strategy/best_fit.hpp>

namespace {
alignas(16) std::byte bytes[240];
struct in_bytes {
    [[nodiscard]] static std::byte* at(std::size_t offset) noexcept { return bytes + offset; }
};
}  // namespace

int main() {
#ifdef MISUSE
    using offset = std::uint8_t;
#else
    using offset = std::uint16_t;
#endif
    allot::best_fit<allot::best_fit_options{.store = allot::node_store::in_band}, offset, in_bytes> strategy;
    return strategy.insert({0, 240}) ? 0 : 1;
}
