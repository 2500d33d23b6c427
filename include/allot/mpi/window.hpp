// SPDX-License-Identifier: BSL-1.0
// MPI windows: memory of which every rank has a part, that the others read and write without asking it.
//
//     allot::mpi::communicator ranks{MPI_COMM_WORLD};
//     allot::arena<allot::mpi::window, allot::best_fit<>> memory{ranks, 64_MiB};      // on every rank
//     auto block = memory.allocate({.size = 4096});         // a window, and the offset of its first byte
//     void* mine = allot::mpi::window::local(block.address);
//
//     window ──► rank 0  │ start │◄─ offset ─►│ block │      the byte at `start` is aligned on every rank: the same
//                rank 1  │ start │◄─ offset ─►│ block │      offset has the same alignment, and displacement, everywhere
//
// Made symmetric (compose/symmetric.hpp), the blocks of other ranks are named by window, rank and offset, and read
// and written by `put` and `get`, or by copy_tensor with `remote_copy` (tensor/symmetric.hpp).
//
// What is relied on (MPI 3.1, chapter 11, "One-Sided Communications"):
//     MPI_Win_allocate   all ranks call it. Bases need only have the alignment of the basic types (Open MPI: 8): more is
//                        asked for than wanted, and each rank looks how far its base is from an aligned one. That is as
//                        far everywhere as a rule; where it is not, MPI_Win_create takes aligned memory of ours.
//     MPI_Win_lock_all   once, with MPI_MODE_NOCHECK: nobody else locks. Communication is passive: no target is waited for.
//     put, get           begin. The bytes on this side are free to be used, or there, when `flush` returns.
//     flush              all that was begun to that rank is done, here and there.
//     local bytes        another rank's bytes are seen here when it has flushed them, and both ranks have met since, as in
//                        `synchronize`. (Both memory models of MPI: it calls MPI_Win_sync.)
//     errors             come back as MPI's codes: communicator and windows have MPI_ERRORS_RETURN. A refusal is the same
//                        on all ranks. A window that MPI made on some ranks and not on others cannot be freed, and is not.
//
// `acquire` and `release` are collective: arenas are made and destroyed by all ranks in the same order, before MPI_Finalize.
// After it they do nothing.
// Complexity: an acquisition is three reductions and the window. Memory: a pad of the alignment a window. Thread safety:
// MPI's, as it was initialised; a communicator is for one thread at a time.
#pragma once

#include <allot/address/on_rank.hpp>
#include <allot/core/communicator.hpp>
#include <allot/core/device.hpp>

#include <mpi.h>

#include <new>

namespace allot {
inline namespace v1 {
namespace mpi {

/// Ranks that call together, apart from whatever else their communicator is used for: a duplicate of it. Collective where
/// it begins and ends. Where MPI is not running, there are none, and what needs some is refused with MPI_ERR_COMM.
class communicator {
public:
    explicit communicator(MPI_Comm of) noexcept {
        if (of == MPI_COMM_NULL || !is_running() || ::MPI_Comm_dup(of, &handle_) != MPI_SUCCESS) return;
        ::MPI_Comm_set_errhandler(handle_, MPI_ERRORS_RETURN);
        ::MPI_Comm_rank(handle_, &rank_);
        ::MPI_Comm_size(handle_, &size_);
    }
    communicator(const communicator&) = delete;
    communicator& operator=(const communicator&) = delete;
    ~communicator() {
        if (handle_ != MPI_COMM_NULL && is_running()) ::MPI_Comm_free(&handle_);
    }

    [[nodiscard]] MPI_Comm handle() const noexcept { return handle_; }
    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int size() const noexcept { return size_; }

    /// Collective: the greatest that any rank gave, at every place. Returns MPI's code.
    [[nodiscard]] long maximum(std::span<std::uint64_t> values) noexcept {
        if (handle_ == MPI_COMM_NULL) return MPI_ERR_COMM;
        return ::MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_UINT64_T, MPI_MAX,
                               handle_);
    }

    /// Between MPI_Init and MPI_Finalize.
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

/// A window, and the displacement of the first byte that is aligned on every rank: offsets count from there.
struct aligned_window {
    MPI_Win window{};
    MPI_Aint start = 0;
    friend constexpr bool operator==(const aligned_window&, const aligned_window&) = default;
};

class window {
public:
    using address_model = handle_offset<aligned_window>;
    using address = address_model::address;
    using remote_address = remote_offset<aligned_window>::address;
    using error = int;  // MPI's
    static constexpr bool host_accessible = false;  // other ranks write it at any time
    static constexpr offset_use offsets = offset_use::carried;
    static constexpr std::size_t min_align = 64;
    static constexpr std::size_t granularity = 1;
    static constexpr dl_device_type dl_device = dl_device_type::ext_dev;

    /// Windows of these ranks, who are the caller's to keep alive.
    window(communicator& ranks) noexcept : ranks_{&ranks} {}

    /// Collective: a part of a new window on every rank, or the same code on every rank. MPI_ERR_NOT_SAME when they ask for
    /// different things; MPI_ERR_SIZE for a size of 0, or one that all ranks together could not count; MPI_ERR_ARG for an
    /// alignment that is no power of two; otherwise MPI's own.
    [[nodiscard]] acquired<window> acquire(layout wanted) noexcept {
        if (ranks_->size() == 0) return refuse(MPI_ERR_COMM);
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

    /// Collective.
    void release(region<address> held) noexcept {
        if (!communicator::is_running()) return;
        MPI_Win gone = held.base.handle.window;
        void* const ours = is_created(gone) ? local(held.base) : nullptr;
        ::MPI_Win_unlock_all(gone);
        ::MPI_Win_free(&gone);
        if (ours != nullptr) ::operator delete(ours, std::align_val_t{held.align});
    }

    /// This rank's own byte.
    [[nodiscard]] static void* local(address at) noexcept {
        void* base = nullptr;
        int found = 0;
        ::MPI_Win_get_attr(at.handle.window, MPI_WIN_BASE, static_cast<void*>(&base), &found);
        return found == 0 ? nullptr : static_cast<std::byte*>(base) + displacement(at.handle, at.offset);
    }

    /// A byte as MPI counts it, for MPI's other calls.
    [[nodiscard]] static MPI_Aint displacement(aligned_window in, std::size_t offset) noexcept {
        return in.start + static_cast<MPI_Aint>(offset);
    }

    /// Begins to write bytes of this rank to `to`. Returns MPI's code: MPI_ERR_RMA_RANGE where they are not all
    /// in the window.
    [[nodiscard]] static int put(const void* from, remote_address to, std::size_t bytes) noexcept {
        if (!is_inside(to, bytes)) return MPI_ERR_RMA_RANGE;
        return in_parts(bytes, [&](std::size_t done, int some) noexcept {
            return ::MPI_Put(static_cast<const std::byte*>(from) + done, some, MPI_BYTE, to.handle.rank,
                             displacement(to.handle.memory, to.offset + done), some, MPI_BYTE,
                             to.handle.memory.window);
        });
    }
    /// Begins to read bytes of `from` to this rank. Returns MPI's code, as `put` does.
    [[nodiscard]] static int get(remote_address from, void* to, std::size_t bytes) noexcept {
        if (!is_inside(from, bytes)) return MPI_ERR_RMA_RANGE;
        return in_parts(bytes, [&](std::size_t done, int some) noexcept {
            return ::MPI_Get(static_cast<std::byte*>(to) + done, some, MPI_BYTE, from.handle.rank,
                             displacement(from.handle.memory, from.offset + done), some, MPI_BYTE,
                             from.handle.memory.window);
        });
    }
    /// Whatever this rank began to that rank's part is done, on both. Returns MPI's code. Precondition: the rank exists
    /// (`put` and `get` are refused where it does not; Open MPI does not look here).
    [[nodiscard]] static int flush(on_rank<aligned_window> part) noexcept {
        return ::MPI_Win_flush(part.rank, part.memory.window);
    }

    /// Collective: whatever any rank wrote or put before, all ranks read and get after. Returns MPI's code.
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

    /// What all ranks make of it: MPI_SUCCESS, or why not. Their numbers are MPI's codes.
    [[nodiscard]] static int verdict(const comparison& all) noexcept {
        if (all.error != 0) return static_cast<int>(all.error);
        return static_cast<int>(all.greatest);
    }
    /// Collective: what one rank answers, as all of them answer it.
    [[nodiscard]] int everywhere(int code) noexcept {
        return verdict(compare_ranks(*ranks_, 0, static_cast<std::uint64_t>(code)));
    }

    /// What this rank says before MPI is asked. `whole`: the bytes of one rank, in which an aligned part fits; a multiple of
    /// the alignment, so that bases side by side are alike. (MPICH does not survive it when it has to refuse memory: what the
    /// host has not is found out here.)
    [[nodiscard]] int refusal_of(layout wanted, std::size_t align, std::size_t& whole) const noexcept {
        if (wanted.size == 0) return MPI_ERR_SIZE;
        if (!is_alignment(wanted.align)) return MPI_ERR_ARG;
        const std::size_t most = static_cast<std::size_t>(std::numeric_limits<MPI_Aint>::max()) /
                                 static_cast<std::size_t>(ranks_->size());
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

    /// A window of memory of ours, for ranks whose bases are not alike.
    [[nodiscard]] acquired<window> create(std::size_t size, std::size_t align) noexcept {
        void* const ours = ::operator new(size, std::align_val_t{align}, std::nothrow);
        if (const int reason = everywhere(ours == nullptr ? MPI_ERR_NO_MEM : MPI_SUCCESS); reason != MPI_SUCCESS) {
            ::operator delete(ours, std::align_val_t{align});
            return refuse(reason);
        }
        MPI_Win handle = MPI_WIN_NULL;
        const int code = ::MPI_Win_create(ours, static_cast<MPI_Aint>(size), 1, MPI_INFO_NULL, ranks_->handle(), &handle);
        if (const int reason = everywhere(code); reason != MPI_SUCCESS) {
            if (code != MPI_SUCCESS) ::operator delete(ours, std::align_val_t{align});
            return refuse(reason);
        }
        return begin({{{handle, 0}, 0}, size, align}, ours);
    }

    /// Opens the window for communication, until it is released.
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

    /// Every rank's part has the size of this one's. (Where ranks share memory, Open MPI does not look.)
    [[nodiscard]] static bool is_inside(remote_address at, std::size_t bytes) noexcept {
        MPI_Aint* size = nullptr;
        int found = 0;
        ::MPI_Win_get_attr(at.handle.memory.window, MPI_WIN_SIZE, static_cast<void*>(&size), &found);
        if (found == 0) return false;
        const auto usable = static_cast<std::size_t>(*size - at.handle.memory.start);
        return at.offset <= usable && bytes <= usable - at.offset;
    }

    /// MPI counts in `int`.
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
