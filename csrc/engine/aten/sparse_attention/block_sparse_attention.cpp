// Attention between those blocks of queries and keys that a mask names for each head.

#include "engine/aten/sparse_attention/multiple_sequences.h"
#include "vocabulary/sparse_attention/block_sparse_attention_calls.h"

namespace {

// Sequences of a batch as {heads, positions, features} each (BNSD), or below each other (TND); the lengths are each sequence's own.
template <class Arguments>
struct BlockSparseAttention {
    const Arguments& a;
    const at::Tensor &query = a.query, &key = a.key, &value = a.value, &mask = a.blockSparseMask;
    at::IntArrayRef block = a.blockShape;
    const OptNumbers &query_lengths = a.actualSeqLengths, &key_lengths = a.actualSeqLengthsKv;
    std::string_view layout = a.qInputLayout;
    int64_t key_heads = a.numKeyValueHeads;

    bool packed() const { return layout == "TND"; }
    int64_t sequences() const { return packed() ? static_cast<int64_t>(query_lengths->size()) : query.size(0); }
    static bool given_lengths(const OptNumbers& lengths) { return lengths && !lengths->empty(); }
    int64_t longest(const OptNumbers& lengths, const at::Tensor& tensor) const {
        if (!packed()) return tensor.size(2);
        return lengths->empty() ? 0 : *std::max_element(lengths->begin(), lengths->end());
    }

    void require_lengths(const char* name, const OptNumbers& lengths, const at::Tensor& tensor) const {
        if (packed() && !given_lengths(lengths)) refuse_null(name, "for the layout TND");
        if (!given_lengths(lengths)) return;
        if (static_cast<int64_t>(lengths->size()) != sequences())
            refuse(name, c10::str(sequences(), " values"), c10::str(at::IntArrayRef(*lengths)));
        int64_t sum = 0;
        bool fits = true;
        for (const int64_t length : *lengths) {
            fits = fits && length >= 0 && length <= (packed() ? tensor.size(0) - sum : tensor.size(2));
            sum += length;
        }
        if (!fits) refuse(name, "lengths of the sequences", c10::str(at::IntArrayRef(*lengths)));
    }
    void require(const OptTensor& pages) const {
        require_not_given("attenMask", a.attenMask);
        require_not_given("blockTable", pages);
        if (a.kvInputLayout != layout) refuse("kvInputLayout", std::string(layout), std::string(a.kvInputLayout));
        const int64_t rank = packed() ? 3 : 4;
        if (query.dim() != rank) refuse("query", c10::str("the dimensions ", layout), shape_text(query.sizes()));
        const int64_t heads = query.size(1);
        Expected expected = shaped_like(query);
        expected.sizes[1] = key_heads;
        if (key.dim() == rank) expected.sizes[packed() ? 0 : 2] = key.size(packed() ? 0 : 2);
        require_expected("key", key, expected);
        require_expected("value", value, expected);
        if (heads % key_heads != 0) refuse("numKeyValueHeads", c10::str("a divisor of ", heads), std::to_string(key_heads));
        if (block.size() < 2 || block[0] <= 0 || block[1] <= 0) refuse("blockShape", "two positive numbers", c10::str(block));
        require_lengths("actualSeqLengths", query_lengths, query);
        require_lengths("actualSeqLengthsKv", key_lengths, key);
        const auto blocks = [](int64_t positions, int64_t size) { return (positions + size - 1) / size; };
        require_expected(
            "blockSparseMask", mask,
            shape({sequences(), heads, blocks(longest(query_lengths, query), block[0]), blocks(longest(key_lengths, key), block[1])}));
    }
    Expected lse() const { return with_size(query.sizes(), -1, 1); }

    // Calls `use` with the attention of a sequence and with functions that cut its part out of tensors like the query and like the key, as
    // {positions, heads, ...}.
    void for_each(auto use) const {
        int64_t query_first = 0, key_first = 0;
        for (int64_t i = 0; i < sequences(); i++) {
            const int64_t rows = given_lengths(query_lengths) ? (*query_lengths)[i] : query.size(2);
            const int64_t columns = given_lengths(key_lengths) ? (*key_lengths)[i] : key.size(2);
            const auto cut = [&](int64_t first, int64_t count) {
                return [=, this](const at::Tensor& tensor) {
                    return packed() ? tensor.narrow(0, first, count) : tensor.select(0, i).narrow(1, 0, count).transpose(0, 1);
                };
            };
            const auto of_query = cut(query_first, rows), of_key = cut(key_first, columns);
            const at::Tensor blocks = mask.select(0, i).to(at::kBool);
            const at::Tensor allowed =
                blocks.repeat_interleave(block[0], 1).narrow(1, 0, rows).repeat_interleave(block[1], 2).narrow(2, 0, columns);
            if (rows > 0 && columns > 0)
                use(AllowedAttention(of_query(query), of_key(key), of_key(value), allowed, a.scaleValue), of_query, of_key);
            query_first += packed() ? rows : 0;
            key_first += packed() ? columns : 0;
        }
    }
};

}  // namespace

template <class Arguments>
static BlockSparseAttention<Arguments> block_sparse(const Arguments& a) {
    return {a};
}

static void compute(const call::BlockSparseAttention& a) {
    a.attentionOut.zero_();
    const bool with_lse = a.softmaxLseFlag == 1 && a.softmaxLse;
    if (with_lse) a.softmaxLse->zero_();
    block_sparse(a).for_each([&](const AllowedAttention& allowed, auto of_query, auto) {
        of_query(a.attentionOut).copy_(allowed.result());
        if (with_lse) of_query(*a.softmaxLse).copy_((allowed.maximum + at::log(allowed.sum)).transpose(0, 1));
    });
}
static void compute(const call::BlockSparseAttentionGrad& a) {
    for (const at::Tensor* out : {&a.dQuery, &a.dKey, &a.dValue}) out->zero_();
    block_sparse(a).for_each([&](const AllowedAttention& allowed, auto of_query, auto of_key) {
        const AllowedAttention::Gradients of = allowed.backward(of_query(a.dOut));
        of_query(a.dQuery).copy_(of.query);
        of_key(a.dKey).copy_(of.key);
        of_key(a.dValue).copy_(of.value);
    });
}
