// SPDX-License-Identifier: BSL-1.0
// dma::mapped_copy: copy path for `copy_tensor` to and from DMA buffers. The CPU copies between cache synchronizations.
//
//     auto copied = allot::copy_tensor(host, in_dma_memory, allot::dma::mapped_copy{memory.device()});
//     auto moved = allot::copy_tensor(in_one, in_another, allot::dma::mapped_copy{one.device(), another.device()});
//
// Each run has its own access (`dma::buffer`), because a device has records of its buffers and not of the tensors in
// them. Bytes outside the buffers of all these devices are left to the next copy path.
//
// When to use: for tensors in `dma::heap`, `dma::udmabuf`, or `dma::u_dma_buf` memory that is not coherent.
// When not to use: for coherent DMA memory, which `copy_tensor` copies as host memory.
// Complexity: two synchronizations for each run and each DMA side.
// Memory: one pointer for each device.
// Thread safety: not synchronized.
#pragma once

#include <allot/core/copy_path.hpp>
#include <allot/dma/buffer.hpp>

#include <cstring>
#include <tuple>

namespace allot {
inline namespace v1 {
namespace dma {

/// Copy path through the CPU for buffers of `Devices`.
template <class... Devices>
class mapped_copy {
public:
    /// Refers to `devices`, which must outlive this object.
    explicit mapped_copy(const Devices&... devices) noexcept : devices_{&devices...} {}

    /// Copies `bytes` bytes while the CPU has access to both sides. Returns `copy_path::mapped`, `copy_path::none` if a
    /// side is in no buffer of these devices, or an `errno` value.
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
    // Calls `use()` while the CPU has access to these bytes.
    template <class Memory, class Use>
    [[nodiscard]] copied accessing(const void* at, std::size_t bytes, cpu_use how, Use&& use) const noexcept {
        if constexpr (Memory::host_accessible) return use();
        copied answer{copy_path::none};
        const auto ask = [&](const auto& device) {
            auto access = device.access(at, bytes, how);
            if (!access && access.error() == EINVAL) return false;  // the bytes belong to another device
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
