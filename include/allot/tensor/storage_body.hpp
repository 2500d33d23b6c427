// SPDX-License-Identifier: BSL-1.0
// storage_body: the object behind a storage: it owns the memory and the placement of tensors in it.
//
//     allot::arena<allot::host::heap, allot::best_fit<>> heap{{}, 65536};
//     using uncounted = allot::storage_policies<allot::best_fit<>, allot::references::none>;
//     allot::storage_body<decltype(heap), uncounted> body;                    // outlives its tensors
//     auto data = allot::alloc_storage(body, heap, {.size = 4096}).value();
//
//     storage ──► body ──► allocator
//        ▲         └─ placement: │ a │   │ b │
//     tensors
//
// A tensor allocates its bytes from the body, at a given offset or by a search. With a positional strategy as
// placement, live tensors never share a byte. With `as_given` nothing is recorded and the caller is trusted; a hardened
// storage records the offsets all the same.
//
// Where consumers take no offset (a device with `offsets = none`), a storage is a budget: it acquires no block, and
// each tensor has a separate block. Offsets are placed and checked as in every other storage. With `own_blocks` as
// placement, each tensor has a separate block too, and there are no offsets.
//
// When to use: name this type only with `references::none`, where the program owns the bodies.
// When not to use: with counted references; `alloc_storage` creates the body on the host heap.
//
// Complexity: an allocation at a given offset is O(holes); a search costs as much as the strategy's. Memory: the
// placement (best_fit: 2 KiB of bins for 64-bit offsets) and one record for each allocation, and up to 64 bytes
// besides. A counted body is one allocation on the heap, which has the first 16 records. Thread safety: that of the
// reference policy. The thread that drops the last reference calls the allocator, which must allow that.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/allocator.hpp>
#include <allot/core/detail/compiler.hpp>
#include <allot/core/detail/sanitizer.hpp>
#include <allot/core/device.hpp>
#include <allot/tensor/detail/allocate_or_trim.hpp>
#include <allot/tensor/detail/kept_placement.hpp>
#include <allot/tensor/detail/reference_guard.hpp>
#include <allot/tensor/detail/storage_piece.hpp>
#include <allot/tensor/policies.hpp>
#include <allot/tensor/refusal.hpp>

#include <cstring>
#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// Whether an allocator does not refuse annotations.
template <class Allocator>
inline constexpr bool is_annotated = true;
template <class Allocator>
    requires requires { Allocator::annotated; }
inline constexpr bool is_annotated<Allocator> = Allocator::annotated;
/// Whether only instructions of this program write an allocator's memory.
template <class Allocator>
inline constexpr bool is_host_written = requires { requires host_written_device<typename Allocator::device_type>; };

}  // namespace detail

/// The owner of a storage's memory. Users name it only with `references::none`.
template <allocator Allocator, class Policies>
class storage_body {
    using placement =
        typename detail::kept_placement<typename Policies::placement, Policies::references::counted>::type;
    using block_type = block_of<Allocator>;
    using lock = typename Policies::references::lock;
    using guard = detail::reference_guard<lock>;

public:
    /// The address model of the memory.
    using address_model = typename Allocator::address_model;
    /// The address of a byte.
    using address_type = typename address_model::address;
    /// Whether offsets are recorded, so that live tensors cannot overlap.
    static constexpr bool records = !std::same_as<placement, as_given> && !std::same_as<placement, own_blocks>;
    /// Whether each tensor has a separate block.
    static constexpr bool separate = Allocator::offsets == offset_use::none || std::same_as<placement, own_blocks>;
    /// Whether no two live tensors or rows share a byte.
    static constexpr bool is_exclusive = records || separate;
    /// Whether all tensors are in one block.
    static constexpr bool is_one_block = !separate;
    /// The part of the storage that one tensor or row occupies.
    using piece = detail::storage_piece<placement, std::conditional_t<separate, block_type, void>>;
    /// Whether a piece follows from the metadata of its allocation.
    static constexpr bool finds_pieces = !separate && detail::finds_allocations<placement>;

    static_assert(linear_address_model<address_model>,
                  "allot: a storage needs memory that is contiguous: for memory in rows, use "
                  "alloc_discontiguous_tensor");
    static_assert(
        Allocator::offsets != offset_use::carried || requires(address_type address) { address.handle; },
        "allot: memory whose offsets are carried must use the address model handle_offset");
    static_assert(!records || positional<placement>,
                  "allot: the placement of a storage must be allot::as_given, allot::own_blocks or a positional "
                  "strategy, such as best_fit");
    static_assert(
        !requires { requires placement::in_band; },
        "allot: the placement of a storage must keep its records in a side table");

    /// Creates a body without memory.
    storage_body() noexcept = default;
    storage_body(const storage_body&) = delete;
    storage_body& operator=(const storage_body&) = delete;
    /// Frees the memory. In hardened builds, a live tensor is a misuse (`leaked`).
    ~storage_body() {
        if constexpr (Policies::hardened != hardening::none) {
            if (live_ != 0) typename Policies::on_misuse{}(misuse::leaked, 0, live_);
        }
        if (!block_) return;
        if constexpr (annotated) detail::sanitizer::permit(block_.address, block_.size, false);
        allocator_->deallocate(block_);
    }

    /// Allocates the memory. Returns the error, or an error of `none` on success. Fails with `in_use`, `too_large`,
    /// `no_memory` or `no_host_memory`. The allocator must outlive the body.
    [[nodiscard]] tensor_error acquire(Allocator& from, std::size_t size, std::size_t align) noexcept {
        if (allocator_ != nullptr) return {tensor_refusal::in_use};
        if (size != 0) {
            if (const tensor_error error = acquire_bytes(from, {size, align}); error.reason != tensor_refusal::none)
                return error;
        }
        allocator_ = &from;
        size_ = size;
        below_align_ = align - 1;
        return {};
    }

    /// Returns the requested number of bytes.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Returns the requested alignment.
    [[nodiscard]] std::size_t align() const noexcept { return below_align_ + 1; }
    /// Returns the allocator. Precondition: `acquire` succeeded.
    [[nodiscard]] Allocator& allocator() const noexcept { return *allocator_; }
    /// Returns the address of the first byte; empty where each tensor has a separate block. The caller may access all
    /// bytes, also those that no tensor has yet.
    [[nodiscard]] address_type base() const noexcept {
        if constexpr (annotated) permit_holes();
        return block_.address;
    }
    /// Returns the same address as `base`, for a caller that accesses only the bytes of tensors.
    [[nodiscard]] address_type origin() const noexcept { return block_.address; }

    /// Returns the address of an offset. Precondition: the offset is inside the block.
    [[nodiscard]] address_type locate(std::integral auto offset) const noexcept
        requires(!separate)
    {
        return address_model::locate(block_.address, static_cast<std::size_t>(offset));
    }

    /// Returns the reason that a search would fail, or `refusal::none`.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept
        requires records
    {
        const guard held{lock_};
        return why_not(wanted);
    }

    /// Returns whether the storage has these bytes, so that a tensor can be there. An `align` of 0 is that of the
    /// storage. Returns false for a size of 0.
    [[nodiscard]] bool contains(std::integral auto offset, std::uint64_t size, std::size_t align) const noexcept
        requires(!records && !separate)
    {
        if (align != 0 && (!is_alignment(align) || align - 1 > below_align_)) return false;
        const auto at = static_cast<std::uint64_t>(offset);  // beyond each storage for a negative offset
        return at + size > at && at + size <= size_ && (at & (align == 0 ? below_align_ : align - 1)) == 0;
    }

    /// Allocates bytes for a tensor at an offset, or by a search for `anywhere`, and returns their address. `taken` is
    /// the record to pass to `give_back`. A size of 0 allocates nothing and leaves `taken` unchanged.
    template <storage_offset Offset>
    [[nodiscard]] tensor_result<address_type> take(Offset offset, layout wanted, piece& taken) noexcept {
        using answer = tensor_result<address_type>;
        if (!is_alignment(wanted.align)) return answer::failure({tensor_refusal::bad_alignment});
        if (wanted.align > align()) return answer::failure({tensor_refusal::misaligned});
        std::size_t at = 0;
        if constexpr (std::same_as<Offset, anywhere_t>) {
            static_assert(
                records || is_budget,
                "allot: a storage whose placement is as_given cannot be searched: give an offset, or give the "
                "storage a strategy");
        } else {
            static_assert(!is_budget, "allot: tensors in a storage of own_blocks have no offsets: use allot::anywhere");
            if constexpr (std::signed_integral<Offset>) {
                if (offset < 0) return answer::failure({tensor_refusal::negative_offset});
            }
            const auto wide = static_cast<std::uint64_t>(offset);
            if (wide > size_ || wanted.size > size_ - static_cast<std::size_t>(wide))
                return answer::failure({tensor_refusal::out_of_bounds});
            at = static_cast<std::size_t>(wide);
            if (at % wanted.align != 0) return answer::failure({tensor_refusal::misaligned});
        }
        if (wanted.size == 0) return address_type{};
        piece fresh{};
        if constexpr (records) {
            if (const tensor_error error = place(offset, at, wanted, fresh); error.reason != tensor_refusal::none)
                return answer::failure(error);
            at = static_cast<std::size_t>(fresh.allocation.where.offset);
        } else if constexpr (is_budget) {
            if (!spend(wanted.size)) return answer::failure({tensor_refusal::no_memory, no_row, {refusal::exhausted}});
        }
        address_type address{};
        if constexpr (separate) {
            fresh.own = detail::allocate_or_trim(*allocator_, wanted);
            if (!fresh.own) {
                give_back_allocation(fresh, wanted.size);
                return answer::failure({tensor_refusal::no_memory, no_row, allocator_->diagnose(wanted)});
            }
            address = fresh.own.address;
        } else {
            address = address_model::locate(block_.address, at);
        }
        if constexpr (annotated) detail::sanitizer::permit(address, wanted.size, fresh_bytes && !is_written_.at_base);
        fill(address, wanted.size, fresh_byte);
        taken = fresh;
        return address;
    }

    /// Returns the address of a piece. Precondition: `take` returned it for a size above 0.
    [[nodiscard]] address_type address_of(const piece& taken) const noexcept
        requires(records || separate)
    {
        if constexpr (separate) {
            return taken.own.address;
        } else {
            return address_model::locate(block_.address, static_cast<std::size_t>(taken.allocation.where.offset));
        }
    }

    /// Returns the piece whose allocation has this metadata. Precondition: the piece is not freed.
    [[nodiscard]] piece piece_with(const auto& metadata) const noexcept
        requires finds_pieces
    {
        return {placement_.allocation_with(metadata)};
    }

    /// Frees a piece. Precondition: `take` returned it for a size above 0, and it is not freed yet.
    void give_back(const piece& taken) noexcept {
        if constexpr (records)
            fill(address_of(taken), static_cast<std::size_t>(taken.allocation.where.size), freed_byte);
        if constexpr (annotated)
            detail::sanitizer::forbid(address_of(taken), static_cast<std::size_t>(taken.allocation.where.size));
        if constexpr (separate) {
            const std::size_t size = taken.own.size;
            allocator_->deallocate(taken.own);
            give_back_allocation(taken, size);
        } else {
            give_back_allocation(taken, 0);
        }
    }

private:
    static constexpr int fresh_byte = 0xCD, freed_byte = 0xDD;
    /// Whether the storage only limits the bytes of separate blocks.
    static constexpr bool is_budget = std::same_as<placement, own_blocks>;
    /// Whether a memory checker learns which bytes no tensor has (docs/sanitizers.md).
    static constexpr bool annotated = detail::sanitizer::is_on && records && !separate && Allocator::host_accessible &&
                                      std::same_as<address_model, raw_pointer> && detail::is_annotated<Allocator> &&
                                      hole_walkable<placement>;
    /// Whether the bytes of a new tensor are undefined.
    static constexpr bool fresh_bytes = detail::is_host_written<Allocator>;

    [[nodiscard]] tensor_error acquire_bytes(Allocator& from, layout whole) noexcept {
        if constexpr (records) {
            if (whole.size > std::numeric_limits<typename placement::offset_type>::max())
                return {tensor_refusal::too_large};
        }
        if constexpr (!separate) {
            block_ = detail::allocate_or_trim(from, whole);
            if (!block_) return {tensor_refusal::no_memory, no_row, from.diagnose(whole)};
        }
        if constexpr (records) {
            if (!placement_.insert({0, static_cast<typename placement::offset_type>(whole.size)}, {})) {
                if constexpr (!separate) from.deallocate(std::exchange(block_, {}));
                return {tensor_refusal::no_host_memory};
            }
        }
        if constexpr (annotated) detail::sanitizer::forbid(block_.address, block_.size);
        return {};
    }

    /// Whether only offset 0 has the alignment, because the alignment exceeds the largest offset.
    [[nodiscard]] static bool is_at_start(layout wanted) noexcept {
        return wanted.align > std::numeric_limits<typename placement::offset_type>::max();
    }
    [[nodiscard]] diagnosis why_not(layout wanted) const noexcept {
        using offset = typename placement::offset_type;
        if (wanted.size > size_) return {refusal::exhausted};
        if (is_at_start(wanted)) return placement_.diagnose_at({0, static_cast<offset>(wanted.size)});
        return placement_.diagnose({static_cast<offset>(wanted.size), static_cast<offset>(wanted.align)});
    }

    template <storage_offset Offset>
    [[nodiscard]] tensor_error place(Offset, std::size_t at, layout wanted, piece& fresh) noexcept {
        using offset = typename placement::offset_type;
        const guard held{lock_};
        if constexpr (std::same_as<Offset, anywhere_t>) {
            if (is_at_start(wanted) && wanted.size <= size_)
                fresh.allocation = placement_.allocate_at({0, static_cast<offset>(wanted.size)});
            else if (wanted.size <= size_)
                fresh.allocation =
                    placement_.allocate({static_cast<offset>(wanted.size), static_cast<offset>(wanted.align)});
            if (!fresh.allocation) return {tensor_refusal::no_memory, no_row, why_not(wanted)};
        } else {
            const basic_extent<offset> where{static_cast<offset>(at), static_cast<offset>(wanted.size)};
            fresh.allocation = placement_.allocate_at(where);
            if (!fresh.allocation) {
                const diagnosis error = placement_.diagnose_at(where);
                return {error.reason == refusal::not_free ? tensor_refusal::overlapping : tensor_refusal::no_memory,
                        no_row, error};
            }
        }
        if constexpr (Policies::hardened != hardening::none) ++live_;
        return {};
    }
    /// Counts the bytes of a separate block. Returns false if they exceed the size of the storage.
    [[nodiscard]] bool spend(std::size_t bytes) noexcept {
        const guard held{lock_};
        if (bytes > size_ - spent_.bytes) return false;
        spent_.bytes += bytes;
        if constexpr (Policies::hardened != hardening::none) ++live_;
        return true;
    }
    void give_back_allocation([[maybe_unused]] const piece& taken, [[maybe_unused]] std::size_t size) noexcept {
        if constexpr (records || is_budget) {
            const guard held{lock_};
            if constexpr (records) placement_.deallocate(taken.allocation);
            else spent_.bytes -= size;
            if constexpr (Policies::hardened != hardening::none) --live_;
        }
    }
    /// Permits the bytes that no tensor has, because the caller of `base` may write them before it creates tensors.
    void permit_holes() const noexcept {
        const guard held{lock_};
        is_written_.at_base = true;
        placement_.for_each_hole({0, static_cast<typename placement::offset_type>(size_)}, [this](const auto& hole) {
            detail::sanitizer::permit(address_model::locate(block_.address, static_cast<std::size_t>(hole.offset)),
                                      static_cast<std::size_t>(hole.size), fresh_bytes);
        });
    }
    static void fill([[maybe_unused]] address_type address, [[maybe_unused]] std::size_t size,
                     [[maybe_unused]] int byte) noexcept {
        if constexpr (Policies::hardened == hardening::debug && Allocator::host_accessible &&
                      std::same_as<address_model, raw_pointer>)
            std::memset(address, byte, size);
    }

    Allocator* allocator_ = nullptr;
    block_type block_{};
    std::size_t size_ = 0, below_align_ = 0, live_ = 0;
    ALLOT_NO_UNIQUE_ADDRESS placement placement_{};
    ALLOT_NO_UNIQUE_ADDRESS mutable lock lock_{};

    struct contents {
        bool at_base = false;  // whether the caller may have written bytes that no tensor has
    };
    struct nothing {};
    ALLOT_NO_UNIQUE_ADDRESS mutable std::conditional_t<annotated, contents, nothing> is_written_{};
    struct budget {
        std::size_t bytes = 0;  // of all separate blocks
    };
    struct no_budget {};
    ALLOT_NO_UNIQUE_ADDRESS std::conditional_t<is_budget, budget, no_budget> spent_{};
};

}  // namespace v1
}  // namespace allot
