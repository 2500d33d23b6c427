// SPDX-License-Identifier: BSL-1.0
// make: objects in memory of an allocator, in one call.
//
//     allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 1_MiB};
//     std::string* name = allot::make<std::string>(memory, "camera");             // nullptr on failure
//     allot::destroy(memory, name);
//     auto owned = allot::make_unique<std::string>(memory, "lens");               // a std::unique_ptr with a deleter
//     auto samples = allot::make_array<float>(memory, 1000);                      // see unique_array.hpp
//     auto zeros = allot::allocate_zeroed(memory, {.size = 4096, .align = 64});   // a block of zero bytes
//
//     call           result                    blocks with metadata   freed by
//     make           T*                        rejected               destroy, or a reset or rollback of the arena
//     make_unique    unique_ptr<T, Allocator>  supported              its deleter
//     make_array     unique_array              supported              its destructor
//
// Arguments are forwarded to the constructor. Aggregates are initialized by braces. If the constructor throws, the
// block is freed and the exception propagates. A failed allocation throws nothing: the result is empty, and
// `allocator.diagnose(allot::layout_of<T>)` reports the reason.
//
// When to use: `make` for objects that end with a scope or frame (bump, scoped_mark) or whose owner is elsewhere;
// `make_unique` for objects with one owner.
// When not to use: for memory that the host cannot access, which does not compile. Use allocate_unique.
// Complexity: that of the allocator and the constructor. `allocate_zeroed` is O(size).
// Memory: none for `make`; a unique_ptr is two pointers and the block.
// Thread safety: that of the allocator.
#pragma once

#include <allot/arena/misuse.hpp>
#include <allot/object/detail/construct.hpp>
#include <allot/object/unique_array.hpp>
#include <allot/object/unique_block.hpp>

#include <cstring>
#include <memory>

namespace allot {
inline namespace v1 {

/// Makes a `T` in a block of `allocator`. Returns nullptr if the allocation failed. `destroy` ends the object.
template <class T, class Allocator, class... Arguments>
[[nodiscard]] T* make(Allocator& allocator, Arguments&&... arguments) {
    static_assert(detail::object_requirements<T, Allocator>());
    static_assert(
        detail::is_spare_metadata<decltype(block_of<Allocator>::metadata)>,
        "allot: blocks of this allocator carry metadata, which a pointer alone cannot return: use make_unique");
    unique_block<Allocator> memory = allocate_unique(allocator, layout_of<T>);
    if (!memory) return nullptr;
    T* const made = detail::construct<T>(memory.address(), std::forward<Arguments>(arguments)...);
    static_cast<void>(memory.release());
    return made;
}

/// Destroys an object of `make<T>` and deallocates its block. A null pointer has no effect. Precondition: `T` is the
/// type that was made, not a base class, and `allocator` is the same.
template <class T, class Allocator>
void destroy(Allocator& allocator, T* object) noexcept {
    static_assert(detail::object_requirements<T, Allocator>());
    static_assert(
        detail::is_spare_metadata<decltype(block_of<Allocator>::metadata)>,
        "allot: blocks of this allocator carry metadata, which a pointer alone cannot return: use make_unique");
    if (object == nullptr) return;
    std::destroy_at(object);
    allocator.deallocate({const_cast<std::remove_cv_t<T>*>(object), sizeof(T), {}});
}

/// Deleter of `make_unique`: destroys the object and deallocates its block.
template <class T, class Allocator>
class object_deleter {
    template <class U, class A>
    friend class object_deleter;

public:
    /// Belongs to no object.
    constexpr object_deleter() noexcept = default;
    /// Deallocates `held` in `allocator` after the object is destroyed.
    constexpr object_deleter(Allocator& allocator, block_of<Allocator> held) noexcept
        : allocator_{&allocator}, held_{held} {}
    /// Converts the deleter of a derived class to that of a base class with a virtual destructor.
    template <class U>
        requires std::convertible_to<U*, T*> &&
                     (std::same_as<std::remove_cv_t<T>, U> || std::has_virtual_destructor_v<T>)
    constexpr object_deleter(const object_deleter<U, Allocator>& other) noexcept
        : allocator_{other.allocator_}, held_{other.held_} {}

    /// Destroys the object and deallocates its block.
    void operator()(T* object) const noexcept {
        std::destroy_at(object);
        allocator_->deallocate(held_);
    }

    /// Returns the allocator of the block.
    [[nodiscard]] constexpr Allocator* allocator() const noexcept { return allocator_; }
    /// Returns the block that holds the object.
    [[nodiscard]] constexpr const block_of<Allocator>& block() const noexcept { return held_; }

private:
    Allocator* allocator_ = nullptr;
    block_of<Allocator> held_{};
};

/// Owner of an object in memory of `Allocator`. Converts to the owner of a base class with a virtual destructor.
template <class T, class Allocator>
using unique_ptr = std::unique_ptr<T, object_deleter<T, Allocator>>;

/// Makes a `T` in a block of `allocator` and returns its owner, which is null if the allocation failed. The allocator
/// must outlive the owner, at the same address.
template <class T, class Allocator, class... Arguments>
[[nodiscard]] unique_ptr<T, Allocator> make_unique(Allocator& allocator, Arguments&&... arguments) {
    static_assert(detail::object_requirements<T, Allocator>());
    unique_block<Allocator> memory = allocate_unique(allocator, layout_of<T>);
    if (!memory) return {};
    T* const made = detail::construct<T>(memory.address(), std::forward<Arguments>(arguments)...);
    return unique_ptr<T, Allocator>{made, {allocator, memory.release()}};
}

/// Allocates a block of `size` zero bytes; bytes of its capacity beyond `size` may have other values. Returns an empty
/// block if the allocation failed. Memory that the host cannot access is zeroed by the fill of its backend, such as
/// clEnqueueFillBuffer or cudaMemset.
template <class Allocator>
[[nodiscard]] block_of<Allocator> allocate_zeroed(Allocator& allocator, layout wanted) noexcept {
    static_assert(detail::host_block_requirements<Allocator>());
    const block_of<Allocator> given = allocator.allocate(wanted);
    if (given) std::memset(given.address, 0, given.size);
    return given;
}

}  // namespace v1
}  // namespace allot
