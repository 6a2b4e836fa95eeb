// '--pass-pipeline=builtin.module(func.func(ppc-phase-train))'
func.func @nothing() {
  return
}
