// SPDX-License-Identifier: BSL-1.0
// network: the memory of a neural network: tensors with sizes, and steps that read and write them. Read from a text
// file (README.md describes the format).
//
//     tensor   written by step 2 │    read by 3    │   last read by 5
//     life              [2 ──────────────────────── 5]                     both included; inputs from step 0, outputs
//                                                                          to the last step
//
// `load` throws an `input_error`, one sentence with file and line, for any other text. Complexity: time and memory
// linear in the length of the text.
#pragma once

#include "input_error.hpp"

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
    std::size_t first = 0, last = 0;  // steps of its lifetime, both included
};

struct step {
    std::string operation;
    std::vector<std::size_t> reads, writes;  // tensors
};

struct network {
    std::string name;
    std::vector<tensor> tensors;
    std::vector<step> steps;

    /// Number of steps, at least 1: inputs also live in a network without steps.
    [[nodiscard]] std::size_t duration() const { return std::max<std::size_t>(steps.size(), 1); }
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
        step fresh;
        fresh.operation = fields_[2];
        for (auto field = fields_.begin() + 3; field != arrow; ++field) {
            const std::size_t id = known_tensor(*field);
            if (!written_[id]) refuse("the step reads tensor " + *field + ", which no earlier step writes");
            net_.tensors[id].last = now;
            net_.tensors[id].is_read = true;
            fresh.reads.push_back(id);
        }
        for (auto field = arrow + 1; field != fields_.end(); ++field) {
            const std::size_t id = known_tensor(*field);
            if (written_[id]) refuse("the step writes tensor " + *field + ", which is an input or already written");
            written_[id] = true;
            net_.tensors[id].first = net_.tensors[id].last = now;
            fresh.writes.push_back(id);
        }
        net_.steps.push_back(std::move(fresh));
    }
    void finish() {
        for (std::size_t id = 0; id != net_.tensors.size(); ++id) {
            if (!written_[id])
                throw input_error{path_ + ": tensor " + std::to_string(id) + " is not an input, and no step writes it"};
            if (net_.tensors[id].is_output) net_.tensors[id].last = net_.duration() - 1;
        }
    }

    std::string path_;
    std::vector<std::string> fields_;  // of this line
    std::size_t line_ = 0, kind_ = 0, bytes_ = 0;
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
