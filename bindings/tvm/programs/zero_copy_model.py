"""The model of zero_copy.py, and a pass that makes the results of a function its last parameters.

A compiled Relax function allocates its results. `results_as_parameters` runs after CallTIRRewrite, where every kernel
writes a tensor of `R.builtin.alloc_tensor`, and puts a parameter in the place of each such tensor that the function
returns. The caller then gives the memory of the results, and the last kernel writes there. No copy is added.
"""

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Model:
    """A layer with two results: its values, and their softmax."""

    @R.function
    def main(x: R.Tensor((4, 64), "float32"), weight: R.Tensor((64, 64), "float32"),
             bias: R.Tensor((64,), "float32")):
        with R.dataflow():
            hidden = R.nn.relu(R.add(R.matmul(x, weight), bias))
            share = R.nn.softmax(hidden)
            R.output(hidden, share)
        return (hidden, share)


def _allocated_results(function):
    """Returns the variable of `R.builtin.alloc_tensor` of each result, in order."""
    values = {binding.var: binding.value for block in function.body.blocks for binding in block.bindings}
    result = function.body.body
    while isinstance(result, relax.Var) and result in values and not isinstance(values[result], relax.Call):
        result = values[result]
    found = []
    for number, each in enumerate(result.fields if isinstance(result, relax.Tuple) else [result]):
        while isinstance(each, relax.Var) and isinstance(values.get(each), relax.Var):
            each = values[each]
        made = values.get(each)
        if not isinstance(made, relax.Call) or made.op != tvm.ir.Op.get("relax.builtin.alloc_tensor") or each in found:
            raise ValueError(f"result {number} is not written by a kernel of its own: it is a parameter, a constant or "
                             "another result; return it through an operator")
        found.append(each)
    return found


@tvm.transform.module_pass(opt_level=0, name="ResultsAsParameters")
def results_as_parameters(module, _context):
    """Makes each result of `main` a parameter after the others."""
    function = module["main"]
    results = _allocated_results(function)
    parameters = {var: relax.Var(f"result_{number}", var.ty) for number, var in enumerate(results)}

    def changed_binding(binding):
        return relax.VarBinding(binding.var, parameters[binding.var]) if binding.var in parameters else binding

    blocks = [relax.BindingBlock([changed_binding(each) for each in block.bindings]) for block in function.body.blocks]
    body = relax.SeqExpr(blocks, function.body.body)
    changed = relax.Function([*function.params, *parameters.values()], body, function.ret_ty, function.is_pure,
                             function.attrs)
    module.update_func(module.get_global_var("main"), changed)
    return module


def compile_model(module=Model, in_place=True):
    """Compiles a module with TVM's default passes, and with results as parameters when `in_place`."""
    passes = relax.transform
    pipeline = [passes.LegalizeOps(), passes.RewriteDataflowReshape(), passes.ToNonDataflow(),
                passes.RemovePurityChecking(), passes.CallTIRRewrite(), *([results_as_parameters] if in_place else []),
                passes.StaticPlanBlockMemory(), passes.LowerAllocTensor(), passes.KillAfterLastUse(),
                passes.LowerRuntimeBuiltin(), passes.ComputePrimValue(), passes.VMShapeLower(),
                passes.AttachGlobalSymbol()]
    return tvm.compile(module, target="llvm", relax_pipeline=tvm.transform.Sequential(pipeline))
