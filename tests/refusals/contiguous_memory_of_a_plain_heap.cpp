// refused: allot: a source of contiguous_memory is a device of pointers with contiguous = true, int errors and
#include <allot/dma.hpp>

using heap = allot::dma::heap<"reserved", allot::dma::heap_options{.contiguous = true}>;
#ifdef MISUSE
using source = heap;  // which has no bus addresses
#else
using source = allot::dma::bus_addressed<heap, allot::dma::physical_node>;
#endif

int main() { return sizeof(allot::dma::contiguous_memory<source>) != 0 ? 0 : 1; }
