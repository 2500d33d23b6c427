// Stand-in for TVM's header of this name, with the part that bindings/tvm/adapter.hpp uses. bindings/tvm/interface.hpp
// checks the signatures of both.
#pragma once

#include <exception>
#include <string>
#include <utility>

namespace tvm::ffi {

class Error : public std::exception {
public:
    Error(std::string kind, std::string message, std::string) : kind_{std::move(kind)}, message_{std::move(message)} {}
    [[nodiscard]] std::string kind() const { return kind_; }
    [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }

private:
    std::string kind_, message_;
};

}  // namespace tvm::ffi
