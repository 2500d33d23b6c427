#pragma once

#include <allot/core/timeline.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

/// Simulated queues of a device. They know for each command which earlier commands are done before it runs, by vector
/// clocks of their own, which follow the rules of a driver and nothing of allot.
namespace simulated {

/// One number for each queue: the commands up to it.
using clocks = std::vector<unsigned>;

inline void join(clocks& to, const clocks& from) {
    if (to.size() < from.size()) to.resize(from.size());
    for (std::size_t i = 0; i != from.size(); ++i) to[i] = std::max(to[i], from[i]);
}

struct queues {
    explicit queues(unsigned count, bool is_in_order = true)
        : in_order(count, is_in_order), submitted(count), done(count), before(count, clocks(count)) {}

    std::vector<bool> in_order;
    clocks submitted;            // commands of each queue
    clocks done;                 // commands that the device has run
    std::vector<clocks> before;  // what is done before later commands of a queue run
    unsigned records = 0, waits = 0, barriers = 0, host_waits = 0, live_points = 0;
    bool ignores_waits = false;  // a driver that loses each wait
    int fails_in = -1;           // the number of calls until one fails
    bool lost = false;           // the device is lost: every call fails, and no point answers

    [[nodiscard]] bool fails() { return lost || (fails_in >= 0 && fails_in-- == 0); }

    /// Submits a command. Returns its number.
    unsigned submit(unsigned queue) {
        join(before[queue], done);  // what is done now is done before the command
        const unsigned number = ++submitted[queue];
        if (in_order[queue]) before[queue][queue] = number;
        return number;
    }
    /// Returns true if command `number` of queue `of` is done before the newest command of `queue` runs.
    [[nodiscard]] bool is_before(unsigned of, unsigned number, unsigned queue) const {
        if (of == queue && in_order[queue]) return true;
        return before[queue][of] >= number;
    }
    /// Runs all commands of a queue, and all that they wait for.
    void run(unsigned queue) {
        join(done, before[queue]);
        done[queue] = submitted[queue];
    }
    void run_all() { done = submitted; }
};

struct timeline {
    using queue_type = unsigned;
    using error_type = int;
    struct point_type {
        clocks after;  // the point passes when these are done
        bool is_held = false;
    };

    queues* device;

    int record(unsigned queue, point_type& point) const noexcept {
        if (device->fails()) return 7;
        ++device->records;
        if (!point.is_held) ++device->live_points;
        point = {device->before[queue], true};
        point.after[queue] = device->submitted[queue];
        return 0;
    }
    int wait(unsigned queue, const point_type& point) const noexcept {
        if (device->fails()) return 8;
        ++device->waits;
        if (!device->ignores_waits) join(device->before[queue], point.after);
        return 0;
    }
    int barrier(unsigned queue) const noexcept {
        if (device->fails()) return 9;
        ++device->barriers;
        if (!device->ignores_waits) device->before[queue][queue] = device->submitted[queue];
        return 0;
    }
    int wait_on_host(const point_type& point) const noexcept {
        if (device->fails()) return 10;
        ++device->host_waits;
        if (!device->ignores_waits) join(device->done, point.after);
        return 0;
    }
    [[nodiscard]] bool in_order(unsigned queue) const noexcept { return device->in_order[queue]; }
    [[nodiscard]] allot::point_state state(const point_type& point) const noexcept {
        if (device->lost) return allot::point_state::failed;
        for (std::size_t i = 0; i != point.after.size(); ++i)
            if (device->done[i] < point.after[i]) return allot::point_state::pending;
        return allot::point_state::passed;
    }
    void release(point_type& point) const noexcept {
        if (point.is_held) --device->live_points;
        point = {};
    }
};

/// The uses of each byte. A use that is not ordered after every use of an earlier block is a race.
class bytes {
public:
    explicit bytes(std::size_t size) : uses_(size) {}

    /// Notes that the newest command of a queue uses a block. Returns false if it races with an earlier block's use.
    bool use(const queues& device, unsigned queue, unsigned command, std::size_t low, std::size_t size,
             unsigned block) {
        bool ordered = true;
        for (std::size_t i = low; i != low + size; ++i) {
            for (const one& earlier : uses_[i])
                if (earlier.block != block && !device.is_before(earlier.queue, earlier.command, queue)) ordered = false;
            uses_[i].push_back({queue, command, block});
        }
        return ordered;
    }
    /// Returns true if all uses of these bytes are done.
    [[nodiscard]] bool are_done(const queues& device, std::size_t low, std::size_t size) const {
        for (std::size_t i = low; i != low + size; ++i)
            for (const one& earlier : uses_[i])
                if (device.done[earlier.queue] < earlier.command) return false;
        return true;
    }
    /// Returns true if work of this queue has used each of these bytes, and no other work.
    [[nodiscard]] bool are_reused_by(unsigned queue, std::size_t low, std::size_t size) const {
        for (std::size_t i = low; i != low + size; ++i) {
            if (uses_[i].empty()) return false;
            for (const one& earlier : uses_[i])
                if (earlier.queue != queue) return false;
        }
        return true;
    }

private:
    struct one {
        unsigned queue, command, block;
    };
    std::vector<std::vector<one>> uses_;
};

}  // namespace simulated
