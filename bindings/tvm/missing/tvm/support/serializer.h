// In place of the other header that the wheel lacks: see io.h. Of it, tensor.h uses only what it includes.
#pragma once

#include <tvm/ffi/endian.h>
