// SPDX-License-Identifier: BSL-1.0
// The file that the recorder writes and the converter reads. The format is private to these two programs: numbers have
// the byte order of the machine, and a recording of another version is refused.
//
//     header │ unit │ unit │ unit …        each has 64 KiB
//
// A unit holds the events of one thread in their order. The thread writes to a window: a unit that it maps. The kernel
// keeps the bytes of a window when the process is killed. A full window is copied to the end of the file and cleared.
// A unit ends at the first word that is 0. The units of a file are in no particular order: times order the events.
//
//     short event   one word: kind, time since the last event, address relative to a base, size
//     long event    four words: kind, time, address, size. It also sets the base of later short events
//
// A time is the value of a counter that all threads share. Events of one window are in their order. If an event has the
// address of an event of another window, the thread advances the counter and gets a greater time, so the two have the
// order of the calls: the time of a deallocation is read before the call, and the time of an allocation after it. Other
// events of different windows can have equal times and any order. A thread also advances the counter after every 256
// events, so this order is close to that of the calls.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace recording {

using word = std::uint64_t;

inline constexpr word version = 1;
inline constexpr std::size_t unit_bytes = 65'536;
inline constexpr word file_magic = 0x31'43'45'52'54'4C'41'0A, unit_magic = 0x54'49'4E'55'54'4C'41'0A;

enum class kind : word { allocate = 1, deallocate = 2, long_event = 3 };

/// What a long event is.
enum class long_kind : word {
    allocate,      ///< A block: address, size.
    deallocate,    ///< The end of the block at an address.
    resize_begin,  ///< The block at an address is given to realloc.
    resize_end,  ///< realloc returned: address, size. Address 0: the block is freed if the size is 0, and kept otherwise.
    thread,      ///< The next events are those of another thread: its number is in the place of the address.
};

// A short event: bits 0-1 kind, 2-9 time, 10-39 address, 40-63 size.
inline constexpr unsigned time_at = 2, time_bits = 8;
inline constexpr unsigned address_at = 10, address_bits = 30;
inline constexpr unsigned size_at = 40, size_bits = 24;
inline constexpr unsigned address_unit_log2 = 3;
inline constexpr word address_bias = word{1} << (address_bits - 1 + address_unit_log2);

// The first word of a long event: bits 0-1 kind, 2-7 long_kind, 8-15 binary logarithm of the alignment.
inline constexpr unsigned long_kind_at = 2, long_kind_mask = 63, align_at = 8, align_mask = 255;
inline constexpr std::size_t long_words = 4;

/// The start of the file.
struct header {
    word magic, version;
    word pid;
    word parent;                ///< 1: the process is a fork of `parent_file`, which has its earlier events.
    word forked_at;             ///< The time of the fork.
    std::atomic<word> end;      ///< The bytes of the file that are in use.
    std::atomic<word> lost;     ///< Events that were not recorded.
    std::atomic<word> failed;   ///< Allocations that returned a null pointer.
    std::atomic<word> threads;  ///< The number of threads so far.
    char parent_file[1024];     ///< The path of the recording of the parent.
    char program[1024];         ///< The path of the executable.
};
static_assert(sizeof(header) <= unit_bytes);

/// The start of a unit: the state of the decoder before its first event.
struct unit {
    static constexpr std::size_t header_words = 6;
    static constexpr std::size_t words = unit_bytes / sizeof(word) - header_words;
    word magic;
    word window;    ///< The offset of the window that the events were written to.
    word sequence;  ///< The number of the unit in its window.
    word thread;
    word time, base;
    word events[words];
};
static_assert(sizeof(unit) == unit_bytes);

}  // namespace recording
