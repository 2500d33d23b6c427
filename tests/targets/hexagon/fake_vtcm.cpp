#include "fake_vtcm.hpp"

#include <allot/hexagon/vtcm.hpp>  // the compiler sees that both declare the same functions

#include <cstring>

namespace fake_vtcm {

alignas(most) std::byte window[most];
manager state;

namespace {
void overwrite() noexcept { std::memset(window, unwritten, sizeof window); }
}  // namespace

void reset(manager fresh) noexcept {
    state = fresh;
    overwrite();
}

}  // namespace fake_vtcm

extern "C" {

int HAP_query_total_VTCM(unsigned int* page_size, unsigned int* page_count) {
    using fake_vtcm::state;
    if (state.total == 0) return -1;
    *page_size = state.total / state.pages;
    *page_count = state.pages;
    return 0;
}

void* HAP_request_VTCM(unsigned int size, unsigned int single_page) {
    using namespace fake_vtcm;
    ++state.requests;
    state.single_page = single_page != 0;
    unsigned page = 4096;
    while (single_page != 0 && page < size) page *= 4;
    const unsigned given = (size + page - 1) / page * page;
    if (size == 0 || given > state.total || state.held != nullptr) return nullptr;
    overwrite();
    state.held = window + state.shift;
    return window + state.shift;
}

int HAP_release_VTCM(void* base) {
    using namespace fake_vtcm;
    if (base == nullptr || base != state.held) {
        ++state.bad_releases;
        return -1;
    }
    ++state.releases;
    state.held = nullptr;
    overwrite();
    return 0;
}
}
