// "--ppc-search-plan=ranks=4 memory=1e5" --canonicalize



module attributes {ppc.shape = {layers = 2 : i64, hidden = 64 : i64, heads = 4 : i64, kv_heads = 2 : i64, head_dim = 16 : i64, ffn = 128 : i64,
                                gated = true, vocab = 256 : i64}} {
  func.func @loss(%ids: tensor<4294967296x32xi32> {ppc.input = "ids", ppc.dims = ["batch", "seq"]},
                  %x: tensor<8x32xf32> {ppc.dims = ["batch", "seq"]}) -> tensor<f32> {
    %0 = ppc.reduce #ppc.combiner<sum> %x dims [0, 1] : tensor<8x32xf32> to tensor<f32>
    return %0 : tensor<f32>
  }
}
