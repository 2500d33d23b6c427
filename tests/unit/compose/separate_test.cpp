// separate: each tensor and each row has a region of its own, on memory with pointers and on memory with handles.
#include "../../laws/device_laws.hpp"
#include "../../laws/devices.hpp"

#include <allot/allot.hpp>
#include <allot/host/pages.hpp>
#include <allot/tensor.hpp>

#include <doctest/doctest.h>

namespace {

using allot::int32;
using allot::tensor_refusal;
struct handles : laws::handles<laws::handle_options{}> {
    handles() : laws::handles<laws::handle_options{}>{false} {}
};

using host_buffers = allot::separate<allot::host::heap>;
using handle_buffers = allot::separate<handles>;
static_assert(host_buffers::offsets == allot::offset_use::none && host_buffers::host_accessible);
static_assert(std::same_as<host_buffers::address_model, allot::raw_pointer>);
static_assert(handle_buffers::min_align == handles::min_align && handle_buffers::dl_device == handles::dl_device);
static_assert(allot::device<host_buffers> && allot::device<allot::cached<handle_buffers>>);
static_assert(allot::cached<handle_buffers>::offsets == allot::offset_use::none);
static_assert(std::same_as<decltype(allot::separate{allot::host::heap{}}), host_buffers>);

}  // namespace

TEST_CASE("separate: the device laws") {
    laws::judge_device([] { return host_buffers{}; }, {.align = 4096}, laws::host_bytes{}, laws::no_resources{});
    laws::judge_device([] { return allot::separate{allot::host::pages<>{}}; }, {.align = std::size_t{1} << 16});
}

TEST_CASE_TEMPLATE("separate: every tensor has a base of its own", Device, host_buffers, handle_buffers,
                   allot::cached<host_buffers>) {
    allot::naive<Device> memory;
    const auto data = *allot::alloc_storage(memory, 4096, 64);
    const auto a = *allot::alloc_tensor(data, 0, {3, 5}, int32);
    const auto b = *allot::alloc_tensor(data, 62 * 64, {6}, int32);
    CHECK(a.byte_offset() == 0);
    CHECK(b.byte_offset() == 0);
    CHECK(a.data() != b.data());
    CHECK_FALSE(allot::alloc_tensor(data, 63 * 64, {17}, int32));  // beyond the budget
    CHECK(allot::view(a, int32, {2}, 4).error().reason == tensor_refusal::no_offsets);
    CHECK(allot::slice(a, {1, 0}, {1, 5}).error().reason == tensor_refusal::no_offsets);
    CHECK(allot::view(a, int32, {2}, 0));
}

TEST_CASE("separate: the members of the device stay") {
    struct counting : allot::host::heap {
        using error = allot::host::heap::error;
        int calls = 0;
        [[nodiscard]] int called() noexcept { return ++calls; }
    };
    allot::separate<counting> device{counting{}};
    CHECK(device.called() == 1);
    CHECK(device.called() == 2);
}
