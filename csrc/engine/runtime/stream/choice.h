// A choice of a few columns of a matrix for each of its rows, as a router of experts makes it. A dry run does not know the numbers of the
// matrix, so it takes every column to be chosen equally often; the sizes that follow from the choice are then known, as a rule.
// Rows that are then chosen for each column, as many as an expert may have, are those that have chosen it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torch_aclnn::host {

struct Choice {
    void* numbers;  // of the columns, `chosen` for each row
    size_t number_bytes;
    int64_t rows, chosen, columns;
    bool is_of_rows = false;  // `chosen` for each column

    size_t bytes() const { return static_cast<size_t>((is_of_rows ? columns : rows) * chosen) * number_bytes; }
};

// Whether the rows have chosen columns before.
bool is_known(const Choice& choice);

// Writes such a choice. TORCH_ACLNN_HOST_EXPERT_LOAD says how many times as often as on average the first half of the columns is chosen.
void choose_evenly(const Choice& choice);

// Adds a finding, with the line of Python that the calling thread is at.
void note_assumption(const char* what);

}  // namespace torch_aclnn::host
