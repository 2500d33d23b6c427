// Random calls of two files that were compiled with different flags, FIRST and SECOND. Prints every answer.
#include <cstdint>
#include <cstdio>

#define DECLARE(PART)                                                                      \
    namespace PART {                                                                       \
    std::size_t subjects();                                                                \
    void* make();                                                                          \
    std::uint64_t call(void* all, std::size_t subject, unsigned operation, std::uint64_t); \
    }
DECLARE(FIRST)
#ifdef SECOND
DECLARE(SECOND)
#else
#define SECOND FIRST
#endif

int main() {
    void* const all = FIRST::make();
    const std::size_t subjects = FIRST::subjects();
    std::uint64_t random = 88172645463325252;
    for (std::size_t i = 0; i != 4000 * subjects; ++i) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        const auto operation = static_cast<unsigned>(random >> 50) % 12;
        const std::size_t subject = i % subjects;
        const bool by_first = (random >> 60 & 1) != 0;
        const std::uint64_t answer = (by_first ? FIRST::call : SECOND::call)(all, subject, operation, random);
        std::printf("call %zu, subject %zu, operation %u: %llx\n", i, subject, operation,
                    static_cast<unsigned long long>(answer));
    }
}
