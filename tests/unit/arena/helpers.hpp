// Helpers for the tests of arenas: memory that is only a handle, a device that fails on demand, and a misuse handler
// that records its calls.
#pragma once

#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>

#include <vector>

namespace helpers {

inline constexpr std::size_t most = std::numeric_limits<std::size_t>::max();

/// Properties of a `handles` device and its state. Outlives the device and every arena over it.
struct supply {
    static constexpr int unaligned = -13, too_large = -61, used_up = -4;

    std::size_t align = 64;      // of every base
    std::size_t largest = most;  // bytes of a region
    std::size_t regions = most;  // that can still be acquired
    std::size_t acquired = 0;    // so far
    std::size_t held = 0;        // now
    std::size_t bytes_held = 0;
};

/// Memory without addresses: every region is a distinct number, without any bytes.
template <std::size_t Granularity = 1>
class handles {
public:
    using address_model = allot::handle_offset<int>;
    using error = int;
    static constexpr bool host_accessible = false;
    static constexpr auto offsets = allot::offset_use::carried;
    static constexpr std::size_t min_align = 16;
    static constexpr std::size_t granularity = Granularity;
    static constexpr allot::dl_device_type dl_device = allot::dl_device_type::cpu;

    explicit handles(supply& from) noexcept : from_{&from} {}

    allot::acquired<handles> acquire(allot::layout wanted) noexcept {
        const auto refuse = [](int reason) { return allot::acquired<handles>::failure(reason); };
        if (wanted.align > from_->align) return refuse(supply::unaligned);
        if (wanted.size > from_->largest) return refuse(supply::too_large);
        if (from_->regions == 0) return refuse(supply::used_up);
        --from_->regions;
        ++from_->held;
        from_->bytes_held += wanted.size;
        return allot::region<address_model::address>{
            {static_cast<int>(++from_->acquired), 0}, wanted.size, from_->align};
    }
    void release(allot::region<address_model::address> held) noexcept {
        --from_->held;
        from_->bytes_held -= held.size;
    }

private:
    supply* from_;
};

/// The host heap, except that it rejects impossible sizes immediately. A sanitizer would stop the program at the call.
struct modest_heap : allot::host::heap {
    using base = allot::host::heap;
    static constexpr std::size_t enough = std::size_t{1} << 24;
    allot::acquired<base> acquire(allot::layout wanted) noexcept {
        if (wanted.size > enough || wanted.align > enough) return allot::acquired<base>::failure(error::no_memory);
        return base::acquire(wanted);
    }
};

/// A misuse handler that only records its calls. The misused call must have no other effect.
struct noted {
    struct call {
        allot::misuse what;
        std::size_t position, size;
        friend bool operator==(const call&, const call&) = default;
    };
    static inline std::vector<call> calls;

    void operator()(allot::misuse what, std::size_t position, std::size_t size) const noexcept {
        calls.push_back({what, position, size});
    }
    /// Returns the calls since the last query.
    static std::vector<call> take() { return std::exchange(calls, {}); }
    /// Returns true if there was exactly one call since the last query, with these arguments.
    static bool only(allot::misuse what, std::size_t position, std::size_t size) {
        return take() == std::vector<call>{{what, position, size}};
    }
};

// Not annotated: the tests write to freed bytes, which a sanitizer would report first.
inline constexpr allot::arena_options checked{.hardening = allot::hardening::checked, .annotate = false};
inline constexpr allot::arena_options debug{.hardening = allot::hardening::debug, .annotate = false};

inline constexpr allot::best_fit_options in_band{.store = allot::node_store::in_band};
inline constexpr allot::best_fit_options side_table{.store = allot::node_store::side_table};
using up = allot::bump<allot::bump_options{.direction = allot::direction::up}>;
using down = allot::bump<allot::bump_options{.direction = allot::direction::down}>;

/// Returns the number of such blocks that can still be allocated, and frees them.
template <class Arena>
std::size_t room_for(Arena& arena, allot::layout each) {
    std::vector<typename Arena::block_type> blocks;
    while (const auto block = arena.allocate(each)) blocks.push_back(block);
    for (const auto& block : blocks) arena.deallocate(block);
    return blocks.size();
}

/// Returns true if all bytes have this value.
[[nodiscard]] inline bool all_bytes(const void* from, std::size_t size, std::size_t value) {
    const auto* const bytes = static_cast<const unsigned char*>(from);
    for (std::size_t i = 0; i != size; ++i)
        if (bytes[i] != value) return false;
    return true;
}

[[nodiscard]] inline bool is_aligned(void* address, std::size_t align) {
    return allot::raw_pointer::position(address) % align == 0;
}
[[nodiscard]] inline bool is_aligned(allot::handle_offset<int>::address address, std::size_t align) {
    return address.offset % align == 0;
}

}  // namespace helpers
