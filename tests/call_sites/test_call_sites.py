"""The comparison of calls with prototypes, on C++ and rows made up here."""

import pytest
from call_sites.compare import Difference, differences, read_list
from call_sites.engine import parameters, prototypes
from call_sites.kinds import Kind
from call_sites.sites import calls_in, returned_kinds, row_call, rows_in
from call_sites.source import plain, split

PARAMETERS = (
    "const at::Tensor& x, const c10::optional<at::Tensor>& mask, at::TensorList many, at::IntArrayRef sizes, at::OptionalIntArrayRef dims,"
    " std::array<bool, 3> wanted, const at::Scalar& factor, bool flag, int64_t n, double eps, at::ScalarType dtype, c10::string_view mode,"
    " at::Tensor& out"
)
PROTOTYPE = "const aclTensor* self, const aclTensor* mask, double eps, aclTensor* out, uint64_t* workspaceSize, aclOpExecutor** executor"
ENGINE = {"aclnnMade": parameters(PROTOTYPE, {"mask"})}
FUNCTIONS = returned_kinds(["at::Tensor widened(int a);\nint64_t count(int a) {\n}\nbool both();\nint64_t both(int a);\n"])


def calls_of(body, parameters=PARAMETERS):
    return list(calls_in(f"namespace made {{\nat::Tensor made({parameters})\n{{\n{body}\n}}\n}}\n", "made.cpp", FUNCTIONS))


def kinds_of(body):
    (call,) = calls_of(body)
    return [str(argument.kind) if argument.kind else "" for argument in call.arguments]


def found_in(*calls):
    return [(difference.argument, difference.call, difference.engine) for difference in differences(calls, ENGINE)]


def differences_of(body, parameters="const at::Tensor& self, const c10::optional<at::Tensor>& mask, double eps, at::Tensor& out"):
    return found_in(*calls_of(body, parameters))


def test_parameters_of_the_function():
    assert kinds_of("EXEC_NPU_CMD(aclnnMade, x, mask, many, sizes, dims, wanted, factor, flag, n, eps, dtype, mode, out);") == [
        *("tensor", "optional tensor", "tensor list", "int array", "optional int array", "bool array", "scalar", "bool", "int64"),
        *("double", "dtype", "string", "tensor"),
    ]


@pytest.mark.parametrize(
    ("declared", "argument", "kind"),
    [
        ("float p = static_cast<float>(eps);", "p", "float"),
        ("auto p = static_cast<int8_t>(n);", "p", "int8"),
        ("c10::SmallVector<int64_t, 8> shape = {1, 2};", "shape", "int array"),
        ("std::vector<at::Tensor> all;", "all", "tensor list"),
        ("auto copy = x.contiguous();", "copy", "tensor"),
        ("at::Tensor a = x, b = x;", "b", "tensor"),
        ("const at::Tensor& some = c10::value_or_else(mask, [] { return at::Tensor(); });", "some", "optional tensor"),
        ("auto given = mask.value();", "given", "tensor"),
        ("auto given = mask.value_or(x);", "given", "tensor"),
        ("auto rank = x.dim();", "rank", "int64"),
        ("char text[8];", "text", "string"),
        ("auto text = const_cast<char*>(mode.data());", "text", "string"),
        ("const at::Tensor* there = &x;", "*there", "tensor"),
        ("auto chosen = flag ? sizes : sizes;", "chosen", "int array"),
        ("auto chosen = flag ? x : n;", "chosen", ""),
        ("auto all = at::kLong;", "all", "dtype"),
        ("auto a = widened(1);", "a", "tensor"),
        ("auto a = made::count(1);", "a", "int64"),
        ("auto a = both();", "a", ""),
        ("auto [a, b] = pair;", "a", ""),
        ("if (flag) { float n = 0.5; }", "n", "int64"),
        ("", "many[0]", "tensor"),
        ("", "1", "int32"),
        ("", "(int64_t)-1", "int64"),
        ("", "1e-5", "double"),
        ("", "true", "bool"),
    ],
)
def test_what_is_declared_before_the_call(declared, argument, kind):
    assert kinds_of(f"{declared}\nEXEC_NPU_CMD(aclnnMade, {argument});") == [kind]


def test_calls_are_found_wherever_they_stand():
    body = """
    // EXEC_NPU_CMD(aclnnComment, x);
    auto text = "EXEC_NPU_CMD(aclnnText, x)";
    if (flag) { for (int64_t i = 0; i < n; ++i) { EXEC_NPU_NO_FORMAT_CHECK_CMD(aclnnLoop, i); } } else {
        auto run = [&](float inner) { EXEC_NPU_CMD(aclnnLambda, inner, std::max<int64_t>(n, 1)); };
    }
    EXEC_UPDATE_NPU_NO_FORMAT_CHECK_CMD(aclnnUpdate, address, size, x);
    auto given = EXEC_NPU_CMD_SYNC(aclnnSync,
        x);
    """
    found = [(call.entry_point, call.place, len(call.arguments)) for call in calls_of(body)]
    lines = {"aclnnLoop": (7, 1), "aclnnLambda": (8, 2), "aclnnUpdate": (10, 1), "aclnnSync": (11, 1)}
    assert found == [(name, f"made.cpp:{line}", count) for name, (line, count) in lines.items()]


def test_text_is_split_outside_of_brackets():
    assert split("f(a, b), std::array<int, 2>{1, 2}, a < b, a->b") == ["f(a, b)", "std::array<int, 2>{1, 2}", "a < b", "a->b"]
    assert split("") == []
    assert plain('a /* b\n */ "c\\"" // d\n#if 0\\\n1\ne') == 'a \n "" \n\n\ne'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("EXEC_NPU_CMD(aclnnMade, self, mask, eps, out);", []),
        ("EXEC_NPU_CMD(aclnnMade, self, mask, out);", [(0, "3 arguments", "4 arguments")]),
        ("float p = 1.0f; EXEC_NPU_CMD(aclnnMade, self, mask, p, out);", [(3, "float", "double")]),
        ("EXEC_NPU_CMD(aclnnMade, mask, mask, eps, out);", [(1, "optional tensor", "tensor")]),
        ("auto y = at::empty({2}, self.options()); EXEC_NPU_CMD(aclnnMade, y, mask, eps, out);", [(1, "fresh memory", "input")]),
        ("auto y = at::empty({2}, z); EXEC_NPU_CMD(aclnnMade, self, mask, eps, y); EXEC_NPU_CMD(aclnnMade, y, mask, eps, out);", []),
        ("const at::Tensor& z = self; EXEC_NPU_CMD(aclnnMade, z, mask, eps, self);", [(4, "input", "output")]),
        ("EXEC_NPU_CMD(aclnnMade, out, mask, eps, out);", []),
        ("at::Tensor other = self; EXEC_NPU_CMD(aclnnMade, out, mask, eps, other);", [(1, "out", "self")]),
        ("EXEC_NPU_CMD(aclnnMade, unknown(self), mask, eps, out);", []),
    ],
)
def test_differences(body, expected):
    assert differences_of(body) == expected


def test_a_row_names_its_arguments_or_takes_those_of_the_operator():
    schema = "made.more(Tensor self, Tensor? mask=None, *, float eps=1) -> Tensor"
    output = {"size": "self", "dtype": "at::kFloat"}
    short = row_call(schema, {"result": output, "exec": "aclnnMade"}, "table", {})
    assert found_in(short) == [] and short.place == "table: made.more"
    named = {"result": output, "new_params": {"p": "static_cast<float>(eps)"}, "exec": "aclnnMade, result, mask, p, self"}
    assert found_in(row_call(schema, named, "table", {})) == [(1, "fresh memory", "input"), (3, "float", "double"), (4, "input", "output")]
    in_place = row_call("made_(Tensor(a!) self, Tensor(b!)[] x, int[2]? n) -> Tensor(a!)", {"exec": "aclnnInplaceMade"}, "", {})
    assert [str(argument.kind) for argument in in_place.arguments] == ["tensor", "tensor list", "optional int array"]
    table = {"official": [{"func": schema, "gen_opapi": {"exec": "aclnnMade"}}, {"func": schema}], "version": "all"}
    assert len(list(rows_in(table, "table", {}))) == 1
    table["official"][0]["gen_opapi"]["cpu_scalar_op"] = [{"param": "self", "exec": "aclnnScalarMade"}]
    of_tensor, of_scalar = rows_in(table, "table", {})
    assert (of_scalar.entry_point, of_scalar.arguments[0].kind) == ("aclnnScalarMade", Kind("scalar"))
    assert of_scalar.arguments[1:] == of_tensor.arguments[1:]


def test_the_list_has_reasons_and_entry_points_of_the_engine():
    from call_sites.__main__ import ACCEPTED

    accepted, engine = read_list(ACCEPTED), prototypes()
    assert list(accepted) == sorted(accepted) and all(accepted.values())
    assert {difference.entry_point for difference in accepted} <= engine.keys()
    assert Difference("aclnnAddmm", 1, "optional tensor", "tensor") in accepted


def test_a_data_type_by_its_number_is_as_wide_as_the_page_says():
    (parameter,) = (p for p in prototypes()["aclnnDequantSwigluQuantV2"] if p.name == "dstType")
    assert str(parameter.kind) == "int64"
