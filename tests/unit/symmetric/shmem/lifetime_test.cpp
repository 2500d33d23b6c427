// After the processing elements are destroyed: requests fail, and arenas that outlive OpenSHMEM do nothing.
#include <allot/allot.hpp>
#include <allot/shmem/heap.hpp>

#include <doctest/doctest.h>

#include <memory>

using arena = allot::arena<allot::shmem::heap, allot::best_fit<>>;
using allot::shmem::heap_error;
using allot::shmem::processing_elements;

TEST_CASE("shmem heap: an arena may outlive the processing elements and OpenSHMEM") {
    CHECK_FALSE(processing_elements::is_running());
    ::shmem_init();
    auto ranks = std::make_unique<processing_elements>();
    CHECK(processing_elements::is_running());
    auto late = std::make_unique<arena>(*ranks, 4096U), later = std::make_unique<arena>(*ranks, 4096U);
    CHECK(late->allocate({.size = 64}));
    CHECK(later->allocate({.size = 64}));
    allot::naive<allot::shmem::heap> each{allot::shmem::heap{*ranks}};
    allot::shmem::heap{*ranks}.release({});
    const auto block = each.allocate({.size = 64});
    CHECK(block);
    each.deallocate(block);
    ranks.reset();
    CHECK_FALSE(processing_elements::is_running());
    late.reset();
    CHECK_FALSE(each.allocate({.size = 64}));
    CHECK(each.diagnose({.size = 64}).device_error == static_cast<long>(heap_error::not_running));
    ::shmem_finalize();
    later.reset();
    CHECK_FALSE(each.allocate({.size = 128}));
}
