// SPDX-License-Identifier: BSL-1.0
// indexed: an allocator whose blocks are freed and found by their addresses alone.
//
//     allot::indexed<allot::arena<allot::cuda::device_memory, allot::best_fit<>>> memory{{{}, 1_GiB}};
//     void* const bytes = memory.allocate({.size = 1000}).address;
//     memory.size_of(bytes);                                   // 1000
//     memory.block_containing(static_cast<char*>(bytes) + 5);  // the whole block
//     memory.deallocate(bytes);
//
//     address ──► index beside the memory ──► size, metadata ──► allocator
//
// The blocks have no metadata, so an interface that passes only an address and a size works over every allocator:
// `cuda::memory_resource` over a best_fit of device memory, and containers without a header in front of each block. The
// memory is not accessed. Handles with offsets are addresses as well.
//
// A call for one block reports an address at which no block is live (misuse::not_live), and a block of another size
// (misuse::wrong_size), to the misuse handler (arena/misuse.hpp). If the handler returns, the call has changed
// nothing.
//
// When to use: to pass memory to C interfaces and libraries that free by address, or to find the block of an address in
// a fault handler or a profiler.
// When not to use: where the blocks can be kept, which need no index.
//
// An indexed allocator has every ability of its allocator, and `owns`, which returns true for a live block.
//
// Complexity: O(1) on average, in addition to the complexity of the allocator (decision 058 has measurements).
// `block_containing` is O(distance from the start of the block / 64), and at most O(blocks). `for_each_block` and
// `rollback` are O(records at the peak).
// Memory: about 48 bytes for each block, on the heap, or inside the object if `index_options::records` is a fixed
// number. If the table is full and cannot grow, a request fails with `refusal::out_of_records`.
// Thread safety: requires external synchronization.
#pragma once

#include <allot/arena/misuse.hpp>
#include <allot/compose/detail/address_index.hpp>
#include <allot/compose/detail/forwarding.hpp>

namespace allot {
inline namespace v1 {

/// The options of `indexed`.
struct index_options {
    /// The maximum number of live blocks. 0: the table is on the heap and grows.
    std::size_t records = 0;
};

/// The mark of an indexed allocator: the mark of the allocator, and the number of the newest block.
template <class Mark>
struct indexed_mark {
    Mark inner;                ///< The mark of the allocator.
    std::uint64_t newest = 0;  ///< The number of the newest block.
};

/// An allocator and an index of its live blocks. `OnMisuse` is the type that handles misuses.
template <class Allocator, index_options Options = index_options{}, class OnMisuse = abort_on_misuse>
class indexed : public detail::forwarding<Allocator> {
    using base = detail::forwarding<Allocator>;
    using base::inner_;
    using typename base::allocator_type;
    using inner_block = block_of<Allocator>;
    static_assert(linear_address_model<typename allocator_type::address_model>,
                  "allot: indexed finds a block by the position of an address: use an allocator of pointers or of "
                  "handles with offsets");

public:
    using base::base;
    using typename base::address_model;
    using address_type = typename address_model::address;   ///< The type of addresses.
    using metadata_type = no_metadata<indexed>;             ///< The metadata of a block: none.
    using block_type = block<address_type, metadata_type>;  ///< The type of blocks.

    /// Allocates a block. Returns an empty block on failure.
    [[nodiscard]] block_type allocate(layout wanted) noexcept {
        return index_.room() ? note(inner_.allocate(wanted)) : block_type{};
    }
    /// Allocates exactly these bytes. Returns an empty block if they are not free.
    [[nodiscard]] block_type allocate_at(extent wanted) noexcept
        requires positional_allocator<allocator_type>
    {
        return index_.room() ? note(inner_.allocate_at(wanted)) : block_type{};
    }
    /// Deallocates a block. Does nothing for an empty block. Reports a block that is not live or has another size.
    void deallocate(block_type held) noexcept {
        if (!held) return;
        if (const entry* const known = live(held)) remove(*known);
    }
    /// Deallocates the block at an address. Does nothing for a null pointer. Reports an address without a live block.
    template <std::convertible_to<address_type> Address>
    void deallocate(const Address& at) noexcept {
        const address_type address = at;
        if constexpr (std::is_pointer_v<address_type>) {
            if (address == nullptr) return;
        }
        if (const entry* const known = index_.find(address)) remove(*known);
        else report(misuse::not_live, {address, 0, {}});
    }
    // The following function reports a pointer to const at compile time.
    template <class Byte>
        requires(std::is_const_v<Byte> && !std::convertible_to<Byte*, address_type> && std::is_pointer_v<address_type>)
    void deallocate(Byte*) noexcept {
        static_assert(!sizeof(Byte*), "allot: indexed frees the block at an address that is not const: use const_cast");
    }
    /// Resizes a block in place and updates `held`. Returns false and changes nothing on failure.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept
        requires resizable_allocator<allocator_type>
    {
        if (!held) return false;
        const entry* const known = live(held);
        if (known == nullptr) return false;
        inner_block whole = known->held;
        if (!inner_.resize(whole, size)) return false;
        index_.resize(*known, whole);
        held.size = whole.size;
        return true;
    }
    /// Frees every block.
    void reset() noexcept
        requires resettable_allocator<allocator_type>
    {
        inner_.reset();
        index_.remove_since(0);
    }
    /// Returns a mark for `rollback`.
    [[nodiscard]] auto mark() noexcept
        requires markable_allocator<allocator_type>
    {
        return indexed_mark<decltype(inner_.mark())>{inner_.mark(), index_.last()};
    }
    /// Frees every block that was allocated since the mark. Precondition: the mark is from this allocator and is valid.
    /// Returns false and changes nothing if a hardened allocator reports the mark.
    template <class Mark>
        requires markable_allocator<allocator_type>
    bool rollback(indexed_mark<Mark> mark) noexcept {
        if (!this->roll_back(mark.inner)) return false;
        index_.remove_since(mark.newest);
        return true;
    }

    /// Returns the requested size of the live block at an address, or 0.
    [[nodiscard]] std::size_t size_of(const address_type& at) const noexcept { return outer(index_.find(at)).size; }
    /// Returns the live block at an address, or an empty block.
    [[nodiscard]] block_type block_at(const address_type& at) const noexcept { return outer(index_.find(at)); }
    /// Returns the live block that contains an address, or an empty block.
    [[nodiscard]] block_type block_containing(const address_type& at) const noexcept {
        return outer(index_.find_around(at));
    }

    /// Returns the usable bytes of a block, or 0 for an empty block or a block that is not live, which is reported.
    [[nodiscard]] std::size_t capacity(block_type held) const noexcept
        requires measuring_allocator<allocator_type>
    {
        const entry* const known = held ? live(held) : nullptr;
        return known == nullptr ? 0 : inner_.capacity(known->held);
    }
    /// Returns true if exactly this block is live.
    [[nodiscard]] bool owns(block_type held) const noexcept { return held && block_at(held.address) == held; }
    /// Returns true if exactly this block is live. Otherwise reports the misuse.
    [[nodiscard]] bool check(block_type held) const noexcept {
        const entry* const known = live(held);
        if constexpr (requires { inner_.check(known->held); }) return known != nullptr && inner_.check(known->held);
        else return known != nullptr;
    }
    /// Returns true if exactly this block is live. Reports nothing.
    [[nodiscard]] bool is_live(block_type held) const noexcept { return owns(held); }
    /// Returns the reason for which `allocate` would fail.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept { return with_records(inner_.diagnose(wanted)); }
    /// Returns the reason for which `allocate_at` would fail.
    [[nodiscard]] diagnosis diagnose_at(extent wanted) noexcept
        requires positional_allocator<allocator_type>
    {
        return with_records(inner_.diagnose_at(wanted));
    }
    /// Calls `f(address, size)` for every live block, in no particular order.
    template <class Function>
    void for_each_block(Function f) const noexcept {
        index_.for_each([&](const entry& known) { f(known.held.address, known.held.size); });
    }

    /// Returns the layout that `allocate` asks of the allocator, or an empty layout if the table is full.
    [[nodiscard]] friend layout inner_request(indexed& of, layout wanted) noexcept {
        return of.with_records({}).reason == refusal::none ? wanted : layout{.size = 0};
    }

private:
    using index_type = detail::address_index<address_model, inner_block, Options.records>;
    using entry = typename index_type::entry;

    [[nodiscard]] static block_type outer(const entry* known) noexcept {
        return known == nullptr ? block_type{} : block_type{known->held.address, known->held.size, {}};
    }
    [[nodiscard]] block_type note(const inner_block& given) noexcept {
        if (!given) return {};
        index_.add(given);
        return {given.address, given.size, {}};
    }
    static void report(misuse what, const block_type& held) noexcept {
        detail::report<OnMisuse>(what, address_model::position(held.address), held.size);
    }
    /// Returns the record of exactly this block. Otherwise reports the misuse and returns nullptr.
    [[nodiscard]] const entry* live(const block_type& held) const noexcept {
        const entry* const known = index_.find(held.address);
        if (known != nullptr && known->held.size == held.size) return known;
        report(known == nullptr ? misuse::not_live : misuse::wrong_size, held);
        return nullptr;
    }
    void remove(const entry& known) noexcept {
        const inner_block held = known.held;
        if (!this->is_freeable(held)) return;
        if (this->give_back(held)) index_.remove(known);
    }
    [[nodiscard]] diagnosis with_records(diagnosis found) noexcept {
        if (found.reason == refusal::none && !index_.room()) found.reason = refusal::out_of_records;
        return found;
    }

    index_type index_;
};

/// Deduces a reference for an lvalue and a value for an rvalue.
template <class Allocator>
indexed(Allocator&&) -> indexed<Allocator>;

}  // namespace v1
}  // namespace allot
