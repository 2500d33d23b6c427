// SPDX-License-Identifier: BSL-1.0
// adopted: existing memory, named by a pointer or a handle, that the owner's function releases exactly once.
//
//     allot::adopted frame{pixels, size, 64, [](void* p) noexcept { camera_release(p); }};
//     allot::arena<decltype(frame), allot::best_fit<>> memory{std::move(frame)};
//
//     auto release = [](auto at) noexcept { clReleaseMemObject(at.handle); };
//     allot::adopted<allot::opencl::buffer, decltype(release)> buffer{{handle, 0}, size, 128, release};
//
//     adopted ── moved into ──► allocator ── ends ──► deleter(base)
//
// Ownership: the device owns the memory from construction on, like `std::unique_ptr`. The deleter runs when the last
// object to which the device was moved ends. It also runs if the memory was never acquired or if every acquisition
// failed. The deleter is noexcept because a destructor calls it.
//
// Kind: `Kind` is a device type. It supplies the address model, the host access, and the DLPack device type of the
// memory.
//
// Alignment: the base address never moves, because the owner identifies the memory by it. A request for more alignment
// than the base has fails. The alignment of a pointer is derived from its value, and a stated alignment is checked
// against that value. The alignment of a handle is the stated one. Memory behind a pointer to const is read-only: its
// addresses are pointers to const, and strategies keep their records outside (`const_pointer`).
//
// Precondition: the library cannot detect whether an accelerator still uses the memory when the deleter runs. Complete
// that work before the last tensor or allocator ends, or let the deleter wait for it.
//
// When to use: for frames, messages, and mappings that another library allocated and that this program must release.
// When not to use: for bytes that outlive the arena in any case. `buffer` needs no deleter.
// Complexity: O(1).
// Memory: the base address, its size and alignment, two flags, and the deleter.
// Thread safety: not synchronized.
#pragma once

#include <allot/address/const_pointer.hpp>
#include <allot/core/detail/compiler.hpp>
#include <allot/host/buffer.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

/// Reason for a failed `acquire` on an adopted region.
enum class adopted_error : unsigned char {
    none,        ///< No error.
    in_use,      ///< The memory is already acquired.
    too_small,   ///< The requested size is zero or larger than the memory.
    misaligned,  ///< An alignment is invalid, or the base is less aligned than requested or stated.
};

/// Returns a human-readable description of the reason.
[[nodiscard]] constexpr const char* to_string(adopted_error reason) noexcept {
    switch (reason) {
        case adopted_error::none: return "no error";
        case adopted_error::in_use: return "the memory is already acquired";
        case adopted_error::too_small: return "the size is 0 or larger than the adopted memory";
        case adopted_error::misaligned:
            return "the base of the adopted memory has less alignment than requested or stated";
    }
    return "unknown";
}

/// Traits of `Kind` with addresses that are pointers to const.
template <class Kind>
struct read_only : traits_of<Kind> {
    static_assert(std::same_as<typename Kind::address_model, raw_pointer>,
                  "allot: read_only requires a device with raw_pointer addresses");
    using address_model = const_pointer;  ///< Addresses are pointers to const.
};

/// Device over existing memory of the kind of `Kind`. Calls `Deleter` with the base address when its lifetime ends.
template <class Kind, class Deleter>
class adopted : public traits_of<Kind> {
public:
    using error = adopted_error;                   ///< Reason for a failed `acquire`.
    static constexpr std::size_t min_align = 1;    ///< Minimum alignment in bytes. The rules of `Kind` do not apply.
    static constexpr std::size_t granularity = 1;  ///< Any size is valid.

private:
    using model = typename Kind::address_model;
    using address = typename model::address;
    static_assert(std::is_nothrow_invocable_v<Deleter&, address>,
                  "allot: adopted requires a noexcept deleter that takes the base address");

public:
    /// Takes ownership of `size` bytes at `base`. The alignment is derived from the address.
    adopted(address base, std::size_t size, Deleter deleter) noexcept
        requires(model::absolute)
        : adopted{base, size, 1, std::move(deleter)} {}
    /// Takes ownership of `size` bytes at `base`, which is a multiple of `align`. If a pointer is not, every
    /// acquisition fails with `misaligned`.
    adopted(address base, std::size_t size, std::size_t align, Deleter deleter) noexcept
        : base_{base}, size_{size}, align_{align}, deleter_{std::move(deleter)} {
        if constexpr (model::absolute) {
            const std::size_t actual = alignment_of(model::position(base));
            align_ = is_alignment(align) && align <= actual ? actual : 0;
        }
    }
    /// Transfers ownership. The source does not call its deleter.
    adopted(adopted&& other) noexcept
        : base_{other.base_},
          size_{other.size_},
          align_{other.align_},
          deleter_{std::move(other.deleter_)},
          in_use_{other.in_use_},
          owns_{std::exchange(other.owns_, false)} {}
    adopted& operator=(adopted&&) = delete;
    /// Calls the deleter if this object owns the memory.
    ~adopted() {
        if (owns_) deleter_(base_);
    }

    /// Returns the size of the memory in bytes.
    [[nodiscard]] std::size_t capacity() const noexcept { return size_; }

    /// Acquires all of the memory. Fails with `adopted_error`.
    [[nodiscard]] acquired<adopted> acquire(layout wanted) noexcept {
        using answer = acquired<adopted>;
        if (in_use_) return answer::failure(error::in_use);
        if (!is_alignment(align_) || !is_alignment(wanted.align) || wanted.align > align_)
            return answer::failure(error::misaligned);
        if (wanted.size == 0 || wanted.size > size_) return answer::failure(error::too_small);
        in_use_ = true;
        return region<address>{base_, size_, align_};
    }
    /// Makes the memory available again. Does not call the deleter.
    void release(region<address>) noexcept { in_use_ = false; }

private:
    address base_;
    std::size_t size_, align_;
    ALLOT_NO_UNIQUE_ADDRESS Deleter deleter_;
    bool in_use_ = false, owns_ = true;
};

/// Deduces host memory from a pointer.
template <class Deleter>
adopted(void*, std::size_t, Deleter) -> adopted<host::buffer, Deleter>;
/// Deduces host memory from a pointer and its alignment.
template <class Deleter>
adopted(void*, std::size_t, std::size_t, Deleter) -> adopted<host::buffer, Deleter>;
/// Deduces read-only host memory from a pointer to const.
template <class Deleter>
adopted(const void*, std::size_t, Deleter) -> adopted<read_only<host::buffer>, Deleter>;
/// Deduces read-only host memory from a pointer to const and its alignment.
template <class Deleter>
adopted(const void*, std::size_t, std::size_t, Deleter) -> adopted<read_only<host::buffer>, Deleter>;

static_assert(bounded_device<adopted<host::buffer, void (*)(void*) noexcept>>);
static_assert(bounded_device<adopted<read_only<host::buffer>, void (*)(const void*) noexcept>>);

}  // namespace v1
}  // namespace allot
