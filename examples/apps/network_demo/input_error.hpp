// SPDX-License-Identifier: BSL-1.0
// input_error: what readers of files throw: one sentence, if possible with the file and the line.
#pragma once

#include <stdexcept>

namespace demo {

/// An error in a file, as one sentence.
struct input_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace demo
