// SPDX-License-Identifier: BSL-1.0
// hexagon::vtcm: the vector tightly coupled memory (VTCM) of a Hexagon, acquired as one region.
//
//     using memory = allot::best_fit<allot::best_fit_options{.records = 256, .large = 2048}>;
//     allot::arena<allot::hexagon::vtcm<>, memory> vtcm;
//     auto tile = vtcm.allocate({.size = 4096, .align = 2048});     // 2048 bytes or more: from the top end
//     auto vector = vtcm.allocate({.size = 256, .align = 128});     // fewer bytes: from the bottom
//
//     │ vector │ vector │   every hole is tried, from either end    │ tile │    tile    │
//     └ base, a multiple of 2048                                    end of the window ┘
//
// When to use: for vectors and tiles that HVX and HMX read from fast memory.
// When not to use: where other code must acquire VTCM at the same time: this device takes all of it.
//
// The code relies on these rules of Qualcomm's HAP_vtcm_mgr.h. Sizes are rounded up to pages of 4 KiB; a request for a
// single page is rounded up to the next page size (4 KiB, 16 KiB, … 16 MiB). A failed request returns null. The memory
// is released once, by its own address. The window has one owner: other requests wait or fail. Therefore this device
// acquires the window once, and an arena divides it. If the window is one page, the device requests a single page,
// because scatter and gather must not cross the end of a page. The base is at a page boundary, and therefore a multiple
// of 2048; `acquire` returns any other window to the driver and fails. The memory is not initialized.
//
// HVX ignores the low seven bits of a vector's address and does not fault: it reads a misaligned row from another
// address. Use `.align = 128` for all memory that is read as vectors, and 2048 for HMX and other units that work on
// whole tiles.
//
// A driver is a type with three functions. Another source of the memory, such as HAP_compute_res_acquire, can replace
// `vtcm_manager`. Fast memory is too valuable for records: set `.records` to keep them in a side table.
//
// Complexity: one driver call for each `acquire` and `release`, plus queries of the size.
// Memory: one pointer and the driver object.
// Thread safety: none.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/detail/compiler.hpp>
#include <allot/core/device.hpp>

#include <type_traits>
#include <utility>

namespace allot {
inline namespace v1 {
namespace hexagon {

/// A source of the window. `size` returns its size in bytes, or 0 if there is no window. `acquire` returns all of it,
/// or null. `release` returns it to the system.
template <class Driver>
concept vtcm_driver = std::is_nothrow_move_constructible_v<Driver> &&
                      requires(Driver driver, const Driver constant, std::size_t size, void* base) {
                          { constant.size() } noexcept -> std::same_as<std::size_t>;
                          { driver.acquire(size) } noexcept -> std::same_as<void*>;
                          { driver.release(base) } noexcept;
                      };

namespace detail {
// Declared as in the SDK's HAP_vtcm_mgr.h. A program that uses `vtcm_manager` must link their definitions.
extern "C" {
void* HAP_request_VTCM(unsigned int size, unsigned int single_page_flag);
int HAP_release_VTCM(void* base);
int HAP_query_total_VTCM(unsigned int* page_size, unsigned int* page_count);
}
}  // namespace detail

/// The driver that calls the VTCM manager of Qualcomm's SDK.
class vtcm_manager {
public:
    /// Returns the size of the window, or 0 if there is no window.
    [[nodiscard]] std::size_t size() const noexcept {
        const pages all;
        return std::size_t{all.bytes} * all.count;
    }
    /// Requests `size` bytes, as a single page if possible. Returns null on failure.
    [[nodiscard]] void* acquire(std::size_t size) noexcept {
        const auto bytes = static_cast<unsigned int>(size);
        if (pages{}.count == 1) {  // rounding up to one page can exceed the window: then request smaller pages
            if (void* const page = detail::HAP_request_VTCM(bytes, 1)) return page;
        }
        return detail::HAP_request_VTCM(bytes, 0);
    }
    /// Releases the memory.
    void release(void* base) noexcept { detail::HAP_release_VTCM(base); }

private:
    // Size and number of the window's largest pages.
    struct pages {
        unsigned int bytes = 0, count = 0;
        pages() noexcept {
            if (detail::HAP_query_total_VTCM(&bytes, &count) != 0) bytes = count = 0;
        }
    };
};

/// Errors of VTCM.
enum class vtcm_error : unsigned char {
    none,        ///< No error.
    in_use,      ///< This device has already acquired the window.
    too_small,   ///< The window is smaller than the request, or there is no window.
    refused,     ///< The driver returned null: another owner holds part of the window.
    misaligned,  ///< The window's base does not have the requested alignment.
};

/// Returns a human-readable description of the reason.
[[nodiscard]] constexpr const char* to_string(vtcm_error reason) noexcept {
    switch (reason) {
        case vtcm_error::none: return "no error";
        case vtcm_error::in_use: return "this device has already acquired the VTCM window";
        case vtcm_error::too_small: return "the VTCM window is smaller than the request, or there is no window";
        case vtcm_error::refused: return "the VTCM manager returned null: another owner holds part of the window";
        case vtcm_error::misaligned: return "the base of the VTCM window does not have the requested alignment";
    }
    return "unknown";
}

/// The device whose only region is the VTCM window.
template <vtcm_driver Driver = vtcm_manager>
class vtcm {
public:
    using address_model = raw_pointer;                                    ///< An address is a pointer.
    using error = vtcm_error;                                             ///< The error type.
    static constexpr bool host_accessible = true;                         ///< The host can access the bytes.
    static constexpr offset_use offsets = offset_use::arithmetic;         ///< An offset is added to the address.
    static constexpr std::size_t min_align = 2048;                        ///< Every base is a multiple of this.
    static constexpr std::size_t granularity = 1;                         ///< Every size is a multiple of this.
    static constexpr dl_device_type dl_device = dl_device_type::hexagon;  ///< DLPack's device type.

    /// Uses a default-constructed driver.
    vtcm() noexcept
        requires std::default_initializable<Driver>
    = default;
    /// Uses this driver.
    explicit vtcm(Driver driver) noexcept : driver_{std::move(driver)} {}
    /// Moves the device with its window.
    vtcm(vtcm&& other) noexcept : driver_{std::move(other.driver_)}, base_{std::exchange(other.base_, nullptr)} {}
    vtcm& operator=(vtcm&&) = delete;

    /// Returns the size of the window.
    [[nodiscard]] std::size_t capacity() const noexcept { return driver_.size(); }

    /// Acquires the whole window exclusively. Fails with a vtcm_error.
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
    /// Releases the window. Does nothing for any other region, or if the window is already released.
    void release(region<void*> held) noexcept {
        if (base_ != nullptr && held.base == base_) driver_.release(std::exchange(base_, nullptr));
    }

private:
    ALLOT_NO_UNIQUE_ADDRESS Driver driver_{};
    void* base_ = nullptr;
};

static_assert(bounded_device<vtcm<>>);

}  // namespace hexagon
}  // namespace v1
}  // namespace allot
