// Where one loop becomes faster than another. All were measured on machines with AVX2 and with AVX-512 (docs/performance.md has the
// figures); none changes a bit of a result.
#pragma once

#include <cstdint>

namespace torch_aclnn::kernels::thresholds {

// full_width: runs of one value are filled one by one, which for short ones takes longer than a table of the plane, or than a loop of rows.
constexpr int64_t kFullWidthRun = 8;
constexpr int64_t kFullWidthLongRun = 40;
constexpr int64_t kFullWidthLongRunOfSharedRows = 64;  // if each value is a sum

// transposed: a plan takes as long as some groups of planes, of larger planes longer.
constexpr int64_t kTransposedMaxPlane = 10240;  // numbers of a plane whose cells the second cache holds
constexpr int64_t kTransposedPaddedPlanes = 12;
constexpr int64_t kTransposedPaddedNumbersPerPlane = 16;
constexpr int64_t kTransposedPlanes = 32;
constexpr int64_t kTransposedSlidingPlanes = 64;  // with more planes, windows that slide over rows fill the vectors of the other loops
constexpr int64_t kTransposedSlidingMaxPlane = 4096;
constexpr int64_t kTransposedVolumes = 48;
constexpr int64_t kTransposedNumbersPerPlane = 8;
constexpr int64_t kTransposedMaxWindow = 512;   // with larger ones most rows are copies
constexpr int64_t kTransposedRowOfCopies = 16;  // up to so many cells, a table copies a plane of scaled copies
// With AVX-512 one shuffle of a table takes any elements of two vectors.
constexpr int64_t kTransposedTablePlane = 48;          // up to this size a table that adds nothing is shorter
constexpr int64_t kTransposedStreamedTablePlane = 64;  // the same where the result bypasses the caches
constexpr int64_t kTransposedTableVolume = 48;
constexpr int64_t kTransposedManyCopies = 4;      // planes of a volume for each plane that differs
constexpr int64_t kTransposedLongRowBytes = 176;  // for padded rows with narrow borders, which the loop of rows copies
// Planes of these sizes are written around the caches: otherwise their lines are read before they are written, and the hardware prefetches
// none of them.
constexpr int64_t kTransposedStreamMinBytes = 128;
constexpr int64_t kTransposedStreamMaxBytes = 2048;

// A table lists the terms of the sums along a row, and serves all rows.
constexpr int64_t kTableRows = 128;
constexpr int64_t kTablePaddedVectors = 4;  // for a row whose ends take longer than its copy
constexpr int64_t kTablePaddedInner = 3;
constexpr int64_t kManySums = 4;  // numbers of a padded row that are sums

// Planes and volumes without gaps: more adjacent channels fill vectors by themselves.
constexpr int64_t kPlaneMaxChannels = 7;

// volumes: tables make planes whose rows are short, or longer and not copies of each other.
constexpr int64_t kVolumesMaxPlane = 2048;
constexpr int64_t kVolumesShortRow = 16;
constexpr int64_t kVolumesMaxRow = 48;
constexpr int64_t kVolumesMinPlanes = 2;
constexpr int64_t kVolumesCellsPerPlane = 32;
constexpr int64_t kVolumesKeptBytes = 1 << 17;  // a plane that is copied to other depths stays in a near cache
constexpr int64_t kVolumesMinChannels = 4;      // fewer channels do not fill the lanes,
constexpr int64_t kVolumesCopies = 2;           // unless this many rows are copies of one

// channels: fewer do not fill the lanes.
constexpr int64_t kMinChannels = 4;
constexpr int64_t kChannelsMinCellBytes = 512;  // lines of smaller cells would be combined before they bypass the caches
constexpr int64_t kChannelsMinCopies = 2;

// planes: few adjacent channels become cells of a row.
constexpr int64_t kPlanesMaxChannelsOfCopies = 3;  // for windows that are apart; with more channels cells are copied one by one
constexpr int64_t kPlanesFewChannels = 7;
constexpr int64_t kPlanesMaxSlidingChannels = 32;
constexpr int64_t kPlanesMaxCopies = 2;  // copies of a cell that a table makes
constexpr int64_t kPlanesMaxCopiesOfHalfTypes = 3;
// Regular windows have loops for short steps and few terms.
constexpr int64_t kMaxTermsOfStep = 16;
constexpr int64_t kMaxStep = 3;

// rows: with less than so many adjacent numbers 64 bytes at a time are slower than 32, unless they go around the caches.
constexpr int64_t kRowsFewNumbers = 8;

}  // namespace torch_aclnn::kernels::thresholds
