// Calls of every subject, compiled once for each set of flags. PART is the namespace of this file.
#include "subjects.hpp"

// No other file calls these functions. The files share only functions of allot.
namespace {

template <class Memory>
using block_of = typename decltype(Memory::live)::value_type;

template <class Block>
std::uint64_t place(const Block& block, const void* base) {
    if constexpr (requires { block.where; }) return block ? block.where.offset : ~std::uint64_t{0};
    else
        return block ? static_cast<std::uint64_t>(static_cast<const std::byte*>(block.address) -
                                                  static_cast<const std::byte*>(base))
                     : ~std::uint64_t{0};
}

template <class Block>
std::size_t size_of(const Block& block) {
    if constexpr (requires { block.where; }) return block.where.size;
    else return block.size;
}

/// Returns the answer of one call. `operation` and `random` select the call identically in each file.
template <class Memory>
std::uint64_t perform(Memory& all, unsigned operation, std::uint64_t random) {
    auto& memory = all.memory;
    auto& live = all.live;
    constexpr auto reclaims = decltype(Memory::memory)::reclaims;
    // Few sizes are large, and few alignments exceed two words.
    const std::size_t size = 1 + random % 97 * (random >> 10 & 7 ? 1 : 1 + (random >> 13) % 40);
    const std::size_t align = std::size_t{1} << (random >> 20 & 7 ? (random >> 23) % 5 : (random >> 23) % 11);
    const auto wanted = [&] {
        if constexpr (requires { typename decltype(Memory::memory)::layout_type; }) {
            using layout = typename decltype(Memory::memory)::layout_type;
            return layout{static_cast<decltype(layout::size)>(size), static_cast<decltype(layout::align)>(align)};
        } else {
            return allot::layout{size, align};
        }
    }();
    const auto keep = [&](const block_of<Memory>& fresh) {
        if (fresh) live.push_back(fresh);
        return place(fresh, all.base());
    };
    const auto which = [&]() -> block_of<Memory>& {
        if (reclaims == allot::reclaim::fifo) return live.front();
        if (reclaims == allot::reclaim::any) std::swap(live[(random >> 34) % live.size()], live.back());
        return live.back();
    };
    switch (operation) {
        case 0: {
            const auto error = memory.diagnose(wanted);
            return static_cast<std::uint64_t>(error.reason) << 32 | error.largest_hole;
        }
        case 1: return live.empty() ? 0 : static_cast<std::uint64_t>(memory.capacity(which()));
        case 2:
            if constexpr (requires { memory.resize(live.front(), size); }) {
                if (!live.empty()) return std::uint64_t{memory.resize(which(), size)};
            } else if constexpr (requires { memory.resize(live.front(), wanted.size); }) {
                if (live.empty() || !memory.resize(which(), wanted.size)) return 0;
                live.back().where.size = wanted.size;
                return 1;
            }
            return 2;
        case 3:
            if constexpr (requires { memory.allocate_at({wanted.size, wanted.size}); }) {
                const auto at = static_cast<decltype(wanted.size)>((random >> 40) % mixed::bytes & ~std::uint64_t{15});
                const auto reason = static_cast<std::uint64_t>(memory.diagnose_at({at, wanted.size}).reason);
                return keep(memory.allocate_at({at, wanted.size})) << 8 | reason;
            }
            return 2;
        case 4:
        case 5:
        case 6:
            if (live.empty()) return 0;
            if constexpr (reclaims == allot::reclaim::never) {
                if (random >> 40 & 31) return 0;
                memory.reset();
                live.clear();
            } else {
                auto& given_back = which();
                const std::size_t had = size_of(given_back);
                memory.deallocate(given_back);
                if constexpr (reclaims == allot::reclaim::fifo) live.erase(live.begin());
                else live.pop_back();
                return had;
            }
            return 1;
        default: return keep(memory.allocate(wanted));
    }
}

template <std::size_t... I>
std::uint64_t perform(mixed::subjects& all, std::size_t subject, unsigned operation, std::uint64_t random,
                      std::index_sequence<I...>) {
    std::uint64_t answer = 0;
    static_cast<void>(((subject == I && (answer = perform(std::get<I>(all), operation, random), true)) || ...));
    return answer;
}

constexpr std::size_t count = std::tuple_size_v<mixed::subjects>;

}  // namespace

namespace PART {

std::size_t subjects() { return count; }

void* make() {
    static mixed::subjects all;
    return &all;
}

std::uint64_t call(void* all, std::size_t subject, unsigned operation, std::uint64_t random) {
    return perform(*static_cast<mixed::subjects*>(all), subject, operation, random, std::make_index_sequence<count>{});
}

}  // namespace PART
