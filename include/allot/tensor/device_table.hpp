// SPDX-License-Identifier: BSL-1.0
// device_table: a table in a device's memory that the host changes while kernels read
// it, such as the rows of a tensor or the pages of sequences.
//
//     allot::opencl::events line;
//     const allot::opencl::queue_copy copy{queue, allot::opencl::mapping::never};
//     auto table = allot::alloc_device_table<std::uint32_t>(memory, line, {.entries = 1024}).value();
//     if (!table.set(0, pages)) …                              // host only: a span of entries, or one entry
//     auto now = table.publish(queue(), copy);                 // before each launch
//     if (!now) report(now.error().what());
//     allot::opencl::set_arg(kernel, 0, *now);                 // the buffer and the offset of this version
//     …                                                        // enqueue the kernel on `queue`
//
//     host entries   │ 3 │ 7 │ 7 │ 9 │              `set` writes here, and marks the entry in each version
//                          └─┬─┘  changed entries
//     staging        │ 3 │ 7 │ 7 │ 9 │              one for each version: unchanged until the version is free again
//                          └─┬─┘  in the order of the queue
//     version 1      │ 3 │ 7 │ 7 │ 9 │ ◄── the next kernel
//     version 0      │ 3 │ 2 │ 5 │ 9 │ ◄── a kernel in flight
//
// `publish` copies the changed entries to a version that no work in flight reads, and returns that version. Without a
// change it returns the version of the last call. A version belongs to all work that is submitted to the queue before
// the next call of `publish` with a change, also to work on other queues that called `publish`: a later queue waits for
// the upload. The next change records a point on these queues; the version is free when the points have passed. If no
// version is free, `publish` allocates a further one, up to `device_table_options::versions`, and then waits on the
// host for the oldest one, or fails with `refusal::pending`.
//
// The copy methods are those of `copy_tensor` (core/copy_path.hpp), in order of preference. They must work in the order
// of the queue, or be complete when they return. `publish` does not wait for them, because the staging memory stays
// unchanged. Staging memory is on the host's heap, or from an allocator of yours: pinned memory for CUDA and HIP, and
// for Vulkan host-visible memory, which takes `mapped_copy` for the first step and `command_copy` for the second.
// Commands that are only recorded are submitted before the next call of `publish`, with a barrier before the kernel.
//
// An entry is any type that a kernel reads: a 32-bit index of a row or page, a 64-bit offset, or an address in memory
// whose addresses are pointers. `set(first, tensor.table())` takes the entries of a discontiguous tensor.
//
// When to use: for page tables and pointer tables that change between launches.
// When not to use: for a table that is written once. Write it to host memory and copy it with `copy_tensor`.
//
// Complexity: `set` is O(entries × versions). `publish` is O(entries / 64) and one copy for each run of changed
// entries, one point for each queue of the last version, and one query for each version in flight.
// Memory: on the host, the entries, one bit an entry and version, and the staging memory of each version; on the
// device, the versions.
// Thread safety: none. Synchronize the table and the allocators.
#pragma once

#include <allot/arena/naive.hpp>
#include <allot/core/timeline.hpp>
#include <allot/host/heap.hpp>
#include <allot/tensor/copy.hpp>
#include <allot/tensor/detail/table_versions.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <new>
#include <span>

namespace allot {
inline namespace v1 {

/// The options of a device table.
struct device_table_options {
    unsigned versions = 3;  ///< The maximum number of versions in the device's memory, at least 2.
    unsigned queues = 4;    ///< The maximum number of queues whose work uses one version.
    bool waits = true;      ///< Whether `publish` waits on the host if no version is free. Otherwise it fails.
    /// The number of unchanged entries between two changed ones that one copy includes, to save a call of the driver.
    std::size_t joined = 0;
};

/// The request for a device table.
struct device_table_request {
    std::size_t entries = 0;  ///< The number of entries.
    std::size_t align = 64;   ///< The alignment of each version in the device's memory.
};

/// A version of a device table, for the arguments of a kernel.
template <class Address>
struct table_version {
    Address address{};         ///< The first entry in the device's memory.
    std::size_t size = 0;      ///< The number of bytes.
    std::size_t uploaded = 0;  ///< The number of entries that the call copied; 0 if nothing had changed.
    std::uint64_t number = 0;  ///< The number of changes that were published, from 1 on.
};

/// A table of `Value` in a device's memory. `alloc_device_table` creates it. If the type of an allocator or of the
/// timeline is a reference, the object must outlive the table. Otherwise the table owns it. The destructor waits for
/// the work that uses a version: the queues must exist then, or be detached.
template <class Value, class Memory, class Timeline, class Staging = naive<host::heap>,
          device_table_options Options = device_table_options{}>
class device_table {
    using memory_type = std::remove_reference_t<Memory>;
    using staging_type = std::remove_reference_t<Staging>;
    using line_type = std::remove_reference_t<Timeline>;
    static_assert(allocator_requirements<Memory>() && allocator_requirements<Staging>());
    static_assert(timeline<line_type>,
                  "allot: the second argument of alloc_device_table is a timeline, such as cuda::events, "
                  "opencl::events or vulkan::timeline_semaphores: core/timeline.hpp lists its functions");
    static_assert(std::is_trivially_copyable_v<Value> && std::equality_comparable<Value>,
                  "allot: the device reads the bytes of a table's entries: use a trivially copyable type with ==");
    static_assert(linear_address_model<typename memory_type::address_model> &&
                      linear_address_model<typename staging_type::address_model>,
                  "allot: a device table needs contiguous memory");
    static_assert(Options.versions >= 2,
                  "allot: device_table_options::versions must be at least 2: one for a kernel, and one to write");
    static_assert(Options.queues >= 1, "allot: device_table_options::queues must be at least 1");

public:
    /// The object behind the handle.
    using versions_type = detail::table_versions<Value, Memory, Timeline, Staging, Options>;
    using value_type = Value;                                           ///< An entry.
    using queue_type = typename line_type::queue_type;                  ///< The driver's handle of a queue.
    using error_type = typename line_type::error_type;                  ///< The driver's error.
    using address_type = typename memory_type::address_model::address;  ///< The address of an entry on the device.
    using version_type = table_version<address_type>;                   ///< A version.

    /// Creates an empty handle.
    device_table() noexcept = default;
    /// Creates a table. `alloc_device_table` calls it.
    explicit device_table(std::unique_ptr<versions_type> made) noexcept : versions_{std::move(made)} {}

    /// Returns false for an empty handle. Precondition of all other functions: it is true.
    [[nodiscard]] explicit operator bool() const noexcept { return versions_ != nullptr; }
    /// Returns the number of entries.
    [[nodiscard]] std::size_t size() const noexcept { return versions_->size(); }
    /// Returns the host's entries, with the changes that are not published yet.
    [[nodiscard]] std::span<const Value> entries() const noexcept { return {versions_->entries(), size()}; }
    /// Returns the number of versions in the device's memory.
    [[nodiscard]] std::size_t versions() const noexcept { return versions_->count(); }

    /// Sets the entries from `first` on. Work that calls `publish` afterwards uses them. Entries with the same value do
    /// not count as changed. The values can be entries of this table: `set(1, entries().first(n))` moves them up.
    /// Returns false and changes nothing if the table ends before.
    [[nodiscard]] bool set(std::size_t first, std::span<const Value> values) noexcept {
        if (first > size() || values.size() > size() - first) return false;
        const bool is_moved_up = std::less<const Value*>{}(values.data(), entries().data() + first);
        for (std::size_t i = 0; i != values.size(); ++i) {
            const std::size_t at = is_moved_up ? values.size() - 1 - i : i;  // no value is read after it was replaced
            versions_->set(first + at, values[at]);
        }
        return true;
    }
    /// Sets one entry. Returns false if there is no such entry.
    [[nodiscard]] bool set(std::size_t at, const Value& value) noexcept {
        return set(at, std::span<const Value>{&value, 1});
    }
    /// Sets the entries from `first` on to those of a table of rows, for example `tensor.table()`. Kernels count
    /// indices and offsets from the origin of that table. Returns false and changes nothing if the table ends before.
    template <class Table>
    [[nodiscard]] bool set(std::size_t first, const row_table<Table>& rows) noexcept {
        static_assert(
            std::same_as<typename Table::value, Value>,
            "allot: the entries of this row table have another type: use alloc_device_table<T> with the type of "
            "its entries, std::uint32_t for row_index<>");
        return set(first, std::span<const Value>{rows.entries, rows.count});
    }

    /// Returns the version with the host's entries, for work that is submitted to the queue from now on. Copies what
    /// has changed by the first of `ways` that supports it, or by the host. On failure, the last version stays in use
    /// and the changes remain for the next call. Fails with `copy_failed` and the driver's code in
    /// `memory.device_error`, with `no_way`, or with `no_memory` and a reason in `memory`: the allocator's, `pending`
    /// if no version is free and `device_table_options::waits` is false, or `over_limit` for more queues than the
    /// option permits.
    template <class... Ways>
    [[nodiscard]] tensor_result<version_type> publish(queue_type queue, Ways&&... ways) noexcept {
        static_assert((detail::way_between<std::remove_reference_t<Ways>, staging_type, memory_type> || ...) ||
                          (host_memory<staging_type> && host_memory<memory_type>),
                      "allot: the host cannot access the table's memory: give publish a method that copies from the "
                      "staging memory, such as opencl::queue_copy or cuda::stream_copy; core/copy_path.hpp lists them");
        const auto made = versions_->publish(queue, ways...);
        if (!made) return tensor_result<version_type>::failure(made.error());
        return version_type{made->version->block.address, size() * sizeof(Value), made->uploaded,
                            made->version->number};
    }
    /// Ends the use by a queue, before the driver's queue is destroyed. Its work so far may still run. Returns the
    /// driver's error; the queue is not detached then.
    [[nodiscard]] error_type detach(queue_type queue) noexcept { return versions_->detach(queue); }

private:
    std::unique_ptr<versions_type> versions_;
};

namespace detail {
template <class Value, device_table_options Options, class Memory, class Staging, class Timeline>
[[nodiscard]] tensor_result<device_table<Value, Memory&, Timeline&, Staging, Options>> make_device_table(
    Memory& memory, Staging&& staging, Timeline& line, device_table_request wanted) noexcept {
    using fresh = device_table<Value, Memory&, Timeline&, Staging, Options>;
    using answer = tensor_result<fresh>;
    std::size_t bytes = 0;
    if (wanted.entries == 0) return answer::failure({tensor_refusal::bad_shape});
    if (!checked_multiply(wanted.entries, sizeof(Value), bytes) || bytes > std::numeric_limits<std::size_t>::max() / 2)
        return answer::failure({tensor_refusal::too_large});
    if (!is_alignment(wanted.align)) return answer::failure({tensor_refusal::bad_alignment});
    std::unique_ptr<typename fresh::versions_type> made{new (std::nothrow) typename fresh::versions_type{
        memory, line, std::forward<Staging>(staging), wanted.entries, wanted.align}};
    if (made == nullptr) return answer::failure({tensor_refusal::no_host_memory});
    const tensor_error error = made->start();
    return error.reason == tensor_refusal::none ? answer{fresh{std::move(made)}} : answer::failure(error);
}
}  // namespace detail

/// Allocates a table of `entries` values that are `Value{}`, with its first version in `memory` and staging memory on
/// the host's heap. `memory` and `line` must outlive the table. Fails with `bad_shape` for no entries, `too_large`,
/// `bad_alignment`, `no_memory` or `no_host_memory`.
template <class Value = std::uint32_t, device_table_options Options = device_table_options{}, allocator Memory,
          class Timeline>
[[nodiscard]] auto alloc_device_table(Memory& memory, Timeline& line, device_table_request wanted) noexcept {
    return detail::make_device_table<Value, Options>(memory, naive<host::heap>{}, line, wanted);
}
/// Allocates a table with its staging memory from an allocator, which must outlive the table.
template <class Value = std::uint32_t, device_table_options Options = device_table_options{}, allocator Memory,
          allocator Staging, timeline Timeline>
[[nodiscard]] auto alloc_device_table(Memory& memory, Staging& staging, Timeline& line,
                                      device_table_request wanted) noexcept {
    return detail::make_device_table<Value, Options, Memory, Staging&>(memory, staging, line, wanted);
}

}  // namespace v1
}  // namespace allot
