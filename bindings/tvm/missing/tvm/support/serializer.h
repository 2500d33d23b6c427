// Replaces another header that the wheel lacks; see io.h. tensor.h needs only the headers that it includes.
#pragma once

#include <tvm/ffi/endian.h>
