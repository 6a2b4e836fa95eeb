// Each sharding rule: the op, sharded by it in every way, computes the same as the unsharded op.
// RUN: ppc-opt %s --test-ppc-sharding-rules --verify-diagnostics -o /dev/null
// RUN: ppc-opt %s --test-ppc-sharding-rules=seed=2 --verify-diagnostics -o /dev/null

func.func @causal(%q: tensor<2x3x5x3x2xf32>, %k: tensor<2x3x5x2xf32>, %v: tensor<2x3x5x2xf32>, %lse: tensor<2x3x5x3xf32>) {
  // expected-remark @below {{([b, s, k, g, d], [b, t, k, d], [b, t, k, v]) -> ([b, s, k, g, v], [b, s, k, g]) {s: replicated, d: replicated, t: replicated, v: replicated}, 15 cuts}}
  %0:2 = ppc.attention %q, %k, %v scale 5.000000e-01 causal : tensor<2x3x5x3x2xf32>, tensor<2x3x5x2xf32>, tensor<2x3x5x2xf32> -> tensor<2x3x5x3x2xf32>, tensor<2x3x5x3xf32>
  // expected-remark @below {{([b, s, k, g, d], [b, t, k, d], [b, t, k, v], [b, s, k, g, v], [b, s, k, g], [b, s, k, g, v]) -> ([b, s, k, g, d], [b, t, k, d], [b, t, k, v]) {s: replicated, g: sum, d: replicated, t: replicated, v: replicated}, 15 cuts}}
  %1:3 = ppc.attention_backward %q, %k, %v, %q, %lse, %q scale 5.000000e-01 causal : tensor<2x3x5x3x2xf32>, tensor<2x3x5x2xf32>, tensor<2x3x5x2xf32>, tensor<2x3x5x3x2xf32>, tensor<2x3x5x3xf32>
  return
}

// More keys than queries.
func.func @full(%q: tensor<3x2x2x2x2xf32>, %k: tensor<3x4x2x2xf32>, %v: tensor<3x4x2x2xf32>, %lse: tensor<3x2x2x2xf32>) {
  // expected-remark @below {{([b, s, k, g, d], [b, t, k, d], [b, t, k, v]) -> ([b, s, k, g, v], [b, s, k, g]) {s: replicated, d: replicated, t: replicated, v: replicated}, 15 cuts}}
  %0:2 = ppc.attention %q, %k, %v scale 5.000000e-01 : tensor<3x2x2x2x2xf32>, tensor<3x4x2x2xf32>, tensor<3x4x2x2xf32> -> tensor<3x2x2x2x2xf32>, tensor<3x2x2x2xf32>
  // expected-remark @below {{([b, s, k, g, d], [b, t, k, d], [b, t, k, v]) -> ([b, s, k, g, v], [b, s, k, g]) {s: replicated, d: replicated, t: replicated, v: replicated}, 15 cuts}}
  %1:2 = ppc.attention %q, %k, %v scale 5.000000e-01 causal : tensor<3x2x2x2x2xf32>, tensor<3x4x2x2xf32>, tensor<3x4x2x2xf32> -> tensor<3x2x2x2x2xf32>, tensor<3x2x2x2xf32>
  // expected-remark @below {{([b, s, k, g, d], [b, t, k, d], [b, t, k, v], [b, s, k, g, v], [b, s, k, g], [b, s, k, g, v]) -> ([b, s, k, g, d], [b, t, k, d], [b, t, k, v]) {s: replicated, g: sum, d: replicated, t: replicated, v: replicated}, 15 cuts}}
  %2:3 = ppc.attention_backward %q, %k, %v, %q, %lse, %q scale 5.000000e-01 : tensor<3x2x2x2x2xf32>, tensor<3x4x2x2xf32>, tensor<3x4x2x2xf32>, tensor<3x2x2x2x2xf32>, tensor<3x2x2x2xf32>
  return
}

// Values wider than keys, a window, slopes sharded with their heads.
func.func @window(%q: tensor<2x3x3x2x2xf32>, %k: tensor<2x4x3x2xf32>, %v: tensor<2x4x3x3xf32>, %out: tensor<2x3x3x2x3xf32>, %lse: tensor<2x3x3x2xf32>, %slopes: tensor<3x2xf32>) {
  // expected-remark @below {{([b, s, k, g, d], [b, t, k, d], [b, t, k, v], [k, g]) -> ([b, s, k, g, v], [b, s, k, g]) {s: replicated, d: replicated, t: replicated, v: replicated}, 15 cuts}}
  %0:2 = ppc.attention %q, %k, %v scale 5.000000e-01 causal window 2 slopes %slopes as tensor<3x2xf32> : tensor<2x3x3x2x2xf32>, tensor<2x4x3x2xf32>, tensor<2x4x3x3xf32> -> tensor<2x3x3x2x3xf32>, tensor<2x3x3x2xf32>
  // expected-remark @below {{([b, s, k, g, d], [b, t, k, d], [b, t, k, v], [b, s, k, g, v], [b, s, k, g], [b, s, k, g, v], [k, g]) -> ([b, s, k, g, d], [b, t, k, d], [b, t, k, v]) {s: replicated, g: sum, d: replicated, t: replicated, v: replicated}, 15 cuts}}
  %1:3 = ppc.attention_backward %q, %k, %v, %out, %lse, %out scale 5.000000e-01 causal window 2 slopes %slopes as tensor<3x2xf32> : tensor<2x3x3x2x2xf32>, tensor<2x4x3x2xf32>, tensor<2x4x3x3xf32>, tensor<2x3x3x2x3xf32>, tensor<2x3x3x2xf32>
  return
}

// If keys and values are gathered, queries are sharded too: each block gives its rows, and its part of the gradients of all keys.
func.func @gather(%q: tensor<2x5x2x2x2xf32>, %k: tensor<2x5x2x2xf32>, %v: tensor<2x5x2x2xf32>, %lse: tensor<2x5x2x2xf32>) {
  // expected-remark @below {{([b, s, k, g, d], [b, t, k, d], [b, t, k, v]) -> ([b, s, k, g, v], [b, s, k, g]) {s: positional, d: replicated, t: replicated, v: replicated}, 24 cuts}}
  %0:2 = ppc.attention %q, %k, %v scale 5.000000e-01 causal strategy <gather> : tensor<2x5x2x2x2xf32>, tensor<2x5x2x2xf32>, tensor<2x5x2x2xf32> -> tensor<2x5x2x2x2xf32>, tensor<2x5x2x2xf32>
  // expected-remark @below {{([b, s, k, g, d], [b, t, k, d], [b, t, k, v], [b, s, k, g, v], [b, s, k, g], [b, s, k, g, v]) -> ([b, s, k, g, d], [b, t, k, d], [b, t, k, v]) {s: sum positional, g: sum, d: replicated, t: replicated, v: replicated}, 24 cuts}}
  %1:3 = ppc.attention_backward %q, %k, %v, %q, %lse, %q scale 5.000000e-01 causal strategy <gather> : tensor<2x5x2x2x2xf32>, tensor<2x5x2x2xf32>, tensor<2x5x2x2xf32>, tensor<2x5x2x2x2xf32>, tensor<2x5x2x2xf32>
  // Without a mask.
  // expected-remark @below {{{d: replicated, t: replicated, v: replicated}, 24 cuts}}
  %2:2 = ppc.attention %q, %k, %v scale 5.000000e-01 strategy <gather> : tensor<2x5x2x2x2xf32>, tensor<2x5x2x2xf32>, tensor<2x5x2x2xf32> -> tensor<2x5x2x2x2xf32>, tensor<2x5x2x2xf32>
  return
}

// Before and after the exchange: as if they were gathered.
func.func @exchange(%q: tensor<2x5x2x2x2xf32>, %k: tensor<2x5x2x2xf32>, %v: tensor<2x5x2x2xf32>) {
  // expected-remark @below {{([b, s, k, g, d], [b, t, k, d], [b, t, k, v]) -> ([b, s, k, g, v], [b, s, k, g]) {s: positional, d: replicated, t: replicated, v: replicated}, 24 cuts}}
  %0:2 = ppc.attention %q, %k, %v scale 5.000000e-01 causal strategy <kv_heads> : tensor<2x5x2x2x2xf32>, tensor<2x5x2x2xf32>, tensor<2x5x2x2xf32> -> tensor<2x5x2x2x2xf32>, tensor<2x5x2x2xf32>
  // expected-remark @below {{{s: positional, d: replicated, t: replicated, v: replicated}, 24 cuts}}
  %1:2 = ppc.attention %q, %k, %v scale 5.000000e-01 causal strategy <head_group> : tensor<2x5x2x2x2xf32>, tensor<2x5x2x2xf32>, tensor<2x5x2x2xf32> -> tensor<2x5x2x2x2xf32>, tensor<2x5x2x2xf32>
  return
}

// More keys than queries, a window and slopes.
func.func @gather_window(%q: tensor<2x4x2x2x2xf32>, %k: tensor<2x6x2x2xf32>, %v: tensor<2x6x2x3xf32>, %out: tensor<2x4x2x2x3xf32>, %lse: tensor<2x4x2x2xf32>, %slopes: tensor<2x2xf32>) {
  // expected-remark @below {{{s: positional, d: replicated, t: replicated, v: replicated}, 24 cuts}}
  %0:2 = ppc.attention %q, %k, %v scale 5.000000e-01 causal window 2 slopes %slopes as tensor<2x2xf32> strategy <gather> : tensor<2x4x2x2x2xf32>, tensor<2x6x2x2xf32>, tensor<2x6x2x3xf32> -> tensor<2x4x2x2x3xf32>, tensor<2x4x2x2xf32>
  // expected-remark @below {{{s: sum positional, g: sum, d: replicated, t: replicated, v: replicated}, 24 cuts}}
  %1:3 = ppc.attention_backward %q, %k, %v, %out, %lse, %out scale 5.000000e-01 causal window 2 slopes %slopes as tensor<2x2xf32> strategy <gather> : tensor<2x4x2x2x2xf32>, tensor<2x6x2x2xf32>, tensor<2x6x2x3xf32>, tensor<2x4x2x2x3xf32>, tensor<2x4x2x2xf32>
  return
}
