// Counts the calls of TVM to the host's memory: copies, allocations and workspaces. TVM asks the global function
// "device_api.cpu" once for its device of type CPU and keeps the answer. `count_device_calls` replaces that function by
// one with a device that counts and forwards every call, and fails when TVM already has its answer.
#pragma once

#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <tvm/runtime/device_api.h>

#include <atomic>
#include <cstddef>

namespace allot_tvm {

/// The calls since the process started to count.
struct device_tally {
    std::atomic<std::size_t> copies = 0, copied = 0, allocations = 0, allocated = 0, workspaces = 0;
};
inline device_tally& device_calls() noexcept {
    static device_tally tally;
    return tally;
}

/// TVM's device for the host's memory, with counts.
class counting_device final : public tvm::runtime::DeviceAPI {
public:
    explicit counting_device(DeviceAPI& to) noexcept : to_{&to} {}

    void SetDevice(DLDevice device) override { to_->SetDevice(device); }
    void GetAttr(DLDevice device, tvm::runtime::DeviceAttrKind kind, tvm::ffi::Any* value) override {
        to_->GetAttr(device, kind, value);
    }
    void* AllocDataSpace(DLDevice device, std::size_t size, std::size_t align, DLDataType type) override {
        count(size);
        return to_->AllocDataSpace(device, size, align, type);
    }
    void* AllocDataSpace(DLDevice device, int rank, const std::int64_t* shape, DLDataType type,
                         tvm::ffi::Optional<tvm::ffi::String> scope) override {
        count(tvm::ffi::GetDataSize({nullptr, device, rank, type, const_cast<std::int64_t*>(shape), nullptr, 0}));
        return to_->AllocDataSpace(device, rank, shape, type, scope);
    }
    void FreeDataSpace(DLDevice device, void* data) override { to_->FreeDataSpace(device, data); }
    void CopyDataFromTo(DLTensor* from, DLTensor* to, TVMStreamHandle stream) override {
        ++device_calls().copies;
        device_calls().copied += tvm::ffi::GetDataSize(*from);
        to_->CopyDataFromTo(from, to, stream);
    }
    void StreamSync(DLDevice device, TVMStreamHandle stream) override { to_->StreamSync(device, stream); }
    void* AllocWorkspace(DLDevice device, std::size_t size, DLDataType type) override {
        ++device_calls().workspaces;
        return to_->AllocWorkspace(device, size, type);
    }
    void FreeWorkspace(DLDevice device, void* data) override { to_->FreeWorkspace(device, data); }
    bool SupportsDevicePointerArithmeticsOnHost() override { return to_->SupportsDevicePointerArithmeticsOnHost(); }

private:
    static void count(std::size_t size) noexcept {
        ++device_calls().allocations;
        device_calls().allocated += size;
    }
    DeviceAPI* to_;
};

/// Puts the counting device in place of TVM's. A second call has no effect. Throws when TVM has asked before.
inline void count_device_calls() {
    using tvm::runtime::DeviceAPI;
    static DeviceAPI* counting = nullptr;
    if (counting == nullptr) {
        const auto own = tvm::ffi::Function::GetGlobalRequired("device_api.cpu")().cast<void*>();
        counting = new counting_device{*static_cast<DeviceAPI*>(own)};  // as long as the process, like TVM's own
        tvm::ffi::Function::SetGlobal("device_api.cpu",
                                      tvm::ffi::Function::FromTyped([] { return static_cast<void*>(counting); }), true);
    }
    if (DeviceAPI::Get({kDLCPU, 0}) != counting)
        TVM_FFI_THROW(RuntimeError) << "allot: TVM has asked for its CPU device before, so its calls are not counted; "
                                       "call allot.count_device_calls right after import tvm";
}

}  // namespace allot_tvm
