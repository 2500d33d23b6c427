// SPDX-License-Identifier: BSL-1.0
// symmetric_mpi: the program with MPI windows.
//
//     mpirun -n 4 symmetric_mpi
#include "program.hpp"

#include <allot/mpi/window.hpp>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    allot::mpi::communicator ranks{MPI_COMM_WORLD};
    if (const int status = example::run_program<allot::mpi::window>(ranks, argc, argv); status != 0)
        MPI_Abort(MPI_COMM_WORLD, status);  // other ranks may be waiting for this one
    MPI_Finalize();
}
