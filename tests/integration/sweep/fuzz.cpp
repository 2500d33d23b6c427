// The oracle of the option sweep. It makes random calls to a machine and compares each answer with the documentation.
// It tracks regions and block bytes, but not how the allocator selects them.
//
//     sweep [row …]        runs the given rows, or all rows, each in its own process, because a row may crash
//
// SWEEP_ROUNDS: number of runs, each with another seed. SWEEP_TRACE: prints every call.
#include "machine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sweep {

namespace {

const enlisted* first = nullptr;
constexpr int laws_broken = 42;  // not an exit status of a sanitizer

struct broken {
    std::string law;
};

using allot::layout;
using allot::refusal;

class oracle {
public:
    oracle(maker make, unsigned seed) : make_{make}, it_{make()}, all_{it_->what()}, random_{seed} {}

    void run() {
        const std::size_t most = most_at_once(), count = count_of(24);
        for (int i = 0; i != 500; ++i) step();
        free_everything();
        if (all_.trims && all_.grows) {
            it_->trim();
            require(it_->size() == 0 || all_.in_rows || !all_.alone, "trim releases every region without a live block");
        }
        misuse();
        if (all_.trims && all_.grows) it_->trim();
        join();
        if (all_.in_rows && all_.defers) return;  // waiting rows are reused in place
        if (most != 0) {
            note("allocate", most, 1);
            require(it_->allocate(0, {most, 1}), "after all blocks are freed, the largest block is as at first");
            take_over(0, {most, 1});
            free_everything();
            if (all_.trims && all_.grows) it_->trim();
        }
        join();
        require(fill(*it_, 24) == count, "after all blocks are freed, as many blocks fit as at first");
        require(misuses == 0, "correct calls are no misuse");
        it_.reset();
        require(misuses == 0, "freed blocks are not reported as leaked");
    }

    [[nodiscard]] const std::string& last() const { return last_; }

private:
    struct held {
        bool live = false;
        std::size_t asked = 0;
        std::vector<place> places;
        unsigned char pattern = 0;
        unsigned long since = 0;  // number of the allocation
    };

    static constexpr std::size_t most_in_rows = 5000;  // larger blocks would only test many rows

    static void require(bool holds, const char* law) {
        if (!holds) throw broken{law};
    }
    std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }

    /// Makes deferred blocks merge, which happens before a failure.
    void join() { static_cast<void>(it_->diagnose({~std::size_t{0} / 2, 1})); }

    // ── capacity at first ────────────────────────────────────────────────────────────────────────────────────────────

    /// Returns the size of the largest block of a new machine, up to twice its size.
    std::size_t most_at_once() const {
        if (all_.in_rows && all_.size > most_in_rows) return 0;
        std::size_t served = 0, refused = 2 * all_.size + 1;
        while (refused - served > 1) {
            const std::size_t middle = served + (refused - served) / 2;
            const std::unique_ptr<machine> fresh{make_()};
            const bool given = fresh->allocate(0, {middle, 1});
            (given ? served : refused) = middle;
            if (given) fresh->deallocate(0);
        }
        return served;
    }
    std::size_t count_of(std::size_t size) const {
        const std::unique_ptr<machine> fresh{make_()};
        return fill(*fresh, size);
    }
    /// Returns the number of blocks that fit concurrently, up to `most_ids`.
    static std::size_t fill(machine& of, std::size_t size) {
        std::size_t count = 0;
        while (count != most_ids && of.allocate(count, {size, 1})) ++count;
        const bool lifo = of.what().reclaims == allot::reclaim::lifo;
        for (std::size_t i = 0; i != count; ++i) of.deallocate(lifo ? count - 1 - i : i);
        return count;
    }

    // ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────

    layout any_layout() {
        layout wanted{1 + below(64), std::size_t{1} << below(7)};
        switch (below(12)) {
            case 0: wanted.size = 1 + below(all_.size / 2); break;
            case 1: wanted.size = 1 + below(all_.size + all_.size / 3); break;
            case 2: wanted.size = 1 + below(600); break;
            case 3: wanted.align = std::size_t{1} << below(15); break;
            case 4: wanted.align = 1; break;
            default: break;
        }
        switch (below(60)) {
            case 0: wanted.size = 0; break;
            case 1: wanted.size = ~std::size_t{0} - below(70); break;
            case 2:
                wanted.size = (std::size_t{1} << (below(2) == 0 ? 8 : below(2) == 0 ? 16 : 32)) - 2 + below(4);
                break;
            case 3: wanted.align = below(2) == 0 ? 0 : 3; break;
            case 4: wanted.align = std::size_t{1} << (15 + below(49)); break;
            default: break;
        }
        if (all_.in_rows && wanted.size > most_in_rows && wanted.size <= (std::size_t{1} << 20))
            wanted.size %= most_in_rows;
        // A heap could serve this alignment once for each row.
        if (all_.in_rows && wanted.align > (std::size_t{1} << 20) && wanted.align < (std::size_t{1} << 42))
            wanted.align <<= 21;
        // A heap could serve this size, but filling it takes too long.
        if (wanted.size > (std::size_t{1} << 20) && wanted.size < (std::size_t{1} << 50)) wanted.size <<= 30;
        return wanted;
    }

    void step() {
        const std::size_t what = below(100);
        if (what < 48) {
            allocate();
        } else if (what < 80) {
            deallocate();
        } else if (what < 88) {
            if (all_.resizes) resize();
        } else if (what < 93) {
            if (all_.claims) allocate_at();
        } else if (what < 95) {
            if (all_.trims) trim();
        } else if (what < 96) {
            if (all_.marks) mark_and_rollback();
        } else if (what < 97 || live_ > 90) {
            if (all_.resets || below(4) == 0) free_everything();
        }
    }

    std::size_t free_id() const {
        for (std::size_t id = 0; id != most_ids; ++id)
            if (!blocks_[id].live) return id;
        return most_ids;
    }

    bool allocate() {
        const layout wanted = any_layout();
        const std::size_t id = free_id();
        if (id == most_ids) return false;
        note("allocate", wanted.size, wanted.align);
        const allot::diagnosis said = it_->diagnose(wanted);
        const std::size_t size = it_->size();
        const bool given = it_->allocate(id, wanted);
        last_ += given ? " is served" : " is refused";
        // Waiting rows are reused in place, so many rows may fit at one time and not at another.
        const bool as_before = !all_.in_rows || !all_.defers;
        if (given) {
            require(wanted.is_valid(), "an invalid layout fails");
            require(said.reason == refusal::none || said.reason == refusal::device_refused || !as_before,
                    "diagnose reports a reason, but allocate succeeds");
            take_over(id, wanted);
            return true;
        }
        const allot::diagnosis now = it_->diagnose(wanted);
        last_ += std::string{", before: "} + said.what() + ", after: " + now.what();
        require(now.reason != refusal::none || !as_before, "allocate fails, but diagnose reports success");
        // In a fallback, the answer of the second arena may hide an error of the first arena's device.
        if ((all_.alone || !all_.grows) && as_before)
            require(said.reason != refusal::none || now.reason == refusal::device_refused,
                    "diagnose reported success, but allocate fails");
        const bool asked_device = said.reason == refusal::device_refused || now.reason == refusal::device_refused;
        if (!asked_device && !all_.in_rows && (all_.alone || !all_.grows))
            require(said.reason == now.reason, "a failed allocate changes the diagnosis");
        if (wanted.size == 0) require(now.reason == refusal::empty_layout, "size 0 fails with empty_layout");
        else if (!wanted.is_valid())
            require(now.reason == refusal::bad_alignment, "a bad alignment fails with bad_alignment");
        require(it_->size() == size, "a failed allocate changes no region");
        if (all_.exact && wanted.is_valid() && now.reason != refusal::out_of_records &&
            now.reason != refusal::misaligned)
            require(!has_hole(wanted), "an exact strategy fails only if no hole fits");
        return false;
    }

    void take_over(std::size_t id, layout wanted) {
        held& block = blocks_[id];
        block.live = true;
        ++live_;
        block.since = ++count_;
        block.asked = wanted.size;
        require(it_->size_of(id) == wanted.size, "a block has the requested size");
        require(it_->owns(id), "an arena owns its blocks");
        block.pattern = static_cast<unsigned char>(random_());
        const std::vector<place> regions = it_->regions();
        place_block(block, it_->places(id), regions);
        for (const place& each : block.places) {
            bool beside_handle = each.key != 0;
            require(each.at % wanted.align == 0, "a block has the requested alignment");
            if (beside_handle)
                for (const place& region : regions)
                    if (region.key == each.key)
                        require(region.align % wanted.align == 0, "the region of a handle has the requested alignment");
        }
        write(block);
    }
    /// Checks that a block is in a region and overlaps no other block.
    void place_block(held& block, std::vector<place> places, const std::vector<place>& regions) {
        std::size_t bytes = 0;
        for (const place& each : places) {
            bytes += each.size;
            const auto holds_it = [&](const place& region) { return is_inside(each, region); };
            require(std::any_of(regions.begin(), regions.end(), holds_it), "a block is inside a region");
            for (const held& other : blocks_) {
                if (!other.live || &other == &block) continue;
                for (const place& piece : other.places) require(!overlap(each, piece), "live blocks share no byte");
            }
            for (const place& piece : places) require(&piece == &each || !overlap(each, piece), "rows share no byte");
        }
        require(bytes >= block.asked, "a block's capacity is at least its size");
        block.places = std::move(places);
    }
    static bool overlap(const place& a, const place& b) {
        return a.key == b.key && (a.at < b.at ? b.at - a.at < a.size : a.at - b.at < b.size);
    }
    static bool is_inside(const place& piece, const place& region) {
        return piece.key == region.key && piece.at >= region.at && piece.size <= region.size &&
               piece.at - region.at <= region.size - piece.size;
    }
    void write(const held& block) const {
        for (const place& each : block.places)
            if (each.bytes != nullptr) std::memset(each.bytes, block.pattern, each.size);
    }
    /// Checks that the first bytes of a block are unchanged.
    void look(const held& block, std::size_t bytes) const {
        for (const place& each : block.places) {
            const std::size_t some = std::min(bytes, each.size);
            if (each.bytes != nullptr)
                for (std::size_t i = 0; i != some; ++i)
                    require(static_cast<unsigned char>(each.bytes[i]) == block.pattern, "a block keeps its bytes");
            bytes -= some;
        }
    }

    bool has_hole(layout wanted) const {
        std::size_t need = wanted.size;
        if (need > (std::size_t{1} << 40)) return false;
        need += wanted.align - 1 + all_.slack;
        for (const place& region : it_->regions()) {
            std::vector<place> inside;
            for (const held& block : blocks_)
                if (block.live)
                    for (const place& each : block.places)
                        if (is_inside(each, region)) inside.push_back(each);
            std::sort(inside.begin(), inside.end(), [](const place& a, const place& b) { return a.at < b.at; });
            std::size_t from = region.at;
            for (const place& each : inside) {
                if (each.at - from >= need) return true;
                from = each.at + each.size;
            }
            const std::size_t end = region.at + std::min(region.size, all_.reach);
            if (end > from && end - from >= need) return true;
        }
        return false;
    }

    /// Returns a block that the order of reclamation allows to free, or `most_ids` if there are no blocks.
    std::size_t choose() {
        std::size_t chosen = most_ids, seen = 0;
        for (std::size_t id = 0; id != most_ids; ++id) {
            if (!blocks_[id].live) continue;
            ++seen;
            bool better = chosen == most_ids;
            if (better) {
            } else if (all_.reclaims == allot::reclaim::lifo) {
                better = blocks_[id].since > blocks_[chosen].since;
            } else if (all_.reclaims == allot::reclaim::fifo) {
                better = blocks_[id].since < blocks_[chosen].since;
            } else {
                better = below(seen) == 0;
            }
            if (better) chosen = id;
        }
        return chosen;
    }
    void deallocate() {
        const std::size_t id = choose();
        if (id == most_ids) return;
        note("deallocate", id, blocks_[id].asked);
        forget(id);
    }
    void forget(std::size_t id) {
        look(blocks_[id], ~std::size_t{0});
        it_->deallocate(id);
        blocks_[id].live = false;
        --live_;
    }
    void free_everything() {
        note("free_everything", live_, 0);
        for (std::size_t id = choose(); id != most_ids; id = choose()) forget(id);
        if (all_.resets && (all_.reclaims == allot::reclaim::never || below(2) == 0)) it_->reset();
    }

    void resize() {
        std::size_t id = most_ids, seen = 0;
        for (std::size_t each = 0; each != most_ids; ++each)
            if (blocks_[each].live && below(++seen) == 0) id = each;
        if (id == most_ids) return;
        held& block = blocks_[id];
        const std::size_t before = block.asked, capacity = it_->capacity(id);
        std::size_t size = below(2) == 0 ? 1 + below(2 * before + 40) : 1 + below(all_.size);
        if (below(30) == 0) size = below(2) == 0 ? 0 : ~std::size_t{0} - below(9);
        note("resize", before, size);
        if (it_->resize(id, size)) {
            require(size != 0, "no block has size 0");
            block.asked = size;
            require(it_->size_of(id) == size, "a resized block has the new size");
            look(block, std::min(before, size));
            place_block(block, it_->places(id), it_->regions());
            write(block);
        } else {
            require(it_->size_of(id) == before && it_->capacity(id) == capacity, "a failed resize changes nothing");
            look(block, ~std::size_t{0});
        }
    }

    void allocate_at() {
        const std::vector<place> regions = it_->regions();
        const std::size_t id = free_id();
        if (regions.empty() || id == most_ids) return;
        const place& region = regions[0];
        const std::size_t at = below(region.size + 8), mask = below(2) == 0 ? std::size_t{63} : 0;
        const allot::extent wanted{at & ~mask, below(20) == 0 ? 0 : 1 + below(200)};
        note("claim", wanted.offset, wanted.size);
        const allot::diagnosis said = it_->diagnose_at(wanted);
        if (it_->allocate_at(id, wanted)) {
            require(said.reason == refusal::none, "diagnose_at reports a reason, but allocate_at succeeds");
            take_over(id, {wanted.size, 1});
            require(blocks_[id].places[0].at == region.at + wanted.offset, "allocate_at returns the requested place");
        } else {
            require(said.reason != refusal::none, "diagnose_at reports success, but allocate_at fails");
        }
    }
    void trim() {
        note("trim", it_->size(), 0);
        const std::size_t size = it_->size(), released = it_->trim();
        require(it_->size() + released == size, "trim returns the number of released bytes");
        const std::vector<place> regions = it_->regions();
        for (const held& block : blocks_) {
            if (!block.live) continue;
            for (const place& each : block.places)
                require(
                    std::any_of(regions.begin(), regions.end(), [&](const place& in) { return is_inside(each, in); }),
                    "trim keeps the regions of live blocks");
        }
    }
    void mark_and_rollback() {
        note("mark", live_, 0);
        it_->mark();
        const unsigned long before = count_;
        for (std::size_t i = below(6); i != 0; --i) allocate();
        note("rollback", live_, 0);
        for (held& block : blocks_) {
            if (!block.live || block.since <= before) continue;
            look(block, ~std::size_t{0});
            block.live = false;
            --live_;
        }
        it_->rollback();
    }

    /// Misuse that a hardened arena must detect.
    void misuse() {
        if (!all_.hardened || !it_->allocate(0, {8, 1})) return;
        it_->deallocate(0);
        require(misuses == 0, "correct calls are no misuse");
        it_->deallocate(0);
        require(misuses == 1, "a double free is reported once");
        misuses = 0;
        if (all_.resets) it_->reset();
    }

    void note(const char* call, std::size_t a, std::size_t b) {
        if (is_traced_) std::printf("%s\n", last_.c_str());
        last_ = std::string{call} + "(" + std::to_string(a) + ", " + std::to_string(b) + ") with " +
                std::to_string(live_) + " live";
    }

    maker make_;
    std::unique_ptr<machine> it_;
    promises all_;
    std::minstd_rand random_;
    held blocks_[most_ids];
    std::size_t live_ = 0;
    unsigned long count_ = 0;
    std::string last_ = "nothing";
    bool is_traced_ = std::getenv("SWEEP_TRACE") != nullptr;
};

/// Runs a row in its own process, because it may crash. Returns whether all laws held.
bool work_off(const enlisted& row, unsigned rounds) {
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child == 0) {
        bool good = true;
        const rlimit seconds{60, 60};
        ::setrlimit(RLIMIT_CPU, &seconds);
        for (unsigned seed = 1; good && seed <= rounds; ++seed) {
            oracle one{row.make, seed};
            try {
                one.run();
            } catch (const broken& what) {
                std::printf("row %d: %s: %s, at %s (seed %u)\n", row.row, row.what, what.law.c_str(),
                            one.last().c_str(), seed);
                good = false;
            }
        }
        std::fflush(stdout);
        ::_exit(good ? 0 : laws_broken);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) std::printf("row %d: %s: signal %d\n", row.row, row.what, WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != laws_broken)
        std::printf("row %d: %s: ended with %d\n", row.row, row.what, WEXITSTATUS(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

enlisted::enlisted(int number, const char* name, maker makes) : row{number}, what{name}, make{makes}, next{first} {
    first = this;
}

}  // namespace sweep

int main(int count, char** words) {
    const char* const rounds = std::getenv("SWEEP_ROUNDS");
    int wrong = 0, all = 0;
    for (const sweep::enlisted* row = sweep::first; row != nullptr; row = row->next) {
        const auto is_named = [row](const char* word) { return std::atoi(word) == row->row; };
        if (count > 1 && std::none_of(words + 1, words + count, is_named)) continue;
        ++all;
        wrong += !sweep::work_off(*row, rounds == nullptr ? 3 : static_cast<unsigned>(std::atoi(rounds)));
    }
    std::printf("%d combinations fuzzed, %d broken\n", all, wrong);
    return wrong == 0 ? 0 : 1;
}
