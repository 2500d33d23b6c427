// SPDX-License-Identifier: BSL-1.0
// symmetric_shmem: the program on OpenSHMEM's symmetric heap.
//
//     oshrun --mca btl ^uct -n 2 symmetric_shmem
#include "program.hpp"

#include <allot/shmem/heap.hpp>

int main(int argc, char** argv) {
    shmem_init();
    {
        allot::shmem::processing_elements ranks;
        if (const int status = example::run_program<allot::shmem::heap>(ranks, argc, argv); status != 0)
            shmem_global_exit(status);  // the others may wait for this one
    }
    shmem_finalize();
}
