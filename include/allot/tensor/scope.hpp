// SPDX-License-Identifier: BSL-1.0
// scope: the name of a memory in the spelling of graph compilers; scope_map: the map from scopes to allocators.
//
//     allot::scope_map memories{allot::in_scope<allot::scope::global>(heap),
//                               allot::in_scope<allot::scope::vtcm>(first_core),
//                               allot::in_scope<allot::scope::vtcm, 1>(second_core)};
//     auto& arena = memories.get<allot::scope::vtcm, 1>();                  // chosen by the compiler
//     memories.visit("global.vtcm", ordinal, [](auto& arena) { … });        // chosen at run time
//
// A scope is a type with a name; users can define their own. Names match exactly: a prefix or a part of a name is not a
// scope. The empty name is `global`, as graph compilers write it. The map is an object of the caller that refers to
// allocators of the caller; there is no registry.
//
// When to use: in a runtime of a graph compiler that selects memory by scope and device ordinal.
// When not to use: where the program names its arenas directly.
//
// Complexity: one comparison for each entry at run time, none where the compiler chooses; no virtual call. Memory: one
// pointer for each entry. Thread safety: a map is immutable; the allocators have their own rules.
#pragma once

#include <allot/core/allocator.hpp>
#include <allot/tensor/refusal.hpp>

#include <string_view>
#include <tuple>

namespace allot {
inline namespace v1 {

/// The scopes that graph compilers use.
namespace scope {
/// The default memory. The empty name also selects it.
struct global {
    /// The name.
    static constexpr std::string_view name = "global";
};
/// Main memory of a device.
struct ddr {
    /// The name.
    static constexpr std::string_view name = "global.ddr";
};
/// Tightly coupled memory of a Hexagon processor.
struct vtcm {
    /// The name.
    static constexpr std::string_view name = "global.vtcm";
};
/// Images for activations. As in each texture scope, `row_axes` is the number of leading axes that form the image's
/// rows.
/// Precondition of `row_axes`: the rank is at least 3.
struct texture {
    /// The name.
    static constexpr std::string_view name = "global.texture";
    /// Returns the number of leading axes that form the rows.
    static constexpr std::size_t row_axes(std::size_t rank) noexcept { return rank - 2; }
};
/// Images for weights.
struct texture_weight {
    /// The name.
    static constexpr std::string_view name = "global.texture-weight";
    /// Returns the number of leading axes that form the rows.
    static constexpr std::size_t row_axes(std::size_t) noexcept { return 1; }
};
/// Images for activations in NHWC order.
struct texture_nhwc {
    /// The name.
    static constexpr std::string_view name = "global.texture-nhwc";
    /// Returns the number of leading axes that form the rows.
    static constexpr std::size_t row_axes(std::size_t rank) noexcept { return rank == 3 ? 1 : 2; }
};
}  // namespace scope

/// A type that names a memory.
template <class Scope>
concept memory_scope = std::same_as<decltype(Scope::name), const std::string_view>;

/// A scope whose tensors are 2-D images (texture_shape.hpp).
template <class Scope>
concept texture_scope = memory_scope<Scope> && requires(std::size_t rank) {
    { Scope::row_axes(rank) } noexcept -> std::same_as<std::size_t>;
};

/// Returns whether `name` selects the scope: an exact match, or the empty name for `global`.
template <memory_scope Scope>
[[nodiscard]] constexpr bool is_named(std::string_view name) noexcept {
    return name == Scope::name || (name.empty() && Scope::name == scope::global::name);
}

/// A memory that a scope map accepts for a scope: an allocator, or a shaped device (texture.hpp) for a texture scope.
template <class Memory, class Scope>
concept memory_for = allocator<Memory> || texture_scope<Scope>;

/// An entry of a scope map. `in_scope` creates it.
template <memory_scope Scope, std::int64_t Ordinal, memory_for<Scope> Allocator>
struct scope_entry {
    Allocator* allocator;  ///< The memory; never null.
};

/// Returns the entry for the memory of a scope on the device with this ordinal. The allocator must outlive the map.
template <memory_scope Scope, std::int64_t Ordinal = 0, memory_for<Scope> Allocator>
[[nodiscard]] constexpr scope_entry<Scope, Ordinal, Allocator> in_scope(Allocator& allocator) noexcept {
    static_assert(Ordinal >= 0, "allot: a device ordinal must not be negative");
    return {&allocator};
}

/// Does not compile: the type has no name, or the memory is no allocator.
template <class Scope, std::int64_t Ordinal = 0, class Memory>
    requires(!memory_scope<Scope> || !memory_for<Memory, Scope>)
auto in_scope(Memory&) noexcept {
    if constexpr (memory_scope<Scope>) static_assert(allocator_requirements<Memory>());
    else
        static_assert(!sizeof(Scope),
                      "allot: a scope is a type with a name: "
                      "struct on_chip { static constexpr std::string_view name = \"global.on_chip\"; }");
}

/// An immutable map from scope and device ordinal to memory. Each pair of scope and ordinal occurs once.
template <class... Entries>
class scope_map {
public:
    /// Creates a map from the results of `in_scope`.
    constexpr explicit scope_map(Entries... entries) noexcept : entries_{entries...} {}

    /// Returns the memory of a scope, selected at compile time.
    template <memory_scope Scope, std::int64_t Ordinal = 0>
    [[nodiscard]] constexpr auto& get() const noexcept {
        constexpr std::size_t index = index_of<Scope, Ordinal>();
        static_assert(index != sizeof...(Entries),
                      "allot: this scope map has no memory of that scope and ordinal: add one with in_scope");
        return *std::get<index>(entries_).allocator;
    }

    /// Returns `call(memory)` for the memory of a name and ordinal. `call` must accept every memory of the map, shaped
    /// devices included, and return the same `tensor_result` for each. Fails with `unknown_scope` or `unknown_device`
    /// when the map has no such memory.
    template <class Call>
    [[nodiscard]] constexpr auto visit(std::string_view name, std::int64_t ordinal, Call&& call) const noexcept {
        using answer = decltype(call(*std::get<0>(entries_).allocator));
        answer found = answer::failure({tensor_refusal::unknown_scope});
        std::apply([&](const Entries&... each) { static_cast<void>((ask(each, name, ordinal, call, found) || ...)); },
                   entries_);
        return found;
    }

private:
    template <memory_scope Scope, std::int64_t Ordinal, class Allocator, class Call, class Answer>
    static constexpr bool ask(const scope_entry<Scope, Ordinal, Allocator>& entry, std::string_view name,
                              std::int64_t ordinal, Call& call, Answer& answer) noexcept {
        if (!is_named<Scope>(name)) return false;
        if (ordinal != Ordinal) {
            answer = Answer::failure({tensor_refusal::unknown_device});
            return false;
        }
        answer = call(*entry.allocator);
        return true;
    }

    template <memory_scope Wanted, std::int64_t WantedOrdinal, memory_scope Scope, std::int64_t Ordinal,
              class Allocator>
    static consteval bool matches(const scope_entry<Scope, Ordinal, Allocator>*) noexcept {
        return std::same_as<Wanted, Scope> && WantedOrdinal == Ordinal;
    }
    template <memory_scope Scope, std::int64_t Ordinal>
    [[nodiscard]] static consteval std::size_t index_of() noexcept {
        std::size_t index = 0;
        static_cast<void>((... || (matches<Scope, Ordinal>(static_cast<const Entries*>(nullptr)) || (++index, false))));
        return index;
    }
    template <memory_scope Scope, std::int64_t Ordinal, class Allocator>
    static consteval std::size_t count(const scope_entry<Scope, Ordinal, Allocator>*) noexcept {
        return (std::size_t{0} + ... + (matches<Scope, Ordinal>(static_cast<const Entries*>(nullptr)) ? 1U : 0U));
    }
    static_assert(sizeof...(Entries) > 0, "allot: a scope map needs at least one memory");
    static_assert((... && (count(static_cast<const Entries*>(nullptr)) == 1)),
                  "allot: two memories of this scope map have the same scope and ordinal: give each its own ordinal");

    std::tuple<Entries...> entries_;
};

}  // namespace v1
}  // namespace allot
