// SPDX-License-Identifier: BSL-1.0
// any_calls: the table of functions through which any_allocator calls an allocator.
//
//     any_functions<Allocator, Block>::table ──► allocate(void*, layout), deallocate(void*, block), …
//
// Internal.
#pragma once

#include <allot/compose/any_options.hpp>

#include <cstring>

namespace allot {
inline namespace v1 {

namespace detail {

/// The functions for one type of allocator. `Metadata` is the number of bytes for the metadata of a block.
template <class Address, std::size_t Metadata>
struct any_table {
    using held = block<Address, any_metadata<Metadata>>;
    using visitor = void (*)(void*, const Address&, std::size_t) noexcept;

    unsigned abilities;
    held (*allocate)(void*, layout) noexcept;
    void (*deallocate)(void*, const held&) noexcept;
    diagnosis (*diagnose)(void*, layout) noexcept;
    held (*allocate_at)(void*, extent) noexcept;
    diagnosis (*diagnose_at)(void*, extent) noexcept;
    bool (*resize)(void*, held&, std::size_t) noexcept;
    std::size_t (*capacity)(const void*, const held&) noexcept;
    bool (*owns)(const void*, const held&) noexcept;
    bool (*check)(const void*, const held&) noexcept;
    bool (*is_live)(const void*, const held&) noexcept;
    std::size_t (*size)(const void*) noexcept;
    std::size_t (*trim)(void*) noexcept;
    bool (*reset)(void*) noexcept;
    allocator_statistics (*statistics)(const void*) noexcept;
    void (*for_each_hole)(const void*, void*, visitor) noexcept;
    void (*for_each_block)(const void*, void*, visitor) noexcept;
    void (*destroy)(void*) noexcept;  // null if there is no allocator
};

/// The allocator behind an empty any_allocator. All objects are equal, so that one constant is enough.
template <class Address>
struct no_allocator {
    using block_type = block<Address, no_metadata<no_allocator>>;
    [[nodiscard]] block_type allocate(layout) const noexcept { return {}; }
    void deallocate(block_type) const noexcept {}
    [[nodiscard]] diagnosis diagnose(layout wanted) const noexcept {
        const refusal invalid = invalidity(wanted);
        return {invalid == refusal::none ? refusal::exhausted : invalid};
    }
};

template <class Allocator>
inline constexpr bool is_no_allocator = false;
template <class Address>
inline constexpr bool is_no_allocator<no_allocator<Address>> = true;

/// The functions of a table for an allocator.
template <class Allocator, class Block>
struct any_functions;
template <class Allocator, class Address, std::size_t Metadata>
struct any_functions<Allocator, block<Address, any_metadata<Metadata>>> {
    using table_type = any_table<Address, Metadata>;
    using held = typename table_type::held;
    using visitor = typename table_type::visitor;
    using own = block_of<Allocator>;
    using own_metadata = decltype(own::metadata);
    static constexpr bool has_metadata = !std::is_empty_v<own_metadata>;

    // An object without an allocator is a constant, whose functions change nothing.
    using target = std::conditional_t<is_no_allocator<Allocator>, const Allocator, Allocator>;
    [[nodiscard]] static target& in(void* object) noexcept { return *static_cast<target*>(object); }
    [[nodiscard]] static const Allocator& in(const void* object) noexcept {
        return *static_cast<const Allocator*>(object);
    }
    [[nodiscard]] static held wrap(const own& given) noexcept {
        held made{given.address, given.size, {}};
        if constexpr (has_metadata) std::memcpy(made.metadata.bytes.data(), &given.metadata, sizeof(own_metadata));
        return made;
    }
    [[nodiscard]] static own unwrap(const held& given) noexcept {
        own made{given.address, given.size, {}};
        if constexpr (has_metadata) std::memcpy(&made.metadata, given.metadata.bytes.data(), sizeof(own_metadata));
        return made;
    }

    static held allocate(void* object, layout wanted) noexcept { return wrap(in(object).allocate(wanted)); }
    static void deallocate(void* object, const held& given) noexcept { in(object).deallocate(unwrap(given)); }
    static diagnosis diagnose(void* object, layout wanted) noexcept { return in(object).diagnose(wanted); }
    static held allocate_at([[maybe_unused]] void* object, [[maybe_unused]] extent wanted) noexcept {
        if constexpr (positional_allocator<Allocator>) return wrap(in(object).allocate_at(wanted));
        else return {};
    }
    static diagnosis diagnose_at([[maybe_unused]] void* object, extent wanted) noexcept {
        if constexpr (positional_allocator<Allocator>) return in(object).diagnose_at(wanted);
        else return {wanted ? refusal::not_free : refusal::empty_layout};
    }
    static bool resize([[maybe_unused]] void* object, [[maybe_unused]] held& given,
                       [[maybe_unused]] std::size_t size) noexcept {
        if constexpr (resizable_allocator<Allocator>) {
            own resized = unwrap(given);
            if (!in(object).resize(resized, size)) return false;
            given = wrap(resized);
            return true;
        } else {
            return false;
        }
    }
    static std::size_t capacity([[maybe_unused]] const void* object, const held& given) noexcept {
        if constexpr (measuring_allocator<Allocator>) return in(object).capacity(unwrap(given));
        else return given.size;
    }
    static bool owns([[maybe_unused]] const void* object, [[maybe_unused]] const held& given) noexcept {
        if constexpr (owning<Allocator>) return in(object).owns(unwrap(given));
        else return false;
    }
    static bool check([[maybe_unused]] const void* object, [[maybe_unused]] const held& given) noexcept {
        if constexpr (requires(const Allocator& of, own block) { of.check(block); })
            return in(object).check(unwrap(given));
        else return true;
    }
    static bool is_live([[maybe_unused]] const void* object, [[maybe_unused]] const held& given) noexcept {
        if constexpr (requires(const Allocator& of, own block) { of.is_live(block); })
            return in(object).is_live(unwrap(given));
        else return false;
    }
    static std::size_t size([[maybe_unused]] const void* object) noexcept {
        if constexpr (sized_allocator<Allocator>) return in(object).size();
        else return 0;
    }
    static std::size_t trim([[maybe_unused]] void* object) noexcept {
        if constexpr (trimmable_allocator<Allocator>) return in(object).trim();
        else return 0;
    }
    static bool reset([[maybe_unused]] void* object) noexcept {
        if constexpr (requires { in(object).try_reset(); }) {  // another any_allocator
            return in(object).try_reset();
        } else {
            if constexpr (resettable_allocator<Allocator>) in(object).reset();
            return resettable_allocator<Allocator>;
        }
    }
    static allocator_statistics statistics([[maybe_unused]] const void* object) noexcept {
        if constexpr (counting_allocator<Allocator>) return in(object).statistics();
        else return {};
    }
    static void for_each_hole([[maybe_unused]] const void* object, [[maybe_unused]] void* f,
                              [[maybe_unused]] visitor visit) noexcept {
        if constexpr (hole_walkable_allocator<Allocator>)
            in(object).for_each_hole([=](const Address& at, std::size_t size) { visit(f, at, size); });
    }
    static void for_each_block([[maybe_unused]] const void* object, [[maybe_unused]] void* f,
                               [[maybe_unused]] visitor visit) noexcept {
        if constexpr (block_walkable_allocator<Allocator>)
            in(object).for_each_block([=](const Address& at, std::size_t size) { visit(f, at, size); });
    }
    static void destroy(void* object) noexcept { delete static_cast<Allocator*>(object); }

    static constexpr unsigned abilities() noexcept {
        unsigned all = 0;
        const auto add = [&](bool has, allocator_ability one) {
            if (has) all |= static_cast<unsigned>(one);
        };
        add(sized_allocator<Allocator>, allocator_ability::size);
        add(owning<Allocator>, allocator_ability::owns);
        add(measuring_allocator<Allocator>, allocator_ability::capacity);
        add(resizable_allocator<Allocator>, allocator_ability::resize);
        add(trimmable_allocator<Allocator>, allocator_ability::trim);
        add(resettable_allocator<Allocator>, allocator_ability::reset);
        add(positional_allocator<Allocator>, allocator_ability::allocate_at);
        add(hole_walkable_allocator<Allocator>, allocator_ability::for_each_hole);
        add(block_walkable_allocator<Allocator>, allocator_ability::for_each_block);
        add(counting_allocator<Allocator>, allocator_ability::statistics);
        return all;
    }
    static constexpr table_type table{abilities(),   allocate,       deallocate,
                                      diagnose,      allocate_at,    diagnose_at,
                                      resize,        capacity,       owns,
                                      check,         is_live,        size,
                                      trim,          reset,          statistics,
                                      for_each_hole, for_each_block, is_no_allocator<Allocator> ? nullptr : destroy};
};

/// Returns true if an allocator has the properties that any_allocator states. Otherwise it does not compile.
template <class Allocator, class Model, any_allocator_options Options>
consteval bool any_requirements() {
    static_assert(allocator_requirements<Allocator>());
    static_assert(
        std::same_as<typename Allocator::address_model, Model>,
        "allot: the first argument of any_allocator is the address model of all of its allocators: use that of "
        "this allocator");
    static_assert((Allocator::host_accessible || !Options.host_accessible) && Allocator::offsets == Options.offsets &&
                      Allocator::dl_device == Options.dl_device,
                  "allot: this allocator's memory has other properties than the options of any_allocator state: set "
                  "host_accessible, offsets and dl_device, or take them from it: any_options_of<Allocator>");
    static_assert(
        Allocator::reclaims == Options.reclaims || Allocator::reclaims == reclaim::any,
        "allot: this allocator reclaims blocks in another order than any_allocator_options::reclaims states: set "
        "it to the order of this allocator");
    using metadata = decltype(block_of<Allocator>::metadata);
    static_assert(
        std::is_empty_v<metadata> || sizeof(metadata) <= Options.metadata,
        "allot: the metadata of this allocator's blocks is larger than any_allocator_options::metadata: set it "
        "to the size of the largest metadata");
    static_assert(std::is_trivially_copyable_v<metadata>);
    return true;
}

}  // namespace detail

}  // namespace v1
}  // namespace allot
