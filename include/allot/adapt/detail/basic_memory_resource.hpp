// SPDX-License-Identifier: BSL-1.0
// basic_memory_resource: the functions of a polymorphic memory resource over an allocator.
//
// Internal: shared by memory_resource.hpp and boost_memory_resource.hpp. The standard and Boost.Container declare the
// same interface in two unrelated classes, `Interface`.
//
// Complexity: that of the allocator, and a virtual call.
// Memory: two pointers, and the metadata of each block.
// Thread safety: that of the allocator.
#pragma once

#include <allot/adapt/detail/block_as_pointer.hpp>

#include <memory>

namespace allot {
inline namespace v1 {
namespace detail {

/// A resource that refers to an allocator.
template <class Interface, class Allocator>
class basic_memory_resource : public Interface {
    static_assert(pointer_requirements<Allocator>());
    using pointers = block_as_pointer<Allocator>;

public:
    explicit basic_memory_resource(Allocator& allocator) noexcept : allocator_{std::addressof(allocator)} {}

protected:
    [[nodiscard]] Allocator& referred() const noexcept { return *allocator_; }

private:
    void* do_allocate(std::size_t size, std::size_t align) final {
        return pointers::allocate(*allocator_, {size, align});
    }
    void do_deallocate(void* address, std::size_t size, std::size_t align) final {
        pointers::deallocate(*allocator_, address, {size, align});
    }
    [[nodiscard]] bool do_is_equal(const Interface& other) const noexcept final {
#ifdef __cpp_rtti
        const auto* const same = dynamic_cast<const basic_memory_resource*>(&other);
        return same != nullptr && same->allocator_ == allocator_;
#else
        return this == &other;
#endif
    }

    Allocator* allocator_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
