// Records in memory of the caller, in an arena, which has no function to give that memory.
// refused: allot: an arena cannot give memory to a table with best_fit_options::records = given_records: set the number of records, or use best_fit without an arena
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    constexpr std::size_t records = allot::given_records;
#else
    constexpr std::size_t records = 16;
#endif
    using strategy = allot::best_fit<allot::best_fit_options{.records = records}>;
    allot::arena<allot::host::static_storage<256>, strategy> arena;
    return static_cast<int>(arena.size());
}
