// SPDX-License-Identifier: BSL-1.0
// A stand-in for the messages of TensorFlow Lite Micro. The test defines the function.
#pragma once

void MicroPrintf(const char* format, ...);
