// Which elements of a source are added up for each of a number of results, in the form that vectors of lanes take.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace torch_aclnn::kernels {

// A result's terms are added in ascending order. Results come in blocks of as many as there are lanes; the elements of a block's terms lie
// within one vector's length of the source, or far apart.
struct GatherTable {
    static constexpr int32_t kFar = -1, kNoTerm = -2;
    int64_t blocks;
    int64_t terms;         // the largest number of a result's terms
    const int32_t* start;  // [terms][blocks]: where the vector begins that holds the elements of this term; or kFar, or kNoTerm
    const int32_t* lane;   // [terms][blocks][lanes]: the element, counted from the start, or of all if they lie far apart; -1: no such term
    const float* weight;   // [terms][blocks][lanes]: what an element is multiplied by; null means ones
};

// Owns the table of `count` results.
class GatherPlan {
   public:
    GatherPlan() = default;

    // For results in `rows` of `columns`: first(i, j) and last(i, j) delimit the terms of a result, and position(i, j, term) says which of
    // the `source_count` elements that is.
    template <class First, class Last, class Position>
    GatherPlan(int64_t lanes, int64_t rows, int64_t columns, int64_t source_count, const First& first, const Last& last,
               const Position& position)
        : lanes_(lanes), rows_(rows), columns_(columns), blocks_((rows * columns + lanes - 1) / lanes) {
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j) terms_ = std::max(terms_, last(i, j) - first(i, j));
        start_.assign(terms_ * blocks_, GatherTable::kNoTerm);
        lane_.assign(terms_ * blocks_ * lanes, -1);
        for_each_term(first, last,
                      [&](int64_t i, int64_t j, int64_t term, int64_t at) { lane_[at] = static_cast<int32_t>(position(i, j, term)); });
        for (int64_t block = 0; block < terms_ * blocks_; ++block) find_start(block, source_count);
    }

    // weight(i, j, term), of results that have terms as the constructor said.
    template <class First, class Last, class Weight>
    void set_weights(const First& first, const Last& last, const Weight& weight) {
        weight_.assign(lane_.size(), 0);
        for_each_term(first, last, [&](int64_t i, int64_t j, int64_t term, int64_t at) { weight_[at] = weight(i, j, term); });
    }

    GatherTable table() const { return {blocks_, terms_, start_.data(), lane_.data(), weight_.empty() ? nullptr : weight_.data()}; }
    int64_t padded_count() const { return blocks_ * lanes_; }

   private:
    // Calls body(i, j, term, at), with the place in the tables.
    template <class First, class Last, class Body>
    void for_each_term(const First& first, const Last& last, const Body& body) const {
        for (int64_t i = 0; i < rows_; ++i)
            for (int64_t j = 0; j < columns_; ++j)
                for (int64_t begin = first(i, j), end = last(i, j), term = begin; term < end; ++term)
                    body(i, j, term, (term - begin) * blocks_ * lanes_ + i * columns_ + j);
    }

    void find_start(int64_t block, int64_t source_count) {
        int32_t* const begin = lane_.data() + block * lanes_;
        int32_t* const end = begin + lanes_;
        int32_t smallest = INT32_MAX;
        for (const int32_t* lane = begin; lane < end; ++lane)
            if (*lane >= 0) smallest = std::min(smallest, *lane);
        if (smallest == INT32_MAX) return;
        const int64_t last_start = source_count - lanes_;  // of a vector that ends within the source
        const int64_t start = std::min<int64_t>(smallest, last_start);
        const bool is_near = start >= 0 && std::all_of(begin, end, [&](int32_t lane) { return lane - start < lanes_; });
        start_[block] = is_near ? static_cast<int32_t>(start) : GatherTable::kFar;
        if (!is_near) return;
        for (int32_t* lane = begin; lane < end; ++lane)
            if (*lane >= 0) *lane -= static_cast<int32_t>(start);
    }

    int64_t lanes_ = 0, rows_ = 0, columns_ = 0, blocks_ = 0;
    int64_t terms_ = 1;
    std::vector<int32_t> start_, lane_;
    std::vector<float> weight_;
};

}  // namespace torch_aclnn::kernels
