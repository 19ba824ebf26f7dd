"""The names of the data types of CANN's interface."""

# The numbers of aclDataType, in the order of the document.
TYPES = {
    "FLOAT": 0,
    "FLOAT16": 1,
    "BF16": 27,
    "DOUBLE": 11,
    "INT4": 29,
    "INT8": 2,
    "UINT8": 4,
    "INT16": 6,
    "INT32": 3,
    "INT64": 9,
    "BOOL": 12,
    "COMPLEX64": 16,
    "COMPLEX128": 17,
    "UINT16": 7,
    "UINT32": 8,
    "UINT64": 10,
    "HIFLOAT8": 34,
    "FLOAT8_E5M2": 35,
    "FLOAT8_E4M3FN": 36,
    "FLOAT8_E8M0": 37,
    "FLOAT6_E3M2": 38,
    "FLOAT6_E2M3": 39,
    "FLOAT4_E2M1": 40,
    "FLOAT4_E1M2": 41,
}
