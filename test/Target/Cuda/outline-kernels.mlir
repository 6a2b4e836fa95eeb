// Loops become launches; equal ones share a kernel, of which rows have shared memory of their own.
// RUN: ppc-opt %s --ppc-outline-kernels --split-input-file --verify-diagnostics | FileCheck %s

#id = affine_map<(d0) -> (d0)>
#whole = affine_map<(d0) -> ()>
#row = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>

// CHECK: module @kernels
// CHECK-COUNT-4: llvm.func @
// CHECK-NOT: llvm.func @
// CHECK-LABEL: func.func @twice
// CHECK: ppcrt.launch @kernels::@[[SQUARE:elementwise_[0-9a-f]+]] blocks 1 threads 32(%{{.*}}, %{{.*}}) reads [0] writes [1]
// CHECK-NEXT: ppcrt.launch @kernels::@[[SQUARE]] {{.*}} reads [0] writes [1]
// CHECK-NEXT: ppcrt.launch @kernels::@copy_{{[0-9a-f]+}} {{.*}} reads [0] writes [1]
func.func @twice(%x: memref<64xf32>, %y: memref<64xf32>, %z: memref<64xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<64xf32>) outs(%y : memref<64xf32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.mulf %a, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%y : memref<64xf32>) outs(%z : memref<64xf32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.mulf %a, %a : f32
    linalg.yield %s : f32
  }
  memref.copy %z, %x : memref<64xf32> to memref<64xf32>
  return
}

// A scalar from outside is loaded again; the rank's coordinate is passed as a number.
// CHECK-LABEL: func.func @scalars
// CHECK: ppcrt.launch @kernels::@elementwise_{{[0-9a-f]+}} {{.*}}(%arg1, %arg0, %{{.*}}) reads [1] writes [0]
// CHECK: ppcrt.launch @kernels::@elementwise_{{[0-9a-f]+}} blocks {{[0-9]+}} threads {{[0-9]+}}(%arg2, %arg3) reads [0, 1] writes [1]
ppcrt.group @dp axes ["dp"]
func.func @scalars(%factor: memref<f32>, %y: memref<64xf32>, %m: memref<4096x8192xf32>, %r: memref<4096xf32>) {
  %f = memref.load %factor[] : memref<f32>
  %i = ppcrt.coordinate group @dp
  %n = arith.index_cast %i : index to i64
  %g = arith.sitofp %n : i64 to f32
  %p = arith.mulf %f, %g : f32
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%y : memref<64xf32>) {
  ^bb0(%old: f32):
    linalg.yield %p : f32
  }
  linalg.generic {indexing_maps = [#row, #rows], iterator_types = ["parallel", "reduction"]} ins(%m : memref<4096x8192xf32>) outs(%r : memref<4096xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %s = arith.addf %a, %sum : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @overwritten(%factor: memref<f32>, %y: memref<64xf32>) {
  // expected-note @below {{loaded here}}
  %f = memref.load %factor[] : memref<f32>
  %zero = arith.constant 0.0 : f32
  // expected-note @below {{written here}}
  linalg.fill ins(%zero : f32) outs(%factor : memref<f32>)
  // expected-error @below {{computes with what was loaded before its buffer was written again}}
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%y : memref<64xf32>) {
  ^bb0(%old: f32):
    linalg.yield %f : f32
  }
  return
}
