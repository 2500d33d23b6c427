// Tests of DLPack without another library: every field of an export, adoption and its errors, and that each deleter is
// called exactly once in every case. tests/integration/dlpack_consumers tests with other libraries.
#include "../../error_of.hpp"

#include <allot/allot.hpp>
#include <allot/compose/adopted.hpp>
#include <allot/tensor.hpp>
#include <allot/tensor/dlpack.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

namespace {

using allot::dl_device_type;
using allot::dlpack_convention;
using allot::dlpack_pointer;
using allot::dlpack_pointer_unversioned;
using allot::float32;
using allot::int32;
using allot::tensor_refusal;
using allot::host::heap;

using heap_arena = allot::arena<heap, allot::best_fit<>>;

/// Host memory with another device type, as pinned and managed memory have.
template <dl_device_type Type, bool HostAccessible>
struct heap_called : heap {
    static constexpr bool host_accessible = HostAccessible;
    static constexpr dl_device_type dl_device = Type;
};
using pinned = heap_called<dl_device_type::cuda_host, true>;
using cuda = heap_called<dl_device_type::cuda, false>;
using managed_memory = heap_called<dl_device_type::cuda_managed, true>;

/// Memory with handles, as OpenCL's.
struct buffer {
    std::size_t size = 0;
};
template <allot::offset_use Offsets>
struct handles {
    using address_model = allot::handle_offset<buffer*>;
    using error = int;
    static constexpr bool host_accessible = false;
    static constexpr allot::offset_use offsets = Offsets;
    static constexpr std::size_t min_align = 4096;
    static constexpr std::size_t granularity = 1;
    static constexpr dl_device_type dl_device = dl_device_type::opencl;

    [[nodiscard]] allot::acquired<handles> acquire(allot::layout wanted) noexcept {
        return allot::region_of<handles>{{new buffer{wanted.size}, 0}, wanted.size, min_align};
    }
    void release(allot::region_of<handles> held) noexcept { delete held.base.handle; }
};
using buffers = handles<allot::offset_use::carried>;
using textures = handles<allot::offset_use::none>;

dl_device_type device_type_of(const allot::DLTensor& of) { return static_cast<dl_device_type>(of.device.device_type); }

/// A library that shares its tensor and counts the calls of its deleter.
template <class Managed>
struct producer {
    alignas(256) std::int32_t numbers[64]{};
    std::vector<std::int64_t> shape{8, 8}, strides{8, 1};
    int deleted = 0;
    Managed managed{};

    producer() {
        std::iota(std::begin(numbers), std::end(numbers), 0);
        managed.manager_ctx = this;
        managed.deleter = [](Managed* self) { ++static_cast<producer*>(self->manager_ctx)->deleted; };
        if constexpr (requires { managed.version; }) managed.version = {1, 0};
        on<heap>();
        set(int32);
    }
    template <class Device>
    void on() {
        managed.dl_tensor.device.device_type =
            static_cast<decltype(managed.dl_tensor.device.device_type)>(Device::dl_device);
    }
    void set(allot::dtype type) {
        managed.dl_tensor.dtype = {static_cast<std::uint8_t>(type.code), type.bits, type.lanes};
    }
    std::unique_ptr<Managed, allot::dlpack_deleter> share() {
        managed.dl_tensor.data = numbers;
        share_null();
        return give();
    }
    void share_null() {
        managed.dl_tensor.ndim = static_cast<std::int32_t>(shape.size());
        managed.dl_tensor.shape = shape.data();
        managed.dl_tensor.strides = strides.empty() ? nullptr : strides.data();
    }
    std::unique_ptr<Managed, allot::dlpack_deleter> give() {
        return std::unique_ptr<Managed, allot::dlpack_deleter>{&managed};
    }
};
using modern = producer<allot::DLManagedTensorVersioned>;
using legacy = producer<allot::DLManagedTensor>;

/// Returns the reason that adoption fails. Checks that the deleter was called exactly once before the return.
template <class Device = heap, class Managed>
tensor_refusal refusal_of(producer<Managed>& from) {
    const int before = from.deleted;
    const auto answer = allot::from_dlpack<Device>(from.share());
    CHECK_FALSE(answer);
    CHECK(from.deleted == before + 1);
    return error_of(answer).reason;
}

struct exporting {
    heap_arena arena{{}, 65536};
    allot::storage<heap_arena> data = *allot::alloc_storage(arena, 4096, 256);

    bool is_free(std::int64_t offset) { return static_cast<bool>(allot::alloc_tensor(data, offset, {1}, int32, 4)); }
};

}  // namespace

// ── exporting ────────────────────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("to_dlpack: all fields describe the tensor, and the bytes stay allocated until the deleter is called") {
    exporting it;
    auto t = *allot::alloc_tensor(it.data, 1024, {4, 8}, float32);
    void* const first = t.data();
    dlpack_pointer shared = *allot::to_dlpack(t);
    REQUIRE(shared);
    CHECK(shared->version.major == 1);
    CHECK(shared->version.minor >= 2);  // strides are guaranteed from this version on
    CHECK(shared->flags == 0);
    const allot::DLTensor& described = shared->dl_tensor;
    CHECK(described.data == first);
    CHECK(described.byte_offset == 0);
    CHECK(device_type_of(described) == dl_device_type::cpu);
    CHECK(described.device.device_id == 0);
    CHECK(described.dtype.code == 2);
    CHECK(described.dtype.bits == 32);
    CHECK(described.dtype.lanes == 1);
    REQUIRE(described.ndim == 2);
    CHECK(described.shape[0] == 4);
    CHECK(described.shape[1] == 8);
    CHECK(described.strides[0] == 8);
    CHECK(described.strides[1] == 1);

    t.kill();
    it.data.kill();
    auto* const raw = shared.release();
    std::memset(raw->dl_tensor.data, 7, 128);  // still allocated: a sanitizer would report the access
    raw->deleter(raw);
}

TEST_CASE("to_dlpack: the last tensor, view or export frees the bytes, in any order") {
    exporting it;
    auto t = *allot::alloc_tensor(it.data, 0, {4, 8}, float32);
    auto one = *allot::to_dlpack(t);
    auto two = *allot::to_dlpack_unversioned(*allot::slice(t, {1, 0}, {1, 8}));
    t.kill();
    CHECK_FALSE(it.is_free(0));
    one.reset();
    CHECK_FALSE(it.is_free(0));
    two.reset();
    CHECK(it.is_free(0));
}

TEST_CASE("to_dlpack: a failed or dropped export holds no bytes") {
    exporting it;
    auto t = *allot::alloc_tensor(it.data, 0, {4}, int32);
    { const auto dropped = allot::to_dlpack(t); }
    t.kill();
    CHECK(it.is_free(0));
    CHECK(allot::to_dlpack(t).error().reason == tensor_refusal::killed);
    CHECK(allot::to_dlpack_unversioned(t).error().reason == tensor_refusal::killed);
}

TEST_CASE("to_dlpack: aligned_base exports the storage's base and a byte offset") {
    exporting it;
    auto t = *allot::alloc_tensor(it.data, 512, {8, 8}, int32);
    auto part = *allot::slice(t, {2, 3}, {4, 5});
    for (const auto& each : {t, part}) {
        const auto shared = *allot::to_dlpack(each, {.convention = dlpack_convention::aligned_base});
        REQUIRE(shared);
        const allot::DLTensor& described = shared->dl_tensor;
        CHECK(described.data == it.data.base());
        CHECK(reinterpret_cast<std::uintptr_t>(described.data) % 256 == 0);
        CHECK(static_cast<std::byte*>(described.data) + described.byte_offset == each.data());
        const auto old = *allot::to_dlpack_unversioned(each, {.convention = dlpack_convention::aligned_base});
        REQUIRE(old);
        CHECK(old->dl_tensor.data == described.data);
        CHECK(old->dl_tensor.byte_offset == described.byte_offset);
    }
    CHECK(allot::to_dlpack(part)->get()->dl_tensor.data == part.data());
}

TEST_CASE("to_dlpack: aligned_base rejects a base that is not aligned to 256 bytes, edited_pointer accepts it") {
    heap_arena arena{{}, 65536};
    auto gap = arena.allocate({.size = 64, .align = 256});
    auto data = *allot::alloc_storage(arena, 512, 64);
    REQUIRE(reinterpret_cast<std::uintptr_t>(data.base()) % 256 != 0);
    auto t = *allot::alloc_tensor(data, 64, {4}, int32);
    const auto refused = allot::to_dlpack(t, {.convention = dlpack_convention::aligned_base});
    CHECK_FALSE(refused);
    CHECK(refused.error().reason == tensor_refusal::misaligned);
    CHECK(allot::to_dlpack(t)->get()->dl_tensor.data == t.data());
    arena.deallocate(gap);
}

TEST_CASE("to_dlpack: a slice has the strides of its tensor, a scalar has no axes") {
    exporting it;
    auto t = *allot::alloc_tensor(it.data, 0, {4, 6, 8}, int32);
    const auto part = *allot::to_dlpack(*allot::slice(t, {1, 2, 3}, {2, 3, 4}));
    CHECK(std::vector<std::int64_t>(part->dl_tensor.shape, part->dl_tensor.shape + 3) ==
          std::vector<std::int64_t>{2, 3, 4});
    CHECK(std::vector<std::int64_t>(part->dl_tensor.strides, part->dl_tensor.strides + 3) ==
          std::vector<std::int64_t>{48, 8, 1});
    CHECK(part->dl_tensor.data == static_cast<std::int32_t*>(t.data()) + 48 + 2 * 8 + 3);

    auto scalar = *allot::alloc_tensor(it.data, 1024, allot::shape{}, int32);
    CHECK(allot::to_dlpack(scalar)->get()->dl_tensor.ndim == 0);
}

TEST_CASE("to_dlpack: a tensor without elements has a null pointer and offset 0 in both conventions") {
    exporting it;
    auto empty = *allot::alloc_tensor(it.data, 1024, {4, 0, 2}, int32);
    auto t = *allot::alloc_tensor(it.data, 256, {4, 8}, int32);
    auto none_of_it = *allot::slice(t, {2, 2}, {0, 3});
    for (const auto& each : {empty, none_of_it}) {
        for (const auto convention : {dlpack_convention::edited_pointer, dlpack_convention::aligned_base}) {
            const auto shared = *allot::to_dlpack(each, {.convention = convention});
            REQUIRE(shared);
            CHECK(shared->dl_tensor.data == nullptr);
            CHECK(shared->dl_tensor.byte_offset == 0);
            CHECK(shared->dl_tensor.strides != nullptr);
        }
    }
}

TEST_CASE("to_dlpack: sub-byte elements are packed") {
    exporting it;
    auto t = *allot::alloc_tensor(it.data, 0, {3, 5}, allot::int4);
    auto shared = *allot::to_dlpack(t);
    CHECK(shared->flags == 0);
    CHECK(shared->dl_tensor.dtype.bits == 4);
    const auto again = allot::from_dlpack<heap>(std::move(shared));
    REQUIRE(again);
    CHECK(again->dtype() == allot::int4);
    CHECK(again->size_bytes() == 8);
}

TEST_CASE_TEMPLATE("to_dlpack: the device type is that of the memory", Device, heap, pinned, cuda, managed_memory) {
    allot::arena<Device, allot::best_fit<allot::best_fit_options{.records = 8}>> arena{{}, 4096};
    auto data = *allot::alloc_storage(arena, 1024, 256);
    auto t = *allot::alloc_tensor(data, 256, {4}, int32);
    auto shared = *allot::to_dlpack(t, {.device_id = 3});
    CHECK(device_type_of(shared->dl_tensor) == Device::dl_device);
    CHECK(shared->dl_tensor.device.device_id == 3);
    auto old = *allot::to_dlpack_unversioned(t, {.device_id = 3});
    CHECK(device_type_of(old->dl_tensor) == Device::dl_device);
    CHECK(old->dl_tensor.device.device_id == 3);

    const auto back = allot::from_dlpack<Device>(std::move(shared));
    REQUIRE(back);
    CHECK(back->data() == t.data());
    CHECK(back->dl_device == Device::dl_device);
    CHECK(back->host_accessible == Device::host_accessible);
    CHECK(back->lease().device_id() == 3);
    CHECK(allot::to_dlpack(*back)->get()->dl_tensor.device.device_id == 3);
}

TEST_CASE("to_dlpack: with carried offsets, both conventions export the handle and the offset") {
    allot::arena<buffers, allot::best_fit<>> arena{{}, 4096};
    auto data = *allot::alloc_storage(arena, 2048, 64);
    auto first = *allot::alloc_tensor(data, 0, {8}, int32);
    auto t = *allot::alloc_tensor(data, 192, {4, 8}, int32);
    for (const auto convention : {dlpack_convention::edited_pointer, dlpack_convention::aligned_base}) {
        auto shared = *allot::to_dlpack(t, {.convention = convention});
        REQUIRE(shared);
        CHECK(shared->dl_tensor.data == t.data());
        CHECK(shared->dl_tensor.byte_offset == 192);
        CHECK(device_type_of(shared->dl_tensor) == dl_device_type::opencl);
        const auto back = allot::from_dlpack<buffers>(std::move(shared));
        REQUIRE(back);
        CHECK(back->address() == t.address());
        CHECK(allot::slice(*back, {1, 2}, {2, 2})->byte_offset() == 192 + 4 * (8 + 2));
        const auto copied = allot::copy_tensor(*back, t, [](auto, auto, std::size_t) noexcept -> long { return 5; });
        REQUIRE(copied);
        CHECK(*copied == allot::copy_path::none);  // a copy onto itself does not call the device
    }
}

TEST_CASE("dlpack: without offsets, the tensor's own handle is exported, and a tensor at an offset is not adopted") {
    allot::naive<textures> memory;
    auto data = *allot::alloc_storage(memory, 2048, 64);
    auto t = *allot::alloc_tensor(data, 192, {4, 8}, int32);
    auto shared = *allot::to_dlpack(t, {.convention = dlpack_convention::aligned_base});
    REQUIRE(shared);
    CHECK(shared->dl_tensor.data == t.data());
    CHECK(shared->dl_tensor.byte_offset == 0);
    shared->dl_tensor.byte_offset = 64;
    CHECK(allot::from_dlpack<textures>(std::move(shared)).error().reason == tensor_refusal::misaligned);
}

TEST_CASE("to_dlpack: tensors of an as_given storage can be exported") {
    heap_arena arena{{}, 4096};
    using policies = allot::storage_policies<allot::as_given, allot::references::atomic>;
    auto data = *allot::alloc_storage<policies>(arena, 1024, 256);
    auto t = *allot::alloc_tensor(data, 256, {8}, int32);
    auto shared = *allot::to_dlpack(t, {.convention = dlpack_convention::aligned_base});
    CHECK(shared->dl_tensor.byte_offset == 256);
    t.kill();
    data.kill();
    std::memset(static_cast<std::byte*>(shared->dl_tensor.data) + 256, 1, 32);  // still allocated
}

TEST_CASE("to_dlpack: a read-only tensor has the flag, and is rejected in the unversioned format") {
    exporting it;
    auto t = *allot::alloc_tensor(it.data, 0, {4}, int32);
    auto shared = *allot::to_dlpack(t, {.read_only = true});
    CHECK(shared->flags == allot::dlpack_flag::read_only);
    CHECK(allot::to_dlpack_unversioned(t, {.read_only = true}).error().reason == tensor_refusal::read_only);

    const auto adopted = *allot::from_dlpack<heap>(std::move(shared));
    CHECK(adopted.is_read_only());
    CHECK_FALSE(t.is_read_only());
    const auto part = *allot::slice(adopted, {1}, {2});
    CHECK(part.is_read_only());
    CHECK(allot::to_dlpack(part)->get()->flags == allot::dlpack_flag::read_only);
    CHECK(allot::to_dlpack_unversioned(part).error().reason == tensor_refusal::read_only);

    auto other = *allot::alloc_tensor(it.data, 1024, {4}, int32);
    CHECK(allot::copy_tensor(adopted, other));
    CHECK(allot::copy_tensor(other, adopted).error().reason == tensor_refusal::read_only);
    const auto ask_device = [](auto, auto, std::size_t) noexcept -> long { return 5; };
    CHECK(allot::copy_tensor(other, adopted, ask_device).error().reason == tensor_refusal::read_only);
}

TEST_CASE("to_dlpack: tensors in read-only memory are exported with the flag, and adopted as read-only") {
    alignas(256) static const std::int32_t constants[128] = {1, 2, 3};
    allot::adopted device{static_cast<const void*>(constants), sizeof constants, 256, [](const void*) noexcept {}};
    using device_type = decltype(device);
    allot::arena<device_type, allot::best_fit<>> memory{std::move(device)};
    const auto data = *allot::alloc_storage(memory, {.size = 512, .align = 64});
    const auto t = *allot::alloc_tensor(data, 64, {16}, int32);
    CHECK(t.is_read_only());
    CHECK(allot::slice(t, {2}, {3})->is_read_only());
    CHECK(allot::to_dlpack_unversioned(t).error().reason == tensor_refusal::read_only);
    for (const auto convention : {dlpack_convention::edited_pointer, dlpack_convention::aligned_base}) {
        auto shared = *allot::to_dlpack(t, {.convention = convention});
        const bool edited = convention == dlpack_convention::edited_pointer;
        CHECK(shared->flags == allot::dlpack_flag::read_only);
        CHECK(shared->dl_tensor.data == (edited ? t.data() : data.base()));
        CHECK(shared->dl_tensor.byte_offset == (edited ? 0U : 64U));
        const auto adopted = *allot::from_dlpack<device_type>(std::move(shared));
        CHECK(adopted.is_read_only());
        CHECK(adopted.data() == t.data());
    }
}

// ── adopting ─────────────────────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE_TEMPLATE("from_dlpack: the last handle or view calls the deleter once", Producer, modern, legacy) {
    Producer from;
    {
        auto t = *allot::from_dlpack<heap>(from.share());
        REQUIRE(t);
        CHECK(t.data() == from.numbers);
        CHECK(t.dtype() == int32);
        CHECK(t.shape() == allot::shape{8, 8});
        CHECK(t.is_compact());
        CHECK_FALSE(t.is_read_only());
        CHECK_FALSE(t.lease().is_copied());

        auto copy = t;
        auto rows = *allot::slice(t, {2, 0}, {2, 8});
        auto bytes = *allot::view(t, allot::uint8, {16}, 64);
        t.kill();
        t.kill();
        copy = {};
        CHECK(from.deleted == 0);
        CHECK(static_cast<const std::int32_t*>(rows.data())[0] == 16);
        CHECK(bytes.data() == from.numbers + 16);
        rows = {};
        CHECK(from.deleted == 0);
    }
    CHECK(from.deleted == 1);
}

TEST_CASE("from_dlpack: a null deleter is not called") {
    modern from;
    from.managed.deleter = nullptr;
    { CHECK(allot::from_dlpack<heap>(from.share())); }
    from.strides = {-8, 1};
    CHECK_FALSE(allot::from_dlpack<heap>(from.share()));
    CHECK(from.deleted == 0);
}

TEST_CASE("from_dlpack: atomic references and hardened handles keep the managed tensor alive") {
    modern from;
    using policies = allot::storage_policies<allot::best_fit<>, allot::references::atomic, allot::hardening::debug>;
    {
        const auto t = *allot::from_dlpack<heap, policies>(from.share());
        const auto other = t;
        CHECK(other.size() == 64);
    }
    CHECK(from.deleted == 1);
}

TEST_CASE("from_dlpack: copies from and to an adopted tensor use its strides") {
    modern from;
    from.shape = {3, 4};
    from.strides = {16, 2};
    exporting it;
    const auto t = *allot::from_dlpack<heap>(from.share());
    CHECK_FALSE(t.is_compact());
    auto mine = *allot::alloc_tensor(it.data, 0, {3, 4}, int32);
    REQUIRE(allot::copy_tensor(t, mine));
    const auto* const read = static_cast<const std::int32_t*>(mine.data());
    CHECK(std::vector<std::int32_t>(read, read + 12) ==
          std::vector<std::int32_t>{0, 2, 4, 6, 16, 18, 20, 22, 32, 34, 36, 38});
    std::memset(mine.data(), 0, 48);
    const auto corner = *allot::slice(t, {1, 1}, {2, 2});
    REQUIRE(allot::copy_tensor(*allot::slice(mine, {0, 0}, {2, 2}), corner));
    CHECK(from.numbers[16] == 16);
    CHECK(from.numbers[18] == 0);
    CHECK(from.numbers[19] == 19);
    CHECK(from.numbers[36] == 0);
    CHECK(from.numbers[38] == 38);
}

TEST_CASE("from_dlpack: views of an adopted tensor have its strides") {
    modern from;
    from.shape = {4, 2, 4};
    from.strides = {1, 32, 4};  // axes in another order
    const auto t = *allot::from_dlpack<heap>(from.share());
    CHECK(t.strides() == allot::strides{1, 32, 4});
    auto part = *allot::slice(t, {1, 0, 1}, {2, 2, 3});
    part = *allot::slice(part, {1, 0, 0}, {1, 2, 2});
    CHECK(part.shape() == allot::shape{1, 2, 2});
    CHECK(part.strides() == allot::strides{1, 32, 4});
    CHECK(*static_cast<std::int32_t*>(part.data()) == 6);
    CHECK_FALSE(part.is_compact());
    const auto none = *allot::slice(t, {0, 0, 0}, {0, 2, 2});
    CHECK(none.strides() == allot::strides{4, 2, 1});
    modern many;
    many.shape = {std::int64_t{1} << 40, 2, 2};
    many.strides = {0, 3, 5};
    const auto repeated = allot::from_dlpack<heap>(many.share());
    if constexpr (sizeof(std::size_t) == 8) {
        CHECK(repeated->shape() == allot::shape{std::int64_t{1} << 40, 2, 2});
        CHECK(repeated->strides() == allot::strides{0, 3, 5});
    } else {
        CHECK(repeated.error().reason == tensor_refusal::too_large);
    }
}

TEST_CASE("from_dlpack: a copy between two adoptions of the same bytes is rejected") {
    modern from, again;
    const auto t = *allot::from_dlpack<heap>(from.share());
    again.share_null();
    again.managed.dl_tensor.data = from.numbers + 1;
    again.managed.dl_tensor.shape[0] = 7;
    const auto shifted = *allot::from_dlpack<heap>(again.give());
    CHECK(allot::copy_tensor(*allot::slice(t, {0, 0}, {7, 8}), shifted).error().reason == tensor_refusal::overlapping);
}

TEST_CASE("from_dlpack: null strides mean compact, and strides of axes with at most one element are ignored") {
    modern from;
    from.strides.clear();
    from.shape = {4, 2, 8};
    CHECK(allot::from_dlpack<heap>(from.share())->strides() == allot::strides{16, 8, 1});
    from.shape = {1, 8, 1};
    from.strides = {-77, 1, std::numeric_limits<std::int64_t>::max()};
    CHECK(allot::from_dlpack<heap>(from.share())->strides() == allot::strides{8, 1, 1});
    from.shape = {3, 0};
    from.strides = {-1, -1};
    from.share_null();
    const auto empty = allot::from_dlpack<heap>(from.give());
    REQUIRE(empty);
    CHECK(empty->data() == nullptr);
    CHECK(empty->size() == 0);
    CHECK(empty->is_compact());
}

TEST_CASE("from_dlpack: a scalar needs neither shape nor strides") {
    modern from;
    from.managed.dl_tensor.data = from.numbers + 5;
    const auto t = allot::from_dlpack<heap>(from.give());
    REQUIRE(t);
    CHECK(t->shape().rank() == 0);
    CHECK(t->size() == 1);
    CHECK(*static_cast<const std::int32_t*>(t->data()) == 5);
}

TEST_CASE("from_dlpack: a tensor with a stride of 0 can be read but not written") {
    modern from;
    from.shape = {3, 4};
    from.strides = {0, 1};
    exporting it;
    const auto t = *allot::from_dlpack<heap>(from.share());
    auto mine = *allot::alloc_tensor(it.data, 0, {3, 4}, int32);
    REQUIRE(allot::copy_tensor(t, mine));
    CHECK(static_cast<const std::int32_t*>(mine.data())[9] == 1);
    CHECK(allot::copy_tensor(mine, t).error().reason == tensor_refusal::bad_strides);
}

TEST_CASE("from_dlpack: a tensor whose elements share bytes can be read but not written") {
    using list = std::vector<std::int64_t>;
    const auto may_write = [](list shape, list strides) {
        modern from;
        from.shape = shape;
        from.strides = strides;
        exporting it;
        const auto t = *allot::from_dlpack<heap>(from.share());
        auto mine = *allot::alloc_tensor(it.data, 0, {static_cast<std::int64_t>(t.size())}, int32);
        REQUIRE(allot::copy_tensor(t, mine));
        const auto answer = allot::copy_tensor(mine, t);
        if (!answer) CHECK(answer.error().reason == tensor_refusal::bad_strides);
        return static_cast<bool>(answer);
    };
    CHECK_FALSE(may_write({2, 2}, {1, 1}));
    CHECK_FALSE(may_write({3, 3}, {2, 1}));
    CHECK_FALSE(may_write({2, 3, 4}, {1, 7, 2}));
    CHECK(may_write({2, 3, 4}, {1, 8, 2}));
    CHECK_FALSE(may_write({2, 4}, {3, 1}));
    CHECK(may_write({4, 2}, {1, 4}));  // transposed
    CHECK(may_write({2, 3, 2}, {24, 2, 1}));
    CHECK(may_write({1, 3, 1}, {0, 2, 0}));  // the stride along an axis of one element is ignored
}

TEST_CASE("from_dlpack: the byte offset is applied, and the base is kept for aligned_base") {
    modern from;
    from.shape = {4, 8};
    from.managed.dl_tensor.byte_offset = 64;
    const auto t = *allot::from_dlpack<heap>(from.share());
    CHECK(t.data() == from.numbers + 16);
    const auto row = *allot::slice(t, {1, 0}, {1, 8});
    const auto shared = *allot::to_dlpack(row, {.convention = dlpack_convention::aligned_base});
    REQUIRE(shared);
    CHECK(shared->dl_tensor.data == from.numbers);
    CHECK(shared->dl_tensor.byte_offset == 64 + 32);
}

TEST_CASE("dlpack: the export of an adopted tensor keeps the producer's tensor alive") {
    modern from;
    from.managed.flags = allot::dlpack_flag::is_copied;
    auto t = *allot::from_dlpack<heap>(from.share());
    CHECK(t.lease().is_copied());
    auto shared = *allot::to_dlpack(t);
    CHECK(shared->flags == 0);  // the consumer is no longer the only user
    t.kill();
    CHECK(from.deleted == 0);
    shared.reset();
    CHECK(from.deleted == 1);
}

TEST_CASE("from_dlpack: another device type is rejected, and pinned, managed and device memory differ") {
    modern from;
    const auto refused_all = [&from]<class... Devices>() {
        return ((refusal_of<Devices>(from) == tensor_refusal::wrong_device) && ...);
    };
    CHECK(refused_all.operator()<pinned, cuda, managed_memory, buffers>());
    from.on<pinned>();
    CHECK(refused_all.operator()<heap, cuda, managed_memory>());
    from.on<cuda>();
    CHECK(refused_all.operator()<heap, pinned, managed_memory>());
    CHECK(allot::from_dlpack<cuda>(from.share()));
    legacy old;
    CHECK(refusal_of<pinned>(old) == tensor_refusal::wrong_device);
}

TEST_CASE("from_dlpack: another major version is rejected, a newer minor version is accepted") {
    modern from;
    from.managed.version = {1, 99};
    CHECK(allot::from_dlpack<heap>(from.share()));
    CHECK(from.deleted == 1);
    for (const std::uint32_t major : {0U, 2U}) {
        from.managed.version = {major, 0};
        std::memset(static_cast<void*>(&from.managed.dl_tensor), 0xFF, sizeof from.managed.dl_tensor);
        const int before = from.deleted;
        const auto refused = allot::from_dlpack<heap>(from.give());
        CHECK(refused.error().reason == tensor_refusal::wrong_version);
        CHECK(from.deleted == before + 1);
    }
}

TEST_CASE("from_dlpack: a null pointer is rejected as killed") {
    CHECK(allot::from_dlpack<heap>(dlpack_pointer{}).error().reason == tensor_refusal::killed);
    CHECK(allot::from_dlpack<heap>(dlpack_pointer_unversioned{}).error().reason == tensor_refusal::killed);
}

TEST_CASE_TEMPLATE("from_dlpack: a dtype without bits or lanes, or of an unknown kind, is rejected", Producer, modern,
                   legacy) {
    Producer from;
    from.managed.dl_tensor.dtype = {0, 0, 1};
    CHECK(refusal_of(from) == tensor_refusal::bad_dtype);
    from.managed.dl_tensor.dtype = {0, 32, 0};
    CHECK(refusal_of(from) == tensor_refusal::bad_dtype);
    from.managed.dl_tensor.dtype = {250, 8, 1};
    CHECK(refusal_of(from) == tensor_refusal::bad_dtype);
}

TEST_CASE("from_dlpack: packed sub-byte elements are adopted, padded ones are rejected") {
    modern from;
    from.set(allot::int4);
    from.shape = {3, 5};
    from.strides = {5, 1};
    CHECK(allot::from_dlpack<heap>(from.share())->size_bytes() == 8);
    from.managed.flags = allot::dlpack_flag::is_padded;
    CHECK(refusal_of(from) == tensor_refusal::bad_dtype);
    from.set(allot::uint8);  // whole bytes are never padded; the flag is ignored
    CHECK(allot::from_dlpack<heap>(from.share()));
}

TEST_CASE("from_dlpack: negative dimensions, a missing shape and too many axes are rejected") {
    modern from;
    from.shape = {8, -1};
    CHECK(refusal_of(from) == tensor_refusal::bad_shape);
    from.shape.assign(allot::max_rank, 1);
    from.strides.assign(allot::max_rank, 1);
    CHECK(allot::from_dlpack<heap>(from.share()));
    from.shape.assign(allot::max_rank + 1, 1);
    from.strides.assign(allot::max_rank + 1, 1);
    CHECK(refusal_of(from) == tensor_refusal::bad_shape);
    from.managed.dl_tensor.ndim = -1;
    CHECK(allot::from_dlpack<heap>(from.give()).error().reason == tensor_refusal::bad_shape);
    from.managed.dl_tensor.ndim = std::numeric_limits<std::int32_t>::max();
    CHECK(allot::from_dlpack<heap>(from.give()).error().reason == tensor_refusal::bad_shape);
    from.managed.dl_tensor.ndim = 2;
    from.managed.dl_tensor.shape = nullptr;
    CHECK(allot::from_dlpack<heap>(from.give()).error().reason == tensor_refusal::bad_shape);
}

TEST_CASE("from_dlpack: negative and overflowing strides are rejected") {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    modern from;
    from.strides = {-8, 1};
    CHECK(refusal_of(from) == tensor_refusal::bad_strides);
    from.strides = {8, -1};
    CHECK(refusal_of(from) == tensor_refusal::bad_strides);
    from.strides = {std::numeric_limits<std::int64_t>::min(), 1};
    CHECK(refusal_of(from) == tensor_refusal::bad_strides);
    from.strides = {most, 1};
    CHECK(refusal_of(from) == tensor_refusal::too_large);
    from.shape = {2, 2};
    from.strides = {most, most};
    CHECK(refusal_of(from) == tensor_refusal::too_large);
    from.strides = {most / 4, 1};
    CHECK(refusal_of(from) == tensor_refusal::too_large);
    from.shape = {most, most};
    from.strides = {0, 0};
    CHECK(refusal_of(from) == tensor_refusal::too_large);
}

TEST_CASE("from_dlpack: a null pointer, an overflowing address and a misaligned address are rejected") {
    modern from;
    from.share_null();
    CHECK(allot::from_dlpack<heap>(from.give()).error().reason == tensor_refusal::no_memory);
    from.managed.dl_tensor.byte_offset = std::numeric_limits<std::uint64_t>::max() - 3;
    CHECK(refusal_of(from) == tensor_refusal::too_large);
    from.managed.dl_tensor.byte_offset = std::numeric_limits<std::size_t>::max() / 2;
    from.managed.dl_tensor.data = reinterpret_cast<void*>(std::numeric_limits<std::uintptr_t>::max() / 4 * 3);
    CHECK(allot::from_dlpack<heap>(from.give()).error().reason == tensor_refusal::too_large);
    from.managed.dl_tensor.byte_offset = 0;
    from.managed.dl_tensor.data = reinterpret_cast<void*>(std::numeric_limits<std::uintptr_t>::max() - 63);
    CHECK(allot::from_dlpack<heap>(from.give()).error().reason == tensor_refusal::too_large);
    from.shape = {4};
    from.strides = {1};
    for (const std::uint64_t offset : {1U, 2U, 3U}) {
        from.managed.dl_tensor.byte_offset = offset;
        CHECK(refusal_of(from) == tensor_refusal::misaligned);
    }
    from.managed.dl_tensor.byte_offset = 4;
    CHECK(allot::from_dlpack<heap>(from.share()));
    from.set({allot::dtype_code::complex, 64});  // two floats, with the alignment of one
    CHECK(allot::from_dlpack<heap>(from.share()));
    from.set(allot::float64);
    CHECK(refusal_of(from) == tensor_refusal::misaligned);
    from.set({allot::dtype_code::floating, 32, 4});  // a vector, with the alignment of its lanes
    CHECK(allot::from_dlpack<heap>(from.share()));
}

TEST_CASE("from_dlpack: booleans are adopted, unknown dtype codes are rejected") {
    modern from;
    from.set(allot::boolean);
    CHECK(allot::from_dlpack<heap>(from.share())->dtype() == allot::boolean);
    from.managed.dl_tensor.dtype.code = 18;  // the first that DLPack 1.3 leaves free
    CHECK(refusal_of(from) == tensor_refusal::bad_dtype);
}

TEST_CASE_TEMPLATE("from_dlpack: floats of 8, 6 and 4 bits are adopted packed, and only with their own width", Producer,
                   modern, legacy) {
    Producer from;
    from.shape = {3, 5};
    from.strides = {5, 1};
    for (int code = 7; code != 18; ++code) {
        CAPTURE(code);
        const std::uint8_t bits = code < 15 ? 8 : code < 17 ? 6 : 4;
        for (const std::uint8_t other : std::initializer_list<std::uint8_t>{4, 6, 8, 16, 32}) {
            from.managed.dl_tensor.dtype = {static_cast<std::uint8_t>(code), other, 1};
            if (other != bits) CHECK(refusal_of(from) == tensor_refusal::bad_dtype);
        }
        from.managed.dl_tensor.dtype = {static_cast<std::uint8_t>(code), bits, 1};
        const auto adopted = allot::from_dlpack<heap>(from.share());
        REQUIRE(adopted);
        CHECK(adopted->size_bytes() == (15U * bits + 7) / 8);
        const auto again = *allot::to_dlpack(*adopted);
        CHECK(again->dl_tensor.dtype.code == code);
        CHECK(again->dl_tensor.dtype.bits == bits);
        CHECK(again->flags == 0);  // packed
    }
    if constexpr (requires { from.managed.flags; }) {
        from.managed.flags = allot::dlpack_flag::is_padded;
        from.set(allot::float4_e2m1fn);
        CHECK(refusal_of(from) == tensor_refusal::bad_dtype);
        from.set({allot::dtype_code::float4_e2m1fn, 4, 2});  // padded: a byte for each lane
        CHECK(refusal_of(from) == tensor_refusal::bad_dtype);
        from.set(allot::float8_e5m2);  // whole bytes are never padded
        CHECK(allot::from_dlpack<heap>(from.share()));
    }
}

TEST_CASE("from_dlpack: the last element may end at the last address") {
    modern from;
    from.shape = {2, 2};
    from.strides = {3, 1};  // five elements from the first to the last
    from.share_null();
    from.managed.dl_tensor.data = reinterpret_cast<void*>(std::numeric_limits<std::uintptr_t>::max() - 23);
    CHECK(allot::from_dlpack<heap>(from.give()));
    from.strides = {5, 1};  // seven
    from.share_null();
    CHECK(allot::from_dlpack<heap>(from.give()).error().reason == tensor_refusal::too_large);
}
