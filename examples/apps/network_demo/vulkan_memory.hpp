// SPDX-License-Identifier: BSL-1.0
// vulkan: the same plan in one VkDeviceMemory, with one buffer that covers it. A compute shader gets each tensor by its
// byte offset. The partial sums of a step are in the same storage as the tensors. The host reads the final sums through
// the mapping of the memory.
//
//     VkDeviceMemory   │ sums │ final sums │ t4 │  t0   │      t2      │ … │
//     VkBuffer         │◄ offset ─────────►                                │
//
// The program waits for every kernel. The bytes of a tensor can therefore be reused when the call returns.
#pragma once

#include "../vulkan_compute.hpp"
#include "storages.hpp"

#include "mix.h"

#include <allot/vulkan/bound_buffer.hpp>

#include <array>

namespace demo {

namespace vulkan {

struct arguments {
    std::uint32_t first, sums, size, produces, number, afresh, salt_low, salt_high, partials;
};

/// A device, its queue and the kernel; created once for all networks.
struct system {
    compute::system compute;
    compute::kernel mix;

    /// Throws `unavailable` if there is no device.
    system() try : compute{true}, mix{compute, mix_spirv, 1, sizeof(arguments)} {
    } catch (const compute::missing& reason) {
        throw unavailable{reason.what()};
    }
};

}  // namespace vulkan

class vulkan_memory {
    static constexpr std::size_t items = 64, group = 8;  // invocations of a kernel, each with a partial sum
    static constexpr std::size_t sums_bytes = items * sizeof(std::uint64_t);
    static constexpr VkBufferUsageFlags uses = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    using device_memory = allot::vulkan::device_memory;

public:
    vulkan_memory(const network& net, tally& counts, const vulkan::system& system)
        : system_{system},
          step_sums_{net.tensors.size()},
          final_sums_{net.tensors.size() + 1},
          net_{with_sums(net)},
          places_{net_, counts, device_memory{system.compute.gpu(), system.compute.type(uses)}},
          tensors_(net_.tensors.size()) {
        if (places_.arena_bytes() > system.compute.most_bytes())
            throw unavailable{"the device's kernels can access at most " + std::to_string(system.compute.most_bytes()) +
                              " bytes of a buffer"};
        begin(step_sums_);
        begin(final_sums_);
        // Regions are whole granules, and each storage directly from a device has its own region.
        const std::size_t region = allot::align_up(places_.arena_bytes(), device_memory::granularity);
        auto made = allot::vulkan::buffer_over(places_.device(), {tensors_[step_sums_].data(), 0}, region, uses);
        if (!made) compute::check(made.error(), "creating a buffer");
        buffer_ = *std::move(made);
    }
    vulkan_memory(const vulkan_memory&) = delete;
    vulkan_memory& operator=(const vulkan_memory&) = delete;

    void begin(std::size_t t) { tensors_[t] = places_.take(t); }
    void end(std::size_t t) { tensors_[t] = {}; }

    void start_step() { step_is_fresh_ = true; }
    void absorb(std::size_t t, std::size_t number) { add(t, number, step_sums_, step_is_fresh_); }
    void witness(std::size_t t) { add(t, t, final_sums_, final_is_fresh_); }
    void produce(std::size_t t, std::uint64_t salt) { write(t, salt, step_is_fresh_ ? 0 : items); }
    void fill(std::size_t t, std::uint64_t salt) { write(t, salt, 0); }

    [[nodiscard]] std::uint64_t digest() {
        if (final_is_fresh_) return 0;
        const auto at = tensors_[final_sums_].address();
        compute::check(places_.device().invalidate(at, sums_bytes), "reading the sums");
        std::array<std::uint64_t, items> sums{};
        std::memcpy(sums.data(), places_.device().host_pointer(at, sums_bytes), sums_bytes);
        std::uint64_t sum = 0;
        for (const std::uint64_t partial : sums) sum += partial;
        return sum;
    }

    [[nodiscard]] std::size_t arena_bytes() const { return places_.arena_bytes(); }

private:
    /// The sums are two additional tensors that live from the first step to the last.
    [[nodiscard]] static network with_sums(network net) {
        tensor sums;
        sums.size = sums_bytes;
        sums.last = net.duration() - 1;
        net.tensors.insert(net.tensors.end(), 2, sums);
        return net;
    }

    [[nodiscard]] std::uint32_t first_word(std::size_t t) const {
        return static_cast<std::uint32_t>(buffer_.offset_of(tensors_[t].address()) / 4);
    }
    [[nodiscard]] vulkan::arguments of(std::size_t t, std::size_t sums) const {
        vulkan::arguments all{};
        all.first = first_word(t);
        all.sums = first_word(sums);
        all.size = static_cast<std::uint32_t>(tensors_[t].size_bytes());
        return all;
    }
    void run(const vulkan::arguments& with) {
        const VkBuffer buffers[] = {buffer_.handle()};
        system_.mix.run(buffers, with, items / group);
    }
    void add(std::size_t t, std::size_t number, std::size_t sums, bool& fresh) {
        vulkan::arguments with = of(t, sums);
        with.number = static_cast<std::uint32_t>(number);
        with.afresh = std::exchange(fresh, false) ? 1 : 0;
        run(with);
    }
    void write(std::size_t t, std::uint64_t salt, std::size_t partials) {
        vulkan::arguments with = of(t, step_sums_);
        with.produces = 1;
        with.salt_low = static_cast<std::uint32_t>(salt);
        with.salt_high = static_cast<std::uint32_t>(salt >> 32);
        with.partials = static_cast<std::uint32_t>(partials);
        run(with);
    }

    const vulkan::system& system_;
    std::size_t step_sums_, final_sums_;
    network net_;
    planned_places<device_memory> places_;
    std::vector<tensor_of<device_memory>> tensors_;
    allot::vulkan::bound_buffer buffer_;
    bool step_is_fresh_ = true, final_is_fresh_ = true;
};

}  // namespace demo
