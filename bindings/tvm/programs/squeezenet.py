"""SqueezeNet 1.1 with one operator for each step of the network, for programs that compare the graph or the results.

    module, weights = squeezenet(1)
"""

import numpy as np
from tvm import relax


def squeezenet(batch, size=224, with_logits=False):
    """Returns a module with the function "main", and random weights, which are the same in every run.

    The image has `size` by `size` pixels. With `with_logits`, the result is the logits and the probabilities.
    """
    random = np.random.default_rng(7)
    op, builder = relax.op, relax.BlockBuilder()
    weights = []
    parameters = [relax.Var("image", relax.TensorType((batch, 3, size, size), "float32"))]

    def weight(values):
        weights.append(values.astype("float32"))
        parameters.append(relax.Var(f"weight_{len(weights)}", relax.TensorType(values.shape, "float32")))
        return parameters[-1]

    def kernel(outputs, inputs, width):
        scale = np.sqrt(2 / (inputs * width * width))
        return (weight(random.standard_normal((outputs, inputs, width, width)) * scale),
                weight(random.standard_normal((1, outputs, 1, 1)) * 0.1))

    def conv(value, kernel, **options):
        value = builder.emit(op.add(builder.emit(op.nn.conv2d(value, kernel[0], **options)), kernel[1]))
        return builder.emit(op.nn.relu(value))

    def pool(value):
        return builder.emit(op.nn.max_pool2d(value, pool_size=3, strides=2))

    # The parameters of a function are declared when it is opened, so the weights come first.
    fires = [(64, 16, 64), (128, 16, 64), None, (128, 32, 128), (256, 32, 128), None,
             (256, 48, 192), (384, 48, 192), (384, 64, 256), (512, 64, 256)]  # None is a pool
    first = kernel(64, 3, 3)
    kernels = [fire and (kernel(fire[1], fire[0], 1), kernel(fire[2], fire[1], 1), kernel(fire[2], fire[1], 3))
               for fire in fires]
    last = kernel(1000, 512, 1)
    with builder.function("main", parameters):
        with builder.dataflow():
            value = pool(conv(parameters[0], first, strides=2))
            for fire in kernels:
                if fire is None:
                    value = pool(value)
                else:
                    squeezed = conv(value, fire[0])
                    expanded = [conv(squeezed, fire[1]), conv(squeezed, fire[2], padding=1)]
                    value = builder.emit(op.concat(expanded, axis=1))
            value = builder.emit(op.nn.adaptive_avg_pool2d(conv(value, last), output_size=1))
            results = [builder.emit_output(op.nn.softmax(value, axis=1))]
            if with_logits:
                results.insert(0, builder.emit_output(value))
        builder.emit_func_output(relax.Tuple(results) if with_logits else results[0])
    return builder.finalize(), weights
