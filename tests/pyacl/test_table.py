"""The rows of the functions, against the prototypes of the toolkit's headers."""

import re

from torch_aclnn.loading.paths import includedir

# What the pages describe and the engine's libraries do not have; each refuses by name.
WITHOUT_C_FUNCTION = {"malloc_cached", "mem_flush", "mem_invalidate", "synchronize_event_with_timeout"}
KINDS = {"int32_t": "i32", "uint32_t": "u32", "uint64_t": "u64", "size_t": "size", "void*": "address", "char*": "text", "float": "float"}
HANDLES = {"aclrtContext", "aclrtDrvMemHandle", "aclrtEvent", "aclrtStream"}


def kind_of(parameter: str) -> str:
    """Return the kind that a parameter of a C prototype has in the table."""
    ctype = " ".join(word for word in parameter.split()[:-1] if word != "const")
    if ctype == "aclrtPhysicalMemProp*":
        return "physical"
    if ctype in KINDS:
        return KINDS[ctype]
    if ctype.endswith("*"):
        return ">" + kind_of(ctype[:-1] + " x")
    return "address" if ctype in HANDLES else "i32"


def test_the_tables_fit_the_headers(acl):
    header = re.sub(r"\s+", " ", "".join(path.read_text() for path in (includedir() / "acl").glob("*.h")))
    prototypes = dict(re.findall(r"(acl\w+)\(([^()]*)\);", header))
    absent = set()
    for row in filter(None, (acl.TABLE + acl.rt.TABLE).splitlines()):
        name, c_name, *columns = row.partition("->")[0].split()
        if c_name not in prototypes:
            absent.add(name)
            continue
        kinds = [column[0] + column.partition(":")[2] if column[0] == ">" else column.partition(":")[2] for column in columns]
        parameters = [] if prototypes[c_name] == "void" else prototypes[c_name].split(", ")
        assert [kind.rstrip("?") for kind in kinds] == [kind_of(parameter) for parameter in parameters], name
    assert absent == WITHOUT_C_FUNCTION
