// SPDX-License-Identifier: BSL-1.0
// No allocator: the functions are there, and empty.
#pragma once
