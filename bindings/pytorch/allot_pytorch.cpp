// SPDX-License-Identifier: BSL-1.0
// Memory for PyTorch's CUDAPluggableAllocator: one `ordered` for each device, over addresses that grow in place, and
// a graph_pool for each pool of captured graphs. README.md describes the use.
#include "device_state.hpp"

#include <allot/inspect/export_pytorch.hpp>

#include <array>
#include <atomic>
#include <cstring>

namespace {

using allot_pytorch::device_state;

/// The memories of all devices. They are not destroyed: at the end of a process, the runtime is gone before.
class devices {
public:
    /// Returns the memory of a device. Creates it if it does not exist.
    device_state& at(int device) {
        if (device < 0 || device >= static_cast<int>(all_.size()))
            throw std::runtime_error{"allot: there is no CUDA device " + std::to_string(device)};
        std::atomic<device_state*>& place = all_[static_cast<std::size_t>(device)];
        if (device_state* const known = place.load(std::memory_order_acquire)) return *known;
        const std::lock_guard alone{creation_};
        if (device_state* const known = place.load(std::memory_order_acquire)) return *known;
        auto* const fresh = new device_state{device, fractions_[static_cast<std::size_t>(device)]};
        place.store(fresh, std::memory_order_release);
        return *fresh;
    }
    /// Returns the memory of a device, or nullptr if it does not exist.
    device_state* find(int device) const {
        return device < 0 || device >= static_cast<int>(all_.size()) ? nullptr
                                                                     : all_[static_cast<std::size_t>(device)].load();
    }
    /// Limits a device to a share of its memory, before its first allocation.
    void set_fraction(double fraction, int device) {
        if (device < 0 || device >= static_cast<int>(all_.size())) return;
        const std::lock_guard alone{creation_};
        fractions_[static_cast<std::size_t>(device)] = fraction;
    }
    /// Calls `f` for each memory until it returns true.
    template <class Function>
    void for_each_until(Function f) const {
        for (const auto& each : all_)
            if (device_state* const known = each.load(std::memory_order_acquire); known != nullptr && f(*known)) return;
    }

private:
    std::array<std::atomic<device_state*>, 64> all_{};
    std::array<double, 64> fractions_{};
    std::mutex creation_;
};

devices& all() {
    static devices* const only = new devices;
    return *only;
}

}  // namespace

extern "C" {

void* allot_malloc(ptrdiff_t size, int device, cudaStream_t stream) {
    return size <= 0 ? nullptr : all().at(device).allocate(static_cast<std::size_t>(size), stream);
}
void allot_free(void* address, ptrdiff_t size, int device, cudaStream_t stream) {
    device_state* const known = all().find(device);
    if (address != nullptr && known != nullptr) known->free(address, static_cast<std::size_t>(size), stream);
}
void allot_record_stream(void* address, cudaStream_t stream) {
    all().for_each_until([&](device_state& each) { return each.used_on(address, stream); });
}
void* allot_base_allocation(void* address, size_t* size) {
    void* base = nullptr;
    all().for_each_until([&](device_state& each) { return (base = each.base_of(address, size)) != nullptr; });
    return base;
}
void allot_set_memory_fraction(double fraction, int device) { all().set_fraction(fraction, device); }
void allot_empty_cache() {
    all().for_each_until([](device_state& each) { return each.trim(), false; });
}
void allot_begin_allocate_to_pool(int device, allot_pool_id pool, std::function<bool(cudaStream_t)> filter) {
    all().at(device).begin_pool(pool, std::move(filter));
}
void allot_end_allocate_to_pool(int device, allot_pool_id pool) {
    if (device_state* const known = all().find(device)) known->end_pool(pool);
}
void allot_release_pool(int device, allot_pool_id pool) {
    if (device_state* const known = all().find(device)) known->release_pool(pool);
}

int allot_get_statistics(int device, allot_pytorch_statistics* found) {
    device_state* const known = all().find(device);
    if (known != nullptr) *found = known->statistics();
    return known == nullptr ? -1 : 0;
}
int allot_reset_peak(int device) {
    device_state* const known = all().find(device);
    if (known != nullptr) known->reset_peak();
    return known == nullptr ? -1 : 0;
}
int allot_write_snapshot(int device, const char* format, void (*write)(void*, const char*, size_t), void* to) {
    device_state* const known = all().find(device);
    if (known == nullptr) return -1;
    const allot::snapshot now = known->snapshot();
    if (std::strcmp(format, "pytorch") == 0) {
        allot::export_pytorch(now, [&](std::string_view part) { write(to, part.data(), part.size()); });
    } else if (std::strcmp(format, "allot") == 0) {
        const std::vector<std::byte> file = allot::write_snapshot(now);
        write(to, reinterpret_cast<const char*>(file.data()), file.size());
    } else {
        return -1;
    }
    return 0;
}
}
