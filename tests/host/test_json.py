"""The JSON that the trace is made of, with any value."""

import ctypes
import json
import math
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_aclnn.loading.paths import libdir

from support.compiler import shared_library

ROOT = Path(__file__).parents[2]
NOT_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    options = ["-std=c++20", f"-I{ROOT / 'csrc'}", f"-I{ROOT / 'csrc' / 'include'}"]
    target = tmp_path_factory.mktemp("json") / "libjson_text.so"
    library = ctypes.CDLL(str(shared_library(Path(__file__).with_name("json_text.cpp"), target, options, [f"-L{libdir()}", "-lascendcl"])))
    for function in ("json_of_text", "json_of_double", "json_of_float", "json_of_long"):
        getattr(library, function).restype = ctypes.c_size_t

    def read(function, *value):
        buffer = ctypes.create_string_buffer(4096)
        size = getattr(library, function)(*value, buffer)
        return json.loads(buffer.raw[:size].decode("utf-8", errors="strict"), parse_constant=pytest.fail)

    return read


@settings(max_examples=60, derandomize=True)
@given(text=st.text(max_size=100).map(lambda text: text.encode("utf-8", errors="surrogatepass")))
def test_a_text(engine, text):
    assert engine("json_of_text", text, ctypes.c_size_t(len(text))) == engine_reading(text)


@settings(max_examples=60, derandomize=True)
@given(text=st.binary(max_size=100))
def test_any_bytes(engine, text):
    assert engine("json_of_text", text, ctypes.c_size_t(len(text))) == engine_reading(text)


def engine_reading(text):
    """Return the text with U+FFFD for each byte that is not of UTF-8; Python's own replacement takes several together."""
    read = ""
    while text:
        for length in range(1, 5):
            try:
                read += text[:length].decode()
            except UnicodeDecodeError:
                continue
            break
        else:
            read, length = read + "\ufffd", 1
        text = text[length:]
    return read


@settings(max_examples=60, derandomize=True)
@given(number=st.floats())
def test_a_double(engine, number):
    same(engine("json_of_double", ctypes.c_double(number)), number)


@settings(max_examples=60, derandomize=True)
@given(number=st.floats(width=32))
def test_a_float(engine, number):
    read = engine("json_of_float", ctypes.c_float(number))
    same(read if isinstance(read, str) else struct.unpack("f", struct.pack("f", read))[0], number)


def same(read, number):
    """Check that a number was read, and as floating point; what is none is a text."""
    assert math.isfinite(number) == isinstance(read, float)
    value = NOT_NUMBERS[read] if isinstance(read, str) else read
    assert (math.isnan(value) and math.isnan(number)) or (value == number and math.copysign(1, value) == math.copysign(1, number))


@settings(max_examples=60, derandomize=True)
@given(number=st.integers(-(1 << 63), (1 << 63) - 1))
def test_an_integer(engine, number):
    assert engine("json_of_long", ctypes.c_int64(number)) == number
