// SPDX-License-Identifier: BSL-1.0
// export_pytorch: writes an event log or a snapshot as a memory snapshot of PyTorch, as
// torch.cuda.memory._dump_snapshot writes it: a pickle of protocol 2.
//
//     std::string bytes;
//     allot::export_pytorch(allot::event_log{}, [&](std::string_view part) { bytes += part; });
//
//     allot                         PyTorch
//     region                        segment
//     block                         block in the state active_allocated; its tag is a frame
//     other bytes of a region       block in the state inactive
//     allocate                      alloc
//     deallocate, reset             free_requested and free_completed, for each block
//     resize                        free_requested, free_completed and alloc
//     refuse                        oom
//     acquire, release a region     segment_alloc, segment_free
//
// The device is 0 and the stream is 0. A time is in microseconds, or a count. The segments are those at the end of the
// log.
//
// When to use: to open a log at https://pytorch.org/memory_viz, in its successors, or with torch/cuda/_memory_viz.py.
// When not to use: for more than about 10^6 events: these tools keep several hundred bytes for each event.
//
// Complexity: O(events) on average.
// Memory: that of `memory_state`, and 64 KiB.
// Thread safety: requires external synchronization.
#pragma once

#include <allot/inspect/detail/pickle.hpp>
#include <allot/inspect/detail/region_layout.hpp>
#include <allot/inspect/memory_state.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// The keys and the texts of a snapshot of PyTorch, by their numbers in the pickle.
enum class pytorch_text : std::uint32_t {
    segments,
    device_traces,
    device,
    address,
    total_size,
    stream,
    segment_type,
    allocated_size,
    active_size,
    requested_size,
    blocks,
    size,
    state,
    frames,
    action,
    addr,
    time_us,
    device_free,
    filename,
    line,
    name,
    large,
    active_allocated,
    inactive,
    alloc,
    free_requested,
    free_completed,
    oom,
    segment_alloc,
    segment_free,
};
inline constexpr std::string_view pytorch_texts[] = {
    "segments",      "device_traces",  "device",           "address",
    "total_size",    "stream",         "segment_type",     "allocated_size",
    "active_size",   "requested_size", "blocks",           "size",
    "state",         "frames",         "action",           "addr",
    "time_us",       "device_free",    "filename",         "line",
    "name",          "large",          "active_allocated", "inactive",
    "alloc",         "free_requested", "free_completed",   "oom",
    "segment_alloc", "segment_free"};

/// Writes a snapshot of PyTorch. `Named` is an event log or a snapshot, which has the names of tags.
template <class Out, class Named>
class pytorch_writer {
public:
    pytorch_writer(Out& out, const Named& named) : pickle_{out}, named_{named}, has_frames_(named.tags.size() + 1) {}

    void write(const snapshot& segments, const event_log& log) {
        pickle_.dictionary([&] {
            text(pytorch_text::segments);
            list all{pickle_};
            const region_layout layout{segments};
            for (const region_pieces& each : layout.regions()) {
                all.next();
                segment(each);
            }
            all.close();
            text(pytorch_text::device_traces);
            list devices{pickle_};
            devices.next();
            trace(log);
            devices.close();
        });
        pickle_.stop();
    }

private:
    using list = typename pickle_writer<Out>::list;

    void text(pytorch_text which) {
        const auto number = static_cast<std::uint32_t>(which);
        if (has_text_[number]) return pickle_.kept(number);
        pickle_.text(pytorch_texts[number]);
        pickle_.keep(number);
        has_text_[number] = true;
    }
    void member(pytorch_text key, std::uint64_t value) {
        text(key);
        pickle_.number(value);
    }
    void member(pytorch_text key, pytorch_text value) {
        text(key);
        text(value);
    }
    /// Writes the list of frames of a tag: none, or one with the name of the tag.
    void frames_of(std::uint32_t tag) {
        text(pytorch_text::frames);
        if (tag >= has_frames_.size()) tag = 0;
        const std::uint32_t number = 256 + tag;
        if (has_frames_[tag]) return pickle_.kept(number);
        list all{pickle_};
        if (tag != 0) {
            all.next();
            pickle_.dictionary([&] {
                text(pytorch_text::filename);
                pickle_.text("");
                member(pytorch_text::line, 0);
                text(pytorch_text::name);
                pickle_.text(named_.name_of(tag));
            });
        }
        all.close();
        pickle_.keep(number);
        has_frames_[tag] = true;
    }

    void segment(const region_pieces& region) {
        std::uint64_t used = 0, requested = 0;
        for (const region_piece& each : region.pieces) {
            if (each.block == nullptr) continue;
            used += each.end - each.from;
            requested += each.block->size;
        }
        pickle_.dictionary([&] {
            using enum pytorch_text;
            member(device, 0);
            member(address, region.where.address);
            member(total_size, region.where.size);
            member(stream, 0);
            member(segment_type, large);
            member(allocated_size, used);
            member(active_size, used);
            member(requested_size, requested);
            frames_of(0);
            text(blocks);
            list all{pickle_};
            for (const region_piece& each : region.pieces) {
                all.next();
                pickle_.dictionary([&] {
                    member(address, each.from);
                    member(size, each.end - each.from);
                    member(requested_size, each.block == nullptr ? 0 : each.block->size);
                    member(state, each.block == nullptr ? inactive : active_allocated);
                    frames_of(each.block == nullptr ? 0 : each.block->tag);
                });
            }
            all.close();
        });
    }

    void entry(list& to, const memory_event& event, pytorch_text what, std::uint64_t bytes, std::uint32_t tag) {
        const std::uint64_t time = unit_ == time_unit::nanoseconds ? event.time / 1000 : event.time;
        to.next();
        pickle_.dictionary([&] {
            using enum pytorch_text;
            member(action, what);
            if (what == oom) member(device_free, free_);
            else member(addr, event.address);
            member(size, bytes);
            member(stream, 0);
            member(time_us, time);
            frames_of(tag);
        });
    }
    void freed(list& to, memory_event event, std::uint64_t address, const live_block& block) {
        event.address = address;
        entry(to, event, pytorch_text::free_requested, block.size, block.tag);
        entry(to, event, pytorch_text::free_completed, block.size, block.tag);
    }
    void region(list& to, memory_event event, std::uint64_t before) {
        if (before != 0) entry(to, event, pytorch_text::segment_free, before, 0);
        if (event.action == memory_action::acquire_region) entry(to, event, pytorch_text::segment_alloc, event.size, 0);
    }

    void trace(const event_log& log) {
        using enum memory_action;
        unit_ = log.unit;
        list to{pickle_};
        memory_state state;
        for (const memory_event& event : log.events) {
            if (event.action == refuse) {
                const std::uint64_t used = state.statistics().used;
                free_ = state.held() - std::min(state.held(), used);
                entry(to, event, pytorch_text::oom, event.size, event.tag);
            } else if (event.action == acquire_region || event.action == release_region) {
                region(to, event, state.region_at(event.address));
            } else if (event.action == reset) {
                for (const auto& [address, block] : state.blocks()) freed(to, event, address, block);
            }
            const live_block before = state.apply(event);
            if (before.size != 0) freed(to, event, event.address, before);
            else if (event.action == deallocate)
                freed(to, event, event.address, {.size = event.size, .tag = event.tag});
            if (event.action == allocate) entry(to, event, pytorch_text::alloc, event.size, event.tag);
            if (event.action == resize && before.size != 0)
                entry(to, event, pytorch_text::alloc, event.size, before.tag);
        }
        to.close();
    }

    pickle_writer<Out> pickle_;
    const Named& named_;
    std::vector<bool> has_frames_;
    bool has_text_[std::size(pytorch_texts)] = {};
    time_unit unit_ = time_unit::count;
    std::uint64_t free_ = 0;
};

}  // namespace detail

/// Writes an event log: its events, and the segments at its end. `write(std::string_view)` receives the parts of the
/// file.
template <class Write>
void export_pytorch(const event_log& log, Write&& write) {
    detail::output out{write};
    detail::pytorch_writer{out, log}.write(snapshot_at(log, log.events.size()), log);
    out.flush();
}

/// Writes a snapshot, without events. `write(std::string_view)` receives the parts of the file.
template <class Write>
void export_pytorch(const snapshot& from, Write&& write) {
    detail::output out{write};
    detail::pytorch_writer{out, from}.write(from, {});
    out.flush();
}

}  // namespace v1
}  // namespace allot
