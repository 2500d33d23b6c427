// Rare cases of MPI: bases with a different alignment on every rank, and failures on one rank only. MPI's profiling
// interface lets a program replace its functions; the original functions have the prefix PMPI_.
#include "../all_ranks.hpp"

#include <allot/allot.hpp>

#include <algorithm>

namespace {

using machine::device;
using machine::ranks;

const bool on_last = ranks().rank() == ranks().size() - 1;

/// The next behavior of MPI on this rank.
struct {
    int allocate = MPI_SUCCESS, create = MPI_SUCCESS, lock = MPI_SUCCESS;
    bool skewed = false;  // shifts the base by 8 bytes per rank
} answers;

alignas(64) std::byte skewed_bytes[1 << 16];

struct mended {
    ~mended() { answers = {}; }
};

}  // namespace

extern "C" int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* made) {
    if (answers.skewed) {
        std::byte* const first = skewed_bytes + 8 * (1 + ranks().rank());
        *static_cast<void**>(base) = first;
        return PMPI_Win_create(first, size, unit, info, comm, made);
    }
    if (answers.allocate != MPI_SUCCESS) return answers.allocate;
    return PMPI_Win_allocate(size, unit, info, comm, base, made);
}
extern "C" int MPI_Win_create(void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* made) {
    return answers.create != MPI_SUCCESS ? answers.create : PMPI_Win_create(base, size, unit, info, comm, made);
}
extern "C" int MPI_Win_lock_all(int mode, MPI_Win window) {
    return answers.lock != MPI_SUCCESS ? answers.lock : PMPI_Win_lock_all(mode, window);
}

TEST_CASE("mpi window: differently aligned bases are replaced by aligned memory with equal offsets") {
    if (ranks().size() == 1) return;  // one base always agrees; Open MPI has no MPI_Win_create for one rank
    const mended after;
    answers.skewed = true;
    device memory{ranks()};
    const auto held = memory.acquire({.size = 1000, .align = 4096});
    answers.skewed = false;
    REQUIRE_ON_ALL(static_cast<bool>(held));
    auto* const mine = static_cast<std::byte*>(device::local(held->base));
    CHECK(reinterpret_cast<std::uintptr_t>(mine) % 4096 == 0);
    CHECK((mine < skewed_bytes || mine >= skewed_bytes + sizeof skewed_bytes));
    CHECK(are_equal_on_all_ranks({held->base.offset, static_cast<std::uint64_t>(held->base.handle.start)}));

    const int right = (ranks().rank() + 1) % ranks().size();
    const device::remote_address theirs{{held->base.handle, right}, held->base.offset + 100};
    std::fill_n(mine, held->size, std::byte{9});
    CHECK(device::synchronize(ranks(), held->base.handle) == MPI_SUCCESS);
    const unsigned char sent[] = {1, 2, 3, static_cast<unsigned char>(ranks().rank())};
    CHECK(device::put(sent, theirs, sizeof sent) == MPI_SUCCESS);
    CHECK(device::synchronize(ranks(), held->base.handle) == MPI_SUCCESS);
    CHECK(static_cast<int>(mine[103]) == (ranks().rank() + ranks().size() - 1) % ranks().size());
    CHECK(mine[102] == std::byte{3});
    CHECK(mine[99] == std::byte{9});
    CHECK(mine[104] == std::byte{9});
    memory.release(*held);
}

TEST_CASE("mpi window: a failure on one rank is the same error on all ranks") {
    const mended after;
    device memory{ranks()};
    const auto refused_with = [&] {
        const auto answer = memory.acquire({.size = 1000, .align = 64});
        CHECK_FALSE(answer);
        CHECK(are_equal_on_all_ranks({static_cast<std::uint64_t>(answer.error())}));
        return answer.error();
    };
    SUBCASE("the allocation, on all ranks") {
        answers.allocate = MPI_ERR_NO_MEM;
        CHECK(refused_with() == MPI_ERR_NO_MEM);
    }
    SUBCASE("the start of communication, on one rank") {
        if (on_last) answers.lock = MPI_ERR_OTHER;
        CHECK(refused_with() == MPI_ERR_OTHER);
    }
    SUBCASE("the window over given memory, on all ranks") {
        if (ranks().size() != 1) {
            answers.skewed = true;
            answers.create = MPI_ERR_OTHER;
            CHECK(refused_with() == MPI_ERR_OTHER);
        }
    }
    answers = {};
    const auto held = memory.acquire({.size = 1000, .align = 64});
    REQUIRE_ON_ALL(static_cast<bool>(held));
    memory.release(*held);
}

TEST_CASE("mpi window: MPI's errors are returned as codes") {
    device memory{ranks()};
    const auto held = memory.acquire({.size = 1000, .align = 64});
    REQUIRE_ON_ALL(static_cast<bool>(held));
    char byte = 0;
    const device::remote_address nowhere{{held->base.handle, ranks().size()}, 0};
    CHECK(device::put(&byte, nowhere, 1) != MPI_SUCCESS);
    CHECK(device::get(nowhere, &byte, 1) != MPI_SUCCESS);
    const allot::on_rank<allot::mpi::aligned_window> last{held->base.handle, ranks().size() - 1};
    const auto at = [&](std::size_t offset) { return device::remote_address{last, offset}; };
    CHECK(device::put(&byte, at(held->size + 2 * held->align), 1) == MPI_ERR_RMA_RANGE);
    CHECK(device::get(at(held->size - 1), &byte, 2 + 2 * held->align) == MPI_ERR_RMA_RANGE);
    CHECK(device::put(&byte, at(static_cast<std::size_t>(-1)), 2) == MPI_ERR_RMA_RANGE);
    CHECK(device::get(at(0), &byte, static_cast<std::size_t>(-1)) == MPI_ERR_RMA_RANGE);
    CHECK(device::get(at(held->size - 1), &byte, 1) == MPI_SUCCESS);
    CHECK(device::flush(last) == MPI_SUCCESS);
    memory.release(*held);

    allot::mpi::communicator none{MPI_COMM_NULL};
    CHECK(none.size() == 0);
    CHECK(device{none}.acquire({.size = 64}).error() == MPI_ERR_COMM);
}
