// SPDX-License-Identifier: BSL-1.0
// gpu: scope global.vtcm is memory of a GPU, through the table of CUDA's or HIP's calls. Tensors are pointers that the
// host must not dereference. This program has no kernels for these devices. It copies the rows of the operands to the
// host, which computes the result, and copies the rows of the result back.
//
//     device   │ … │ row 1 of a │ … │ row 0 of a │ …
//                        └───────────┐  ▲│   at `address` and an entry of the table
//     host              │ row 0 of a │ row 1 of a │      staged, for each operand
//
// The runtime finds the memory of an address. All copies use the null stream and are complete when the calls return.
#pragma once

#include "host_memory.hpp"

#include <allot/gpu/runtime.hpp>

namespace vm {

template <allot::gpu::runtime Runtime>
class gpu_memory {
    using device = allot::gpu::device_memory<Runtime>;

public:
    using vtcm_allocator =
        allot::arena<device, placement, allot::growth::none<>, allot::arena_options{.align = region_align}>;

    explicit gpu_memory(const memory_sizes& sizes)
        : global{arena_of<heap_arena>({}, sizes.global)},
          vtcm{arena_of<vtcm_allocator>(device{}, sizes.vtcm), arena_of<vtcm_allocator>(device{}, sizes.vtcm)} {}

    [[nodiscard]] long copy(const void* from, void* to, std::size_t bytes) const noexcept {
        auto error = Runtime::memcpy_async(to, from, bytes, nullptr);
        if (error == Runtime::success) error = Runtime::stream_synchronize(nullptr);
        if (error == Runtime::success) return 0;
        static_cast<void>(Runtime::get_last_error());  // clears the sticky error
        return static_cast<long>(error);
    }

    [[nodiscard]] long run(operation what, allot::dtype type, std::size_t count, const operand<void*>& a,
                           const operand<void*>& b, const operand<void*>& c) const {
        staged in_a{a, type}, in_b{b, type}, out{c, type};
        for (staged* const each : {&in_a, &in_b})
            for (std::size_t row = 0; row != each->on_device.size(); ++row)
                if (const long error = copy(each->on_device[row], each->host.begins[row], each->row_bytes); error != 0)
                    return error;
        if (const long error = run_on_host(what, type, count, in_a.host, in_b.host, out.host); error != 0) return error;
        for (std::size_t row = 0; row != out.on_device.size(); ++row)
            if (const long error = copy(out.host.begins[row], out.on_device[row], out.row_bytes); error != 0)
                return error;
        return 0;
    }

private:
    /// The rows of an operand, and a buffer on the host for each.
    struct staged {
        staged(const operand<void*>& of, allot::dtype type)
            : row_bytes{of.row_elements * type.element_bytes()},
              bytes(row_bytes * std::max<std::size_t>(of.rows.size(), 1)),
              host{allot::raw_pointer{}, of, [this](void* at) {
                       on_device.push_back(at);
                       return bytes.data() + (on_device.size() - 1) * row_bytes;
                   }} {}
        staged(const staged&) = delete;
        staged& operator=(const staged&) = delete;

        std::size_t row_bytes;
        std::vector<void*> on_device;
        std::vector<std::byte> bytes;
        host_rows host;
    };

public:
    heap_arena global;
    vtcm_allocator vtcm[2];
};

}  // namespace vm
