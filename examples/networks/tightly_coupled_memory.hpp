// tightly_coupled: a window of 2 MiB whose tensors lie in rows of 2048 bytes, wherever rows are free, each named by a
// table of pointers; what the plan has no rows for is spilled to an arena in host memory.
//
//     tables  (host)     │ t0: 0 1 2 │ t3: 5 3 │
//     window  (fast)     │ row 0 │ row 1 │ row 2 │ row 3 │ free  │ row 5 │ … 1024 rows
//     spilled (host)     │    t1    │        t2        │
//
// This machine has no such memory: the window is an array on the heap that stands in for it (VTCM on a Hexagon, TCM on
// a microcontroller). What is real is everything else: the fixed capacity, the rows, the tables and the spilling.
#pragma once

#include "planned_arena.hpp"

#include <allot/compose/paged.hpp>
#include <allot/core/literals.hpp>
#include <allot/device/host.hpp>
#include <allot/device/tightly_coupled.hpp>
#include <allot/strategy/pool.hpp>

#include <memory>

namespace demo {

inline constexpr std::size_t row_bytes = 2048;
inline constexpr std::size_t window_bytes = allot::operator""_MiB(2);

class tightly_coupled_memory : public mixed_by_host<tightly_coupled_memory> {
    struct alignas(row_bytes) window {
        std::byte bytes[window_bytes];
    };
    // The free rows are kept in a bitmap beside the window, so that the lowest is taken first.
    using rows = allot::arena<counting<allot::tightly_coupled>,
                              allot::pool<allot::pool_options{.slot = row_bytes,
                                                              .count = window_bytes / row_bytes,
                                                              .align = row_bytes,
                                                              .store = allot::pool_store::bitmap}>>;
    using tables = allot::arena<counting<allot::host::heap>, allot::best_fit<>, allot::growth::geometric<>>;
    using table = allot::pointer_table<row_bytes>;
    using paged = allot::paged<rows&, tables&, table>;

public:
    tightly_coupled_memory(const network& net, tally& counts)
        : wanted_{requests_of(net, host_align)},
          plan_{checked_plan(wanted_, {{.capacity = window_bytes, .align = row_bytes, .row = row_bytes},
                                       {.align = host_align}})},
          rows_{counting<allot::tightly_coupled>{{window_->bytes, window_bytes}, counts}},
          tables_{counting<allot::host::heap>{{}, counts}},
          fast_(wanted_.size()),
          spilled_{{}, counts, plan_.peaks[1], wanted_.size()},
          runs_(wanted_.size()) {}

    void begin(std::size_t t) {
        if (!is_fast(t)) return spilled_.claim(t, {plan_.places[t].offset, wanted_[t].size});
        fast_[t] = tensors_.allocate({.size = wanted_[t].size, .align = row_bytes});
        if (!fast_[t]) throw std::logic_error{"the window refuses tensor " + std::to_string(t) + " its planned rows"};
        rows_held_ += fast_[t].address.size();
        most_rows_ = std::max(most_rows_, rows_held_);
        note_runs(t);
    }
    void end(std::size_t t) {
        if (!is_fast(t)) return spilled_.give_back(t);
        rows_held_ -= fast_[t].address.size();
        tensors_.deallocate(std::exchange(fast_[t], {}));
    }

    /// Row by row in the window.
    template <class Use>
    void for_pieces(std::size_t t, Use&& use) {
        if (!is_fast(t)) return use(spilled_[t].address, spilled_[t].size, std::size_t{0});
        for (std::size_t at = 0; at < fast_[t].size; at += row_bytes)
            use(table::locate(fast_[t].address, at), std::min(row_bytes, fast_[t].size - at), at);
    }

    [[nodiscard]] bool is_fast(std::size_t t) const { return plan_.places[t].memory == 0; }
    [[nodiscard]] std::size_t peak_fast() const { return most_rows_ * row_bytes; }
    [[nodiscard]] std::size_t arena_bytes() const { return peak_fast() + spilled_.size(); }
    [[nodiscard]] const placement& places() const { return plan_; }
    /// Where in the window each tensor lay, as runs of rows in a row: for the picture.
    [[nodiscard]] const std::vector<std::vector<allot::extent>>& runs() const { return runs_; }

private:
    void note_runs(std::size_t t) {
        for (std::size_t i = 0; i != fast_[t].address.size(); ++i) {
            const auto at = static_cast<std::size_t>(static_cast<std::byte*>(fast_[t].address[i]) - window_->bytes);
            if (!runs_[t].empty() && runs_[t].back().end() == at) {
                runs_[t].back().size += row_bytes;
            } else {
                runs_[t].push_back({at, row_bytes});
            }
        }
    }

    std::vector<request> wanted_;
    placement plan_;
    std::unique_ptr<window> window_ = std::make_unique<window>();
    rows rows_;
    tables tables_;
    paged tensors_{rows_, tables_};
    std::vector<paged::block_type> fast_;
    planned_arena<allot::host::heap> spilled_;
    std::vector<std::vector<allot::extent>> runs_;
    std::size_t rows_held_ = 0, most_rows_ = 0;
};

}  // namespace demo
