// SPDX-License-Identifier: BSL-1.0
// shmem::heap: the symmetric heap of OpenSHMEM. Every processing element (PE) has a part, which the other PEs read and
// write directly.
//
//     allot::shmem::processing_elements ranks;                                      // between shmem_init and _finalize
//     allot::arena<allot::shmem::heap, allot::best_fit<>> memory{ranks, 64_MiB};      // on every PE
//     auto block = memory.allocate({.size = 4096});        // a symmetric object, and the offset of the first byte
//     void* mine = allot::shmem::heap::local(block.address);
//
//     object ──► PE 0  │◄─ offset ─►│ block │      OpenSHMEM names a remote object by the address of the local one,
//                PE 1  │◄─ offset ─►│ block │      which is the handle. Addresses on other PEs are not needed.
//
// Offsets count from the object and not from address 0, so that they are the same on all PEs. compose/symmetric.hpp
// makes the arena symmetric: an object, a rank and an offset then name a block of another PE.
//
// When to use: in OpenSHMEM programs, for data that PEs exchange by one-sided communication.
// When not to use: for memory of one PE alone; `acquire` and `release` are collective.
//
// The code relies on these rules (OpenSHMEM 1.4, "Memory Management Routines" and "Remote Memory Access Routines"):
//     shmem_align    All PEs call it with the same arguments, which `acquire` compares first. Returns NULL when the
//                    heap is exhausted. The launcher sets the heap's size (SHMEM_SYMMETRIC_SIZE).
//     put            Returns when the local bytes may be reused. `flush` completes the transfer.
//     get            Returns when the bytes have arrived.
//     flush          Calls shmem_quiet: completes all puts of this PE, to all PEs.
//     synchronize    Calls shmem_barrier_all: completes the puts of all PEs.
//
// Destroy processing_elements before shmem_finalize. Arenas that still exist then do nothing in their destructors.
//
// Complexity: one reduction and one shmem_align for each `acquire`, each with a barrier.
// Memory: no overhead for a region.
// Thread safety: none.
#pragma once

#include <allot/address/on_rank.hpp>
#include <allot/core/communicator.hpp>
#include <allot/core/device.hpp>

#include <shmem.h>

namespace allot {
inline namespace v1 {
namespace shmem {

/// All processing elements of the program. Construct and destroy it on all PEs, between shmem_init and shmem_finalize.
class processing_elements {
public:
    /// Allocates symmetric memory for reductions. Collective.
    processing_elements() noexcept
        : work_{static_cast<workspace*>(::shmem_align(alignof(workspace), sizeof(workspace)))},
          rank_{::shmem_my_pe()},
          size_{::shmem_n_pes()} {
        ++alive;
        if (work_ == nullptr) return;
        for (long& each : work_->synchronisation) each = SHMEM_SYNC_VALUE;
        ::shmem_barrier_all();
    }
    processing_elements(const processing_elements&) = delete;
    processing_elements& operator=(const processing_elements&) = delete;
    /// Frees that memory. Collective.
    ~processing_elements() {
        --alive;
        if (work_ != nullptr) ::shmem_free(work_);
    }

    /// Returns the number of this PE.
    [[nodiscard]] int rank() const noexcept { return rank_; }
    /// Returns the number of PEs.
    [[nodiscard]] int size() const noexcept { return size_; }

    /// Returns true while an object of this class exists. OpenSHMEM 1.4 cannot report that shmem_finalize was called.
    [[nodiscard]] static bool is_running() noexcept { return alive != 0; }

    /// Replaces each value by the maximum of all PEs' values at its index. Collective. Returns 0, or 1 if the symmetric
    /// heap had no room for this object.
    [[nodiscard]] long maximum(std::span<std::uint64_t> values) noexcept {
        if (work_ == nullptr) return 1;
        for (std::size_t done = 0; done != values.size();) {
            const std::size_t some = values.size() - done < width ? values.size() - done : width;
            ::shmem_barrier_all();  // the previous reduction has finished on all PEs
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
    // The symmetric memory of a reduction.
    struct workspace {
        long long from[width], to[width];
        long long work[width / 2 + 1 > SHMEM_REDUCE_MIN_WRKDATA_SIZE ? width / 2 + 1 : SHMEM_REDUCE_MIN_WRKDATA_SIZE];
        long synchronisation[SHMEM_REDUCE_SYNC_SIZE];
    };

    static inline int alive = 0;  // objects

    workspace* work_;
    int rank_, size_;
};

static_assert(communicator<processing_elements>);

/// An object of the symmetric heap.
struct object {
    void* here = nullptr;  ///< The address of this PE's part.
    /// Compares the addresses.
    friend constexpr bool operator==(const object&, const object&) = default;
};

/// Errors of the symmetric heap.
enum class heap_error : int {
    none,          ///< No error.
    exhausted,     ///< The symmetric heap has no room for the request.
    bad_layout,    ///< The size is 0, or the alignment is not a power of two.
    not_the_same,  ///< The PEs requested different layouts.
    no_such_rank,  ///< The PE of a remote address does not exist.
    not_running,   ///< All processing_elements are destroyed.
};

/// Returns a human-readable description of the reason.
[[nodiscard]] constexpr const char* to_string(heap_error reason) noexcept {
    switch (reason) {
        case heap_error::none: return "no error";
        case heap_error::exhausted: return "the symmetric heap has no room for the request";
        case heap_error::bad_layout: return "the size is 0, or the alignment is not a power of two";
        case heap_error::not_the_same: return "the processing elements requested different layouts";
        case heap_error::no_such_rank: return "the processing element of the remote address does not exist";
        case heap_error::not_running: return "no processing_elements is alive, so OpenSHMEM does not run";
    }
    return "unknown";
}

/// The device whose regions are objects of the symmetric heap.
class heap {
public:
    using address_model = handle_offset<object>;  ///< An address is a handle and a byte offset.
    /// A byte of this PE's part: object and offset.
    using address = address_model::address;
    /// A byte of any PE's part: object, rank and offset.
    using remote_address = remote_offset<object>::address;
    using error = heap_error;                                             ///< The error type.
    static constexpr bool host_accessible = false;                        ///< Other PEs write to it at any time.
    static constexpr offset_use offsets = offset_use::carried;            ///< An offset is passed next to the handle.
    static constexpr std::size_t min_align = 64;                          ///< Every base is a multiple of this.
    static constexpr std::size_t granularity = 1;                         ///< Every size is a multiple of this.
    static constexpr dl_device_type dl_device = dl_device_type::ext_dev;  ///< DLPack's device type.

    /// Allocates objects on these PEs. `ranks` must outlive the object.
    heap(processing_elements& ranks) noexcept : ranks_{&ranks} {}

    /// Allocates a symmetric object, or returns the same error on all PEs. Collective.
    [[nodiscard]] acquired<heap> acquire(layout wanted) noexcept {
        using answer = acquired<heap>;
        if (!processing_elements::is_running()) return answer::failure(heap_error::not_running);
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

    /// Frees an object. Collective. Does nothing for an empty region, and when all processing_elements are destroyed,
    /// because OpenSHMEM may have ended.
    void release(region<address> held) noexcept {
        if (held && processing_elements::is_running()) ::shmem_free(held.base.handle.here);
    }

    /// Returns a pointer to a byte of this PE's part.
    [[nodiscard]] static void* local(address at) noexcept {
        return static_cast<std::byte*>(at.handle.here) + at.offset;
    }

    /// Writes local bytes to `to`. Fails with no_such_rank. The range is not checked.
    [[nodiscard]] static heap_error put(const void* from, remote_address to, std::size_t bytes) noexcept {
        if (!is_rank(to.handle.rank)) return heap_error::no_such_rank;
        ::shmem_putmem(local({to.handle.memory, to.offset}), from, bytes, to.handle.rank);
        return heap_error::none;
    }
    /// Reads bytes at `from` into local memory. Fails with no_such_rank. The range is not checked.
    [[nodiscard]] static heap_error get(remote_address from, void* to, std::size_t bytes) noexcept {
        if (!is_rank(from.handle.rank)) return heap_error::no_such_rank;
        ::shmem_getmem(to, local({from.handle.memory, from.offset}), bytes, from.handle.rank);
        return heap_error::none;
    }
    /// Completes all puts of this PE.
    [[nodiscard]] static heap_error flush(on_rank<object>) noexcept {
        ::shmem_quiet();
        return heap_error::none;
    }

    /// Makes all earlier local writes and puts of all PEs visible to all PEs. Collective.
    [[nodiscard]] static heap_error synchronize(processing_elements&, object) noexcept {
        ::shmem_barrier_all();
        return heap_error::none;
    }

private:
    // The largest request. Sums in the libraries do not overflow.
    static constexpr std::size_t most = std::numeric_limits<std::size_t>::max() / 4;

    [[nodiscard]] static bool is_rank(int rank) noexcept { return rank >= 0 && rank < ::shmem_n_pes(); }

    processing_elements* ranks_;
};

static_assert(device<heap> && !bounded_device<heap>);

}  // namespace shmem
}  // namespace v1
}  // namespace allot
