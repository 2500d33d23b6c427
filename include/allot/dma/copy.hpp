// SPDX-License-Identifier: BSL-1.0
// dma_copy: a way of copying for `copy_tensor` where a side lies in DMA buffers (dma_heap, udmabuf, u_dma_buf): the CPU
// copies, and the caches are synchronised around it.
//
//     auto copied = allot::copy_tensor(host, in_dma_memory, allot::dma::mapped_copy{memory.device()});
//     auto moved = allot::copy_tensor(in_one, in_another, allot::dma::mapped_copy{one.device(), another.device()});
//
// Each run begins and ends an access of its own (dma_buffer.hpp), since a device knows its buffers, and not the tensor in
// them. Bytes in none of these devices are left to the next way.
//
// Complexity: two system calls for a run and side. Memory: a pointer for each device. Thread safety: none.
#pragma once

#include <allot/core/copy_path.hpp>
#include <allot/dma/buffer.hpp>

#include <cstring>
#include <tuple>

namespace allot {
inline namespace v1 {
namespace dma {

template <class... Devices>
class mapped_copy {
public:
    /// The devices outlive it.
    explicit mapped_copy(const Devices&... devices) noexcept : devices_{&devices...} {}

    template <pointer_memory From, pointer_memory To>
        requires(!From::host_accessible || !To::host_accessible)
    [[nodiscard]] copied copy(const void* from, void* to, std::size_t bytes) const noexcept {
        return accessing<From>(from, bytes, cpu_use::read, [&] {
            return accessing<To>(to, bytes, cpu_use::write, [&] {
                std::memcpy(to, from, bytes);
                return copied{copy_path::mapped};
            });
        });
    }

private:
    /// `use()` while the CPU may touch these bytes.
    template <class Memory, class Use>
    [[nodiscard]] copied accessing(const void* at, std::size_t bytes, cpu_use how, Use&& use) const noexcept {
        if constexpr (Memory::host_accessible) return use();
        copied answer{copy_path::none};
        const auto ask = [&](const auto& device) {
            auto access = device.access(at, bytes, how);
            if (!access && access.error() == EINVAL) return false;  // not of this device
            answer = access ? use() : copied::failure(access.error());
            if (const int code = access.end(); answer && code != 0) answer = copied::failure(code);
            return true;
        };
        std::apply([&](const auto*... device) { static_cast<void>((ask(*device) || ...)); }, devices_);
        return answer;
    }

    std::tuple<const Devices*...> devices_;
};

}  // namespace dma
}  // namespace v1
}  // namespace allot
