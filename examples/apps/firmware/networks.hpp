// SPDX-License-Identifier: BSL-1.0
// networks: the tensors between the operators of two known networks, with their sizes and lifetimes. The operators of
// this program do not perform the computations of the real ones (inference.hpp).
//
//     step      0       1       2               Both are chains: the operator of step s reads tensor s and writes
//     tensor 0 ──► op ─► 1 ─► op ─► 2 ─► …      tensor s + 1. A lifetime [0, 2) ends before step 2.
#pragma once

#include <allot/plan/problem.hpp>

#include <span>

namespace firmware {

struct network {
    const char* name;
    std::span<const allot::plan_buffer> tensors;  // in the order of the steps

    [[nodiscard]] constexpr std::size_t steps() const noexcept {
        return static_cast<std::size_t>(tensors.back().live.until);
    }
};

namespace detail {

/// From the repository tensorflow/tflite-micro, tensorflow/lite/micro/memory_planner/greedy_memory_planner_test.cc, the
/// test "TestPersonDetectionModel" (Apache-2.0): its numbers in reverse order, except for the first tensor.
inline constexpr allot::plan_buffer person_detection[] = {
    {.size = 9216, .live = {0, 30}},  // the 96 × 96 image, which is kept
    {.size = 18432, .live = {0, 2}},  {.size = 18432, .live = {1, 3}},  {.size = 36864, .live = {2, 4}},
    {.size = 9216, .live = {3, 5}},   {.size = 18432, .live = {4, 6}},  {.size = 18432, .live = {5, 7}},
    {.size = 18432, .live = {6, 8}},  {.size = 4608, .live = {7, 9}},   {.size = 9216, .live = {8, 10}},
    {.size = 9216, .live = {9, 11}},  {.size = 9216, .live = {10, 12}}, {.size = 2304, .live = {11, 13}},
    {.size = 4608, .live = {12, 14}}, {.size = 4608, .live = {13, 15}}, {.size = 4608, .live = {14, 16}},
    {.size = 4608, .live = {15, 17}}, {.size = 4608, .live = {16, 18}}, {.size = 4608, .live = {17, 19}},
    {.size = 4608, .live = {18, 20}}, {.size = 4608, .live = {19, 21}}, {.size = 4608, .live = {20, 22}},
    {.size = 4608, .live = {21, 23}}, {.size = 4608, .live = {22, 24}}, {.size = 1152, .live = {23, 25}},
    {.size = 2304, .live = {24, 26}}, {.size = 2304, .live = {25, 27}}, {.size = 2304, .live = {26, 28}},
    {.size = 256, .live = {27, 29}},  {.size = 3, .live = {28, 30}},  // the scores
};

/// TensorFlow Lite Micro's example micro_speech, the network "tiny_conv" of TensorFlow's speech_commands/models.py with
/// 49 × 40 features and four words, in bytes an element (Apache-2.0).
inline constexpr allot::plan_buffer keyword_spotting[] = {
    {.size = 1960, .live = {0, 1}},  // the spectrogram as a row
    {.size = 1960, .live = {0, 2}},  // reshaped: 49 × 40
    {.size = 4000, .live = {1, 3}},  // convolution: 25 × 20 × 8
    {.size = 4, .live = {2, 4}},     // fully connected
    {.size = 4, .live = {3, 5}},     // softmax: the scores
};

}  // namespace detail

inline constexpr network person_detection{"person_detection", detail::person_detection};
inline constexpr network keyword_spotting{"keyword_spotting", detail::keyword_spotting};

}  // namespace firmware
