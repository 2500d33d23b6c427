// Type-erased allocator of the option sweep: the interface for the oracle in fuzz.cpp, and the documented guarantees.
#pragma once

#include <allot/core/diagnosis.hpp>
#include <allot/core/strategy.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sweep {

/// Bytes of a region, a block, or a row of a block. Positions in different memories have different keys.
struct place {
    std::uintptr_t key = 0, at = 0;
    std::size_t size = 0;
    std::size_t align = 0;       // of a region with a handle
    std::byte* bytes = nullptr;  // set if the host may access the bytes
};

struct promises {
    allot::reclaim reclaims = allot::reclaim::any;
    bool exact = false;    // fails only if no hole fits, except for `slack`
    bool grows = false;    // acquires more memory than at first
    bool alone = true;     // a plain or locked arena with all operations of an arena
    bool in_rows = false;  // blocks consist of rows
    bool trims = false, resets = false, resizes = false, claims = false, marks = false, hardened = false;
    std::size_t slack = 0;  // bytes that a block may need in addition to its size and alignment
    bool defers = false;    // freed blocks may wait without merging
    std::size_t size = 0;   // bytes requested from the device
    std::size_t reach = 0;  // bytes of a region that its offsets can address
};

/// Number of block IDs. The oracle selects the IDs.
constexpr std::size_t most_ids = 160;

class machine {
public:
    virtual ~machine() = default;
    [[nodiscard]] virtual promises what() const = 0;

    virtual bool allocate(std::size_t id, allot::layout wanted) = 0;
    virtual void deallocate(std::size_t id) = 0;
    virtual allot::diagnosis diagnose(allot::layout wanted) = 0;
    [[nodiscard]] virtual std::size_t size_of(std::size_t id) const = 0;
    [[nodiscard]] virtual std::size_t capacity(std::size_t id) const = 0;
    [[nodiscard]] virtual bool owns(std::size_t id) const = 0;
    [[nodiscard]] virtual std::vector<place> places(std::size_t id) const = 0;
    [[nodiscard]] virtual std::vector<place> regions() const = 0;
    [[nodiscard]] virtual std::size_t size() const = 0;

    virtual bool resize(std::size_t, std::size_t) { return false; }
    virtual bool allocate_at(std::size_t, allot::extent) { return false; }
    virtual allot::diagnosis diagnose_at(allot::extent) { return {}; }
    virtual std::size_t trim() { return 0; }
    virtual void reset() {}
    virtual void mark() {}
    virtual void rollback() {}
};

using maker = machine* (*)();

/// Adds itself to the list of combinations that main runs.
struct enlisted {
    enlisted(int row, const char* what, maker make);
    int row;
    const char* what;
    maker make;
    const enlisted* next;
};

/// Number of reported misuses.
inline int misuses = 0;

}  // namespace sweep
