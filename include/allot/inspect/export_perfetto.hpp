// SPDX-License-Identifier: BSL-1.0
// export_perfetto: writes an event log as a trace of Perfetto: the protobuf message perfetto.protos.Trace.
//
//     std::string bytes;
//     allot::export_perfetto(allot::event_log{}, [&](std::string_view part) { bytes += part; });
//
//     track               kind       value
//     live bytes          counter    the bytes of all live blocks
//     live blocks         counter    their number
//     held bytes          counter    the bytes of all regions
//     tag NAME            counter    the live bytes of a tag, in a group of its own
//     events              instants   refusals, resets, and acquired and released regions, with size and address
//
// A time is in nanoseconds. A count of a log without nanoseconds is written as nanoseconds.
//
// When to use: to see the memory at https://ui.perfetto.dev, next to other traces of the same program, and to query it
// with SQL.
// When not to use: for the places of blocks. Perfetto does not draw addresses: use ./dev view.
//
// Complexity: O(events) on average.
// Memory: that of `memory_state`, and 64 KiB.
// Thread safety: requires external synchronization.
#pragma once

#include <allot/inspect/detail/output.hpp>
#include <allot/inspect/memory_state.hpp>

#include <string>

namespace allot {
inline namespace v1 {
namespace detail {

/// A message of protobuf. The numbers of fields are those of Perfetto's .proto files.
class proto_message {
public:
    void number(std::uint32_t field, std::uint64_t value) {
        varint(field << 3);
        varint(value);
    }
    void text(std::uint32_t field, std::string_view value) {
        varint(field << 3 | 2);
        varint(value.size());
        bytes_ += value;
    }
    void message(std::uint32_t field, const proto_message& value) { text(field, value.bytes_); }
    [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }
    void clear() noexcept { bytes_.clear(); }

private:
    void varint(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
        bytes_ += static_cast<char>(value);
    }
    std::string bytes_{};
};

template <class Out>
class perfetto_writer {
public:
    perfetto_writer(const event_log& log, Out& out) : log_{log}, out_{out}, by_tag_(log.tags.size() + 1) {}

    void write() {
        describe_tracks();
        for (const memory_event& event : log_.events) {
            time_ = event.time;
            if (event.action == memory_action::reset) clear_tags();
            const live_block before = state_.apply(event);
            if (before.size != 0) change_tag(before.tag, -before.size);
            if (event.action == memory_action::allocate) change_tag(event.tag, event.size);
            if (event.action == memory_action::resize && before.size != 0) change_tag(before.tag, event.size);
            if (event.action > memory_action::resize) instant(event);
            counters();
        }
    }

private:
    enum track : std::uint64_t { group = 1, live, blocks, held, events, tags, first_tag = 16 };
    enum unit : std::uint64_t { count = 2, bytes = 3 };                  // CounterDescriptor.Unit
    enum event_type : std::uint64_t { instant_event = 3, counter = 4 };  // TrackEvent.Type

    /// Writes the field `packet` of a Trace, with the track event or descriptor in `inner_`.
    void packet(std::uint32_t field, bool with_time) {
        packet_.clear();
        if (with_time) packet_.number(8, time_);  // timestamp
        packet_.number(10, 1);                    // trusted_packet_sequence_id
        packet_.message(field, inner_);
        trace_.clear();
        trace_.message(1, packet_);
        out_.text(trace_.bytes());
        inner_.clear();
    }
    void describe(std::uint64_t id, std::string_view name, std::uint64_t parent, std::uint64_t counted_in) {
        inner_.number(1, id);                       // uuid
        inner_.text(2, as_utf8(name));              // name
        if (parent != 0) inner_.number(5, parent);  // parent_uuid
        if (counted_in != 0) {
            proto_message descriptor;
            descriptor.number(3, counted_in);  // unit
            inner_.message(8, descriptor);     // counter
        }
        packet(60, false);  // track_descriptor
    }
    void describe_tracks() {
        describe(group, "memory", 0, 0);
        describe(live, "live bytes", group, unit::bytes);
        describe(blocks, "live blocks", group, unit::count);
        describe(held, "held bytes", group, unit::bytes);
        describe(events, "events", group, 0);
        if (log_.tags.empty()) return;
        describe(tags, "live bytes by tag", group, 0);
        for (std::uint32_t tag = 0; tag != by_tag_.size(); ++tag)
            describe(first_tag + tag, tag == 0 ? "no tag" : log_.name_of(tag), tags, unit::bytes);
    }

    void count_on(std::uint64_t on, std::uint64_t value) {
        inner_.number(9, counter);  // type
        inner_.number(11, on);      // track_uuid
        inner_.number(30, value);   // counter_value
        packet(11, true);           // track_event
    }
    void count_if_changed(std::uint64_t on, std::uint64_t value, std::uint64_t& last) {
        if (value == last) return;
        last = value;
        count_on(on, value);
    }
    void counters() {
        const allocator_statistics now = state_.statistics();
        count_if_changed(live, now.used, live_);
        count_if_changed(blocks, now.count, blocks_);
        count_if_changed(held, state_.held(), held_);
    }
    void change_tag(std::uint32_t tag, std::uint64_t size) {
        if (log_.tags.empty() || size == 0) return;
        if (tag >= by_tag_.size()) tag = 0;
        count_on(first_tag + tag, by_tag_[tag] += size);
    }
    void clear_tags() {
        for (std::uint32_t tag = 0; tag != by_tag_.size(); ++tag) change_tag(tag, -by_tag_[tag]);
    }
    void annotate(std::string_view name, std::uint32_t field, std::uint64_t value) {
        proto_message annotation;
        annotation.text(10, name);        // name
        annotation.number(field, value);  // uint_value or pointer_value
        inner_.message(4, annotation);    // debug_annotations
    }
    void instant(const memory_event& event) {
        const bool is_region =
            event.action == memory_action::acquire_region || event.action == memory_action::release_region;
        if (is_region || event.action == memory_action::refuse) annotate("size", 3, event.size);
        if (is_region) annotate("address", 7, event.address);
        inner_.number(9, instant_event);           // type
        inner_.number(11, events);                 // track_uuid
        inner_.text(23, to_string(event.action));  // name
        packet(11, true);                          // track_event
    }

    const event_log& log_;
    Out& out_;
    memory_state state_{};
    std::vector<std::uint64_t> by_tag_;
    std::uint64_t time_ = 0, live_ = ~std::uint64_t{0}, blocks_ = live_, held_ = live_;
    proto_message inner_{}, packet_{}, trace_{};
};

}  // namespace detail

/// Writes an event log as a trace of Perfetto. `write(std::string_view)` receives the parts of the file in their order.
template <class Write>
void export_perfetto(const event_log& log, Write&& write) {
    detail::output out{write};
    detail::perfetto_writer{log, out}.write();
    out.flush();
}

}  // namespace v1
}  // namespace allot
