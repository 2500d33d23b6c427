// Stores the active mutant and the mutants that a run reaches. The latter are a shared file, which survives an abort.
#include <mutation.hpp>

#include <cstdlib>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace mutation {

int chosen = -1;
static bool nowhere[capacity];
bool* reached = nowhere;

[[gnu::constructor(101)]] static void prepare() {  // runs before all other initialization
    if (const char* const number = std::getenv("MUTANT")) chosen = std::atoi(number);
    const char* const name = std::getenv("MUTANTS_REACHED");
    if (name == nullptr) return;
    const int file = open(name, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, capacity) != 0) std::abort();
    void* const shared = mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (shared == MAP_FAILED) std::abort();
    reached = static_cast<bool*>(shared);
}

}  // namespace mutation
