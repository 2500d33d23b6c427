#include "fake_gpu.hpp"

#include "../../fakes/payloads.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace {

using fake_gpu::error;
using fake_gpu::kind;
using fake_gpu::stream;

using fake_gpu::capture_mode;
using fake_gpu::event;

struct stream_work;
using captured_work = std::vector<std::function<void()>>;

/// A record of an event: it is complete when its stream has executed the work before it.
struct recorded {
    bool complete = false;
    stream_work* of = nullptr;
};
/// A part of a stream's work. A part with `after` starts when that record is complete.
struct stream_part {
    std::function<void()> run;
    std::shared_ptr<recorded> after;
};
/// A stream holds its pending work. Its address is the vendor's handle.
struct stream_work {
    int device = 0;
    std::deque<stream_part> work;
    bool captures = false, is_invalidated = false;
    std::shared_ptr<captured_work> captured;  // shared with the streams that joined the capture
    capture_mode mode = capture_mode::global;
    bool is_destroyed = false;

    void push(std::function<void()> part) {
        if (captures) captured->push_back(std::move(part));
        else work.push_back({std::move(part), nullptr});
    }
};
/// An event. Its address is the vendor's handle.
struct event_state {
    int device = 0;
    std::shared_ptr<recorded> last;
    std::shared_ptr<captured_work> captured;  // the capture of which the record is a part
};

}  // namespace

struct fake_gpu::imported {
    explicit imported(int descriptor, std::size_t given) : payload{descriptor}, size{given} {}
    fake::held_payload payload;
    std::size_t size, buffers = 0;  // mapped and not freed
};

namespace {

constexpr std::size_t page = 4096, address_bytes = std::size_t{1} << 30, unit = 512;
constexpr int host = -1;

struct allocation {
    std::size_t size = 0;
    int device = host;
    fake_gpu::kind kind = kind::device;
    stream freed_on = nullptr;   // async: the stream of its free
    bool held = true;            // by the program; after the free, an async one waits for it to execute
    bool there = true;           // accessible to kernels
    std::size_t generation = 0;  // number of times it was allocated
    fake_gpu::imported* of = nullptr;
};

struct machine {
    fake_gpu::settings settings;
    std::byte* front = nullptr;  // the program's mapping
    std::byte* back = nullptr;   // the same pages, for kernels
    std::map<std::uintptr_t, allocation> all;
    std::map<int, std::size_t> used;
    std::vector<std::unique_ptr<stream_work>> streams;  // also destroyed ones with pending work
    std::map<int, stream_work> null_streams;
    std::set<event_state*> events;
    fake_gpu::event_calls calls;
    error refusal = gpu::success, event_refusal = gpu::success, fault = gpu::success, mapping_refusal = gpu::success;
    std::vector<std::unique_ptr<fake_gpu::imported>> imports;
    int file = ::memfd_create("fake_gpu", MFD_CLOEXEC);
    std::size_t wrong_frees = 0;
    std::uint64_t contexts = 0;

    machine() {
        if (file < 0 || ::ftruncate(file, static_cast<off_t>(address_bytes)) != 0) std::abort();
        front = map(file, PROT_NONE);
        back = map(file, PROT_READ | PROT_WRITE);
    }
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;
    ~machine() {
        ::munmap(front, address_bytes);
        ::munmap(back, address_bytes);
        ::close(file);
    }
    static std::byte* map(int file, int access) {
        void* const at = ::mmap(nullptr, address_bytes, access, MAP_SHARED | MAP_NORESERVE, file, 0);
        if (at == MAP_FAILED) std::abort();
        return static_cast<std::byte*>(at);
    }
};

machine& here() {
    static machine only;
    return only;
}
thread_local error last_error = gpu::success;
thread_local int current = 0;
thread_local capture_mode mode_of_thread = capture_mode::global;

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }
std::byte* kernel_side(std::uintptr_t at) { return here().back + (at - number(here().front)); }

/// The error that every call of the machine returns, if any.
error trouble() { return here().settings.driver != gpu::success ? here().settings.driver : here().fault; }

stream_work& stream_of(stream order) {
    if (order != nullptr) return *reinterpret_cast<stream_work*>(order);
    stream_work& mine = here().null_streams[current];
    mine.device = current;
    return mine;
}

bool is_known(stream order) {
    if (order == nullptr) return true;
    for (const auto& each : here().streams) {
        if (each.get() == reinterpret_cast<stream_work*>(order)) return !each->is_destroyed;
    }
    return false;
}

bool step(stream_work& from) {
    if (from.work.empty() || (from.work.front().after != nullptr && !from.work.front().after->complete)) return false;
    const stream_part next = std::move(from.work.front());
    from.work.pop_front();
    if (here().fault == gpu::success) next.run();
    return true;
}
/// Executes all work of a stream, and of other streams as far as it waits for them.
void run(stream_work& waiting) {
    while (!waiting.work.empty()) {
        if (step(waiting)) continue;
        const std::shared_ptr<recorded> before = waiting.work.front().after;
        while (!before->complete) {
            if (!step(*before->of)) run(*before->of);
        }
    }
}
void run_all() {
    for (auto& [device, each] : here().null_streams) run(each);
    for (const auto& each : here().streams) run(*each);
    std::erase_if(here().streams, [](const auto& each) { return each->is_destroyed; });
}

/// The allocation that contains all of these bytes.
allocation* holder(std::uintptr_t at, std::size_t size) {
    auto& all = here().all;
    auto found = all.upper_bound(at);
    if (found == all.begin()) return nullptr;
    --found;
    const std::size_t inside = at - found->first;
    return inside <= found->second.size && size <= found->second.size - inside ? &found->second : nullptr;
}

void protect(std::uintptr_t at, const allocation& what, int access) {
    const std::uintptr_t first = at / page * page;
    const std::size_t pages = (at - first + what.size + page - 1) / page;
    if (::mprotect(here().front + (first - number(here().front)), pages * page, access) != 0) std::abort();
}

bool is_for_the_host(kind what) { return what == kind::pinned || what == kind::managed; }
std::size_t charged(std::size_t size) { return (size + unit - 1) / unit * unit; }

/// A query, an allocation or a free ends the captures of the global mode, except in a thread of the relaxed mode.
error check_captures() {
    bool is_prohibited = false;
    for (const auto& each : here().streams) {
        if (!each->captures || each->mode != capture_mode::global || mode_of_thread == capture_mode::relaxed) continue;
        is_prohibited = each->is_invalidated = true;
    }
    return is_prohibited ? gpu::capture_unsupported : gpu::success;
}

/// The first gap between two allocations with room for a page on both sides.
error take(void** address, std::size_t size, int device, kind what) {
    machine& m = here();
    if (const error reason = trouble(); reason != gpu::success) return reason;
    if (what != kind::async && check_captures() != gpu::success) return gpu::capture_unsupported;
    if (device != host) m.contexts |= std::uint64_t{1} << device;
    if (m.refusal != gpu::success) return std::exchange(m.refusal, gpu::success);
    if (size == 0) {
        *address = nullptr;
        return gpu::success;
    }
    std::size_t& used = m.used[device];
    if (size > m.settings.memory || charged(size) > m.settings.memory - used) return gpu::out_of_memory;
    std::uintptr_t at = number(m.front) + page + m.settings.phase;
    for (const auto& [start, other] : m.all) {
        if (start >= at && start - at >= size + 2 * page) break;
        at = (start + other.size) / page * page + 2 * page + m.settings.phase;
    }
    if (at + size + page > number(m.front) + address_bytes) return gpu::out_of_memory;
    allocation fresh;
    fresh.size = size;
    fresh.device = device;
    fresh.kind = what;
    if (is_for_the_host(what)) protect(at, fresh, PROT_READ | PROT_WRITE);
    m.all.emplace(at, fresh);
    used += charged(size);
    *address = m.front + (at - number(m.front));
    return gpu::success;
}

/// Makes kernels see these bytes of a file at an address.
void show(std::uintptr_t at, std::size_t size, int file, std::size_t offset) {
    if (::mmap(kernel_side(at), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
               static_cast<off_t>(offset)) == MAP_FAILED)
        std::abort();
}

void give_up(std::map<std::uintptr_t, allocation>::iterator what) {
    if (is_for_the_host(what->second.kind)) protect(what->first, what->second, PROT_NONE);
    here().used[what->second.device] -= charged(what->second.size);
    if (what->second.of != nullptr) {
        --what->second.of->buffers;
        show(what->first, what->second.size, here().file, what->first - number(here().front));
    }
    here().all.erase(what);
}

template <class Allowed>
error free_now(void* address, error wrong, Allowed&& allowed) {
    machine& m = here();
    if (const error reason = trouble(); reason != gpu::success) return reason;
    if (check_captures() != gpu::success) return gpu::capture_unsupported;
    if (address == nullptr) return gpu::success;
    run_all();
    const auto found = m.all.find(number(address));
    if (found == m.all.end() || !found->second.held || !allowed(found->second.kind)) {
        ++m.wrong_frees;
        return wrong;
    }
    give_up(found);
    return gpu::success;
}

/// When a copy looks for its bytes: when it is enqueued, or when it executes, in the order of its stream.
enum class moment { enqueue, execution };

/// A host pointer to bytes to copy: of the host, or of an allocation.
std::byte* copy_side(const void* address, std::size_t size, moment when = moment::enqueue) {
    const std::uintptr_t at = number(address);
    if (at < number(here().front) || at >= number(here().front) + address_bytes)
        return static_cast<std::byte*>(const_cast<void*>(address));
    const allocation* const found = holder(at, size);
    if (found == nullptr) return nullptr;
    const bool in_order = when == moment::execution && found->kind == kind::async;
    return (in_order ? found->there : found->held) ? kernel_side(at) : nullptr;
}

event_state* state_of(event point) {
    auto* const state = reinterpret_cast<event_state*>(point);
    return here().events.contains(state) ? state : nullptr;
}
error trouble_of_events() {
    if (const error reason = trouble(); reason != gpu::success) return reason;
    return std::exchange(here().event_refusal, gpu::success);
}
error check_query(event point) {
    if (const error reason = trouble_of_events(); reason != gpu::success) return reason;
    if (state_of(point) == nullptr) return gpu::invalid_handle;
    if (state_of(point)->captured != nullptr) return gpu::captured_event;
    return check_captures();
}

}  // namespace

namespace fake_gpu {

struct graph_work {
    captured_work parts;
};

void start(const settings& machine_like_that) {
    machine& m = here();
    m.null_streams.clear();
    for (const auto& each : m.streams) each->work.clear();
    run_all();  // deletes destroyed streams
    for (event_state* const each : m.events) delete each;
    m.events.clear();
    m.calls = {};
    while (!m.all.empty()) give_up(m.all.begin());
    m.imports.clear();
    m.used.clear();
    m.settings = machine_like_that;
    m.refusal = m.event_refusal = m.mapping_refusal = m.fault = last_error = gpu::success;
    mode_of_thread = capture_mode::global;
    m.wrong_frees = 0;
    m.contexts = 0;
    current = 0;
}

void refuse_next(error reason) { here().refusal = reason; }
void refuse_next_mapping(error reason) { here().mapping_refusal = reason; }
std::size_t imports() { return here().imports.size(); }

void launch(stream order, void* address, std::size_t size, std::function<void(std::byte*)> kernel) {
    stream_of(order).push([at = number(address), size, run_on = std::move(kernel)] {
        const allocation* const found = holder(at, size);
        if (found == nullptr || !found->there) {
            here().fault = gpu::illegal_address;
            return;
        }
        run_on(kernel_side(at));
    });
}

bool step(stream order) { return ::step(stream_of(order)); }
void lose_devices(error reason) { here().fault = reason; }
void refuse_next_event_call(error reason) { here().event_refusal = reason; }
event_calls calls() { return here().calls; }
std::size_t events() { return here().events.size(); }
void enqueue(stream order, std::function<void()> work) { stream_of(order).push(std::move(work)); }

std::size_t live() {
    std::size_t count = 0;
    for (const auto& [at, each] : here().all) count += each.held;
    return count;
}
std::size_t wrong_frees() { return here().wrong_frees; }
std::size_t in_use(int device) { return here().used[device]; }
bool has_context(int device) { return (here().contexts >> device & 1) != 0; }

error answered(error what) {
    if (gpu::success_clears_the_last_error || what != gpu::success) last_error = what;
    return what;
}
error get_last_error() {
    if (trouble() != gpu::success) return trouble();
    return std::exchange(last_error, gpu::success);
}
error peek_at_last_error() { return trouble() != gpu::success ? trouble() : last_error; }

error get_device_count(int* count) {
    if (here().settings.driver != gpu::success) return here().settings.driver;
    *count = here().settings.devices;
    return gpu::success;
}
error get_device(int* device) {
    if (here().settings.driver != gpu::success) return here().settings.driver;
    *device = current;
    return gpu::success;
}
error set_device(int device) {
    if (here().settings.driver != gpu::success) return here().settings.driver;
    if (device < 0 || device >= here().settings.devices) return gpu::invalid_device;
    here().contexts |= std::uint64_t{1} << device;
    current = device;
    return gpu::success;
}

error import_memory(imported** fresh, int descriptor, std::size_t size, bool kind_is_right) {
    if (const error reason = trouble(); reason != gpu::success) return reason;
    if (here().refusal != gpu::success) return std::exchange(here().refusal, gpu::success);
    if (!kind_is_right || !fake::is_of_kind(descriptor, fake::opaque) || size == 0 || size > fake::size_of(descriptor))
        return gpu::invalid_value;
    here().imports.push_back(std::make_unique<imported>(descriptor, size));
    *fresh = here().imports.back().get();
    return gpu::success;
}
error map_imported(void** address, imported* of, std::size_t offset, std::size_t size) {
    if (here().mapping_refusal != gpu::success) return std::exchange(here().mapping_refusal, gpu::success);
    if (offset != 0 || size == 0 || size > of->size || here().settings.phase != 0) return gpu::invalid_value;
    if (const error reason = take(address, size, current, kind::device); reason != gpu::success) return reason;
    here().all.at(number(*address)).of = of;
    ++of->buffers;
    show(number(*address), size, of->payload.descriptor(), 0);
    return gpu::success;
}
error destroy_imported(imported* gone) {
    if (const error reason = trouble(); reason != gpu::success) return reason;
    const auto is_it = [gone](const auto& each) { return each.get() == gone; };
    const bool is_mapped = gone != nullptr && gone->buffers != 0;
    here().wrong_frees += is_mapped;
    if (is_mapped || std::erase_if(here().imports, is_it) == 0) return gpu::invalid_value;
    return gpu::success;
}
error get_uuid(unsigned char* to, int device) {
    if (const error reason = trouble(); reason != gpu::success) return reason;
    if (device < 0 || device >= here().settings.devices) return gpu::invalid_device;
    std::memset(to, 0, 16);
    to[0] = static_cast<unsigned char>(here().settings.uuid + device);
    return gpu::success;
}

error malloc_device(void** address, std::size_t size) { return take(address, size, current, kind::device); }
error malloc_host(void** address, std::size_t size) { return take(address, size, host, kind::pinned); }
error malloc_managed(void** address, std::size_t size, bool flags_are_right) {
    if (trouble() == gpu::success && (size == 0 || !flags_are_right)) return gpu::invalid_value;
    return take(address, size, host, kind::managed);
}
error free_device(void* address) {
    return free_now(address, gpu::wrong_free_device, [](kind what) { return what != kind::pinned; });
}
error free_host(void* address) {
    return free_now(address, gpu::invalid_value, [](kind what) { return what == kind::pinned; });
}

error malloc_async(void** address, std::size_t size, stream order) {
    machine& m = here();
    if (!is_known(order)) return gpu::invalid_handle;
    if (trouble() == gpu::success && m.refusal == gpu::success && size != 0) {
        for (auto& [at, each] : m.all) {
            if (each.held || each.freed_on != order || each.size < size) continue;
            each.held = true;
            ++each.generation;
            stream_of(order).push([at = at] { here().all.at(at).there = true; });
            *address = m.front + (at - number(m.front));
            return gpu::success;
        }
    }
    const error reason = take(address, size, stream_of(order).device, kind::async);
    if (reason != gpu::success) return reason;
    if (*address == nullptr) return gpu::success;
    m.all.at(number(*address)).there = false;
    stream_of(order).push([at = number(*address)] {
        if (const auto found = here().all.find(at); found != here().all.end()) found->second.there = true;
    });
    return gpu::success;
}
error free_async(void* address, stream order) {
    machine& m = here();
    if (const error reason = trouble(); reason != gpu::success) return reason;
    if (!is_known(order)) return gpu::invalid_handle;
    if (address == nullptr) return gpu::success;
    const auto found = m.all.find(number(address));
    if (found == m.all.end() || !found->second.held || found->second.kind != kind::async) {
        ++m.wrong_frees;
        return gpu::invalid_value;
    }
    found->second.held = false;
    found->second.freed_on = order;
    stream_of(order).push([at = found->first, generation = found->second.generation] {
        const auto freed = here().all.find(at);
        freed->second.there = false;
        if (!freed->second.held && freed->second.generation == generation) give_up(freed);
    });
    return gpu::success;
}

error stream_create(stream* fresh) {
    if (const error reason = trouble(); reason != gpu::success) return reason;
    here().streams.push_back(std::make_unique<stream_work>());
    here().streams.back()->device = current;
    *fresh = reinterpret_cast<stream>(here().streams.back().get());
    return gpu::success;
}
error stream_synchronize(stream order) {
    if (const error reason = trouble(); reason != gpu::success) return reason;
    if (!is_known(order)) return gpu::invalid_handle;
    run(stream_of(order));
    return here().fault;
}
error stream_destroy(stream old) {
    if (!is_known(old) || old == nullptr) return gpu::invalid_handle;
    reinterpret_cast<stream_work*>(old)->is_destroyed = true;  // its work continues
    return trouble();
}
error device_synchronize() {
    if (const error reason = trouble(); reason != gpu::success) return reason;
    run_all();
    return here().fault;
}

error event_create(event* fresh) {
    if (const error reason = trouble_of_events(); reason != gpu::success) return reason;
    auto* const made = new event_state{current, nullptr, nullptr};
    here().events.insert(made);
    ++here().calls.creations;
    *fresh = reinterpret_cast<event>(made);
    return gpu::success;
}
error event_destroy(event old) {
    if (state_of(old) == nullptr) return gpu::invalid_handle;
    here().events.erase(state_of(old));
    delete reinterpret_cast<event_state*>(old);
    return trouble();
}
error event_record(event point, stream order) {
    if (const error reason = trouble_of_events(); reason != gpu::success) return reason;
    event_state* const what = state_of(point);
    if (what == nullptr || !is_known(order) || what->device != stream_of(order).device) return gpu::invalid_handle;
    ++here().calls.records;
    stream_work& in = stream_of(order);
    what->captured = in.captures ? in.captured : nullptr;
    if (in.captures) return gpu::success;
    what->last = std::make_shared<recorded>(recorded{false, &in});
    in.push([record = what->last] { record->complete = true; });
    return gpu::success;
}
error event_query(event point) {
    ++here().calls.queries;
    if (const error reason = check_query(point); reason != gpu::success) return reason;
    const auto& last = state_of(point)->last;
    return last == nullptr || last->complete ? gpu::success : gpu::not_ready;
}
error event_synchronize(event point) {
    if (const error reason = check_query(point); reason != gpu::success) return reason;
    const std::shared_ptr<recorded> last = state_of(point)->last;
    while (last != nullptr && !last->complete && here().fault == gpu::success) {
        if (!::step(*last->of)) run(*last->of);
    }
    return here().fault;
}
error stream_wait_event(stream order, event point) {
    if (const error reason = trouble_of_events(); reason != gpu::success) return reason;
    event_state* const what = state_of(point);
    if (what == nullptr || !is_known(order)) return gpu::invalid_handle;
    ++here().calls.waits;
    stream_work& in = stream_of(order);
    if (what->captured != nullptr && !in.captures) {  // the stream joins the capture
        in.captures = true;
        in.captured = what->captured;
    }
    if (in.captures && what->captured != in.captured) return in.is_invalidated = true, gpu::capture_isolation;
    if (!in.captures && what->last != nullptr && !what->last->complete) in.work.push_back({[] {}, what->last});
    return gpu::success;
}
error exchange_capture_mode(capture_mode* mode) {
    std::swap(*mode, mode_of_thread);
    return gpu::success;
}
error begin_capture(stream order, capture_mode mode) {
    if (const error reason = trouble(); reason != gpu::success) return reason;
    if (order == nullptr || !is_known(order) || stream_of(order).captures) return gpu::invalid_handle;
    stream_of(order).captures = true;
    stream_of(order).captured = std::make_shared<captured_work>();
    stream_of(order).mode = mode;
    return gpu::success;
}
error end_capture(stream order, graph_work** graph) {
    *graph = nullptr;
    if (!is_known(order) || !stream_of(order).captures) return gpu::invalid_handle;
    const std::shared_ptr<captured_work> captured = stream_of(order).captured;
    bool is_invalidated = false;
    for (const auto& each : here().streams) {
        if (!each->captures || each->captured != captured) continue;
        each->captures = false;
        each->captured = nullptr;
        is_invalidated |= std::exchange(each->is_invalidated, false);
    }
    if (is_invalidated) return gpu::capture_invalidated;
    *graph = new graph_work{std::move(*captured)};
    return gpu::success;
}
error copy_graph(graph_work** copy, const graph_work* graph) {
    *copy = new graph_work{*graph};
    return trouble();
}
error destroy_graph(graph_work* graph) {
    delete graph;
    return trouble();
}
error launch_graph(const graph_work* graph, stream order) {
    if (const error reason = trouble(); reason != gpu::success) return reason;
    if (!is_known(order)) return gpu::invalid_handle;
    for (const auto& part : graph->parts) stream_of(order).push(part);
    return gpu::success;
}
error is_capturing(stream order, bool* active) {
    if (const error reason = trouble_of_events(); reason != gpu::success) return reason;
    if (!is_known(order)) return gpu::invalid_handle;
    if (order == nullptr) {
        for (const auto& each : here().streams) {
            if (each->captures) return gpu::capture_implicit;  // all streams of this fake are blocking ones
        }
    }
    *active = stream_of(order).captures;
    return gpu::success;
}

error memcpy(void* to, const void* from, std::size_t size) {
    if (const error reason = device_synchronize(); reason != gpu::success) return reason;
    std::byte* const target = copy_side(to, size);
    const std::byte* const source = copy_side(from, size);
    if (target == nullptr || source == nullptr) return gpu::invalid_value;
    std::memmove(target, source, size);
    return gpu::success;
}
error memcpy_async(void* to, const void* from, std::size_t size, stream order) {
    if (const error reason = trouble(); reason != gpu::success) return reason;
    if (!is_known(order)) return gpu::invalid_handle;
    if (here().refusal != gpu::success) return std::exchange(here().refusal, gpu::success);
    if (copy_side(to, size) == nullptr || copy_side(from, size) == nullptr) return gpu::invalid_value;
    stream_of(order).push([to, from, size] {
        std::byte* const target = copy_side(to, size, moment::execution);
        const std::byte* const source = copy_side(from, size, moment::execution);
        if (target == nullptr || source == nullptr) here().fault = gpu::illegal_address;
        else std::memmove(target, source, size);
    });
    return gpu::success;
}
error memset(void* to, int value, std::size_t size) {
    if (const error reason = device_synchronize(); reason != gpu::success) return reason;
    std::byte* const target = copy_side(to, size);
    if (target == nullptr) return gpu::invalid_value;
    std::memset(target, value, size);
    return gpu::success;
}
error mem_get_info(std::size_t* left, std::size_t* total) {
    if (const error reason = trouble(); reason != gpu::success) return reason;
    *total = here().settings.memory;
    *left = here().settings.memory - here().used[current];
    return gpu::success;
}
error can_access_peer(int* can, int device, int peer) {
    if (const error reason = trouble(); reason != gpu::success) return reason;
    const auto is_device = [](int ordinal) { return ordinal >= 0 && ordinal < here().settings.devices; };
    if (!is_device(device) || !is_device(peer)) return gpu::invalid_device;
    *can = device != peer && here().settings.peers ? 1 : 0;
    return gpu::success;
}
error get_owner(owner* of, const void* address) {
    *of = {};
    if (const error reason = trouble(); reason != gpu::success) return reason;
    const allocation* const found = holder(number(address), 1);
    if (found != nullptr) *of = {true, found->kind, found->device == host ? current : found->device};
    return gpu::success;
}

}  // namespace fake_gpu
