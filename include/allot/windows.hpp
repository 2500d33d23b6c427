// SPDX-License-Identifier: BSL-1.0
// Includes every header of allot/windows. Needs no header of Windows.
#pragma once

#include <allot/version.hpp>

#include <allot/windows/error.hpp>
#include <allot/windows/large_pages.hpp>
#include <allot/windows/pages.hpp>
#include <allot/windows/virtual_memory.hpp>
