// Kernels of warpgroups (sm_90a), for warpgroup_kernels.py, which computes the expected results: bulk copies, memory
// barriers, MMAs of four warps. The second half is wrong on purpose: each kernel has one fault that has to be reported.
typedef unsigned u32;
typedef unsigned long long u64;
typedef unsigned short u16;
#define KERNEL __attribute__((device_kernel)) void
#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((address_space(3), loader_uninitialized))
#define THREAD __nvvm_read_ptx_sreg_tid_x()
#define BARRIER asm volatile("bar.sync 0;" ::: "memory")
#define ADDRESS(p) ((u32)(u64)(__attribute__((address_space(3))) void *)(p))

// Tiles of 64 rows of 64 elements, whose 16-byte units are swizzled; a pair is contiguous.
static SHARED __attribute__((aligned(1024))) u16 tileA[64 * 64], tileB[2 * 64 * 64];
static SHARED u64 full[2], empty[2];

static void start(u32 arrivals) {
  if (THREAD == 0) {
    for (u32 i = 0; i < 2; ++i) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(ADDRESS(full + i)) : "memory");
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ADDRESS(empty + i)), "r"(arrivals) : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  BARRIER;
}
static void wait(SHARED u64 *barrier, u32 parity) {
  asm volatile("{ .reg .pred p;\nAGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra AGAIN; }" ::"r"(ADDRESS(barrier)), "r"(parity) : "memory");
}
static void waitOnce(SHARED u64 *barrier, u32 parity) {
  asm volatile("{ .reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; }" ::"r"(ADDRESS(barrier)), "r"(parity) : "memory");
}
static void arrive(SHARED u64 *barrier) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(ADDRESS(barrier)) : "memory"); }
static void expect(SHARED u64 *barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(ADDRESS(barrier)), "r"(bytes) : "memory");
}
static void copyBox(u32 to, GLOBAL const void *map, u32 x, u32 y, SHARED u64 *barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map), "r"(x),
               "r"(y), "r"(ADDRESS(barrier))
               : "memory");
}
static void copyBytes(u32 to, GLOBAL const void *from, u32 bytes, SHARED u64 *barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from), "r"(bytes), "r"(ADDRESS(barrier)) : "memory");
}
// K along rows: eight rows in 1024 bytes. Along columns: eight K in 1024 bytes, 64 elements further after 8192.
static u64 descriptor(u32 address) { return (u64)(address >> 4 & 0x3fff) | (u64)512 << 16 | (u64)64 << 32 | (u64)1 << 62; }
#define FENCE asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT(n) asm volatile("wgmma.wait_group.sync.aligned " #n ";" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]) :: "memory")
#define SUMS "{%0, %1, %2, %3, %4, %5, %6, %7}"
// d (+)= a b for 16 of K, m64n16k16.
#define PRODUCT(a, b, adds, transposed)                                                                                                            \
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %10, 0;\nwgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 " SUMS ", %8, %9, p, 1, 1, 0, " #transposed "; }" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])                                    \
               : "l"(a), "l"(b), "r"(adds)                                                                                                         \
               : "memory")
#define PRODUCT_OF_REGISTERS(a, b)                                                                                                                 \
  asm volatile("wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 " SUMS ", {%8, %9, %10, %11}, %12, 1, 1, 1, 0;"                               \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])                                    \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)                                                                                \
               : "memory")
// This thread's 8 of 64 x 16.
static void write(GLOBAL float *out, float *d) {
  u32 lane = THREAD % 32, row = THREAD / 32 % 4 * 16 + lane / 4;
  for (u32 i = 0; i < 8; ++i)
    out[(row + i / 2 % 2 * 8) * 16 + i / 4 * 8 + lane % 4 * 2 + i % 2] = d[i];
}
static float zero(GLOBAL float *out) { return out[0]; } // zero from memory, which the compiler cannot know

// out = x[64 x 64] y[16 x 64]', both with K along rows, by tensor copies.
KERNEL product(GLOBAL const void *x, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) {
  start(1);
  if (THREAD == 0) {
    expect(full, 64 * 128 + 16 * 128);
    copyBox(ADDRESS(tileA), mapX, 0, 0, full);
    copyBox(ADDRESS(tileB), mapY, 0, 0, full);
  }
  wait(full, 0);
  float d[8];
  FENCE;
  for (u32 k = 0; k < 4; ++k)
    PRODUCT(descriptor(ADDRESS(tileA)) + 2 * k, descriptor(ADDRESS(tileB)) + 2 * k, k, 0);
  COMMIT;
  WAIT(0);
  write(out, d);
}

// out = x[64 x 64] z[64 x 16]: the other operand has K from row to row. The box goes beyond both ends of a tensor of 60 x 60.
KERNEL product_columns(GLOBAL const void *x, GLOBAL const void *z, GLOBAL const void *mapX, GLOBAL const void *mapZ, GLOBAL float *out) {
  start(1);
  if (THREAD == 0) {
    expect(full, 2 * 64 * 128);
    copyBox(ADDRESS(tileA), mapX, 0, 0, full);
    copyBox(ADDRESS(tileB), mapZ, 8, 0, full);
  }
  wait(full, 0);
  float d[8];
  FENCE;
#pragma unroll
  for (u32 k = 0; k < 4; ++k)
    PRODUCT(descriptor(ADDRESS(tileA)) + 2 * k, descriptor(ADDRESS(tileB)) + 128 * k, k, 1);
  COMMIT;
  WAIT(0);
  write(out, d);
}

// The first 16 columns of x, from registers, times those of y, twice: sums are scaled between. What threads write to
// shared memory themselves needs a fence.
KERNEL product_registers(GLOBAL const u16 *x, GLOBAL const u16 *y, GLOBAL float *out) {
  u32 lane = THREAD % 32, row = THREAD / 32 * 16 + lane / 4, a[4];
  for (u32 i = 0; i < 4; ++i)
    a[i] = *(GLOBAL const u32 *)(x + (row + i % 2 * 8) * 64 + lane % 4 * 2 + i / 2 * 8);
  u32 r = THREAD / 8, c = THREAD % 8;
  for (u32 i = 0; i < 8; ++i)
    tileB[r * 64 + (c ^ r % 8) * 8 + i] = y[r * 64 + c * 8 + i];
  asm volatile("fence.proxy.async;" ::: "memory");
  BARRIER;
  float d[8];
  for (u32 i = 0; i < 8; ++i)
    d[i] = zero(out);
  PRODUCT_OF_REGISTERS(a, descriptor(ADDRESS(tileB)));
  COMMIT;
  WAIT(0);
  for (u32 i = 0; i < 8; ++i)
    d[i] *= 3;
  PRODUCT_OF_REGISTERS(a, descriptor(ADDRESS(tileB)));
  COMMIT;
  WAIT(0);
  BARRIER;
  write(out, d);
}

// 8 blocks of 256 bytes rotate through two buffers: one warp copies, the others add up the arrived data.
static void ring(GLOBAL const float *in, GLOBAL float *out, u32 releaseEarly, u32 parityOff) {
  start(96);
  float sum = 0;
  if (THREAD < 32) {
    if (THREAD == 0)
      for (u32 i = 0; i < 8; ++i) {
        wait(empty + i % 2, (i / 2 & 1) ^ 1);
        expect(full + i % 2, 256);
        copyBytes(ADDRESS(tileA) + i % 2 * 256, in + 64 * i, 256, full + i % 2);
      }
    return;
  }
  for (u32 i = 0; i < 8; ++i) {
    wait(full + i % 2, (i / 2 & 1) ^ parityOff);
    if (releaseEarly)
      arrive(empty + i % 2);
    sum += ((volatile SHARED float *)tileA)[i % 2 * 64 + THREAD % 64];
    if (!releaseEarly)
      arrive(empty + i % 2);
  }
  out[THREAD - 32] = sum;
}
KERNEL pieces(GLOBAL const float *in, GLOBAL float *out) { ring(in, out, 0, 0); }

// Registers go from one warpgroup to the other, of 256 threads with 248 each.
KERNEL registers(GLOBAL float *out) {
  if (THREAD < 128)
    asm volatile("setmaxnreg.dec.sync.aligned.u32 104;");
  else
    asm volatile("setmaxnreg.inc.sync.aligned.u32 256;");
  out[THREAD] = THREAD;
}

// ---- with faults ----
KERNEL race_copy_not_waited(GLOBAL const void *x, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) {
  start(1);
  if (THREAD == 0) {
    expect(full, 64 * 128);
    copyBox(ADDRESS(tileA), mapX, 0, 0, full);
  }
  BARRIER;
  out[THREAD] = ((volatile SHARED u16 *)tileA)[THREAD];
  wait(full, 0);
}
// A single try_wait may return before the phase has completed.
KERNEL sometimes_wait_once(GLOBAL const void *x, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) {
  start(1);
  if (THREAD == 0) {
    expect(full, 64 * 128);
    copyBox(ADDRESS(tileA), mapX, 0, 0, full);
  }
  waitOnce(full, 0);
  out[THREAD] = ((volatile SHARED u16 *)tileA)[THREAD];
  wait(full, 0);
}
KERNEL race_released_early(GLOBAL const float *in, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) { ring(in, out, 1, 0); }
KERNEL either_wrong_parity(GLOBAL const float *in, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) { ring(in, out, 0, 1); }
KERNEL barrier_too_few_bytes(GLOBAL const void *x, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) {
  start(1);
  if (THREAD == 0) {
    expect(full, 64 * 128 + 16);
    copyBox(ADDRESS(tileA), mapX, 0, 0, full);
  }
  wait(full, 0);
}
KERNEL barrier_too_many_bytes(GLOBAL const void *x, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) {
  start(1);
  if (THREAD == 0) {
    expect(full, 16);
    copyBox(ADDRESS(tileA), mapX, 0, 0, full);
  }
  wait(full, 0);
}
KERNEL barrier_of_nobody(GLOBAL const void *x, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) { arrive(full); }
KERNEL barrier_too_many_arrivals(GLOBAL const void *x, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) {
  start(3);
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 4;" ::"r"(ADDRESS(empty)) : "memory");
}
KERNEL barrier_not_visible(GLOBAL const void *x, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) {
  if (THREAD == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(ADDRESS(full)) : "memory");
    expect(full, 64 * 128);
    copyBox(ADDRESS(tileA), mapX, 0, 0, full);
  }
}
KERNEL either_not_initialized_yet(GLOBAL const void *x, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) {
  if (THREAD == 0)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 128;" ::"r"(ADDRESS(full)) : "memory");
  arrive(full);
}
KERNEL race_ends_before_copy(GLOBAL const void *x, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) {
  start(1);
  if (THREAD == 0) {
    expect(full, 64 * 128);
    for (u32 i = 0; i < 8; ++i)
      copyBytes(ADDRESS(tileA) + 1024 * i, (GLOBAL const char *)x + 1024 * i, 1024, full);
  }
}
KERNEL race_no_proxy_fence(GLOBAL const void *x, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) {
  for (u32 i = 0; i < 32; ++i)
    tileA[32 * THREAD + i] = tileB[32 * THREAD + i] = 0;
  BARRIER;
  float d[8];
  FENCE;
  PRODUCT(descriptor(ADDRESS(tileA)), descriptor(ADDRESS(tileB)), 0, 0);
  COMMIT;
  WAIT(0);
  write(out, d);
}
KERNEL race_copy_over_written(GLOBAL const void *x, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) {
  for (u32 i = 0; i < 32; ++i)
    tileA[32 * THREAD + i] = 0;
  start(1);
  if (THREAD == 0) {
    expect(full, 64 * 128);
    copyBox(ADDRESS(tileA), mapX, 0, 0, full);
  }
  wait(full, 0);
}

static void bothTiles(GLOBAL const void *mapX, GLOBAL const void *mapY) {
  start(1);
  if (THREAD == 0) {
    expect(full, 64 * 128 + 16 * 128);
    copyBox(ADDRESS(tileA), mapX, 0, 0, full);
    copyBox(ADDRESS(tileB), mapY, 0, 0, full);
  }
  wait(full, 0);
}
KERNEL race_result_not_waited(GLOBAL const void *x, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) {
  bothTiles(mapX, mapY);
  float d[8];
  FENCE;
  PRODUCT(descriptor(ADDRESS(tileA)), descriptor(ADDRESS(tileB)), 0, 0);
  COMMIT;
  write(out, d);
  WAIT(0);
}
KERNEL race_not_committed(GLOBAL const void *x, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) {
  bothTiles(mapX, mapY);
  float d[8];
  FENCE;
  PRODUCT(descriptor(ADDRESS(tileA)), descriptor(ADDRESS(tileB)), 0, 0);
  WAIT(0);
  write(out, d);
}
KERNEL race_registers_not_fenced(GLOBAL const void *x, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) {
  bothTiles(mapX, mapY);
  float d[8];
  FENCE;
  for (u32 i = 0; i < 8; ++i)
    d[i] = zero(out);
  PRODUCT(descriptor(ADDRESS(tileA)), descriptor(ADDRESS(tileB)), 1, 0);
  COMMIT;
  WAIT(0);
  write(out, d);
}
KERNEL race_overwritten_operand(GLOBAL const void *x, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) {
  bothTiles(mapX, mapY);
  float d[8];
  FENCE;
  PRODUCT(descriptor(ADDRESS(tileA)), descriptor(ADDRESS(tileB)), 0, 0);
  COMMIT;
  BARRIER;
  if (THREAD == 0) { // while it is read
    expect(full, 64 * 128);
    copyBox(ADDRESS(tileA), mapX, 0, 0, full);
  }
  WAIT(0);
  wait(full, 1);
  write(out, d);
}
KERNEL divergent_products(GLOBAL const void *x, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) {
  bothTiles(mapX, mapY);
  float d[8];
  FENCE;
  if (THREAD < 96)
    PRODUCT(descriptor(ADDRESS(tileA)), descriptor(ADDRESS(tileB)), 0, 0);
  COMMIT;
  WAIT(0);
}
KERNEL divergent_operands(GLOBAL const void *x, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) {
  bothTiles(mapX, mapY);
  float d[8];
  FENCE;
  PRODUCT(descriptor(ADDRESS(tileA)) + THREAD / 64 * 2, descriptor(ADDRESS(tileB)), 0, 0);
  COMMIT;
  WAIT(0);
  write(out, d);
}
KERNEL trap_unswizzled(GLOBAL const void *x, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) {
  bothTiles(mapX, mapY);
  float d[8];
  FENCE;
  PRODUCT(descriptor(ADDRESS(tileA)) & ~((u64)3 << 62), descriptor(ADDRESS(tileB)), 0, 0);
  COMMIT;
  WAIT(0);
  write(out, d);
}
KERNEL bounds_descriptor(GLOBAL const void *x, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) {
  bothTiles(mapX, mapY);
  float d[8];
  FENCE;
  PRODUCT(descriptor(ADDRESS(tileA)) + (1 << 13), descriptor(ADDRESS(tileB)), 0, 0);
  COMMIT;
  WAIT(0);
  write(out, d);
}
KERNEL trap_no_map(GLOBAL const void *x, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) {
  start(1);
  if (THREAD == 0)
    copyBox(ADDRESS(tileA), x, 0, 0, full);
}
KERNEL misaligned_box(GLOBAL const void *x, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) {
  start(1);
  if (THREAD == 0)
    copyBox(ADDRESS(tileA) + 64, mapX, 0, 0, full);
}
KERNEL barrier_registers(GLOBAL const void *x, GLOBAL const void *y, GLOBAL const void *mapX, GLOBAL const void *mapY, GLOBAL float *out) {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
  asm volatile("setmaxnreg.inc.sync.aligned.u32 24;");
  bothTiles(mapX, mapY);
  if (THREAD == 0)
    wait(empty, 0); // no thread arrives
}
