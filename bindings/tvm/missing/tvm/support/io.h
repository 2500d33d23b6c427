// Replaces a header that the wheel's tvm/runtime/tensor.h includes and the wheel lacks. Inline functions of tensor.h
// that read and write files use these members. This example never calls these functions, so declarations suffice.
#pragma once

#include <cstddef>

namespace tvm::support {

class Stream {
public:
    std::size_t Read(void* into, std::size_t size);
    std::size_t Write(const void* from, std::size_t size);
    template <class T>
    bool Read(T* into);
    template <class T>
    void Write(const T& value);
    template <class T>
    void WriteArray(const T* from, std::size_t count);
    template <class T>
    bool ReadArray(T* into, std::size_t count);
};

}  // namespace tvm::support
