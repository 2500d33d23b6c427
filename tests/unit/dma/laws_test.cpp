// The laws of devices and allocators on DMA buffers: with the real drivers if present (the VM of tests/targets/vm),
// otherwise with fakes.
#include "../../laws/adapters.hpp"
#include "../../laws/device_laws.hpp"
#include "../../laws/judge.hpp"
#include "fake_kernel.hpp"
#include "../../devices_used.hpp"

#include <allot/dma/heap.hpp>
#include <allot/dma/imported_memory.hpp>
#include <allot/dma/u_dma_buf.hpp>
#include <allot/dma/udmabuf.hpp>

#include <doctest/doctest.h>

#include <optional>

namespace {

std::optional<tests::fake_kernel> kernel;

/// Returns whether this machine's kernel lacks a driver.
bool is_missing() { return ::access("/dev/dma_heap/reserved", F_OK) != 0 || ::access("/dev/udmabuf", F_OK) != 0; }

}  // namespace

namespace laws {

template <allot::dma::heap_name Name, allot::dma::heap_options Options>
struct ground<allot::dma::heap<Name, Options>> {
    explicit ground(const variant&) {}
    [[nodiscard]] static allot::dma::heap<Name, Options> device(std::size_t) {
        return kernel ? allot::dma::heap<Name, Options>{kernel->heaps()} : allot::dma::heap<Name, Options>{};
    }
};
template <allot::dma::udmabuf_options Options>
struct ground<allot::dma::udmabuf<Options>> {
    explicit ground(const variant&) {}
    [[nodiscard]] static allot::dma::udmabuf<Options> device(std::size_t) {
        return kernel ? allot::dma::udmabuf<Options>{kernel->udmabuf()} : allot::dma::udmabuf<Options>{};
    }
};
template <allot::dma::u_dma_buf_options Options>
struct ground<allot::dma::u_dma_buf<Options>> {
    explicit ground(const variant&) {
        std::filesystem::create_directory(board / "buffer");
        board.write("buffer/phys_addr", "0x1e905000\n");
        board.write("buffer/dma_coherent", "1\n");
    }
    [[nodiscard]] allot::dma::u_dma_buf<Options> device(std::size_t size) {
        board.write("buffer/size", std::to_string(size) + "\n");
        std::filesystem::create_directory(board / "nodes");
        board.write("nodes/buffer", "");
        std::filesystem::resize_file(board / "nodes/buffer", (size + 4095) / 4096 * 4096);
        nodes = board / "nodes";
        return allot::dma::u_dma_buf<Options>{"buffer", 0, {board.path().c_str(), nodes.c_str()}};
    }
    tests::temporary_directory board;
    std::string nodes;
};

}  // namespace laws

namespace {

using heap = allot::dma::heap<"reserved">;
using coherent_heap = allot::dma::heap<"reserved", allot::dma::heap_options{.contiguous = true, .coherent = true}>;
using coherent_udmabuf = allot::dma::udmabuf<allot::dma::udmabuf_options{.coherent = true}>;
using coherent_u_dma_buf = allot::dma::u_dma_buf<allot::dma::u_dma_buf_options{.coherent = true}>;

using fixed = allot::growth::fixed<allot::growth_options{.step = 5000, .limit = 60'000, .regions = 4}>;
constexpr allot::pool_options slots{.slot = 64, .count = 60, .align = 16, .store = allot::pool_store::bitmap};

template <class Device, class Strategy, class Growth = allot::growth::none<>>
using on = laws::arena_subject<laws::arena_over<laws::steady<Device>, Strategy, Growth>>;

using laws::make;
constexpr laws::row table[] = {
    {"best fit, dma heap", make<on<heap, allot::best_fit<>>>, false, false},
    {"best fit, coherent dma heap", make<on<coherent_heap, allot::best_fit<>>>, false, false},
    {"best fit, dma heap, fixed growth", make<on<heap, allot::best_fit<>, fixed>>, true},
    {"best fit, coherent dma heap, fixed growth", make<on<coherent_heap, allot::best_fit<>, fixed>>, true},
    {"pool, dma heap", make<on<heap, allot::pool<slots>>>, false, false},
    {"best fit, udmabuf", make<on<allot::dma::udmabuf<>, allot::best_fit<>>>, false, false},
    {"bump, coherent udmabuf, fixed growth", make<on<coherent_udmabuf, allot::bump<>, fixed>>, true},
    {"best fit, u_dma_buf", make<on<allot::dma::u_dma_buf<>, allot::best_fit<>>>, false, false},
    {"best fit, coherent u_dma_buf", make<on<coherent_u_dma_buf, allot::best_fit<>>>, false, false},
};

}  // namespace

TEST_CASE("device laws: DMA buffers") {
    if (is_missing()) kernel.emplace();
    const laws::variant how;
    laws::judge_device([&] { return laws::ground<heap>{how}.device(0); }, {.align = std::size_t{1} << 22});
    laws::judge_device([&] { return laws::ground<allot::dma::udmabuf<>>{how}.device(0); },
                       {.align = std::size_t{1} << 22});
    laws::ground<allot::dma::u_dma_buf<>> one{how}, other{how};
    bool turn = false;
    laws::judge_device([&] { return (turn = !turn, turn ? one : other).device(16'384); }, {.align = 8192});
    // A buffer of a heap and one of the udmabuf driver, imported in turn.
    auto first = laws::ground<heap>{how}.device(0);
    auto second = laws::ground<allot::dma::udmabuf<>>{how}.device(0);
    const auto a = first.acquire({.size = 8192}), b = second.acquire({.size = 8192});
    REQUIRE(a);
    REQUIRE(b);
    laws::judge_device(
        [&] {
            auto shared = (turn = !turn) ? first.export_memory(*a) : second.export_memory(*b);
            REQUIRE(shared);
            return allot::dma::imported_memory<>{std::move(*shared)};
        },
        {.align = std::size_t{1} << 22});
    first.release(*a);
    second.release(*b);
    for (const char* device : {"dma::heap", "dma::udmabuf", "dma::imported_memory"})
        kernel ? tests::seen_on_fake_driver(device) : tests::seen(device);
    tests::seen_on_fake_driver("dma::u_dma_buf");
    kernel.reset();
}

TEST_CASE("allocator laws: arenas over DMA buffers") {
    CHECK(std::size(table) == 9);
    if (is_missing()) kernel.emplace();
    laws::judge(table);
    kernel.reset();
}
