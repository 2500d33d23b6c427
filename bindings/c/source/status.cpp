// SPDX-License-Identifier: BSL-1.0
// status: the texts of the codes, and the version.
#include "status.hpp"

#include <allot/version.hpp>

namespace {

using namespace allot_c;

const char* text_of_interface(allot_status status) noexcept {
    switch (status) {
        case ALLOT_OK: return "the call succeeded";
        case ALLOT_NULL_ARGUMENT: return "a pointer is NULL that must not be";
        case ALLOT_BAD_STRUCT_SIZE: return "struct_size is too small, or the library is too old for a member";
        case ALLOT_BAD_OPTION: return "an option has a value that this version does not know";
        case ALLOT_OUT_OF_MEMORY: return "the library has no memory for its records";
        case ALLOT_BAD_RANGE: return "the memory is too small for one block, or its end exceeds the address space";
        case ALLOT_STOPPED: return "the function that receives bytes did not accept them";
        case ALLOT_NO_PLACE: return "a buffer has no place in the plan";
        case ALLOT_NO_SUCH_MEMORY: return "a place is in a memory that the plan does not have";
        case ALLOT_NO_SUCH_GROUP: return "the cache, or the model of the sequence, has no such group of pages";
        case ALLOT_TOO_SMALL: return "the array of the caller is too small for the result";
        case ALLOT_PAST_END: return "the sequence has fewer tokens";
        case ALLOT_NOT_ONE_PAGE: return "the contents of a page do not have the tokens of one page";
        default: return "unknown";
    }
}

template <class Code>
const char* text_of(allot_status status, allot_status first) noexcept {
    return to_string(static_cast<Code>(status - first));
}

}  // namespace

uint32_t allot_version(void) { return ALLOT_VERSION; }

const char* allot_status_text(allot_status status) {
    if (status > violation_codes && status < violation_codes + 100)
        return text_of<allot::plan_violation_kind>(status, violation_codes);
    if (status >= misuse_codes && status < violation_codes) return text_of<allot::misuse>(status, misuse_codes);
    if (status > page_codes && status < misuse_codes) return text_of<allot::page_refusal>(status, page_codes);
    if (status > plan_codes && status < page_codes) return text_of<allot::plan_refusal>(status, plan_codes);
    if (status > ALLOT_OK && status < ALLOT_NULL_ARGUMENT) return text_of<allot::refusal>(status, 0);
    return text_of_interface(status);
}
