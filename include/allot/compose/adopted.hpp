// SPDX-License-Identifier: BSL-1.0
// adopted: memory from outside, a pointer or a handle, that is given back by a function of its owner's, exactly once.
//
//     allot::adopted frame{pixels, size, 64, [](void* p) noexcept { camera_release(p); }};
//     allot::arena<decltype(frame), allot::best_fit<>> memory{std::move(frame)};
//
//     auto release = [](auto at) noexcept { clReleaseMemObject(at.handle); };
//     allot::adopted<allot::opencl::buffer, decltype(release)> buffer{{handle, 0}, size, 128, release};
//
//     adopted ── moved into ──► allocator ── ends ──► deleter(base)
//
// It owns the memory from the moment that it is made, as a unique_ptr does: the deleter runs when the object ends that
// the device was moved into last, also when nothing was acquired or everything refused. The deleter is noexcept,
// because it runs in a destructor.
//
// `Kind` is a device whose memory this is as well: it states how a byte is named, who may touch it, and what DLPack
// calls it. The base is never moved, because others know the memory by it: an alignment that it has not is refused. A
// pointer's alignment is found out, a handle's is stated; one that is stated of a pointer is checked. Memory behind a
// pointer to const is read-only: its addresses are pointers to const too, and no records are put there (const_pointer).
//
// What nobody here can know is whether a device is still at work in the memory when it is given back. That is the
// caller's word: work is finished before the last tensor or allocator ends, or the deleter waits for it.
//
// Complexity: O(1). Memory: the base, its size and alignment, and the deleter. Thread safety: none.
#pragma once

#include <allot/address/const_pointer.hpp>
#include <allot/host/memory.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

/// Why an adopted region is refused.
enum class adopted_error : unsigned char {
    none,
    in_use,      // it was acquired before
    too_small,   // it has fewer bytes than asked for
    misaligned,  // its base has not the alignment that is asked for, or that was stated of it
};

/// The traits of memory as `Kind`'s, by pointers that only read.
template <class Kind>
struct read_only : traits_of<Kind> {
    static_assert(std::same_as<typename Kind::address_model, raw_pointer>,
                  "allot: only pointers can be read-only: a handle's rights are its driver's business");
    using address_model = const_pointer;
};

template <class Kind, class Deleter>
class adopted {
public:
    using address_model = typename Kind::address_model;
    using error = adopted_error;
    static constexpr bool host_accessible = Kind::host_accessible;
    static constexpr offset_use offsets = Kind::offsets;
    static constexpr std::size_t min_align = 1;  // memory from outside keeps no rule of Kind's own regions
    static constexpr std::size_t granularity = 1;
    static constexpr dl_device_type dl_device = Kind::dl_device;

private:
    using address = typename address_model::address;
    static_assert(std::is_nothrow_invocable_v<Deleter&, address>,
                  "allot: the deleter of adopted memory takes its base and is noexcept");

public:
    /// Memory whose base's alignment can be found out.
    adopted(address base, std::size_t size, Deleter deleter) noexcept
        requires(address_model::absolute)
        : adopted{base, size, 1, std::move(deleter)} {}
    /// `align`: what the base is a multiple of. Where it is not, every acquisition is refused.
    adopted(address base, std::size_t size, std::size_t align, Deleter deleter) noexcept
        : base_{base}, size_{size}, align_{align}, deleter_{std::move(deleter)} {
        if constexpr (address_model::absolute) {
            const std::size_t actual = alignment_of(address_model::position(base));
            align_ = is_alignment(align) && align <= actual ? actual : 0;
        }
    }
    adopted(adopted&& other) noexcept
        : base_{other.base_},
          size_{other.size_},
          align_{other.align_},
          deleter_{std::move(other.deleter_)},
          in_use_{other.in_use_},
          owns_{std::exchange(other.owns_, false)} {}
    adopted& operator=(adopted&&) = delete;
    ~adopted() {
        if (owns_) deleter_(base_);
    }

    [[nodiscard]] std::size_t capacity() const noexcept { return size_; }

    /// All of it: whoever acquires it has it alone.
    [[nodiscard]] acquired<adopted> acquire(layout wanted) noexcept {
        using answer = acquired<adopted>;
        if (in_use_) return answer::failure(error::in_use);
        if (!is_alignment(align_) || !is_alignment(wanted.align) || wanted.align > align_)
            return answer::failure(error::misaligned);
        if (wanted.size == 0 || wanted.size > size_) return answer::failure(error::too_small);
        in_use_ = true;
        return region<address>{base_, size_, align_};
    }
    void release(region<address>) noexcept { in_use_ = false; }

private:
    address base_;
    std::size_t size_, align_;
    [[no_unique_address]] Deleter deleter_;
    bool in_use_ = false, owns_ = true;
};

template <class Deleter>
adopted(void*, std::size_t, Deleter) -> adopted<host::buffer, Deleter>;
template <class Deleter>
adopted(void*, std::size_t, std::size_t, Deleter) -> adopted<host::buffer, Deleter>;
template <class Deleter>
adopted(const void*, std::size_t, Deleter) -> adopted<read_only<host::buffer>, Deleter>;
template <class Deleter>
adopted(const void*, std::size_t, std::size_t, Deleter) -> adopted<read_only<host::buffer>, Deleter>;

static_assert(bounded_device<adopted<host::buffer, void (*)(void*) noexcept>>);
static_assert(bounded_device<adopted<read_only<host::buffer>, void (*)(const void*) noexcept>>);

}  // namespace v1
}  // namespace allot
