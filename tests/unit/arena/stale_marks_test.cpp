// Rollbacks of hardened arenas to marks that are no longer valid: each is reported once and changes nothing. Rollbacks
// to valid marks are never reported.
#include "helpers.hpp"

#include <allot/compose/recorded.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace {

using namespace helpers;
using allot::misuse;

using two_ends = allot::stack<allot::stack_options{.large = 200}>;
using some_growth = allot::growth::fixed<allot::growth_options{.step = 1500, .regions = 16}>;

template <class Strategy, allot::arena_options Options, class Growth = allot::growth::none<>>
struct kind {
    using arena_type = allot::arena<allot::host::heap, Strategy, Growth, Options, noted>;
    static arena_type make() {
        if constexpr (Growth::regions > 1) return arena_type{};
        else return arena_type{{}, 4096};
    }
};

bool is_reported() { return noted::only(misuse::stale_mark, 0, 0); }

/// Random calls of an arena. The model knows for each mark which blocks were live, and whether the documentation states
/// that the mark is invalid.
template <class Kind>
class model {
    using arena_type = typename Kind::arena_type;
    using block_type = typename arena_type::block_type;
    using mark_type = decltype(std::declval<arena_type&>().mark());
    static constexpr auto order = arena_type::reclaims;
    struct taken_mark {
        mark_type mark;
        std::size_t number;  // of allocations before the mark
        bool is_valid = true;
        bool is_detected = true;
    };
    struct live_block {
        block_type block;
        std::size_t number;
        unsigned char filling;
    };

public:
    explicit model(unsigned seed) : random_{seed} { noted::take(); }

    void run() {
        for (int call = 0; call != 4000; ++call) {
            switch (below(9)) {
                case 0:
                case 1:
                case 2:
                case 3: allocate(); break;
                case 4: deallocate(); break;
                case 5:
                case 6: marks_.push_back({arena_.mark(), numbers_}); break;
                case 7: rollback(); break;
                default:
                    if (below(20) == 0) reset();
            }
            if (marks_.size() > 30) marks_.erase(marks_.begin() + static_cast<std::ptrdiff_t>(below(30)));
            CHECK(noted::take().empty());
            if (call % 16 == 0) check_bytes();
        }
        CHECK(reported_ > 20);
        CHECK(rolled_back_ > 20);
    }

private:
    std::size_t below(std::size_t limit) { return random_() % limit; }

    void check_bytes() {
        for (const auto& each : live_) CHECK(all_bytes(each.block.address, each.block.size, each.filling));
    }
    void allocate() {
        const auto fresh = arena_.allocate({1 + below(below(4) == 0 ? 400 : 60), std::size_t{1} << below(5)});
        if (!fresh) return;
        const auto filling = static_cast<unsigned char>(random_());
        std::memset(fresh.address, filling, fresh.size);
        live_.push_back({fresh, ++numbers_, filling});
    }
    void deallocate() {
        if (live_.empty()) return;
        const std::size_t which = order == allot::reclaim::lifo   ? live_.size() - 1
                                  : order == allot::reclaim::fifo ? 0
                                                                  : below(live_.size());
        arena_.deallocate(live_[which].block);
        for (auto& each : marks_) {
            if (order == allot::reclaim::never) each.is_detected = false;
            else if (live_[which].number <= each.number) each.is_valid = false;
        }
        live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(which));
    }
    void reset() {
        arena_.reset();
        live_.clear();
        for (auto& each : marks_) {
            each.is_valid = false;
            each.is_detected = true;
        }
    }
    void rollback() {
        if (marks_.empty()) return;
        const auto to = marks_[below(marks_.size())];
        if (!to.is_valid && !to.is_detected) return;
        const bool done = arena_.rollback(to.mark);
        CHECK(done == to.is_valid);
        if (!to.is_valid) {
            CHECK(is_reported());
            ++reported_;
            return;
        }
        ++rolled_back_;
        const auto is_later = [&](const live_block& each) { return each.number > to.number; };
        // A later mark stays usable if no live block lies between both marks, because both are one position then.
        for (auto& each : marks_)
            for (const auto& block : live_)
                if (block.number > to.number && block.number <= each.number) each.is_valid = false;
        live_.erase(std::remove_if(live_.begin(), live_.end(), is_later), live_.end());
    }

    std::minstd_rand random_;
    arena_type arena_ = Kind::make();
    std::vector<live_block> live_;
    std::vector<taken_mark> marks_;
    std::size_t numbers_ = 0;
    int reported_ = 0, rolled_back_ = 0;
};

}  // namespace

TEST_CASE_TEMPLATE("stale marks: a model of all marks agrees", Kind, kind<up, checked>, kind<down, checked>,
                   kind<allot::stack<>, checked>, kind<two_ends, checked>, kind<allot::ring<>, checked>,
                   kind<up, checked, some_growth>, kind<up, debug>, kind<allot::stack<>, debug>,
                   kind<allot::ring<>, debug>, kind<down, debug, some_growth>) {
    for (const unsigned seed : {1U, 2U, 3U}) model<Kind>{seed}.run();
}
