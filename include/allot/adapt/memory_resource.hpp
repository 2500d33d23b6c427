// SPDX-License-Identifier: BSL-1.0
// memory_resource: an arena, or any allocator of pointers, as a std::pmr::memory_resource.
//
//     allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 1_MiB};
//     allot::memory_resource resource{memory};                       // refers to it
//     std::pmr::vector<std::pmr::string> names{&resource};           // both in the arena
//
// What a block's deallocation needs beyond address, size and alignment lies in front of it (block_as_pointer.hpp); for
// bump, pool and best_fit in band that is nothing. Over a bump, deallocation is nothing either, as with
// std::pmr::monotonic_buffer_resource: the arena is reset when all containers are gone. A stack and a ring are refused,
// because containers give back in any order.
//
// A refusal is thrown as allot::bad_alloc, a std::bad_alloc with the text of `diagnose`; without exceptions the program is
// aborted. A size of 0 is served as 1. Two resources are equal when they refer to the same allocator (without RTTI: when
// they are the same object). The allocator outlives the resource, and this what was allocated with it.
//
// Complexity: the allocator's, and a virtual call. Memory: two pointers. Thread safety: the allocator's.
#pragma once

#include <allot/adapt/detail/block_as_pointer.hpp>

#include <memory>
#include <memory_resource>

namespace allot {
inline namespace v1 {

template <class Allocator>
class memory_resource final : public std::pmr::memory_resource {
    static_assert(detail::pointer_requirements<Allocator>());
    using pointers = detail::block_as_pointer<Allocator>;

public:
    explicit memory_resource(Allocator& allocator) noexcept : allocator_{std::addressof(allocator)} {}

    [[nodiscard]] Allocator& allocator() const noexcept { return *allocator_; }

private:
    void* do_allocate(std::size_t size, std::size_t align) override {
        return pointers::allocate(*allocator_, {size, align});
    }
    void do_deallocate(void* address, std::size_t size, std::size_t align) override {
        pointers::deallocate(*allocator_, address, {size, align});
    }
    [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
#ifdef __cpp_rtti
        const auto* const same = dynamic_cast<const memory_resource*>(&other);
        return same != nullptr && same->allocator_ == allocator_;
#else
        return this == &other;
#endif
    }

    Allocator* allocator_;
};

}  // namespace v1
}  // namespace allot
