// SPDX-License-Identifier: BSL-1.0
// mpi::window: one-sided memory of MPI. Every rank has a part, which the other ranks read and write directly.
//
//     allot::mpi::communicator ranks{MPI_COMM_WORLD};
//     allot::arena<allot::mpi::window, allot::best_fit<>> memory{ranks, 64_MiB};      // on every rank
//     auto block = memory.allocate({.size = 4096});         // a window, and the offset of the first byte
//     void* mine = allot::mpi::window::local(block.address);
//
//     window ──► rank 0  │ start │◄─ offset ─►│ block │      the byte at `start` is aligned on every rank: an offset
//                rank 1  │ start │◄─ offset ─►│ block │      has the same alignment and displacement on all ranks
//
// compose/symmetric.hpp makes the arena symmetric: a window, a rank and an offset then name a block of another rank.
// Read and write such blocks with `get` and `put`, or with copy_tensor and `remote_copy` (tensor/symmetric.hpp).
//
// When to use: for data that ranks exchange by one-sided communication, without a receive call on the target.
// When not to use: for memory of one rank alone; `acquire` and `release` are collective.
//
// The code relies on these rules (MPI 3.1, chapter 11, "One-Sided Communications"):
//     MPI_Win_allocate   Collective. Bases have the alignment of the basic types only (Open MPI: 8). Therefore
//                        `acquire` requests more bytes, and each rank computes the distance from its base to an
//                        aligned byte. If the distances differ, which is rare, MPI_Win_create gets aligned memory of
//                        allot.
//     MPI_Win_lock_all   Called once, with MPI_MODE_NOCHECK, because no other code locks the window. Communication is
//                        passive: it does not wait for the target.
//     put, get           Start a transfer. After `flush`, the local bytes may be reused (put) or have arrived (get).
//     flush              Completes all started transfers to a rank, locally and remotely.
//     local bytes        A rank sees the writes of another rank after that rank has flushed them and both ranks have
//                        synchronized, as in `synchronize`. It calls MPI_Win_sync, for both memory models of MPI.
//     errors             Returned as MPI's codes: communicator and windows have MPI_ERRORS_RETURN. An error
//                        of `acquire` is the same on all ranks. If MPI created a window on some ranks only, it cannot
//                        be freed and leaks.
//
// `acquire` and `release` are collective: all ranks create and destroy arenas in the same order, before MPI_Finalize.
// After MPI_Finalize, `acquire` fails and `release` does nothing.
//
// Complexity: three reductions and the creation of the window for each `acquire`; more if the bases' distances differ.
// Memory: padding of up to twice the alignment for each window.
// Thread safety: that of MPI as initialized. Only one thread at a time may use a communicator.
#pragma once

#include <allot/address/on_rank.hpp>
#include <allot/core/communicator.hpp>
#include <allot/core/device.hpp>

#include <mpi.h>

#include <new>

namespace allot {
inline namespace v1 {
namespace mpi {

/// A duplicate of an MPI communicator, so that collective calls do not mix with other uses. Construction and
/// destruction are collective. If MPI is not running, the object has 0 ranks, and calls that need ranks fail with
/// MPI_ERR_COMM.
class communicator {
public:
    /// Duplicates `of`. Collective.
    explicit communicator(MPI_Comm of) noexcept {
        if (of == MPI_COMM_NULL || !is_running() || ::MPI_Comm_dup(of, &handle_) != MPI_SUCCESS) return;
        ::MPI_Comm_set_errhandler(handle_, MPI_ERRORS_RETURN);
        ::MPI_Comm_rank(handle_, &rank_);
        ::MPI_Comm_size(handle_, &size_);
    }
    communicator(const communicator&) = delete;
    communicator& operator=(const communicator&) = delete;
    /// Frees the duplicate. Collective.
    ~communicator() {
        if (handle_ != MPI_COMM_NULL && is_running()) ::MPI_Comm_free(&handle_);
    }

    /// Returns MPI's handle, or MPI_COMM_NULL.
    [[nodiscard]] MPI_Comm handle() const noexcept { return handle_; }
    /// Returns this rank.
    [[nodiscard]] int rank() const noexcept { return rank_; }
    /// Returns the number of ranks, or 0 if MPI is not running.
    [[nodiscard]] int size() const noexcept { return size_; }

    /// Replaces each value by the maximum of all ranks' values at its index. Collective. Returns MPI's code, or
    /// MPI_ERR_COMM if MPI is not running.
    [[nodiscard]] long maximum(std::span<std::uint64_t> values) noexcept {
        if (handle_ == MPI_COMM_NULL || !is_running()) return MPI_ERR_COMM;
        return ::MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_UINT64_T, MPI_MAX,
                               handle_);
    }

    /// Returns true between MPI_Init and MPI_Finalize.
    [[nodiscard]] static bool is_running() noexcept {
        int began = 0, ended = 0;
        ::MPI_Initialized(&began);
        ::MPI_Finalized(&ended);
        return began != 0 && ended == 0;
    }

private:
    MPI_Comm handle_ = MPI_COMM_NULL;
    int rank_ = 0, size_ = 0;
};

static_assert(allot::communicator<communicator>);

/// A window, and the displacement of the first byte that is aligned on every rank. Offsets count from that byte.
struct aligned_window {
    MPI_Win window{};    ///< MPI's handle.
    MPI_Aint start = 0;  ///< The displacement of offset 0.
    /// Compares both members.
    friend constexpr bool operator==(const aligned_window&, const aligned_window&) = default;
};

/// The device whose regions are MPI windows.
class window {
public:
    using address_model = handle_offset<aligned_window>;  ///< An address is a handle and a byte offset.
    /// A byte of this rank's part: window and offset.
    using address = address_model::address;
    /// A byte of any rank's part: window, rank and offset.
    using remote_address = remote_offset<aligned_window>::address;
    using error = int;                                                    ///< MPI's error codes.
    static constexpr bool host_accessible = false;                        ///< Other ranks write to it at any time.
    static constexpr offset_use offsets = offset_use::carried;            ///< An offset is passed next to the handle.
    static constexpr std::size_t min_align = 64;                          ///< Every base is a multiple of this.
    static constexpr std::size_t granularity = 1;                         ///< Every size is a multiple of this.
    static constexpr dl_device_type dl_device = dl_device_type::ext_dev;  ///< DLPack's device type.

    /// Allocates windows of these ranks. The communicator must outlive the object.
    window(communicator& ranks) noexcept : ranks_{&ranks} {}

    /// Creates a window on all ranks, or returns the same error on all ranks. Collective. Fails with MPI_ERR_COMM if
    /// there are no ranks or MPI has ended; MPI_ERR_NOT_SAME if the ranks request different layouts; MPI_ERR_SIZE for a
    /// size of 0, or a size whose total over all ranks overflows; MPI_ERR_ARG for an alignment that is not a power of
    /// two; otherwise with MPI's code.
    [[nodiscard]] acquired<window> acquire(layout wanted) noexcept {
        if (ranks_->size() == 0 || !communicator::is_running()) return refuse(MPI_ERR_COMM);
        rolling_hash asked;
        asked.add(wanted.size);
        asked.add(wanted.align);
        const std::size_t align = wanted.align < min_align ? min_align : wanted.align;
        std::size_t whole = 0;
        const int code = refusal_of(wanted, align, whole);
        const comparison all = compare_ranks(*ranks_, asked.value(), static_cast<std::uint64_t>(code));
        if (all.error == 0 && !all.equal) return refuse(MPI_ERR_NOT_SAME);
        if (const int reason = verdict(all); reason != MPI_SUCCESS) return refuse(reason);
        return allocate(wanted.size, align, whole);
    }

    /// Frees a window. Collective. Does nothing after MPI_Finalize.
    void release(region<address> held) noexcept {
        if (!communicator::is_running()) return;
        MPI_Win gone = held.base.handle.window;
        void* const ours = is_created(gone) ? local(held.base) : nullptr;
        ::MPI_Win_unlock_all(gone);
        ::MPI_Win_free(&gone);
        if (ours != nullptr) ::operator delete(ours, std::align_val_t{held.align});
    }

    /// Returns a pointer to a byte of this rank's part.
    [[nodiscard]] static void* local(address at) noexcept {
        void* base = nullptr;
        int found = 0;
        ::MPI_Win_get_attr(at.handle.window, MPI_WIN_BASE, static_cast<void*>(&base), &found);
        return found == 0 ? nullptr : static_cast<std::byte*>(base) + displacement(at.handle, at.offset);
    }

    /// Returns the displacement of a byte, for direct calls of MPI.
    [[nodiscard]] static MPI_Aint displacement(aligned_window in, std::size_t offset) noexcept {
        return in.start + static_cast<MPI_Aint>(offset);
    }

    /// Starts a write of local bytes to `to`. Returns MPI's code; MPI_ERR_RMA_RANGE if the target is not inside the
    /// window.
    [[nodiscard]] static int put(const void* from, remote_address to, std::size_t bytes) noexcept {
        if (!is_inside(to, bytes)) return MPI_ERR_RMA_RANGE;
        return in_parts(bytes, [&](std::size_t done, int some) noexcept {
            return ::MPI_Put(static_cast<const std::byte*>(from) + done, some, MPI_BYTE, to.handle.rank,
                             displacement(to.handle.memory, to.offset + done), some, MPI_BYTE, to.handle.memory.window);
        });
    }
    /// Starts a read of bytes at `from` into local memory. Returns MPI's code, as `put` does.
    [[nodiscard]] static int get(remote_address from, void* to, std::size_t bytes) noexcept {
        if (!is_inside(from, bytes)) return MPI_ERR_RMA_RANGE;
        return in_parts(bytes, [&](std::size_t done, int some) noexcept {
            return ::MPI_Get(static_cast<std::byte*>(to) + done, some, MPI_BYTE, from.handle.rank,
                             displacement(from.handle.memory, from.offset + done), some, MPI_BYTE,
                             from.handle.memory.window);
        });
    }
    /// Completes all transfers from this rank to the rank of `part`, locally and remotely. Returns MPI's code.
    /// Precondition: the rank exists. (`put` and `get` return an error for other ranks; Open MPI does not check here.)
    [[nodiscard]] static int flush(on_rank<aligned_window> part) noexcept {
        return ::MPI_Win_flush(part.rank, part.memory.window);
    }

    /// Makes all earlier local writes and puts of all ranks visible to all ranks. Collective. Returns MPI's code.
    [[nodiscard]] static int synchronize(communicator& ranks, aligned_window memory) noexcept {
        int code = ::MPI_Win_flush_all(memory.window);
        const auto then = [&code](int next) { code = code != MPI_SUCCESS ? code : next; };
        then(::MPI_Win_sync(memory.window));
        then(::MPI_Barrier(ranks.handle()));
        then(::MPI_Win_sync(memory.window));
        return code;
    }

private:
    [[nodiscard]] static acquired<window> refuse(int reason) noexcept { return acquired<window>::failure(reason); }

    // The common result of all ranks: MPI_SUCCESS or an error code. The compared numbers are MPI's codes.
    [[nodiscard]] static int verdict(const comparison& all) noexcept {
        if (all.error != 0) return static_cast<int>(all.error);
        return static_cast<int>(all.greatest);
    }
    // Collective: combines the codes of all ranks.
    [[nodiscard]] int everywhere(int code) noexcept {
        return verdict(compare_ranks(*ranks_, 0, static_cast<std::uint64_t>(code)));
    }

    // Checks a request before MPI is called. Sets `whole`, the bytes of one rank: room for an aligned part, and a
    // multiple of the alignment, so that adjacent bases have the same distance. (MPICH ends the program when it runs
    // out of memory. Therefore the function first checks that the host has that much memory.)
    [[nodiscard]] int refusal_of(layout wanted, std::size_t align, std::size_t& whole) const noexcept {
        if (wanted.size == 0) return MPI_ERR_SIZE;
        if (!is_alignment(wanted.align)) return MPI_ERR_ARG;
        const std::size_t most =
            static_cast<std::size_t>(std::numeric_limits<MPI_Aint>::max()) / static_cast<std::size_t>(ranks_->size());
        if (!checked_align_up(wanted.size, align, whole) || !checked_add(whole, align, whole) || whole > most)
            return MPI_ERR_SIZE;
        void* const as_much = ::operator new(whole, std::nothrow);
        ::operator delete(as_much);
        return as_much == nullptr ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    }

    [[nodiscard]] acquired<window> allocate(std::size_t size, std::size_t align, std::size_t whole) noexcept {
        void* base = nullptr;
        MPI_Win handle = MPI_WIN_NULL;
        const int code = ::MPI_Win_allocate(static_cast<MPI_Aint>(whole), 1, MPI_INFO_NULL, ranks_->handle(),
                                            static_cast<void*>(&base), &handle);
        const auto pad = static_cast<std::size_t>(0 - reinterpret_cast<std::uintptr_t>(base)) & (align - 1);
        const comparison all = compare_ranks(*ranks_, pad, static_cast<std::uint64_t>(code));
        if (const int reason = verdict(all); reason != MPI_SUCCESS) return refuse(reason);
        if (all.equal) return begin({{{handle, static_cast<MPI_Aint>(pad)}, 0}, size, align}, nullptr);
        ::MPI_Win_free(&handle);
        return create(size, align);
    }

    // Creates a window over memory of allot, for ranks whose bases have different distances.
    [[nodiscard]] acquired<window> create(std::size_t size, std::size_t align) noexcept {
        void* const ours = ::operator new(size, std::align_val_t{align}, std::nothrow);
        if (const int reason = everywhere(ours == nullptr ? MPI_ERR_NO_MEM : MPI_SUCCESS); reason != MPI_SUCCESS) {
            ::operator delete(ours, std::align_val_t{align});
            return refuse(reason);
        }
        MPI_Win handle = MPI_WIN_NULL;
        const int code =
            ::MPI_Win_create(ours, static_cast<MPI_Aint>(size), 1, MPI_INFO_NULL, ranks_->handle(), &handle);
        if (const int reason = everywhere(code); reason != MPI_SUCCESS) {
            if (code != MPI_SUCCESS) ::operator delete(ours, std::align_val_t{align});
            return refuse(reason);
        }
        return begin({{{handle, 0}, 0}, size, align}, ours);
    }

    // Opens the window for communication until it is released.
    [[nodiscard]] acquired<window> begin(region<address> fresh, void* ours) noexcept {
        MPI_Win handle = fresh.base.handle.window;
        ::MPI_Win_set_errhandler(handle, MPI_ERRORS_RETURN);
        const int code = ::MPI_Win_lock_all(MPI_MODE_NOCHECK, handle);
        const int reason = everywhere(code);
        if (reason == MPI_SUCCESS) return fresh;
        if (code == MPI_SUCCESS) ::MPI_Win_unlock_all(handle);
        ::MPI_Win_free(&handle);
        ::operator delete(ours, std::align_val_t{fresh.align});
        return refuse(reason);
    }

    [[nodiscard]] static bool is_created(MPI_Win handle) noexcept {
        int* flavor = nullptr;
        int found = 0;
        ::MPI_Win_get_attr(handle, MPI_WIN_CREATE_FLAVOR, static_cast<void*>(&flavor), &found);
        return found != 0 && *flavor == MPI_WIN_FLAVOR_CREATE;
    }

    // Every rank's part has the same size. (Open MPI does not check the range where ranks share memory.)
    [[nodiscard]] static bool is_inside(remote_address at, std::size_t bytes) noexcept {
        MPI_Aint* size = nullptr;
        int found = 0;
        ::MPI_Win_get_attr(at.handle.memory.window, MPI_WIN_SIZE, static_cast<void*>(&size), &found);
        if (found == 0) return false;
        const auto usable = static_cast<std::size_t>(*size - at.handle.memory.start);
        return at.offset <= usable && bytes <= usable - at.offset;
    }

    // MPI's counts are of type `int`.
    template <class Begin>
    [[nodiscard]] static int in_parts(std::size_t bytes, Begin begin_part) noexcept {
        constexpr std::size_t most = std::size_t{1} << 30;
        for (std::size_t done = 0; done != bytes;) {
            const std::size_t some = bytes - done < most ? bytes - done : most;
            if (const int code = begin_part(done, static_cast<int>(some)); code != MPI_SUCCESS) return code;
            done += some;
        }
        return MPI_SUCCESS;
    }

    communicator* ranks_;
};

static_assert(device<window> && !bounded_device<window>);

}  // namespace mpi
}  // namespace v1
}  // namespace allot
