//===- RowRegion.h - Loops that share rows ------------------------------===//
//
// A row region is a list of structured ops on buffers that the threads of a row can run one after the other with the
// row in registers: elementwise loops, reductions of rows, per-row values, and sums of columns over a chunk of rows. An
// element that one member writes and another reads is at the same index of the same row for both, so that it need not
// go through memory.
//
//===----------------------------------------------------------------------===//
#ifndef PPC_TRANSFORMS_FUSION_ROWREGION_H
#define PPC_TRANSFORMS_FUSION_ROWREGION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "ppc/Transforms/Fusion/AccessPattern.h"

#include <optional>
#include <string>

namespace mlir::ppc {

/// A combination y = combine(y, x): the op that combines, and x.
struct Combination {
  Operation *op = nullptr;
  Value x;
  /// The neutral element: it leaves every x unchanged.
  float neutral() const;
};

/// The one reduction in f32 of a structured op with one result: addition, multiplication, maximum or minimum.
std::optional<Combination> combinationOf(linalg::LinalgOp op);

/// Loops over `rows` rows of `length` elements. Sums of columns are over each of `chunks` equal blocks of rows, in
/// order; 0 without any.
struct RowDomain {
  int64_t rows = 0, length = 0, chunks = 0;
};

/// The offset of an operand of a member: constant + offset of the row + offset of the column, in elements.
struct RowPlace {
  int64_t constant = 0;
  SmallVector<LoopSpan> rows, columns;
  bool operator==(const RowPlace &other) const {
    return constant == other.constant && rows == other.rows && columns == other.columns;
  }
};

enum class RowRole {
  Element,      ///< all loops parallel, over rows and columns
  Row,          ///< all loops parallel, over rows
  RowReduction, ///< of each row to a number
  ColumnSum,    ///< of each chunk of rows to a row
  ChunkStart    ///< a constant for each column of each chunk: where a ColumnSum begins
};

struct RowMember {
  linalg::LinalgOp op;
  RowRole role = RowRole::Element;
  /// The first loop over columns; those before it are over rows (of a ChunkStart: over chunks).
  unsigned firstColumn = 0;
  /// By operand; std::nullopt if indices are not linear.
  SmallVector<std::optional<RowPlace>> places;
};

/// Distribution of the rows of a region over the threads of a GPU.
struct RowThreads {
  int64_t threads = 0; ///< threads per row
  int64_t width = 1;   ///< neighbouring elements that a thread accesses at once
  int64_t groups = 0;  ///< groups of `width` elements of a row that each thread has
  int64_t elements() const { return width * groups; }
};

class RowRegion {
public:
  /// Returns std::nullopt if the ops, in the order in which they run, cannot form a region; then `why`, if given,
  /// names the obstacle. A single op may be a region.
  static std::optional<RowRegion> of(ArrayRef<linalg::LinalgOp> ops, std::string *why = nullptr) {
    return of(ops, why, /*isPart=*/false);
  }
  /// False if no region can hold these ops, whatever else it holds before them.
  static bool mayShare(ArrayRef<linalg::LinalgOp> ops) { return of(ops, nullptr, /*isPart=*/true).has_value(); }

  RowDomain domain;
  SmallVector<RowMember> members;

  bool hasRole(RowRole role) const;
  /// True if the threads of a row must synchronize.
  bool hasReductions() const { return hasRole(RowRole::RowReduction) || hasRole(RowRole::ColumnSum); }
  RowThreads threads() const;
  /// Whether all members access the elements of a buffer at this offset.
  bool hasOnePlace(Value buffer, const RowPlace &place) const;
  /// Whether elements that are read stay in registers from phase to phase: those at one offset that differ from row
  /// to row. Others are read again in each phase.
  bool isHeld(Value buffer, const RowPlace &place) const {
    return (!place.rows.empty() || domain.rows == 1) && hasOnePlace(buffer, place);
  }

private:
  static std::optional<RowRegion> of(ArrayRef<linalg::LinalgOp> ops, std::string *why, bool isPart);
  bool fits(std::string *why, bool isPart) const;
  bool buffersFit(std::string *why, bool isPart) const;
};

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_FUSION_ROWREGION_H
