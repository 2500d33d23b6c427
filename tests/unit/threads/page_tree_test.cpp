// A page_tree that several threads share, a thread and a signal handler, and processes, of which one is killed.
// page_tree_model.cpp covers all interleavings of few calls.
#include "interrupted.hpp"

#include <allot/allot.hpp>
#include <allot/host/current_processor.hpp>
#include <allot/strategy/page_tree.hpp>

#include <doctest/doctest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdint>
#include <new>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t page = 4096, pages = 2000;
constexpr allot::page_tree_options options{.page = page, .count = pages, .largest_order = 8, .processors = 3};
using tree_type = allot::page_tree<options>;
using block = tree_type::allocation_type;
static_assert(allot::concurrent<tree_type>);

/// The owner of each page; 0: nobody. Plain numbers, so that the thread sanitizer reports two owners without an order.
struct owners {
    std::uint32_t of[pages]{};
};

/// Holds blocks of random sizes, and marks their pages.
template <class Tree>
class holder {
public:
    holder(Tree& from, owners& all, std::uint32_t number) : from_{from}, all_{all}, number_{number}, random_{number} {}

    void step() {
        if (held_.size() < 40 && random_() % 2 == 0) {
            const std::size_t size = page << random_() % (random_() % 4 == 0 ? 9 : 2);
            if (const auto fresh = from_.allocate({.size = size - random_() % page, .align = 1})) {
                mark(fresh, 0, number_);
                held_.push_back(fresh);
                ++taken;
            }
        } else if (!held_.empty()) {
            std::swap(held_[random_() % held_.size()], held_.back());
            give();
        }
    }
    void give_all() {
        while (!held_.empty()) give();
    }

    std::size_t taken = 0;
    bool wrong = false;  // a page had another owner

private:
    void give() {
        mark(held_.back(), number_, 0);
        from_.deallocate(held_.back());
        held_.pop_back();
    }
    void mark(const typename Tree::allocation_type& held, std::uint32_t before, std::uint32_t after) {
        for (std::size_t i = held.where.offset / page; i != (held.where.offset + from_.capacity(held)) / page; ++i) {
            wrong |= all_.of[i] != before;
            all_.of[i] = after;
        }
    }

    Tree& from_;
    owners& all_;
    std::uint32_t number_;
    std::minstd_rand random_;
    std::vector<typename Tree::allocation_type> held_;
};

/// Holds up to 50 pages, without a heap, because a signal handler uses it.
class single_pages {
public:
    single_pages(tree_type& from, owners& all, std::uint32_t number) : from_{from}, all_{all}, number_{number} {}

    void step() noexcept {
        block& next = held_[step_++ % 50];
        if (next) {
            wrong |= std::exchange(all_.of[next.where.offset / page], 0U) != number_;
            from_.deallocate(next);
        }
        next = from_.allocate({page, 1});
        if (next) wrong |= std::exchange(all_.of[next.where.offset / page], number_) != 0;
    }
    [[nodiscard]] std::size_t held() const {
        std::size_t count = 0;
        for (const block& each : held_) count += static_cast<bool>(each);
        return count;
    }

    bool wrong = false;  // a page had another owner

private:
    tree_type& from_;
    owners& all_;
    std::uint32_t number_;
    std::size_t step_ = 0;
    block held_[50]{};
};
single_pages* interrupting = nullptr;
void on_interrupt() noexcept {
    interrupting->step();
    interrupting->step();
}

/// Returns the number of pages that can be allocated, and keeps them.
template <class Tree>
[[nodiscard]] std::size_t take_all(Tree& tree) {
    std::size_t count = 0;
    while (tree.allocate({.size = page, .align = 1})) ++count;
    return count;
}

/// Memory that child processes share with this one.
template <class T>
class shared {
public:
    shared() : at_{::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)} {
        REQUIRE(at_ != MAP_FAILED);
        ::new (at_) T;
    }
    shared(const shared&) = delete;
    shared& operator=(const shared&) = delete;
    ~shared() { ::munmap(at_, sizeof(T)); }
    [[nodiscard]] T& operator*() const { return *static_cast<T*>(at_); }
    [[nodiscard]] T* operator->() const { return static_cast<T*>(at_); }

private:
    void* at_;
};

}  // namespace

TEST_CASE_TEMPLATE("page_tree: threads never share a page and never lose one", Tree, tree_type,
                   allot::page_tree<options, std::size_t, allot::host::current_processor>) {
    Tree tree;
    REQUIRE(tree.insert({0, pages * page}));
    owners all;
    std::vector<holder<Tree>> holders;
    for (std::uint32_t i = 1; i != 5; ++i) holders.emplace_back(tree, all, i);
    {
        std::vector<std::jthread> threads;
        for (auto& mine : holders)
            threads.emplace_back([&mine] {
                for (int i = 0; i != 5'000; ++i) mine.step();
                mine.give_all();
            });
    }
    for (const auto& each : holders) {
        CHECK_FALSE(each.wrong);
        CHECK(each.taken > 100);
    }
    CHECK(tree.diagnose({1, 1}).largest_hole == page << 8);
    CHECK(take_all(tree) == pages);
}

TEST_CASE("page_tree: only one thread succeeds to allocate at a given page") {
    tree_type tree;
    REQUIRE(tree.insert({0, pages * page}));
    std::atomic<int> got = 0;
    for (int round = 0; round != 100; ++round) {
        got = 0;
        {
            std::vector<std::jthread> threads;
            for (int i = 0; i != 3; ++i)
                threads.emplace_back([&] {
                    if (tree.allocate_at({256 * page, 200 * page})) ++got;
                });
        }
        if (got != 1) FAIL_CHECK("allocated by ", got.load());
        tree.deallocate({{256 * page, 200 * page}, {}});
    }
    CHECK(take_all(tree) == pages);
}

TEST_CASE("page_tree: an arena over it is for concurrent calls as well") {
    allot::arena<allot::host::heap, tree_type> memory{{}, 100 * page};
    std::vector<std::jthread> threads;
    std::atomic<bool> wrong = false;
    for (int i = 1; i != 4; ++i)
        threads.emplace_back([&, i] {
            for (int round = 0; round != 1000; ++round) {
                const auto held = memory.allocate({.size = 2 * page});
                if (!held) continue;
                auto* const first = static_cast<int*>(held.address);
                *first = i;
                std::this_thread::yield();
                if (*first != i) wrong = true;
                memory.deallocate(held);
            }
        });
    threads.clear();
    CHECK_FALSE(wrong);
}

TEST_CASE("page_tree: it works at two addresses, as in processes that map the same memory") {
    const int file = ::memfd_create("page_tree", 0);
    REQUIRE(file >= 0);
    REQUIRE(::ftruncate(file, sizeof(tree_type)) == 0);
    void* at[2];
    for (void*& each : at) {
        each = ::mmap(nullptr, sizeof(tree_type), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        REQUIRE(each != MAP_FAILED);
    }
    auto* const one = ::new (at[0]) tree_type;
    auto* const other = static_cast<tree_type*>(at[1]);
    REQUIRE(one->insert({0, pages * page}));
    const auto small = one->allocate({page, 1}), large = other->allocate({page << 8, 1});
    REQUIRE(small);
    REQUIRE(large);
    CHECK_FALSE(other->allocate_at(small.where));
    CHECK_FALSE(one->allocate_at(large.where));
    other->deallocate(small);
    one->deallocate(large);
    CHECK(take_all(*other) == pages);
    CHECK_FALSE(one->allocate({1, 1}));
    for (void* const each : at) ::munmap(each, sizeof(tree_type));
    ::close(file);
}

TEST_CASE("page_tree: a signal handler allocates and frees during calls of its thread") {
    tree_type tree;
    REQUIRE(tree.insert({0, pages * page}));
    owners all;
    single_pages thread{tree, all, 1}, interrupt{tree, all, 2};
    interrupting = &interrupt;
    interrupted::run(on_interrupt, [&] { thread.step(); });
    CHECK_FALSE(thread.wrong);
    CHECK_FALSE(interrupt.wrong);
    CHECK(take_all(tree) + thread.held() + interrupt.held() == pages);
}

TEST_CASE("page_tree: processes share it after a fork, and one is killed at any instruction") {
    struct state {
        tree_type tree;
        std::atomic<bool> wrong;
    };
    std::mt19937 random{1};
    std::size_t lost = 0;
    for (int round = 0; round != 30; ++round) {
        const shared<state> both;
        const shared<owners> all;
        REQUIRE(both->tree.insert({0, pages * page}));
        std::fflush(nullptr);  // a child must not print the same text again
        pid_t children[2];
        for (std::uint32_t i = 0; i != 2; ++i) {
            children[i] = ::fork();
            REQUIRE(children[i] >= 0);
            if (children[i] != 0) continue;
            holder<tree_type> mine{both->tree, *all, i + 1};
            for (int step = 0; i == 0 || step != 3'000; ++step) mine.step();  // the first one never ends by itself
            mine.give_all();
            if (mine.wrong) both->wrong = true;
            ::_exit(0);
        }
        ::usleep(static_cast<useconds_t>(1000 + random() % 3000));
        REQUIRE(::kill(children[0], SIGKILL) == 0);
        for (const pid_t each : children) REQUIRE(::waitpid(each, nullptr, 0) == each);
        CHECK_FALSE(both->wrong);
        // Lost are only pages that the killed process held, and those of the call in which it died.
        std::size_t marked = 0, of_others = 0;
        for (const std::uint32_t each : all->of) {
            marked += each == 1;
            of_others += each > 1;
        }
        CHECK(of_others == 0);
        const std::size_t free = take_all(both->tree);
        CHECK(free <= pages - marked);
        CHECK(free + marked + 256 >= pages);
        lost += marked;
    }
    CHECK(lost != 0);  // some process held pages when it was killed
}
