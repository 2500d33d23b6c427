// refused: allot: the second argument of bus_addressed finds physical addresses
#include <allot/dma.hpp>

struct anywhere {
#ifdef MISUSE
    long find(allot::dma::buffer, void*) const;
#else
    allot::result<allot::dma::physical_buffer, int> find(allot::dma::buffer, void*) const noexcept {
        return allot::dma::physical_buffer{0x8000'0000};
    }
#endif
};

int main() { return sizeof(allot::dma::bus_addressed<allot::dma::heap<"reserved">, anywhere>) != 0 ? 0 : 1; }
