// --test-ppc-timed-execution
// an arena that no test holds
module {
  ppcrt.program @train grid <pp = 1> micro_batches 1 {
    ppcrt.device @device0 at 0 arena 4294967296 {
      ppcrt.stream @compute
      ppcrt.buffer @x input "x" : memref<4xf32> slots 1 offset 0 stride 64
      ppcrt.buffer @h saved : memref<4xf32> slots 1 offset 64 stride 64
      ppcrt.buffer @k saved : memref<4xf32> slots 1 offset 128 stride 64
      ppcrt.buffer @s scratch : memref<32xi8> offset 112
      ppcrt.step {
      }
    }
  }
  func.func @copy(%x: tensor<4xf32>) -> tensor<4xf32> attributes {ppcrt.routine = "forward"} {
    return %x : tensor<4xf32>
  }
}
