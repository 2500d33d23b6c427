// SPDX-License-Identifier: BSL-1.0
// unique_array: owner of an array in a block of an allocator.
//
//     allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 1_MiB};
//     auto weights = allot::make_array<float>(memory, 1000);                       // 1000 zeros
//     if (!weights) log(memory.diagnose(allot::layout_of<float>).what());
//     weights[0] = 1.5f;
//     std::span<const float> view = weights;
//
// The length is fixed. An empty array means that the count is 0, that the size in bytes does not fit std::size_t, or
// that the allocation failed. If a constructor throws, the elements made so far are destroyed, the block is freed, and
// the exception propagates. As with std::span, the elements of a const owner can be modified.
//
// When to use: for arrays whose length is known when they are made. They cost less than a container with an allocator.
// When not to use: for arrays that grow (use std::vector with std_allocator) and for device memory (use unique_block).
// Complexity: that of the allocator, and one construction or destruction for each element.
// Memory: two pointers and the block: 32 bytes if the metadata is empty and pointers have 64 bits.
// Thread safety: an owner is not synchronized.
#pragma once

#include <allot/object/detail/construct.hpp>
#include <allot/object/unique_block.hpp>

#include <memory>

namespace allot {
inline namespace v1 {

/// Owner of an array of `T` in a block of `Allocator`. Move-only; converts to std::span.
template <class T, class Allocator>
class [[nodiscard]] unique_array {
    static_assert(detail::object_requirements<T, Allocator>());
    static_assert(!std::is_const_v<T>, "allot: make_array makes elements that can be written: leave out the const");

public:
    using element_type = T;  ///< Type of an element.

    /// Owns no array.
    constexpr unique_array() noexcept = default;
    /// Takes the array of `other`, which is empty afterwards.
    unique_array(unique_array&& other) noexcept
        : first_{std::exchange(other.first_, nullptr)}, memory_{std::move(other.memory_)} {}
    /// Destroys the current array and takes the array of `other`, which is empty afterwards.
    unique_array& operator=(unique_array&& other) noexcept {
        unique_array taken{std::move(other)};
        std::swap(first_, taken.first_);
        std::swap(memory_, taken.memory_);
        return *this;
    }
    /// Destroys the elements, the last one first, and deallocates the block.
    ~unique_array() { reset(); }

    /// Returns true if there are elements.
    [[nodiscard]] explicit operator bool() const noexcept { return first_ != nullptr; }
    /// Returns the number of elements.
    [[nodiscard]] std::size_t size() const noexcept { return memory_.size() / sizeof(T); }
    /// Returns the address of the first element; nullptr without elements.
    [[nodiscard]] T* data() const noexcept { return first_; }
    /// Returns an element. Precondition: `index < size()`.
    [[nodiscard]] T& operator[](std::size_t index) const noexcept { return first_[index]; }
    /// Returns the address of the first element.
    [[nodiscard]] T* begin() const noexcept { return first_; }
    /// Returns the address behind the last element.
    [[nodiscard]] T* end() const noexcept { return first_ + size(); }

    /// Destroys the elements, the last one first, and deallocates the block. The owner is empty afterwards.
    void reset() noexcept {
        if constexpr (!std::is_trivially_destructible_v<T>) {
            for (std::size_t left = size(); left != 0; --left) std::destroy_at(first_ + left - 1);
        }
        first_ = nullptr;
        memory_.reset();
    }

    /// Makes an array of `count` value-initialized elements; see `make_array`.
    [[nodiscard]] static unique_array make(Allocator& allocator, std::size_t count) {
        unique_array made;
        layout wanted = layout_of<T>;
        if (!checked_multiply(count, sizeof(T), wanted.size)) return made;
        unique_block<Allocator> memory = allocate_unique(allocator, wanted);
        if (!memory) return made;
        T* const first = static_cast<T*>(memory.address());
        std::uninitialized_value_construct_n(first, count);  // `memory` frees the block if this throws
        made.memory_ = std::move(memory);
        made.first_ = first;
        return made;
    }

private:
    T* first_ = nullptr;
    unique_block<Allocator> memory_;
};

/// Makes an array of `count` value-initialized elements: numbers are 0. Returns an empty owner if `count` is 0, if the
/// size in bytes overflows, or if the allocation failed.
template <class T, class Allocator>
[[nodiscard]] unique_array<T, Allocator> make_array(Allocator& allocator, std::size_t count) {
    return unique_array<T, Allocator>::make(allocator, count);
}

}  // namespace v1
}  // namespace allot
