// SPDX-License-Identifier: BSL-1.0
// compute: the Vulkan setup for running kernels on buffers, reduced to the needs of the examples: one device, one
// queue, and synchronous submissions.
//
//     compute::system system;                                   // throws `missing` when no device is found
//     allot::arena<allot::vulkan::device_memory, …> memory{{system.gpu(), system.type(uses)}, 1_MiB};
//     compute::kernel add{system, add_spirv, 3, sizeof(arguments)};
//     add.run({a, b, c}, arguments, groups);
//
// Memory has a host-visible type. Every submission is complete when `run` returns, so the host may access the memory
// then and bytes may be reused. There are no fences and no pools of command buffers; the code is not optimized for
// speed.
#pragma once

#include <allot/vulkan/memory.hpp>

#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace compute {

/// Thrown when no suitable driver or device is found.
struct missing : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline void check(VkResult status, const char* what) {
    if (status != VK_SUCCESS)
        throw std::runtime_error{std::string{"Vulkan: "} + what + " failed with " + std::to_string(status)};
}

class system {
public:
    /// Opens the first device of Vulkan 1.1 with a compute queue. `with_int64` also requires 64-bit integers in
    /// shaders.
    explicit system(bool with_int64 = false) {
        try {
            open(with_int64);
        } catch (...) {
            close();
            throw;
        }
    }
    system(const system&) = delete;
    system& operator=(const system&) = delete;
    ~system() { close(); }

    [[nodiscard]] allot::vulkan::logical_device& gpu() const { return *gpu_; }
    [[nodiscard]] VkDevice device() const { return device_; }
    /// Returns a host-visible memory type for buffers of these uses, preferably device-local and coherent.
    [[nodiscard]] std::uint32_t type(VkBufferUsageFlags uses) const {
        return allot::vulkan::memory_type(gpu_->memory(), gpu_->types_for_buffers(uses),
                                          VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
                                          VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    }

    /// Returns the maximum number of bytes of a buffer that a kernel can access.
    [[nodiscard]] std::size_t most_bytes() const { return most_bytes_; }

    /// Submits the commands of `record(VkCommandBuffer)` and waits. The host then sees the written bytes.
    template <class Record>
    void submit(Record&& record) const {
        VkCommandBufferBeginInfo begin{};
        begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
        check(::vkResetCommandPool(device_, pool_, 0), "resetting commands");
        check(::vkBeginCommandBuffer(commands_, &begin), "beginning commands");
        record(commands_);
        VkMemoryBarrier to_host{};
        to_host.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
        to_host.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
        to_host.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
        ::vkCmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                               &to_host, 0, nullptr, 0, nullptr);
        check(::vkEndCommandBuffer(commands_), "ending commands");
        VkSubmitInfo all{};
        all.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
        all.commandBufferCount = 1;
        all.pCommandBuffers = &commands_;
        check(::vkQueueSubmit(queue_, 1, &all, VK_NULL_HANDLE), "submitting commands");
        check(::vkQueueWaitIdle(queue_), "waiting");
    }

private:
    void open(bool with_int64) {
        VkApplicationInfo about{};
        about.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
        about.apiVersion = VK_API_VERSION_1_1;
        VkInstanceCreateInfo wanted{};
        wanted.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
        wanted.pApplicationInfo = &about;
        if (const VkResult status = ::vkCreateInstance(&wanted, nullptr, &instance_); status != VK_SUCCESS)
            throw missing{"no Vulkan driver was found (vkCreateInstance: " + std::to_string(status) +
                          "; Debian's mesa-vulkan-drivers provides one for any processor)"};
        std::uint32_t count = 0;
        check(::vkEnumeratePhysicalDevices(instance_, &count, nullptr), "counting devices");
        std::vector<VkPhysicalDevice> all(count);
        check(::vkEnumeratePhysicalDevices(instance_, &count, all.data()), "listing devices");
        for (const VkPhysicalDevice each : all) {
            if (open(each, with_int64)) return;
        }
        throw missing{"no Vulkan device has version 1.1, host-visible memory and a compute queue" +
                      std::string{with_int64 ? " with 64-bit integers" : ""}};
    }
    [[nodiscard]] bool open(VkPhysicalDevice physical, bool with_int64) {
        VkPhysicalDeviceProperties about{};
        ::vkGetPhysicalDeviceProperties(physical, &about);
        VkPhysicalDeviceFeatures has{}, features{};
        ::vkGetPhysicalDeviceFeatures(physical, &has);
        features.shaderInt64 = with_int64 ? VK_TRUE : VK_FALSE;
        if (about.apiVersion < VK_API_VERSION_1_1 || has.shaderInt64 < features.shaderInt64) return false;
        std::uint32_t count = 0, family = 0;
        ::vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
        std::vector<VkQueueFamilyProperties> families(count);
        ::vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
        while (family != count && (families[family].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) ++family;
        if (family == count) return false;

        most_bytes_ = about.limits.maxStorageBufferRange;
        const float priority = 1;
        VkDeviceQueueCreateInfo one{};
        one.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
        one.queueFamilyIndex = family;
        one.queueCount = 1;
        one.pQueuePriorities = &priority;
        VkDeviceCreateInfo wanted{};
        wanted.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
        wanted.queueCreateInfoCount = 1;
        wanted.pQueueCreateInfos = &one;
        wanted.pEnabledFeatures = &features;
        check(::vkCreateDevice(physical, &wanted, nullptr, &device_), "creating a device");
        ::vkGetDeviceQueue(device_, family, 0, &queue_);
        gpu_.emplace(&::vkGetInstanceProcAddr, instance_, physical, device_);
        VkCommandPoolCreateInfo pool{};
        pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
        pool.queueFamilyIndex = family;
        check(::vkCreateCommandPool(device_, &pool, nullptr, &pool_), "creating a command pool");
        VkCommandBufferAllocateInfo buffer{};
        buffer.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
        buffer.commandPool = pool_;
        buffer.commandBufferCount = 1;
        check(::vkAllocateCommandBuffers(device_, &buffer, &commands_), "allocating a command buffer");
        return true;
    }
    void close() {
        if (pool_ != VK_NULL_HANDLE) ::vkDestroyCommandPool(device_, pool_, nullptr);
        if (device_ != VK_NULL_HANDLE) ::vkDestroyDevice(device_, nullptr);
        if (instance_ != VK_NULL_HANDLE) ::vkDestroyInstance(instance_, nullptr);
    }

    std::size_t most_bytes_ = 0;
    VkInstance instance_ = VK_NULL_HANDLE;
    VkDevice device_ = VK_NULL_HANDLE;
    VkQueue queue_ = VK_NULL_HANDLE;
    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkCommandBuffer commands_ = VK_NULL_HANDLE;
    mutable std::optional<allot::vulkan::logical_device> gpu_;
};

/// A compute shader: `main` of a SPIR-V module, with whole storage buffers at bindings 0, 1, … of set 0.
class kernel {
public:
    /// `arguments` is the number of bytes of push constants.
    kernel(const system& on, std::span<const std::uint32_t> spirv, std::uint32_t buffers, std::uint32_t arguments)
        : on_{on}, buffers_{buffers}, arguments_{arguments} {
        try {
            make(spirv);
        } catch (...) {
            close();
            throw;
        }
    }
    kernel(const kernel&) = delete;
    kernel& operator=(const kernel&) = delete;
    ~kernel() { close(); }

    template <class Arguments>
    void run(std::span<const VkBuffer> buffers, const Arguments& arguments, std::uint32_t groups) const {
        std::vector<VkDescriptorBufferInfo> whole;
        for (const VkBuffer each : buffers) whole.push_back({each, 0, VK_WHOLE_SIZE});
        VkWriteDescriptorSet write{};
        write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        write.dstSet = set_;
        write.descriptorCount = buffers_;
        write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        write.pBufferInfo = whole.data();
        if (whole.size() != buffers_ || sizeof arguments != arguments_)
            throw std::logic_error{"the number of buffers or the size of the arguments does not match the kernel"};
        ::vkUpdateDescriptorSets(on_.device(), 1, &write, 0, nullptr);
        on_.submit([&](VkCommandBuffer commands) {
            ::vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
            ::vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0, 1, &set_, 0, nullptr);
            ::vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof arguments, &arguments);
            ::vkCmdDispatch(commands, groups, 1, 1);
        });
    }

private:
    void make(std::span<const std::uint32_t> spirv) {
        const VkDevice device = on_.device();
        VkShaderModuleCreateInfo code{};
        code.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
        code.codeSize = spirv.size_bytes();
        code.pCode = spirv.data();
        check(::vkCreateShaderModule(device, &code, nullptr, &module_), "loading a shader");
        std::vector<VkDescriptorSetLayoutBinding> bindings;
        for (std::uint32_t i = 0; i != buffers_; ++i)
            bindings.push_back({i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
        VkDescriptorSetLayoutCreateInfo set{};
        set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
        set.bindingCount = buffers_;
        set.pBindings = bindings.data();
        check(::vkCreateDescriptorSetLayout(device, &set, nullptr, &set_layout_), "creating a descriptor set layout");
        const VkPushConstantRange constants{VK_SHADER_STAGE_COMPUTE_BIT, 0, arguments_};
        VkPipelineLayoutCreateInfo layout{};
        layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
        layout.setLayoutCount = layout.pushConstantRangeCount = 1;
        layout.pSetLayouts = &set_layout_;
        layout.pPushConstantRanges = &constants;
        check(::vkCreatePipelineLayout(device, &layout, nullptr, &layout_), "creating a pipeline layout");
        VkComputePipelineCreateInfo pipeline{};
        pipeline.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
        pipeline.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
        pipeline.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
        pipeline.stage.module = module_;
        pipeline.stage.pName = "main";
        pipeline.layout = layout_;
        check(::vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &pipeline, nullptr, &pipeline_),
              "creating a pipeline");
        const VkDescriptorPoolSize all{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffers_};
        VkDescriptorPoolCreateInfo pool{};
        pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
        pool.maxSets = pool.poolSizeCount = 1;
        pool.pPoolSizes = &all;
        check(::vkCreateDescriptorPool(device, &pool, nullptr, &pool_), "creating a descriptor pool");
        VkDescriptorSetAllocateInfo one{};
        one.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
        one.descriptorPool = pool_;
        one.descriptorSetCount = 1;
        one.pSetLayouts = &set_layout_;
        check(::vkAllocateDescriptorSets(device, &one, &set_), "allocating a descriptor set");
    }
    void close() {  // objects that were not created are null, which Vulkan ignores
        const VkDevice device = on_.device();
        ::vkDestroyDescriptorPool(device, pool_, nullptr);
        ::vkDestroyPipeline(device, pipeline_, nullptr);
        ::vkDestroyPipelineLayout(device, layout_, nullptr);
        ::vkDestroyDescriptorSetLayout(device, set_layout_, nullptr);
        ::vkDestroyShaderModule(device, module_, nullptr);
    }

    const system& on_;
    std::uint32_t buffers_, arguments_;
    VkShaderModule module_ = VK_NULL_HANDLE;
    VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    VkPipeline pipeline_ = VK_NULL_HANDLE;
    VkDescriptorPool pool_ = VK_NULL_HANDLE;
    VkDescriptorSet set_ = VK_NULL_HANDLE;
};

}  // namespace compute
