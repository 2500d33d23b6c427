// Memory whose misuses are noted, for tests of wrappers that detect them.
#pragma once

#include <allot/allot.hpp>

#include <utility>

namespace noted {

using allot::misuse;

/// Counts the misuses and keeps the last one.
struct note {
    static inline int count = 0;
    static inline misuse last{};
    static inline std::size_t position = 0, size = 0;
    void operator()(misuse what, std::size_t at, std::size_t of) const noexcept {
        ++count;
        last = what;
        position = at;
        size = of;
    }
    static int take() { return std::exchange(count, 0); }
};

template <class Strategy, std::size_t Bytes = 8192>
using scratch = allot::arena<allot::host::static_storage<Bytes, 64>, Strategy, allot::growth::none<>,
                             allot::arena_options{.annotate = false}>;  // a sanitizer would report the writes first
inline unsigned char* bytes_of(const auto& block) { return static_cast<unsigned char*>(block.address); }

}  // namespace noted
