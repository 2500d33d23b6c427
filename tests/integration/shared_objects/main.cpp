// Two shared objects with one arena each. Blocks of one are freed through the code of the other, and this program uses
// both arenas. Neither object refers to the other.
#include "objects.hpp"

#include <cstdio>
#include <cstring>

namespace {

int failures = 0;

void check(bool holds, const char* what) {
    if (holds) return;
    std::printf("failed: %s\n", what);
    ++failures;
}

/// Returns whether the whole arena is one hole.
bool is_whole(const objects::plain_arena& arena) { return arena.diagnose({4000, 16}).reason == allot::refusal::none; }

}  // namespace

int main() {
    check(&first::plain() != &second::plain(), "each object has its own arena");

    // Blocks of each object, allocated there and used here.
    objects::block of_first[8], of_second[8];
    for (int i = 0; i != 8; ++i) {
        of_first[i] = first::allocate({100, 16});
        of_second[i] = second::allocate({100, 16});
        check(of_first[i] && of_second[i], "both allocate");
        check(first::plain().owns(of_first[i]) && !first::plain().owns(of_second[i]), "the first owns its own");
        check(second::plain().owns(of_second[i]) && !second::plain().owns(of_first[i]), "the second owns its own");
        std::memset(of_first[i].address, i, of_first[i].size);
        std::memset(of_second[i].address, 100 + i, of_second[i].size);
    }
    for (int i = 0; i != 8; ++i) {
        check(*static_cast<unsigned char*>(of_first[i].address) == i, "blocks of the first keep their bytes");
        check(*static_cast<unsigned char*>(of_second[i].address) == 100 + i, "blocks of the second keep their bytes");
    }

    // Freed by the object's own code, and by the code compiled into this program.
    for (int i = 0; i != 8; i += 2) {
        first::deallocate(of_first[i]);
        second::plain().deallocate(of_second[i]);
    }
    for (int i = 1; i < 8; i += 2) {
        first::plain().deallocate(of_first[i]);
        second::deallocate(of_second[i]);
    }
    check(is_whole(first::plain()) && is_whole(second::plain()), "both arenas are whole again");

    // Checked arenas: a block of one is foreign to the other, and the handler of the other is called.
    const auto one = first::checked().allocate({64, 16});
    const auto two = second::checked().allocate({64, 16});
    check(one && two, "both checked arenas allocate");
    second::checked().deallocate({one.address, one.size, {}});
    check(first::misuses() == 0 && second::misuses() == 1, "a foreign block is the second's misuse");
    first::checked().deallocate({two.address, two.size, {}});
    check(first::misuses() == 1 && second::misuses() == 1, "a foreign block is the first's misuse");
    first::checked().deallocate(one);
    second::checked().deallocate(two);
    check(first::misuses() == 1 && second::misuses() == 1, "their own blocks are no misuse");
    check(first::checked().trim() == 4096 && first::checked().size() == 0, "the first releases its region");
    check(second::checked().trim() == 4096 && second::checked().size() == 0, "the second releases its region");

    // A composition made here: a block has a record of its origin.
    allot::fallback both{first::plain(), second::plain()};
    const auto large = both.allocate({3000, 16}), next = both.allocate({3000, 16});
    check(large && next && both.is_from_first(large) && !both.is_from_first(next), "fallback uses the second");
    check(!both.allocate({3000, 16}), "both arenas are exhausted");
    both.deallocate(next);
    both.deallocate(large);
    check(is_whole(first::plain()) && is_whole(second::plain()), "both arenas are whole in the end");
    return failures == 0 ? 0 : 1;
}
