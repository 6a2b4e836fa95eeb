// --ppc-test-host-numerics
// elements that have no size
func.func @sharding(%x: tensor<8xindex> {ppc.input = "x", ppc.sharding = #ppc.sharding<[{tp}]>}) {
  return
}
