// SPDX-License-Identifier: BSL-1.0
// boost_memory_resource: adapts an arena or any other allocator of pointers to boost::container::pmr::memory_resource.
//
//     allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 1_MiB};
//     allot::boost_memory_resource resource{memory};                             // refers to memory
//     boost::container::pmr::vector<boost::container::pmr::string> names{&resource};
//
// Boost.Container has its own class of memory resources, which is not std::pmr::memory_resource. This adapter equals
// `memory_resource` in all other respects: metadata, failures, equality and the use of bump, stack and ring.
//
// When to use: for the containers of boost::container::pmr, such as flat_map, small_vector or stable_vector.
// When not to use: where a virtual call is too expensive, or where a vector is to grow in place. Use `boost_allocator`.
//
// Complexity: that of the allocator, and a virtual call.
// Memory: two pointers, and the metadata of each block.
// Thread safety: that of the allocator.
#pragma once

#if !__has_include(<boost/container/pmr/memory_resource.hpp>)
#error "allot: <allot/adapt/boost_memory_resource.hpp> needs headers of Boost.Container; in CMake, link allot::boost"
#endif

#include <allot/adapt/detail/basic_memory_resource.hpp>

#include <boost/container/pmr/memory_resource.hpp>

namespace allot {
inline namespace v1 {

/// A polymorphic memory resource of Boost.Container that refers to an allocator.
template <class Allocator>
class boost_memory_resource final
    : public detail::basic_memory_resource<boost::container::pmr::memory_resource, Allocator> {
public:
    /// Constructs a resource that refers to an allocator.
    explicit boost_memory_resource(Allocator& allocator) noexcept
        : detail::basic_memory_resource<boost::container::pmr::memory_resource, Allocator>{allocator} {}

    /// Returns the allocator.
    [[nodiscard]] Allocator& allocator() const noexcept { return this->referred(); }
};

}  // namespace v1
}  // namespace allot
