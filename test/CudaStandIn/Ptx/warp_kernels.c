// Kernels in which threads work together, for warp_kernels.py, which computes the expected results. The second half is
// wrong on purpose: each kernel has one fault that has to be reported.
typedef unsigned u32;
typedef unsigned long long u64;
typedef unsigned short u16;
#define KERNEL __attribute__((device_kernel)) void
#define GLOBAL __attribute__((address_space(1)))
#define SHARED __attribute__((address_space(3), loader_uninitialized))
#define THREAD __nvvm_read_ptx_sreg_tid_x()
#define BLOCK __nvvm_read_ptx_sreg_ctaid_x()
#define SIZE __nvvm_read_ptx_sreg_ntid_x()
#define BARRIER asm volatile("bar.sync 0;" ::: "memory")
#define SHARED_ADDRESS(p) ((u32)(u64)(__attribute__((address_space(3))) void *)(p))
static u32 shuffle(u32 x, u32 by) {
  u32 r;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, -1;" : "=r"(r) : "r"(x), "r"(by));
  return r;
}

static SHARED float partial[32];
static SHARED __attribute__((aligned(128))) float tile[64 * 33];
static SHARED __attribute__((aligned(128))) u16 a[64 * 16], b[64 * 16];

// out[block] = sum of a block's part of in: shuffles within warps, then shared memory.
KERNEL sum(GLOBAL const float *in, GLOBAL float *out) {
  float x = in[BLOCK * SIZE + THREAD];
  for (u32 by = 16; by; by /= 2)
    x += __builtin_bit_cast(float, shuffle(__builtin_bit_cast(u32, x), by));
  if (THREAD % 32 == 0)
    partial[THREAD / 32] = x;
  BARRIER;
  if (THREAD == 0) {
    float s = 0;
    for (u32 i = 0; i < SIZE / 32; ++i)
      s += partial[i];
    out[BLOCK] = s;
  }
}

// 32 x 32 transposed through shared memory by 8 warps, several tiles one after the other.
KERNEL transpose(GLOBAL const float *in, GLOBAL float *out) {
  u32 column = THREAD % 32, row = THREAD / 32;
  for (u32 t = 0; t < 3; ++t) {
    for (u32 r = row; r < 32; r += 8)
      tile[r * 33 + column] = in[(t * 32 + r) * 32 + column];
    BARRIER;
    for (u32 r = row; r < 32; r += 8)
      out[(t * 32 + r) * 32 + column] = tile[column * 33 + r];
    BARRIER;
  }
}

// Every mode of shuffle, vote, match and redux: 10 words of each lane.
KERNEL exchange(GLOBAL const u32 *in, GLOBAL u32 *out) {
  u32 lane = THREAD, x = in[lane], r[10];
  asm volatile("shfl.sync.up.b32 %0, %1, 3, 0, -1;" : "=r"(r[0]) : "r"(x));
  asm volatile("shfl.sync.down.b32 %0, %1, 5, 31, -1;" : "=r"(r[1]) : "r"(x));
  asm volatile("shfl.sync.bfly.b32 %0, %1, 9, 31, -1;" : "=r"(r[2]) : "r"(x));
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, -1;" : "=r"(r[3]) : "r"(x), "r"(x % 32));
  asm volatile("shfl.sync.down.b32 %0, %1, 2, 0x1807, -1;" : "=r"(r[4]) : "r"(x)); // segments of 8
  asm volatile("{.reg .pred p; setp.gt.u32 p, %1, 1000; vote.sync.ballot.b32 %0, p, -1;}" : "=r"(r[5]) : "r"(x));
  asm volatile("match.any.sync.b32 %0, %1, -1;" : "=r"(r[6]) : "r"(x % 4));
  asm volatile("redux.sync.add.u32 %0, %1, -1;" : "=r"(r[7]) : "r"(x));
  asm volatile("redux.sync.min.s32 %0, %1, -1;" : "=r"(r[8]) : "r"(x));
  // Half of a warp alone.
  r[9] = 0;
  if (lane < 16)
    asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, 0xffff;" : "=r"(r[9]) : "r"(x));
  for (u32 i = 0; i < 10; ++i)
    out[lane * 10 + i] = r[i];
}

// 16 x 8 of f32 = 16 x 16 times 16 x 8 of bf16: asynchronous copies, ldmatrix, mma. B comes with rows of k.
KERNEL product(GLOBAL const u16 *x, GLOBAL const u16 *y, GLOBAL float *out) {
  u32 lane = THREAD, ra[4], rb[2], d = SHARED_ADDRESS(a), e = SHARED_ADDRESS(b);
  float c[4] = {1, 2, 3, 4};
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(d + 16 * lane), "l"(x + 8 * lane) : "memory");
  if (lane < 16)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(e + 16 * lane), "l"(y + 8 * lane) : "memory");
  asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
  BARRIER;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(d + (lane % 16) * 32 + lane / 16 * 16));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(rb[0]), "=r"(rb[1]) : "r"(e + (lane % 16) * 16));
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
  for (u32 i = 0; i < 4; ++i)
    out[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = c[i];
}

// A histogram by atomics, in shared memory first.
static SHARED u32 counts[16];
KERNEL histogram(GLOBAL const u32 *in, GLOBAL u32 *out) {
  if (THREAD < 16)
    counts[THREAD] = 0;
  BARRIER;
  __nvvm_atom_add_gen_i((int *)&counts[in[BLOCK * SIZE + THREAD] % 16], 1);
  BARRIER;
  if (THREAD < 16)
    __nvvm_atom_add_gen_i((int *)&out[THREAD], (int)counts[THREAD]);
}

// Two halves of a block at barriers of their own, then all.
KERNEL halves(GLOBAL u32 *out) {
  u32 half = THREAD / 64, place = THREAD % 64;
  tile[THREAD] = THREAD;
  asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");
  float other = tile[half * 64 + 63 - place];
  BARRIER;
  tile[THREAD] = other;
  BARRIER;
  u32 any;
  asm volatile("{.reg .pred p; setp.eq.u32 p, %1, 77; bar.red.popc.u32 %0, 0, p;}" : "=r"(any) : "r"(THREAD) : "memory");
  out[THREAD] = (u32)tile[127 - THREAD] + 1000 * any;
}

// ---- with faults ----
KERNEL race_no_barrier(GLOBAL float *out) {
  tile[THREAD] = THREAD;
  out[THREAD] = tile[(THREAD + 32) % SIZE];
}
KERNEL race_write_after_read(GLOBAL float *out) {
  tile[THREAD] = THREAD;
  BARRIER;
  float x = tile[(THREAD + 32) % SIZE];
  tile[THREAD] = 2 * x;
  BARRIER;
  out[THREAD] = tile[THREAD];
}
KERNEL race_wrong_barrier(GLOBAL float *out) { // a barrier of one half orders nothing for the other
  tile[THREAD] = THREAD;
  asm volatile("bar.sync %0, 64;" ::"r"(THREAD / 64 + 1) : "memory");
  out[THREAD] = tile[127 - THREAD];
}
KERNEL race_copy_not_awaited(GLOBAL const float *in, GLOBAL float *out) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(SHARED_ADDRESS(tile) + 4 * THREAD), "l"(in + THREAD) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  BARRIER;
  out[THREAD] = tile[THREAD];
}
KERNEL race_copy_without_barrier(GLOBAL const float *in, GLOBAL float *out) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(SHARED_ADDRESS(tile) + 4 * THREAD), "l"(in + THREAD) : "memory");
  asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
  out[THREAD] = tile[(THREAD + 32) % SIZE];
}
KERNEL uninitialized_shared(GLOBAL float *out) {
  if (THREAD != 40)
    tile[THREAD] = THREAD;
  BARRIER;
  out[THREAD] = tile[THREAD];
}
KERNEL bounds_global(GLOBAL float *out) { out[THREAD + 1] = THREAD; }
KERNEL bounds_shared(GLOBAL float *out) {
  ((volatile __attribute__((address_space(3))) float *)tile)[THREAD + (out[0] == 0 ? 100000 : 0)] = THREAD;
}
KERNEL bounds_null(GLOBAL float *out) { *(volatile GLOBAL float *)(u64)(out[0] == 0 ? 16 : 0) = 1; }
KERNEL misaligned_vector(GLOBAL float *out) {
  asm volatile("st.global.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(out + 1), "f"(1.f) : "memory");
}
KERNEL misaligned_copy(GLOBAL const float *in, GLOBAL float *out) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(SHARED_ADDRESS(tile) + 4), "l"(in) : "memory");
}
KERNEL divergent_barrier(GLOBAL float *out) {
  if (THREAD < 32)
    BARRIER;
  out[THREAD] = 1;
}
KERNEL divergent_lanes(GLOBAL float *out) { // a barrier for half of a warp
  if (THREAD % 32 < 16)
    BARRIER;
  out[THREAD] = 1;
}
KERNEL divergent_shuffle(GLOBAL u32 *out) {
  u32 x = THREAD;
  if (THREAD % 32 < 7)
    x = shuffle(x, 1);
  out[THREAD] = x;
}
KERNEL divergent_source(GLOBAL u32 *out) { // reads from a lane that does not take part
  u32 x = THREAD;
  if (THREAD % 32 < 16)
    asm volatile("shfl.sync.down.b32 %0, %0, 8, 31, 0xffff;" : "+r"(x));
  out[THREAD] = x;
}
KERNEL barrier_after_end(GLOBAL float *out) {
  if (THREAD >= 64)
    return;
  BARRIER;
  out[THREAD] = 1;
}
KERNEL trap_said(GLOBAL float *out) {
  if (THREAD == 70)
    __builtin_trap();
}
KERNEL hang_spins(GLOBAL u32 *out) {
  while (*(volatile GLOBAL u32 *)out == 0)
    ;
}
