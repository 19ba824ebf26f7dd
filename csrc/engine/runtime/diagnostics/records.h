// Records whose first field is their size, in an array of a caller that may have been compiled with fewer or more fields.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace torch_aclnn::host {

class RecordWriter {
   public:
    // `records` may be null: the caller asks for their number alone.
    RecordWriter(void* records, size_t capacity, size_t record_size)
        : place_(static_cast<unsigned char*>(records)), left_(records == nullptr ? 0 : capacity), record_size_(record_size) {}

    // Writes the record unless the array is full.
    template <class Record>
    void write(Record record) {
        if (left_ == 0) return;
        record.size = std::min(record_size_, sizeof record);
        std::memset(place_, 0, record_size_);
        std::memcpy(place_, &record, record.size);
        place_ += record_size_;
        --left_;
    }

   private:
    unsigned char* place_;
    size_t left_;
    const size_t record_size_;
};

}  // namespace torch_aclnn::host
