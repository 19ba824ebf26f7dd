"""What csrc/engine/aten includes of the records: for each source file the structs of arguments, and the entry points themselves."""

import re
from collections import defaultdict
from collections.abc import Iterable

from records import Kind, Parameter, Record

_STRUCTS = """\
// The arguments of the entry points of {family}/{source}.cpp, made of csrc/vocabulary/{family}.yaml.
#pragma once

#include "engine/aten/adapter/adapter.h"

namespace torch_aclnn::host::aten::call {{

{structs}
}}  // namespace torch_aclnn::host::aten::call

using namespace torch_aclnn::host::aten;
"""
_STRUCT = """\
struct {name} {{
{members}
}};
"""
_PARAMETERS = """\
// The parameters of the entry points of csrc/contract/operators.h, made of parameters.yaml beside it.
#pragma once

"""
_ROWS = """\
// The entry points of {family}/{source}.cpp, made of csrc/vocabulary/{family}.yaml.
#pragma once
{rows}"""
_UNIT = """\
// {family}/{source}.cpp with its entry points, which call what it defines.
#include "engine/aten/{family}/{source}.cpp"
#include "vocabulary/{family}/{source}_rows.inc"
"""
_ROW = """
static void {name}Check({declared}) {{
    using namespace ::torch_aclnn::host::aten;
{arguments}{checks}}}
static void {name}Body({declared}) {{
    using namespace ::torch_aclnn::host::aten;
{arguments}{copied}#line {line} "{file}"
    {does};
}}
static constexpr torchAclnnParameter {name}Parameters[] = {{
{described}
}};
static ::torch_aclnn::host::EntryPoint {name}Entry = [] {{
    using namespace ::torch_aclnn::host;
    return EntryPoint("{name}", "{title}", ({types}).bits(), {name}Parameters);
}}();
static constexpr const ::torch_aclnn::host::aten::ErasedKind* {name}Kinds[] = {{
{erased}
}};
static constexpr ::torch_aclnn::host::aten::TensorTypes {name}Types[] = {{
{tensor_types}
}};
using {name}Arguments = ::torch_aclnn::host::aten::Arguments<{kinds}>;
static constexpr ::torch_aclnn::host::aten::Adapter {name}Adapter{{
    {name}Entry, {name}Kinds, {name}Types, {name}Arguments::offsets.data(), std::size({name}Kinds), {name}Arguments::pass<{name}Check>,
    {name}Arguments::pass<{name}Body>, {name}Arguments::type_signature, {starts_from}, {is_filled}, {computes_first}}};
extern "C" TORCH_ACLNN_HOST_API aclnnStatus {name}GetWorkspaceSize({handles}, uint64_t* workspaceSize, aclOpExecutor** executor) {{
    const void* const arguments[] = {{{addresses}}};
    return ::torch_aclnn::host::aten::prepare({name}Adapter, arguments, workspaceSize, executor);
}}
extern "C" TORCH_ACLNN_HOST_API aclnnStatus {name}(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream) {{
    return ::torch_aclnn::host::run_phase2({name}Entry, workspace, workspaceSize, executor, stream);
}}
"""
# For operators whose lengths a captured graph may change, torch_npu asks for the workspace of the longest by a function of its own, with
# the parameters of phase 1. The engine's workspace is one size for all lengths.
_MAX_WORKSPACE = """\
extern "C" TORCH_ACLNN_HOST_API decltype({name}GetWorkspaceSize) {name}GetMaxWorkspaceSize
    __attribute__((alias("{name}GetWorkspaceSize")));
"""
# What the words behind a parameter's name have phase 1 check.
_WORDS = {
    "contiguous": '    require_contiguous("{0}", {0});\n',
    "contiguous if strict": '    require_contiguous("{0}", {0}, true);\n',
    "not empty": '    require_not_empty("{0}", {0});\n',
}
_FACTS = """\
// By entry point, what the records say of it beside its parameters, where it is not the usual.
{rows}
"""
_KIND = "::torch_aclnn::host::aten::kind::"
_TYPE = re.compile(r"\b(?=[A-Z])")
_HAS_ALL = re.compile(r"\ba\b(?!\s*\()")


def parameters(records: Iterable[Record]) -> str:
    """Return the header with the parameters of the entry points that have kernels of their own, for the rows of csrc/engine/opapi."""
    lists = ((record.name, ", ".join(f"({p.kind.name}, {p.name})" for p in record.parameters)) for record in records)
    return _PARAMETERS + "".join(f"#define TORCH_ACLNN_PARAMETERS_{name} {parameters}\n" for name, parameters in lists)


def facts(records: Iterable[Record]) -> str:
    """Return the rows of the table in csrc/engine/opapi/facts.cpp."""
    natures = ("drawing", "zeroing", "packing", "choosing", "joining", "disjunction", "conjunction", "equality", "inequality")
    rows = []
    for record in records:
        nature = next((nature for nature in natures if nature in record.facts), "other")
        flags = [str(fact in record.facts).lower() for fact in ("fills", "system_workspace")]
        if nature != "other" or "true" in flags:
            rows.append(f'{{"{record.name}", {{Task::Nature::{nature}, {", ".join(flags)}}}}},')
    return _FACTS.format(rows="\n".join(rows))


def cpp_kind(kind: Kind) -> str:
    """Return the C++ type of a kind."""
    name = f"{_KIND}{kind.name}"
    if kind.range:
        lowest, highest = kind.range
        bound = "::torch_aclnn::host::aten::kUnbounded" if highest is None else str(highest)
        return f"{_KIND}Between<{kind.c_type}, {lowest}, {bound}>"
    if kind.choices and "char" in kind.c_type:
        texts = ", ".join(f'"{choice}"' for choice in kind.choices)
        return f"{_KIND}OneOfTexts<{name}, {texts}>"
    if kind.choices:
        return f"{_KIND}OneOfNumbers<{kind.c_type}, {', '.join(kind.choices)}>"
    return name


def _listed(types: str) -> str:
    # The bits of a set of data types.
    return f"({_TYPE.sub('::torch_aclnn::host::', types)}).bits()" if types else "0"


def structs(family: str, source: str, records: Iterable[Record], all_of_struct: dict[str, list[Record]]) -> str:
    """Return the header with the arguments of what the source computes itself, a struct for all versions of a name."""
    names = dict.fromkeys(record.struct for record in records if not record.function and _needs_struct(all_of_struct[record.struct]))
    texts = [_STRUCT.format(name=name, members="\n".join(_member(*member) for member in _members(all_of_struct[name]))) for name in names]
    return _STRUCTS.format(family=family, source=source, structs="\n".join(texts))


def _needs_struct(versions: list[Record]) -> bool:
    return any(not record.does or _HAS_ALL.search(record.requires + record.does + _shapes(record)) for record in versions)


def _shapes(record: Record) -> str:
    return " ".join(parameter.shape for parameter in record.parameters)


def _members(versions: list[Record]) -> list[tuple[Parameter, bool]]:
    # Each parameter, and whether a version lacks it. A parameter that is a tensor in one version only is no member.
    members: dict[str, list[Parameter]] = defaultdict(list)
    for record in versions:
        for parameter in record.parameters:
            members[parameter.name].append(parameter)
    kept = [found for found in members.values() if len({"Tensor" in p.c_type or p.c_type for p in found}) == 1]
    return [(found[-1], len(found) < len(versions)) for found in kept]


def _member(parameter: Parameter, optional: bool) -> str:
    kind = cpp_kind(parameter.kind)
    default = f" = ::torch_aclnn::host::aten::absent<{kind}>()" if optional else ""
    return f"    {kind}::Parameter {parameter.name}{default};"


def rows(
    family: str, source: str, records: Iterable[Record], all_of_struct: dict[str, list[Record]], file: str, lines: dict[str, int]
) -> str:
    """Return the entry points, which are compiled behind what they call."""
    texts = [_row(record, all_of_struct, file, _line(record, lines)) for record in records if not record.function]
    return _ROWS.format(family=family, source=source, rows="".join(texts))


def unit(family: str, source: str) -> str:
    """Return what is compiled in place of the source."""
    return _UNIT.format(family=family, source=source)


# Kinds for which the record must state the shape.
_SHAPED = {"Out", "OptOut", "TensorsOut", "OptTensorsOut"}


def _line(record: Record, lines: dict[str, int]) -> int:
    # A version in place may stand in a list alone: its expressions are those of its base.
    return lines.get(record.name) or lines[record.name.replace("Inplace", "", 1)]


def _row(record: Record, all_of_struct: dict[str, list[Record]], file: str, line: int) -> str:
    for parameter in record.parameters:
        if parameter.kind.name in _SHAPED and not parameter.shape:
            raise SystemExit(f"{record.name}: {parameter.name}: expected the shape of an output: Out {parameter.name} = like(self)")
    versions = all_of_struct[record.struct]
    with_struct = _needs_struct(versions)
    arguments = ""
    if with_struct:
        own = {parameter.name for parameter in record.parameters}
        values = ", ".join(f".{p.name} = {p.name}" for p, _ in _members(versions) if p.name in own)
        arguments = f"    [[maybe_unused]] const call::{record.struct} a{{{values}}};\n"
    requires = record.requires or ("check(a)" if with_struct else "")
    statements = [(p.shape, _statement(p)) for p in record.parameters if p.shape]
    checks = [_WORDS[p.word].format(p.name) for p in record.parameters if p.word]
    checks += [check for shape, check in statements if _is_rank(shape)]
    checks += [f"    {check.strip()};\n" for check in requires.split(";") if check.strip()]
    checks += [check for shape, check in statements if not _is_rank(shape)]
    kinds = [cpp_kind(parameter.kind) for parameter in record.parameters]
    names = [parameter.name for parameter in record.parameters]
    declared = ", ".join(f"[[maybe_unused]] {kind}::Parameter {name}" for kind, name in zip(kinds, names, strict=True))
    row = _ROW.format(
        name=record.name,
        title=record.family.replace("_", " "),
        types=record.types,
        declared=declared,
        arguments=arguments,
        checks="".join(f'#line {line} "{file}"\n{check}' for check in checks),
        line=line,
        file=file,
        does=record.does or "compute(a)",
        copied=f"    start_from({record.starts_from}, out);\n" if record.starts_from else "",
        starts_from=names.index(record.starts_from) if record.starts_from else -1,
        is_filled=str("selfRef overlap" in record.unchecked).lower(),
        computes_first=str("computes_first" in record.facts or record.does.startswith(("write(", "write_each("))).lower(),
        described="\n".join(
            f'    {{"{_escaped(p.kind)}", "{p.name}", {kind}::nullable, {_listed(record.types_of(p).listed) if p.is_tensor else 0}}},'
            for kind, p in zip(kinds, record.parameters, strict=True)
        ),
        erased="\n".join(f"    &::torch_aclnn::host::aten::kErased<{kind}>," for kind in kinds),
        tensor_types="\n".join(f"    {{{_relations(record, p)}}}," for p in record.parameters),
        kinds=", ".join(kinds),
        handles=", ".join(f"{p.c_type} {p.name}" for p in record.parameters),
        addresses=", ".join(f"&{name}" for name in names),
    )
    return row + (_MAX_WORKSPACE.format(name=record.name) if record.max_workspace else "")


def _relations(record: Record, parameter: Parameter) -> str:
    if not parameter.is_tensor:
        return ""
    types = record.types_of(parameter)
    same_as = [p.name for p in record.parameters].index(types.same_as) if types.same_as else -1
    return f"{same_as}, {int(types.is_operand)}, {int(types.is_result)}"


def _statement(parameter: Parameter) -> str:
    # A statement may look into an optional argument that is given.
    condition = f"if ({parameter.name}) " if parameter.kind.name.startswith("Opt") else ""
    return f'    {condition}require_expected("{parameter.name}", {parameter.name}, {parameter.shape});\n'


def _is_rank(shape: str) -> bool:
    return shape.startswith(("rank(", "rank_from("))


# What a kind is for callers, where it only checks or keeps something that another does not.
_PLAIN = {"OptInOut": "InOut", "Scale": "Double", "FloatScale": "Float"}


def _escaped(kind: Kind) -> str:
    name = _PLAIN.get(kind.name, kind.name)
    return f"{name} in {kind.values}".replace('"', '\\"') if kind.values else name
