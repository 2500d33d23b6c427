// SPDX-License-Identifier: BSL-1.0
// mlir: reads MLIR in its usual text form: the buffers of `memref.alloc`, and the slices of IREE's
// `stream.resource.pack`.
//
//     %a = memref.alloc() {alignment = 64 : i64} : memref<4x8xf32>      lives from here
//     scf.for … { linalg.fill … outs(%a : …) }                          a use inside a region counts up to its end
//     memref.dealloc %a : memref<4x8xf32>                               up to here; without it, past the last use
//
//     %0:3 = stream.resource.pack slices({ [0, 3] = %c512, … })         steps, the last one included, and bytes
//
// Each line with an operation is a step, counted from 0 in each function. A result of an operation with a buffer among
// its operands, or those of the last operation of its regions, is assumed to be a view of it, except loads and
// dimensions. Both regions of `scf.while` are one loop. A buffer that the function returns lives to its end. Each
// function, memory space and `pack` is a memory of its own, and is planned separately. Slices have the
// min_buffer_offset_alignment of the file, or 64.
//
// Refused with file and line: sizes that are not constants, a function with several blocks, a buffer that leaves its
// loop, an allocation in a parallel loop. `memref.alloca` is not planned. Complexity: O(n log n) in the length for each
// level of nesting.
#pragma once

#include "mlir_types.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace planner {

class mlir_reader {
public:
    explicit mlir_reader(std::string path) : out_{std::move(path), "MLIR"} {
        made_.columns = input_builder::columns;
        made_.memories.clear();
    }

    [[nodiscard]] input read(std::string_view text) {
        find_alignment(text);
        std::string joined;  // an operation whose parentheses are open goes on in the next line
        std::size_t begin = 0;
        int open = 0;
        each_line(text, out_.where, [&](std::string_view line) {
            const std::string_view code = without_comment(line);
            if (joined.empty()) begin = out_.where.line;
            joined += ' ';
            joined += code;
            open += open_parentheses(code);
            if (open > 0) return;
            const std::size_t last = std::exchange(out_.where.line, begin);
            operation(without_location(trimmed(joined)));
            out_.where.line = last;
            joined.clear();
            open = 0;
        });
        if (!joined.empty()) out_.where.refuse("a parenthesis is never closed");
        if (!regions_.empty()) out_.where.refuse("a brace is never closed");
        if (made_.buffers.empty()) out_.where.refuse("the file has neither memref.alloc nor stream.resource.pack");
        return std::move(made_);
    }

private:
    struct allocation {
        std::size_t buffer, depth;
        std::int64_t first, last;
        bool is_freed = false;
        place where;
        std::string name;
    };
    struct region {
        std::string operation;
        std::vector<std::string> results;
        bool is_loop = false, is_parallel = false, has_label = false, is_function = false;
        std::int64_t first = 0;
        std::vector<std::size_t> used;  // allocations of outer regions, to extend when the region ends
    };

    [[noreturn]] void refuse(const std::string& reason) const { out_.where.refuse(reason); }

    static std::string_view without_comment(std::string_view line) {
        bool quoted = false;
        for (std::size_t i = 0; i + 1 < line.size(); ++i) {
            if (line[i] == '"' && (i == 0 || line[i - 1] != '\\')) quoted = !quoted;
            if (!quoted && line[i] == '/' && line[i + 1] == '/') return line.substr(0, i);
        }
        return line;
    }
    /// Removes loc(…) from the end.
    static std::string_view without_location(std::string_view code) {
        const std::size_t at = code.rfind(" loc(");
        return at != std::string_view::npos && code.ends_with(')') ? trimmed(code.substr(0, at)) : code;
    }
    /// Calls `use(c)` for each character outside of strings.
    template <class Use>
    static void each_outside_strings(std::string_view text, Use use) {
        bool quoted = false;
        for (std::size_t i = 0; i != text.size(); ++i) {
            if (text[i] == '"' && (i == 0 || text[i - 1] != '\\')) quoted = !quoted;
            else if (!quoted) use(text[i]);
        }
    }
    static int open_parentheses(std::string_view text) {
        int open = 0;
        each_outside_strings(text, [&](char c) { open += (c == '(') - (c == ')'); });
        return open;
    }

    void find_alignment(std::string_view text) {
        constexpr std::string_view attribute = "min_buffer_offset_alignment = ";
        const std::size_t at = text.find(attribute);
        if (at == std::string_view::npos) return;
        out_.where.line = 1 + static_cast<std::size_t>(
                                  std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
        text.remove_prefix(at + attribute.size());
        text = text.substr(0, text.find_first_not_of("0123456789"));
        slice_align_ = number_of<std::uint64_t>(out_.where, "min_buffer_offset_alignment", text);
        if (!allot::is_alignment(slice_align_)) refuse("min_buffer_offset_alignment is not a power of two");
    }

    static bool is_name(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
               c == '.' || c == '-';
    }
    /// Returns the values in a text, such as %a and %0; %0#1 is %0.
    static std::vector<std::string_view> values(std::string_view text) {
        std::vector<std::string_view> found;
        for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1)) {
            std::size_t end = at + 1;
            while (end != text.size() && is_name(text[end])) ++end;
            if (end != at + 1) found.push_back(text.substr(at, end - at));
        }
        return found;
    }
    /// Returns the name of the operation, such as memref.alloc.
    static std::string_view name_of(std::string_view code) {
        const std::size_t quote = code.starts_with('"') ? 1 : 0;
        std::size_t end = quote;
        while (end != code.size() && is_name(code[end])) ++end;
        return code.substr(quote, end - quote);
    }

    void operation(std::string_view line) {
        if (line.empty() || line[0] == '#' || line[0] == '!') return;  // aliases of attributes and types
        if (line[0] == '^') return label(line);
        std::vector<std::string_view> results;
        std::string_view code = line;
        if (line[0] == '%') {
            const std::size_t equals = line.find('=');
            if (equals == std::string_view::npos) refuse("an operation begins with a value, and has no \"=\"");
            results = values(line.substr(0, equals));
            code = trimmed(line.substr(equals + 1));
        }
        while (!code.empty() && code[0] == '}') {  // `} else {` and `} do {` close one region and open the next
            close();
            code = trimmed(code.substr(1));
        }
        among_.clear();
        for (const std::string_view result : results) {
            views_.erase(std::string{result});
            constants_.erase(std::string{result});
        }
        const std::string_view name = name_of(code);
        if (!name.empty() || !results.empty()) run(name, code, results);
        open(name, code, results);
    }

    void run(std::string_view name, std::string_view code, const std::vector<std::string_view>& results) {
        if (name == "func.func" || name == "util.func" || name == "func" || name == "llvm.func" || name == "gpu.func")
            return begin_function(code);
        if (name == "arith.constant") return constant(code, results);
        if (name == "memref.alloc") return allocate(code, results);
        if (name == "stream.resource.pack") return pack(code, results);
        if (name == "memref.dealloc") return deallocate(code);
        for (const char after : {'(', ' ', '"'})
            if (code.find(std::string{"memref.alloc"} + after) != std::string_view::npos)
                refuse(
                    "an allocation is inside the text of another operation; print the file without "
                    "--mlir-print-op-generic");
        const std::vector<std::string_view> operands = values(code);
        for (const std::string_view value : operands) use(value);
        std::sort(among_.begin(), among_.end());
        among_.erase(std::unique(among_.begin(), among_.end()), among_.end());
        check(name, code, operands);
        if (name == "return" || name == "func.return" || name == "util.return")
            returned_.insert(returned_.end(), among_.begin(), among_.end());
        if (is_end(name)) leave();
        if (name == "scf.condition") passed_ = among_;
        if (name == "scf.index_switch") closed_results_.assign(results.begin(), results.end());
        if (!is_read(name))
            for (const std::string_view result : results) views_[std::string{result}] = among_;
        ++now_;
    }
    /// Returns whether the operands of an operation at the end of a region are results of the operation around it.
    [[nodiscard]] bool is_end(std::string_view name) const {
        return name.ends_with(".yield") || name == "scf.condition" ||
               (name.ends_with(".return") && !regions_.empty() && !regions_.back().is_function);
    }
    static bool is_read(std::string_view name) {
        return name == "memref.load" || name == "memref.dim" || name == "memref.rank" || name == "affine.load" ||
               name == "vector.load" || name == "vector.transfer_read";
    }
    /// Refuses operations after which the uses of a buffer are unknown.
    void check(std::string_view name, std::string_view code, const std::vector<std::string_view>& operands) const {
        if (name == "memref.realloc") refuse("memref.realloc replaces a buffer by one that is not planned");
        if (name == "memref.store" && !operands.empty() && views_.contains(std::string{operands[0]}))
            refuse("a buffer is stored in another one, so that its uses are unknown");
        if (!among_.empty() && (name.starts_with("async.") || code.find(" async ") != std::string_view::npos))
            refuse("an asynchronous operation uses a buffer, and its end is unknown");
    }

    void begin_function(std::string_view code) {
        if (!regions_.empty() && in_function()) refuse("a function is inside another one");
        const std::size_t at = code.find('@');
        function_ = at == std::string_view::npos ? "" : std::string{name_of(code.substr(at + 1))};
        constants_.clear();
        views_.clear();
        passed_.clear();
        now_ = 0;
    }
    [[nodiscard]] bool in_function() const {
        return std::any_of(regions_.begin(), regions_.end(), [](const region& each) { return each.is_function; });
    }

    /// arith.constant 4 : index
    void constant(std::string_view code, const std::vector<std::string_view>& results) {
        ++now_;
        std::string_view text =
            trimmed(code.substr(code.find(' ') == std::string_view::npos ? code.size() : code.find(' ')));
        if (text.starts_with('{')) return;
        text = text.substr(0, text.find_first_of(" :"));
        std::uint64_t value = 0;
        const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (problem == std::errc{} && end == text.data() + text.size() && results.size() == 1)
            constants_[std::string{results[0]}] = value;
    }
    [[nodiscard]] std::uint64_t constant_of(std::string_view value, const char* what) const {
        const auto found = constants_.find(std::string{trimmed(value)});
        if (found == constants_.end())
            refuse(std::string{what} + " " + std::string{trimmed(value)} +
                   " is not a constant (arith.constant) of this function");
        return found->second;
    }

    [[nodiscard]] std::size_t memory_called(const std::string& name) {
        const auto [known, fresh] = memories_.emplace(name, made_.memories.size());
        if (fresh) made_.memories.push_back({name});
        return known->second;
    }

    /// memref.alloc(%n) {alignment = 64 : i64} : memref<?x8xf32>
    void allocate(std::string_view code, const std::vector<std::string_view>& results) {
        const std::size_t open = code.find('('), close = code.find(')'), type = code.rfind(": memref<");
        if (results.size() != 1 || close == std::string_view::npos || open > close || type == std::string_view::npos ||
            !code.ends_with('>'))
            refuse("the allocation does not have the form %NAME = memref.alloc(…) : memref<…>");
        for (const region& each : regions_)
            if (each.is_parallel)
                refuse("an allocation inside " + each.operation + " needs one buffer for each of its iterations");
        if (!in_function()) refuse("an allocation is outside of a function");
        std::vector<std::uint64_t> dynamic;
        for (const std::string_view value : values(code.substr(open, close - open)))
            dynamic.push_back(constant_of(value, "the size"));
        const std::string_view text = code.substr(type + 9, code.size() - type - 10);
        const memref_type of{out_.where, text, dynamic};
        std::uint64_t align = 1;
        if (const std::size_t at = code.find("alignment = "); at < type) {
            const std::string_view rest = code.substr(at + 12);
            align = number_of<std::uint64_t>(out_.where, "alignment", rest.substr(0, rest.find_first_of(" }:,")));
        }
        const std::string memory = "@" + function_ + (of.space().empty() ? "" : " " + std::string{of.space()});
        const std::string name{results[0]};
        const std::size_t buffer = out_.add(name, {of.bytes(), {now_, now_ + 1}, align}, memory_called(id_of(memory)));
        views_[name] = {allocations_.size()};
        allocations_.push_back({buffer, regions_.size(), now_, now_, false, out_.where, name});
        ++now_;
    }

    /// Extends the lifetime of the buffers of a value up to the current operation.
    void use(std::string_view value) {
        const auto found = views_.find(std::string{value});
        if (found == views_.end()) return;
        for (const std::size_t each : found->second) {
            among_.push_back(each);
            extend(each);
        }
    }
    void extend(std::size_t index) {
        allocation& each = allocations_[index];
        if (each.is_freed) refuse("the buffer " + each.name + " is used after its memref.dealloc");
        each.last = std::max(each.last, now_);
        if (regions_.size() > each.depth) regions_[each.depth].used.push_back(index);
    }
    void deallocate(std::string_view code) {
        std::vector<std::size_t> among;
        for (const std::string_view value : values(code)) {
            const auto found = views_.find(std::string{value});
            if (found != views_.end()) among.insert(among.end(), found->second.begin(), found->second.end());
        }
        for (const std::size_t each : among) {
            allocation& freed = allocations_[each];
            if (among.size() == 1 && freed.depth == regions_.size()) {
                if (freed.is_freed) refuse("the buffer " + freed.name + " is deallocated twice");
                freed.last = std::max(freed.first, now_ - 1);
                freed.is_freed = true;
            } else {
                extend(each);  // perhaps another one, or only on some paths
            }
        }
        ++now_;
    }
    /// The operands of a yield are results of the operation around it.
    void leave() {
        if (regions_.empty()) return;
        for (const std::size_t each : among_) {
            if (allocations_[each].depth < regions_.size()) continue;
            if (regions_.back().is_loop)
                refuse("the buffer " + allocations_[each].name +
                       " leaves an iteration of its loop, so that one place is not sufficient");
            allocations_[each].depth = regions_.size() - 1;
        }
        for (const std::string& result : regions_.back().results) {
            std::vector<std::size_t>& views = views_[result];
            views.insert(views.end(), among_.begin(), among_.end());
            std::sort(views.begin(), views.end());
            views.erase(std::unique(views.begin(), views.end()), views.end());
        }
    }
    /// iter_args(%a = %x), with(%x as %a): the name inside is a view of the one outside.
    void carry(std::string_view code) {
        const std::vector<std::string_view> all = values(code);
        for (std::size_t i = 1; i < all.size(); ++i) {
            const char* const begin = all[i - 1].data() + all[i - 1].size();
            const std::string_view between{begin, static_cast<std::size_t>(all[i].data() - begin)};
            if (between == " = ") rename(all[i], all[i - 1]);
            else if (between == " as ") rename(all[i - 1], all[i]);
        }
    }
    void rename(std::string_view outside, std::string_view inside) {
        const auto found = views_.find(std::string{outside});
        if (found == views_.end()) views_.erase(std::string{inside});
        else views_[std::string{inside}] = std::vector<std::size_t>{found->second};
    }

    /// %0:3 = stream.resource.pack on(…) slices({ [0, 3] = %c512, … }) : index
    void pack(std::string_view code, const std::vector<std::string_view>& results) {
        const std::size_t begin = code.find("slices({");
        const std::size_t end = code.find("})", begin == std::string_view::npos ? 0 : begin);
        if (begin == std::string_view::npos || end == std::string_view::npos || results.empty())
            refuse("the operation does not have the form %NAME = stream.resource.pack slices({…})");
        std::string memory = id_of("@" + function_ + " " + std::string{results[0]});
        if (memories_.contains(memory)) memory += " line " + std::to_string(out_.where.line);
        const std::size_t index = memory_called(memory);
        std::string_view rest = code.substr(begin + 8, end - begin - 8);
        for (std::size_t count = 1; !trimmed(rest).empty(); ++count) {
            const std::size_t open = rest.find('['), comma = rest.find(',', open), close = rest.find(']', open),
                              value = rest.find('%', close);
            if (value == std::string_view::npos || comma > close)
                refuse("slice " + std::to_string(count) + " does not have the form [FIRST, LAST] = %BYTES");
            const std::size_t stop = std::min(rest.find(',', value), rest.size());
            const auto first =
                number_of<std::int64_t>(out_.where, "the first step", trimmed(rest.substr(open + 1, comma - open - 1)));
            const auto last = number_of<std::int64_t>(out_.where, "the last step",
                                                      trimmed(rest.substr(comma + 1, close - comma - 1)));
            if (last == std::numeric_limits<std::int64_t>::max()) refuse("the last step is too large");
            const std::string name = std::string{results[0]} + "#" + std::to_string(count);
            const std::uint64_t size = constant_of(rest.substr(value, stop - value), "the size");
            const std::uint64_t align = slice_align_ == 0 ? 64 : slice_align_;
            out_.add_row(out_.add(name, {size, {first, last + 1}, align}, index), id_of(name), {first, last + 1});
            rest.remove_prefix(std::min(stop + 1, rest.size()));
        }
        ++now_;
    }

    void label(std::string_view line) {
        if (regions_.empty()) return;
        region& inside = regions_.back();
        if (inside.operation == "do")  // the arguments are the operands of scf.condition
            for (const std::string_view argument : values(line)) views_[std::string{argument}] = passed_;
        if ((inside.has_label || now_ != inside.first) && blocks_.line == 0) blocks_ = out_.where;
        inside.has_label = true;
    }
    void open(std::string_view name, std::string_view code, const std::vector<std::string_view>& results) {
        int braces = 0;
        std::size_t closing = 0;
        each_outside_strings(code, [&](char c) {
            if (c == '{') ++braces;
            if (c == '}' && braces-- == 0) ++closing, ++braces;
        });
        for (; closing != 0; --closing) close();
        for (; braces > 0; --braces) {
            if (regions_.size() == 256) refuse("the nesting exceeds 256 levels");
            region fresh;
            fresh.operation = name;
            for (const std::string_view result : results) fresh.results.emplace_back(result);
            fresh.is_loop =
                name.ends_with(".for") || name.ends_with(".while") || ((name.empty() || name == "do") && was_loop_);
            fresh.is_parallel = name.ends_with(".parallel") || name.ends_with(".forall") || name.starts_with("gpu.") ||
                                name.starts_with("omp.");
            fresh.is_function = name.ends_with("func");
            fresh.first = now_;
            if (name.empty() || name == "else" || name == "do" || name == "case" || name == "default")
                fresh.results = closed_results_;
            if (name == "do") fresh.used = closed_used_;  // both regions of scf.while are one loop
            for (const std::size_t each : among_)
                if (allocations_[each].depth == regions_.size()) fresh.used.push_back(each);
            regions_.push_back(std::move(fresh));
            carry(code);
        }
    }
    void close() {
        if (regions_.empty()) refuse("a brace closes nothing");
        region ended = std::move(regions_.back());
        regions_.pop_back();
        for (const std::size_t each : ended.used) allocations_[each].last = std::max(allocations_[each].last, now_ - 1);
        was_loop_ = ended.is_loop;
        closed_results_ = std::move(ended.results);
        closed_used_ = std::move(ended.used);
        if (ended.is_function) end_function();
    }
    void end_function() {
        const bool has_blocks = blocks_.line != 0;
        if (has_blocks && !allocations_.empty()) {
            out_.where = blocks_;
            refuse(
                "the function has several blocks, whose order of execution is unknown; structured control flow (scf) "
                "is supported");
        }
        blocks_.line = 0;
        for (const std::size_t each : returned_) allocations_[each].last = std::max<std::int64_t>(now_ - 1, 0);
        for (const allocation& each : allocations_) {
            allot::lifetime& live = made_.buffers[each.buffer].live;
            live = {each.first, std::max(each.last, each.first) + 1};
            out_.add_row(each.buffer, id_of(each.name), live);
        }
        allocations_.clear();
        returned_.clear();
        views_.clear();
    }

    input_builder out_;
    input& made_ = out_.made;
    std::map<std::string, std::size_t> memories_;
    std::string function_;
    std::unordered_map<std::string, std::uint64_t> constants_;         // of this function
    std::unordered_map<std::string, std::vector<std::size_t>> views_;  // allocations that a value may be a view of
    std::vector<allocation> allocations_;                              // of this function
    std::vector<std::size_t> returned_, among_;                        // among_: operands of this operation
    std::vector<region> regions_;                                      // from the outermost one
    std::vector<std::string> closed_results_;                          // of the region that was closed last
    std::vector<std::size_t> closed_used_, passed_;                    // passed_: operands of the last scf.condition
    bool was_loop_ = false;
    place blocks_{};  // a second block of this function
    std::int64_t now_ = 0;
    std::uint64_t slice_align_ = 0;
};

}  // namespace planner
