"""Sequences of different lengths and choices among their positions, as the tests of sparse attention share them."""

import torch
from checks import DEVICE

# From {batch, heads, positions, features}.
TO_LAYOUT = {
    "BNSD": lambda x: x,
    "BSND": lambda x: x.transpose(1, 2),
    "BSH": lambda x: x.transpose(1, 2).flatten(2),
    "SBH": lambda x: x.permute(2, 0, 1, 3).flatten(2),
    "NBSD": lambda x: x.transpose(0, 1),
}
LAYOUTS = ("BSND", "TND", "PA_BSND")
QUERIES, KEYS = (3, 2), (5, 7)  # the lengths of two sequences
BLOCK = 4  # positions in a page


def gathered(sequences, layout):
    """Tensors of each sequence's positions, in one: with room for the longest, below each other, or in pages that a table names."""
    if layout == "TND":
        return torch.cat(sequences).contiguous()
    if layout == "BSND":
        return torch.nn.utils.rnn.pad_sequence(sequences, batch_first=True)
    pages = torch.full((8, BLOCK, *sequences[0].shape[1:]), 9).to(sequences[0].dtype)
    for i, sequence in enumerate(sequences):
        for block, rows in enumerate(sequence.split(BLOCK)):
            pages[PLACES[i][block], : len(rows)] = rows
    return pages


PLACES = [[5, 2], [0, 7]]


def lengths(counts, layout):
    numbers = torch.tensor(counts, dtype=torch.int32)
    return (numbers.cumsum(0).int() if layout == "TND" else numbers).to(DEVICE)


def parts(tensor, counts, layout):
    """The sequences of a result, which is laid out like the queries."""
    return tensor.split(counts) if layout == "TND" else [tensor[i, :count] for i, count in enumerate(counts)]


def asked(layout, *names):
    query_layout = "TND" if layout == "TND" else "BSND"
    options = {"actual_seq_lengths_query": lengths(QUERIES, query_layout), names[0]: lengths(KEYS, layout)}
    table = torch.tensor(PLACES, dtype=torch.int32, device=DEVICE) if layout == "PA_BSND" else None
    return query_layout, options | {"layout_query": query_layout, names[1]: layout, "block_table": table}


def seen(rows, columns, causal=True):
    return torch.ones(rows, columns, dtype=torch.bool).tril(columns - rows if causal else columns)


def choices(count, block, blocks):
    """Blocks for each token, of which one has fewer."""
    chosen = [torch.stack([torch.randperm(b)[:count] for _ in range(rows)]) for rows, b in zip(QUERIES, blocks, strict=True)]
    chosen[0][1, -1] = -1
    return [c.int().unsqueeze(1) for c in chosen]


def allowed_by(places, block, columns):
    """Which of {heads, rows, columns} the places {rows, heads, count} name; -1 is none."""
    allowed = torch.zeros(places.shape[1], places.shape[0], columns, dtype=torch.bool)
    for row, heads in enumerate(places.tolist()):
        for head, chosen in enumerate(heads):
            for place in chosen:
                allowed[head, row, place * block : (place + 1) * block] = True
    return allowed


def scores_of(q, k, w):
    return torch.einsum("qh,hqk->qk", w, torch.relu(torch.einsum("qhd,kd->hqk", q, k[:, 0])))


SIZE, STRIDE = 4, 2


def split(tensor, ends):
    return tensor.split(torch.tensor(ends).diff(prepend=torch.zeros(1, dtype=torch.int64)).tolist())


def importance(weights, blocks, heads, selected):
    """What each block of the keys gets of the attention to compressed blocks, key head by key head."""
    shares = weights.unflatten(0, (heads, -1)).sum(1)
    sums = torch.zeros(*shares.shape[:2], blocks).double()
    for block in range(blocks):
        for step in range(selected // STRIDE):
            for part in range(SIZE // STRIDE):
                place = selected // STRIDE * (block + 1) - step - part
                if 0 <= place < shares.shape[2]:
                    sums[:, :, block] += shares[:, :, place]
    return sums


def check_places(places, sums):
    """Check that the places name the largest sums; equal ones may be in any order."""
    for heads in range(sums.shape[0]):
        for row in range(sums.shape[1]):
            count = min(places.shape[2], sums.shape[2])
            chosen = places[row, heads].cpu()
            assert (chosen[count:] == -1).all()
            best = sums[heads, row].sort(descending=True).values[:count]
            torch.testing.assert_close(sums[heads, row][chosen[:count].long()], best, rtol=1e-3, atol=1e-3)
