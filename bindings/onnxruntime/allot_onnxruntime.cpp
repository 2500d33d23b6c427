// SPDX-License-Identifier: BSL-1.0
// liballot_onnxruntime.so: one arena of allot for all sessions of a process that choose it.
//
// ONNX Runtime calls RegisterCustomOps for a library of custom operators (RegisterCustomOpsLibrary in C, the method
// register_custom_ops_library in Python). This library defines no operator. It registers the arena in the environment,
// and sets session.use_env_allocators in the options of the session.
#include "allot_onnxruntime.h"
#include "allot_onnxruntime.hpp"

#include <allot/arena/arena.hpp>
#include <allot/arena/growth.hpp>
#include <allot/host/virtual_memory.hpp>
#include <allot/strategy/best_fit.hpp>

#include <cstdlib>
#include <string_view>

namespace {

using namespace allot::literals;

constexpr allot::growth_options growth{.step = 64_KiB, .regions = 1};
using arena = allot::arena<allot::host::virtual_memory, allot::best_fit<>, allot::growth::contiguous<growth>>;
using allocator = allot_onnxruntime::allocator<arena>;

constexpr std::size_t most_addresses = std::size_t{1} << (sizeof(void*) == 8 ? 40 : 31);

/// Returns a number of bytes from the environment, with one of the units K, M and G. Throws for any other text.
std::size_t limit_from_environment() {
    const char* const text = std::getenv("ALLOT_ONNXRUNTIME_LIMIT");
    if (text == nullptr) return 0;
    char* unit = nullptr;
    const double number = std::strtod(text, &unit);
    const std::string_view rest{unit};
    const double factor = rest.empty() ? 1 : rest == "K" ? 1024.0 : rest == "M" ? 0x1p20 : rest == "G" ? 0x1p30 : 0;
    if (!(number * factor >= 1 && number * factor < 0x1p62))
        throw std::invalid_argument{"allot: ALLOT_ONNXRUNTIME_LIMIT is a number of bytes such as 512M, not '" +
                                    std::string{text} + "'"};
    return static_cast<std::size_t>(number * factor);
}

/// The arena of the process. It is never destroyed, because values of ONNX Runtime may live until the process ends.
class process_memory {
public:
    static process_memory& only() {
        static auto* const made = new process_memory;
        return *made;
    }
    /// Registers the arena in the environment of ONNX Runtime with the first call.
    void register_in(const OrtApi& api) {
        const std::lock_guard alone{mutex_};
        if (memory_ != nullptr) return;
        const std::size_t limit = limit_from_environment();
        auto made = std::make_unique<allocator>(
            api, limit != 0 ? allot::host::virtual_memory{limit} : allot::host::virtual_memory::up_to(most_addresses));
        OrtEnv* environment = nullptr;  // the existing one; this reference keeps it until the process ends
        allot_onnxruntime::check(api, api.CreateEnv(ORT_LOGGING_LEVEL_ERROR, "allot", &environment));
        allot_onnxruntime::check(api, api.RegisterAllocator(environment, made.get()));
        memory_ = std::move(made);
    }
    /// Returns null before `register_in`.
    allocator* memory() {
        const std::lock_guard alone{mutex_};
        return memory_.get();
    }

private:
    std::mutex mutex_;
    std::unique_ptr<allocator> memory_;
};

}  // namespace

extern "C" {

OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
    const OrtApi* const api = base->GetApi(ORT_API_VERSION);
    if (api == nullptr) return base->GetApi(1)->CreateStatus(ORT_FAIL, "allot: use ONNX Runtime 1.23 or newer");
    try {
        process_memory::only().register_in(*api);
        return api->AddSessionConfigEntry(options, "session.use_env_allocators", "1");
    } catch (const std::exception& why) {
        return api->CreateStatus(ORT_INVALID_ARGUMENT, why.what());
    }
}

int allot_onnxruntime_get_statistics(allot_onnxruntime_statistics* found) {
    const allocator* const memory = process_memory::only().memory();
    if (memory == nullptr) return -1;
    const allot_onnxruntime::statistics now = memory->statistics();
    *found = {now.used,     now.peak,     now.held,       now.held_peak, now.requests,
              now.reserves, now.refusals, now.extensions, now.trims,     now.largest};
    return 0;
}

size_t allot_onnxruntime_trim(void) {
    allocator* const memory = process_memory::only().memory();
    return memory == nullptr ? 0 : memory->trim();
}

}  // extern "C"
