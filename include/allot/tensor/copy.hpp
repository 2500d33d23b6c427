// copy_tensor: the elements of one tensor to another, contiguous or discontiguous, whole or a slice.
//
//     auto copied = allot::copy_tensor(from, to);                                    // memory that the host can touch
//     auto queued = allot::copy_tensor(from, to, [&](auto source, auto target, std::size_t bytes) noexcept -> long {
//         return …;                                                                  // the device's code, 0 for success
//     });
//
//     from   │ row 0 │ row 1 │      │ row 2 │        runs: rows that lie side by side are one, and a run ends where it
//     to     │     row 0, row 1     │ row 2 │        ends on either side
//
// Elements are taken in row-major order, so that the two may have different shapes of the same elements. Both have the
// same dtype, the same number of elements and no byte in common; that is checked first, and only a device's own failure
// can leave a copy half done. A copy onto itself is fine and does nothing.
//
// Complexity: O(runs); O(runs²) comparisons for two tensors that may share bytes, which two live tensors of a storage with
// a placement never do. Memory: none. Thread safety: none.
#pragma once

#include <allot/tensor/runs.hpp>

#include <algorithm>
#include <cstring>

namespace allot::inline v1 {

namespace detail {

/// Calls `use(from, to, bytes)` for runs that are whole on both sides, until it gives something other than 0.
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

template <class Model>
[[nodiscard]] constexpr bool overlaps(run<typename Model::address> a, run<typename Model::address> b) noexcept {
    const std::size_t from_a = Model::position(a.address), from_b = Model::position(b.address);
    const bool behind = from_b >= from_a;
    const std::size_t distance = behind ? from_b - from_a : from_a - from_b;
    // The same position beside another handle is another byte.
    const bool same_memory = behind ? Model::locate(a.address, distance) == b.address
                                    : Model::locate(b.address, distance) == a.address;
    return same_memory && distance < (behind ? a.size : b.size);
}

/// Whether two claims cannot share a byte: storages are blocks of their own, and recorded claims of one are apart.
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

/// Whether two tensors share bytes; `everything` when a copy would move each element onto itself.
template <class From, class To>
[[nodiscard]] sharing shared_bytes(const From& from, const To& to) noexcept {
    if constexpr (!std::same_as<typename From::address_model, typename To::address_model>) {
        return sharing::nothing;
    } else {
        using model = typename From::address_model;
        if (are_apart(from.claim(), to.claim())) return sharing::nothing;
        const long moved = for_each_run(from, to, [](auto a, auto b, std::size_t) -> long { return a == b ? 0 : 1; });
        if (moved == 0) return sharing::everything;
        auto sources = runs_of(from);
        for (auto source = sources.next(); source.size != 0; source = sources.next()) {
            auto targets = runs_of(to);
            for (auto target = targets.next(); target.size != 0; target = targets.next()) {
                if (overlaps<model>(source, target)) return sharing::something;
            }
        }
        return sharing::nothing;
    }
}

}  // namespace detail

/// Copies elements by `copy(from, to, bytes)`, which is noexcept and gives the device's code, 0 for success. The answer
/// has the code of the first that failed in `memory.device_error`.
template <class From, class To, class Copy>
[[nodiscard]] tensor_error copy_tensor(const From& from, const To& to, Copy&& copy) noexcept {
    if (!from || !to) return {tensor_refusal::killed};
    if (from.dtype() != to.dtype()) return {tensor_refusal::dtype_mismatch};
    if (from.size() != to.size()) return {tensor_refusal::shape_mismatch};
    if (const tensor_refusal why = detail::check_runs(from, false); why != tensor_refusal::none) return {why};
    if (const tensor_refusal why = detail::check_runs(to, true); why != tensor_refusal::none) return {why};
    const detail::sharing shared = detail::shared_bytes(from, to);
    if (shared == detail::sharing::something) return {tensor_refusal::overlapping};
    if (shared == detail::sharing::everything) return {};
    const long code = detail::for_each_run(from, to, copy);
    if (code != 0) return {tensor_refusal::copy_failed, no_row, {refusal::device_refused, 0, code}};
    return {};
}

/// Copies elements in memory that the host can touch.
template <class From, class To>
[[nodiscard]] tensor_error copy_tensor(const From& from, const To& to) noexcept {
    static_assert(From::host_accessible && To::host_accessible &&
                      std::convertible_to<typename From::address_type, const void*> &&
                      std::convertible_to<typename To::address_type, void*>,
                  "allot: the host cannot touch this memory: give copy_tensor a function that copies a run on the device");
    return copy_tensor(from, to, [](const void* source, void* target, std::size_t bytes) noexcept -> long {
        std::memcpy(target, source, bytes);
        return 0;
    });
}

}  // namespace allot::inline v1
