// SPDX-License-Identifier: BSL-1.0
// network: the memory of a neural network: tensors with sizes, and steps that read and write them. Read from a text
// file (README.md describes the format).
//
//     tensor   written by step 2 │    read by 3    │   last read by 5
//     life              [2 ──────────────────────── 5]                     both included; inputs from step 0, outputs
//                                                                          to the last step
//
// In a network with branches and loops, `lives` are the steps at which a tensor is live on any path
// (allot/plan/control_flow.hpp). The life contains all of them.
//
// `load` throws an `input_error`, one sentence with file and line, for any other text. Complexity: time and memory
// linear in the length of the text.
#pragma once

#include "input_error.hpp"

#include <allot/plan/control_flow.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace demo {

struct tensor {
    std::size_t size = 0;  // bytes
    std::string name, dtype, shape;
    bool is_input = false, is_output = false, is_read = false;
    std::size_t first = 0, last = 0;     // steps of its lifetime, both included
    std::vector<allot::lifetime> lives;  // in a network with branches: the parts of its lifetime
};

/// Returns the numbers of a list such as 1x64x8x8; none if it is not made of numbers.
[[nodiscard]] inline std::vector<std::uint64_t> dimensions_of(const std::string& shape) {
    std::istringstream in{shape};
    std::vector<std::uint64_t> made;
    for (std::string field; std::getline(in, field, 'x');) {
        std::uint64_t value = 0;
        const auto [end, problem] = std::from_chars(field.data(), field.data() + field.size(), value);
        if (problem != std::errc{} || end != field.data() + field.size()) return {};
        made.push_back(value);
    }
    return made;
}

struct step {
    std::string operation;
    std::vector<std::size_t> reads, writes;  // tensors
    std::vector<std::uint32_t> next;         // steps that can follow; empty: the step after this one
    std::vector<std::uint64_t> begin;        // of a slice: index of its first element in the first tensor that it reads
};

struct network {
    std::string name;
    std::vector<tensor> tensors;
    std::vector<step> steps;

    /// Number of steps, at least 1: inputs also live in a network without steps.
    [[nodiscard]] std::size_t duration() const { return std::max<std::size_t>(steps.size(), 1); }
    /// Whether a step continues with another step than the one after it.
    [[nodiscard]] bool has_branches() const {
        return std::any_of(steps.begin(), steps.end(), [](const step& each) { return !each.next.empty(); });
    }
    /// Sum of the sizes of all tensors.
    [[nodiscard]] std::size_t sum() const;
    /// The most bytes live at one step. No placement needs less.
    [[nodiscard]] std::size_t lower_bound() const;
};

/// Returns the most bytes live at one step, for elements with `size`, `first` and `last`.
template <class Tensors>
[[nodiscard]] std::size_t most_live(const Tensors& tensors, std::size_t duration) {
    std::vector<std::size_t> born(duration, 0), dead(duration, 0);
    for (const auto& t : tensors) {
        born[t.first] += t.size;
        dead[t.last] += t.size;
    }
    std::size_t live = 0, most = 0;
    for (std::size_t now = 0; now != duration; ++now) {
        live += born[now];
        most = std::max(most, live);
        live -= dead[now];
    }
    return most;
}

inline std::size_t network::sum() const {
    std::size_t bytes = 0;
    for (const tensor& t : tensors) bytes += t.size;
    return bytes;
}
inline std::size_t network::lower_bound() const { return most_live(tensors, duration()); }

/// The tensors that begin and end at each step, except tensors of size 0.
struct schedule {
    explicit schedule(const network& net) : begins(net.duration()), ends(net.duration()) {
        for (std::size_t t = 0; t != net.tensors.size(); ++t) {
            if (net.tensors[t].size == 0) continue;
            begins[net.tensors[t].first].push_back(t);
            ends[net.tensors[t].last].push_back(t);
        }
    }
    std::vector<std::vector<std::size_t>> begins, ends;
};

class network_reader {
public:
    /// `path` is used in messages.
    explicit network_reader(std::string path) : path_{std::move(path)} {}

    [[nodiscard]] network read(const std::string& text) {
        std::istringstream lines{text};
        for (std::string line; std::getline(lines, line);) {
            ++line_;
            if (line.empty() || line.front() == '#') continue;
            std::istringstream in{line};
            fields_.clear();
            for (std::string field; in >> field;) fields_.push_back(field);
            if (!fields_.empty()) record();
        }
        if (!named_) throw input_error{path_ + ": the record \"network NAME\" is missing"};
        finish();
        return std::move(net_);
    }

private:
    [[noreturn]] void refuse(const std::string& reason) const {
        throw input_error{path_ + ":" + std::to_string(line_) + ": " + reason};
    }

    /// Refuses the record of a tensor.
    [[noreturn]] void refuse_tensor(std::size_t id, const std::string& reason) {
        line_ = tensor_lines_[id];
        refuse(reason);
    }

    void record() {
        static const std::string order[] = {"network", "tensor", "input", "output", "step"};
        const auto kind = static_cast<std::size_t>(std::find(order, std::end(order), fields_[0]) - order);
        if (kind == std::size(order)) refuse("\"" + fields_[0] + "\" is not a record of a network");
        if (!named_ && kind != 0) refuse("the first record is not \"network NAME\"");
        if (kind < kind_) refuse("a record \"" + order[kind] + "\" follows a record \"" + order[kind_] + "\"");
        kind_ = kind;
        switch (kind) {
            case 0: name(); break;
            case 1: add_tensor(); break;
            case 2: mark(&tensor::is_input); break;
            case 3: mark(&tensor::is_output); break;
            default: add_step(); break;
        }
    }

    void want_fields(std::size_t count) const {
        if (fields_.size() != count)
            refuse("the record \"" + fields_[0] + "\" has " + std::to_string(fields_.size()) + " fields instead of " +
                   std::to_string(count));
    }
    [[nodiscard]] std::size_t number(const std::string& text) const {
        std::size_t value = 0;
        const char* const end = text.data() + text.size();
        const auto [stopped, problem] = std::from_chars(text.data(), end, value);
        if (problem == std::errc::result_out_of_range) refuse(text + " is too large for this machine");
        if (problem != std::errc{} || stopped != end) refuse("\"" + text + "\" is not an integer of 0 or more");
        return value;
    }
    [[nodiscard]] std::size_t known_tensor(const std::string& text) const {
        const std::size_t id = number(text);
        if (id >= net_.tensors.size()) refuse("unknown tensor " + text);
        return id;
    }

    void name() {
        want_fields(2);
        if (named_) refuse("the network already has a name");
        net_.name = fields_[1];
        named_ = true;
    }
    void add_tensor() {
        want_fields(6);
        if (number(fields_[1]) != net_.tensors.size())
            refuse("the next tensor is " + std::to_string(net_.tensors.size()) + ", not " + fields_[1]);
        tensor fresh;
        fresh.size = number(fields_[2]);
        fresh.dtype = fields_[3];
        fresh.shape = fields_[4];
        fresh.name = fields_[5];
        // Half of the range, so that no later sum over tensors and gaps wraps.
        if (fresh.size > std::numeric_limits<std::size_t>::max() / 2 - bytes_)
            refuse("the sum of the tensors' sizes exceeds the address space of this machine");
        bytes_ += fresh.size;
        net_.tensors.push_back(std::move(fresh));
        tensor_lines_.push_back(line_);
        written_.push_back(false);
    }
    void mark(bool tensor::*flag) {
        want_fields(2);
        const std::size_t id = known_tensor(fields_[1]);
        if (std::exchange(net_.tensors[id].*flag, true)) refuse("tensor " + fields_[1] + " is already listed");
        if (net_.tensors[id].is_input) written_[id] = true;
    }
    void add_step() {
        const std::size_t now = net_.steps.size();
        const auto arrow = std::find(fields_.begin(), fields_.end(), "->");
        if (fields_.size() < 4 || arrow - fields_.begin() < 3)
            refuse("a step needs the form \"step INDEX OPERATOR [ID...] -> [ID...]\"");
        if (number(fields_[1]) != now) refuse("the next step is " + std::to_string(now) + ", not " + fields_[1]);
        if (arrow == fields_.end()) refuse("the step has no \"->\" between its inputs and its outputs");
        const auto next = std::find(arrow, fields_.end(), "next");
        const auto from = std::find(arrow, next, "from");
        step fresh;
        fresh.operation = fields_[2];
        for (auto field = fields_.begin() + 3; field != arrow; ++field) {
            const std::size_t id = known_tensor(*field);
            if (!written_[id]) refuse("the step reads tensor " + *field + ", which no earlier step writes");
            net_.tensors[id].last = now;
            net_.tensors[id].is_read = true;
            fresh.reads.push_back(id);
        }
        for (auto field = arrow + 1; field != from; ++field) {
            const std::size_t id = known_tensor(*field);
            if (written_[id] && written_twice_ == 0) {
                written_twice_ = line_;
                twice_ = "the step writes tensor " + *field + ", which is an input or already written";
            }
            if (!written_[id]) net_.tensors[id].first = now;
            written_[id] = true;
            net_.tensors[id].last = now;
            fresh.writes.push_back(id);
        }
        if (from != next) {
            if (next - from != 2) refuse("one list of numbers follows the word \"from\"");
            fresh.begin = dimensions_of(from[1]);
            check_slice(fresh);
        }
        if (next != fields_.end()) {
            if (next + 1 == fields_.end()) refuse("no step follows the word \"next\"");
            for (auto field = next + 1; field != fields_.end(); ++field) {
                const std::size_t step = number(*field);
                if (step > std::numeric_limits<std::uint32_t>::max()) refuse("there is no step " + *field);
                fresh.next.push_back(static_cast<std::uint32_t>(step));
            }
        }
        net_.steps.push_back(std::move(fresh));
        lines_.push_back(line_);
    }
    void check_slice(const step& each) const {
        if (each.reads.empty() || each.writes.size() != 1)
            refuse("a step with \"from\" reads one or more tensors and writes one");
        const std::vector<std::uint64_t> whole = dimensions_of(net_.tensors[each.reads[0]].shape),
                                         part = dimensions_of(net_.tensors[each.writes[0]].shape);
        bool is_inside = !whole.empty() && part.size() == whole.size() && each.begin.size() == whole.size();
        for (std::size_t i = 0; is_inside && i != whole.size(); ++i)
            is_inside = part[i] <= whole[i] && each.begin[i] <= whole[i] - part[i];
        if (!is_inside) refuse("the slice is not inside tensor " + std::to_string(each.reads[0]));
    }
    void finish() {
        if (written_twice_ != 0 && !net_.has_branches()) {
            line_ = written_twice_;
            refuse(twice_);
        }
        for (std::size_t id = 0; id != net_.tensors.size(); ++id) {
            if (!written_[id])
                refuse_tensor(id, "tensor " + std::to_string(id) + " is not an input, and no step writes it");
            if (net_.tensors[id].is_output) net_.tensors[id].last = net_.duration() - 1;
        }
        if (net_.has_branches()) find_lives();
    }
    /// Finds the steps at which each tensor is live on any path.
    void find_lives() {
        std::vector<std::vector<std::uint32_t>> lists;
        const auto indices = [&](const std::vector<std::size_t>& from) -> std::span<const std::uint32_t> {
            return lists.emplace_back(from.begin(), from.end());
        };
        std::vector<std::size_t> inputs, outputs;
        for (std::size_t id = 0; id != net_.tensors.size(); ++id) {
            if (net_.tensors[id].is_input) inputs.push_back(id);
            if (net_.tensors[id].is_output) outputs.push_back(id);
        }
        std::vector<allot::flow_step> steps;
        for (const step& each : net_.steps) steps.push_back({indices(each.reads), indices(each.writes), each.next});
        const allot::flow_lifetimes found =
            allot::find_lifetimes({net_.tensors.size(), indices(inputs), indices(outputs), steps});
        if (found.error.reason == allot::flow_refusal::read_too_early)
            refuse_tensor(found.error.which, "a path leads to a read of tensor " + std::to_string(found.error.which) +
                                                 " before a step writes it");
        if (found.error.reason != allot::flow_refusal::none) {
            line_ = lines_[found.error.which];
            refuse(found.error.what());
        }
        for (std::size_t id = 0; id != net_.tensors.size(); ++id) net_.tensors[id].lives.push_back(found.first[id]);
        for (const allot::plan_revival& each : found.revivals) net_.tensors[each.buffer].lives.push_back(each.live);
        for (tensor& each : net_.tensors) {
            each.first = static_cast<std::size_t>(each.lives.front().from);
            each.last = static_cast<std::size_t>(each.lives.back().until) - 1;
        }
    }

    std::string path_;
    std::vector<std::string> fields_;  // of this line
    std::size_t line_ = 0, kind_ = 0, bytes_ = 0;
    std::size_t written_twice_ = 0;  // the first line that writes a tensor again, which only branches permit
    std::string twice_;              // why that line is refused
    std::vector<std::size_t> lines_, tensor_lines_;  // of the steps; of the tensors
    bool named_ = false;
    std::vector<bool> written_;
    network net_;
};

/// Returns the contents of a file.
[[nodiscard]] inline std::string text_of(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    if (!file) throw input_error{path + ": cannot be opened"};
    std::string text;
    while (file) {
        const std::size_t read = text.size();
        text.resize(2 * read + 65'536);
        file.read(text.data() + read, static_cast<std::streamsize>(text.size() - read));
        text.resize(read + static_cast<std::size_t>(file.gcount()));
    }
    if (file.bad()) throw input_error{path + ": cannot be read; is it a directory?"};
    return text;
}

[[nodiscard]] inline network load(const std::string& path) { return network_reader{path}.read(text_of(path)); }

}  // namespace demo
