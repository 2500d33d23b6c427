// SPDX-License-Identifier: BSL-1.0
// scoped_mark: frees everything that is allocated in a scope when the scope ends.
//
//     allot::arena<allot::host::static_storage<64_KiB>, allot::bump<>> scratch;
//     for (int frame = 0; frame != 100; ++frame) {
//         const allot::scoped_mark here{scratch};
//         auto pixels = scratch.allocate({.size = 48_KiB, .align = 64});           // free again in the next frame
//         if (!pixels) report(frame);
//     }
//
//     │ before the mark │ allocated in the scope │►   free
//                       └─ the end of the scope rolls back to here
//
// Marks nest: an inner scope ends first. No destructors of objects run: use trivially destructible objects, or owners
// that end inside the scope, such as make_unique.
//
// When to use: for scratch memory of a frame, a request, or a recursive call, over a bump or a stack.
// When not to use: for blocks that outlive the scope. `release` keeps all blocks of the scope, not single ones.
// Complexity: O(1) without hardening. Memory: one pointer and the mark. Thread safety: that of the allocator.
#pragma once

#include <allot/core/allocator.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

/// Takes a mark of an allocator, and rolls back to it at the end of the scope. Neither copied nor moved.
template <class Allocator>
class [[nodiscard]] scoped_mark {
    static_assert(
        markable_allocator<Allocator>,
        "allot: this allocator has no marks: use an arena over bump, stack or ring, or free blocks one by one");

public:
    /// Takes a mark. The allocator must outlive the scope.
    [[nodiscard("allot: name the scoped_mark: without a name, it ends at once")]]
    explicit scoped_mark(Allocator& allocator) noexcept
        : allocator_{&allocator}, mark_{allocator.mark()} {}
    scoped_mark(const scoped_mark&) = delete;
    scoped_mark& operator=(const scoped_mark&) = delete;
    /// Rolls back to the mark, unless `release` was called.
    ~scoped_mark() {
        if (allocator_ != nullptr) allocator_->rollback(mark_);
    }

    /// Keeps everything that was allocated in the scope.
    void release() noexcept { allocator_ = nullptr; }

private:
    Allocator* allocator_;
    decltype(std::declval<Allocator&>().mark()) mark_;
};

}  // namespace v1
}  // namespace allot
