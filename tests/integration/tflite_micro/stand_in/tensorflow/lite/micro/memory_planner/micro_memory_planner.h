// SPDX-License-Identifier: BSL-1.0
// A stand-in for the interface of TensorFlow Lite Micro's memory planners: the declarations that the adapter overrides.
#pragma once

#include <stddef.h>

enum TfLiteStatus { kTfLiteOk = 0, kTfLiteError = 1 };

namespace tflite {

class MicroMemoryPlanner {
public:
    virtual ~MicroMemoryPlanner() = default;
    virtual TfLiteStatus Init(unsigned char*, int) { return kTfLiteOk; }
    virtual TfLiteStatus AddBuffer(int size, int first, int last) = 0;
    virtual TfLiteStatus AddBuffer(int, int, int, int) { return kTfLiteError; }
    virtual size_t GetMaximumMemorySize() = 0;
    virtual int GetBufferCount() = 0;
    virtual TfLiteStatus GetOffsetForBuffer(int index, int* offset) = 0;
    virtual bool preserves_all_tensors() const = 0;
    virtual void PrintMemoryPlan() {}
};

}  // namespace tflite
