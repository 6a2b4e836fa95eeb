// Two slices of 4 tokens: ops along the sequence exist once for each, causal attention of the second slice reads the keys and values of
// both, its rotation starts at position 4, constants and parameters along the sequence are sliced, the loss is added up.
// RUN: ppc-opt %s --ppc-slice-sequence=count=2 | FileCheck %s

// CHECK-LABEL: func.func @loss
// CHECK-SAME: (%[[IDS:.*]]: tensor<2x8xi32> {{.*}}, %[[TARGETS:.*]]: tensor<2x8xi32> {{.*}}, %[[TABLE:.*]]: tensor<11x4xf32> {{.*}}, %[[PLACES:.*]]: tensor<8x4xf32>
func.func @loss(%ids: tensor<2x8xi32> {ppc.input = "ids", ppc.dims = ["batch", "sequence"]},
                %targets: tensor<2x8xi32> {ppc.input = "targets", ppc.dims = ["batch", "sequence"]},
                %table: tensor<11x4xf32> {ppc.parameter = "table"},
                %places: tensor<8x4xf32> {ppc.parameter = "places"}) -> tensor<f32> {
  // CHECK:      %[[I:.*]]:2 = ppc.split %[[IDS]] dim 1 {ppc.layer = 0 : i64, ppc.slice = 0 : i64} : tensor<2x8xi32> to tensor<2x4xi32>, tensor<2x4xi32>
  // CHECK-NEXT: %[[J:.*]]:2 = ppc.split %[[IDS]] dim 1 {ppc.layer = 0 : i64, ppc.slice = 1 : i64}
  // CHECK-NEXT: %[[X0:.*]] = ppc.embedding %[[TABLE]], %[[I]]#0 {ppc.layer = 0 : i64, ppc.slice = 0 : i64} : (tensor<11x4xf32>, tensor<2x4xi32>) -> tensor<2x4x4xf32>
  // CHECK-NEXT: %[[X1:.*]] = ppc.embedding %[[TABLE]], %[[J]]#1 {ppc.layer = 0 : i64, ppc.slice = 1 : i64}
  %x = ppc.embedding %table, %ids {ppc.layer = 0 : i64} : (tensor<11x4xf32>, tensor<2x8xi32>) -> tensor<2x8x4xf32>
  // Values that do not come from the inputs are sliced where they are made.
  // CHECK-NEXT: %[[P:.*]]:2 = ppc.split %[[PLACES]] dim 0 {{.*}} : tensor<8x4xf32> to tensor<4x4xf32>, tensor<4x4xf32>
  // CHECK-NEXT: %[[Q:.*]]:2 = ppc.split %[[PLACES]] dim 0
  // CHECK-NEXT: %[[B0:.*]] = ppc.broadcast %[[P]]#0 dims [0] {{.*}}ppc.slice = 0 : i64} : tensor<4x4xf32> to tensor<2x4x4xf32>
  // CHECK-NEXT: %[[B1:.*]] = ppc.broadcast %[[Q]]#1 dims [0] {{.*}}ppc.slice = 1 : i64}
  // CHECK-NEXT: %[[H0:.*]] = ppc.add %[[X0]], %[[B0]]
  // CHECK-NEXT: %[[H1:.*]] = ppc.add %[[X1]], %[[B1]]
  %b = ppc.broadcast %places dims [0] {ppc.layer = 0 : i64} : tensor<8x4xf32> to tensor<2x8x4xf32>
  %h = ppc.add %x, %b {ppc.layer = 0 : i64} : tensor<2x8x4xf32>
  // CHECK:      %[[K0:.*]] = ppc.reshape %[[H0]]
  // CHECK-NEXT: %[[K1:.*]] = ppc.reshape %[[H1]]
  // CHECK-NEXT: %[[R0:.*]] = ppc.rotary %[[K0]] frequencies [1.000000e+00] {ppc.layer = 1 : i64, ppc.slice = 0 : i64} : tensor<2x4x2x2xf32>
  // CHECK-NEXT: %[[R1:.*]] = ppc.rotary %[[K1]] frequencies [1.000000e+00] start 4 {ppc.layer = 1 : i64, ppc.slice = 1 : i64}
  %k = ppc.reshape %h {ppc.layer = 1 : i64} : tensor<2x8x4xf32> to tensor<2x8x2x2xf32>
  %r = ppc.rotary %k frequencies [1.0] {ppc.layer = 1 : i64} : tensor<2x8x2x2xf32>
  // CHECK-NEXT: %[[A0:.*]] = ppc.reshape %[[R0]]
  // CHECK-NEXT: %[[A1:.*]] = ppc.reshape %[[R1]]
  // CHECK-NEXT: %[[OUT0:.*]], %{{.*}} = ppc.attention %[[A0]], %[[R0]], %[[K0]] scale 1.000000e+00 causal {{.*}} -> tensor<2x4x2x1x2xf32>, tensor<2x4x2x1xf32>
  // CHECK-NEXT: %[[KEYS:.*]] = ppc.concat %[[R0]], %[[R1]] dim 1 {ppc.layer = 1 : i64, ppc.slice = 1 : i64} : tensor<2x4x2x2xf32>, tensor<2x4x2x2xf32> to tensor<2x8x2x2xf32>
  // CHECK-NEXT: %[[VALUES:.*]] = ppc.concat %[[K0]], %[[K1]] dim 1
  // CHECK-NEXT: %[[OUT1:.*]], %{{.*}} = ppc.attention %[[A1]], %[[KEYS]], %[[VALUES]] scale 1.000000e+00 causal
  %q = ppc.reshape %r {ppc.layer = 1 : i64} : tensor<2x8x2x2xf32> to tensor<2x8x2x1x2xf32>
  %out, %lse = ppc.attention %q, %r, %k scale 1.0 causal {ppc.layer = 1 : i64} : tensor<2x8x2x1x2xf32>, tensor<2x8x2x2xf32>, tensor<2x8x2x2xf32> -> tensor<2x8x2x1x2xf32>, tensor<2x8x2x1xf32>
  %y = ppc.reshape %out {ppc.layer = 1 : i64} : tensor<2x8x2x1x2xf32> to tensor<2x8x4xf32>
  // CHECK:      ppc.cross_entropy {{.*}}ppc.slice = 0 : i64} : (tensor<2x4x11xf32>, tensor<2x4xi32>)
  // CHECK-NEXT: ppc.cross_entropy {{.*}}ppc.slice = 1 : i64}
  // CHECK-NEXT: %[[L0:.*]] = ppc.reduce <sum> %{{.*}} dims [0, 1] {ppc.layer = 2 : i64, ppc.slice = 0 : i64} : tensor<2x4xf32> to tensor<f32>
  // CHECK-NEXT: %[[L1:.*]] = ppc.reduce <sum> %{{.*}} dims [0, 1] {ppc.layer = 2 : i64, ppc.slice = 1 : i64}
  // CHECK-NEXT: %[[SUM:.*]] = ppc.add %[[L0]], %[[L1]] {ppc.layer = 2 : i64, ppc.slice = 1 : i64}
  // An op that runs once runs with the last slice that it reads.
  // CHECK-NEXT: %[[L:.*]] = ppc.scale %[[SUM]] by 6.250000e-02 {ppc.layer = 2 : i64, ppc.slice = 1 : i64}
  // CHECK-NEXT: return %[[L]]
  %z = ppc.matmul "bsh,vh->bsv" %y, %table {ppc.layer = 2 : i64} : (tensor<2x8x4xf32>, tensor<11x4xf32>) -> tensor<2x8x11xf32>
  %nll, %sums = ppc.cross_entropy %z, %targets {ppc.layer = 2 : i64} : (tensor<2x8x11xf32>, tensor<2x8xi32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  %s = ppc.reduce <sum> %nll dims [0, 1] {ppc.layer = 2 : i64} : tensor<2x8xf32> to tensor<f32>
  %l = ppc.scale %s by 0.0625 {ppc.layer = 2 : i64} : tensor<f32>
  return %l : tensor<f32>
}

// Angles count along dimension 1, which is not the sequence here: slices begin at the same position. A memory without the sequence's dimension exists
// once, and a slice sees the part that its last query sees.
// CHECK-LABEL: func.func @other_orders
// CHECK:         ppc.rotary %{{.*}} frequencies [1.000000e+00] {ppc.slice = 0 : i64} : tensor<2x3x2x2xf32>
// CHECK:         ppc.rotary %{{.*}} frequencies [1.000000e+00] {ppc.slice = 1 : i64} : tensor<2x3x2x2xf32>
// CHECK:         ppc.split %{{.*}} dim 1 {ppc.slice = 0 : i64} : tensor<2x6x1x2xf32> to tensor<2x4x1x2xf32>, tensor<2x2x1x2xf32>
// CHECK:         ppc.attention %{{.*}} causal {ppc.slice = 0 : i64} : tensor<2x2x1x1x2xf32>, tensor<2x4x1x2xf32>, tensor<2x4x1x2xf32>
// CHECK:         ppc.attention %{{.*}} causal {ppc.slice = 1 : i64} : tensor<2x2x1x1x2xf32>, tensor<2x6x1x2xf32>, tensor<2x6x1x2xf32>
func.func @other_orders(%x: tensor<2x3x4x2xf32> {ppc.input = "x", ppc.dims = ["batch", "heads", "sequence", "d"]},
                        %m: tensor<2x6x1x2xf32> {ppc.parameter = "m"}) -> tensor<f32> {
  %r = ppc.rotary %x frequencies [1.0] : tensor<2x3x4x2xf32>
  %h = ppc.reduce <sum> %r dims [1] : tensor<2x3x4x2xf32> to tensor<2x4x2xf32>
  %q = ppc.reshape %h : tensor<2x4x2xf32> to tensor<2x4x1x1x2xf32>
  %out, %lse = ppc.attention %q, %m, %m scale 1.0 causal : tensor<2x4x1x1x2xf32>, tensor<2x6x1x2xf32>, tensor<2x6x1x2xf32> -> tensor<2x4x1x1x2xf32>, tensor<2x4x1x1xf32>
  %s = ppc.reduce <sum> %out dims [0, 1, 2, 3, 4] : tensor<2x4x1x1x2xf32> to tensor<f32>
  return %s : tensor<f32>
}
