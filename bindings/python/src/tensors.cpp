// SPDX-License-Identifier: BSL-1.0
// Tensors in an arena of host memory, which other libraries share by DLPack. The last user of the bytes frees them, in
// any thread and also after the arena's object is gone.
#include "module.hpp"

#include <allot/allot.hpp>
#include <allot/inspect/snapshot.hpp>
#include <allot/tensor.hpp>
#include <allot/tensor/dlpack.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>

namespace allot_python {

namespace {

constexpr std::size_t most_align = 4096, least_size = 64;

/// Memory for tensors. Each tensor is a block of the arena.
struct memory {
    using arena = allot::arena<allot::host::heap, allot::best_fit<>>;
    using allocator = allot::synchronized<allot::counted<arena>, std::mutex>;
    using policies = allot::storage_policies<allot::own_blocks, allot::references::atomic>;
    using storage_type = allot::storage<allocator, policies>;
    using tensor_type = allot::tensor_in<storage_type>;

    explicit memory(std::size_t bytes)
        : allocator_{allot::counted<arena>{arena{{}, bytes}}},
          storage{*allot::alloc_storage<policies>(allocator_, {.size = bytes, .align = most_align})} {}

    [[nodiscard]] allot::allocator_statistics statistics() {
        return allocator_.locked([](auto& inner) { return inner.statistics(); });
    }
    [[nodiscard]] allot::snapshot snapshot() {
        return allocator_.locked([](auto& inner) { return allot::take_snapshot(inner, "Arena"); });
    }
    [[nodiscard]] std::size_t size() { return allocator_.size(); }

private:
    allocator allocator_;

public:
    storage_type storage;
};

/// The arena of Python. Its tensors keep the memory.
struct tensor_arena {
    explicit tensor_arena(natural<std::size_t> size) {
        if (size < least_size || size > std::numeric_limits<std::size_t>::max() / 2)
            throw std::invalid_argument{"the size must be from 64 to 2**63 - 1"};
        in = std::make_shared<memory>(size);
        if (in->size() < size) throw out_of_memory{"the system has no memory of this size"};
    }

    std::shared_ptr<memory> in;
};

/// A tensor and the memory that it is in.
struct tensor {
    std::shared_ptr<memory> in;
    memory::tensor_type held;
};

/// An exported tensor that keeps its memory.
template <class Managed>
struct exported {
    Managed shown{};
    std::shared_ptr<memory> in;
    std::unique_ptr<Managed, allot::dlpack_deleter> held;

    static void end(Managed* gone) noexcept { delete static_cast<exported*>(gone->manager_ctx); }
};

/// Returns a capsule for a consumer, which renames it when it takes the tensor.
template <class Managed>
nb::object capsule_of(const tensor& of, allot::tensor_result<std::unique_ptr<Managed, allot::dlpack_deleter>> made,
                      const char* name) {
    if (!made) throw nb::buffer_error(made.error().what());
    auto owner = std::make_unique<exported<Managed>>();
    owner->held = *std::move(made);
    owner->in = of.in;
    owner->shown = *owner->held;
    owner->shown.manager_ctx = owner.get();
    owner->shown.deleter = &exported<Managed>::end;
    constexpr auto end = [](PyObject* capsule) {
        const char* const now = PyCapsule_GetName(capsule);
        if (now == nullptr || std::string_view{now}.starts_with("used_")) return;
        auto* const shown = static_cast<Managed*>(PyCapsule_GetPointer(capsule, now));
        shown->deleter(shown);
    };
    PyObject* const capsule = PyCapsule_New(&owner->shown, name, end);
    if (capsule == nullptr) throw nb::python_error{};
    owner.release();
    return nb::steal(capsule);
}

/// Returns two integers, or nothing for None. The tuple keeps both while their conversion may change a list.
std::optional<std::pair<int, int>> pair_of(nb::handle given, const char* name) {
    if (given.is_none()) return std::nullopt;
    nb::tuple both;
    if (PySequence_Check(given.ptr()) && nb::len(given) == 2) both = nb::tuple(given);
    if (both.size() != 2)
        throw nb::type_error((name + (": " + text_of(nb::repr(given))) + " is not a pair of integers").c_str());
    const int first = natural_of<int>(both[0]), second = natural_of<int>(both[1]);
    return std::pair{first, second};
}

nb::object to_dlpack(const tensor& of, nb::handle stream, nb::handle max_version, nb::handle dl_device,
                     std::optional<bool> copy) {
    if (!stream.is_none()) throw nb::buffer_error("host memory has no streams: stream must be None");
    const auto version = pair_of(max_version, "max_version"), device = pair_of(dl_device, "dl_device");
    if (device && *device != std::pair{static_cast<int>(allot::host::heap::dl_device), 0})
        throw nb::buffer_error("the tensor is in host memory, and it is not copied to another device");
    if (copy && *copy) throw nb::buffer_error("the tensor is shared and not copied: copy must not be True");
    if (version && version->first >= 1) return capsule_of(of, allot::to_dlpack(of.held), "dltensor_versioned");
    return capsule_of(of, allot::to_dlpack_unversioned(of.held), "dltensor");
}

/// Returns the name of a dtype: a text, or a dtype of NumPy or PyTorch.
std::string name_of_dtype(nb::handle given) {
    if (nb::isinstance<nb::str>(given)) return text_of(nb::borrow<nb::str>(given));
    for (const char* member : {"name", "__name__"})
        if (nb::hasattr(given, member)) return text_of(nb::str(given.attr(member)));
    const std::string text = text_of(nb::str(given));
    return text.substr(text.rfind('.') + 1);  // torch.float32
}

/// Returns the extents of a shape: an integer or a sequence of integers.
std::vector<std::int64_t> shape_of(nb::handle given) {
    if (nb::isinstance<nb::str>(given) || nb::isinstance<nb::bytes>(given) || !PySequence_Check(given.ptr()))
        return {natural_of<std::int64_t>(given)};
    std::vector<std::int64_t> extents;
    for (const nb::handle each : given) {
        if (extents.size() > allot::max_rank) break;  // too many already, and a sequence may have no end
        extents.push_back(natural_of<std::int64_t>(each));
    }
    return extents;
}

/// Returns whether elements have a width that arrays of other libraries can have. C++ has any width of 1 to 255 bits.
bool is_usual(allot::dtype type) {
    if (allot::prescribed_bits(type.code) != 0) return true;
    const auto is_one_of = [&](std::initializer_list<int> widths) {
        return std::ranges::count(widths, type.bits) != 0;
    };
    switch (type.code) {
        case allot::dtype_code::integer: return is_one_of({4, 8, 16, 32, 64});
        case allot::dtype_code::unsigned_integer: return is_one_of({1, 4, 8, 16, 32, 64});
        case allot::dtype_code::floating: return is_one_of({16, 32, 64});
        case allot::dtype_code::bfloat: return is_one_of({16});
        case allot::dtype_code::complex: return is_one_of({64, 128});
        default: return type.code == allot::dtype_code::boolean;
    }
}

tensor make(const tensor_arena& of, nb::handle shape, nb::handle dtype, natural<std::size_t> alignment) {
    const std::vector<std::int64_t> extents = shape_of(shape);
    const std::string name = name_of_dtype(dtype);
    const auto type = allot::dtype_named(name);
    if (!type || !is_usual(*type)) throw std::invalid_argument{"unknown dtype " + name};
    if (!allot::is_alignment(alignment.value) || alignment > most_align)
        throw std::invalid_argument{"alignment: " + std::to_string(alignment) + " is not a power of two up to 4096"};
    auto made =
        allot::alloc_tensor(of.in->storage, allot::anywhere, allot::shape{std::span{extents}}, *type, alignment);
    if (made) return {of.in, *std::move(made)};
    const auto reason = made.error().reason;
    if (reason == allot::tensor_refusal::no_memory || reason == allot::tensor_refusal::no_host_memory)
        throw out_of_memory{made.error().what()};
    throw std::invalid_argument{made.error().what()};
}

std::vector<std::int64_t> extents_of(const tensor& of) {
    std::vector<std::int64_t> all;
    for (std::size_t axis = 0; axis != of.held.shape().rank(); ++axis) all.push_back(of.held.shape()[axis]);
    return all;
}

}  // namespace

void bind_tensors(nb::module_& m) {
    nb::class_<tensor>(m, "Tensor", R"(A tensor in an Arena. Other libraries share its bytes by DLPack.

The bytes become free when this object and all arrays that share them are gone.)")
        .def("__dlpack__", &to_dlpack, nb::kw_only(), nb::arg("stream").none() = nb::none(),
             nb::arg("max_version").none() = nb::none(), nb::arg("dl_device").none() = nb::none(),
             nb::arg("copy").none() = nb::none(),
             nb::sig("def __dlpack__(self, *, stream: None = None, max_version: tuple[int, int] | None = None, "
                     "dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> object"),
             "Returns a capsule for from_dlpack of NumPy, PyTorch and other libraries.")
        .def(
            "__dlpack_device__",
            [](const tensor&) { return std::pair{static_cast<int>(allot::host::heap::dl_device), 0}; },
            "Returns the kind and the number of the device: (1, 0), host memory.")
        .def_prop_ro(
            "shape", [](const tensor& of) { return nb::tuple(nb::cast(extents_of(of))); },
            nb::sig("def shape(self) -> tuple[int, ...]"), "The shape.")
        .def_prop_ro(
            "nbytes", [](const tensor& of) { return of.held.size_bytes(); }, "The number of bytes.")
        .def_prop_ro(
            "address", [](const tensor& of) { return reinterpret_cast<std::uintptr_t>(of.held.data()); },
            "The address of the first element.")
        .def("__repr__", [](const tensor& of) {
            return "<Tensor of shape " + text_of(nb::repr(nb::tuple(nb::cast(extents_of(of))))) + ": " +
                   std::to_string(of.held.size_bytes()) + " bytes>";
        });
    nb::class_<tensor_arena>(m, "Arena", R"(Host memory for tensors, which is acquired once.

>>> import numpy
>>> from allot import Arena
>>> arena = Arena(1 << 20)
>>> a = numpy.from_dlpack(arena.empty((4, 64), "float32"))
>>> a[:] = 1
>>> float(a.sum()), arena.used
(256.0, 1024)
>>> del a
>>> arena.used
0
)")
        .def(nb::init<natural<std::size_t>>(), nb::arg("size"), "Acquires the memory.")
        .def("empty", &make, nb::arg("shape"), nb::arg("dtype") = "float32", nb::arg("alignment") = 64,
             nb::sig("def empty(self, shape: int | Sequence[int], dtype: object = 'float32', alignment: int = 64) -> "
                     "Tensor"),
             R"(Returns a tensor whose elements have no values yet.

`dtype` is a name such as 'bfloat16' or 'int4', or a dtype of NumPy or PyTorch. Raises OutOfMemory if no hole fits.)")
        .def(
            "snapshot", [](const tensor_arena& of) { return of.in->snapshot(); },
            "Returns the state of the arena, which a notebook draws.")
        .def_prop_ro(
            "size", [](const tensor_arena& of) { return of.in->size(); },
            "The number of bytes of the arena, with its records.")
        .def_prop_ro(
            "used", [](const tensor_arena& of) { return of.in->statistics().used; }, "The bytes of all tensors.")
        .def_prop_ro(
            "peak", [](const tensor_arena& of) { return of.in->statistics().peak; },
            "The highest value of used so far.")
        .def_prop_ro(
            "largest_hole", [](const tensor_arena& of) { return of.in->statistics().largest_hole; },
            "The size of the largest hole.")
        .def("__repr__", [](const tensor_arena& of) {
            const allot::allocator_statistics now = of.in->statistics();
            return "<Arena of " + std::to_string(of.in->size()) + " bytes: " + std::to_string(now.used) +
                   " used, largest hole " + std::to_string(now.largest_hole) + ">";
        });
}

}  // namespace allot_python
