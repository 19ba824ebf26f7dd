// Rotary embeddings whose cosines and sines are rows of one table, by the positions of the tokens.

#include "vocabulary/kv_cache/rotary_cache_calls.h"

namespace {

// A row of the table has the cosines of half of the rotated features, and their sines. A token has one position, or one for each section of
// the features: sections one after the other, or taking turns.
struct RotaryTable {
    const call::RopeWithSinCosCache& a;
    const at::Tensor &positions = a.positions, &table = a.cosSinCache;
    at::IntArrayRef sections = a.mropeSection;
    bool in_turns = a.cacheMode == 1;
    int64_t head_size = a.headSize;

    int64_t tokens() const { return size_of(positions, -1); }
    int64_t features() const { return table.size(1); }
    bool in_sections() const { return positions.dim() == 2; }

    void require() const {
        if (table.dim() != 2 || features() % 2 != 0 || features() > head_size)
            refuse("cosSinCache", c10::str("2 dimensions, the last one even and at most ", head_size), shape_text(table.sizes()));
        if (positions.dim() != 1 && !in_sections()) refuse("positions", "1 or 2 dimensions", shape_text(positions.sizes()));
        const auto count = static_cast<int64_t>(sections.size());
        if (in_sections() ? count != positions.size(0) || count < 3 || count > (in_turns ? 3 : 4) : count > 4)
            refuse("mropeSection", c10::str(in_turns ? "3" : "3 or 4", " sections, as positions has rows"), c10::str(sections));
        if (!in_sections()) return;
        int64_t sum = 0;
        bool fits = true;
        for (const int64_t section : sections) fits = fits && section >= 0 && !__builtin_add_overflow(sum, section, &sum);
        if (!fits || sum != features() / 2)
            refuse("mropeSection", c10::str("sections whose sum is half of the table's ", features(), " features"), c10::str(sections));
    }

    // Returns the angles of one half of the rows, {tokens, 1, features / 2}.
    at::Tensor angles(int64_t half) const {
        const at::Tensor rows = upcast(table).chunk(2, -1)[half].index_select(0, positions.reshape({-1}));
        return (in_sections() ? joined(rows.unflatten(0, positions.sizes())) : rows).unsqueeze(1);
    }
    at::Tensor joined(const at::Tensor& of_sections) const {
        if (in_turns) {
            const at::Tensor turns = of_sections[0].clone();
            for (int64_t i = 1; i < 3; i++) turns.slice(-1, i, sections[1] * 3, 3).copy_(of_sections[i].slice(-1, i, sections[1] * 3, 3));
            return turns;
        }
        std::vector<at::Tensor> parts = of_sections.split_with_sizes(sections, -1);
        for (size_t i = 0; i < parts.size(); i++) parts[i] = parts[i][static_cast<int64_t>(i)];
        return at::cat(parts, -1);
    }

    // A row has its heads one after the other; features behind those of the table are not changed.
    Expected heads(const char* name, const at::Tensor& x) const {
        if (x.dim() != 2 || x.size(0) != tokens() || x.size(1) % head_size != 0)
            refuse(name, c10::str("{", tokens(), ", heads of ", head_size, "}"), shape_text(x.sizes()));
        return like(x);
    }
    void rotate(at::Tensor& out, const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) const {
        const at::Tensor result = upcast(x).reshape({tokens(), -1, head_size}).clone();
        const at::Tensor turned = result.narrow(-1, 0, features());
        const at::Tensor pairs = a.isNeoxStyle ? turned.unflatten(-1, {2, -1}) : turned.unflatten(-1, {-1, 2}).transpose(-1, -2);
        const at::Tensor first = pairs.select(-2, 0).clone(), second = pairs.select(-2, 1).clone();
        pairs.select(-2, 0).copy_(first * cos - second * sin);
        pairs.select(-2, 1).copy_(second * cos + first * sin);
        write(out, result.reshape(x.sizes()));
    }
    void run() const {
        require_indices("positions", positions, table.size(0));
        if (tokens() == 0) return;
        const at::Tensor cos = angles(0), sin = angles(1);
        rotate(a.queryOut, a.queryIn, cos, sin);
        rotate(a.keyOut, a.keyIn, cos, sin);
    }
};

}  // namespace
