// `ordered` memory as a resource of RMM 26.06, whose resources are those of CCCL, on the fake runtime.
#include "../../unit/gpu/streams.hpp"

#include <allot/allot.hpp>
#include <allot/compose/indexed_ordered.hpp>
#include <allot/cuda/stream_ordered_resource.hpp>

#include <rmm/aligned.hpp>
#include <rmm/resource_ref.hpp>
#include <rmm/version_config.hpp>

#include <mutex>
#include <utility>

namespace {

using device_arena = allot::arena<allot::cuda::device_memory, allot::best_fit<>>;
using memory_type = allot::indexed_ordered<allot::ordered<device_arena, allot::cuda::events>, std::mutex>;
using resource_type = allot::cuda::stream_ordered_resource<memory_type>;

constexpr std::size_t size = 64 * 1024, align = rmm::CUDA_ALLOCATION_ALIGNMENT;

static_assert(RMM_VERSION_MAJOR == 26 && RMM_VERSION_MINOR == 6);
static_assert(::cuda::mr::resource_with<resource_type, ::cuda::mr::device_accessible>);
static_assert(std::constructible_from<rmm::device_async_resource_ref, resource_type&>);
static_assert(!std::constructible_from<rmm::host_async_resource_ref, resource_type&>);
static_assert(std::constructible_from<::cuda::mr::any_resource<::cuda::mr::device_accessible>, resource_type>);

}  // namespace

TEST_CASE("rmm: a reference to a resource and an owner of one allocate in the order of streams") {
    const tests::machine machine;
    const tests::two_streams streams;
    memory_type memory{{}, allot::cuda::device_memory{0}, size};
    resource_type resource{memory};
    const ::cuda::stream_ref first{streams.first}, second{streams.second};
    rmm::device_async_resource_ref referred{resource};
    ::cuda::mr::any_resource<::cuda::mr::device_accessible> owned{resource};
    void* const block = referred.allocate(first, size, align);
    referred.deallocate(first, block, size, align);
    void* const again = owned.allocate(first, size, align);  // the same stream: no wait
    CHECK(again == block);
    owned.deallocate(first, again, size, align);
    void* const other = owned.allocate(second, 1000, align);
    CHECK(other == block);
    CHECK_THROWS_AS(static_cast<void>(owned.allocate(first, size, align)), allot::bad_alloc);
    owned.deallocate(second, other, 1000, align);
    CHECK(owned == resource);
}
