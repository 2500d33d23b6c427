// SPDX-License-Identifier: BSL-1.0
// storage: one block of memory in which tensors lie at offsets, kept alive by every tensor in it.
//
//     auto data = *allot::alloc_storage(arena, 4096, 128);                    // bytes, alignment of every tensor
//     auto a = *allot::alloc_tensor(data, 1024, {4, 64}, allot::int32);       // tensor.hpp
//     auto more = *allot::alloc_storage<allot::scope::vtcm>(memories, {4, 64}, allot::float32, 2048);
//
// A storage is a handle: copying it counts a reference, and the last one gives the block back. The allocator outlives
// the last. How references are counted is a policy: `plain`; `atomic`, when handles and tensors of one storage are used
// from several threads; or `none`: the body is an object of the caller's, nothing is taken from the heap, and the body
// outlives its tensors (policies.hpp).
//
// Complexity: the allocator's. Memory: one body on the host heap (storage_body.hpp). Thread safety: that of the
// references.
#pragma once

#include <allot/tensor/detail/storage_body.hpp>
#include <allot/tensor/scope.hpp>
#include <allot/tensor/shape.hpp>

#include <new>
#include <utility>

namespace allot {
inline namespace v1 {

namespace detail {

/// A counted pointer to something with a `count` that ends by `destroy`.
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

    static void destroy(counted_body* gone) noexcept { delete gone; }
};

/// A handle to a body on the heap: the last one deletes it.
template <class Body, class References, bool Counted = References::counted>
class body_handle {
    using counted = counted_body<Body, References>;

public:
    body_handle() noexcept = default;

    /// Empty when the heap gives nothing.
    [[nodiscard]] static body_handle make() noexcept {
        body_handle fresh;
        fresh.to_ = counted_pointer<counted>{new (std::nothrow) counted};
        return fresh;
    }
    [[nodiscard]] Body* get() const noexcept { return to_.get() == nullptr ? nullptr : &to_.get()->body; }

private:
    counted_pointer<counted> to_;
};

/// A handle to a body of the caller's.
template <class Body, class References>
class body_handle<Body, References, false> {
public:
    body_handle() noexcept = default;
    explicit body_handle(Body& body) noexcept : to_{&body} {}
    [[nodiscard]] Body* get() const noexcept { return to_; }

private:
    Body* to_ = nullptr;
};

/// In hardened builds, a killed tensor or storage that is killed again or used is a misuse.
template <class Policies>
void check_alive([[maybe_unused]] bool alive) noexcept {
    if constexpr (Policies::hardened != hardening::none) {
        if (!alive) typename Policies::on_misuse{}(misuse::killed_before, 0, 0);
    }
}

/// What is wrong with the size and alignment of a storage.
[[nodiscard]] constexpr tensor_error check_storage(std::int64_t size, std::size_t align) noexcept {
    if (size < 0) return {tensor_refusal::negative_size};
    if (static_cast<std::uint64_t>(size) > std::numeric_limits<std::size_t>::max() / 2) return {tensor_refusal::too_large};
    return {is_alignment(align) ? tensor_refusal::none : tensor_refusal::bad_alignment};
}

}  // namespace detail

template <allocator Allocator, class Policies = storage_policies<>>
class storage {
public:
    using allocator_type = Allocator;
    using policies = Policies;
    using body_type = detail::storage_body<Allocator, Policies>;
    using handle_type = detail::body_handle<body_type, typename Policies::references>;
    using address_model = typename body_type::address_model;
    static constexpr bool host_accessible = Allocator::host_accessible;
    static constexpr offset_use offsets = Allocator::offsets;
    static constexpr dl_device_type dl_device = Allocator::dl_device;

    storage() noexcept = default;
    explicit storage(handle_type to) noexcept : to_{std::move(to)} {}

    /// False for one that was killed, or never was.
    [[nodiscard]] explicit operator bool() const noexcept { return to_.get() != nullptr; }
    /// Bytes that were asked for.
    [[nodiscard]] std::size_t size() const noexcept { return body() == nullptr ? 0 : body()->size(); }
    /// What every tensor in it is aligned to, unless it asks for less.
    [[nodiscard]] std::size_t align() const noexcept { return body() == nullptr ? 1 : body()->align(); }
    /// The first byte; nothing where tensors have blocks of their own.
    [[nodiscard]] typename address_model::address base() const noexcept {
        return body() == nullptr ? typename address_model::address{} : body()->base();
    }
    /// Why `alloc_tensor` would find no place for so many bytes.
    [[nodiscard]] diagnosis diagnose(layout wanted) const noexcept
        requires body_type::records
    {
        return body() == nullptr ? diagnosis{refusal::exhausted} : body()->diagnose(wanted);
    }

    /// Drops this reference; the memory goes when no tensor needs it any more. In hardened builds a second time is a
    /// misuse; otherwise it changes nothing.
    void kill() noexcept {
        detail::check_alive<Policies>(static_cast<bool>(*this));
        to_ = {};
    }

    /// For the tensors in it; null when it was killed.
    [[nodiscard]] body_type* body() const noexcept { return to_.get(); }
    friend bool operator==(const storage& a, const storage& b) noexcept { return a.body() == b.body(); }

private:
    handle_type to_;
};

/// A storage of `size` bytes, aligned to `align`, a power of two; a size of 0 serves tensors without elements. An
/// allocator that can trim does so and is asked again before the answer is no.
template <class Policies = storage_policies<>, allocator Allocator>
    requires(Policies::references::counted)
[[nodiscard]] tensor_result<storage<Allocator, Policies>> alloc_storage(
    Allocator& from, std::int64_t size, std::size_t align = alignof(std::max_align_t)) noexcept {
    using fresh = storage<Allocator, Policies>;
    using answer = tensor_result<fresh>;
    tensor_error error = detail::check_storage(size, align);
    if (error.reason != tensor_refusal::none) return answer::failure(error);
    auto handle = fresh::handle_type::make();
    if (handle.get() == nullptr) return answer::failure({tensor_refusal::no_host_memory});
    error = handle.get()->acquire(from, static_cast<std::size_t>(size), align);
    return error.reason == tensor_refusal::none ? answer{fresh{std::move(handle)}} : answer::failure(error);
}

/// The same over a body of the caller's, where references are not counted.
template <allocator Allocator, class Policies>
    requires(!Policies::references::counted)
[[nodiscard]] tensor_result<storage<Allocator, Policies>> alloc_storage(
    detail::storage_body<Allocator, Policies>& body, Allocator& from, std::int64_t size,
    std::size_t align = alignof(std::max_align_t)) noexcept {
    using fresh = storage<Allocator, Policies>;
    using answer = tensor_result<fresh>;
    tensor_error error = detail::check_storage(size, align);
    if (error.reason != tensor_refusal::none) return answer::failure(error);
    error = body.acquire(from, static_cast<std::size_t>(size), align);
    return error.reason == tensor_refusal::none ? answer{fresh{typename fresh::handle_type{body}}} : answer::failure(error);
}

/// A storage that holds one tensor of this shape.
template <class Policies = storage_policies<>, allocator Allocator>
    requires(Policies::references::counted)
[[nodiscard]] tensor_result<storage<Allocator, Policies>> alloc_storage(
    Allocator& from, const shape& of, dtype type, std::size_t align = alignof(std::max_align_t)) noexcept {
    const auto bytes = byte_count(of, type);
    if (!bytes) return tensor_result<storage<Allocator, Policies>>::failure(bytes.error());
    return alloc_storage<Policies>(from, static_cast<std::int64_t>(*bytes), align);
}

namespace detail {
/// The memory of a scope, which a storage can lie in.
template <memory_scope Scope, std::int64_t Ordinal, class... Entries>
[[nodiscard]] auto& storage_memory(const scope_map<Entries...>& memories) noexcept {
    auto& memory = memories.template get<Scope, Ordinal>();
    static_assert(allocator<decltype(memory)>,
                  "allot: this scope's memory is given by shape and dtype: use alloc_texture");
    return memory;
}
}  // namespace detail

/// In the memory of a scope, chosen by the compiler: `alloc_storage<scope::vtcm>(memories, 4096)`. For a scope known at
/// run time, call `alloc_storage` inside `scope_map::visit`.
template <memory_scope Scope, std::int64_t Ordinal = 0, class Policies = storage_policies<>, class... Entries>
[[nodiscard]] auto alloc_storage(const scope_map<Entries...>& memories, std::int64_t size,
                                 std::size_t align = alignof(std::max_align_t)) noexcept {
    return alloc_storage<Policies>(detail::storage_memory<Scope, Ordinal>(memories), size, align);
}
template <memory_scope Scope, std::int64_t Ordinal = 0, class Policies = storage_policies<>, class... Entries>
[[nodiscard]] auto alloc_storage(const scope_map<Entries...>& memories, const shape& of, dtype type,
                                 std::size_t align = alignof(std::max_align_t)) noexcept {
    return alloc_storage<Policies>(detail::storage_memory<Scope, Ordinal>(memories), of, type, align);
}

}  // namespace v1
}  // namespace allot
