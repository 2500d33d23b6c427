// Memory that the host cannot access, for tests of wrappers. Each region has the handle 5.
#pragma once

#include <allot/address/handle_offset.hpp>
#include <allot/core/device.hpp>

struct numbered {
    using address_model = allot::handle_offset<int>;
    using error = int;
    static constexpr bool host_accessible = false;
    static constexpr auto offsets = allot::offset_use::carried;
    static constexpr std::size_t min_align = 64;
    static constexpr std::size_t granularity = 1;
    static constexpr auto dl_device = allot::dl_device_type::ext_dev;
    [[nodiscard]] allot::acquired<numbered> acquire(allot::layout wanted) noexcept {
        return allot::region<address_model::address>{{5, 0}, wanted.size, 64};
    }
    void release(allot::region<address_model::address>) noexcept {}
};
