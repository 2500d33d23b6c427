// SPDX-License-Identifier: BSL-1.0
// status: the codes of allot.h for the codes of allot.
#pragma once

#include "../allot.h"

#include <allot/arena/misuse.hpp>
#include <allot/core/diagnosis.hpp>
#include <allot/page_cache/page_limits.hpp>
#include <allot/plan/validate.hpp>

namespace allot_c {

// The number of the first code of each enumeration.
inline constexpr allot_status plan_codes = 100;
inline constexpr allot_status page_codes = 200;
inline constexpr allot_status misuse_codes = 300;
inline constexpr allot_status violation_codes = 400;

[[nodiscard]] constexpr allot_status status_of(allot::refusal reason) noexcept {
    return static_cast<allot_status>(reason);
}
[[nodiscard]] constexpr allot_status status_of(allot::plan_refusal reason) noexcept {
    return reason == allot::plan_refusal::none ? ALLOT_OK : plan_codes + static_cast<allot_status>(reason);
}
[[nodiscard]] constexpr allot_status status_of(allot::page_refusal reason) noexcept {
    return reason == allot::page_refusal::none ? ALLOT_OK : page_codes + static_cast<allot_status>(reason);
}
[[nodiscard]] constexpr allot_status status_of(allot::misuse what) noexcept {
    return misuse_codes + static_cast<allot_status>(what);
}
[[nodiscard]] constexpr allot_status status_of(allot::plan_violation_kind kind) noexcept {
    return kind == allot::plan_violation_kind::none ? ALLOT_OK : violation_codes + static_cast<allot_status>(kind);
}

}  // namespace allot_c
