#include "driver.hpp"

#include "../payloads.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>

struct _cl_mem {
    enum { buffer, image } kind = buffer;
    unsigned references = 1;
    unsigned char* bytes = nullptr;
    std::size_t size = 0;  // of a buffer
    cl_mem parent = nullptr;
    std::vector<void*> mapped{};
    cl_mem_flags flags = 0;
    void* host = nullptr;
    cl_image_format format{};
    std::size_t width = 0, height = 0, pitch = 0, pixel = 0;
    std::unique_ptr<unsigned char[]> own{};
    std::unique_ptr<fake::held_payload> payload{};  // of another driver
    bool acquired = false;                          // by a command, for OpenCL

    [[nodiscard]] bool is_live() const { return references != 0; }
};
struct _cl_context {};
struct _cl_device_id {};
struct _cl_command_queue {};
struct _cl_event {
    unsigned references = 1;
    cl_int status = CL_COMPLETE;
};

namespace {

struct state {
    fake::rules rules;
    fake::journal journal;
    std::vector<std::unique_ptr<_cl_mem>> all;  // also released ones: a handle stays valid
    std::vector<std::unique_ptr<_cl_event>> all_events;
};
state& now() {
    static state one;
    return one;
}
_cl_context the_context;
_cl_device_id the_device;
_cl_command_queue the_queue;

void violation(const char* what) { now().journal.violations.emplace_back(what); }

cl_mem refuse(cl_int reason, cl_int* status) {
    *status = reason;
    return nullptr;
}
cl_mem add(std::unique_ptr<_cl_mem> fresh, cl_int* status) {
    ++(fresh->kind == _cl_mem::buffer ? now().journal.buffers : now().journal.images);
    now().all.push_back(std::move(fresh));
    *status = CL_SUCCESS;
    return now().all.back().get();
}

/// Bytes of a pixel of four channels; 0 for an unsupported format, which includes those with one byte per channel.
std::size_t pixel_of(const cl_image_format& format) {
    if (format.image_channel_order != CL_RGBA) return 0;
    switch (format.image_channel_data_type) {
        case CL_HALF_FLOAT:
        case CL_SIGNED_INT16:
        case CL_UNSIGNED_INT16: return 8;
        case CL_FLOAT:
        case CL_SIGNED_INT32:
        case CL_UNSIGNED_INT32: return 16;
        default: return 0;
    }
}

bool is_usable(cl_event of) {
    if (of == nullptr) return false;
    if (of->references == 0) violation("an event was used after its destruction");
    return of->references != 0;
}
bool is_usable(cl_mem of) {
    if (of == nullptr) return false;
    for (cl_mem each = of; each != nullptr; each = each->parent) {
        if (!each->is_live()) {
            violation("memory was used after its destruction");
            return false;
        }
    }
    return true;
}

// Memory that a command uses: external memory is acquired before.
bool is_ready(cl_mem of) {
    if (!is_usable(of)) return false;
    const cl_mem root = of->parent == nullptr ? of : of->parent;
    if (root->payload && !root->acquired) violation("external memory was used by a command without being acquired");
    return true;
}

template <class Value>
cl_int answer(std::size_t room, void* to, Value value) {
    if (room < sizeof value) return CL_INVALID_VALUE;
    std::memcpy(to, &value, sizeof value);
    return CL_SUCCESS;
}

/// Calls `copy(pixels in the image, row number)` for each row of a part of an image.
template <class Copy>
cl_int for_rows(cl_mem image, const std::size_t* origin, const std::size_t* region, Copy&& copy) {
    if (!is_usable(image)) return CL_INVALID_MEM_OBJECT;
    if (origin[0] + region[0] > image->width || origin[1] + region[1] > image->height) return CL_INVALID_VALUE;
    for (std::size_t y = 0; y != region[1]; ++y)
        copy(image->bytes + (origin[1] + y) * image->pitch + origin[0] * image->pixel, y);
    return CL_SUCCESS;
}
/// Whether a command may use a part of a buffer: one without bytes is refused.
bool is_part(cl_mem buffer, std::size_t offset, std::size_t size) {
    return size != 0 && offset <= buffer->size && size <= buffer->size - offset;
}

}  // namespace

namespace fake {
rules& rule() { return now().rules; }
journal& book() { return now().journal; }
void start() { now() = {}; }
cl::Context context() { return cl::Context{&the_context, true}; }
cl::Device device() { return cl::Device{&the_device, true}; }
cl::CommandQueue queue() { return cl::CommandQueue{&the_queue, true}; }
}  // namespace fake

extern "C" {

cl_int clRetainDevice(cl_device_id) { return CL_SUCCESS; }
cl_int clReleaseDevice(cl_device_id) { return CL_SUCCESS; }
cl_int clRetainContext(cl_context) { return CL_SUCCESS; }
cl_int clReleaseContext(cl_context) { return CL_SUCCESS; }
cl_int clRetainCommandQueue(cl_command_queue) { return CL_SUCCESS; }
cl_int clReleaseCommandQueue(cl_command_queue) { return CL_SUCCESS; }
cl_int clRetainEvent(cl_event of) {
    if (!is_usable(of)) return CL_INVALID_EVENT;
    ++of->references;
    return CL_SUCCESS;
}
cl_int clReleaseEvent(cl_event of) {
    if (!is_usable(of)) return CL_INVALID_EVENT;
    if (--of->references == 0) --now().journal.events;
    return CL_SUCCESS;
}
cl_int clEnqueueMarkerWithWaitList(cl_command_queue, cl_uint count, const cl_event* after, cl_event* made) {
    if (now().rules.refuse_marker != CL_SUCCESS) return now().rules.refuse_marker;
    for (cl_uint i = 0; i != count; ++i) {
        if (!is_usable(after[i])) return CL_INVALID_EVENT_WAIT_LIST;
    }
    if (made == nullptr) return CL_SUCCESS;
    now().all_events.push_back(std::make_unique<_cl_event>());
    ++now().journal.events;
    *made = now().all_events.back().get();
    (*made)->status = now().rules.status_of_markers;
    return CL_SUCCESS;
}
cl_int clEnqueueBarrierWithWaitList(cl_command_queue, cl_uint count, const cl_event* after, cl_event*) {
    if (now().rules.refuse_barrier != CL_SUCCESS) return now().rules.refuse_barrier;
    for (cl_uint i = 0; i != count; ++i) {
        if (!is_usable(after[i])) return CL_INVALID_EVENT_WAIT_LIST;
    }
    ++now().journal.barriers;
    return CL_SUCCESS;
}
cl_int clFlush(cl_command_queue) { return now().rules.refuse_flush; }
cl_int clWaitForEvents(cl_uint, const cl_event* of) {
    if (!is_usable(*of)) return CL_INVALID_EVENT;
    ++now().journal.waits;
    return (*of)->status < 0 ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_SUCCESS;
}
cl_int clGetEventInfo(cl_event of, cl_event_info what, size_t room, void* to, size_t*) {
    if (now().rules.refuse_event_info != CL_SUCCESS) return now().rules.refuse_event_info;
    if (!is_usable(of)) return CL_INVALID_EVENT;
    return what == CL_EVENT_COMMAND_EXECUTION_STATUS ? answer(room, to, of->status) : CL_INVALID_VALUE;
}

cl_int clGetDeviceInfo(cl_device_id, cl_device_info what, size_t room, void* to, size_t* size) {
    const fake::rules& rules = now().rules;
    if (size != nullptr) *size = room;
    switch (what) {
        case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
            return answer(room, to, rules.base_align == 0 ? cl_uint{4} : cl_uint{rules.base_align * 8});
        case CL_DEVICE_MAX_MEM_ALLOC_SIZE: return answer(room, to, cl_ulong{rules.most_bytes});
        case CL_DEVICE_HOST_UNIFIED_MEMORY: return answer(room, to, cl_bool{rules.unified});
        case CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR: {
            std::vector<cl_external_memory_handle_type_khr> types;
            if (rules.imports_dma_buffers) types.push_back(CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR);
            if (rules.imports_opaque) types.push_back(CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR);
            if (types.empty() || room < types.size() * sizeof types[0]) return CL_INVALID_VALUE;
            *size = types.size() * sizeof types[0];
            std::memcpy(to, types.data(), *size);
            return CL_SUCCESS;
        }
        case CL_DEVICE_UUID_KHR:
            if (rules.device_uuid == 0) return CL_INVALID_VALUE;
            return answer(room, to, std::array<unsigned char, CL_UUID_SIZE_KHR>{rules.device_uuid});
        case CL_DEVICE_PLATFORM: return answer(room, to, cl_platform_id{});
        case CL_DEVICE_IMAGE_SUPPORT: return answer(room, to, cl_bool{CL_TRUE});
        case CL_DEVICE_IMAGE2D_MAX_WIDTH:
        case CL_DEVICE_IMAGE2D_MAX_HEIGHT: return answer(room, to, rules.largest);
        case CL_DEVICE_IMAGE_PITCH_ALIGNMENT: return answer(room, to, rules.pitch_align);
        case CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT: return answer(room, to, rules.image_base_align);
        default: return CL_INVALID_VALUE;
    }
}
cl_int clGetCommandQueueInfo(cl_command_queue, cl_command_queue_info what, size_t room, void* to, size_t*) {
    switch (what) {
        case CL_QUEUE_CONTEXT: return answer(room, to, cl_context{&the_context});
        case CL_QUEUE_DEVICE: return answer(room, to, cl_device_id{&the_device});
        case CL_QUEUE_PROPERTIES: return answer(room, to, now().rules.queue_properties);
        default: return CL_INVALID_VALUE;
    }
}
cl_int clGetSupportedImageFormats(cl_context, cl_mem_flags, cl_mem_object_type, cl_uint room, cl_image_format* to,
                                  cl_uint* count) {
    const cl_image_format all[] = {{CL_R, CL_SIGNED_INT8},       {CL_RGBA, CL_HALF_FLOAT},
                                   {CL_RGBA, CL_FLOAT},          {CL_RGBA, CL_SIGNED_INT16},
                                   {CL_RGBA, CL_UNSIGNED_INT16}, {CL_RGBA, CL_SIGNED_INT32},
                                   {CL_RGBA, CL_UNSIGNED_INT32}};
    if (count != nullptr) *count = cl_uint{std::size(all)};
    if (to != nullptr) std::copy_n(all, std::min<std::size_t>(room, std::size(all)), to);
    return CL_SUCCESS;
}

cl_mem clCreateBuffer(cl_context, cl_mem_flags flags, size_t size, void* host, cl_int* status) {
    if (size == 0 || size > now().rules.most_bytes) return refuse(CL_INVALID_BUFFER_SIZE, status);
    if (((flags & CL_MEM_USE_HOST_PTR) != 0) != (host != nullptr)) return refuse(CL_INVALID_HOST_PTR, status);
    if (now().rules.buffers_left == 0) return refuse(CL_MEM_OBJECT_ALLOCATION_FAILURE, status);
    --now().rules.buffers_left;
    auto fresh = std::make_unique<_cl_mem>();
    fresh->size = size;
    fresh->flags = flags;
    fresh->host = host;
    if (host == nullptr) {
        fresh->own = std::make_unique<unsigned char[]>(size);
        host = fresh->own.get();
    }
    fresh->bytes = static_cast<unsigned char*>(host);
    return add(std::move(fresh), status);
}
cl_mem clCreateBufferWithProperties(cl_context, const cl_mem_properties* of, cl_mem_flags flags, size_t size,
                                    void* host, cl_int* status) {
    if (of == nullptr || host != nullptr) return refuse(CL_INVALID_HOST_PTR, status);
    if ((flags & (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0)
        return refuse(CL_INVALID_VALUE, status);
    const bool is_dma = of[0] == CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR;
    if (!is_dma && of[0] != CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR) return refuse(CL_INVALID_PROPERTY, status);
    if (of[2] != CL_DEVICE_HANDLE_LIST_KHR || reinterpret_cast<cl_device_id>(of[3]) != &the_device ||
        of[4] != CL_DEVICE_HANDLE_LIST_END_KHR || of[5] != 0 ||
        !(is_dma ? now().rules.imports_dma_buffers : now().rules.imports_opaque))
        return refuse(CL_INVALID_DEVICE, status);
    const auto descriptor = static_cast<int>(of[1]);
    if (!fake::is_of_kind(descriptor, is_dma ? fake::dma_buffer : fake::opaque)) {
        violation("an imported descriptor is closed or of another kind");
        return refuse(CL_INVALID_PROPERTY, status);
    }
    if (now().rules.refuse_import != CL_SUCCESS) return refuse(now().rules.refuse_import, status);
    if (size == 0 || size > now().rules.most_bytes || size > fake::size_of(descriptor))
        return refuse(CL_INVALID_BUFFER_SIZE, status);
    auto fresh = std::make_unique<_cl_mem>();
    fresh->size = size;
    fresh->flags = flags;
    fresh->payload = std::make_unique<fake::held_payload>(descriptor);  // owns the descriptor from now on
    fresh->bytes = reinterpret_cast<unsigned char*>(fresh->payload->data());
    return add(std::move(fresh), status);
}
cl_mem clCreateSubBuffer(cl_mem parent, cl_mem_flags, cl_buffer_create_type, const void* info, cl_int* status) {
    if (now().rules.refuse_sub_buffer != CL_SUCCESS) return refuse(now().rules.refuse_sub_buffer, status);
    const auto where = *static_cast<const cl_buffer_region*>(info);
    if (!is_usable(parent) || parent->kind != _cl_mem::buffer || parent->parent != nullptr)
        return refuse(CL_INVALID_MEM_OBJECT, status);
    if (where.size == 0) return refuse(CL_INVALID_BUFFER_SIZE, status);
    if (!is_part(parent, where.origin, where.size)) return refuse(CL_INVALID_VALUE, status);
    if (!now().rules.any_origin && now().rules.base_align != 0 && where.origin % now().rules.base_align != 0)
        return refuse(CL_MISALIGNED_SUB_BUFFER_OFFSET, status);
    auto fresh = std::make_unique<_cl_mem>();
    fresh->size = where.size;
    fresh->flags = parent->flags;
    fresh->host = parent->host == nullptr ? nullptr : static_cast<unsigned char*>(parent->host) + where.origin;
    fresh->bytes = parent->bytes + where.origin;
    fresh->parent = parent;
    return add(std::move(fresh), status);
}
cl_mem clCreateImage(cl_context, cl_mem_flags flags, const cl_image_format* format, const cl_image_desc* wanted, void*,
                     cl_int* status) {
    const fake::rules& rules = now().rules;
    const std::size_t pixel = pixel_of(*format), row = wanted->image_width * pixel;
    if (pixel == 0) return refuse(CL_IMAGE_FORMAT_NOT_SUPPORTED, status);
    if (wanted->image_width == 0 || wanted->image_height == 0 || wanted->image_width > rules.largest ||
        wanted->image_height > rules.largest)
        return refuse(CL_INVALID_IMAGE_SIZE, status);
    auto fresh = std::make_unique<_cl_mem>();
    fresh->kind = _cl_mem::image;
    fresh->format = *format;
    fresh->flags = flags;
    fresh->width = wanted->image_width;
    fresh->height = wanted->image_height;
    fresh->pixel = pixel;
    if (const cl_mem over = wanted->buffer; over != nullptr) {
        if (!is_usable(over)) return refuse(CL_INVALID_MEM_OBJECT, status);
        if (rules.refuse_image_over != CL_SUCCESS) return refuse(rules.refuse_image_over, status);
        const std::size_t pitch = wanted->image_row_pitch;
        const bool has_pitch = rules.pitch_align != 0 && pitch >= row && pitch % (rules.pitch_align * pixel) == 0;
        const bool has_base = over->host == nullptr ||
                              reinterpret_cast<std::uintptr_t>(over->host) % (rules.image_base_align * pixel) == 0;
        if (!has_pitch || !has_base || pitch * wanted->image_height > over->size) {
            ++now().journal.refused_over;
            return refuse(CL_INVALID_IMAGE_DESCRIPTOR, status);
        }
        ++now().journal.made_over;
        fresh->pitch = pitch;
        fresh->bytes = over->bytes;
        fresh->parent = over;
    } else {
        fresh->pitch = row;
        fresh->own = std::make_unique<unsigned char[]>(row * wanted->image_height);
        fresh->bytes = fresh->own.get();
    }
    return add(std::move(fresh), status);
}

cl_int clRetainMemObject(cl_mem of) {
    if (!is_usable(of)) return CL_INVALID_MEM_OBJECT;
    ++of->references;
    return CL_SUCCESS;
}
cl_int clReleaseMemObject(cl_mem of) {
    if (of == nullptr || !of->is_live()) {
        violation("memory was released after its destruction");
        return CL_INVALID_MEM_OBJECT;
    }
    if (--of->references != 0) return CL_SUCCESS;
    if (!of->mapped.empty()) violation("memory was destroyed while it was mapped");
    for (const auto& each : now().all) {
        if (each->parent == of && each->is_live()) violation("a buffer was destroyed before an object over it");
    }
    --(of->kind == _cl_mem::buffer ? now().journal.buffers : now().journal.images);
    if (of->own != nullptr && of->kind == _cl_mem::buffer) std::memset(of->bytes, 0xDD, of->size);
    of->payload.reset();
    return CL_SUCCESS;
}
cl_int clGetMemObjectInfo(cl_mem of, cl_mem_info what, size_t room, void* to, size_t*) {
    if (!is_usable(of)) return CL_INVALID_MEM_OBJECT;
    switch (what) {
        case CL_MEM_ASSOCIATED_MEMOBJECT: return answer(room, to, of->parent);
        case CL_MEM_CONTEXT: return answer(room, to, cl_context{&the_context});
        case CL_MEM_FLAGS: return answer(room, to, of->flags);
        case CL_MEM_HOST_PTR: return answer(room, to, of->host);
        default: return CL_INVALID_VALUE;
    }
}

cl_int clEnqueueReadBuffer(cl_command_queue, cl_mem from, cl_bool, size_t offset, size_t size, void* to, cl_uint,
                           const cl_event*, cl_event*) {
    if (!is_ready(from)) return CL_INVALID_MEM_OBJECT;
    if (!is_part(from, offset, size)) return CL_INVALID_VALUE;
    ++now().journal.transfers;
    std::memcpy(to, from->bytes + offset, size);
    return CL_SUCCESS;
}
cl_int clEnqueueWriteBuffer(cl_command_queue, cl_mem to, cl_bool, size_t offset, size_t size, const void* from, cl_uint,
                            const cl_event*, cl_event*) {
    if (!is_ready(to)) return CL_INVALID_MEM_OBJECT;
    if (!is_part(to, offset, size)) return CL_INVALID_VALUE;
    ++now().journal.transfers;
    std::memcpy(to->bytes + offset, from, size);
    return CL_SUCCESS;
}
cl_int clEnqueueCopyBuffer(cl_command_queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size,
                           cl_uint, const cl_event*, cl_event*) {
    if (!is_ready(from) || !is_ready(to)) return CL_INVALID_MEM_OBJECT;
    if (!is_part(from, from_offset, size) || !is_part(to, to_offset, size)) return CL_INVALID_VALUE;
    const unsigned char *const source = from->bytes + from_offset, *const target = to->bytes + to_offset;
    if (source < target + size && target < source + size) {
        violation("the bytes of a copy overlap");
        return CL_MEM_COPY_OVERLAP;
    }
    std::memcpy(to->bytes + to_offset, source, size);
    return CL_SUCCESS;
}
void* clEnqueueMapBuffer(cl_command_queue, cl_mem of, cl_bool, cl_map_flags, size_t offset, size_t size, cl_uint,
                         const cl_event*, cl_event*, cl_int* status) {
    *status = !is_ready(of) ? CL_INVALID_MEM_OBJECT : !is_part(of, offset, size) ? CL_INVALID_VALUE : CL_SUCCESS;
    if (*status != CL_SUCCESS) return nullptr;
    ++now().journal.maps;
    of->mapped.push_back(of->bytes + offset);
    return of->mapped.back();
}
cl_int clEnqueueUnmapMemObject(cl_command_queue, cl_mem of, void* at, cl_uint, const cl_event*, cl_event*) {
    if (!is_usable(of)) return CL_INVALID_MEM_OBJECT;
    const auto found = std::find(of->mapped.begin(), of->mapped.end(), at);
    if (found == of->mapped.end()) {
        violation("a pointer was unmapped that is not mapped");
        return CL_INVALID_VALUE;
    }
    of->mapped.erase(found);
    return CL_SUCCESS;
}
cl_int clFinish(cl_command_queue) {
    ++now().journal.waits;
    return CL_SUCCESS;
}
cl_int clEnqueueReadImage(cl_command_queue, cl_mem from, cl_bool, const size_t* origin, const size_t* region,
                          size_t pitch, size_t, void* to, cl_uint, const cl_event*, cl_event*) {
    return for_rows(from, origin, region, [&](const unsigned char* pixels, std::size_t y) {
        const std::size_t row = region[0] * from->pixel;
        std::memcpy(static_cast<unsigned char*>(to) + y * (pitch == 0 ? row : pitch), pixels, row);
    });
}
cl_int clEnqueueWriteImage(cl_command_queue, cl_mem to, cl_bool, const size_t* origin, const size_t* region,
                           size_t pitch, size_t, const void* from, cl_uint, const cl_event*, cl_event*) {
    return for_rows(to, origin, region, [&](unsigned char* pixels, std::size_t y) {
        const std::size_t row = region[0] * to->pixel;
        std::memcpy(pixels, static_cast<const unsigned char*>(from) + y * (pitch == 0 ? row : pitch), row);
    });
}
cl_int clEnqueueCopyBufferToImage(cl_command_queue, cl_mem from, cl_mem to, size_t offset, const size_t* origin,
                                  const size_t* region, cl_uint, const cl_event*, cl_event*) {
    if (!is_ready(from)) return CL_INVALID_MEM_OBJECT;
    if (!is_part(from, offset, region[0] * region[1] * to->pixel)) return CL_INVALID_VALUE;
    return for_rows(to, origin, region, [&](unsigned char* pixels, std::size_t y) {
        const std::size_t row = region[0] * to->pixel;
        std::memcpy(pixels, from->bytes + offset + y * row, row);
    });
}
cl_int clEnqueueCopyImageToBuffer(cl_command_queue, cl_mem from, cl_mem to, const size_t* origin, const size_t* region,
                                  size_t offset, cl_uint, const cl_event*, cl_event*) {
    if (!is_ready(to)) return CL_INVALID_MEM_OBJECT;
    if (!is_part(to, offset, region[0] * region[1] * from->pixel)) return CL_INVALID_VALUE;
    return for_rows(from, origin, region, [&](const unsigned char* pixels, std::size_t y) {
        const std::size_t row = region[0] * from->pixel;
        std::memcpy(to->bytes + offset + y * row, pixels, row);
    });
}

static cl_int turn(cl_uint count, const cl_mem* all, cl_uint waits, const cl_event* after, cl_event* made,
                   bool acquired) {
    if ((count == 0) != (all == nullptr)) return CL_INVALID_VALUE;
    if ((waits == 0) != (after == nullptr)) return CL_INVALID_EVENT_WAIT_LIST;
    for (cl_uint i = 0; i != count; ++i) {
        if (!is_usable(all[i]) || !all[i]->payload) return CL_INVALID_MEM_OBJECT;
        all[i]->acquired = acquired;
    }
    ++(acquired ? now().journal.acquires : now().journal.releases);
    return made == nullptr ? CL_SUCCESS : clEnqueueMarkerWithWaitList(&the_queue, waits, after, made);
}
cl_int clEnqueueAcquireExternalMemObjectsKHR(cl_command_queue, cl_uint count, const cl_mem* all, cl_uint waits,
                                             const cl_event* after, cl_event* made) {
    return turn(count, all, waits, after, made, true);
}
cl_int clEnqueueReleaseExternalMemObjectsKHR(cl_command_queue, cl_uint count, const cl_mem* all, cl_uint waits,
                                             const cl_event* after, cl_event* made) {
    return turn(count, all, waits, after, made, false);
}
void* clGetExtensionFunctionAddressForPlatform(cl_platform_id, const char* name) {
    if (!now().rules.has_external_commands) return nullptr;
    const std::string_view wanted{name};
    if (wanted == "clEnqueueAcquireExternalMemObjectsKHR")
        return reinterpret_cast<void*>(&clEnqueueAcquireExternalMemObjectsKHR);
    if (wanted == "clEnqueueReleaseExternalMemObjectsKHR")
        return reinterpret_cast<void*>(&clEnqueueReleaseExternalMemObjectsKHR);
    return nullptr;
}

}  // extern "C"
