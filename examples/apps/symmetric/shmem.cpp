// SPDX-License-Identifier: BSL-1.0
// symmetric_shmem: the program with OpenSHMEM's symmetric heap.
//
//     oshrun --mca btl ^uct -n 2 symmetric_shmem
#include "program.hpp"

#include <allot/shmem/heap.hpp>

int main(int argc, char** argv) {
    shmem_init();
    {
        allot::shmem::processing_elements ranks;
        if (const int status = example::run_program<allot::shmem::heap>(ranks, argc, argv); status != 0)
            shmem_global_exit(status);  // other ranks may be waiting for this one
    }
    shmem_finalize();
}
