// A fake of Metal-cpp (Metal/Metal.hpp), with the part that allot and its tests call: the same names, signatures and
// numbers, over memory of the host. It enforces Metal's rules. Where Metal's API validation would end the program, the
// fake adds a sentence to `stand_in::mistakes` and the call fails.
//
//     objects       are counted; a call on a destroyed object is a mistake
//     private       bytes in pages that the host must not touch: any access is a fault. "Kernels" access them through
//                   `stand_in::gpu_bytes`, a second mapping of the same pages
//     managed       two copies: the GPU sees the ranges passed to didModifyRange
//     heaps         a placement heap takes buffers inside it, at multiples of the alignment of heapBufferSizeAndAlign;
//                   overlapping buffers share bytes. A heap lives while a buffer is in it
//     memory        of the device is limited; exhaustion returns null
//     queues        work executes when the program waits for its command buffer or a later one, and retains its
//                   buffers. An encoder ends before its command buffer is committed; a blit has offsets and sizes that are
//                   multiples of 4, as on a Mac
//     autorelease   `stand_in::drain` releases objects that were created without `new`
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace NS {
using Integer = std::intptr_t;
using UInteger = std::uintptr_t;

struct Range {
    static Range Make(UInteger location, UInteger length) { return {location, length}; }
    Range(UInteger location_, UInteger length_) : location{location_}, length{length_} {}
    UInteger location, length;
};
}  // namespace NS

namespace MTL {
class Device;
class Buffer;
class Heap;
class HeapDescriptor;
class CommandQueue;
class CommandBuffer;
}  // namespace MTL

namespace stand_in {

struct settings {
    bool device = true;                          // false: there is no device
    std::size_t memory = std::size_t{8} << 20;   // of the device
    std::size_t longest = std::size_t{2} << 20;  // maxBufferLength
};

/// Bytes that the host and the GPU access at different addresses.
class bytes {
public:
    explicit bytes(std::size_t size) : size_{(size + 4095) / 4096 * 4096} {
        const int file = ::memfd_create("stand_in", 0);
        if (file < 0 || ::ftruncate(file, static_cast<off_t>(size_)) != 0) std::abort();
        gpu_ = map(file, PROT_READ | PROT_WRITE);
        host_ = map(file, PROT_NONE);
        ::close(file);
    }
    bytes(const bytes&) = delete;
    bytes& operator=(const bytes&) = delete;
    ~bytes() {
        ::munmap(gpu_, size_);
        ::munmap(host_, size_);
    }
    void open_to_the_host() {
        if (::mprotect(host_, size_, PROT_READ | PROT_WRITE) != 0) std::abort();
    }
    [[nodiscard]] std::byte* gpu() const { return gpu_; }
    [[nodiscard]] std::byte* host() const { return host_; }

private:
    [[nodiscard]] std::byte* map(int file, int access) const {
        void* const at = ::mmap(nullptr, size_, access, MAP_SHARED, file, 0);
        if (at == MAP_FAILED) std::abort();
        return static_cast<std::byte*>(at);
    }
    std::size_t size_;
    std::byte* gpu_;
    std::byte* host_;
};

struct object {
    virtual ~object() = default;
    std::size_t references = 1;
};

struct machine {
    stand_in::settings settings;
    std::vector<std::unique_ptr<object>> objects;  // also destroyed ones, to detect calls on them
    std::vector<std::string> mistakes;
    std::vector<MTL::CommandBuffer*> pool;  // autoreleased objects
    std::size_t failing = 0;                // number of command buffers that will end with an error
    std::size_t used = 0;                   // bytes of the device
};
inline machine& here() {
    static machine only;
    return only;
}
/// Starts a new process on such a machine.
inline void start(const settings& machine_like_that = {}) {
    here().pool.clear();
    here().failing = 0;
    here().objects.clear();
    here().mistakes.clear();
    here().used = 0;
    here().settings = machine_like_that;
}
inline void mistake(const char* what) { here().mistakes.emplace_back(what); }
/// Returns the number of objects that are not released.
[[nodiscard]] inline std::size_t live() {
    return static_cast<std::size_t>(std::count_if(here().objects.begin(), here().objects.end(),
                                                  [](const auto& each) { return each->references != 0; }));
}

/// The base class of the fake objects: `State` is stored behind an object's address, as Metal's objects are
/// Objective-C's.
template <class State, class... Arguments>
State* make(Arguments&&... arguments) {
    auto fresh = std::make_unique<State>(std::forward<Arguments>(arguments)...);
    State* const made = fresh.get();
    here().objects.push_back(std::move(fresh));
    return made;
}

}  // namespace stand_in

namespace NS {
/// retain and release, as in NS::Referencing.
template <class Class>
class Referencing : public stand_in::object {
public:
    Class* retain() {
        if (is_there()) ++references;
        return static_cast<Class*>(this);
    }
    void release() {
        if (!is_there() || --references != 0) return;
        static_cast<Class*>(this)->dealloc();
    }
    [[nodiscard]] UInteger retainCount() const { return references; }

protected:
    [[nodiscard]] bool is_there() const {
        if (references == 0) stand_in::mistake("message sent to deallocated instance");
        return references != 0;
    }
};
}  // namespace NS

namespace MTL {

enum CPUCacheMode : NS::UInteger { CPUCacheModeDefaultCache = 0, CPUCacheModeWriteCombined = 1 };
enum StorageMode : NS::UInteger {
    StorageModeShared = 0,
    StorageModeManaged = 1,
    StorageModePrivate = 2,
    StorageModeMemoryless = 3,
};
using ResourceOptions = NS::UInteger;
enum : NS::UInteger {
    ResourceCPUCacheModeDefaultCache = 0,
    ResourceCPUCacheModeWriteCombined = 1,
    ResourceStorageModeShared = 0,
    ResourceStorageModeManaged = 16,
    ResourceStorageModePrivate = 32,
    ResourceStorageModeMemoryless = 48,
    ResourceHazardTrackingModeDefault = 0,
    ResourceHazardTrackingModeUntracked = 256,
};
enum HeapType : NS::Integer { HeapTypeAutomatic = 0, HeapTypePlacement = 1, HeapTypeSparse = 2 };

struct SizeAndAlign {
    NS::UInteger size, align;
};

class Buffer : public NS::Referencing<Buffer> {
public:
    Buffer(Device* of, std::shared_ptr<stand_in::bytes> memory, std::size_t offset, std::size_t length,
           ResourceOptions options, Heap* in)
        : device_{of}, memory_{std::move(memory)}, offset_{offset}, length_{length}, options_{options}, heap_{in} {
        if (storageMode() == StorageModeManaged) host_copy_.resize(length);
    }

    [[nodiscard]] Device* device() const { return device_; }
    [[nodiscard]] NS::UInteger length() const { return is_there() ? length_ : 0; }
    [[nodiscard]] StorageMode storageMode() const { return static_cast<StorageMode>(options_ >> 4 & 15); }
    [[nodiscard]] ResourceOptions resourceOptions() const { return options_; }
    [[nodiscard]] Heap* heap() const { return heap_; }
    [[nodiscard]] NS::UInteger heapOffset() const { return heap_ != nullptr ? offset_ : 0; }

    void* contents() {
        if (!is_there()) return nullptr;
        if (storageMode() == StorageModePrivate) {
            stand_in::mistake("resourceOptions specify MTLResourceStorageModePrivate, which is not CPU accessible.");
            return nullptr;
        }
        return storageMode() == StorageModeManaged ? host_copy_.data() : memory_->host() + offset_;
    }
    void didModifyRange(NS::Range range) {
        if (!is_there()) return;
        if (storageMode() != StorageModeManaged)
            return stand_in::mistake(
                "didModifyRange: only applies when resourceOptions & MTLResourceStorageModeManaged.");
        if (range.location > length_ || range.length > length_ - range.location)
            return stand_in::mistake("didModifyRange: range exceeds the buffer's length.");
        std::memcpy(memory_->gpu() + offset_ + range.location, host_copy_.data() + range.location, range.length);
    }

    void dealloc();
    /// The bytes that a kernel finds at this buffer's address.
    [[nodiscard]] std::byte* gpu_bytes() const { return is_there() ? memory_->gpu() + offset_ : nullptr; }

private:
    Device* device_;
    std::shared_ptr<stand_in::bytes> memory_;
    std::size_t offset_, length_;
    ResourceOptions options_;
    Heap* heap_;
    std::vector<std::byte> host_copy_;
};

class HeapDescriptor : public NS::Referencing<HeapDescriptor> {
public:
    static HeapDescriptor* alloc() { return stand_in::make<HeapDescriptor>(); }
    HeapDescriptor* init() { return this; }
    void setSize(NS::UInteger size) { size_ = size; }
    void setType(HeapType type) { type_ = type; }
    void setResourceOptions(ResourceOptions options) { options_ = options; }
    [[nodiscard]] NS::UInteger size() const { return size_; }
    [[nodiscard]] HeapType type() const { return type_; }
    [[nodiscard]] ResourceOptions resourceOptions() const { return options_; }
    void dealloc() {}

private:
    NS::UInteger size_ = 0;
    HeapType type_ = HeapTypeAutomatic;
    ResourceOptions options_ = ResourceStorageModePrivate;
};

class Heap : public NS::Referencing<Heap> {
public:
    Heap(Device* of, std::size_t size, HeapType type, ResourceOptions options)
        : device_{of}, size_{size}, type_{type}, options_{options}, memory_{std::make_shared<stand_in::bytes>(size)} {
        if (storageMode() != StorageModePrivate) memory_->open_to_the_host();
    }

    [[nodiscard]] Device* device() const { return device_; }
    [[nodiscard]] NS::UInteger size() const { return is_there() ? size_ : 0; }
    [[nodiscard]] HeapType type() const { return type_; }
    [[nodiscard]] StorageMode storageMode() const { return static_cast<StorageMode>(options_ >> 4 & 15); }
    [[nodiscard]] ResourceOptions resourceOptions() const { return options_; }

    Buffer* newBuffer(NS::UInteger, ResourceOptions) {
        stand_in::mistake("newBufferWithLength:options: only applies to heaps of MTLHeapTypeAutomatic.");
        return nullptr;
    }
    Buffer* newBuffer(NS::UInteger length, ResourceOptions options, NS::UInteger offset);
    void dealloc() {
        stand_in::here().used -= size_;
        memory_.reset();
    }

private:
    Device* device_;
    std::size_t size_;
    HeapType type_;
    ResourceOptions options_;
    std::shared_ptr<stand_in::bytes> memory_;
};

class Device : public NS::Referencing<Device> {
public:
    [[nodiscard]] NS::UInteger maxBufferLength() const { return stand_in::here().settings.longest; }
    [[nodiscard]] NS::UInteger currentAllocatedSize() const { return stand_in::here().used; }
    [[nodiscard]] std::uint64_t recommendedMaxWorkingSetSize() const {
        return stand_in::here().settings.memory / 4 * 3;
    }
    SizeAndAlign heapBufferSizeAndAlign(NS::UInteger length, ResourceOptions) {
        const NS::UInteger align = length < 65536 ? 256 : 16384;
        return {(length + align - 1) / align * align, align};
    }
    Buffer* newBuffer(NS::UInteger length, ResourceOptions options) {
        if (!may_be_made(length, options) || !take(length)) return nullptr;
        auto memory = std::make_shared<stand_in::bytes>(length);
        if ((options >> 4 & 15) == StorageModeShared) memory->open_to_the_host();
        return stand_in::make<Buffer>(this, std::move(memory), 0, length, options, nullptr);
    }
    Buffer* newBuffer(const void* pointer, NS::UInteger length, ResourceOptions options) {
        Buffer* const made = newBuffer(length, options);
        if (made != nullptr) std::memcpy(made->gpu_bytes(), pointer, length);
        return made;
    }
    CommandQueue* newCommandQueue();
    Heap* newHeap(const HeapDescriptor* about) {
        if (!is_there()) return nullptr;
        if (about->size() == 0) {
            stand_in::mistake("heap size must be greater than 0.");
            return nullptr;
        }
        if ((about->resourceOptions() >> 4 & 15) == StorageModeMemoryless) {
            stand_in::mistake("MTLStorageModeMemoryless is not valid for a heap here.");
            return nullptr;
        }
        if (about->size() > stand_in::here().settings.memory) return nullptr;
        const std::size_t size = (about->size() + 16383) / 16384 * 16384;
        return take(size) ? stand_in::make<Heap>(this, size, about->type(), about->resourceOptions()) : nullptr;
    }
    void dealloc() {}

    /// Returns true if validation accepts such a buffer.
    [[nodiscard]] bool may_be_made(NS::UInteger length, ResourceOptions options) const {
        const auto wrong = [](const char* reason) {
            stand_in::mistake(reason);
            return false;
        };
        if (!is_there()) return false;
        if (length == 0) return wrong("Cannot create buffer of zero length.");
        if (length > maxBufferLength()) return wrong("newBufferWith*:length must not exceed maxBufferLength.");
        if ((options >> 4 & 15) >= StorageModeMemoryless) return wrong("Buffers cannot be memoryless.");
        return true;
    }

private:
    static bool take(std::size_t size) {
        stand_in::machine& m = stand_in::here();
        if (size > m.settings.memory - m.used) return false;
        m.used += size;
        return true;
    }
};

inline void Buffer::dealloc() {
    memory_.reset();
    host_copy_ = {};
    if (heap_ == nullptr) stand_in::here().used -= length_;
    else heap_->release();
}

inline Buffer* Heap::newBuffer(NS::UInteger length, ResourceOptions options, NS::UInteger offset) {
    const auto wrong = [](const char* reason) -> Buffer* {
        stand_in::mistake(reason);
        return nullptr;
    };
    if (!is_there() || !device_->may_be_made(length, options)) return nullptr;
    const SizeAndAlign needed = device_->heapBufferSizeAndAlign(length, options);
    if (type_ != HeapTypePlacement)
        return wrong("newBufferWithLength:options:offset: needs a heap of MTLHeapTypePlacement.");
    if (options != options_) return wrong("the buffer's storage mode and CPU cache mode must match the heap's.");
    if (offset % needed.align != 0) return wrong("offset must be a multiple of heapBufferSizeAndAlign's align.");
    if (offset > size_ || needed.size > size_ - offset)
        return wrong("the buffer does not fit in the heap at that offset.");
    retain();
    return stand_in::make<Buffer>(device_, memory_, offset, length, options, this);
}

enum CommandBufferStatus : NS::UInteger {
    CommandBufferStatusNotEnqueued = 0,
    CommandBufferStatusCommitted = 2,
    CommandBufferStatusCompleted = 4,
    CommandBufferStatusError = 5,
};

class BlitCommandEncoder : public NS::Referencing<BlitCommandEncoder> {
public:
    explicit BlitCommandEncoder(CommandBuffer* of) : commands_{of} {}
    void copyFromBuffer(const Buffer* from, NS::UInteger from_offset, const Buffer* to, NS::UInteger to_offset,
                        NS::UInteger size);
    void endEncoding() { has_ended_ = true; }
    [[nodiscard]] bool has_ended() const { return has_ended_; }
    void dealloc() {}

private:
    CommandBuffer* commands_;
    bool has_ended_ = false;
};

class CommandBuffer : public NS::Referencing<CommandBuffer> {
public:
    explicit CommandBuffer(CommandQueue* of) : queue_{of} {}

    BlitCommandEncoder* blitCommandEncoder() {
        if (status_ != CommandBufferStatusNotEnqueued) stand_in::mistake("encoding into a committed command buffer.");
        return encoder_ = stand_in::make<BlitCommandEncoder>(this);
    }
    void commit();
    void waitUntilCompleted();
    [[nodiscard]] CommandBufferStatus status() const { return status_; }
    void dealloc() {
        if (encoder_ != nullptr) encoder_->release();
    }

    // Called only by other parts of the fake.
    void add(std::function<void()> work, const Buffer* from, const Buffer* to) {
        work_.push_back(std::move(work));
        for (const Buffer* const each : {from, to}) kept_.push_back(const_cast<Buffer*>(each)->retain());
    }
    void execute() {
        status_ = CommandBufferStatusCompleted;
        if (stand_in::here().failing != 0) {
            --stand_in::here().failing;
            status_ = CommandBufferStatusError;
        } else {
            for (const auto& each : work_) each();
        }
        for (Buffer* const each : kept_) each->release();
    }

private:
    CommandQueue* queue_;
    CommandBufferStatus status_ = CommandBufferStatusNotEnqueued;
    BlitCommandEncoder* encoder_ = nullptr;
    std::vector<std::function<void()>> work_;
    std::vector<Buffer*> kept_;
};

class CommandQueue : public NS::Referencing<CommandQueue> {
public:
    explicit CommandQueue(Device* of) : device_{of} {}
    [[nodiscard]] Device* device() const { return device_; }
    CommandBuffer* commandBuffer() {
        if (!is_there()) return nullptr;
        return stand_in::here().pool.emplace_back(stand_in::make<CommandBuffer>(this));
    }
    void dealloc() { run_to(nullptr); }

    /// Executes all pending work, or the work up to this command buffer.
    void run_to(const CommandBuffer* last) {
        while (!waiting.empty()) {
            CommandBuffer* const next = waiting.front();
            waiting.erase(waiting.begin());
            next->execute();
            next->release();
            if (next == last) return;
        }
    }
    std::vector<CommandBuffer*> waiting;

private:
    Device* device_;
};

inline CommandQueue* Device::newCommandQueue() { return stand_in::make<CommandQueue>(this); }

inline void CommandBuffer::commit() {
    if (status_ != CommandBufferStatusNotEnqueued)
        return stand_in::mistake("commit an already committed command buffer.");
    if (encoder_ != nullptr && !encoder_->has_ended())
        return stand_in::mistake("commit command buffer with uncommitted encoder.");
    status_ = CommandBufferStatusCommitted;
    queue_->waiting.push_back(retain());
}
inline void CommandBuffer::waitUntilCompleted() {
    if (status_ == CommandBufferStatusNotEnqueued)
        return stand_in::mistake("waitUntilCompleted on a command buffer that was not committed.");
    if (status_ == CommandBufferStatusCommitted) queue_->run_to(this);
}
inline void BlitCommandEncoder::copyFromBuffer(const Buffer* from, NS::UInteger from_offset, const Buffer* to,
                                               NS::UInteger to_offset, NS::UInteger size) {
    const auto is_inside = [size](const Buffer* each, NS::UInteger offset) {
        return offset <= each->length() && size <= each->length() - offset;
    };
    if (has_ended_) return stand_in::mistake("encoding after endEncoding.");
    if (!is_inside(from, from_offset) || !is_inside(to, to_offset))
        return stand_in::mistake("copyFromBuffer: the range exceeds a buffer's length.");
    if (from_offset % 4 != 0 || to_offset % 4 != 0 || size % 4 != 0)
        return stand_in::mistake("copyFromBuffer: offsets and size must be multiples of 4.");
    const auto work = [=] { std::memmove(to->gpu_bytes() + to_offset, from->gpu_bytes() + from_offset, size); };
    commands_->add(work, from, to);
}

inline Device* CreateSystemDefaultDevice() {
    return stand_in::here().settings.device ? stand_in::make<Device>() : nullptr;
}

}  // namespace MTL

namespace stand_in {
/// Acts like the end of an NS::AutoreleasePool.
inline void drain() {
    for (MTL::CommandBuffer* const each : std::exchange(here().pool, {})) each->release();
}
}  // namespace stand_in
