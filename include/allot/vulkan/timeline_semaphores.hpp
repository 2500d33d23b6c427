// SPDX-License-Identifier: BSL-1.0
// vulkan::timeline_semaphores: Vulkan queues as queues, and values of timeline semaphores as points, for `ordered`
// (compose/ordered.hpp).
//
//     allot::vulkan::timeline_semaphores line{vkGetInstanceProcAddr, instance, device};
//     decltype(line)::point_type freed{};
//     VkResult error = line.record(graphics, freed);                 // after all work that was submitted to it so far
//     if (error == VK_SUCCESS) error = line.wait(compute, freed);    // its later work starts after the point
//
//     graphics ──batch──●──batch──►     ● an empty batch that signals the semaphore of its queue
//                       │
//     compute  ──batch──┴──batch──►     ┴ an empty batch that waits for the value
//
// When to use: to reuse memory across Vulkan queues, and between submissions to one queue.
// When not to use: across devices. A semaphore belongs to one VkDevice.
//
// The code relies on these rules of Vulkan (specification 1.3, "Semaphore Signaling", "Semaphore Waiting" and
// "vkQueueSubmit"):
//   - Batches of one queue may overlap. Only a dependency orders them. Therefore no queue is in order. `barrier`
//     submits a batch that signals a binary semaphore, and one that waits for it.
//   - A signal operation of vkQueueSubmit waits for all commands that occur earlier in submission order, also those of
//     earlier batches, and makes all their writes available. So an empty batch signals after all earlier work.
//   - A wait operation of vkQueueSubmit holds back all commands that occur later in submission order, also those of
//     later batches, at the stages of its mask, and makes the writes visible to them. The mask is ALL_COMMANDS.
//   - The value of each signal exceeds the values before. Each queue has a semaphore of its own, whose value grows in
//     the order of submission.
//   - A semaphore is destroyed after all batches that refer to it. Each submission of this object ends with a signal of
//     the semaphore of its queue, and the destructor waits for the last values. Before that, the program finishes the
//     batches of its own that wait for a point of this object (`wait_policy::hand_out`).
//   - A failed submission for lack of memory changes no semaphore.
//   - One thread at a time uses a VkQueue. A request on one queue may submit to another, to record a point. If several
//     threads submit, pass `Submit`, a function that takes the lock of the queue:
//
//         allot::vulkan::timeline_semaphores line{get, instance, device,
//             [&](VkQueue queue, std::uint32_t count, const VkSubmitInfo* batches) noexcept {
//                 const std::scoped_lock lock{queue_mutex};
//                 return vkQueueSubmit(queue, count, batches, VK_NULL_HANDLE);
//             }};
//
// The device must have the feature timelineSemaphore enabled (Vulkan 1.2, or VK_KHR_timeline_semaphore). Without its
// functions, all calls fail with VK_ERROR_INITIALIZATION_FAILED. The device must outlive the object. A buffer that
// queues of different families use needs VK_SHARING_MODE_CONCURRENT, or is bound anew for each block.
//
// Submissions are slow, and the reuse of freed bytes on their own queue needs one. A program whose submissions begin
// with a pipeline barrier for all commands and memory does not need it:
//
//     using own_barriers = allot::vulkan::timeline_semaphores<allot::vulkan::unlocked_submit,
//         allot::vulkan::timeline_semaphores_options{.program_has_barriers = true}>;
//
// Complexity: one submission for `record`, `wait` and `barrier`; one driver call for the other functions.
// Memory: two semaphores, a handle and a number for each of `timeline_semaphores_options::queues`.
// Thread safety: none for the object. `Submit` protects the queues from the program's own submissions.
#pragma once

#include <allot/core/timeline.hpp>

#include <vulkan/vulkan.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v1 {
namespace vulkan {

namespace detail {

// The functions of timeline semaphores. Null for each function that does not exist.
struct semaphore_functions {
    PFN_vkCreateSemaphore create = nullptr;
    PFN_vkDestroySemaphore destroy = nullptr;
    PFN_vkGetSemaphoreCounterValue get_value = nullptr;
    PFN_vkWaitSemaphores wait = nullptr;
    PFN_vkQueueSubmit submit = nullptr;

    semaphore_functions(PFN_vkGetInstanceProcAddr get, VkInstance instance, VkDevice device) noexcept {
        if (get == nullptr || instance == nullptr || device == nullptr) return;
        const auto of_device = reinterpret_cast<PFN_vkGetDeviceProcAddr>(get(instance, "vkGetDeviceProcAddr"));
        if (of_device == nullptr) return;
        const auto find = [&]<class Function>(Function& to, const char* name) {
            if (to == nullptr) to = reinterpret_cast<Function>(of_device(device, name));
        };
        find(create, "vkCreateSemaphore");
        find(destroy, "vkDestroySemaphore");
        find(submit, "vkQueueSubmit");
        find(get_value, "vkGetSemaphoreCounterValue");
        find(get_value, "vkGetSemaphoreCounterValueKHR");
        find(wait, "vkWaitSemaphores");
        find(wait, "vkWaitSemaphoresKHR");
    }
    [[nodiscard]] bool are_there() const noexcept { return create && destroy && get_value && wait && submit; }
};

}  // namespace detail

/// Submits to a queue that no other thread uses.
struct unlocked_submit {
    PFN_vkQueueSubmit submit = nullptr;  ///< The driver's function.
    /// Submits batches.
    VkResult operator()(VkQueue queue, std::uint32_t count, const VkSubmitInfo* batches) const noexcept {
        return submit(queue, count, batches, VK_NULL_HANDLE);
    }
};

/// The options of `timeline_semaphores`.
struct timeline_semaphores_options {
    /// The maximum number of queues.
    std::size_t queues = 8;
    /// Whether each submission of the program begins with a pipeline barrier from all commands and memory writes to all
    /// commands and memory accesses. Then queues are in order.
    bool program_has_barriers = false;
};

/// The timeline of the queues of one VkDevice. `Submit` submits batches.
template <class Submit = unlocked_submit, timeline_semaphores_options Options = timeline_semaphores_options{}>
class timeline_semaphores {
    static_assert(Options.queues >= 1, "allot: timeline_semaphores_options::queues must be at least 1");
    static_assert(std::is_nothrow_invocable_r_v<VkResult, Submit&, VkQueue, std::uint32_t, const VkSubmitInfo*>,
                  "allot: the function that submits must be noexcept, take a VkQueue, a number of batches and a "
                  "pointer to VkSubmitInfo, and return a VkResult");

public:
    using queue_type = VkQueue;   ///< A queue of the device.
    using error_type = VkResult;  ///< Vulkan's result codes.

    /// A value of a timeline semaphore, or none.
    struct point_type {
        VkSemaphore semaphore = VK_NULL_HANDLE;  ///< The semaphore, or null.
        std::uint64_t value = 0;                 ///< The value that it reaches.

        /// Returns true if there is a semaphore.
        [[nodiscard]] explicit operator bool() const noexcept { return semaphore != VK_NULL_HANDLE; }
    };

    /// Looks up the functions. Submits by vkQueueSubmit.
    timeline_semaphores(PFN_vkGetInstanceProcAddr get, VkInstance instance, VkDevice device) noexcept
        requires std::same_as<Submit, unlocked_submit>
        : calls_{get, instance, device}, device_{device}, submit_{calls_.submit} {}
    /// Looks up the functions. Submits by `submit`.
    timeline_semaphores(PFN_vkGetInstanceProcAddr get, VkInstance instance, VkDevice device, Submit submit) noexcept
        : calls_{get, instance, device}, device_{device}, submit_{std::move(submit)} {}
    /// Takes the semaphores of `other`, which has none afterwards.
    timeline_semaphores(timeline_semaphores&& other) noexcept
        : calls_{other.calls_}, device_{other.device_}, submit_{std::move(other.submit_)} {
        take(other);
    }
    /// Destroys the semaphores and takes those of `other`, which has none afterwards.
    timeline_semaphores& operator=(timeline_semaphores&& other) noexcept {
        if (this == &other) return *this;
        destroy();
        calls_ = other.calls_;
        device_ = other.device_;
        std::destroy_at(&submit_);  // a lambda cannot be assigned
        std::construct_at(&submit_, std::move(other.submit_));
        take(other);
        return *this;
    }
    /// Waits for the batches of this object, and destroys the semaphores.
    ~timeline_semaphores() { destroy(); }

    /// Returns true if all required functions of Vulkan exist.
    [[nodiscard]] explicit operator bool() const noexcept { return calls_.are_there(); }

    /// Returns the point at which a timeline semaphore of another library reaches a value. The semaphore must exist as
    /// long as the point is used, and until all work that waits for it is done.
    [[nodiscard]] static point_type adopt(VkSemaphore semaphore, std::uint64_t value) noexcept {
        return {semaphore, value};
    }

    /// Makes `point` the point after all work that was submitted to the queue so far. Fails with
    /// VK_ERROR_TOO_MANY_OBJECTS (-10) for more queues than the option permits, or with the driver's code; `point` is
    /// then unchanged.
    [[nodiscard]] error_type record(queue_type queue, point_type& point) noexcept {
        queue_state* of = nullptr;
        if (const error_type error = find(queue, of); error != VK_SUCCESS) return error;
        const batch signal{{}, {of->semaphore, of->value + 1}};
        if (const error_type error = submit_(queue, 1, &signal.info); error != VK_SUCCESS) return error;
        point = {of->semaphore, ++of->value};
        return VK_SUCCESS;
    }

    /// Makes work that is submitted to the queue later start after the point. Fails like `record`.
    [[nodiscard]] error_type wait(queue_type queue, const point_type& point) noexcept {
        if (!point) return VK_SUCCESS;
        queue_state* of = nullptr;
        if (const error_type error = find(queue, of); error != VK_SUCCESS) return error;
        const batch waiting{point, {of->semaphore, of->value + 1}};
        return count_if(submit_(queue, 1, &waiting.info), *of);
    }

    /// Makes work that is submitted to the queue later start after all its earlier work. Fails like `record`.
    [[nodiscard]] error_type barrier(queue_type queue) noexcept {
        queue_state* of = nullptr;
        if (const error_type error = find(queue, of); error != VK_SUCCESS) return error;
        if (of->own == VK_NULL_HANDLE)
            if (const error_type error = create(VK_SEMAPHORE_TYPE_BINARY, of->own); error != VK_SUCCESS) return error;
        const batch signal{{}, {of->own, 0}}, waiting{{of->own, 0}, {of->semaphore, of->value + 1}};
        const VkSubmitInfo both[] = {signal.info, waiting.info};
        return count_if(submit_(queue, 2, both), *of);
    }

    /// Blocks the calling thread until the point passes. Fails with the driver's code.
    [[nodiscard]] error_type wait_on_host(const point_type& point) noexcept {
        if (!point) return VK_SUCCESS;
        if (!*this) return VK_ERROR_INITIALIZATION_FAILED;
        VkSemaphoreWaitInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
        info.semaphoreCount = 1;
        info.pSemaphores = &point.semaphore;
        info.pValues = &point.value;
        return calls_.wait(device_, &info, ~std::uint64_t{0});
    }

    /// Returns false, because batches of one queue may overlap, unless the program has barriers.
    [[nodiscard]] bool in_order(queue_type) const noexcept { return Options.program_has_barriers; }

    /// Returns the state of a point. An empty point has passed.
    [[nodiscard]] point_state state(const point_type& point) const noexcept {
        if (!point) return point_state::passed;
        std::uint64_t value = 0;
        if (!*this || calls_.get_value(device_, point.semaphore, &value) != VK_SUCCESS) return point_state::failed;
        return value >= point.value ? point_state::passed : point_state::pending;
    }

    /// Makes the point empty. The semaphore remains.
    void release(point_type& point) noexcept { point = {}; }

private:
    struct queue_state {
        VkQueue queue = VK_NULL_HANDLE;
        VkSemaphore semaphore = VK_NULL_HANDLE;  // the timeline
        VkSemaphore own = VK_NULL_HANDLE;        // binary, for barriers
        std::uint64_t value = 0;                 // the last value that a batch signals
    };

    // A batch without commands. It may wait for a semaphore, and then signals one. A binary semaphore ignores values.
    struct batch {
        batch(point_type before, point_type after) noexcept : waits{before}, signals{after} {
            values.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
            values.signalSemaphoreValueCount = 1;
            values.pSignalSemaphoreValues = &signals.value;
            info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
            info.pNext = &values;
            info.signalSemaphoreCount = 1;
            info.pSignalSemaphores = &signals.semaphore;
            if (!waits) return;
            values.waitSemaphoreValueCount = info.waitSemaphoreCount = 1;
            values.pWaitSemaphoreValues = &waits.value;
            info.pWaitSemaphores = &waits.semaphore;
            info.pWaitDstStageMask = &stages;
        }
        batch(const batch&) = delete;
        batch& operator=(const batch&) = delete;

        point_type waits, signals;
        VkPipelineStageFlags stages = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
        VkTimelineSemaphoreSubmitInfo values{};
        VkSubmitInfo info{};
    };

    // Finds the semaphore of a queue, or creates it.
    [[nodiscard]] error_type find(VkQueue queue, queue_state*& found) noexcept {
        for (std::size_t i = 0; i != count_; ++i) {
            if (queues_[i].queue != queue) continue;
            found = &queues_[i];
            return VK_SUCCESS;
        }
        if (!*this) return VK_ERROR_INITIALIZATION_FAILED;
        if (count_ == Options.queues) return VK_ERROR_TOO_MANY_OBJECTS;
        queue_state fresh{};
        fresh.queue = queue;
        if (const error_type error = create(VK_SEMAPHORE_TYPE_TIMELINE, fresh.semaphore); error != VK_SUCCESS)
            return error;
        found = &(queues_[count_++] = fresh);
        return VK_SUCCESS;
    }
    [[nodiscard]] error_type create(VkSemaphoreType type, VkSemaphore& fresh) const noexcept {
        VkSemaphoreTypeCreateInfo kind{};
        kind.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
        kind.semaphoreType = type;
        VkSemaphoreCreateInfo wanted{};
        wanted.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
        wanted.pNext = &kind;
        return calls_.create(device_, &wanted, nullptr, &fresh);
    }
    // Counts the value that a successful submission signals.
    [[nodiscard]] static error_type count_if(error_type submitted, queue_state& of) noexcept {
        if (submitted == VK_SUCCESS) ++of.value;
        return submitted;
    }
    void take(timeline_semaphores& other) noexcept {
        count_ = std::exchange(other.count_, 0);
        for (std::size_t i = 0; i != count_; ++i) queues_[i] = other.queues_[i];
    }
    void destroy() noexcept {
        for (std::size_t i = 0; i != count_; ++i)  // a lost device runs no batches: an error is no reason to stay
            static_cast<void>(wait_on_host({queues_[i].semaphore, queues_[i].value}));
        while (count_ != 0) {
            const queue_state& each = queues_[--count_];
            calls_.destroy(device_, each.semaphore, nullptr);
            if (each.own != VK_NULL_HANDLE) calls_.destroy(device_, each.own, nullptr);
        }
    }

    detail::semaphore_functions calls_;
    VkDevice device_;
    Submit submit_;
    std::size_t count_ = 0;
    queue_state queues_[Options.queues]{};
};

static_assert(timeline<timeline_semaphores<>>);

}  // namespace vulkan
}  // namespace v1
}  // namespace allot
