"""What to write where torch_npu does not find an entry point: the first lines of a function for it, with what the call passed."""

import os
import re
import sys
from types import TracebackType
from typing import Any

_NOT_FOUND = re.compile(r"\b(acl\w+) or \1GetWorkspaceSize not (?:in libopapi\.so|found)")
_ONE_SOURCE = {"SymInt": "int", "number": "Scalar", "Device": "int", "Layout": "int", "MemoryFormat": "int"}


def explain_uncaught() -> None:
    """Have the lines printed last if torch_npu's error ends the program."""
    print_exception = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        print_exception(kind, error, traceback)
        if explanation := explain(error):
            print(f"\ntorch_aclnn: {explanation}", file=sys.stderr)

    sys.excepthook = excepthook


def explain(error: BaseException) -> str | None:
    """Return the lines for the entry point that the error names as missing, a remedy for one that names nothing, or else None."""
    if isinstance(error, RuntimeError) and str(error).startswith("stoi") and os.environ.get("TORCH_NPU_LAZY_FUSION"):
        return "TORCH_NPU_LAZY_FUSION has torch_npu make kernels for an NPU's cores, which the host engine cannot run: unset it."
    found = _NOT_FOUND.search(str(error)) if isinstance(error, RuntimeError) else None
    return None if found is None else lines(found[1], *_call(error.__traceback__))


def lines(entry_point: str, schema: Any = None, called_with: str = "") -> str:
    """Return the first lines of a function for an entry point.

    Args:
        entry_point: its name.
        schema: that of torch_npu's operator, if it is known; its parameters are mostly those of the entry point, and its results.
        called_with: what the call passed.

    """
    parameters = _parameters(schema) if schema is not None else [("Tensor", "self"), ("Tensor(a!)", "out")]
    signature = ", ".join(map(" ".join, parameters))
    arguments = schema.arguments if schema is not None else ()
    optional = [argument.name for argument in arguments if _is_optional(argument) and not _type(argument).endswith("?")]
    without = f"the entry point may be without {', '.join(optional)}, which a call of torch_npu may leave out and C's types cannot; "
    names = ", ".join(name for _, name in parameters)
    function = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", re.sub(r"^acl(nn)?", "", entry_point)).lower()
    return (
        f"the host engine does not have {entry_point}. A Python function for it, which must be there before the first call, begins with\n\n"
        f'    @torch_aclnn.host.implement("{entry_point}", "{signature}")\n'
        f"    def {function}({names}):{called_with and f'  # called with {called_with}'}\n\n"
        "The prototype on the page of the entry point decides on parameters and types; "
        f"{without if optional else ''}docs/missing_entry_point.md has the rest."
    )


def _parameters(schema: Any) -> list[tuple[str, str]]:
    """Return types and names as the entry point is likely to have them: the operator's arguments, and then its results."""
    parameters = [(_type(argument), argument.name) for argument in schema.arguments]
    results = [result for result in schema.returns if result.alias_info is None]
    names = [result.name or (f"out{number}" if len(results) > 1 else "out") for number, result in enumerate(results)]
    return parameters + [(_type(result, written=True), name) for result, name in zip(results, names, strict=True)]


def _type(argument: Any, written: bool = False) -> str:
    text = _type_text(argument)
    optional = re.fullmatch(r"Optional\[(.*)\]", text)
    text = optional[1] if optional else text.removesuffix("?")
    listed = re.fullmatch(r"List\[(.*)\]", text)
    item = listed[1] if listed else text.removesuffix("[]")
    item = _ONE_SOURCE.get(item, item)
    written = written or (argument.alias_info is not None and argument.alias_info.is_write)
    is_list = listed is not None or text.endswith("[]")
    may_be_null = _is_optional(argument) and (is_list or item in ("Tensor", "Scalar", "str"))
    return f"{item}{'(a!)' if written else ''}{'[]' if is_list else ''}{'?' if may_be_null else ''}"


def _type_text(argument: Any) -> str:
    return str(argument.real_type if hasattr(argument, "real_type") else argument.type)


def _is_optional(argument: Any) -> bool:
    return _type_text(argument).startswith("Optional[") or str(argument.type).endswith("?")


def _call(traceback: TracebackType | None) -> tuple[Any, str]:
    """Return the schema of the operator that was called and what it got, as far as torch's frame of the call shows it."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    local = traceback.tb_frame.f_locals if traceback is not None else {}
    operator = local.get("self")
    packet = getattr(operator, "_overload_names", None)
    if packet:
        operator = getattr(operator, packet()[0] if callable(packet) else packet[0], None)
    schema = getattr(operator, "_schema", None)
    if schema is None or not isinstance(local.get("args"), tuple):
        return schema, ""
    names = [argument.name for argument in schema.arguments]
    given = {**dict(zip(names, local["args"], strict=False)), **(local.get("kwargs") or {})}
    return schema, ", ".join(f"{name}={_shown(value)}" for name, value in given.items())


def _shown(value: Any) -> str:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value)
