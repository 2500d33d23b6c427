// The error of a result that may be a success.
#pragma once

/// Returns the error of a result, or a default-constructed one if there is a value.
template <class Result>
[[nodiscard]] constexpr typename Result::error_type error_of(const Result& answer) noexcept {
    return answer ? typename Result::error_type{} : answer.error();
}
