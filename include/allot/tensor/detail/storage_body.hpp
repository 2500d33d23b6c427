// SPDX-License-Identifier: BSL-1.0
// storage_body: the memory behind a storage, and the placement of its bytes.
//
//     storage ──► body ──► allocator              a tensor claims its bytes: two never share any, whoever decides
//        ▲         └─ placement: │ a │   │ b │    the offsets. With `as_given` the planner is trusted and nothing is
//     tensors                                     recorded; in hardened builds it is checked all the same
//
// Where consumers take no offset (a device with `offsets = none`) a storage is a budget: it acquires nothing, and every
// tensor in it gets a block of its own, though placed and refused as everywhere else.
//
// Complexity: a claim of given bytes is O(holes), a search that of the strategy. Memory: the placement (best_fit: 2 KiB
// of bins for 64-bit offsets) and one record for each claim. Thread safety: that of the references; the allocator is
// called by whoever drops the last reference, and has to allow that.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/allocator.hpp>
#include <allot/tensor/policies.hpp>
#include <allot/tensor/refusal.hpp>

#include <cstring>
#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// What one tensor takes of a storage.
template <class Placement, class Block>
struct storage_piece {
    allocation_of<Placement> allocation{};
    Block own{};  // where every tensor has a block of its own
};
template <class Placement>
struct storage_piece<Placement, void> {
    allocation_of<Placement> allocation{};
};
template <class Block>
struct storage_piece<as_given, Block> {
    Block own{};
};
template <>
struct storage_piece<as_given, void> {};

/// The memory behind a storage. Only where references are not counted does a user name it, and own one.
template <allocator Allocator, class Policies>
class storage_body {
    using placement = typename Policies::placement;
    using block_type = block_of<Allocator>;
    using lock = typename Policies::references::lock;

public:
    using address_model = typename Allocator::address_model;
    using address_type = typename address_model::address;
    /// Whether offsets are recorded, so that live tensors cannot overlap.
    static constexpr bool records = !std::same_as<placement, as_given>;
    /// Whether every tensor has a block of its own.
    static constexpr bool separate = Allocator::offsets == offset_use::none;
    using piece = storage_piece<placement, std::conditional_t<separate, block_type, void>>;

    static_assert(linear_address_model<address_model>,
                  "allot: tensors lie at offsets in one piece of memory: for memory in rows, use "
                  "alloc_discontiguous_tensor");
    static_assert(Allocator::offsets != offset_use::carried || requires(address_type address) { address.handle; },
                  "allot: memory whose offsets are carried names its bytes by handle_offset");
    static_assert(!records || positional<placement>,
                  "allot: the placement of a storage is allot::as_given or a positional strategy, such as best_fit");
    static_assert(!requires { requires placement::in_band; },
                  "allot: the placement of a storage keeps its records beside the memory");

    storage_body() noexcept = default;
    storage_body(const storage_body&) = delete;
    storage_body& operator=(const storage_body&) = delete;
    ~storage_body() {
        if constexpr (Policies::hardened != hardening::none) {
            if (live_ != 0) typename Policies::on_misuse{}(misuse::leaked, 0, live_);
        }
        if (block_) allocator_->deallocate(block_);
    }

    /// Acquires the memory: the refusal, or none.
    [[nodiscard]] tensor_error acquire(Allocator& from, std::size_t size, std::size_t align) noexcept {
        if (allocator_ != nullptr) return {tensor_refusal::in_use};
        if (size != 0) {
            if (const tensor_error error = acquire_bytes(from, {size, align}); error.reason != tensor_refusal::none) return error;
        }
        allocator_ = &from;
        size_ = size;
        align_ = align;
        return {};
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t align() const noexcept { return align_; }
    /// What it acquired from. Precondition: it did.
    [[nodiscard]] Allocator& allocator() const noexcept { return *allocator_; }
    /// The first byte; nothing where tensors have blocks of their own.
    [[nodiscard]] address_type base() const noexcept { return block_.address; }

    /// Why a search would refuse.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept
        requires records
    {
        const guard held{lock_};
        return why_not(wanted);
    }

    /// Takes bytes for a tensor, at an offset or anywhere. Says where they begin.
    template <storage_offset Offset>
    [[nodiscard]] tensor_result<address_type> take(Offset offset, layout wanted, piece& taken) noexcept {
        using answer = tensor_result<address_type>;
        if (!is_alignment(wanted.align)) return answer::failure({tensor_refusal::bad_alignment});
        if (wanted.align > align_) return answer::failure({tensor_refusal::misaligned});
        std::size_t at = 0;
        if constexpr (std::same_as<Offset, anywhere_t>) {
            static_assert(records, "allot: nothing is recorded where offsets are as_given, so that there is nothing to search: "
                                   "give an offset, or give the storage a strategy");
        } else {
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
        }
        address_type address{};
        if constexpr (separate) {
            fresh.own = allocate(*allocator_, wanted);
            if (!fresh.own) {
                give_back_allocation(fresh);
                return answer::failure({tensor_refusal::no_memory, no_row, allocator_->diagnose(wanted)});
            }
            address = fresh.own.address;
        } else {
            address = address_model::locate(block_.address, at);
        }
        fill(address, wanted.size, fresh_byte);
        taken = fresh;
        return address;
    }

    /// Where a piece begins. Precondition: `take` gave it, and it is not of no bytes.
    [[nodiscard]] address_type address_of(const piece& taken) const noexcept
        requires(records || separate)
    {
        if constexpr (separate) {
            return taken.own.address;
        } else {
            return address_model::locate(block_.address, static_cast<std::size_t>(taken.allocation.where.offset));
        }
    }

    /// Takes bytes back. Precondition: `take` gave them, and they were not none.
    void give_back(const piece& taken) noexcept {
        if constexpr (records) fill(address_of(taken), static_cast<std::size_t>(taken.allocation.where.size), freed_byte);
        if constexpr (separate) allocator_->deallocate(taken.own);
        give_back_allocation(taken);
    }

private:
    static constexpr int fresh_byte = 0xCD, freed_byte = 0xDD;

    class guard {
    public:
        explicit guard(lock& guarded) noexcept : guarded_{guarded} { guarded_.acquire(); }
        guard(const guard&) = delete;
        guard& operator=(const guard&) = delete;
        ~guard() { guarded_.release(); }

    private:
        lock& guarded_;
    };

    /// Where the first answer is no and something can be trimmed, the allocator is asked once more.
    [[nodiscard]] static block_type allocate(Allocator& from, layout wanted) noexcept {
        block_type fresh = from.allocate(wanted);
        if constexpr (requires { from.trim(); }) {
            if (!fresh && from.trim() != 0) fresh = from.allocate(wanted);
        }
        return fresh;
    }

    [[nodiscard]] tensor_error acquire_bytes(Allocator& from, layout whole) noexcept {
        if constexpr (records) {
            if (whole.size > std::numeric_limits<typename placement::offset_type>::max())
                return {tensor_refusal::too_large};
        }
        if constexpr (!separate) {
            block_ = allocate(from, whole);
            if (!block_) return {tensor_refusal::no_memory, no_row, from.diagnose(whole)};
        }
        if constexpr (records) {
            if (!placement_.insert({0, static_cast<typename placement::offset_type>(whole.size)}, {})) {
                if constexpr (!separate) from.deallocate(std::exchange(block_, {}));
                return {tensor_refusal::no_host_memory};
            }
        }
        return {};
    }

    /// An alignment beyond the last offset is that of the first byte alone.
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
                fresh.allocation = placement_.allocate({static_cast<offset>(wanted.size), static_cast<offset>(wanted.align)});
            if (!fresh.allocation) return {tensor_refusal::no_memory, no_row, why_not(wanted)};
        } else {
            const basic_extent<offset> where{static_cast<offset>(at), static_cast<offset>(wanted.size)};
            fresh.allocation = placement_.allocate_at(where);
            if (!fresh.allocation) {
                const diagnosis error = placement_.diagnose_at(where);
                return {error.reason == refusal::not_free ? tensor_refusal::overlapping : tensor_refusal::no_memory, no_row, error};
            }
        }
        if constexpr (Policies::hardened != hardening::none) ++live_;
        return {};
    }
    void give_back_allocation([[maybe_unused]] const piece& taken) noexcept {
        if constexpr (records) {
            const guard held{lock_};
            placement_.deallocate(taken.allocation);
            if constexpr (Policies::hardened != hardening::none) --live_;
        }
    }
    static void fill([[maybe_unused]] address_type address, [[maybe_unused]] std::size_t size,
                     [[maybe_unused]] int byte) noexcept {
        if constexpr (Policies::hardened == hardening::debug && Allocator::host_accessible &&
                      std::same_as<address_model, raw_pointer>)
            std::memset(address, byte, size);
    }

    Allocator* allocator_ = nullptr;
    block_type block_{};
    std::size_t size_ = 0, align_ = 1, live_ = 0;
    [[no_unique_address]] placement placement_{};
    [[no_unique_address]] lock lock_{};
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
