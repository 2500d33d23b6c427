"""The models that planned_models.py compiles: small forms of five networks with random weights of a fixed seed.

    module, weights = squeezenet(1)        # a module of Relax with the function "forward", and its weights as arrays
"""

import numpy as np
from tvm import relax
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import op


def exported(model, **inputs):
    module, parameters = model.export_tvm({"forward": inputs})
    random = np.random.default_rng(7)
    weights = []
    for name, parameter in parameters:
        shape = [int(dimension) for dimension in parameter.shape]
        values = random.standard_normal(shape) * np.sqrt(2 / max(np.prod(shape[1:]), 1))
        weights.append((values * 0.1 if name.endswith("bias") else values).astype("float32"))
    return module, weights


def image(batch, size):
    return nn.spec.Tensor([batch, 3, size, size], "float32")


def pooled(value, **options):
    return op.wrap_nested(relax.op.nn.max_pool2d(value._expr, **options), "pool")


def averaged(value):
    return op.wrap_nested(relax.op.nn.adaptive_avg_pool2d(value._expr, output_size=1), "average")


class Fire(nn.Module):
    def __init__(self, inputs, squeezed, expanded):
        self.squeeze = nn.Conv2D(inputs, squeezed, 1)
        self.narrow = nn.Conv2D(squeezed, expanded, 1)
        self.wide = nn.Conv2D(squeezed, expanded, 3, padding=1)

    def forward(self, value):
        value = op.relu(self.squeeze(value))
        return op.concat([op.relu(self.narrow(value)), op.relu(self.wide(value))], dim=1)


class SqueezeNet(nn.Module):
    """SqueezeNet 1.1."""

    def __init__(self):
        self.first = nn.Conv2D(3, 64, 3, stride=2)
        sizes = [(64, 16, 64), (128, 16, 64), (128, 32, 128), (256, 32, 128), (256, 48, 192), (384, 48, 192),
                 (384, 64, 256), (512, 64, 256)]
        self.fires = nn.ModuleList([Fire(*size) for size in sizes])
        self.last = nn.Conv2D(512, 1000, 1)

    def forward(self, value):
        value = pooled(op.relu(self.first(value)), pool_size=3, strides=2)
        for number, fire in enumerate(self.fires):
            value = fire(value)
            if number in (1, 3):
                value = pooled(value, pool_size=3, strides=2)
        return op.softmax(averaged(op.relu(self.last(value))), axis=1)


def squeezenet(batch):
    return exported(SqueezeNet(), value=image(batch, 64))


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        self.first = nn.Conv2D(inputs, outputs, 3, stride, padding=1)
        self.second = nn.Conv2D(outputs, outputs, 3, padding=1)
        self.shortcut = nn.Conv2D(inputs, outputs, 1, stride) if stride != 1 else None

    def forward(self, value):
        kept = self.shortcut(value) if self.shortcut else value
        return op.relu(self.second(op.relu(self.first(value))) + kept)


class ResNet18(nn.Module):
    """ResNet-18 with a quarter of the channels. Batch normalization is folded into the convolutions."""

    def __init__(self):
        self.first = nn.Conv2D(3, 16, 7, stride=2, padding=3)
        sizes = [(16, 16, 1), (16, 16, 1), (16, 32, 2), (32, 32, 1), (32, 64, 2), (64, 64, 1), (64, 128, 2),
                 (128, 128, 1)]
        self.blocks = nn.ModuleList([Residual(*size) for size in sizes])
        self.last = nn.Linear(128, 1000)

    def forward(self, value):
        value = pooled(op.relu(self.first(value)), pool_size=3, strides=2, padding=1)
        for block in self.blocks:
            value = block(value)
        return self.last(op.reshape(averaged(value), [value.shape[0], 128]))


def resnet18(batch):
    return exported(ResNet18(), value=image(batch, 112))


class Double(nn.Module):
    def __init__(self, inputs, outputs):
        self.first = nn.Conv2D(inputs, outputs, 3, padding=1)
        self.second = nn.Conv2D(outputs, outputs, 3, padding=1)

    def forward(self, value):
        return op.relu(self.second(op.relu(self.first(value))))


class UNet(nn.Module):
    """A U-Net of four levels: the results of the way down stay live until the way up."""

    def __init__(self):
        channels = [3, 8, 16, 32, 64]
        self.down = nn.ModuleList([Double(*pair) for pair in zip(channels, channels[1:])])
        self.up = nn.ModuleList([Double(high + low, low) for low, high in zip(channels[-2:0:-1], channels[:1:-1])])
        self.last = nn.Conv2D(8, 2, 1)

    def forward(self, value):
        kept = []
        for number, level in enumerate(self.down):
            value = level(value if number == 0 else pooled(value, pool_size=2, strides=2))
            kept.append(value)
        for level, across in zip(self.up, kept[-2::-1]):
            value = op.interpolate(value, scale_factor=2, mode="nearest")
            value = level(op.concat([value, across], dim=1))
        return self.last(value)


def unet(batch):
    return exported(UNet(), value=image(batch, 64))


class Lstm(nn.Module):
    """A long short-term memory of 24 steps and 64 units."""

    steps, inputs, units = 24, 32, 64

    def __init__(self):
        self.gates = nn.Linear(self.inputs + self.units, 4 * self.units)
        self.last = nn.Linear(self.units, 10)

    def forward(self, value):
        hidden = state = op.zeros((1, self.units))
        for step in op.split(value, self.steps, axis=0):
            keep, write, show, change = op.split(self.gates(op.concat([step, hidden], dim=1)), 4, axis=1)
            state = op.sigmoid(keep) * state + op.sigmoid(write) * op.tanh(change)
            hidden = op.sigmoid(show) * op.tanh(state)
        return self.last(hidden), state


def lstm():
    return exported(Lstm(), value=nn.spec.Tensor([Lstm.steps, Lstm.inputs], "float32"))


class Attention(nn.Module):
    width, heads = 64, 4

    def __init__(self):
        self.before = nn.LayerNorm(self.width)
        self.all = nn.Linear(self.width, 3 * self.width)
        self.out = nn.Linear(self.width, self.width)

    def forward(self, value, mask):
        length, each = value.shape[0], self.width // self.heads
        parts = [op.permute_dims(op.reshape(part, [length, self.heads, each]), [1, 0, 2])
                 for part in op.split(self.all(self.before(value)), 3, axis=1)]
        scores = op.matmul(parts[0], op.permute_dims(parts[1], [0, 2, 1])) * (each ** -0.5) + mask
        mixed = op.permute_dims(op.matmul(op.softmax(scores), parts[2]), [1, 0, 2])
        return value + self.out(op.reshape(mixed, [length, self.width]))


class FeedForward(nn.Module):
    def __init__(self, width):
        self.before = nn.LayerNorm(width)
        self.first = nn.Linear(width, 4 * width)
        self.second = nn.Linear(4 * width, width)

    def forward(self, value):
        return value + self.second(op.gelu(self.first(self.before(value))))


class Decoder(nn.Module):
    """A transformer decoder of four layers with causal attention over `length` tokens."""

    def __init__(self):
        self.embedding = nn.Parameter((256, Attention.width))
        self.attentions = nn.ModuleList([Attention() for _ in range(4)])
        self.feeds = nn.ModuleList([FeedForward(Attention.width) for _ in range(4)])
        self.last = nn.LayerNorm(Attention.width)
        self.head = nn.Linear(Attention.width, 256)

    def forward(self, tokens):
        length = tokens.shape[0]
        mask = op.triu(op.full([length, length], -1e9), diagonal=1)
        rows = relax.op.take(self.embedding._expr, tokens._expr, axis=0, mode="clip")
        value = op.wrap_nested(rows, "embedding")
        for attention, feed in zip(self.attentions, self.feeds):
            value = feed(attention(value, mask))
        return self.head(self.last(value))


def decoder(length):
    return exported(Decoder(), tokens=nn.spec.Tensor([length], "int32"))
