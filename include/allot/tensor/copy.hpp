// SPDX-License-Identifier: BSL-1.0
// copy_tensor: copies the elements of one tensor to another, contiguous or discontiguous, whole or a slice, between any
// two memories.
//
//     auto copied = allot::copy_tensor(from, to);                                    // memory that the host can access
//     auto copied = allot::copy_tensor(host, buffer, allot::opencl::queue_copy{queue});
//     if (copied) log(to_string(*copied)); else report(copied.error().what());       // the path that the bytes took
//
//     from   │ row 0 │ row 1 │      │ row 2 │        adjacent rows form one run; a run ends where either side ends
//     to     │     row 0, row 1     │ row 2 │
//
// The caller passes copy methods, such as a queue or a stream (core/copy_path.hpp lists them). For each run,
// `copy_tensor` tries the methods in their order; after the last, the host copies if it can access both memories.
// `staged_copy` combines two methods through host memory.
//
// Elements are copied in row-major order, so the two shapes may differ. Both tensors must have the same dtype and the
// same number of elements, and must not share bytes. All of that is checked before the first byte is written. Only a
// failing device, or a method that does not support a later run, leaves a copy incomplete. A copy of a tensor onto
// itself succeeds without effect.
//
// The target is written in whole bytes: a target that shares its last byte with other elements is rejected
// (`partial_bytes`). Elements of the target must not share bytes: the stride of each axis must exceed the reach of the
// axes with smaller strides (`bad_strides`).
//
// A copy from or to host memory is complete when `copy_tensor` returns. A copy between devices is ordered by the queue
// or stream of its method.
//
// When to use: for uploads, downloads and copies between devices, and to change the layout of rows.
// When not to use: to convert dtypes or to transpose; use a kernel. To share bytes with another library, use
// dlpack.hpp.
//
// Complexity: O(runs). Two tensors that may share bytes cost O(runs²) comparisons; two separately allocated tensors of
// a storage with a placement never do. Memory: none. Thread safety: none; the caller synchronizes access to both
// tensors.
#pragma once

#include <allot/core/copy_path.hpp>
#include <allot/tensor/runs.hpp>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace allot {
inline namespace v1 {

namespace detail {

/// Calls `use(from, to, bytes)` for each range that is contiguous on both sides, until `use` returns a value other than
/// 0. Returns that value, or 0.
template <class From, class To, class Use>
long for_each_run(const From& from, const To& to, Use&& use) noexcept {
    auto sources = runs_of(from);
    auto targets = runs_of(to);
    auto source = sources.next();
    auto target = targets.next();
    while (source.size != 0 && target.size != 0) {
        const std::size_t bytes = std::min(source.size, target.size);
        if (const long code = use(source.address, target.address, bytes); code != 0) return code;
        const auto advance = [bytes](auto& at, auto& all, auto model) {
            at.size -= bytes;
            if (at.size == 0) at = all.next();
            else at.address = decltype(model)::locate(at.address, bytes);
        };
        advance(source, sources, typename From::address_model{});
        advance(target, targets, typename To::address_model{});
    }
    return 0;
}

/// Returns whether two runs share a byte.
template <class Model>
[[nodiscard]] constexpr bool overlaps(run<typename Model::address> a, run<typename Model::address> b) noexcept {
    const std::size_t from_a = Model::position(a.address), from_b = Model::position(b.address);
    const bool behind = from_b >= from_a;
    const std::size_t distance = behind ? from_b - from_a : from_a - from_b;
    // Equal positions with different handles are different bytes.
    const bool same_memory =
        behind ? Model::locate(a.address, distance) == b.address : Model::locate(b.address, distance) == a.address;
    return same_memory && distance < (behind ? a.size : b.size);
}

/// Returns whether two leases cannot share a byte: they belong to different storages, or to two allocations of a
/// storage that records its allocations.
template <class From, class To>
[[nodiscard]] bool are_apart([[maybe_unused]] const From& from, [[maybe_unused]] const To& to) noexcept {
    constexpr bool in_storages = requires {
        typename From::storage_type::body_type;
        typename To::storage_type::body_type;
    };
    if constexpr (in_storages) {
        if (static_cast<const void*>(from.body()) != static_cast<const void*>(to.body())) return true;
        return From::is_exclusive && To::is_exclusive && from.identity() != to.identity();
    }
    return false;
}

enum class sharing : unsigned char { nothing, everything, something };

/// Returns whether two tensors share bytes; `everything` when a copy would write each element onto itself.
template <class From, class To>
[[nodiscard]] sharing shared_bytes(const From& from, const To& to) noexcept {
    if constexpr (!std::same_as<typename From::address_model, typename To::address_model>) {
        return sharing::nothing;
    } else {
        using model = typename From::address_model;
        if (are_apart(from.lease(), to.lease())) return sharing::nothing;
        const long moved = for_each_run(from, to, [](auto a, auto b, std::size_t) -> long { return a == b ? 0 : 1; });
        if (moved == 0) return sharing::everything;
        auto sources = runs_of(from);
        const auto all_targets = runs_of(to);
        for (auto source = sources.next(); source.size != 0; source = sources.next()) {
            auto targets = all_targets;
            for (auto target = targets.next(); target.size != 0; target = targets.next()) {
                if (overlaps<model>(source, target)) return sharing::something;
            }
        }
        return sharing::nothing;
    }
}

// ── copy methods ─────────────────────────────────────────────────────────────────────────────────────────────────────

template <class Way, class From, class To>
concept copies_between = requires(Way& way, typename From::address_model::address from,
                                  typename To::address_model::address to, std::size_t bytes) {
    { way.template copy<From, To>(from, to, bytes) } noexcept -> std::same_as<copied>;
};
template <class Way, class From, class To>
concept copy_function = requires(Way& way, typename From::address_model::address from,
                                 typename To::address_model::address to, std::size_t bytes) {
    { way(from, to, bytes) } -> std::convertible_to<long>;
};
template <class Way, class From, class To>
concept way_between = copies_between<Way, From, To> || copy_function<Way, From, To>;

/// Copies a run. Returns `copy_path::none` when the method does not support these memories.
template <class From, class To, class Way>
[[nodiscard]] copied copy_run(Way& way, typename From::address_model::address from,
                              typename To::address_model::address to, std::size_t bytes) noexcept {
    if constexpr (copies_between<Way, From, To>) {
        return way.template copy<From, To>(from, to, bytes);
    } else if constexpr (copy_function<Way, From, To>) {
        const long code = way(from, to, bytes);
        return code == 0 ? copied{copy_path::function} : copied::failure(code);
    } else {
        return copy_path::none;
    }
}
template <class Way>
[[nodiscard]] long finish(Way& way, copy_path longest) noexcept {
    if constexpr (requires { way.finish(longest); }) return longest == copy_path::none ? 0 : way.finish(longest);
    else return 0;
}

struct host_copy {
    template <host_memory From, host_memory To>
    copied copy(const void* from, void* to, std::size_t bytes) const noexcept {
        std::memcpy(to, from, bytes);
        return copy_path::host;
    }
};

/// A copy method, and the longest path that its runs took.
template <class Way>
struct way_taken {
    Way& way;
    copy_path longest = copy_path::none;

    template <class From, class To>
    [[nodiscard]] copied copy(typename From::address_model::address from, typename To::address_model::address to,
                              std::size_t bytes) noexcept {
        const copied answer = copy_run<From, To>(way, from, to, bytes);
        if (answer) longest = std::max(longest, *answer);
        return answer;
    }
};

/// Copies a run by the first method that supports it. Returns `copy_path::none` when none does.
template <class From, class To, class... Ways>
[[nodiscard]] copied copy_by_first(typename From::address_model::address from, typename To::address_model::address to,
                                   std::size_t bytes, Ways&... ways) noexcept {
    copied answer{copy_path::none};
    const auto ends_with = [&](auto& way) {
        answer = copy_run<From, To>(way, from, to, bytes);
        return !answer || *answer != copy_path::none;
    };
    static_cast<void>((ends_with(ways) || ...));
    return answer;
}

/// Copies each run by the first method that supports it, and then waits for all methods.
template <class From, class To, class... Ways>
[[nodiscard]] tensor_result<copy_path> copy_runs(const From& from, const To& to, way_taken<Ways>... ways) noexcept {
    using answer = tensor_result<copy_path>;
    bool no_way = false;
    long code = for_each_run(from, to, [&](auto source, auto target, std::size_t bytes) -> long {
        const copied step = copy_by_first<From, To>(source, target, bytes, ways...);
        no_way = step && *step == copy_path::none;
        return no_way ? 1L : step ? 0L : step.error();
    });
    const auto wait_for = [&code](auto& way) {
        const long finished = finish(way.way, way.longest);
        if (code == 0) code = finished;
    };
    (wait_for(ways), ...);
    if (no_way) return answer::failure({tensor_refusal::no_way});
    if (code != 0) return answer::failure({tensor_refusal::copy_failed, no_row, {refusal::device_refused, 0, code}});
    return std::max({ways.longest...});
}

}  // namespace detail

/// A copy method that combines two others through a buffer in host memory. It copies as many bytes at a time as the
/// buffer holds, and waits after each step.
template <class ToHost, class FromHost>
class staged_copy {
    struct staging {
        using address_model = raw_pointer;
        static constexpr bool host_accessible = true;
        static constexpr dl_device_type dl_device = dl_device_type::cpu;
    };

public:
    /// Combines a method that copies to the host with one that copies from it. The buffer must outlive this object.
    /// With an empty buffer, `copy` returns `copy_path::none`.
    staged_copy(ToHost to_host, FromHost from_host, std::span<std::byte> bytes) noexcept
        : to_host_{std::move(to_host)}, from_host_{std::move(from_host)}, bytes_{bytes} {}

    /// Copies bytes through the buffer. Returns `copy_path::staged`, `copy_path::none` when a method does not support
    /// the memories, or the code of a failed method.
    template <class From, class To>
        requires detail::way_between<ToHost, From, staging> && detail::way_between<FromHost, staging, To>
    [[nodiscard]] copied copy(typename From::address_model::address from, typename To::address_model::address to,
                              std::size_t bytes) noexcept {
        if (bytes_.empty()) return copy_path::none;
        for (std::size_t done = 0; done != bytes;) {
            const std::size_t some = std::min(bytes - done, bytes_.size());
            const copied in =
                step<From, staging>(to_host_, From::address_model::locate(from, done), bytes_.data(), some);
            if (!in || *in == copy_path::none) return in;
            const copied out = step<staging, To>(from_host_, bytes_.data(), To::address_model::locate(to, done), some);
            if (!out || *out == copy_path::none) return out;
            done += some;
        }
        return copy_path::staged;
    }

private:
    /// Copies and waits, because the next step reuses the buffer.
    template <class From, class To, class Way>
    [[nodiscard]] static copied step(Way& way, typename From::address_model::address from,
                                     typename To::address_model::address to, std::size_t bytes) noexcept {
        const copied answer = detail::copy_run<From, To>(way, from, to, bytes);
        if (!answer) return answer;
        const long code = detail::finish(way, *answer);
        return code == 0 ? answer : copied::failure(code);
    }

    ToHost to_host_;
    FromHost from_host_;
    std::span<std::byte> bytes_;
};

/// Copies the elements of `from` to `to`, each run by the first of the given methods that supports it, or by the host.
/// Returns the longest path that a run took, or `copy_path::none` when nothing was to be copied. Fails with
/// `copy_failed` and the code of the first failure in `memory.device_error`, or with `no_way` when no method supports a
/// run; no byte of that run is copied. Also fails with `killed`, `dtype_mismatch`, `shape_mismatch`, `read_only`,
/// `partial_bytes`, `bad_strides` or `overlapping`, and then copies nothing.
template <tensor_with_runs From, tensor_with_runs To, class... Ways>
[[nodiscard]] tensor_result<copy_path> copy_tensor(const From& from, const To& to, Ways&&... ways) noexcept {
    using answer = tensor_result<copy_path>;
    static_assert(std::convertible_to<typename To::address_model::address, void*> || !pointer_memory<To>,
                  "allot: this memory is read-only: copy_tensor copies from its first argument to its second");
    static_assert((detail::way_between<Ways, From, To> || ...) || (host_memory<From> && host_memory<To>),
                  "allot: the host cannot access this memory: give copy_tensor a method that copies between the two, "
                  "such as opencl::queue_copy or a function of (from, to, bytes); core/copy_path.hpp lists them");
    const auto refuse = [](tensor_refusal reason) { return answer::failure({reason}); };
    if (!from || !to) return refuse(tensor_refusal::killed);
    if (from.dtype() != to.dtype()) return refuse(tensor_refusal::dtype_mismatch);
    if (from.size() != to.size()) return refuse(tensor_refusal::shape_mismatch);
    if (const tensor_refusal reason = detail::check_runs(from, false); reason != tensor_refusal::none)
        return refuse(reason);
    if (const tensor_refusal reason = detail::check_runs(to, true); reason != tensor_refusal::none)
        return refuse(reason);
    const detail::sharing shared = detail::shared_bytes(from, to);
    if (shared == detail::sharing::something) return refuse(tensor_refusal::overlapping);
    if (shared == detail::sharing::everything) return copy_path::none;
    detail::host_copy host;
    return detail::copy_runs(from, to, detail::way_taken<std::remove_reference_t<Ways>>{ways}...,
                             detail::way_taken<detail::host_copy>{host});
}

}  // namespace v1
}  // namespace allot
