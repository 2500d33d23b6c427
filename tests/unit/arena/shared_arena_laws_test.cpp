// The laws of allocators on a shared arena. Two mappings take turns, and each frees blocks of the other.
#include "../../laws/adapters.hpp"
#include "../../laws/judge.hpp"

#include <allot/arena/shared_arena.hpp>

#include <doctest/doctest.h>

#include <utility>

namespace {

template <class Offset>
class shared_subject final : public laws::subject {
    using arena = allot::shared_arena<Offset>;
    using number = laws::number;
    using id = laws::id;

    [[nodiscard]] static laws::contract promised() {
        laws::contract c = laws::contract_of<typename arena::strategy_type>();
        c.removes = false;
        return c;
    }
    [[nodiscard]] static arena make() {
        return std::move(*arena::create(std::move(*allot::host::shared_memory::create(arena::overhead + 6000))));
    }
    [[nodiscard]] static arena again(const arena& of) {
        auto memory = allot::host::shared_memory::attach(::dup(of.memory().descriptor()));
        return std::move(*arena::attach(std::move(*memory)));
    }

public:
    explicit shared_subject(const laws::variant&) : subject{promised()}, one_{std::make_unique<arena>(make())} {}

    id allocate(allot::layout wanted) override {
        arena& here = next();
        return keep(here, here.allocate(wanted));
    }
    id allocate_at(std::size_t, number at, number size) override {
        arena& here = next();
        return keep(here, here.allocate_at(inside(at, size)));
    }
    allot::diagnosis diagnose_at(std::size_t, number at, number size) override {
        return next().diagnose_at(inside(at, size));
    }
    bool resize(id held, number size) override {
        arena& here = next();
        auto resized = block(here, held);
        const bool done = here.resize(resized, static_cast<std::size_t>(size));
        held_[held].second = resized.size;
        return done;
    }
    void deallocate(id held) override {
        arena& here = next();
        here.deallocate(block(here, held));
    }
    number capacity(id held) override {
        arena& here = next();
        return here.capacity(block(here, held));
    }
    allot::diagnosis diagnose(allot::layout wanted) override { return next().diagnose(wanted); }
    std::vector<laws::piece> pieces(id held) override {
        arena& here = next();
        const auto found = block(here, held);
        if (!here.owns(found)) throw laws::broken{"an arena owns what it gave"};
        return {{0, held_[held].first - arena::overhead, capacity(held), static_cast<std::byte*>(found.address)}};
    }
    std::vector<laws::space> spaces() override {
        return {{arena::overhead, next().size() - arena::overhead, arena::max_align}};
    }
    bool honours(number align) override { return align <= arena::max_align; }
    void move() override { one_ = std::make_unique<arena>(std::move(*one_)); }

private:
    [[nodiscard]] static allot::extent inside(number at, number size) {
        return {arena::overhead + static_cast<std::size_t>(at), static_cast<std::size_t>(size)};
    }
    [[nodiscard]] id keep(const arena& here, const typename arena::block_type& given) {
        if (!given) return laws::nothing;
        held_.push_back({here.offset_of(given), given.size});
        return held_.size() - 1;
    }
    arena& next() { return turn_ = !turn_, turn_ ? *one_ : two_; }
    [[nodiscard]] auto block(const arena& here, id held) const {
        return here.block_at(held_[held].first, held_[held].second);
    }

    std::unique_ptr<arena> one_;
    arena two_ = again(*one_);
    bool turn_ = false;
    std::vector<std::pair<Offset, std::size_t>> held_;
};

using laws::make;
constexpr laws::row table[] = {
    {"shared arena, two mappings", make<shared_subject<std::uint64_t>>, false, false},
    {"shared arena, two mappings, 32 bits", make<shared_subject<std::uint32_t>>, false, false},
};

}  // namespace

TEST_CASE("allocator laws: a shared arena through either mapping") {
    CHECK(std::size(table) == 2);
    laws::judge(table);
}
