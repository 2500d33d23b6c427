// SPDX-License-Identifier: BSL-1.0
// OpenSHMEM's symmetric heap: memory of which every processing element (PE) has a part, that the others read and write
// without asking it.
//
//     allot::shmem::processing_elements ranks;                                        // between shmem_init and _finalize
//     allot::arena<allot::shmem::heap, allot::best_fit<>> memory{ranks, 64_MiB};      // on every PE
//     auto block = memory.allocate({.size = 4096});        // a symmetric object, and the offset of its first byte
//     void* mine = allot::shmem::heap::local(block.address);
//
//     object ──► PE 0  │◄─ offset ─►│ block │      OpenSHMEM names a remote object by the address of one's own: that is
//                PE 1  │◄─ offset ─►│ block │      the handle. Where others have theirs, nobody needs to know.
//
// Offsets count from the object, and not from address 0, so that they are the same wherever the heap lies. Made symmetric
// (compose/symmetric.hpp), the blocks of other PEs are named by object, rank and offset.
//
// What is relied on (OpenSHMEM 1.4, "Memory Management Routines" and "Remote Memory Access Routines"):
//     shmem_align    all PEs call it, with the same arguments: that is compared first. NULL when the heap is exhausted,
//                    whose size is the launcher's business (SHMEM_SYMMETRIC_SIZE).
//     put            returns when the bytes on this side are free to be used. They are there after `flush`.
//     get            returns when the bytes are here.
//     flush          shmem_quiet: all puts of this PE are done, to whomever.
//     synchronize    shmem_barrier_all, which is that for all PEs.
//
// Complexity: an acquisition is one reduction and shmem_align, each with a barrier. Memory: none. Thread safety: none.
#pragma once

#include <allot/address/on_rank.hpp>
#include <allot/core/communicator.hpp>
#include <allot/core/device.hpp>

#include <shmem.h>

namespace allot {
inline namespace v1 {
namespace shmem {

/// All of the program's processing elements. Begins and ends on all of them, between shmem_init and shmem_finalize.
class processing_elements {
public:
    processing_elements() noexcept
        : work_{static_cast<workspace*>(::shmem_align(alignof(workspace), sizeof(workspace)))},
          rank_{::shmem_my_pe()},
          size_{::shmem_n_pes()} {
        if (work_ == nullptr) return;
        for (long& each : work_->synchronisation) each = SHMEM_SYNC_VALUE;
        ::shmem_barrier_all();
    }
    processing_elements(const processing_elements&) = delete;
    processing_elements& operator=(const processing_elements&) = delete;
    ~processing_elements() {
        if (work_ != nullptr) ::shmem_free(work_);
    }

    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int size() const noexcept { return size_; }

    /// Collective: the greatest that any PE gave, at every place. 0; or 1 when the heap had no room for this object.
    [[nodiscard]] long maximum(std::span<std::uint64_t> values) noexcept {
        if (work_ == nullptr) return 1;
        for (std::size_t done = 0; done != values.size();) {
            const std::size_t some = values.size() - done < width ? values.size() - done : width;
            ::shmem_barrier_all();  // nobody is still at work here from last time
            for (std::size_t i = 0; i != some; ++i) work_->from[i] = static_cast<long long>(values[done + i]);
            ::shmem_longlong_max_to_all(work_->to, work_->from, static_cast<int>(some), 0, 0, size_, work_->work,
                                        work_->synchronisation);
            for (std::size_t i = 0; i != some; ++i) values[done + i] = static_cast<std::uint64_t>(work_->to[i]);
            done += some;
        }
        return 0;
    }

private:
    static constexpr std::size_t width = 4;
    /// What a reduction needs in symmetric memory.
    struct workspace {
        long long from[width], to[width];
        long long work[width / 2 + 1 > SHMEM_REDUCE_MIN_WRKDATA_SIZE ? width / 2 + 1 : SHMEM_REDUCE_MIN_WRKDATA_SIZE];
        long synchronisation[SHMEM_REDUCE_SYNC_SIZE];
    };

    workspace* work_;
    int rank_, size_;
};

static_assert(communicator<processing_elements>);

/// An object of the symmetric heap, by the address of this PE's part.
struct object {
    void* here = nullptr;
    friend constexpr bool operator==(const object&, const object&) = default;
};

enum class heap_error : int {
    none,
    exhausted,     // the symmetric heap has no such room
    bad_layout,    // a size of 0, or an alignment that is no power of two
    not_the_same,  // the PEs asked for different things
    no_such_rank,
};

class heap {
public:
    using address_model = handle_offset<object>;
    using address = address_model::address;
    using remote_address = remote_offset<object>::address;
    using error = heap_error;
    static constexpr bool host_accessible = false;  // other PEs write it at any time
    static constexpr offset_use offsets = offset_use::carried;
    static constexpr std::size_t min_align = 64;
    static constexpr std::size_t granularity = 1;
    static constexpr dl_device_type dl_device = dl_device_type::ext_dev;

    heap(processing_elements& ranks) noexcept : ranks_{&ranks} {}

    /// Collective: a symmetric object, or the same code on every PE.
    [[nodiscard]] acquired<heap> acquire(layout wanted) noexcept {
        using answer = acquired<heap>;
        rolling_hash asked;
        asked.add(wanted.size);
        asked.add(wanted.align);
        const comparison all = compare_ranks(*ranks_, asked.value());
        if (all.error != 0) return answer::failure(heap_error::exhausted);
        if (!all.equal) return answer::failure(heap_error::not_the_same);
        if (!wanted.is_valid()) return answer::failure(heap_error::bad_layout);
        const std::size_t align = wanted.align < min_align ? min_align : wanted.align;
        if (wanted.size > most || align > most) return answer::failure(heap_error::exhausted);
        void* const fresh = ::shmem_align(align, wanted.size);
        if (fresh == nullptr) return answer::failure(heap_error::exhausted);
        return region<address>{{{fresh}, 0}, wanted.size, align};
    }

    /// Collective.
    void release(region<address> held) noexcept { ::shmem_free(held.base.handle.here); }

    /// This PE's own byte.
    [[nodiscard]] static void* local(address at) noexcept { return static_cast<std::byte*>(at.handle.here) + at.offset; }

    /// Writes bytes of this PE to `to`.
    [[nodiscard]] static heap_error put(const void* from, remote_address to, std::size_t bytes) noexcept {
        if (!is_rank(to.handle.rank)) return heap_error::no_such_rank;
        ::shmem_putmem(local({to.handle.memory, to.offset}), from, bytes, to.handle.rank);
        return heap_error::none;
    }
    /// Reads bytes of `from` to this PE.
    [[nodiscard]] static heap_error get(remote_address from, void* to, std::size_t bytes) noexcept {
        if (!is_rank(from.handle.rank)) return heap_error::no_such_rank;
        ::shmem_getmem(to, local({from.handle.memory, from.offset}), bytes, from.handle.rank);
        return heap_error::none;
    }
    /// Whatever this PE put is there.
    [[nodiscard]] static heap_error flush(on_rank<object>) noexcept {
        ::shmem_quiet();
        return heap_error::none;
    }

    /// Collective: whatever any PE wrote or put before, all PEs read and get after.
    [[nodiscard]] static heap_error synchronize(processing_elements&, object) noexcept {
        ::shmem_barrier_all();
        return heap_error::none;
    }

private:
    static constexpr std::size_t most = std::numeric_limits<std::size_t>::max() / 4;  // what sums in libraries survive

    [[nodiscard]] static bool is_rank(int rank) noexcept { return rank >= 0 && rank < ::shmem_n_pes(); }

    processing_elements* ranks_;
};

static_assert(device<heap> && !bounded_device<heap>);

}  // namespace shmem
}  // namespace v1
}  // namespace allot
