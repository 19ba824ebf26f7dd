// Which elements of a source are added up for each of a number of results, in the form that vectors of lanes take.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace torch_aclnn::kernels {

// A result's terms are added in ascending order. Results come in blocks of as many as there are lanes; the elements of a block's terms lie
// within one vector's length of the source, or within two, or far apart.
struct GatherTable {
    static constexpr int32_t kFar = -1, kNoTerm = -2, kTwoVectors = 1 << 30;
    int64_t blocks;
    int64_t terms;         // the largest number of a result's terms
    const int32_t* start;  // [terms][blocks]: where the vector begins that holds the elements of this term, plus kTwoVectors if it takes
                           // the next one too; or kFar, or kNoTerm
    const int32_t* lane;   // [terms][blocks][lanes]: the element, counted from the start, or of all if they lie far apart; -1: no such term
    const float* weight;   // [terms][blocks][lanes]: what an element is multiplied by; null means ones
};

// The sums along one axis: results from the results of the stage before, or from a plane of the source.
struct GatherStage {
    GatherTable table;
    const float* scale;  // a scale for each result; null: ones; a result of -0 times its scale is 0
};

// A row of results: the sums over the terms [first, last) of a part of the source.
struct GatherRow {
    int64_t first, last, source;
};

// Owns a table.
class GatherPlan {
   public:
    GatherPlan() = default;

    // Plans `columns` results for each row. Of the `source_count` elements, those of a row's term begin at source + index(term) * columns.
    GatherPlan(int64_t lanes, const std::vector<GatherRow>& rows, int64_t columns, int64_t source_count, const auto& index)
        : lanes_(lanes), blocks_((static_cast<int64_t>(rows.size()) * columns + lanes - 1) / lanes) {
        for (const GatherRow& row : rows) terms_ = std::max(terms_, row.last - row.first);
        start_.assign(terms_ * blocks_, GatherTable::kNoTerm);
        lane_.assign(terms_ * blocks_ * lanes, -1);
        for_each_term(rows, columns, [&](const GatherRow& row, int64_t term, int64_t at) {
            const int64_t first = row.source + index(term) * columns;
            for (int64_t j = 0; j < columns; ++j) lane_[at + j] = static_cast<int32_t>(first + j);
        });
        for (int64_t block = 0; block < terms_ * blocks_; ++block) find_start(block, source_count);
    }

    // Sets the weight of each term to weight(term), for the rows and columns of the constructor.
    void set_weights(const std::vector<GatherRow>& rows, int64_t columns, const auto& weight) {
        weight_.assign(lane_.size(), 0);
        for_each_term(rows, columns, [&](const GatherRow&, int64_t term, int64_t at) { std::fill_n(&weight_[at], columns, weight(term)); });
    }

    GatherTable table() const { return {blocks_, terms_, start_.data(), lane_.data(), weight_.empty() ? nullptr : weight_.data()}; }
    int64_t padded_count() const { return blocks_ * lanes_; }
    bool has_far_terms() const { return std::find(start_.begin(), start_.end(), GatherTable::kFar) != start_.end(); }
    int64_t step_count() const {
        return static_cast<int64_t>(start_.size()) - std::count(start_.begin(), start_.end(), GatherTable::kNoTerm);
    }

   private:
    // Calls body(row, term, at), with the place of the row's first result in the tables.
    void for_each_term(const std::vector<GatherRow>& rows, int64_t columns, const auto& body) const {
        int64_t at = 0;
        for (const GatherRow& row : rows) {
            for (int64_t term = row.first; term < row.last; ++term) body(row, term, at + (term - row.first) * blocks_ * lanes_);
            at += columns;
        }
    }

    void find_start(int64_t block, int64_t source_count) {
        int32_t* const begin = lane_.data() + block * lanes_;
        int32_t* const end = begin + lanes_;
        int32_t smallest = INT32_MAX, largest = -1;
        for (const int32_t* lane = begin; lane < end; ++lane) {
            largest = std::max(largest, *lane);
            smallest = std::min(smallest, *lane < 0 ? INT32_MAX : *lane);
        }
        if (largest < 0) {
            if (block < blocks_) start_[block] = 0;  // a first term, whose lanes become 0 without a gather
            return;
        }
        for (const int64_t vectors : {1, 2}) {
            // Only vectors that end within the source are read.
            const auto start = static_cast<int32_t>(std::min<int64_t>(smallest, source_count - vectors * lanes_));
            if (start < 0 || largest - start >= vectors * lanes_) continue;
            start_[block] = start + (vectors == 2 ? GatherTable::kTwoVectors : 0);
            for (int32_t* lane = begin; lane < end; ++lane) *lane = *lane < 0 ? *lane : *lane - start;
            return;
        }
        start_[block] = GatherTable::kFar;
    }

    int64_t lanes_ = 0, blocks_ = 0;
    int64_t terms_ = 1;
    std::vector<int32_t> start_, lane_;
    std::vector<float> weight_;
};

}  // namespace torch_aclnn::kernels
