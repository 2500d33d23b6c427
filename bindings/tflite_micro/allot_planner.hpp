// SPDX-License-Identifier: BSL-1.0
// allot_planner: allot's planner as a memory planner of TensorFlow Lite Micro (TFLM).
//
//     static allot::tflite_micro::planner planner;
//     tflite::MicroAllocator* memory = tflite::MicroAllocator::Create(arena, sizeof arena, &planner);
//     tflite::MicroInterpreter interpreter{model, resolver, memory};
//     interpreter.AllocateTensors();                              // plans tensors and the scratch buffers of kernels
//
//     arena   ├──── tensors and scratch buffers ────┤ … ├──── persistent ────┤
//             the planner decides their offsets          TFLM
//             while it plans, its workspace is here:
//             ├ buffers ► │ places │ workspace │ … ◄ offline offsets ┤
//
// When to use: the kernels request scratch buffers, or the model is not known at build time.
// When not to use: the model is known, and its scratch buffers are small. `offline_plan.py` writes the plan of the
// tensors into the model, so that the device needs no planner.
//
// Needs C++20, and the headers of TFLM. Works without exceptions, RTTI and a heap.
//
// Complexity: that of `allot::plan_into` with `effort`. Memory: the free part of the arena while it plans, about 150
// bytes a buffer. If this is too little for a search, the planner makes one simple plan. Thread safety: none.
#pragma once

#include <allot/plan.hpp>

#include <tensorflow/lite/micro/memory_planner/micro_memory_planner.h>
#include <tensorflow/lite/micro/micro_log.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace allot {
inline namespace v1 {
namespace tflite_micro {

/// A memory planner of TFLM. It keeps the offsets that a model's metadata prescribe.
class planner : public tflite::MicroMemoryPlanner {
public:
    /// `effort` limits the search for a lower plan: see `plan_options`. 0 makes one simple plan.
    explicit planner(std::uint64_t effort = 20'000) noexcept : effort_{effort} {}

    /// Starts with the bytes to work in, which stay until the last call of `GetOffsetForBuffer`.
    TfLiteStatus Init(unsigned char* scratch, int size) override {
        const auto begin = reinterpret_cast<std::uintptr_t>(scratch), end = begin + static_cast<std::uintptr_t>(size);
        free_ = align_up<std::uintptr_t>(begin, alignof(plan_buffer));
        end_ = end / alignof(plan_fixed) * alignof(plan_fixed);
        if (end_ < free_) end_ = free_;
        buffers_ = {reinterpret_cast<plan_buffer*>(free_), 0};
        fixed_ = {reinterpret_cast<plan_fixed*>(end_), 0};
        places_ = {};
        summary_ = {};
        state_ = state::collects;
        return kTfLiteOk;
    }

    /// Adds a buffer that is in use from one step to another, both included.
    TfLiteStatus AddBuffer(int size, int first, int last) override { return add(size, first, last, alignment); }

    /// Adds a buffer with a prescribed offset.
    TfLiteStatus AddBuffer(int size, int first, int last, int offset) override {
        if (offset < 0 || add(size, first, last, 1) != kTfLiteOk) return kTfLiteError;
        if (end_ - free_ < sizeof(plan_fixed)) return refuse("the arena has no room to plan in");
        end_ -= sizeof(plan_fixed);
        fixed_ = {std::construct_at(reinterpret_cast<plan_fixed*>(end_),
                                    plan_fixed{buffers_.size() - 1, static_cast<std::uint64_t>(offset)}),
                  fixed_.size() + 1};
        return kTfLiteOk;
    }

    /// Returns the bytes that the plan needs; 0 if there is none.
    size_t GetMaximumMemorySize() override { return plan() ? static_cast<size_t>(summary_.peak) : 0; }
    /// Returns the number of buffers.
    int GetBufferCount() override { return static_cast<int>(buffers_.size()); }

    /// Writes the offset of a buffer, by the order in which they were added.
    TfLiteStatus GetOffsetForBuffer(int index, int* offset) override {
        if (index < 0 || static_cast<std::size_t>(index) >= buffers_.size()) return refuse("there is no such buffer");
        if (!plan()) return kTfLiteError;
        *offset = static_cast<int>(places_[static_cast<std::size_t>(index)].offset);
        return kTfLiteOk;
    }

    /// Returns false: buffers share bytes.
    bool preserves_all_tensors() const override { return false; }

    /// Prints each buffer, the bytes of the plan, and the lower bound of every plan. Operator n of the model has step n
    /// + 1. TFLM calls this after planning if it is compiled with TF_LITE_SHOW_MEMORY_USE. Later, other bytes replace
    /// the workspace.
    void PrintMemoryPlan() override {
        if (!plan()) return;
        for (std::size_t i = 0; i != buffers_.size(); ++i)
            MicroPrintf("buffer %d: %d bytes at %d, steps %d to %d", static_cast<int>(i),
                        static_cast<int>(buffers_[i].size), static_cast<int>(places_[i].offset),
                        static_cast<int>(buffers_[i].live.from), static_cast<int>(buffers_[i].live.until - 1));
        MicroPrintf("allot: %d buffers in %d bytes, lower bound %d: %s", static_cast<int>(buffers_.size()),
                    static_cast<int>(summary_.peak), static_cast<int>(summary_.bound), to_string(summary_.status));
    }

    /// Returns the plan's bytes, its lower bound, and its status.
    [[nodiscard]] const plan_summary& summary() const noexcept { return summary_; }

private:
    static constexpr std::uint64_t alignment = 16;  // of buffers in the arena
    enum class state : unsigned char { collects, planned, refused };

    TfLiteStatus refuse(const char* reason) noexcept {
        MicroPrintf("allot: %s", reason);
        return kTfLiteError;
    }

    TfLiteStatus add(int size, int first, int last, std::uint64_t align) noexcept {
        if (state_ != state::collects || size < 0 || last < first) return refuse("the buffer is invalid");
        if (end_ - free_ < sizeof(plan_buffer)) return refuse("the arena has no room to plan in");
        std::construct_at(reinterpret_cast<plan_buffer*>(free_),
                          plan_buffer{static_cast<std::uint64_t>(size), {first, std::int64_t{last} + 1}, align});
        free_ += sizeof(plan_buffer);
        buffers_ = {buffers_.data(), buffers_.size() + 1};
        return kTfLiteOk;
    }

    /// Makes an array in the free bytes. Returns whether there is room.
    template <class T>
    [[nodiscard]] bool take(plan_array<T>& made, std::size_t count) noexcept {
        const std::uintptr_t begin = align_up<std::uintptr_t>(free_, alignof(T));
        if (begin > end_ || count > (end_ - begin) / sizeof(T)) return false;
        made = {reinterpret_cast<T*>(begin), count};
        std::uninitialized_value_construct(made.begin(), made.end());
        free_ = begin + count * sizeof(T);
        return true;
    }
    [[nodiscard]] bool take(plan_workspace& made, plan_space space) noexcept {
        return take(made.u64, space.u64) && take(made.extents, space.extents) && take(made.buffers, space.buffers) &&
               take(made.revivals, space.revivals) && take(made.fixed, space.fixed) && take(made.pairs, space.pairs) &&
               take(made.u32, space.u32);
    }

    /// Plans at the first call. Returns whether there is a plan.
    [[nodiscard]] bool plan() noexcept {
        if (state_ != state::collects) return state_ == state::planned;
        state_ = state::refused;
        if (!take(places_, buffers_.size())) return refuse("the arena has no room to plan in") == kTfLiteOk;
        const plan_problem problem{.buffers = buffers_.as_span(), .fixed = fixed_.as_span()};
        const std::uintptr_t begin = free_;
        plan_options options{.effort = effort_};
        plan_workspace workspace;
        if (!take(workspace, space_of_plan(problem, options))) {
            free_ = begin;
            options = at_compile_time;  // one simple plan
            if (!take(workspace, space_of_plan(problem, options)))
                return refuse("the arena has no room to plan in") == kTfLiteOk;
        }
        const auto made = plan_into(problem, places_.as_span(), workspace, options);
        free_ = begin;
        if (!made) return refuse(made.error().what()) == kTfLiteOk;
        summary_ = *made;
        state_ = state::planned;
        return true;
    }

    std::uint64_t effort_;
    std::uintptr_t free_ = 0, end_ = 0;  // the free bytes
    plan_array<plan_buffer> buffers_{};
    plan_array<plan_fixed> fixed_{};
    plan_array<plan_place> places_{};
    plan_summary summary_{};
    state state_ = state::collects;
};

}  // namespace tflite_micro
}  // namespace v1
}  // namespace allot
