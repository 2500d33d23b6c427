// Queues of the fake Vulkan driver, whose batches overlap as far as the specification allows, and timeline semaphores.
// A test executes the pending batches one by one, in any order that the semaphores allow.
//
//     batch     starts when its wait operations, and those of all earlier batches of its queue, are done
//     signal    of a batch: occurs when all earlier batches of its queue are complete, too
//
// `fake::get_with_queues` has these functions in addition to those of driver.hpp.
#pragma once

#include "driver.hpp"

#include <functional>

namespace fake {

struct operation {
    VkSemaphore semaphore;
    std::uint64_t value;
};
struct semaphore {
    bool is_binary = false;
    std::uint64_t value = 0;
};
struct pending_batch {
    std::vector<operation> waits{};
    std::function<void()> commands{};
    std::vector<operation> signals{};
    std::function<bool()> is_ready{};  // a dependency of the program's own, such as a pipeline barrier
};
struct queues_state {
    std::map<VkSemaphore, semaphore> semaphores{};
    std::map<VkQueue, std::vector<pending_batch>> queues{};
    VkResult refuse_semaphore = VK_SUCCESS;  // the next creation fails with this
    VkResult refuse_submit = VK_SUCCESS;     // the next submission fails with this
    bool is_lost = false;                    // the device is lost
    std::size_t submissions = 0;
};
inline queues_state work;

[[nodiscard]] inline bool has_reached(const operation& each) {
    const semaphore& of = work.semaphores.at(each.semaphore);
    return of.value >= (of.is_binary ? 1 : each.value);
}
/// Returns true if the batch is in the queue, and neither its waits nor those before it hold it back.
[[nodiscard]] inline bool can_start(const std::vector<pending_batch>& queue, std::size_t at) {
    for (std::size_t i = 0; i <= at; ++i) {
        if (i == queue.size()) return false;
        for (const operation& each : queue[i].waits)
            if (!has_reached(each)) return false;
    }
    return true;
}
/// Completes the batches at the front of each queue that have no commands left, and signals their semaphores.
inline void settle() {
    for (bool changed = true; changed;) {
        changed = false;
        for (auto& [handle, queue] : work.queues) {
            while (!queue.empty() && !queue.front().commands && can_start(queue, 0)) {
                for (const operation& each : queue.front().waits)
                    if (semaphore& of = work.semaphores.at(each.semaphore); of.is_binary) of.value = 0;
                for (const operation& each : queue.front().signals) {
                    semaphore& of = work.semaphores.at(each.semaphore);
                    now.check(of.is_binary || each.value > of.value, "VUID-VkSubmitInfo-pSignalSemaphores-03242");
                    now.check(!of.is_binary || of.value == 0, "VUID-vkQueueSubmit-pSignalSemaphores-00067");
                    of.value = of.is_binary ? 1 : each.value;
                }
                queue.erase(queue.begin());
                changed = true;
            }
        }
    }
}
/// Executes a pending batch of a queue. Returns false if it cannot start.
inline bool step(VkQueue of, std::size_t at) {
    auto& queue = work.queues[of];
    if (work.is_lost || at >= queue.size() || !queue[at].commands || !can_start(queue, at)) return false;
    if (queue[at].is_ready && !queue[at].is_ready()) return false;
    std::exchange(queue[at].commands, nullptr)();
    settle();
    return true;
}
/// Executes all batches that can start.
inline void run_all() {
    for (bool changed = true; changed;) {
        changed = false;
        for (auto& [handle, queue] : work.queues)
            for (std::size_t at = 0; at != queue.size(); ++at)
                if (step(handle, at)) {
                    changed = true;
                    break;
                }
    }
}
/// Submits commands of the program.
inline void launch(VkQueue queue, std::function<void()> commands, std::function<bool()> is_ready = {}) {
    work.queues[queue].push_back({{}, std::move(commands), {}, std::move(is_ready)});
}
[[nodiscard]] inline VkQueue queue_of(std::uint64_t number) { return handle_of<VkQueue>(0x100 + number); }

inline VKAPI_ATTR VkResult VKAPI_CALL create_semaphore(VkDevice, const VkSemaphoreCreateInfo* wanted,
                                                       const VkAllocationCallbacks*, VkSemaphore* to) {
    if (work.refuse_semaphore != VK_SUCCESS) return std::exchange(work.refuse_semaphore, VK_SUCCESS);
    const auto* const kind = static_cast<const VkSemaphoreTypeCreateInfo*>(wanted->pNext);
    now.check(kind->sType == VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, "the type of a semaphore");
    *to = handle_of<VkSemaphore>(++now.names);
    work.semaphores[*to] = {kind->semaphoreType == VK_SEMAPHORE_TYPE_BINARY, kind->initialValue};
    return VK_SUCCESS;
}
inline VKAPI_ATTR void VKAPI_CALL destroy_semaphore(VkDevice, VkSemaphore old, const VkAllocationCallbacks*) {
    for (const auto& [handle, queue] : work.queues)
        for (const pending_batch& each : queue)
            for (const auto* const list : {&each.waits, &each.signals})
                for (const operation& one : *list)
                    now.check(one.semaphore != old || work.is_lost, "VUID-vkDestroySemaphore-semaphore-05149");
    now.check(work.semaphores.erase(old) == 1, "destroyed once");
}
inline VKAPI_ATTR VkResult VKAPI_CALL get_value(VkDevice, VkSemaphore of, std::uint64_t* to) {
    now.check(!work.semaphores.at(of).is_binary, "a timeline semaphore");
    *to = work.semaphores.at(of).value;
    return work.is_lost ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
}
inline VKAPI_ATTR VkResult VKAPI_CALL wait_semaphores(VkDevice, const VkSemaphoreWaitInfo* wanted, std::uint64_t) {
    if (work.is_lost) return VK_ERROR_DEVICE_LOST;
    run_all();
    now.check(has_reached({*wanted->pSemaphores, *wanted->pValues}), "a wait that ends");
    return VK_SUCCESS;
}
inline VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue to, std::uint32_t count, const VkSubmitInfo* infos, VkFence) {
    if (work.is_lost) return VK_ERROR_DEVICE_LOST;
    if (work.refuse_submit != VK_SUCCESS) return std::exchange(work.refuse_submit, VK_SUCCESS);
    ++work.submissions;
    for (std::uint32_t i = 0; i != count; ++i) {
        const VkSubmitInfo& info = infos[i];
        const auto* const values = static_cast<const VkTimelineSemaphoreSubmitInfo*>(info.pNext);
        now.check(values != nullptr && values->sType == VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO &&
                      values->waitSemaphoreValueCount == info.waitSemaphoreCount &&
                      values->signalSemaphoreValueCount == info.signalSemaphoreCount,
                  "VUID-VkSubmitInfo-pWaitSemaphores-03239");
        pending_batch fresh;
        for (std::uint32_t k = 0; k != info.waitSemaphoreCount; ++k) {
            now.check(info.pWaitDstStageMask[k] == VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, "a wait at all stages");
            fresh.waits.push_back({info.pWaitSemaphores[k], values->pWaitSemaphoreValues[k]});
        }
        for (std::uint32_t k = 0; k != info.signalSemaphoreCount; ++k)
            fresh.signals.push_back({info.pSignalSemaphores[k], values->pSignalSemaphoreValues[k]});
        work.queues[to].push_back(std::move(fresh));
    }
    settle();
    return VK_SUCCESS;
}

inline PFN_vkVoidFunction VKAPI_CALL get_with_queues(VkInstance of, const char* name);
inline VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_of_device_with_queues(VkDevice, const char* name) {
    return get_with_queues(instance, name);
}
inline PFN_vkVoidFunction VKAPI_CALL get_with_queues(VkInstance of, const char* name) {
    if (std::strcmp(name, now.lacks) == 0) return nullptr;
    const auto any = [](auto function) { return reinterpret_cast<PFN_vkVoidFunction>(function); };
    const std::map<std::string, PFN_vkVoidFunction> all{
        {"vkGetDeviceProcAddr", any(&get_of_device_with_queues)},
        {"vkCreateSemaphore", any(&create_semaphore)},
        {"vkDestroySemaphore", any(&destroy_semaphore)},
        {"vkGetSemaphoreCounterValue", any(&get_value)},
        {"vkWaitSemaphores", any(&wait_semaphores)},
        {"vkQueueSubmit", any(&submit)},
    };
    const auto found = all.find(name);
    return found == all.end() ? get(of, name) : found->second;
}

/// A fresh machine with queues. At the end, checks that all semaphores are destroyed.
struct driven_queues : driven {
    driven_queues() { work = {}; }
    ~driven_queues() { CHECK(work.semaphores.empty()); }
    driven_queues(const driven_queues&) = delete;
    driven_queues& operator=(const driven_queues&) = delete;
};

}  // namespace fake
