// The laws on OpenCL's devices and on arenas over them, on the first device of the first platform with a device:
// buffers (a handle and an offset), imported host bytes, and shared virtual memory (an address).
#include "../../laws/adapters.hpp"
#include "../../laws/device_laws.hpp"
#include "../../laws/judge.hpp"
#include "../../laws/opencl_bytes.hpp"
#include "installed.hpp"
#include "../../devices_used.hpp"

#include <allot/opencl/imported.hpp>
#include <allot/opencl/svm.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

namespace {

using tests::opencl;

/// Shared memory aligned to pages, which drivers need not support: the laws compare offsets in memory with equal bases.
template <class Svm>
class page_aligned : public allot::traits_of<Svm> {
    static constexpr std::size_t page = 4096;

public:
    using error = cl_int;

    [[nodiscard]] allot::acquired<page_aligned> acquire(allot::layout wanted) noexcept {
        if (!wanted.is_valid() || wanted.size > page << 16 || wanted.align > page)
            return allot::acquired<page_aligned>::failure(CL_INVALID_VALUE);
        const auto answer = device_.acquire({wanted.size + page, Svm::min_align});
        if (!answer) return allot::acquired<page_aligned>::failure(answer.error());
        const std::size_t from = allot::raw_pointer::position(answer->base);
        void* const base = allot::raw_pointer::locate(answer->base, allot::align_up(from, page) - from);
        held_->push_back({base, *answer});
        return allot::region<void*>{base, wanted.size, page};
    }
    void release(allot::region<void*> held) noexcept {
        const auto is_held = [&](const piece& each) { return each.base == held.base; };
        const auto found = std::find_if(held_->begin(), held_->end(), is_held);
        device_.release(found->whole);
        held_->erase(found);
    }

private:
    struct piece {
        void* base;
        allot::region<void*> whole;
    };
    Svm device_{opencl().context, opencl().device};
    std::shared_ptr<std::vector<piece>> held_ = std::make_shared<std::vector<piece>>();
};

/// All of a region of shared memory, between map and unmap.
struct shared_bytes {
    static void fill(const allot::region<void*>& all, unsigned char value) {
        const auto mapped = allot::opencl::map(opencl().queue, all.base, all.size, CL_MAP_WRITE);
        REQUIRE(mapped);
        laws::host_bytes::fill(all, value);
    }
    [[nodiscard]] static bool hold(const allot::region<void*>& all, unsigned char value) {
        const auto mapped = allot::opencl::map(opencl().queue, all.base, all.size, CL_MAP_READ);
        REQUIRE(mapped);
        return laws::host_bytes::hold(all, value);
    }
};

}  // namespace

namespace laws {
template <>
struct ground<allot::opencl::buffer> {
    explicit ground(const variant&) {}
    [[nodiscard]] static allot::opencl::buffer device(std::size_t) { return {opencl().context, opencl().device}; }
};
template <>
struct ground<allot::opencl::imported> {
    explicit ground(const variant&) {}
    [[nodiscard]] allot::opencl::imported device(std::size_t size) {
        bytes.reset(static_cast<std::byte*>(::operator new(size, std::align_val_t{4096})));
        return {opencl().context, opencl().device, bytes.get(), size};
    }
    struct release {
        void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t{4096}); }
    };
    std::unique_ptr<std::byte, release> bytes;
};
template <class Svm>
struct ground<page_aligned<Svm>> {
    explicit ground(const variant&) {}
    [[nodiscard]] static page_aligned<Svm> device(std::size_t) { return {}; }
};
}  // namespace laws

namespace {

using allot::opencl::buffer;
using fixed = allot::growth::fixed<allot::growth_options{.step = 1000, .limit = 20'000, .regions = 8}>;
constexpr allot::best_fit_options few{.records = 24}, two_ends{.large = 200};
constexpr allot::pool_options slots{.slot = 64, .count = 60, .align = 16, .store = allot::pool_store::bitmap};

template <class Strategy, class Growth = allot::growth::none<>>
using on = laws::arena_subject<laws::arena_over<buffer, Strategy, Growth>>;
using host_tables = laws::arena_over<laws::pages<laws::page_options{}>, allot::best_fit<>>;
using paged = laws::paged_subject<laws::arena_over<buffer, allot::best_fit<>>, host_tables,
                                  allot::pointer_table<64, allot::row_index<>, allot::handle_offset<cl_mem>>>;

using laws::make;
constexpr laws::row table[] = {
    {"best fit", make<on<allot::best_fit<>>>},
    {"best fit, side table of 24", make<on<allot::best_fit<few>>>},
    {"best fit, two ends", make<on<allot::best_fit<two_ends>>>},
    {"best fit, 32 bits", make<on<allot::best_fit<allot::best_fit_options{}, std::uint32_t>>>},
    {"best fit, fixed growth", make<on<allot::best_fit<>, fixed>>, true},
    {"bump down", make<on<allot::bump<>>>},
    {"bump up", make<on<allot::bump<allot::bump_options{.direction = allot::direction::up}>>>},
    {"bump down, fixed growth", make<on<allot::bump<>, fixed>>, true},
    {"stack", make<on<allot::stack<>>>},
    {"ring", make<on<allot::ring<>>>},
    {"pool, bitmap", make<on<allot::pool<slots>>>},
    {"paged: rows of buffers, tables of the host", make<paged>, false, false},
    {"best fit, imported bytes",
     make<laws::arena_subject<laws::arena_over<allot::opencl::imported, allot::best_fit<>>>>},
    {"bump down, imported bytes", make<laws::arena_subject<laws::arena_over<allot::opencl::imported, allot::bump<>>>>},
};

using fine = page_aligned<allot::opencl::fine_svm>;
using coarse = page_aligned<allot::opencl::coarse_svm>;
template <class Device, class Strategy, class Growth = allot::growth::none<>>
using shared = laws::arena_subject<laws::arena_over<Device, Strategy, Growth>>;

constexpr laws::row svm_table[] = {
    {"best fit, records in band, fine svm", make<shared<fine, allot::best_fit<>>>},
    {"best fit, records in band, two ends, fine svm", make<shared<fine, allot::best_fit<two_ends>>>},
    {"best fit, records in band, fine svm, fixed growth", make<shared<fine, allot::best_fit<>, fixed>>, true},
    {"bump down, fine svm", make<shared<fine, allot::bump<>>>},
    {"stack, fine svm", make<shared<fine, allot::stack<>>>},
    {"best fit, side table, coarse svm", make<shared<coarse, allot::best_fit<>>>},
    {"best fit, side table, coarse svm, fixed growth", make<shared<coarse, allot::best_fit<>, fixed>>, true},
    {"ring, coarse svm", make<shared<coarse, allot::ring<>>>},
    {"pool, bitmap, coarse svm", make<shared<coarse, allot::pool<slots>>>},
};

}  // namespace

TEST_CASE("opencl: buffers and imported bytes satisfy the device laws") {
    const std::size_t align = laws::ground<buffer>::device(0).base_align();
    laws::judge_device([] { return laws::ground<buffer>::device(0); }, {.align = align},
                       laws::buffer_bytes{opencl().queue()}, laws::no_resources{});
    laws::ground<allot::opencl::imported> one{{}}, other{{}};
    bool turn = false;
    laws::judge_device([&] { return (turn = !turn, turn ? one : other).device(4096); }, {.align = align},
                       laws::buffer_bytes{opencl().queue()}, laws::no_resources{});
    tests::seen("opencl::buffer", opencl().name());
    tests::seen("opencl::imported", opencl().name());
}

TEST_CASE_TEMPLATE("opencl svm: shared virtual memory satisfies the device laws", Svm, allot::opencl::coarse_svm,
                   allot::opencl::fine_svm) {
    if (!Svm{opencl().context, opencl().device}.is_supported()) {
        std::puts("skipped: the OpenCL device has no shared virtual memory of this grain");
        return;
    }
    laws::judge_device([] { return Svm{opencl().context, opencl().device}; }, {}, shared_bytes{}, laws::no_resources{});
    constexpr bool fine = Svm::host_accessible;
    tests::seen(fine ? "opencl::fine_svm" : "opencl::coarse_svm", opencl().name());
}

TEST_CASE("opencl: arenas over buffers and imported bytes satisfy the laws") {
    CHECK(std::size(table) == 14);
    laws::judge(table);
}

TEST_CASE("opencl svm: arenas satisfy the laws") {
    CHECK(std::size(svm_table) == 9);
    if (!allot::opencl::fine_svm{opencl().context, opencl().device}.is_supported()) {
        std::puts("skipped: no OpenCL device with fine-grained shared virtual memory");
        return;
    }
    laws::judge(svm_table);
}
