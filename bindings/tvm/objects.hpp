// objects: the check of tensors, storages and memories that TVM passes to a function of this folder.
//
//     allot_tvm::require(from, "allot.copy_tensor", "the source");
//
// tvm-ffi accepts None for a tensor and for a reference to an object, and the virtual machine holds None in a register
// that R.vm.kill_object has dropped.
#pragma once

#include <tvm/ffi/error.h>
#include <tvm/ffi/object.h>

#include <string>

namespace allot_tvm {

/// Throws a ValueError for an argument that is None. `what` names the argument.
inline void require(bool is_given, const std::string& function, const std::string& what) {
    if (is_given) return;
    throw tvm::ffi::Error{"ValueError",
                          function + " is refused: " + what +
                              " was killed before, or never allocated. Allocate it before its first use, and kill "
                              "it after its last.",
                          ""};
}
inline void require(const tvm::ffi::ObjectRef& given, const std::string& function, const std::string& what) {
    require(given.defined(), function, what);
}

}  // namespace allot_tvm
