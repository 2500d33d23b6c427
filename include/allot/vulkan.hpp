// SPDX-License-Identifier: BSL-1.0
// Includes every header of allot/vulkan. Needs Vulkan's headers.
#pragma once

#include <allot/version.hpp>

#include <allot/vulkan/bindable_memory.hpp>
#include <allot/vulkan/bound_buffer.hpp>
#include <allot/vulkan/dedicated.hpp>
#include <allot/vulkan/exported_memory.hpp>
#include <allot/vulkan/imported.hpp>
#include <allot/vulkan/imported_memory.hpp>
#include <allot/vulkan/logical_device.hpp>
#include <allot/vulkan/memory.hpp>
#include <allot/vulkan/tensor.hpp>
#include <allot/vulkan/timeline_semaphores.hpp>
#include <allot/vulkan/unique_resource.hpp>
