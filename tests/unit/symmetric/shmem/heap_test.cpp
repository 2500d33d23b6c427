// The errors of the symmetric heap.
#include "../../../texts.hpp"

#include <allot/shmem/heap.hpp>

#include <doctest/doctest.h>

TEST_CASE("shmem heap: every error has its own text") {
    texts::check_distinct_up_to(allot::shmem::heap_error::not_running);
}
