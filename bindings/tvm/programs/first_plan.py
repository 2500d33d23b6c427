"""The first plan: a small network with one storage for all of its tensors. It needs TVM's wheel, and nothing is built.

    pip install --no-deps -r bindings/tvm/requirements.txt && python3 bindings/tvm/programs/first_plan.py

The plan is in first_plan.json. The program prints the function with its storage and offsets, and the bytes of TVM's
plan and of this one. It fails if a result differs in one bit. With --record it plans again, with the library that `run`
builds.
"""

import sys
from pathlib import Path

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from allot_tvm import plans  # noqa: E402
from allot_tvm.plan_memory import PlanMemory, pipeline_with  # noqa: E402

FILE = Path(__file__).with_suffix(".json")


@I.ir_module
class Network:
    @R.function
    def main(x: R.Tensor((16, 64), "float32"), w: R.Tensor((64, 256), "float32"), v: R.Tensor((256, 64), "float32")):
        with R.dataflow():
            wide = R.nn.relu(R.matmul(x, w))
            narrow = R.matmul(wide, v)
            gate = R.sigmoid(narrow)
            result = R.nn.softmax(R.add(R.multiply(gate, narrow), x))
            R.output(result)
        return result


def compiled(*planning):
    """Returns the executable, and the function after planning."""
    seen = []

    @tvm.transform.module_pass(opt_level=0)
    def look(module, _):
        seen.append(module["main"])
        return module

    return tvm.compile(Network, "llvm", relax_pipeline=pipeline_with([*planning, look])), seen[0]


def main():
    plan = plans.recording(FILE) if "--record" in sys.argv else plans.recorded(FILE)
    report = []
    theirs, their_function = compiled(relax.transform.StaticPlanBlockMemory())
    ours, our_function = compiled(PlanMemory(report=report, plan=plan))
    print(our_function.script())
    random = np.random.default_rng(1)
    arguments = [tvm.runtime.tensor(random.standard_normal(shape).astype("float32"))
                 for shape in ((16, 64), (64, 256), (256, 64))]
    expected, found = (relax.VirtualMachine(each, tvm.cpu())["main"](*arguments).numpy() for each in (theirs, ours))
    their_bytes = [int(binding.value.args[0].values[0]) for binding in their_function.body.blocks[0].bindings
                   if getattr(getattr(binding.value, "op", None), "name", "") == "relax.memory.alloc_storage"]
    print(f"TVM's plan: {len(their_bytes)} storages with {sum(their_bytes)} bytes")
    print(f"allot's plan: {len(report[0].storages)} storage with {report[0].storages[0].size} bytes; no plan has less "
          f"than {report[0].bound}")
    assert found.tobytes() == expected.tobytes(), "the results differ"
    assert report[0].storages[0].size < sum(their_bytes), "the plan takes more bytes than TVM's"
    print("the results are equal, bit for bit")


if __name__ == "__main__":
    main()
