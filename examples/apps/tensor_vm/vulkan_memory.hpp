// SPDX-License-Identifier: BSL-1.0
// vulkan: scope global.vtcm is a VkDeviceMemory with one buffer over all of it. A tensor is the memory's handle and a
// byte offset. The kernel takes the buffers, the offsets, and for a discontiguous tensor the table, whose entries are
// offsets. The host reads and writes the mapped memory.
//
//     push constants   first word, first entry, elements of a row      three times: a, b and c
#pragma once

#include "../vulkan_compute.hpp"
#include "host_memory.hpp"

#include "elementwise.h"

#include <allot/vulkan/bound_buffer.hpp>

#include <array>
#include <memory>

namespace vm {

class vulkan_memory : public host_access {
    using address = allot::handle_offset<VkDeviceMemory>::address;
    using device_operand = operand<address>;
    using device_arena = allot::arena<allot::vulkan::device_memory, placement>;

    struct of_operand {
        std::uint32_t first, first_row, row_elements;
    };
    struct arguments {
        std::array<of_operand, 3> operands;
        std::uint32_t count, what, type;
    };
    static constexpr VkBufferUsageFlags uses =
        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;

    [[nodiscard]] static std::unique_ptr<compute::system> open() {
        try {
            return std::make_unique<compute::system>();
        } catch (const compute::missing& reason) {
            throw unavailable{reason.what()};
        }
    }
    [[nodiscard]] device_arena arena_of_bytes(std::size_t size) const {
        return arena_of<device_arena>({system_->gpu(), system_->type(uses)}, size);
    }
    /// Returns a buffer over a whole arena.
    [[nodiscard]] static allot::vulkan::bound_buffer buffer_of(const device_arena& of) {
        const auto& all = of.regions()[0];
        auto made = allot::vulkan::buffer_over(of.device(), all.base, all.size, uses);
        if (!made) compute::check(made.error(), "creating a buffer");
        return *std::move(made);
    }

    std::unique_ptr<compute::system> system_ = open();
    compute::kernel kernel_{*system_, elementwise_spirv, 4, sizeof(arguments)};

public:
    using vtcm_allocator = device_arena;

    explicit vulkan_memory(const memory_sizes& sizes)
        : global{arena_of<heap_arena>({}, sizes.global)},
          vtcm{arena_of_bytes(sizes.vtcm), arena_of_bytes(sizes.vtcm)},
          buffers_{buffer_of(vtcm[0]), buffer_of(vtcm[1])} {}
    vulkan_memory(const vulkan_memory&) = delete;
    vulkan_memory& operator=(const vulkan_memory&) = delete;

    using host_access::copy;
    [[nodiscard]] long copy(const void* from, address to, std::size_t bytes) const noexcept {
        const auto& device = vtcm[index_of(to)].device();
        void* const mapped = device.host_pointer(to, bytes);
        const long status = device.invalidate(to, bytes);  // the device may have written the rest of the atom
        if (status != VK_SUCCESS) return status;
        std::memcpy(mapped, from, bytes);
        return device.flush(to, bytes);
    }
    [[nodiscard]] long copy(address from, void* to, std::size_t bytes) const noexcept {
        const auto& device = vtcm[index_of(from)].device();
        const void* const mapped = device.host_pointer(from, bytes);
        const long status = device.invalidate(from, bytes);
        if (status == VK_SUCCESS) std::memcpy(to, mapped, bytes);
        return status;
    }
    [[nodiscard]] long copy(address from, address to, std::size_t bytes) const {
        const auto &source = buffers_[index_of(from)], &target = buffers_[index_of(to)];
        const VkBufferCopy all{source.offset_of(from), target.offset_of(to), bytes};
        system_->submit(
            [&](VkCommandBuffer commands) { ::vkCmdCopyBuffer(commands, source.handle(), target.handle(), 1, &all); });
        return VK_SUCCESS;
    }

    using host_access::run;
    [[nodiscard]] long run(operation what, allot::dtype type, std::size_t count, const device_operand& a,
                           const device_operand& b, const device_operand& c) const {
        arguments with{{}, static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(what), 0};
        constexpr allot::dtype known[] = {allot::int32, allot::int64,
                                          allot::float32};  // in the order of the shader's codes
        with.type = static_cast<std::uint32_t>(std::find(known, known + 3, type) - known);
        if (with.type == 3) return -1;
        std::vector<std::uint32_t> rows;
        std::array<VkBuffer, 4> buffers{};
        const device_operand* const operands[] = {&a, &b, &c};
        for (std::size_t i = 0; i != 3; ++i) {
            const device_operand& each = *operands[i];
            const auto& in = buffers_[index_of(each.address)];
            buffers[i] = in.handle();
            with.operands[i] = {static_cast<std::uint32_t>(in.offset_of(each.address) / 4),
                                static_cast<std::uint32_t>(rows.size()), static_cast<std::uint32_t>(each.row_elements)};
            if (each.rows.empty()) rows.push_back(0);  // one row, at the operand's own offset
            else rows.insert(rows.end(), each.rows.begin(), each.rows.end());
        }
        const device_arena tables = arena_of_bytes(rows.size() * sizeof rows[0]);
        const auto& all = tables.regions()[0];
        std::memcpy(tables.device().host_pointer(all.base, all.size), rows.data(), rows.size() * sizeof rows[0]);
        if (const long status = tables.device().flush(all.base, all.size); status != VK_SUCCESS) return status;
        const auto over_tables = buffer_of(tables);
        buffers[3] = over_tables.handle();
        kernel_.run(buffers, with, (with.count + 63) / 64);
        return VK_SUCCESS;
    }

private:
    /// Returns the number of the device whose memory contains the address.
    [[nodiscard]] std::size_t index_of(address at) const noexcept { return buffers_[0].contains(at, 0) ? 0 : 1; }

public:
    heap_arena global;
    device_arena vtcm[2];

private:
    allot::vulkan::bound_buffer buffers_[2];  // destroyed before the memory
};

}  // namespace vm
