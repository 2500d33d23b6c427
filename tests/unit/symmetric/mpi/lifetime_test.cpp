// Before MPI_Init and after MPI_Finalize: requests fail, and objects that outlive MPI do nothing.
#include <allot/allot.hpp>
#include <allot/compose/symmetric.hpp>
#include <allot/mpi/window.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <memory>
#include <string_view>

namespace {

using arena = allot::arena<allot::mpi::window, allot::best_fit<>>;

bool is_open_mpi() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    return std::string_view{text, static_cast<std::size_t>(length)}.find("Open MPI") == 0;
}

}  // namespace

TEST_CASE("mpi window: without MPI there are no ranks and no memory") {
    allot::mpi::communicator early{MPI_COMM_WORLD};
    CHECK(early.size() == 0);
    arena memory{early, 4096};
    CHECK_FALSE(memory.allocate({.size = 64}));
    CHECK(memory.diagnose({.size = 64}).device_error == MPI_ERR_COMM);
    allot::symmetric nothing{memory, early};
    CHECK(nothing.agree().found == allot::agreement::failed);
    CHECK(nothing.agree().error == MPI_ERR_COMM);

    MPI_Init(nullptr, nullptr);
    {
        allot::mpi::communicator ranks{MPI_COMM_WORLD};
        arena in_time{ranks, 4096};
        CHECK(in_time.allocate({.size = 64}));
    }
    if (is_open_mpi()) {  // MPICH ends the program if a window exists at MPI_Finalize
        allot::mpi::communicator ranks{MPI_COMM_WORLD};
        auto late = std::make_unique<arena>(ranks, 4096U);
        CHECK(late->allocate({.size = 64}));
        allot::naive<allot::mpi::window> each{allot::mpi::window{ranks}};
        MPI_Finalize();
        CHECK_FALSE(each.allocate({.size = 64}));
        CHECK(each.diagnose({.size = 64}).device_error == MPI_ERR_COMM);
        std::uint64_t one = 1;
        CHECK(ranks.maximum({&one, 1}) == MPI_ERR_COMM);
        late.reset();
    } else {
        std::puts("skipped: only Open MPI lets a window outlive MPI_Finalize");
        MPI_Finalize();
    }
    CHECK(allot::mpi::communicator{MPI_COMM_WORLD}.size() == 0);
}
