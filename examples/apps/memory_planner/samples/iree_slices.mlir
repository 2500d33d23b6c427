// -----// IR Dump Before LayoutSlicesPass: iree-stream-layout-slices //----- //
util.func public @run(%input: !hal.buffer_view) -> !hal.buffer_view attributes {iree.abi.stub} {
  %c512 = arith.constant 512 : index
  %c100 = arith.constant 100 : index
  %0:4 = stream.resource.pack on(#hal.device.affinity<@device>) slices({
    [0, 1] = %c512,
    [1, 3] = %c100,
    [2, 4] = %c512
  }) : index
  %buffer, %ready = stream.resource.alloca uninitialized : !stream.resource<transient>{%0#0} => !stream.timepoint
  util.return %input : !hal.buffer_view
}
