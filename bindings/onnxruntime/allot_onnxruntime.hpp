// SPDX-License-Identifier: BSL-1.0
// allot_onnxruntime::allocator: an allot allocator as the OrtAllocator of ONNX Runtime.
//
//     using memory = allot::arena<allot::host::virtual_memory, allot::best_fit<>, allot::growth::contiguous<>>;
//     const OrtApi& api = *OrtGetApiBase()->GetApi(ORT_API_VERSION);
//     allot_onnxruntime::allocator<memory> allocator{api, allot::host::virtual_memory{64_GiB}};
//     api.RegisterAllocator(env, &allocator);
//     api.AddSessionConfigEntry(options, "session.use_env_allocators", "1");  // a session of env chooses it
//
//     session ──► Alloc(size), Free(pointer) ──► lock ──► indexed: pointer ──► block ──► your allocator
//
// The sessions that choose it request nothing from an arena of ONNX Runtime. ONNX Runtime frees by the pointer alone,
// so an index keeps the blocks. The alignment is that of ONNX Runtime's kernels, 64 bytes.
//
// ONNX Runtime uses the result of `Alloc` unchecked, so a request that fails throws `allot_onnxruntime::refused`. The
// run or the session then fails with its text.
//
// `Reserve` serves the weights of a session with `session.use_device_allocator_for_initializers`. It takes the bytes
// from the same allocator. `GetStats` has the keys of ONNX Runtime: TotalAllocated is the size of all regions.
//
// When to use: to give ONNX Runtime memory of your own, to limit it, to read its counters, or to hold fewer bytes than
// its arena does.
// When not to use: for memory that the host cannot access. The sessions of this allocator run on the processor.
//
// The allocator must outlive all sessions and values of the environment.
//
// Complexity: that of the allocator, a look-up in the index, and a lock.
// Memory: that of the allocator, about 48 bytes for each block, and 200 bytes.
// Thread safety: all functions may be called from any thread.
#pragma once

#include <onnxruntime_c_api.h>

#include <allot/adapt/bad_alloc.hpp>
#include <allot/address/raw_pointer.hpp>
#include <allot/compose/counted.hpp>
#include <allot/compose/indexed.hpp>

#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

namespace allot_onnxruntime {

/// The alignment of every block, in bytes. The kernels of ONNX Runtime assume it.
inline constexpr std::size_t alignment = 64;

/// Counters of an allocator. All sizes are in bytes.
struct statistics {
    std::size_t used = 0;        ///< The requested size of all live blocks.
    std::size_t peak = 0;        ///< The maximum of `used`.
    std::size_t held = 0;        ///< The size of all regions.
    std::size_t held_peak = 0;   ///< The maximum of `held`.
    std::size_t requests = 0;    ///< The requests that succeeded, with those of `Reserve`.
    std::size_t reserves = 0;    ///< The requests of `Reserve` that succeeded.
    std::size_t refusals = 0;    ///< The requests that failed.
    std::size_t extensions = 0;  ///< The requests for which the allocator acquired memory.
    std::size_t trims = 0;       ///< The calls of `trim` that released memory.
    std::size_t largest = 0;     ///< The largest request that succeeded.
};

/// A request that failed. ONNX Runtime reports its text as the reason of the run.
class refused : public allot::bad_alloc {
public:
    /// Constructs the exception from the size of the request and the reason.
    refused(std::size_t size, allot::diagnosis found)
        : bad_alloc{found}, text_{"allot: no memory for " + std::to_string(size) + " bytes: " + found.what()} {}
    /// Returns the size and the reason.
    [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

private:
    std::string text_;
};

/// Throws std::runtime_error with the message of a status, if it is one.
inline void check(const OrtApi& api, OrtStatus* status) {
    if (status == nullptr) return;
    const std::string reason = api.GetErrorMessage(status);
    api.ReleaseStatus(status);
    throw std::runtime_error{reason};
}

/// The interface of ONNX Runtime over an allot allocator of host memory whose blocks are pointers.
template <allot::sized_allocator Memory>
class allocator : public OrtAllocator {
    static_assert(std::same_as<typename Memory::address_model, allot::raw_pointer> && Memory::host_accessible,
                  "allot: ONNX Runtime's kernels read and write the bytes: use a device of host memory");

public:
    /// Constructs the allocator from the arguments. Throws std::runtime_error if ONNX Runtime refuses its description.
    template <class... Arguments>
    explicit allocator(const OrtApi& api, Arguments&&... arguments)
        : OrtAllocator{}, api_{&api}, memory_{allot::counted<Memory>{Memory(std::forward<Arguments>(arguments)...)}} {
        OrtMemoryInfo* made = nullptr;
        check(api, api.CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &made));
        info_ = {made, {api.ReleaseMemoryInfo}};
        version = ORT_API_VERSION;
        Alloc = [](OrtAllocator* self, std::size_t size) { return of(self).allocate(size, false); };
        Reserve = [](OrtAllocator* self, std::size_t size) { return of(self).allocate(size, true); };
        Free = [](OrtAllocator* self, void* address) { of(self).deallocate(address); };
        Info = [](const OrtAllocator* self) -> const OrtMemoryInfo* { return of(self).info_.get(); };
        GetStats = [](const OrtAllocator* self, OrtKeyValuePairs** to) noexcept { return of(self).write(to); };
    }
    allocator(const allocator&) = delete;
    allocator& operator=(const allocator&) = delete;

    /// Returns the counters.
    [[nodiscard]] allot_onnxruntime::statistics statistics() const noexcept {
        const std::lock_guard alone{mutex_};
        const allot::allocator_statistics found = memory_.statistics();
        allot_onnxruntime::statistics now = noted_;
        now.used = found.used;
        now.peak = found.peak;
        now.held = memory_.size();
        now.requests = found.requests - found.refusals;
        now.refusals = found.refusals;
        return now;
    }
    /// Releases memory without live blocks. Returns the number of released bytes.
    std::size_t trim() noexcept
        requires allot::trimmable_allocator<Memory>
    {
        const std::lock_guard alone{mutex_};
        const std::size_t released = memory_.trim();
        if (released != 0) ++noted_.trims;
        return released;
    }

private:
    [[nodiscard]] static allocator& of(OrtAllocator* self) noexcept { return *static_cast<allocator*>(self); }
    [[nodiscard]] static const allocator& of(const OrtAllocator* self) noexcept {
        return *static_cast<const allocator*>(self);
    }

    [[nodiscard]] void* allocate(std::size_t size, bool reserved) {
        if (size == 0) return nullptr;
        const std::lock_guard alone{mutex_};
        const std::size_t before = memory_.size();
        const auto fresh = memory_.allocate({size, alignment});
        if (!fresh) throw refused{size, memory_.diagnose({size, alignment})};
        const std::size_t held = memory_.size();
        if (held > before) ++noted_.extensions;
        if (held > noted_.held_peak) noted_.held_peak = held;
        if (size > noted_.largest) noted_.largest = size;
        if (reserved) ++noted_.reserves;
        return fresh.address;
    }
    void deallocate(void* address) noexcept {
        if (address == nullptr) return;
        const std::lock_guard alone{mutex_};
        memory_.deallocate(address);
    }
    /// Writes the counters under the names of ONNX Runtime.
    [[nodiscard]] OrtStatus* write(OrtKeyValuePairs** to) const noexcept {
        try {
            const allot_onnxruntime::statistics now = statistics();
            std::unique_ptr<OrtKeyValuePairs, releaser<OrtKeyValuePairs>> pairs{nullptr, {api_->ReleaseKeyValuePairs}};
            api_->CreateKeyValuePairs(to);
            pairs.reset(*to);
            const auto add = [&](const char* name, std::size_t value) {
                api_->AddKeyValuePair(pairs.get(), name, std::to_string(value).c_str());
            };
            api_->AddKeyValuePair(pairs.get(), "Limit", "-1");
            add("InUse", now.used);
            add("TotalAllocated", now.held);
            add("MaxInUse", now.peak);
            add("NumAllocs", now.requests);
            add("NumReserves", now.reserves);
            add("NumArenaExtensions", now.extensions);
            add("NumArenaShrinkages", now.trims);
            add("MaxAllocSize", now.largest);
            *to = pairs.release();
            return nullptr;
        } catch (const std::exception& why) {
            return api_->CreateStatus(ORT_FAIL, why.what());
        }
    }

    template <class Object>
    struct releaser {
        void (*release)(Object*) = nullptr;
        void operator()(Object* object) const noexcept { release(object); }
    };

    const OrtApi* api_;
    std::unique_ptr<OrtMemoryInfo, releaser<OrtMemoryInfo>> info_;
    mutable std::mutex mutex_;
    allot::indexed<allot::counted<Memory>> memory_;
    allot_onnxruntime::statistics noted_;
};

}  // namespace allot_onnxruntime
