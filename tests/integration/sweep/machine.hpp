// An allocator of the option sweep without its type: what the oracle in fuzz.cpp calls, and what its documents promise.
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
    std::size_t align = 0;         // of a region beside a handle
    std::byte* bytes = nullptr;    // where the host may touch them
};

struct promises {
    allot::reclaim reclaims = allot::reclaim::any;
    bool exact = false;        // refuses only when no hole fits, but for `slack`
    bool grows = false;        // acquires more than it began with
    bool alone = true;         // an arena, as it is or locked: it has all that arenas have
    bool in_rows = false;      // blocks are rows
    bool trims = false, resets = false, resizes = false, claims = false, marks = false, hardened = false;
    std::size_t slack = 0;     // what a block may need beside its bytes and its alignment
    bool defers = false;       // what is given back may wait as it is
    std::size_t size = 0;      // bytes asked of the device
    std::size_t reach = 0;     // bytes of a region that its offsets tell apart
};

/// Blocks are named by numbers below this, which the oracle chooses.
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

/// Joins the list that main works off.
struct enlisted {
    enlisted(int row, const char* what, maker make);
    int row;
    const char* what;
    maker make;
    const enlisted* next;
};

/// Misuse that was reported.
inline int misuses = 0;

}  // namespace sweep
