// Random calls of two strategies whose options differ only in `prefer_size`. Every answer is the same. ALLOT_LONG=1
// runs a hundred times as many calls.
#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/bump.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace {

using allot::best_fit_options;
using allot::bump_options;
using allot::node_store;

/// Bytes with their own address space, for records in band with offsets of any width.
template <bool Small>
struct own_memory {
    static inline std::array<std::byte, 1 << 14> bytes{};
    [[nodiscard]] static std::byte* at(std::uint64_t offset) noexcept {
        return &bytes.at(static_cast<std::size_t>(offset));
    }
};

template <class Options>
consteval Options with(Options options, bool small) {
    options.prefer_size = small;
    return options;
}

template <best_fit_options Options, class Offset>
struct fits {
    template <bool Small>
    using type = allot::best_fit<with(Options, Small), Offset, own_memory<Small>>;
};
template <bump_options Options, class Offset>
struct bumps {
    template <bool Small>
    using type = allot::bump<with(Options, Small), Offset>;
};

/// Calls both strategies and compares their answers. Small sizes repeat, so that holes of exactly one size occur.
template <class Strategies>
class pair {
    using fast_type = typename Strategies::template type<false>;
    using small_type = typename Strategies::template type<true>;
    using offset = typename fast_type::offset_type;
    using allocation = allot::allocation_of<fast_type>;
    using small_allocation = allot::allocation_of<small_type>;
    static_assert(sizeof(fast_type) == sizeof(small_type) && alignof(fast_type) == alignof(small_type));
    static_assert(!std::same_as<fast_type, small_type>);

    static constexpr offset most = sizeof(offset) == 1 ? 240 : 6000;
    struct live_block {
        allocation fast;
        small_allocation small;
    };

public:
    explicit pair(unsigned seed) : dice_(seed) {
        REQUIRE(fast_->insert({extent_.offset, extent_.size}));
        REQUIRE(small_->insert({extent_.offset, extent_.size}));
    }
    void play(unsigned calls) {
        while (calls-- != 0) {
            const unsigned call = below(16);
            if (call < 8) allocate();
            else if (call == 8) diagnose();
            else if (call == 9) allocate_at();
            else if (call == 10) resize();
            else if (call == 11) resize_extent();
            else deallocate();
        }
    }

private:
    unsigned below(unsigned bound) { return static_cast<unsigned>(dice_() % bound); }
    allot::basic_layout<offset> layout() {
        const unsigned size = below(4) != 0 ? 1 + below(80) : 1 + below(900);
        const unsigned align = 1U << (below(3) != 0 ? below(4) : below(7));
        return {static_cast<offset>(size), static_cast<offset>(align)};
    }
    bool keep(allocation fast, small_allocation small) {
        if (fast.where != small.where) return false;
        if constexpr (requires { fast.metadata.record; })
            if (fast.metadata.record != small.metadata.record) return false;
        if (fast) live_.push_back({fast, small});
        return true;
    }
    void allocate() {
        const auto wanted = layout();
        REQUIRE(keep(fast_->allocate(wanted), small_->allocate(wanted)));
    }
    void diagnose() {
        const auto wanted = layout();
        const auto fast = fast_->diagnose(wanted), small = small_->diagnose(wanted);
        REQUIRE(fast.reason == small.reason);
        REQUIRE(fast.largest_hole == small.largest_hole);
    }
    void allocate_at() {
        if constexpr (allot::positional<fast_type>) {
            const allot::basic_extent<offset> wanted{static_cast<offset>(below(most) & ~7U), layout().size};
            REQUIRE(fast_->diagnose_at(wanted).reason == small_->diagnose_at(wanted).reason);
            REQUIRE(keep(fast_->allocate_at(wanted), small_->allocate_at(wanted)));
        }
    }
    void resize() {
        if constexpr (allot::resizable<fast_type>) {
            if (live_.empty()) return;
            live_block& each = live_[below(static_cast<unsigned>(live_.size()))];
            const offset size = layout().size;
            const bool fast = fast_->resize(each.fast, size);
            REQUIRE(fast == small_->resize(each.small, size));
            if (fast) each.fast.where.size = each.small.where.size = size;
            REQUIRE(fast_->capacity(each.fast) == small_->capacity(each.small));
        }
    }
    void resize_extent() {
        if constexpr (allot::extendable<fast_type>) {
            REQUIRE(fast_->least_size(extent_) == small_->least_size(extent_));
            const auto size = static_cast<offset>(most / 2 + below(most / 2));
            const bool fast = fast_->resize_extent(extent_, size);
            REQUIRE(fast == small_->resize_extent(extent_, size));
            if (fast) extent_.size = size;
        }
    }
    void deallocate() {
        if (live_.empty()) return;
        if constexpr (fast_type::reclaims == allot::reclaim::any) {
            std::swap(live_[below(static_cast<unsigned>(live_.size()))], live_.back());
            fast_->deallocate(live_.back().fast);
            small_->deallocate(live_.back().small);
            live_.pop_back();
        } else if (below(20) == 0) {
            fast_->reset();
            small_->reset();
            live_.clear();
        }
    }

    std::mt19937 dice_;
    std::unique_ptr<fast_type> fast_ = std::make_unique<fast_type>();
    std::unique_ptr<small_type> small_ = std::make_unique<small_type>();
    allot::basic_extent<offset> extent_{3, most};
    std::vector<live_block> live_;
};

template <class... Strategies>
void play() {
    const char* const longer = std::getenv("ALLOT_LONG");
    const unsigned seeds = longer != nullptr && *longer == '1' ? 300 : 3;
    for (unsigned seed = 0; seed != seeds; ++seed) (pair<Strategies>{seed}.play(3000), ...);
}

constexpr best_fit_options in_band{.store = node_store::in_band}, side{.store = node_store::side_table};

}  // namespace

TEST_CASE("prefer_size: best_fit chooses the same holes in band") {
    play<fits<in_band, std::uint64_t>, fits<in_band, std::uint32_t>, fits<in_band, std::uint16_t>,
         fits<best_fit_options{.store = node_store::in_band, .candidates = 1, .probes = 7}, std::uint32_t>,
         fits<best_fit_options{.store = node_store::in_band, .large = 300}, std::uint32_t>,
         fits<best_fit_options{.store = node_store::in_band, .probes = 2, .largest_extent = 6000}, std::uint16_t>>();
}

TEST_CASE("prefer_size: best_fit chooses the same holes with a side table") {
    play<fits<side, std::uint64_t>, fits<side, std::uint32_t>, fits<side, std::uint8_t>,
         fits<best_fit_options{.store = node_store::side_table, .records = 60, .granule = 8, .large = 123},
              std::uint16_t>,
         fits<best_fit_options{.store = node_store::side_table, .granule = 16, .candidates = 2}, std::uint32_t>,
         fits<best_fit_options{.store = node_store::side_table, .candidates = 1, .probes = 1}, std::uint32_t>,
         fits<best_fit_options{.store = node_store::side_table, .records = 12, .candidates = 9}, std::uint64_t>>();
}

TEST_CASE("prefer_size: bump returns the same offsets") {
    constexpr auto up = allot::direction::up;
    play<bumps<bump_options{}, std::uint64_t>, bumps<bump_options{.direction = up}, std::uint32_t>,
         bumps<bump_options{.limit_align = 16}, std::uint16_t>,
         bumps<bump_options{.direction = up, .limit_align = 64}, std::uint32_t>,
         bumps<bump_options{.limit_align = 4}, std::uint8_t>>();
}
