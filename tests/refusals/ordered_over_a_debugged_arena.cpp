// A debugged arena fills freed bytes, and pending work may still read them.
// refused: allot: hardening::debug overwrites freed bytes, which work of a queue may still use: use hardening::checked
#include <allot/arena/hardening.hpp>
#include <allot/compose/ordered.hpp>
#include <allot/host/heap.hpp>
#include <allot/host/job_queue.hpp>

int main() {
#ifdef MISUSE
    constexpr auto hardened = allot::hardening::debug;
#else
    constexpr auto hardened = allot::hardening::checked;
#endif
    using arena = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::none<>,
                               allot::arena_options{.hardening = hardened}>;
    allot::ordered<arena, allot::host::job_timeline> memory{{}, allot::host::heap{}, 512};
    return static_cast<int>(memory.size());
}
