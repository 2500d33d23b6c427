// SPDX-License-Identifier: BSL-1.0
// No allocator: the functions exist and are empty.
#pragma once
