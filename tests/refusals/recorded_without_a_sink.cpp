// A trace that was read is no sink.
// refused: allot: the second argument of recorded is a sink: trace_writer, event_sink, or a type with allocate(size, align), deallocate(number), resize(number, size) and reset()
#include <allot/allot.hpp>
#include <allot/compose/recorded.hpp>
#include <allot/inspect/trace.hpp>

int main() {
    using arena = allot::arena<allot::host::static_storage<256>, allot::bump<>>;
#ifdef MISUSE
    allot::recorded<arena, allot::trace> memory;
#else
    allot::recorded<arena, allot::trace_writer> memory;
#endif
    return memory.allocate({.size = 10}) ? 0 : 1;
}
