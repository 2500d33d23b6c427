// cuda::virtual_memory on a driver that lacks functions: it fails and calls none of them.
#include <allot/allot.hpp>
#include <allot/cuda/virtual_memory.hpp>

#include <doctest/doctest.h>

TEST_CASE("cuda: a driver without virtual memory management fails with its missing functions") {
    allot::arena<allot::cuda::virtual_memory, allot::best_fit<>, allot::growth::contiguous<>> arena{
        allot::cuda::virtual_memory{1 << 26}};
    CHECK_FALSE(arena.allocate({1, 1}));
    CHECK(arena.diagnose({1, 1}) ==
          allot::diagnosis{allot::refusal::device_refused, 0, CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND});
}
