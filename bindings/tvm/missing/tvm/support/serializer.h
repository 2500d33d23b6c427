// Replaces another header that the wheel lacks; see io.h. tensor.h needs the header that it includes, and executable.h
// specializes the template.
#pragma once

#include <tvm/ffi/endian.h>

namespace tvm::support {

template <class T>
struct Serializer;

}  // namespace tvm::support
