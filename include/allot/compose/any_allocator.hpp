// SPDX-License-Identifier: BSL-1.0
// any_allocator: an allocator whose type is chosen at run time.
//
//     std::vector<allot::any_allocator<>> memories;                     // owns its allocators, which differ in type
//     memories.emplace_back(heap_arena{{}, 1_MiB});
//     memories.emplace_back(allot::naive<allot::host::heap>{});
//     std::size_t ordinal = 1;
//     auto block = memories[ordinal].allocate({.size = 256});           // one indirect call
//     memories[ordinal].deallocate(block);
//
//     heap_arena arena{{}, 1_MiB};
//     allot::any_allocator_ref<> borrowed{arena};                       // refers to the arena, which outlives it
//
//     any_allocator_ref │ pointer to the allocator │ pointer to a table of functions of its type │
//     block             │ address │ size │ bytes for the metadata of any of the allocators       │
//
// `any_allocator` keeps its allocator on the heap, so that a move is a copy of two pointers, and blocks and owners stay
// valid. Without a heap, use `any_allocator_ref` with allocators that are objects of the program.
//
// The properties of the memory are options of the type, because tensors and adapters need them at compile time: the
// address model, host access, the device type, the order of deallocation. An allocator that does not have them is
// rejected. For GPUs, with the device's ordinal as the index of a table:
//
//     using any_gpu = allot::any_allocator<allot::raw_pointer, allot::any_options_of<arena_of_a_gpu>>;
//
// When to use: where a program selects the memory at run time, or to keep templates out of an interface.
// When not to use: where the type is known. Every call through this type is indirect.
//
// All abilities that do not depend on the type of the allocator exist. `can(ability)` reports whether the allocator has
// one. Without it, a call refuses: `resize` and `owns` return false, `trim` and `size` return 0, `allocate_at` fails as
// `not_free`, `capacity` returns the size of the block, `try_reset` returns false, and the walks and counters are
// empty. `mark`, `rollback` and `regions` are missing, because their results have a type of each allocator. A wrapper
// around this type has its abilities, so put the wrapper inside where that matters.
//
// Complexity: one indirect call in addition to the allocator; in a walk, one more for each block or hole.
// Memory: two pointers; `any_allocator` also has its allocator on the heap. `any_allocator_options::metadata` bytes are
// in each block.
// Thread safety: that of the allocator.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/compose/detail/any_calls.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

/// The options for allocators like `Allocator`: its properties, and the default size of the metadata.
template <class Allocator>
inline constexpr any_allocator_options any_options_of{.host_accessible = Allocator::host_accessible,
                                                      .offsets = Allocator::offsets,
                                                      .dl_device = Allocator::dl_device,
                                                      .reclaims = Allocator::reclaims};

/// A reference to an allocator of any type with the address model and the properties in `Options`.
template <address_model Model = raw_pointer, any_allocator_options Options = any_allocator_options{}>
class any_allocator_ref {
protected:
    /// The table of functions.
    using calls = detail::any_table<typename Model::address, Options.metadata>;

public:
    using address_model = Model;                                       ///< The address model of all allocators.
    using metadata_type = any_metadata<Options.metadata>;              ///< The metadata of any allocator.
    using block_type = block<typename Model::address, metadata_type>;  ///< The type of blocks.
    static constexpr bool host_accessible = Options.host_accessible;   ///< Whether the host can access the memory.
    static constexpr offset_use offsets = Options.offsets;             ///< How consumers use offsets.
    static constexpr dl_device_type dl_device = Options.dl_device;     ///< The device type in DLPack.
    static constexpr reclaim reclaims = Options.reclaims;              ///< The order in which blocks become free.

    /// Refers to an allocator, which must outlive this object.
    template <class Allocator>
        requires(!std::derived_from<Allocator, any_allocator_ref> && !std::is_const_v<Allocator>)
    any_allocator_ref(Allocator& allocator) noexcept : any_allocator_ref{&allocator, table_of<Allocator>()} {}

    /// Returns whether the allocator has an ability.
    [[nodiscard]] bool can(allocator_ability ability) const noexcept {
        return (table_->abilities & static_cast<unsigned>(ability)) != 0;
    }

    /// Allocates a block. Returns an empty block on failure.
    [[nodiscard]] block_type allocate(layout wanted) noexcept { return table_->allocate(object_, wanted); }
    /// Deallocates an unchanged block. Does nothing for an empty block.
    void deallocate(const block_type& held) noexcept {
        if (held) table_->deallocate(object_, held);
    }
    /// Returns the reason for which `allocate` would fail.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept { return table_->diagnose(object_, wanted); }
    /// Allocates exactly these bytes. Returns an empty block if they are not free.
    [[nodiscard]] block_type allocate_at(extent wanted) noexcept { return table_->allocate_at(object_, wanted); }
    /// Returns the reason for which `allocate_at` would fail.
    [[nodiscard]] diagnosis diagnose_at(extent wanted) noexcept { return table_->diagnose_at(object_, wanted); }
    /// Resizes a block in place and updates `held`. Returns false and changes nothing on failure.
    [[nodiscard]] bool resize(block_type& held, std::size_t size) noexcept {
        return table_->resize(object_, held, size);
    }
    /// Returns the usable bytes of a block, or 0 for an empty block.
    [[nodiscard]] std::size_t capacity(const block_type& held) const noexcept {
        return table_->capacity(object_, held);
    }
    /// Returns true if the block is in the allocator's memory, live or not.
    [[nodiscard]] bool owns(const block_type& held) const noexcept { return table_->owns(object_, held); }
    /// Returns whether this block is live if the allocator checks that; otherwise true. Misuse is reported.
    [[nodiscard]] bool check(const block_type& held) const noexcept { return table_->check(object_, held); }
    /// Returns true if exactly this block is live. Reports nothing. Returns false if the allocator does not record its
    /// blocks.
    [[nodiscard]] bool is_live(const block_type& held) const noexcept { return table_->is_live(object_, held); }
    /// Returns the number of bytes in all regions.
    [[nodiscard]] std::size_t size() const noexcept { return table_->size(object_); }
    /// Releases memory without live blocks. Returns the number of released bytes.
    std::size_t trim() noexcept { return table_->trim(object_); }
    /// Frees every block. Returns false if the allocator cannot, and has freed none.
    [[nodiscard]] bool try_reset() noexcept { return table_->reset(object_); }
    /// Returns the counters of the allocator.
    [[nodiscard]] allocator_statistics statistics() const noexcept { return table_->statistics(object_); }
    /// Calls `f(address, size)` for every hole.
    template <class Function>
    void for_each_hole(Function f) const noexcept {
        table_->for_each_hole(object_, &f, &visit<Function>);
    }
    /// Calls `f(address, size)` for every live block.
    template <class Function>
    void for_each_block(Function f) const noexcept {
        table_->for_each_block(object_, &f, &visit<Function>);
    }

protected:
    /// Uses the functions of a table for an object.
    any_allocator_ref(void* object, const calls& table) noexcept : object_{object}, table_{&table} {}

    /// Returns the functions for a type of allocator.
    template <class Allocator>
    [[nodiscard]] static constexpr const calls& table_of() noexcept {
        static_assert(detail::any_requirements<Allocator, Model, Options>());
        return detail::any_functions<Allocator, block_type>::table;
    }
    /// Refers to no allocator.
    any_allocator_ref() noexcept
        : any_allocator_ref{const_cast<void*>(static_cast<const void*>(&nothing)),
                            detail::any_functions<no_allocator, block_type>::table} {}
    /// Exchanges the allocators.
    void swap(any_allocator_ref& other) noexcept {
        std::swap(object_, other.object_);
        std::swap(table_, other.table_);
    }

    void* object_;        ///< The allocator.
    const calls* table_;  ///< The functions for its type.

private:
    using no_allocator = detail::no_allocator<typename Model::address>;
    static constexpr no_allocator nothing{};

    template <class Function>
    static void visit(void* f, const typename Model::address& address, std::size_t size) noexcept {
        (*static_cast<Function*>(f))(address, size);
    }
};

/// Deduces the options from the allocator.
template <class Allocator>
    requires(!std::is_const_v<Allocator>)
any_allocator_ref(Allocator&) -> any_allocator_ref<typename Allocator::address_model, any_options_of<Allocator>>;

/// An owner of an allocator of any type with the address model and the properties in `Options`. Empty if it was moved
/// from, or if the heap had no memory for the allocator: then it refuses every request as `exhausted`.
template <address_model Model = raw_pointer, any_allocator_options Options = any_allocator_options{}>
class any_allocator : public any_allocator_ref<Model, Options> {
    using base = any_allocator_ref<Model, Options>;
    using base::object_;
    using base::table_;

public:
    /// Owns no allocator.
    any_allocator() noexcept = default;
    /// Moves an allocator to the heap.
    template <class Allocator>
        requires(!std::is_reference_v<Allocator> && !std::derived_from<Allocator, base>)
    any_allocator(Allocator&& allocator) noexcept
        : any_allocator{std::in_place_type<Allocator>, std::forward<Allocator>(allocator)} {}
    /// Constructs an allocator on the heap, from arguments.
    template <class Allocator, class... Arguments>
    explicit any_allocator(std::in_place_type_t<Allocator>, Arguments&&... arguments) noexcept : any_allocator{} {
        auto* const made = new (std::nothrow) Allocator{std::forward<Arguments>(arguments)...};
        if (made == nullptr) return;
        object_ = made;
        table_ = &base::template table_of<Allocator>();
    }
    /// Takes the allocator of another object, which is empty afterward.
    any_allocator(any_allocator&& other) noexcept : any_allocator{} { this->swap(other); }
    /// Destroys the allocator, and takes that of another object, which is empty afterward.
    any_allocator& operator=(any_allocator&& other) noexcept {
        any_allocator taken{std::move(other)};
        this->swap(taken);
        return *this;
    }
    /// Destroys the allocator.
    ~any_allocator() {
        if (*this) table_->destroy(object_);
    }

    /// Returns true if there is an allocator.
    [[nodiscard]] explicit operator bool() const noexcept { return table_->destroy != nullptr; }
};

/// Deduces the options from the allocator.
template <class Allocator>
    requires(!std::is_reference_v<Allocator>)
any_allocator(Allocator&&) -> any_allocator<typename Allocator::address_model, any_options_of<Allocator>>;

}  // namespace v1
}  // namespace allot
