// refused: allot: consumers of this device take no offset already
#include <allot/allot.hpp>

#ifdef MISUSE
using device = allot::separate<allot::host::heap>;
#else
using device = allot::host::heap;
#endif

int main() { return sizeof(allot::separate<device>) != 0 ? 0 : 1; }
