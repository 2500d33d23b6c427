// Two layers and a loop over the rows of the result.
#rows = affine_map<(d0) -> (d0)>
module {
  func.func @layers(%input: memref<8x16xf32>, %weights: memref<16x16xf32>, %output: memref<8x16xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant 0.0 : f32
    %first = memref.alloc() {alignment = 64 : i64} : memref<8x16xf32>
    linalg.fill ins(%zero : f32) outs(%first : memref<8x16xf32>)
    linalg.matmul ins(%input, %weights : memref<8x16xf32>, memref<16x16xf32>) outs(%first : memref<8x16xf32>)
    %second = memref.alloc(%c8) {alignment = 64 : i64} : memref<?x16xf32>
    linalg.matmul ins(%first, %weights : memref<8x16xf32>, memref<16x16xf32>) outs(%second : memref<?x16xf32>)
    memref.dealloc %first : memref<8x16xf32>
    %row = memref.subview %second[0, 0] [1, 16] [1, 1] : memref<?x16xf32> to memref<1x16xf32, strided<[16, 1]>>
    scf.for %i = %c0 to %c8 step %c1 {
      %part = memref.alloc() : memref<16xf16>
      linalg.copy ins(%row : memref<1x16xf32, strided<[16, 1]>>) outs(%output : memref<8x16xf32>)
      "test.use"(%part) : (memref<16xf16>) -> ()
    }
    %shared = memref.alloc() : memref<4x4xi1, 3>
    memref.dealloc %shared : memref<4x4xi1, 3>
    return
  }
}
