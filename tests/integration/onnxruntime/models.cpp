// SPDX-License-Identifier: BSL-1.0
// Sessions of ONNX Runtime's wheel with its own arena and with allot: equal outputs, and the bytes that both hold.
#include "runtime.hpp"

#include <allot/allot.hpp>
#include <allot/host/virtual_memory.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <thread>

namespace {

using namespace allot::literals;

constexpr allot::growth_options steps{.step = 64_KiB, .regions = 1};
using arena = allot::arena<allot::host::virtual_memory, allot::best_fit<>, allot::growth::contiguous<steps>>;
using arena_allocator = allot_onnxruntime::allocator<arena>;

constexpr auto real = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;

/// Four trained models of PyPI packages. The runs have the shapes of different images, lines, texts and sounds.
std::vector<ort::model> models() {
    const std::string folder = ALLOT_MODELS;
    const auto image = [](std::int64_t height, std::int64_t width) {
        return std::vector<ort::input>{{"x", real, {1, 3, height, width}}};
    };
    const auto text = [](std::int64_t files) {
        return std::vector<ort::input>{{"bytes", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, {files, 2048}}};
    };
    const auto sound = [](std::int64_t batch) {
        return std::vector<ort::input>{{"input", real, {batch, 576}},
                                       {"state", real, {2, batch, 128}},
                                       {"sr", ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, {}, 16000}};
    };
    return {{"text detection",
             folder + "/rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
             {image(320, 320), image(640, 480), image(224, 608), image(736, 736), image(640, 480)},
             {"sigmoid_0.tmp_0"}},
            {"text recognition",
             folder + "/rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
             {image(48, 320), image(48, 96), image(48, 640), image(48, 200), image(48, 640)},
             {"softmax_11.tmp_0"}},
            {"file types",
             folder + "/magika/models/standard_v3_3/model.onnx",
             {text(1), text(8), text(3), text(8)},
             {"target_label"}},
            {"voice activity",
             folder + "/silero_vad/data/silero_vad.onnx",
             {sound(1), sound(8), sound(1), sound(8)},
             {"output", "stateN"}}};
}

bool installed() {
    static const bool known = [] {
        const bool runtime = ort::api_or_null() != nullptr, found = std::filesystem::exists(ALLOT_MODELS "/magika");
        if (!runtime) std::puts("skipped: ONNX Runtime's wheel is not installed in " ALLOT_ONNXRUNTIME);
        if (!found) std::puts("skipped: the models are not installed in " ALLOT_MODELS);
        return runtime && found;
    }();
    return known;
}

struct outcome {
    std::vector<std::byte> outputs;
    ort::counters counted;
};
outcome run_all(const ort::environment& in, const ort::model& which, bool shared) {
    const auto session = ort::make_session(in, which.path, shared);
    outcome now;
    unsigned seed = 1;
    for (const auto& inputs : which.runs) {
        const auto result = ort::run(session, which, inputs, seed += 10);
        now.outputs.insert(now.outputs.end(), result.begin(), result.end());
    }
    now.counted = ort::read(session);
    return now;
}
/// Runs a model with an arena of ONNX Runtime that grows by the requested bytes.
outcome run_with_exact_arena(const ort::environment& in, const ort::model& which) {
    const char* const key = "arena_extend_strategy";
    const std::size_t same_as_requested = 1;
    const auto chosen =
        ort::made_by<ort::arena_options>(ort::api().CreateArenaCfgV2, &key, &same_as_requested, std::size_t{1});
    const auto host = ort::info_of(OrtArenaAllocator);
    ort::check(ort::api().CreateAndRegisterAllocator(in.get(), host.get(), chosen.get()));
    outcome found = run_all(in, which, true);
    ort::check(ort::api().UnregisterAllocator(in.get(), host.get()));
    return found;
}

/// An allot allocator that an environment uses until the end of this object.
struct registered {
    explicit registered(const ort::environment& in, std::size_t reserve)
        : environment{in.get()}, memory{ort::api(), allot::host::virtual_memory{reserve}} {
        ort::check(ort::api().RegisterAllocator(environment, &memory));
    }
    ~registered() {
        OrtStatus* const status = ort::api().UnregisterAllocator(environment, memory.Info(&memory));
        CHECK(status == nullptr);
    }
    OrtEnv* environment;
    arena_allocator memory;
};

double kib(std::size_t bytes) { return static_cast<double>(bytes) / 1024; }

}  // namespace

TEST_CASE("onnxruntime: trained models have equal outputs, and hold fewer bytes than its arena") {
    if (!installed()) return;
    const auto environment = ort::make_environment();
    std::puts("KiB                    default  as requested      allot    in use");
    for (const ort::model& each : models()) {
        CAPTURE(each.name);
        const outcome theirs = run_all(environment, each, false), exact = run_with_exact_arena(environment, each);
        outcome ours;
        {
            registered allot{environment, 1_GiB};
            ours = run_all(environment, each, true);
            const auto now = allot.memory.statistics();
            CHECK(ours.counted.held == now.held_peak);
            CHECK(ours.counted.peak == now.peak);
            CHECK(ours.counted.requests == now.requests);
            CHECK(now.used == 0);  // the session has ended
            CHECK(now.refusals == 0);
            CHECK(allot.memory.trim() == now.held);
        }
        REQUIRE_FALSE(theirs.outputs.empty());
        CHECK(ours.outputs == theirs.outputs);
        CHECK(exact.outputs == theirs.outputs);
        CHECK(ours.counted.held < theirs.counted.held);
        std::printf("%-18s %11.0f %13.0f %10.0f %9.0f\n", each.name.c_str(), kib(theirs.counted.held),
                    kib(exact.counted.held), kib(ours.counted.held), kib(ours.counted.peak));
    }
}

TEST_CASE("onnxruntime: the interface of an allocator") {
    if (!installed()) return;
    arena_allocator memory{ort::api(), allot::host::virtual_memory{1_MiB}};
    OrtAllocator& plain = memory;
    CHECK(plain.Alloc(&plain, 0) == nullptr);
    plain.Free(&plain, nullptr);
    std::vector<void*> held;
    std::size_t used = 0;
    for (const std::size_t size : {1u, 63u, 64u, 65u, 1000u, 77777u}) {
        CAPTURE(size);
        void* const fresh = size == 1000 ? plain.Reserve(&plain, size) : plain.Alloc(&plain, size);
        REQUIRE(fresh != nullptr);
        CHECK(reinterpret_cast<std::uintptr_t>(fresh) % allot_onnxruntime::alignment == 0);
        std::memset(fresh, 1, size);
        held.push_back(fresh);
        used += size;
    }
    CHECK_THROWS_WITH_AS(plain.Alloc(&plain, 2_MiB),
                         "allot: no memory for 2097152 bytes: the device refused to give memory",
                         allot_onnxruntime::refused);  // more than the reserve
    const ort::counters now = ort::read(plain);
    CHECK(now.used == used);
    CHECK(now.peak == used);
    CHECK(now.requests == 6);
    CHECK(now.reserves == 1);
    CHECK(now.largest == 77777);
    CHECK(now.extensions == 2);  // 64 KiB, and for the last block
    CHECK(now.held == memory.statistics().held);
    CHECK(memory.statistics().refusals == 1);
    for (void* const each : held) plain.Free(&plain, each);
    CHECK(memory.trim() == now.held);
    const ort::counters end = ort::read(plain);
    CHECK(end.used == 0);
    CHECK(end.held == 0);
    CHECK(end.peak == used);
    CHECK(end.shrinkages == 1);
    CHECK(memory.statistics().held_peak == now.held);
}

TEST_CASE("onnxruntime: an exhausted arena fails the run with a message, and other sessions continue") {
    if (!installed()) return;
    const auto environment = ort::make_environment();
    const std::vector<ort::model> all = models();
    const ort::model &detection = all.front(), &voice = all.back();
    registered allot{environment, 8_MiB};
    const auto small = ort::make_session(environment, voice.path, true);
    const auto before = ort::run(small, voice, voice.runs.front(), 1);
    {
        const auto large = ort::make_session(environment, detection.path, true);
        std::string reason;
        try {
            static_cast<void>(ort::run(large, detection, detection.runs.front(), 1));
        } catch (const std::runtime_error& why) {
            reason = why.what();
        }
        CAPTURE(reason);
        CHECK(reason.find("allot: no memory for ") != std::string::npos);
        CHECK(allot.memory.statistics().refusals != 0);
    }
    CHECK(ort::run(small, voice, voice.runs.front(), 1) == before);
}

TEST_CASE("onnxruntime: two threads run two sessions in one arena") {
    if (!installed()) return;
    const auto environment = ort::make_environment();
    const std::vector<ort::model> all = models();
    const ort::model &text = all[1], &voice = all.back();
    const outcome alone[] = {run_all(environment, text, false), run_all(environment, voice, false)};
    registered allot{environment, 1_GiB};
    outcome together[2];
    std::thread other{[&] { together[0] = run_all(environment, text, true); }};
    together[1] = run_all(environment, voice, true);
    other.join();
    for (const int each : {0, 1}) CHECK(together[each].outputs == alone[each].outputs);
    CHECK(allot.memory.statistics().used == 0);
}

TEST_CASE("onnxruntime: a session chooses the allocator") {
    if (!installed()) return;
    const auto environment = ort::make_environment();
    const std::vector<ort::model> all = models();
    registered allot{environment, 1_GiB};
    static_cast<void>(run_all(environment, all.back(), false));
    CHECK(allot.memory.statistics().requests == 0);
}
