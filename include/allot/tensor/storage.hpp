// SPDX-License-Identifier: BSL-1.0
// storage: one block of memory that contains tensors at offsets and lives as long as any of them.
//
//     auto data = allot::alloc_storage(arena, {.size = 4096, .align = 128}).value();  // align: of every tensor
//     auto a = allot::alloc_tensor(data, 1024, {4, 64}, allot::int32).value();       // tensor.hpp
//     auto more = allot::alloc_storage<allot::scope::vtcm>(memories, {4, 64}, allot::float32, 2048).value();
//
//     storage ─┐                    ┌───┬─────┬───┬─────┬───────┐
//     tensor a ┼─► storage_body ──► │   │  a  │   │  b  │       │
//     tensor b ┘                    └───┴─────┴───┴─────┴───────┘
//
// A storage is a handle: a copy adds a reference, and the last reference frees the block. The allocator must outlive
// the last reference. The policies (policies.hpp) select the placement of tensors, the reference counting and the
// hardening. With `references::none` the caller owns the body, which must outlive its tensors; nothing is taken from
// the heap.
//
// When to use: to place several tensors in one block, by a planner's offsets or by a search.
// When not to use: for untyped memory, which an arena provides; for images, use `alloc_texture` (texture.hpp).
//
// Complexity: that of the allocator. Memory: one body on the host heap (storage_body.hpp). Thread safety: that of the
// reference policy.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/tensor/storage_body.hpp>
#include <allot/tensor/scope.hpp>
#include <allot/tensor/shape.hpp>

#include <new>
#include <utility>

namespace allot {
inline namespace v1 {

namespace detail {

/// A reference-counted pointer. `Counted` has a member `count` and a static function `destroy`.
template <class Counted>
class counted_pointer {
public:
    counted_pointer() noexcept = default;
    explicit counted_pointer(Counted* fresh) noexcept : to_{fresh} {}
    counted_pointer(const counted_pointer& other) noexcept : to_{other.to_} {
        if (to_ != nullptr) to_->count.add();
    }
    counted_pointer(counted_pointer&& other) noexcept : to_{std::exchange(other.to_, nullptr)} {}
    counted_pointer& operator=(counted_pointer other) noexcept {
        std::swap(to_, other.to_);
        return *this;
    }
    ~counted_pointer() {
        if (to_ != nullptr && to_->count.drop()) Counted::destroy(to_);
    }

    [[nodiscard]] Counted* get() const noexcept { return to_; }

private:
    Counted* to_ = nullptr;
};

template <class Body, class References>
struct counted_body {
    Body body;
    typename References::count count;

    // Not inline: g++ 12 -O3 warns that another handle may use the body afterwards, which the count excludes.
    ALLOT_NOINLINE static void destroy(counted_body* gone) noexcept { delete gone; }
};

/// A handle to a body on the heap. The last handle deletes the body.
template <class Body, class References, bool Counted = References::counted>
class body_handle {
    using counted = counted_body<Body, References>;

public:
    body_handle() noexcept = default;

    /// Returns a handle to a new body, or an empty handle when the heap is exhausted.
    [[nodiscard]] static body_handle make() noexcept {
        body_handle fresh;
        fresh.to_ = counted_pointer<counted>{new (std::nothrow) counted};
        return fresh;
    }
    [[nodiscard]] Body* get() const noexcept { return to_.get() == nullptr ? nullptr : &to_.get()->body; }

private:
    counted_pointer<counted> to_;
};

/// A handle to a body that the caller owns.
template <class Body, class References>
class body_handle<Body, References, false> {
public:
    body_handle() noexcept = default;
    explicit body_handle(Body& body) noexcept : to_{&body} {}
    [[nodiscard]] Body* get() const noexcept { return to_; }

private:
    Body* to_ = nullptr;
};

/// Reports a misuse in hardened builds when a killed tensor or storage is killed again or used.
template <class Policies>
void check_alive([[maybe_unused]] bool alive) noexcept {
    if constexpr (Policies::hardened != hardening::none) {
        if (!alive) typename Policies::on_misuse{}(misuse::killed_before, 0, 0);
    }
}

/// Returns the layout of a storage, or the reason that the size or alignment is invalid.
[[nodiscard]] constexpr tensor_result<layout> storage_layout(std::integral auto size, std::size_t align) noexcept {
    using answer = tensor_result<layout>;
    if (std::cmp_less(size, 0)) return answer::failure({tensor_refusal::negative_size});
    if (std::cmp_greater(size, std::numeric_limits<std::size_t>::max() / 2))
        return answer::failure({tensor_refusal::too_large});
    if (!is_alignment(align)) return answer::failure({tensor_refusal::bad_alignment});
    return layout{static_cast<std::size_t>(size), align};
}

}  // namespace detail

/// A handle to a block of memory that contains tensors. `alloc_storage` creates it.
template <allocator Allocator, class Policies = storage_policies<>>
class storage {
public:
    /// The allocator of the block.
    using allocator_type = Allocator;
    /// The policies.
    using policies = Policies;
    /// The object that owns the block.
    using body_type = storage_body<Allocator, Policies>;
    /// The handle to the body.
    using handle_type = detail::body_handle<body_type, typename Policies::references>;
    /// The address model of the memory.
    using address_model = typename body_type::address_model;
    /// Whether the host may read and write the bytes.
    static constexpr bool host_accessible = Allocator::host_accessible;
    /// How consumers of this memory use offsets.
    static constexpr offset_use offsets = Allocator::offsets;
    /// The kind of memory in DLPack's terms.
    static constexpr dl_device_type dl_device = Allocator::dl_device;

    /// Creates an empty handle.
    storage() noexcept = default;
    /// Creates a handle to an existing body. `alloc_storage` calls it.
    explicit storage(handle_type to) noexcept : to_{std::move(to)} {}

    /// Returns false for a handle that was killed or never refers to a body.
    [[nodiscard]] explicit operator bool() const noexcept { return to_.get() != nullptr; }
    /// Returns the requested number of bytes.
    [[nodiscard]] std::size_t size() const noexcept { return body() == nullptr ? 0 : body()->size(); }
    /// Returns the alignment of the block, which is also the default and the maximum alignment of its tensors.
    [[nodiscard]] std::size_t align() const noexcept { return body() == nullptr ? 1 : body()->align(); }
    /// Returns the address of the first byte; empty where each tensor has a separate block.
    [[nodiscard]] typename address_model::address base() const noexcept {
        return body() == nullptr ? typename address_model::address{} : body()->base();
    }
    /// Returns the reason that a search for these bytes would fail, or `refusal::none`.
    [[nodiscard]] diagnosis diagnose(layout wanted) const noexcept
        requires body_type::records
    {
        return body() == nullptr ? diagnosis{refusal::exhausted} : body()->diagnose(wanted);
    }

    /// Drops this reference. The memory is freed with the last reference of a storage or tensor. A second call has no
    /// effect; in hardened builds it is a misuse.
    void kill() noexcept {
        detail::check_alive<Policies>(static_cast<bool>(*this));
        to_ = {};
    }

    /// Returns the body, for the tensors in it; null after `kill`.
    [[nodiscard]] body_type* body() const noexcept { return to_.get(); }
    /// Returns whether both handles refer to the same body.
    friend bool operator==(const storage& a, const storage& b) noexcept { return a.body() == b.body(); }

private:
    handle_type to_;
};

namespace detail {

/// Allocates a storage with a body on the heap.
template <class Policies, class Allocator>
[[nodiscard]] tensor_result<storage<Allocator, Policies>> make_storage(Allocator& from,
                                                                       tensor_result<layout> wanted) noexcept {
    using fresh = storage<Allocator, Policies>;
    using answer = tensor_result<fresh>;
    if (!wanted) return answer::failure(wanted.error());
    auto handle = fresh::handle_type::make();
    if (handle.get() == nullptr) return answer::failure({tensor_refusal::no_host_memory});
    const tensor_error error = handle.get()->acquire(from, wanted->size, wanted->align);
    return error.reason == tensor_refusal::none ? answer{fresh{std::move(handle)}} : answer::failure(error);
}

/// Allocates a storage with a body of the caller.
template <class Allocator, class Policies>
[[nodiscard]] tensor_result<storage<Allocator, Policies>> make_storage(storage_body<Allocator, Policies>& body,
                                                                       Allocator& from,
                                                                       tensor_result<layout> wanted) noexcept {
    using fresh = storage<Allocator, Policies>;
    using answer = tensor_result<fresh>;
    if (!wanted) return answer::failure(wanted.error());
    const tensor_error error = body.acquire(from, wanted->size, wanted->align);
    return error.reason == tensor_refusal::none ? answer{fresh{typename fresh::handle_type{body}}}
                                                : answer::failure(error);
}

}  // namespace detail

/// Allocates a storage of this layout: `alloc_storage(from, {.size = 4096, .align = 256})`. A storage of size 0 can
/// contain only tensors without elements. When the allocator fails and can trim, it trims and tries a second time.
/// Fails with `too_large`, `bad_alignment`, `no_memory` or `no_host_memory`.
template <class Policies = storage_policies<>, allocator Allocator>
    requires(Policies::references::counted)
[[nodiscard]] tensor_result<storage<Allocator, Policies>> alloc_storage(Allocator& from, layout wanted) noexcept {
    return detail::make_storage<Policies>(from, detail::storage_layout(wanted.size, wanted.align));
}
/// Allocates a storage of `size` bytes, aligned to `align`, a power of two: the call of graph compilers. Also fails
/// with `negative_size`.
template <class Policies = storage_policies<>, allocator Allocator>
    requires(Policies::references::counted)
[[nodiscard]] tensor_result<storage<Allocator, Policies>> alloc_storage(
    Allocator& from, std::int64_t size, std::size_t align = alignof(std::max_align_t)) noexcept {
    return detail::make_storage<Policies>(from, detail::storage_layout(size, align));
}

/// Allocates a storage whose body the caller owns, for `references::none`. The body must outlive its tensors. Also
/// fails with `in_use` when the body already holds memory.
template <allocator Allocator, class Policies>
    requires(!Policies::references::counted)
[[nodiscard]] tensor_result<storage<Allocator, Policies>> alloc_storage(storage_body<Allocator, Policies>& body,
                                                                        Allocator& from, layout wanted) noexcept {
    return detail::make_storage(body, from, detail::storage_layout(wanted.size, wanted.align));
}
/// Allocates a storage of `size` bytes whose body the caller owns.
template <allocator Allocator, class Policies>
    requires(!Policies::references::counted)
[[nodiscard]] tensor_result<storage<Allocator, Policies>> alloc_storage(
    storage_body<Allocator, Policies>& body, Allocator& from, std::int64_t size,
    std::size_t align = alignof(std::max_align_t)) noexcept {
    return detail::make_storage(body, from, detail::storage_layout(size, align));
}

/// Allocates a storage for one tensor of this shape and dtype.
template <class Policies = storage_policies<>, allocator Allocator>
    requires(Policies::references::counted)
[[nodiscard]] tensor_result<storage<Allocator, Policies>> alloc_storage(
    Allocator& from, const shape& of, dtype type, std::size_t align = alignof(std::max_align_t)) noexcept {
    const auto bytes = byte_count(of, type);
    if (!bytes) return tensor_result<storage<Allocator, Policies>>::failure(bytes.error());
    return alloc_storage<Policies>(from, layout{*bytes, align});
}

namespace detail {
/// Returns the memory of a scope, which must be an allocator.
template <memory_scope Scope, std::int64_t Ordinal, class... Entries>
[[nodiscard]] auto& storage_memory(const scope_map<Entries...>& memories) noexcept {
    auto& memory = memories.template get<Scope, Ordinal>();
    static_assert(allocator<decltype(memory)>,
                  "allot: this scope's memory is allocated by shape and dtype: use alloc_texture");
    return memory;
}
}  // namespace detail

/// Allocates a storage in the memory of a scope, selected at compile time: `alloc_storage<scope::vtcm>(memories, {.size
/// = 4096})`. With other policies: `alloc_storage<scope::vtcm, 0, policies>(…)`. For a scope that is known only at run
/// time, call `alloc_storage` inside `scope_map::visit`.
template <memory_scope Scope, std::int64_t Ordinal = 0, class Policies = storage_policies<>, class... Entries>
[[nodiscard]] auto alloc_storage(const scope_map<Entries...>& memories, layout wanted) noexcept {
    return alloc_storage<Policies>(detail::storage_memory<Scope, Ordinal>(memories), wanted);
}
/// Allocates a storage of `size` bytes in the memory of a scope, selected at compile time.
template <memory_scope Scope, std::int64_t Ordinal = 0, class Policies = storage_policies<>, class... Entries>
[[nodiscard]] auto alloc_storage(const scope_map<Entries...>& memories, std::int64_t size,
                                 std::size_t align = alignof(std::max_align_t)) noexcept {
    return alloc_storage<Policies>(detail::storage_memory<Scope, Ordinal>(memories), size, align);
}
/// Allocates a storage for one tensor in the memory of a scope, selected at compile time.
template <memory_scope Scope, std::int64_t Ordinal = 0, class Policies = storage_policies<>, class... Entries>
[[nodiscard]] auto alloc_storage(const scope_map<Entries...>& memories, const shape& of, dtype type,
                                 std::size_t align = alignof(std::max_align_t)) noexcept {
    return alloc_storage<Policies>(detail::storage_memory<Scope, Ordinal>(memories), of, type, align);
}

/// Does not compile: the policies precede the ordinal, which they must follow.
template <memory_scope Scope, class Policies, class... Entries>
auto alloc_storage(const scope_map<Entries...>&, layout) noexcept {
    static_assert(!sizeof(Policies),
                  "allot: the policies of a storage in a scope follow the ordinal of the device: "
                  "alloc_storage<Scope, 0, Policies>(memories, layout)");
    return tensor_result<int>::failure({});
}

}  // namespace v1
}  // namespace allot
