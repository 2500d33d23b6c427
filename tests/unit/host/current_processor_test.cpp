// The number of the processor on which a thread runs.
#include <allot/host/current_processor.hpp>

#include <doctest/doctest.h>

#include <pthread.h>
#include <sched.h>

TEST_CASE("current_processor: returns the processor to which the thread is bound") {
    cpu_set_t allowed;
    REQUIRE(::sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    for (std::size_t i = 0; i != CPU_SETSIZE; ++i) {
        if (!CPU_ISSET(i, &allowed)) continue;
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET(i, &only);
        REQUIRE(::pthread_setaffinity_np(::pthread_self(), sizeof only, &only) == 0);
        CHECK(allot::host::current_processor{}() == i);
    }
    REQUIRE(::pthread_setaffinity_np(::pthread_self(), sizeof allowed, &allowed) == 0);
}
