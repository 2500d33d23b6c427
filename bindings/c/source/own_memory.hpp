// SPDX-License-Identifier: BSL-1.0
// own_memory: the memory of the library itself: handles, records and workspaces, from the callbacks of the caller.
#pragma once

#include "../allot.h"

#include <allot/core/arithmetic.hpp>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace allot_c {

/// The callbacks of the caller, or malloc and free.
class own_memory {
public:
    own_memory() noexcept = default;
    explicit own_memory(const allot_callbacks* given) noexcept {
        if (given != nullptr) calls_ = *given;
    }

    /// Returns whether both callbacks or none are there.
    [[nodiscard]] bool is_valid() const noexcept { return (calls_.allocate == nullptr) == (calls_.release == nullptr); }

    [[nodiscard]] void* allocate(std::size_t size, std::size_t align) const noexcept {
        return calls_.allocate == nullptr ? std::malloc(size) : calls_.allocate(calls_.user, size, align);
    }
    void release(void* memory, std::size_t size, std::size_t align) const noexcept {
        if (calls_.release == nullptr) std::free(memory);
        else calls_.release(calls_.user, memory, size, align);
    }

private:
    allot_callbacks calls_{};
};

/// An array in own memory. It is empty until `create`.
template <class Element>
class own_array {
    static_assert(std::is_trivially_destructible_v<Element> && alignof(Element) <= alignof(std::max_align_t));

public:
    explicit own_array(const own_memory& memory) noexcept : memory_{&memory} {}
    own_array(const own_array&) = delete;
    own_array& operator=(const own_array&) = delete;
    ~own_array() {
        if (data_ != nullptr) memory_->release(data_, count_ * sizeof(Element), alignof(Element));
    }

    /// Allocates value-initialized elements. Returns false if there is no memory for them.
    [[nodiscard]] bool create(std::size_t count) noexcept {
        std::size_t bytes = 0;
        if (count == 0) return true;
        if (!allot::checked_multiply<std::size_t>(count, sizeof(Element), bytes)) return false;
        void* const memory = memory_->allocate(bytes, alignof(Element));
        if (memory == nullptr) return false;
        data_ = static_cast<Element*>(memory);
        count_ = count;
        std::uninitialized_value_construct_n(data_, count);
        return true;
    }
    void swap(own_array& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(count_, other.count_);
    }

    [[nodiscard]] std::size_t size() const noexcept { return count_; }
    [[nodiscard]] Element* data() const noexcept { return data_; }
    [[nodiscard]] Element& operator[](std::size_t at) const noexcept { return data_[at]; }
    [[nodiscard]] std::span<Element> span() const noexcept { return {data_, count_}; }

private:
    const own_memory* memory_;
    Element* data_ = nullptr;
    std::size_t count_ = 0;
};

/// Makes a handle in the memory that it will own. Returns nullptr if there is no memory for it.
template <class Handle>
[[nodiscard]] Handle* make_handle(const own_memory& memory) noexcept {
    void* const at = memory.allocate(sizeof(Handle), alignof(Handle));
    return at == nullptr ? nullptr : new (at) Handle{memory};
}

/// Destroys a handle, and releases its memory.
template <class Handle>
void destroy_handle(Handle* handle) noexcept {
    if (handle == nullptr) return;
    const own_memory memory = handle->memory;
    handle->~Handle();
    memory.release(handle, sizeof(Handle), alignof(Handle));
}

}  // namespace allot_c
