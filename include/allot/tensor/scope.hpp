// SPDX-License-Identifier: BSL-1.0
// scope: a memory's name as graph compilers spell it, and the map from scopes to allocators.
//
//     allot::scope_map memories{allot::in_scope<allot::scope::global>(heap),
//                               allot::in_scope<allot::scope::vtcm>(first_core),
//                               allot::in_scope<allot::scope::vtcm, 1>(second_core)};
//     auto& arena = memories.get<allot::scope::vtcm, 1>();                  // chosen by the compiler
//     memories.visit("global.vtcm", ordinal, [](auto& arena) { … });        // chosen at run time
//
// A scope is a type with a name; your own is as good as these. Names match exactly, or are refused: neither a prefix nor
// a part of a name is a scope. The empty name is `global`, as graph compilers write it.
//
// The map is an object of yours that refers to allocators of yours; nothing is registered anywhere. Complexity: one
// comparison for each entry at run time, none where the compiler chooses, and no virtual call. Memory: a pointer an
// entry. Thread safety: a map never changes.
#pragma once

#include <allot/core/allocator.hpp>
#include <allot/tensor/refusal.hpp>

#include <string_view>
#include <tuple>

namespace allot {
inline namespace v1 {

namespace scope {
struct global {
    static constexpr std::string_view name = "global";
};
struct ddr {
    static constexpr std::string_view name = "global.ddr";
};
struct vtcm {
    static constexpr std::string_view name = "global.vtcm";
};
// Textures also say how many axes, counted from the first, make the rows of a tensor of that rank, at least 3.
struct texture {
    static constexpr std::string_view name = "global.texture";
    static constexpr std::size_t row_axes(std::size_t rank) noexcept { return rank - 2; }
};
struct texture_weight {
    static constexpr std::string_view name = "global.texture-weight";
    static constexpr std::size_t row_axes(std::size_t) noexcept { return 1; }
};
struct texture_nhwc {
    static constexpr std::string_view name = "global.texture-nhwc";
    static constexpr std::size_t row_axes(std::size_t rank) noexcept { return rank == 3 ? 1 : 2; }
};
}  // namespace scope

/// A type that names a memory.
template <class Scope>
concept memory_scope = std::same_as<decltype(Scope::name), const std::string_view>;

/// Refinement: its tensors are 2-D images (texture_shape.hpp).
template <class Scope>
concept texture_scope = memory_scope<Scope> && requires(std::size_t rank) {
    { Scope::row_axes(rank) } noexcept -> std::same_as<std::size_t>;
};

template <memory_scope Scope>
[[nodiscard]] constexpr bool is_named(std::string_view name) noexcept {
    return name == Scope::name || (name.empty() && Scope::name == scope::global::name);
}

/// What a scope's memory is given as: textures come from shaped devices (texture.hpp), all else from allocators.
template <class Memory, class Scope>
concept memory_for = allocator<Memory> || texture_scope<Scope>;

/// A memory's place in a scope map; made by `in_scope`.
template <memory_scope Scope, std::int64_t Ordinal, memory_for<Scope> Allocator>
struct scope_entry {
    Allocator* allocator;
};

/// The memory of a scope on the device with this ordinal. The allocator outlives the map.
template <memory_scope Scope, std::int64_t Ordinal = 0, memory_for<Scope> Allocator>
[[nodiscard]] constexpr scope_entry<Scope, Ordinal, Allocator> in_scope(Allocator& allocator) noexcept {
    static_assert(Ordinal >= 0, "allot: device ordinals count from 0");
    return {&allocator};
}

template <class... Entries>
class scope_map {
public:
    constexpr explicit scope_map(Entries... entries) noexcept : entries_{entries...} {}

    /// The allocator of a scope, chosen by the compiler.
    template <memory_scope Scope, std::int64_t Ordinal = 0>
    [[nodiscard]] constexpr auto& get() const noexcept {
        constexpr std::size_t index = index_of<Scope, Ordinal>();
        static_assert(index != sizeof...(Entries),
                      "allot: this scope map has no memory of that scope and ordinal: add one with in_scope");
        return *std::get<index>(entries_).allocator;
    }

    /// `call(allocator)` for the memory of a name and ordinal. `call` gives the same `tensor_result` for every
    /// memory of the map, also shaped devices; where none is found, it is refused as unknown_scope or unknown_device.
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

    template <memory_scope Wanted, std::int64_t WantedOrdinal, memory_scope Scope, std::int64_t Ordinal, class Allocator>
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
    static_assert(sizeof...(Entries) > 0, "allot: a scope map has at least one memory");
    static_assert((... && (count(static_cast<const Entries*>(nullptr)) == 1)),
                  "allot: two memories of this scope map have the same scope and ordinal");

    std::tuple<Entries...> entries_;
};

}  // namespace v1
}  // namespace allot
