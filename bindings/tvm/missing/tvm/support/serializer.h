// Replaces another header that the wheel lacks; see io.h. tensor.h needs the header that it includes; executable.h and
// metadata.h specialize the template, and the functions of metadata.h name its members. No function is called.
#pragma once

#include <tvm/ffi/endian.h>

namespace tvm::support {

class Stream;

template <class T>
struct Serializer {
    static void Write(Stream* into, const T& value);
    static bool Read(Stream* from, T* value);
};

}  // namespace tvm::support
