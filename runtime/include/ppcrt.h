// The C interface between a compiled program and libppcrt: what the object file of a program defines, and the functions
// that its code may call. It knows nothing of MLIR, of shardings or of transports.
//
// Ranks are numbered row-major over the axes of the program's grid, outermost axis first. Code belongs to no rank: it
// is handed the rank that it runs as, and hands it on, so that one process may hold several (`./train` forks one
// process for each). All buffers are owned by the runtime (one arena per rank, laid out by the compiler) or by the
// calling code; nothing here takes ownership. Counts are in elements, sizes in bytes. None of the functions reports
// failure to its caller: wrong use and dead peers end the process with one message on stderr, and the launcher stops
// the other ranks.
//
// Compatibility: `PPCRT_ABI_VERSION` changes when a program of the old version can no longer run; the runtime refuses
// other versions by name.
#ifndef PPCRT_H
#define PPCRT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// 1: functions took no rank, a process was one. 2: collectives were no actions, and routines gave no early tokens. 3:
// programs were for hosts.
#define PPCRT_ABI_VERSION 4

// A rank: its transport, what it counts, who watches it. Owned by the runtime, used by one thread at a time, and valid
// for the call that it was given to.
typedef struct ppcrt_rank ppcrt_rank;

// ---- What a program defines ----

// A function of the program, run as `rank`. `buffers` holds one address for each entry of the routine's "buffers" in
// the manifest, in that order. The array and the buffers stay valid for the call only; the function keeps no state
// elsewhere.
typedef void (*ppcrt_function)(ppcrt_rank *rank, void **buffers);

typedef struct {
  const char *name; // as in manifest["devices"][..]["routines"][..]["entry"]
  ppcrt_function function;
} ppcrt_entry;

// The kernels of a program for GPUs, for one chip: PTX, which newer chips run too (but for chips whose name ends in a
// letter), or machine code. Each image has all kernels of manifest["code"].
enum { PPCRT_PTX = 0, PPCRT_CUBIN = 1 };
typedef struct {
  const char *chip; // "sm_80", "sm_90a"
  uint32_t kind;
  const void *data; // of PTX: not necessarily terminated by a zero byte
  uint64_t size;    // bytes
} ppcrt_image;

// What kernels of a program for GPUs read and nothing writes: it is copied to the device before the first step.
typedef struct {
  const char *name; // as in manifest["code"]["constants"], in that order
  const void *data;
  uint64_t size; // bytes
} ppcrt_constant;

// The one symbol of a compiled object, named `ppc_program`. Everything it points to has static lifetime.
typedef struct {
  uint32_t abi_version; // PPCRT_ABI_VERSION of the compiler that wrote it
  const char
      *manifest; // JSON, UTF-8, not necessarily terminated by a zero byte; docs/internals/Runtime.md describes it
  uint64_t manifest_size;     // bytes
  const ppcrt_entry *entries; // none where manifest["target"] is no host: its routines are bodies of manifest["code"]
  uint64_t entry_count;
  const ppcrt_image *images; // none of a program for hosts, nor constants
  uint64_t image_count;
  const ppcrt_constant *constants;
  uint64_t constant_count;
} ppcrt_program;

extern const ppcrt_program ppc_program;

// ---- Element types and reductions ----

enum { PPCRT_F32 = 0, PPCRT_F64 = 1, PPCRT_I32 = 2, PPCRT_I64 = 3, PPCRT_BF16 = 4 };
enum { PPCRT_SUM = 0, PPCRT_MAX = 1 };

// ---- Collectives ----
//
// `group` indexes manifest["groups"]: the ranks that differ from `rank` only in the group's axes. Every member must
// make the same calls on a group in the same order with the same counts. Reductions combine the members' values in the
// order of their index, so results are equal bit for bit on all members and from run to run; bf16 is accumulated in f32
// and rounded once. A maximum with a NaN is NaN. Buffers need no registration; those inside the arena are read by peers
// without a copy.

// The rank's index within the group: row-major over the group's axes in the order in which the manifest lists them.
int64_t ppcrt_coordinate(ppcrt_rank *rank, int32_t group);

// buffer[i] = reduction over members of buffer[i], in place.
void ppcrt_all_reduce(ppcrt_rank *rank, int32_t group, void *buffer, int64_t count, int32_t type, int32_t kind);

// out[j * count + i] = in[i] of member j. `in` may be block `ppcrt_coordinate(group)` of `out`.
void ppcrt_all_gather(ppcrt_rank *rank, int32_t group, const void *in, void *out, int64_t count, int32_t type);

// out[i] = reduction over members of in[me * count + i]; `in` holds members * count elements. `out` may overlap `in`.
void ppcrt_reduce_scatter(ppcrt_rank *rank, int32_t group, const void *in, void *out, int64_t count, int32_t type,
                          int32_t kind);

// out[j * count + i] = in[me * count + i] of member j. `in` and `out` must not overlap.
void ppcrt_all_to_all(ppcrt_rank *rank, int32_t group, const void *in, void *out, int64_t count, int32_t type);

// out[i] = in[i] of member (me - shift) modulo their number: each member sends to that `shift` after it. `in` and `out`
// may be the same.
void ppcrt_permute(ppcrt_rank *rank, int32_t group, const void *in, void *out, int64_t count, int32_t type,
                   int32_t shift);

// The same, begun: they return a request, and what is read or written must be left alone until ppcrt_wait() has
// returned for it, which is called once for each request. Of the rank that is waited for nothing else is needed than
// that it has begun, too. Calls on a group are in one order with those above. `out` of ppcrt_reduce_scatter_start may
// overlap `in`.
int64_t ppcrt_all_reduce_start(ppcrt_rank *rank, int32_t group, void *buffer, int64_t count, int32_t type,
                               int32_t kind);
int64_t ppcrt_all_gather_start(ppcrt_rank *rank, int32_t group, const void *in, void *out, int64_t count, int32_t type);
int64_t ppcrt_reduce_scatter_start(ppcrt_rank *rank, int32_t group, const void *in, void *out, int64_t count,
                                   int32_t type, int32_t kind);
int64_t ppcrt_all_to_all_start(ppcrt_rank *rank, int32_t group, const void *in, void *out, int64_t count, int32_t type);
int64_t ppcrt_permute_start(ppcrt_rank *rank, int32_t group, const void *in, void *out, int64_t count, int32_t type,
                            int32_t shift);
void ppcrt_wait(ppcrt_rank *rank, int64_t request);

// The code of a routine has reached the point after which it does not touch the buffers of entry `entry` of its early
// tokens: what was waiting for that begins. Once for each entry in a run of the routine.
void ppcrt_reach(ppcrt_rank *rank, int64_t entry);

// ---- Library calls ----
//
// They compute on what they are given and belong to no rank. Each thread keeps memory and prepared kernels of its own
// from call to call.

// C (+)= A * B for every index of the loops; A is m x k, B is k x n, C is m x n, strides in elements:
//   [0] version 1    [1] type (F32 or F64)    [2] accumulate (0: C =, 1: C +=)    [3] m  [4] n  [5] k
//   [6] a_row_stride [7] a_col_stride [8] b_row_stride [9] b_col_stride [10] c_row_stride [11] c_col_stride
//   [12] loop count L (0..8), then L times (size, a_stride, b_stride, c_stride)
// Version 2 has the type of A and B in [1] and that of C in [3], before m: F32 twice, F64 twice, or BF16 and then F32
// or BF16. Products of bf16 are summed in f32 and rounded once, also when they are added to C or summed over loops.
// Sizes may be 0 (an empty sum is 0). Any stride may be 0 or arbitrary, as long as different C elements of one loop
// index do not overlap; a loop whose c_stride is 0 is summed over (only its first iteration honours `accumulate`). C
// overlaps neither A nor B.
void ppcrt_gemm(const int64_t *desc, const void *a, const void *b, void *c);

// Attention (docs of ppc.attention) on row-major tensors of one type:
//   [0] version 2  [1] type (F32, F64, or BF16 with `slopes` and `lse` in f32)  [2] batch  [3] queries  [4] keys  [5]
//   kv heads  [6] query heads of each  [7] dim of queries and keys  [8] dim of values  [9] causal  [10] window, 0: none
// `first` is the position of the first query among the keys (>= 0 where causal): queries may be a block of others, a
// different one on each rank. Queries at or past the last key are padding: they are not read, their results are zero,
// and they add nothing to the gradients of keys and values. `slopes` may be null. Outputs overlap no inputs.
void ppcrt_attention(const int64_t *desc, double scale, int64_t first, const void *q, const void *k, const void *v,
                     const void *slopes, void *out, void *lse);
void ppcrt_attention_backward(const int64_t *desc, double scale, int64_t first, const void *q, const void *k,
                              const void *v, const void *out, const void *lse, const void *dout, const void *slopes,
                              void *dq, void *dk, void *dv);

// ---- Measuring ----

// Operation `number` of manifest["operations"] begins on the rank, and the one before ends; -1: none begins. Called by
// programs that were compiled with --profile.
void ppcrt_profile(ppcrt_rank *rank, int64_t number);

// ---- Running ----

// Runs a program with a command line (see `./train --help`): forks its ranks, trains, returns the exit status: 0 done,
// 1 wrong input or a failed rank, 2 wrong usage, 128 + n when signal n stopped it. libppcrt's `main` calls it with
// `ppc_program`.
int ppcrt_main(const ppcrt_program *program, int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif // PPCRT_H
