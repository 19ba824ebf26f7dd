// What a dry run takes a choice of few columns of a matrix for, whose numbers it does not know, as a router of experts makes it for each
// row: each column is chosen as often as any other. So the sizes that follow from it are known, as a rule. Where rows are then chosen for
// each column, as many as an expert may have, they are those that have chosen it.
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

// By TORCH_ACLNN_HOST_EXPERT_LOAD the columns of the first half are chosen so many times as often as on average.
void choose_evenly(const Choice& choice);

// Adds a finding, with the line of Python that the calling thread is at.
void note_assumption(const char* what);

}  // namespace torch_aclnn::host
