// `ordered` over OpenCL buffers and events, on the installed driver. A user event holds back each kernel until the test
// opens it, so that kernels run late and in an order that the test selects.
#include "../../late_patterns.hpp"
#include "installed.hpp"

#include <allot/allot.hpp>
#include <allot/opencl/buffer.hpp>
#include <allot/opencl/events.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace {

using allot::opencl::events;
using tests::opencl;
template <class Timeline = events, allot::ordered_options Options = allot::ordered_options{}>
using memory_on = allot::ordered<allot::arena<allot::opencl::buffer, allot::best_fit<>>, Timeline, Options>;

constexpr cl_command_queue_properties out_of_order = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
constexpr std::size_t size = 4096;

bool runs_native_kernels() {
    return (opencl().device.getInfo<CL_DEVICE_EXECUTION_CAPABILITIES>() & CL_EXEC_NATIVE_KERNEL) != 0;
}
bool has_out_of_order_queues() { return (opencl().device.getInfo<CL_DEVICE_QUEUE_PROPERTIES>() & out_of_order) != 0; }

/// A few queues, in the form that late_patterns.hpp requires. Kernels are functions of the host.
class queues {
public:
    queues(unsigned count, cl_command_queue_properties properties) {
        for (unsigned i = 0; i != count; ++i) {
            cl_int status = CL_SUCCESS;
            all_.emplace_back(opencl().context, opencl().device, properties, &status);
            REQUIRE(status == CL_SUCCESS);
        }
    }
    queues(const queues&) = delete;
    queues& operator=(const queues&) = delete;
    ~queues() { finish(); }

    [[nodiscard]] unsigned count() const { return static_cast<unsigned>(all_.size()); }
    [[nodiscard]] cl_command_queue queue(unsigned at) const { return all_[at](); }

    template <class Block>
    void launch(unsigned at, const Block& block, std::function<void(std::byte*)> kernel, bool is_first) {
        gates_.emplace_back(opencl().context);
        auto call = std::make_unique<pending>(pending{std::move(kernel), block.address.offset, &mutex_});
        arguments given{call.get(), nullptr};
        const cl_mem buffer = block.address.handle;
        const void* place = &given.bytes;
        // In an out-of-order queue, the kernels of one block wait for each other by events of the program.
        cl::Event& last = last_of_[block.address.offset];
        std::vector<cl_event> after{gates_.back()()};
        if (!is_first) after.push_back(last());
        cl_event done = nullptr;
        REQUIRE(::clEnqueueNativeKernel(queue(at), &run, &given, sizeof given, 1, &buffer, &place,
                                        static_cast<cl_uint>(after.size()), after.data(), &done) == CL_SUCCESS);
        last = cl::Event{done};
        calls_.push_back(std::move(call));
        REQUIRE(::clFlush(queue(at)) == CL_SUCCESS);
    }
    void order(unsigned from, unsigned to) {
        events line;
        events::point_type point{};
        CHECK(line.record(queue(from), point) == CL_SUCCESS);
        CHECK(line.wait(queue(to), point) == CL_SUCCESS);
        line.release(point);
    }
    void step(std::mt19937& random) {
        if (!gates_.empty()) open(random() % gates_.size());
    }
    void finish() {
        while (!gates_.empty()) open(0);
        for (const cl::CommandQueue& each : all_) CHECK(each.finish() == CL_SUCCESS);
    }
    void disturb(std::mt19937&) {}

private:
    struct pending {
        std::function<void(std::byte*)> kernel;
        std::size_t offset;
        std::mutex* mutex;
    };
    struct arguments {
        pending* call;
        void* bytes;
    };
    static void CL_CALLBACK run(void* given) {
        const auto& with = *static_cast<arguments*>(given);
        const std::scoped_lock lock{*with.call->mutex};  // kernels of this test count into the same numbers
        with.call->kernel(static_cast<std::byte*>(with.bytes) + with.call->offset);
    }
    void open(std::size_t at) {
        REQUIRE(gates_[at].setStatus(CL_COMPLETE) == CL_SUCCESS);
        gates_.erase(gates_.begin() + static_cast<std::ptrdiff_t>(at));
    }

    std::vector<cl::CommandQueue> all_;
    std::vector<cl::UserEvent> gates_;
    std::vector<std::unique_ptr<pending>> calls_;
    std::map<std::size_t, cl::Event> last_of_;
    std::mutex mutex_;
};

template <class Timeline, allot::ordered_options Options = allot::ordered_options{}>
tests::late_patterns play(unsigned seed, unsigned count, cl_command_queue_properties properties) {
    queues driver{count, properties};
    memory_on<Timeline, Options> memory{Timeline{events{}}, allot::opencl::buffer{opencl().context, opencl().device},
                                        size};
    return tests::play_late_patterns(memory, driver, seed, 60);
}

constexpr allot::ordered_options never{.waits = allot::wait_policy::never};

}  // namespace

TEST_CASE("opencl ordered: late kernels of two and three queues keep their patterns") {
    if (!runs_native_kernels()) {
        MESSAGE("skipped: the device runs no native kernels");
        return;
    }
    for (const unsigned count : {2u, 3u}) {
        tests::keeps_patterns(10, [=](unsigned seed) { return play<events>(seed, count, 0); });
        tests::keeps_patterns(5, [=](unsigned seed) { return play<events, never>(seed, count, 0); });
        if (!has_out_of_order_queues()) continue;
        tests::keeps_patterns(10, [=](unsigned seed) { return play<events>(seed, count, out_of_order); });
    }
}

TEST_CASE("opencl ordered: the patterns show a timeline that lost its waits") {
    if (!runs_native_kernels()) return;
    using broken = tests::without_waits<events>;
    CHECK(tests::wrong_patterns(10, [](unsigned seed) { return play<broken>(seed, 2, 0); }) > 0);
    if (!has_out_of_order_queues()) return;
    CHECK(tests::wrong_patterns(10, [](unsigned seed) { return play<broken>(seed, 1, out_of_order); }) > 0);
}

TEST_CASE("opencl ordered: memory of a released queue stays pending until its work is done") {
    memory_on<> memory{{}, allot::opencl::buffer{opencl().context, opencl().device}, size};
    cl::UserEvent gate{opencl().context};
    const cl_event held_back = gate();
    const cl::CommandQueue queue{opencl().context, opencl().device};
    const auto mine = memory.attach(queue());
    const auto fill = [](const cl::CommandQueue& in, const auto& block, cl_uchar value, const cl_event* after) {
        CHECK(::clEnqueueFillBuffer(in(), block.address.handle, &value, 1, block.address.offset, block.size,
                                    after == nullptr ? 0 : 1, after, nullptr) == CL_SUCCESS);
    };
    {
        const cl::CommandQueue gone{opencl().context, opencl().device};
        const auto theirs = memory.attach(gone());
        const auto block = memory.allocate({size}, theirs);
        REQUIRE(block);
        fill(gone, block, 1, &held_back);
        memory.deallocate(block, theirs);
        CHECK(memory.detach(theirs) == CL_SUCCESS);
    }
    const auto block = memory.allocate({size}, mine);
    REQUIRE(block);
    fill(queue, block, 2, nullptr);
    REQUIRE(gate.setStatus(CL_COMPLETE) == CL_SUCCESS);
    cl_uchar last = 0;
    CHECK(::clEnqueueReadBuffer(queue(), block.address.handle, CL_TRUE, block.address.offset + size - 1, 1, &last, 0,
                                nullptr, nullptr) == CL_SUCCESS);
    CHECK(last == 2);
    memory.deallocate(block, mine);
}

TEST_CASE("opencl ordered: a user event is a point, for a use of the host") {
    memory_on<> memory{{}, allot::opencl::buffer{opencl().context, opencl().device}, size};
    const cl::CommandQueue queue{opencl().context, opencl().device};
    const auto mine = memory.attach(queue());
    cl::UserEvent used{opencl().context};
    const auto block = memory.allocate({size}, mine);
    events::point_type until = events::adopt(used());
    CHECK(memory.deallocate(block, until));
    CHECK_FALSE(until);
    const auto again = memory.allocate({size}, mine);
    REQUIRE(again);
    cl::Event reached;
    REQUIRE(queue.enqueueMarkerWithWaitList(nullptr, &reached) == CL_SUCCESS);
    REQUIRE(queue.flush() == CL_SUCCESS);
    CHECK(reached.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>() != CL_COMPLETE);  // the queue waits for the host
    REQUIRE(used.setStatus(CL_COMPLETE) == CL_SUCCESS);
    REQUIRE(queue.finish() == CL_SUCCESS);
    memory.deallocate(again, mine);
    CHECK(memory.synchronize() == CL_SUCCESS);
    CHECK(used.getInfo<CL_EVENT_REFERENCE_COUNT>() == 1);
}
