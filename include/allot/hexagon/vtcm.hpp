// SPDX-License-Identifier: BSL-1.0
// vtcm: the vector tightly coupled memory of a Hexagon, all of it in one acquisition of its driver.
//
//     using memory = allot::best_fit<allot::best_fit_options{.records = 256, .large = 2048}>;
//     allot::arena<allot::hexagon::vtcm<>, memory> vtcm;
//     auto tile = vtcm.allocate({.size = 4096, .align = 2048});     // from 2048 bytes on: from the top end
//     auto vector = vtcm.allocate({.size = 256, .align = 128});     // smaller ones: from the bottom
//
//     │ vector │ vector │   every hole is tried, from either end    │ tile │    tile    │
//     └ base, a multiple of 2048                                         the window's end ┘
//
// The driver's rules, from Qualcomm's HAP_vtcm_mgr.h: sizes are rounded up to pages of 4 KiB, or, for one page, to the
// next size that a page can have (4 KiB, 16 KiB, … 16 MiB); a request that cannot be served gives null; what was given
// is released once, by its own address. One owner holds the window, and whoever asks while it does, waits or is
// refused: hence one acquisition, which an arena then cuts. Where the window is one page it is asked for as one,
// because scatter and gather must not cross a page's end. The base lies at a page, so at a multiple of 2048; one that
// does not is given back and refused. The memory is whatever it was: nothing is zeroed.
//
// HVX ignores the low seven bits of a vector's address and does not fault: a row that is misaligned is read from
// elsewhere. Say `.align = 128` wherever vectors are read, 2048 for HMX and what else works on whole tiles.
//
// A driver is three functions, so that another way to the memory, such as HAP_compute_res_acquire, takes the place of
// `vtcm_manager`. Fast memory is too dear for records: say how many there are, `.records`, to keep them beside it.
//
// Complexity: one call of the driver's to acquire, one to release. Memory: a pointer, and the driver's own. Thread
// safety: none.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/device.hpp>

#include <type_traits>
#include <utility>

namespace allot {
inline namespace v1 {
namespace hexagon {

/// What gives the window: its size in bytes, 0 where there is none; all of it, or null; and back again.
template <class Driver>
concept vtcm_driver = std::is_nothrow_move_constructible_v<Driver> &&
                      requires(Driver driver, const Driver constant, std::size_t size, void* base) {
                          { constant.size() } noexcept -> std::same_as<std::size_t>;
                          { driver.acquire(size) } noexcept -> std::same_as<void*>;
                          { driver.release(base) } noexcept;
                      };

namespace detail {
// As the SDK's HAP_vtcm_mgr.h declares them; whoever uses `vtcm_manager` links what defines them.
extern "C" {
void* HAP_request_VTCM(unsigned int size, unsigned int single_page_flag);
int HAP_release_VTCM(void* base);
int HAP_query_total_VTCM(unsigned int* page_size, unsigned int* page_count);
}
}  // namespace detail

/// The VTCM manager of Qualcomm's SDK.
class vtcm_manager {
public:
    [[nodiscard]] std::size_t size() const noexcept {
        const pages all;
        return std::size_t{all.bytes} * all.count;
    }
    [[nodiscard]] void* acquire(std::size_t size) noexcept {
        const auto bytes = static_cast<unsigned int>(size);
        if (pages{}.count == 1) {  // what the driver rounds up for one page may be more than there is
            if (void* const page = detail::HAP_request_VTCM(bytes, 1)) return page;
        }
        return detail::HAP_request_VTCM(bytes, 0);
    }
    void release(void* base) noexcept { detail::HAP_release_VTCM(base); }

private:
    /// The largest pages that the window has.
    struct pages {
        unsigned int bytes = 0, count = 0;
        pages() noexcept {
            if (detail::HAP_query_total_VTCM(&bytes, &count) != 0) bytes = count = 0;
        }
    };
};

/// Why VTCM is refused.
enum class vtcm_error : unsigned char {
    none,
    in_use,      // this device's window was acquired before
    too_small,   // the window has fewer bytes than asked for, or there is none
    refused,     // the driver gave nothing: somebody else holds some of it
    misaligned,  // its base has not the alignment that is asked for
};

template <vtcm_driver Driver = vtcm_manager>
class vtcm {
public:
    using address_model = raw_pointer;
    using error = vtcm_error;
    static constexpr bool host_accessible = true;
    static constexpr offset_use offsets = offset_use::arithmetic;
    static constexpr std::size_t min_align = 2048;
    static constexpr std::size_t granularity = 1;
    static constexpr dl_device_type dl_device = dl_device_type::hexagon;

    vtcm() noexcept
        requires std::default_initializable<Driver>
    = default;
    explicit vtcm(Driver driver) noexcept : driver_{std::move(driver)} {}
    vtcm(vtcm&& other) noexcept : driver_{std::move(other.driver_)}, base_{std::exchange(other.base_, nullptr)} {}
    vtcm& operator=(vtcm&&) = delete;

    [[nodiscard]] std::size_t capacity() const noexcept { return driver_.size(); }

    /// All of the window: whoever acquires it has it alone.
    [[nodiscard]] acquired<vtcm> acquire(layout wanted) noexcept {
        using answer = acquired<vtcm>;
        if (base_ != nullptr) return answer::failure(error::in_use);
        if (!is_alignment(wanted.align)) return answer::failure(error::misaligned);
        const std::size_t size = capacity();
        if (wanted.size == 0 || wanted.size > size) return answer::failure(error::too_small);
        void* const base = driver_.acquire(size);
        if (base == nullptr) return answer::failure(error::refused);
        const std::size_t align = alignment_of(raw_pointer::position(base));
        if (align < min_align || align < wanted.align) {
            driver_.release(base);
            return answer::failure(error::misaligned);
        }
        base_ = base;
        return region<void*>{base, size, align};
    }
    /// A second time, or with anything else, it does nothing.
    void release(region<void*> held) noexcept {
        if (base_ != nullptr && held.base == base_) driver_.release(std::exchange(base_, nullptr));
    }

private:
    [[no_unique_address]] Driver driver_{};
    void* base_ = nullptr;
};

static_assert(bounded_device<vtcm<>>);

}  // namespace hexagon
}  // namespace v1
}  // namespace allot
