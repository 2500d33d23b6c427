// SPDX-License-Identifier: BSL-1.0
// arenas: compares the arena of a model with the planner of TensorFlow Lite Micro (TFLM) and with that of allot.
//
//     arenas model.tflite [plan]          plan: prints each buffer, also the scratch buffers of kernels
//
// It runs the model with both planners and compares the outputs. The exit status is 1 if they differ. It needs the
// sources of TFLM and of its dependencies; README.md has the command. It registers the operators of person detection,
// of keyword spotting, and of the audio front end: the interpreter names any other that a model needs.
#include "allot_planner.hpp"

#include <tensorflow/lite/micro/micro_interpreter.h>
#include <tensorflow/lite/micro/micro_mutable_op_resolver.h>
#include <tensorflow/lite/schema/schema_generated.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

namespace {

constexpr std::size_t room = std::size_t{16} << 20;

/// Prints the plan when TFLM has asked for its size, because the workspace is in the arena.
struct printing_planner : allot::tflite_micro::planner {
    bool prints = false;
    std::size_t GetMaximumMemorySize() override {
        if (prints) PrintMemoryPlan();
        return planner::GetMaximumMemorySize();
    }
};

struct result {
    std::size_t used = 0;                  // bytes of the arena
    std::vector<unsigned char> outputs{};  // of two runs
};

void add_operators(tflite::MicroMutableOpResolver<32>& to) {
    to.AddAdd();
    to.AddAveragePool2D();
    to.AddCast();
    to.AddConcatenation();
    to.AddConv2D();
    to.AddDepthwiseConv2D();
    to.AddDiv();
    to.AddFullyConnected();
    to.AddLogistic();
    to.AddMaximum();
    to.AddMinimum();
    to.AddMul();
    to.AddQuantize();
    to.AddReshape();
    to.AddSoftmax();
    to.AddStridedSlice();
    to.AddSvdf();
    to.AddUnidirectionalSequenceLSTM();
    to.AddEnergy();
    to.AddFftAutoScale();
    to.AddFilterBank();
    to.AddFilterBankLog();
    to.AddFilterBankSpectralSubtraction();
    to.AddFilterBankSquareRoot();
    to.AddPCAN();
    to.AddRfft();
    to.AddWindow();
}

/// Runs the model twice with known inputs.
bool run(const tflite::Model* model, tflite::MicroAllocator* memory, result& made) {
    static tflite::MicroMutableOpResolver<32> operators;
    static const bool once = (add_operators(operators), true);
    (void)once;
    tflite::MicroInterpreter interpreter{model, operators, memory};
    if (interpreter.AllocateTensors() != kTfLiteOk) return false;
    made.used = interpreter.arena_used_bytes();
    unsigned number = 1;
    for (int turn = 0; turn != 2; ++turn) {
        for (std::size_t i = 0; i != interpreter.inputs_size(); ++i) {
            TfLiteTensor* input = interpreter.input(i);
            for (std::size_t at = 0; at != input->bytes; ++at) {
                number = number * 1664525u + 1013904223u;
                input->data.uint8[at] =
                    static_cast<unsigned char>(number >> 26);  // small, also as the exponent of a float
            }
        }
        if (interpreter.Invoke() != kTfLiteOk) return false;
        for (std::size_t i = 0; i != interpreter.outputs_size(); ++i) {
            const TfLiteTensor* output = interpreter.output(i);
            made.outputs.insert(made.outputs.end(), output->data.uint8, output->data.uint8 + output->bytes);
        }
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return std::fprintf(stderr, "usage: arenas MODEL.tflite [plan]\n"), 2;
    std::ifstream file{argv[1], std::ios::binary};
    const std::vector<char> text{std::istreambuf_iterator<char>{file}, {}};
    if (text.empty()) return std::fprintf(stderr, "arenas: %s cannot be read\n", argv[1]), 2;
    const tflite::Model* model = tflite::GetModel(text.data());

    const auto arena = std::make_unique<unsigned char[]>(room);
    result greedy, planned;
    if (!run(model, tflite::MicroAllocator::Create(arena.get(), room), greedy)) return 2;
    printing_planner planner;
    planner.prints = argc > 2;
    if (!run(model, tflite::MicroAllocator::Create(arena.get(), room, &planner), planned)) return 2;
    const bool equal = greedy.outputs == planned.outputs;
    std::printf("%s: arena of its planner %zu, of allot %zu (plan %zu, lower bound %zu); outputs %s\n", argv[1],
                greedy.used, planned.used, static_cast<std::size_t>(planner.summary().peak),
                static_cast<std::size_t>(planner.summary().bound), equal ? "equal" : "DIFFERENT");
    return equal ? 0 : 1;
}
