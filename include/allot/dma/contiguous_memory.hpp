// SPDX-License-Identifier: BSL-1.0
// dma::contiguous_memory: physically contiguous memory from the first of several sources that has some.
//
//     using cma = allot::dma::bus_addressed<allot::dma::heap<"reserved">, allot::dma::physical_node>;
//     using memory = allot::dma::contiguous_memory<cma, allot::dma::u_dma_buf<>>;    // also: host::contiguous_pages<>
//     memory sources{cma{}, allot::dma::u_dma_buf<>{"udmabuf0"}};
//     allot::arena<memory, allot::best_fit<>> frames{std::move(sources), 4_MiB};
//     const auto frame = frames.allocate({.size = 4096, .align = 64});
//     const std::uint64_t bus = frames.device().bus_address(frame.address, frame.size).value();   // for a register
//
//     acquire ──► DMA heap ──► error? ──► u-dma-buf ──► error? ──► error
//
// `fallback` combines allocators with equal traits. The sources here differ: some are accessible to the host at all
// times, some in periods only. This device has the weakest traits of its sources, and the same calls for all regions:
// `bus_address`, `access`, and `buffer_of` for regions with a descriptor.
//
// A source is a device of pointers whose trait `contiguous` is true, with `int` errors and with `bus_address(at,
// size)`: `dma::bus_addressed`, `host::contiguous_pages`, `dma::u_dma_buf`. A bounded source, such as `u_dma_buf`,
// serves one region.
//
// Caches: the period of `access` is that of the region's source. `host::contiguous_pages` has none, so its period does
// nothing: on a machine whose devices do not snoop the CPU's caches, leave it out.
//
// When to use: for one program on several boards, or with a reserve for memory that becomes fragmented.
// When not to use: if one source suffices.
// Complexity: that of the sources that are asked. The other calls search the held regions.
// Memory: 32 bytes for each of 64 regions, inside the object, and the sources. No heap allocation.
// Thread safety: not synchronized.
#pragma once

#include <allot/dma/buffer.hpp>

#include <algorithm>
#include <tuple>
#include <variant>

namespace allot {
inline namespace v1 {
namespace dma {

/// A device whose regions are physically contiguous and have bus addresses.
template <class Source>
concept contiguous_source =
    device<Source> && std::same_as<typename Source::address_model, raw_pointer> &&
    std::same_as<typename Source::error, int> && requires(const Source source, const void* at, std::size_t size) {
        requires Source::contiguous;
        { source.bus_address(at, size) } noexcept -> std::same_as<result<std::uint64_t, int>>;
    };

namespace detail {

// The period of a source without `access`, whose memory is coherent, or of bytes outside of all regions.
struct no_access {
    int reason = 0;
    [[nodiscard]] explicit operator bool() const noexcept { return reason == 0; }
    [[nodiscard]] int error() const noexcept { return reason; }
    [[nodiscard]] static int end() noexcept { return 0; }
};
template <class Source>
[[nodiscard]] auto access_of(const Source& source, const void* at, std::size_t size, cpu_use use) noexcept {
    if constexpr (requires { source.access(at, size, use); }) {
        return source.access(at, size, use);
    } else {
        return no_access{};
    }
}
template <class Source>
using access_type = decltype(access_of(std::declval<const Source&>(), nullptr, 0, cpu_use::read));

// A list of types without repetitions, as a variant.
template <class Variant, class... Types>
struct distinct {
    using type = Variant;
};
template <class... Found, class Next, class... Rest>
struct distinct<std::variant<Found...>, Next, Rest...>
    : std::conditional_t<(std::same_as<Found, Next> || ...), distinct<std::variant<Found...>, Rest...>,
                         distinct<std::variant<Found..., Next>, Rest...>> {};

}  // namespace detail

/// A period in which the CPU may access memory of one of the sources.
template <class... Sources>
class [[nodiscard]] contiguous_access {
public:
    /// Takes over the access of a source.
    template <class Period>
    explicit contiguous_access(Period period) noexcept : period_{std::move(period)} {}

    /// Returns whether the access is in progress.
    [[nodiscard]] explicit operator bool() const noexcept {
        return std::visit([](const auto& each) { return static_cast<bool>(each); }, period_);
    }
    /// Returns the `errno` value of a failed begin, or 0.
    [[nodiscard]] int error() const noexcept {
        return std::visit([](const auto& each) { return each.error(); }, period_);
    }
    /// Ends the access early. Returns 0 or an `errno` value.
    int end() noexcept {
        return std::visit([](auto& each) { return each.end(); }, period_);
    }

private:
    typename detail::distinct<std::variant<detail::no_access>, detail::access_type<Sources>...>::type period_;
};

/// Device whose regions come from the first of the sources that can provide them.
template <class... Sources>
class contiguous_memory {
    static_assert(sizeof...(Sources) > 0, "allot: contiguous_memory requires at least one source");
    static_assert((contiguous_source<Sources> && ...),
                  "allot: a source of contiguous_memory is a device of pointers with contiguous = true, int errors and "
                  "bus_address(at, size): wrap a DMA heap in allot::dma::bus_addressed");
    static constexpr std::size_t most_regions = 64;

public:
    using address_model = raw_pointer;  ///< Addresses are pointers.
    using error = int;                  ///< An `errno` value.
    /// Whether the host may access the bytes of every source at all times.
    static constexpr bool host_accessible = (Sources::host_accessible && ...);
    static constexpr offset_use offsets = offset_use::arithmetic;  ///< A byte offset is added to the address.
    /// Minimum alignment of a region, in bytes.
    static constexpr std::size_t min_align = std::min({Sources::min_align...});
    /// Region sizes are multiples of this, in bytes.
    static constexpr std::size_t granularity = std::max({Sources::granularity...});
    /// The DLPack device type: `ext_dev` for memory that the host may not access at all times.
    static constexpr dl_device_type dl_device = host_accessible ? dl_device_type::cpu : dl_device_type::ext_dev;
    static constexpr bool contiguous = true;  ///< Every region is physically contiguous.

    /// Uses default sources.
    contiguous_memory() noexcept
        requires(std::default_initializable<Sources> && ...)
    = default;
    /// Uses these sources, in this order.
    explicit contiguous_memory(Sources... sources) noexcept : sources_{std::move(sources)...} {}

    /// Acquires a region from the first source that has one. Fails with the error of the last source; EINVAL for an
    /// invalid layout; ENOMEM for a size beyond the address space; EMFILE if 64 regions are held.
    [[nodiscard]] acquired<contiguous_memory> acquire(layout wanted) noexcept {
        using answer = acquired<contiguous_memory>;
        if (!wanted.is_valid()) return answer::failure(EINVAL);
        if (!checked_align_up(wanted.size, granularity, wanted.size)) return answer::failure(ENOMEM);
        entry* const free = std::find_if(held_, held_ + most_regions, [](const entry& e) { return e.given.size == 0; });
        if (free == held_ + most_regions) return answer::failure(EMFILE);
        int reason = 0;
        const auto ask = [&](auto& source, std::size_t index) {
            const auto held = source.acquire(wanted);
            if (held) *free = {*held, index};
            else reason = held.error();
            return static_cast<bool>(held);
        };
        if (!first_of(ask, indices{})) return answer::failure(reason);
        return region<void*>{free->given.base, align_down(free->given.size, granularity), free->given.align};
    }
    /// Releases a region to its source.
    void release(region<void*> held) noexcept {
        entry* const found = entry_of(held.base, 1);
        if (found == nullptr) return;
        const entry gone = std::exchange(*found, {});
        const auto give_back = [&](auto& source, std::size_t index) {
            if (index == gone.source) source.release(gone.given);
            return index == gone.source;
        };
        static_cast<void>(first_of(give_back, indices{}));
    }

    /// Returns the bus address of `size` contiguous bytes. Fails with EFAULT unless one region contains all of them.
    [[nodiscard]] result<std::uint64_t, int> bus_address(const void* at, std::size_t size = 1) const noexcept {
        auto found = result<std::uint64_t, int>::failure(EFAULT);
        in_source(at, size, [&](const auto& source) { found = source.bus_address(at, size); });
        return found;
    }
    /// Starts CPU access to these bytes, which lasts until the returned object ends. Fails with EINVAL unless one
    /// region contains all of them, otherwise with the error of the source.
    [[nodiscard]] contiguous_access<Sources...> access(const void* at, std::size_t size, cpu_use use) const noexcept {
        return access_in(at, size, use, indices{});
    }
    /// Returns the DMA buffer that contains all of these bytes, or an empty one if their source has none.
    [[nodiscard]] buffer buffer_of(const void* at, std::size_t size = 1) const noexcept {
        buffer found;
        in_source(at, size, [&](const auto& source) {
            if constexpr (requires { source.buffer_of(at, size); }) found = source.buffer_of(at, size);
        });
        return found;
    }
    /// Returns the position of the source of this byte in the list, or the number of sources if no region contains it.
    [[nodiscard]] std::size_t source_of(const void* at) const noexcept {
        const entry* const found = entry_of(at, 1);
        return found == nullptr ? sizeof...(Sources) : found->source;
    }
    /// Returns a source.
    template <std::size_t Index>
    [[nodiscard]] auto& source() noexcept {
        return std::get<Index>(sources_);
    }

private:
    using indices = std::index_sequence_for<Sources...>;
    struct entry {
        region<void*> given{};
        std::size_t source = 0;
    };

    // Calls `use(source, index)` until it returns true.
    template <class Use, std::size_t... Index>
    bool first_of(Use&& use, std::index_sequence<Index...>) noexcept {
        return (use(std::get<Index>(sources_), Index) || ...);
    }
    template <class Use, std::size_t... Index>
    void visit(std::size_t wanted, Use&& use, std::index_sequence<Index...>) const noexcept {
        static_cast<void>(((Index == wanted && (use(std::get<Index>(sources_)), true)) || ...));
    }
    template <class Use>
    void in_source(const void* at, std::size_t size, Use&& use) const noexcept {
        if (const entry* const found = entry_of(at, size)) visit(found->source, use, indices{});
    }
    template <std::size_t Index, std::size_t... Rest>
    [[nodiscard]] contiguous_access<Sources...> access_in(const void* at, std::size_t size, cpu_use use,
                                                          std::index_sequence<Index, Rest...>) const noexcept {
        const entry* const found = entry_of(at, size);
        if (found == nullptr) return contiguous_access<Sources...>{detail::no_access{EINVAL}};
        if (found->source == Index)
            return contiguous_access<Sources...>{detail::access_of(std::get<Index>(sources_), at, size, use)};
        return access_in(at, size, use, std::index_sequence<Rest...>{});
    }
    [[nodiscard]] contiguous_access<Sources...> access_in(const void*, std::size_t, cpu_use,
                                                          std::index_sequence<>) const noexcept {
        return contiguous_access<Sources...>{detail::no_access{EINVAL}};
    }
    [[nodiscard]] const entry* entry_of(const void* at, std::size_t size) const noexcept {
        const entry* const found = std::find_if(held_, held_ + most_regions, [=](const entry& each) {
            const std::size_t offset = raw_pointer::position(at) - raw_pointer::position(each.given.base);
            return each.given.size != 0 && extent{0, each.given.size}.contains({offset, size});
        });
        return found == held_ + most_regions ? nullptr : found;
    }
    [[nodiscard]] entry* entry_of(const void* at, std::size_t size) noexcept {
        return const_cast<entry*>(static_cast<const contiguous_memory*>(this)->entry_of(at, size));
    }

    std::tuple<Sources...> sources_;
    entry held_[most_regions]{};
};

}  // namespace dma
}  // namespace v1
}  // namespace allot
