// The laws on OpenCL buffers: a handle and an offset, on the first device of the first platform that has one.
#include "../laws/adapters.hpp"
#include "../laws/judge.hpp"

#include <allot/device/opencl.hpp>

#include <doctest/doctest.h>

#include <cstdio>

namespace {

struct first_device {
    cl::Context context;
    cl::Device device;
    bool found = false;

    first_device() {
        std::vector<cl::Platform> platforms;
        cl::Platform::get(&platforms);
        for (const cl::Platform& platform : platforms) {
            std::vector<cl::Device> devices;
            platform.getDevices(CL_DEVICE_TYPE_ALL, &devices);
            if (devices.empty()) continue;
            cl_int status = CL_SUCCESS;
            context = cl::Context{devices[0], nullptr, nullptr, nullptr, &status};
            device = devices[0];
            found = status == CL_SUCCESS;
            return;
        }
    }
};
const first_device& opencl() {
    static const first_device first;
    return first;
}

}  // namespace

namespace laws {
template <>
struct ground<allot::opencl::buffer> {
    explicit ground(const variant&) {}
    [[nodiscard]] static allot::opencl::buffer device(std::size_t) { return {opencl().context, opencl().device}; }
};
}  // namespace laws

namespace {

using allot::opencl::buffer;
using fixed = allot::growth::fixed<allot::growth_options{.step = 1000, .limit = 20'000, .regions = 8}>;
constexpr allot::best_fit_options few{.records = 24}, two_ends{.large = 200};
constexpr allot::pool_options slots{.slot = 64, .count = 60, .align = 16, .store = allot::pool_store::bitmap};

template <class Strategy, class Growth = allot::growth::none>
using on = laws::arena_subject<laws::arena_over<buffer, Strategy, Growth>>;
using host_tables = laws::arena_over<laws::pages<laws::page_options{}>, allot::best_fit<>>;
using paged = laws::paged_subject<laws::arena_over<buffer, allot::best_fit<>>, host_tables,
                                  allot::pointer_table<64, allot::row_index<>, allot::handle_offset<cl_mem>>>;

using laws::make;
constexpr laws::row table[] = {
    {"best fit", make<on<allot::best_fit<>>>},
    {"best fit, side table of 24", make<on<allot::best_fit<few>>>},
    {"best fit, two ends", make<on<allot::best_fit<two_ends>>>},
    {"best fit, 32 bits", make<on<allot::best_fit<allot::best_fit_options{}, std::uint32_t>>>},
    {"best fit, fixed growth", make<on<allot::best_fit<>, fixed>>, true},
    {"bump down", make<on<allot::bump<>>>},
    {"bump up", make<on<allot::bump<allot::bump_options{.direction = allot::direction::up}>>>},
    {"bump down, fixed growth", make<on<allot::bump<>, fixed>>, true},
    {"stack", make<on<allot::stack<>>>},
    {"ring", make<on<allot::ring<>>>},
    {"pool, bitmap", make<on<allot::pool<slots>>>},
    {"paged: rows of buffers, tables of the host", make<paged>, false, false},
};

}  // namespace

TEST_CASE("arenas over OpenCL buffers keep the laws") {
    CHECK(std::size(table) == 12);
    if (!opencl().found) {
        std::puts("skipped: no OpenCL platform with a device");
        return;
    }
    laws::judge(table);
}
