// SPDX-License-Identifier: BSL-1.0
// structs: reads and writes the structures of allot.h, whose size the caller knows and may differ.
//
//     caller's structure   │ struct_size │ known to both │ newer than the library: must be 0 │
//     copy                 │ struct_size │ known to both │ newer than the caller: 0 │
#pragma once

#include "../allot.h"

#include <cstddef>
#include <cstring>

namespace allot_c {

/// The size that a structure had in the first version of the interface. No smaller size is valid.
template <class Struct>
inline constexpr std::size_t first_size = sizeof(Struct);
template <>
inline constexpr std::size_t first_size<allot_memories> = offsetof(allot_memories, separate);

/// Copies a structure of the caller. Members that the caller does not know are 0.
template <class Struct>
[[nodiscard]] allot_status read_struct(const Struct* given, Struct& into) noexcept {
    if (given == nullptr) return ALLOT_NULL_ARGUMENT;
    const std::size_t size = given->struct_size;
    if (size < first_size<Struct>) return ALLOT_BAD_STRUCT_SIZE;
    const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
    for (std::size_t at = sizeof(Struct); at < size; ++at)
        if (bytes[at] != 0) return ALLOT_BAD_STRUCT_SIZE;
    into = {};
    std::memcpy(&into, given, size < sizeof(Struct) ? size : sizeof(Struct));
    return ALLOT_OK;
}

/// Returns the reason for which a result cannot be written to a structure of the caller.
template <class Struct>
[[nodiscard]] allot_status check_struct(const Struct* to) noexcept {
    if (to == nullptr) return ALLOT_NULL_ARGUMENT;
    return to->struct_size < first_size<Struct> ? ALLOT_BAD_STRUCT_SIZE : ALLOT_OK;
}

/// Writes a result to a structure that `check_struct` accepts. Members that the library does not know become 0.
template <class Struct>
void write_struct(Struct from, Struct* to) noexcept {
    const std::size_t size = to->struct_size;
    from.struct_size = size;
    std::memcpy(to, &from, size < sizeof(Struct) ? size : sizeof(Struct));
    if (size > sizeof(Struct))
        std::memset(reinterpret_cast<unsigned char*>(to) + sizeof(Struct), 0, size - sizeof(Struct));
}

/// Sets a result of the caller to 0, as it stays if the call fails. Returns the reason for which it cannot be written.
template <class Struct>
[[nodiscard]] allot_status clear_struct(Struct* to) noexcept {
    const allot_status status = check_struct(to);
    if (status == ALLOT_OK) write_struct(Struct{}, to);
    return status;
}

}  // namespace allot_c
