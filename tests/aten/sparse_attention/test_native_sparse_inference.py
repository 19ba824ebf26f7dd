"""native_sparse_inference.cpp against definitions in float64."""

import pytest
import torch
import torch_npu
from checks import DEVICE, close, on_npu, there
from definitions import attention_of_rows as attention
from definitions import halves
from sequences import SIZE, STRIDE, check_places, importance


def paged(tensor, table, page):
    """Put {positions, heads, features} into the pages that a row of the table names."""
    pages = torch.full((8, page, tensor.shape[1] * tensor.shape[2]), 9.0).half()
    for place, rows in zip(table, tensor.flatten(1).split(page), strict=False):
        pages[place, : len(rows)] = rows
    return pages


def test_compression_of_the_last_block_of_pages():
    """The first sequence ends in the middle of a block, the second with one that lies in two pages."""
    pages, weight, cache = halves(6, 4, 2, 8), halves(SIZE, 2), halves(5, 2, 8)
    table, slots = torch.tensor([[5, 1, 2], [0, 3, 4]], dtype=torch.int32), torch.tensor([2, 4], dtype=torch.int32)
    on_device = there(pages, weight, slots, table, cache)
    got = torch_npu.npu_nsa_compress_infer(
        *on_device[:3], SIZE, STRIDE, 4, block_table=on_device[3], actual_seq_len=[7, 6], cache=on_device[4]
    )
    expected = cache.double()
    rows = torch.cat((pages[0], pages[3]))[2:6].double()
    expected[4] = (rows * weight.double().unsqueeze(2)).sum(0)
    close(got, expected)


@pytest.mark.parametrize("layout", ["TND", "BSND"])
def test_attention_to_compressed_keys_in_pages(layout):
    q, k, v, table = halves(1, 4, 8), halves(11, 2, 8), halves(11, 2, 6), [6, 2, 5]
    query = (q if layout == "TND" else q.unsqueeze(1)).to(DEVICE)
    out, places = on_npu(
        torch_npu.npu_nsa_compress_attention_infer, query, paged(k, table, 4), paged(v, table, 4), 0.3, 4, 2, 4, 5, 4, SIZE, STRIDE,
        layout=layout, block_table=torch.tensor([table], dtype=torch.int32, device=DEVICE), actual_cmp_seq_kvlen=[11],
    )  # fmt: skip
    result, weights, _ = attention(q.double(), k.double(), v.double(), torch.ones(1, 11, dtype=torch.bool), 0.3)
    close(out.reshape(result.shape), result)
    sums = importance(weights, 6, 2, 4)
    sums[..., [0, 4, 5]] = 1e9
    places = places.reshape(1, 2, 5)
    check_places(places, sums)
    assert places[0, :, :3].tolist() == [[0, 4, 5]] * 2


@pytest.mark.parametrize("layout", ["TND", "BSND", "BSH"])
def test_attention_to_selected_blocks_in_pages(layout):
    q, k, v, table = halves(1, 4, 8), halves(11, 2, 8), halves(11, 2, 6), [6, 2, 5]
    places = torch.tensor([[[0, 4, -1], [5, 2, 1]]], dtype=torch.int32)
    queries = {"TND": q, "BSND": q.unsqueeze(1), "BSH": q.flatten(1).unsqueeze(1)}[layout]
    keys, values = (paged(t, table, 4) for t in (k, v))
    if layout == "BSND":
        keys, values = keys.unflatten(2, (2, -1)), values.unflatten(2, (2, -1))
    out = on_npu(
        torch_npu.npu_nsa_select_attention_infer, queries, keys, values, places if layout == "TND" else places.unsqueeze(1), 0.3, 4, 2, 2,
        3, 4, layout=layout, block_table=torch.tensor([table], dtype=torch.int32, device=DEVICE), actual_seq_kvlen=[11],
    )  # fmt: skip
    allowed = torch.zeros(2, 1, 11, dtype=torch.bool)
    allowed[0, 0, [0, 1, 8, 9]] = True
    allowed[1, 0, [10, 4, 5, 2, 3]] = True
    result = attention(q.double(), k.double(), v.double(), allowed.repeat_interleave(2, 0), 0.3)[0]
    close(out.reshape(result.shape), result)
