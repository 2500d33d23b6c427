// SPDX-License-Identifier: BSL-1.0
// ONNX Runtime of the wheel, loaded when the test runs: its interface, its objects as owners, and runs of a model.
#pragma once

#include <allot_onnxruntime.hpp>

#include <dlfcn.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace ort {

/// Returns the interface of ONNX Runtime, or null if the wheel is not installed.
inline const OrtApi* api_or_null() {
    static const OrtApi* const found = []() -> const OrtApi* {
        void* const library = dlopen(ALLOT_ONNXRUNTIME, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) return nullptr;
        void* const entry = dlsym(library, "OrtGetApiBase");
        return reinterpret_cast<decltype(&OrtGetApiBase)>(entry)()->GetApi(ORT_API_VERSION);
    }();
    return found;
}
inline const OrtApi& api() { return *api_or_null(); }
inline void check(OrtStatus* status) { allot_onnxruntime::check(api(), status); }

template <class Object, auto Release>
struct releaser {
    void operator()(Object* object) const noexcept { (api().*Release)(object); }
};
template <class Object, auto Release>
using owner = std::unique_ptr<Object, releaser<Object, Release>>;
using environment = owner<OrtEnv, &OrtApi::ReleaseEnv>;
using session = owner<OrtSession, &OrtApi::ReleaseSession>;
using options = owner<OrtSessionOptions, &OrtApi::ReleaseSessionOptions>;
using memory_info = owner<OrtMemoryInfo, &OrtApi::ReleaseMemoryInfo>;
using value = owner<OrtValue, &OrtApi::ReleaseValue>;
using pairs = owner<OrtKeyValuePairs, &OrtApi::ReleaseKeyValuePairs>;
using arena_options = owner<OrtArenaCfg, &OrtApi::ReleaseArenaCfg>;
using session_allocator = owner<OrtAllocator, &OrtApi::ReleaseAllocator>;

/// Calls a function whose last argument receives an object.
template <class Owner, class... Parameters, class... Arguments>
Owner made_by(OrtStatus* (*function)(Parameters...) noexcept, Arguments... arguments) {
    typename Owner::pointer fresh = nullptr;
    check(function(arguments..., &fresh));
    return Owner{fresh};
}

inline environment make_environment() {
    return made_by<environment>(api().CreateEnv, ORT_LOGGING_LEVEL_ERROR, "allot");
}
inline memory_info info_of(OrtAllocatorType type) {
    return made_by<memory_info>(api().CreateCpuMemoryInfo, type, OrtMemTypeDefault);
}

/// A session of one thread, with an arena of its own or with the allocator of the environment.
inline session make_session(const environment& in, const std::string& path, bool shared) {
    const auto chosen = made_by<options>(api().CreateSessionOptions);
    check(api().SetIntraOpNumThreads(chosen.get(), 1));
    if (shared) check(api().AddSessionConfigEntry(chosen.get(), "session.use_env_allocators", "1"));
    return made_by<session>(api().CreateSession, in.get(), path.c_str(), chosen.get());
}

/// A tensor of a model: its name, its elements and its shape. The elements are drawn from `seed`, or they are `fixed`.
struct input {
    std::string name;
    ONNXTensorElementDataType type;
    std::vector<std::int64_t> shape;
    std::int64_t fixed = -1;

    [[nodiscard]] std::vector<std::byte> bytes(unsigned seed) const {
        std::size_t count = 1;
        for (const std::int64_t each : shape) count *= static_cast<std::size_t>(each);
        std::minstd_rand draw{seed};
        std::vector<std::byte> made;
        const auto add = [&](auto element) {
            const auto* const first = reinterpret_cast<const std::byte*>(&element);
            made.insert(made.end(), first, first + sizeof element);
        };
        for (std::size_t i = 0; i != count; ++i) {
            const auto drawn = static_cast<std::int64_t>(draw() % 256);
            if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) add(static_cast<float>(drawn) / 256);
            else if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32) add(static_cast<std::int32_t>(drawn));
            else add(fixed);
        }
        return made;
    }
};

/// A model, the shapes of its runs, and its outputs, which have elements of 4 bytes.
struct model {
    std::string name, path;
    std::vector<std::vector<input>> runs;
    std::vector<std::string> outputs;
};

/// Returns the bytes of all outputs of one run.
inline std::vector<std::byte> run(const session& of, const model& which, const std::vector<input>& inputs,
                                  unsigned seed) {
    const auto host = info_of(OrtDeviceAllocator);
    std::vector<std::vector<std::byte>> bytes;
    std::vector<value> held;
    std::vector<const OrtValue*> given;
    std::vector<const char*> names, outputs;
    for (const input& each : inputs) {
        std::vector<std::byte>& data = bytes.emplace_back(each.bytes(seed++));
        held.push_back(made_by<value>(api().CreateTensorWithDataAsOrtValue, host.get(), data.data(), data.size(),
                                      each.shape.data(), each.shape.size(), each.type));
        given.push_back(held.back().get());
        names.push_back(each.name.c_str());
    }
    for (const std::string& each : which.outputs) outputs.push_back(each.c_str());
    std::vector<OrtValue*> results(outputs.size(), nullptr);
    check(api().Run(of.get(), nullptr, names.data(), given.data(), given.size(), outputs.data(), outputs.size(),
                    results.data()));
    std::vector<std::byte> answer;
    for (OrtValue* const each : results) {
        const value owned{each};
        using shape = owner<OrtTensorTypeAndShapeInfo, &OrtApi::ReleaseTensorTypeAndShapeInfo>;
        const auto type = made_by<shape>(api().GetTensorTypeAndShape, each);
        std::size_t count = 0;
        check(api().GetTensorShapeElementCount(type.get(), &count));
        void* data = nullptr;
        check(api().GetTensorMutableData(each, &data));
        const auto* const first = static_cast<const std::byte*>(data);
        answer.insert(answer.end(), first, first + count * 4);
    }
    return answer;
}

/// The counters of an allocator, as ONNX Runtime reads them.
struct counters {
    std::size_t held = 0, peak = 0, used = 0, requests = 0, reserves = 0, extensions = 0, shrinkages = 0, largest = 0;
};
inline counters read(const OrtAllocator& of) {
    const pairs found = [&] {
        OrtKeyValuePairs* made = nullptr;
        check(of.GetStats(&of, &made));
        return pairs{made};
    }();
    const auto at = [&](const char* key) {
        const char* const text = api().GetKeyValue(found.get(), key);
        return text == nullptr ? std::size_t{} : static_cast<std::size_t>(std::stoull(text));
    };
    return {at("TotalAllocated"),     at("MaxInUse"),           at("InUse"),       at("NumAllocs"), at("NumReserves"),
            at("NumArenaExtensions"), at("NumArenaShrinkages"), at("MaxAllocSize")};
}
/// The counters of the allocator that a session uses.
inline counters read(const session& of) {
    const auto host = info_of(OrtDeviceAllocator);
    return read(*made_by<session_allocator>(api().CreateAllocator, of.get(), host.get()));
}

}  // namespace ort
